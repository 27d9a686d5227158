#include "engine/exec/machine_state.h"

#include "engine/base/hash.h"

namespace loopscope {

namespace {

/// Folds everything that determines what happens next into one number, in a fixed order.
class StateHash {
public:
    void add(int64_t number) { m_hash = hash64({reinterpret_cast<const std::byte*>(&number), sizeof(number)}, m_hash); }
    void add(std::span<const std::byte> bytes)
    {
        add(static_cast<int64_t>(bytes.size()));
        m_hash = hash64(bytes, m_hash);
    }
    void add(const std::string& text) { add(std::as_bytes(std::span(text))); }
    void add(const Shape& shape)
    {
        add(shape.hasRank() ? shape.rank() : -1);
        for (const int64_t dim : shape.dims()) add(dim);
    }
    void add(const ValueState& value)
    {
        add(value.value.index);
        add(static_cast<int64_t>(value.dtype));
        add(value.shape);
        add(value.bytes.view());
    }
    uint64_t value() const { return m_hash; }

private:
    uint64_t m_hash = 0;
};

void addFrame(StateHash& hash, const FrameState& frame)
{
    for (const int64_t number :
         {int64_t{frame.graph.index}, static_cast<int64_t>(frame.role), int64_t{frame.branch}, frame.invocation, int64_t{frame.site.index},
          frame.iteration, int64_t{frame.inCond}, int64_t{frame.next}, frame.enteredAtStep, frame.taken.tick, int64_t{frame.taken.popped}})
        hash.add(number);
    hash.add(static_cast<int64_t>(frame.values.size()));
    for (const ValueState& value : frame.values) hash.add(value);
    for (const ValueState& value : frame.carried) hash.add(value);
}

} // namespace

uint64_t MachineState::hash() const
{
    StateHash hash;
    hash.add(step);
    hash.add(nextInvocation);
    hash.add(finished ? 1 : 0);
    hash.add(static_cast<int64_t>(frames.size()));
    for (const FrameState& frame : frames) addFrame(hash, frame);
    hash.add(resources.size());
    for (const auto& [handle, variable] : resources.variables()) {
        hash.add(handle);
        hash.add(variable.name);
        hash.add(variable.assigned ? 1 : 0);
        hash.add(static_cast<int64_t>(variable.dtype));
        hash.add(variable.shape);
        hash.add(std::as_bytes(std::span(variable.bytes)));
    }
    for (const auto& [handle, table] : resources.tables()) {
        hash.add(handle);
        hash.add(table.name);
        hash.add(table.initialised ? 1 : 0);
        for (const auto& [key, value] : table.entries) {
            hash.add(key);
            hash.add(value);
        }
    }
    hash.add(static_cast<int64_t>(random.hash()));
    for (const GraphId graph : initialised) hash.add(graph.index);
    for (const auto& [graph, value] : variables) {
        hash.add(graph.index);
        hash.add(value);
    }
    for (const ValueState& token : tokens) hash.add(token);
    hash.add(std::as_bytes(std::span(dataflow)));
    return hash.value();
}

uint64_t MachineState::byteSize() const
{
    uint64_t total = sizeof(MachineState);
    const auto add = [&](const ValueState& value) { total += sizeof(ValueState) + value.bytes.size(); };
    for (const FrameState& frame : frames) {
        total += sizeof(FrameState);
        for (const ValueState& value : frame.values) add(value);
        for (const ValueState& value : frame.carried) add(value);
    }
    for (const auto& [graph, value] : variables) add(value);
    for (const ValueState& token : tokens) add(token);
    total += dataflow.size() * sizeof(int64_t);
    for (const auto& [handle, variable] : resources.variables()) total += sizeof(Variable) + variable.bytes.size();
    for (const auto& [handle, table] : resources.tables())
        for (const auto& [key, value] : table.entries) total += key.size() + value.size();
    return total;
}

} // namespace loopscope
