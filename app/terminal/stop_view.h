// What the debugger shows when it stops, looked up on the engine's thread in one go: plain data that stays valid when the engine moves on.
#pragma once

#include "app/terminal/value_view.h"
#include "engine/api/inspector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// How much of the surroundings a stop shows.
enum class StopStyle : uint8_t {
    surroundings, ///< two operators before the next one and one after: stops that come by themselves
    brief,        ///< what has just run, what comes next: moves that the user asked for
    step,         ///< what was written and what comes next, as long as the invocation is the same
    iteration,    ///< the operands of the same operator in another iteration
    place,        ///< what comes next
};

struct NamedText {
    std::string name;
    std::string text;
    bool abnormal = false;
};

struct ChangedValue {
    std::string name, before, after;
    bool abnormal = false;
};

struct ShownDisplay {
    int number = 0;
    std::string expression;
    std::string text; ///< or why it cannot be shown
    bool failed = false;
};

/// Values of the innermost frame as they were at a stop, to tell what has changed at the next one.
struct FrameMemory {
    struct Kept {
        ValueId value;
        size_t begin = 0, end = 0; ///< in `bytes`
    };
    std::string place;        ///< address of the invocation without iterations
    std::vector<Kept> values; ///< ordered by value
    std::string bytes;        ///< of all of them: a frame may have ten thousand
    std::string_view of(const Kept& kept) const { return std::string_view(bytes).substr(kept.begin, kept.end - kept.begin); }
};

struct StopView : Stop {
    StopStyle style = StopStyle::surroundings;
    std::vector<OperatorValues> operators; ///< those that are shown, in order
    std::vector<NamedText> written;
    std::vector<ChangedValue> changed;
    std::vector<NamedText> operands; ///< style iteration
    std::vector<NamedText> returned; ///< results of the call that has just returned
    std::vector<NamedText> outputs;  ///< of a finished run
    std::vector<ShownDisplay> displays;
    FrameMemory memory;
};

struct DisplayRequest {
    int number = 0;
    std::string expression;
};

struct ViewRequest {
    StopStyle style = StopStyle::surroundings;
    NumberFormat format;
    std::vector<DisplayRequest> displays;
    const FrameMemory* before = nullptr;  ///< null: no stop before this one
    std::vector<std::string> outputNames; ///< of the root graph, in its order
};

/// Stands where it stood afterwards.
StopView viewStop(const Inspector& inspector, const Stop& stop, const ViewRequest& request);

} // namespace loopscope::app
