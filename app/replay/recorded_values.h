// Values of a recording by invocation and id: which event holds them, with formals followed to what they stand for.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"
#include "tracer/api/trace_replay.h"

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <vector>

namespace loopscope::app {

/// A value that was looked up.
struct KnownValue {
    bool isRecorded = false; ///< its elements are there
    bool isDead = false;
    Tensor tensor;
    std::vector<std::byte> bytes;
    std::optional<TensorStatistics> statistics;
};

class RecordedValues {
public:
    RecordedValues(const Model& model, const RecordedRun& run) : m_model(model), m_run(run) {}

    /// The value `id` of `graph` (of a loop its cond or body) in an invocation. Null: the file is damaged there. Valid until drop().
    const KnownValue* find(const RecordedInvocation& invocation, GraphId graph, ValueId id);
    /// Result `slot` of the operator `op`, which completed at `step`.
    const KnownValue* result(int64_t step, GraphId graph, OperatorId op, int slot);
    /// What was read of `value` otherwise.
    KnownValue adapted(std::optional<RecordedValue> recorded, const Value& value) const;
    /// The executor moves on: what was given out may go.
    void drop();

private:
    struct Key {
        int64_t invocation = 0; ///< −1: `value` is a step
        int64_t value = 0;
        int32_t graph = 0, slot = 0;
        auto operator<=>(const Key&) const = default;
    };
    Result<KnownValue> lookUp(RecordedInvocation invocation, GraphId graph, ValueId id);

    const Model& m_model;
    const RecordedRun& m_run;
    std::map<Key, KnownValue> m_known;
    uint64_t m_bytes = 0;
};

} // namespace loopscope::app
