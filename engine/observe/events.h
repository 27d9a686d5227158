// What an executor announces while it runs. Execution announces, listeners decide: observers copy what they want to keep, since
// tensors and spans are valid only during the call. Observation changes no output bit.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace loopscope {

class DeviceMemory;

/// How a graph was entered. `loop`: cond and body of one iteration share an invocation.
enum class CallRole : uint8_t { main, loop, thenBranch, elseBranch, branch, call, init, region, frame };
/// "main", "loop", "then", "else", "branch", "call", "init", "region", "frame"
std::string_view callRoleName(CallRole role);

struct RunStart {
    const Model* model = nullptr;
    GraphId root;
    std::string_view signature;            ///< empty: none
    Step firstStep;                        ///< steps go on counting over the runs of a session only if this is not 0
    std::span<const Tensor* const> inputs; ///< of the root graph, in its order
};

struct InvocationStart {
    InvocationId id;     ///< numbered within an interpreter's life
    InvocationId parent; ///< 0 for the root
    CallRole role = CallRole::main;
    int32_t branch = -1;    ///< role branch or region: which
    GraphId callerGraph;    ///< graph of the call operator; invalid for the root
    OperatorId site;        ///< the call operator in callerGraph; invalid for the root
    GraphId graph;          ///< graph entered; for a loop its body
    GraphId cond;           ///< for a loop its condition, else invalid
    int64_t iteration = -1; ///< loops: from 0; else −1
    Step step;              ///< index of the next operator to complete
};

/// What a model says while it runs: TensorFlow's Print operators.
struct PrintedText {
    std::string_view stream; ///< as the model names it: "stderr", "stdout", "log(info)", …
    std::string_view text;   ///< ends of lines included
    Step step;               ///< of the operator
};

struct InvocationEnd {
    InvocationId id;
    Step step;       ///< index of the next operator to complete: end − start = steps inside, callees included
    int64_t ns = -1; ///< duration, nanoseconds; −1 if times are off
};

enum class EventState : uint8_t { live, dead, failed };

/// An operator completed. Calls complete when they return.
struct OperatorEvent {
    Step step;
    InvocationId invocation;
    GraphId graph; ///< graph of the operator: the cond or the body of a loop's invocation
    OperatorId op;
    EventState state = EventState::live;
    int64_t ns = -1;                        ///< duration, callees included; −1 if times are off
    int64_t trips = -1;                     ///< of a loop: iterations of its body; else −1
    std::span<const Tensor* const> results; ///< in result order; null, or without data: dead, or of a recording that does not hold it
    DeviceMemory* device = nullptr;         ///< not null: some of their elements may lie there alone (ExecutionObserver::wantsElements)
};

/// A variable, table or stack was touched by the operator that is running now (its OperatorEvent follows).
struct VariableAccess {
    enum class Kind : uint8_t { create, read, write } kind = Kind::read;
    std::string_view name;
    const Tensor* value = nullptr; ///< null for create
    Step step;                     ///< step of the running operator
};

struct RunEnd {
    enum class Reason : uint8_t { finished, failed, cancelled, budget } reason = Reason::finished;
    Step steps;
    int64_t ns = 0;
    std::string_view message;               ///< of a failed run
    std::span<const Tensor* const> outputs; ///< of the root graph; empty unless finished
};

} // namespace loopscope
