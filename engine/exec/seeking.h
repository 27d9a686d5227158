// What an executor over a recording can do and one that computes cannot: be at a distant stop at once.
#pragma once

namespace loopscope {

/// Beside Executor, for those that may seek.
class Seeking {
public:
    virtual ~Seeking() = default;
    /// True if runTo() takes no longer for a distant tick than for a near one, as things are: nobody listens, nothing is trapped.
    virtual bool seeksNow() const = 0;
};

} // namespace loopscope
