// When a value was written and how it changed: who wrote this, when does it change next, and how it went over a loop's iterations.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// One write of a value.
struct ValueWrite {
    Tick tick = 0;       ///< of the stop before the writing operator
    Step step = 0;       ///< of the write
    std::string address; ///< canonical, of the operator's output: "main/while#0@35:body/if#2:0"
    std::string origin;  ///< how the value here came from there: "arg1 is carried from cond"; empty: it is that output
    Tensor tensor;       ///< what was written
    std::shared_ptr<const std::vector<std::byte>> bytes; ///< behind `tensor`
};

enum class HistoryQuery : uint8_t { lastWrite, lastChange, nextWrite, nextChange };

/// Searches from this stop. A formal of a graph follows its carried value or argument. Stands where it stood afterwards. none: there is no
/// such write in this run. Errors: usage (constants are never written), execution, cancelled.
Result<std::optional<ValueWrite>> findWrite(const DebugTarget& target, FrameContext frame, const ResolvedAddress& value,
                                            HistoryQuery query);

/// A value over the iterations of one execution of a loop.
struct ValueSeries {
    std::string loop;                         ///< address of the call site, "main/while#0"
    int64_t iterations = 0;                   ///< of that execution, as far as it ran
    bool complete = false;                    ///< it ran to its end
    bool isScalar = false;                    ///< numbers are the value itself, else its mean
    std::vector<double> numbers;              ///< by iteration; NaN where it was not written
    std::vector<bool> written;                ///< by iteration: false where there was no value, which is also NaN in `numbers`
    std::vector<int64_t> steps;               ///< by iteration: of the write; −1: none
    std::vector<TensorStatistics> statistics; ///< by iteration, of values that are no scalars
    // With SeriesOptions::keepBytes: the contents of the first iterations, one behind another, as long as they fit and type and shape stay.
    DType dtype = DType::unknown;
    Shape shape;
    size_t contentBytes = 0;         ///< of one iteration; 0: none are kept
    std::vector<std::byte> contents; ///< by iteration; zeros where it was not written
    // Where a series that ran out of time is to be continued.
    bool isPart = false;
    Tick nextTick = 0;
    InvocationId caller = 0;

    int64_t keptIterations() const { return contentBytes == 0 ? 0 : static_cast<int64_t>(contents.size() / contentBytes); }
};

struct SeriesOptions {
    std::optional<std::string> loop{};              ///< none: the innermost
    bool onlyWhatRan = false;                       ///< goes no farther than this timeline was run before
    size_t keepBytes = 0;                           ///< most bytes of contents that are kept; those of handles and strings never
    int64_t budgetNs = 0;                           ///< about how long it may take before it answers with a part; 0: as long as it takes
    std::shared_ptr<const ValueSeries> continued{}; ///< a part to go on from
};
/// Of the innermost loop around `frame`, or of the loop `loop` of its graph or a caller's. Runs the present execution of the loop from
/// its start to its end once, at most 4,194,304 iterations. Errors: usage, execution, cancelled.
Result<ValueSeries> collectSeries(const DebugTarget& target, FrameContext frame, const ResolvedAddress& value,
                                  const SeriesOptions& options);
inline Result<ValueSeries> collectSeries(const DebugTarget& target, FrameContext frame, const ResolvedAddress& value,
                                         std::optional<std::string> loop)
{
    SeriesOptions options;
    options.loop = std::move(loop);
    return collectSeries(target, frame, value, options);
}

} // namespace loopscope
