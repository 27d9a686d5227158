// When a value was written and how it changed: who wrote this, when does it change next, and how it went over a loop's iterations.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// Iterations beyond those that a series has entries for, in buckets of equal length: each has its greatest finite number.
class SeriesTail {
public:
    explicit SeriesTail(int64_t first = 0) : m_first(first) {}
    /// There is an iteration.
    void reach(int64_t iteration) { m_iterations = std::max(m_iterations, iteration - m_first + 1); }
    /// Its value.
    void note(int64_t iteration, double number);

    int64_t iterations() const { return m_iterations; }
    int64_t bucketLength() const { return m_length; }
    const std::vector<double>& greatest() const { return m_greatest; } ///< by bucket; -infinity: there is no finite number
    double min() const { return m_min; }
    double max() const { return m_max; }
    int64_t maxAt() const { return m_maxAt; }           ///< iteration; -1: none
    int64_t abnormalAt() const { return m_abnormalAt; } ///< first NaN or infinity; -1: none

private:
    int64_t m_first, m_iterations = 0, m_length = 1;
    std::vector<double> m_greatest;
    double m_min = std::numeric_limits<double>::infinity(), m_max = -std::numeric_limits<double>::infinity();
    int64_t m_maxAt = -1, m_abnormalAt = -1;
};

/// A value over the iterations of one execution of a loop.
struct ValueSeries {
    std::string loop;         ///< address of the call site, "main/while#0"
    int64_t iterations = 0;   ///< of that execution, as far as it ran: those with entries, at most 4,194,304
    SeriesTail tail{1 << 22}; ///< the iterations beyond
    int64_t allIterations() const { return iterations + tail.iterations(); }
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
/// Of the innermost loop around the value, or of the loop `loop` around it; a loop's result outside of all loops is what its body gives.
/// Runs the present execution of the loop from its start to its end once; beyond 4,194,304 iterations only as far as it was run before, for
/// it may have no end. Errors: usage, execution, cancelled.
Result<ValueSeries> collectSeries(const DebugTarget& target, FrameContext frame, const ResolvedAddress& value,
                                  const SeriesOptions& options);
/// Of a variable of the session ("[container/]shared_name"), as of a carried value: what it holds as each iteration begins. Around `frame`,
/// or of the only loop that is called there. Errors: usage, also of recordings, which do not hold it; execution, cancelled.
Result<ValueSeries> collectVariable(const DebugTarget& target, FrameContext frame, std::string_view variable, const SeriesOptions& options);
inline Result<ValueSeries> collectSeries(const DebugTarget& target, FrameContext frame, const ResolvedAddress& value,
                                         std::optional<std::string> loop)
{
    SeriesOptions options;
    options.loop = std::move(loop);
    return collectSeries(target, frame, value, options);
}

} // namespace loopscope
