// Reading values of another moment than the present stop: of an iteration that is looked at, or that the pointer scrubs over.
#pragma once

#include "engine/api/inspector.h"
#include "viewer/bridge/document.h"

#include <functional>
#include <string>

namespace loopscope::viewer {

/// Where reading came to.
struct ReadElsewhere {
    std::string address;    ///< of the invocation that was read: near the wanted one where that is sampled
    std::string why;        ///< why nothing was read: "not run in @12"; empty: it was
    bool isSampled = false; ///< of a loop that is being scrubbed
};

/// Lets `look` read the invocation as it ended, and stands where it stood afterwards; a sampled one answers within some 20 ms. `place` must
/// be elsewhere. On the engine's thread.
ReadElsewhere readElsewhere(Inspector& inspector, const ValuePlace& place, const std::function<void(const EndedInvocation&)>& look);

/// How values of another moment are marked: "@10", nested "@4 @1" with the outer first, sampled "≈ @10"; outside of loops the invocation's
/// last part.
QString momentText(const ReadElsewhere& read);

} // namespace loopscope::viewer
