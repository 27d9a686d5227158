// Edits of values: where a value lives in a saved state, and the fork that an edit makes.
#include "engine/debug/timeline.h"

#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

namespace {

ValueState* among(std::vector<ValueState>& values, ValueId id)
{
    const auto found = std::ranges::find(values, id, &ValueState::value);
    return found == values.end() ? nullptr : &*found;
}

} // namespace

/// Inputs of callees are not saved with their frame: they are the caller's operands, or carried values.
Result<ValueState*> Timeline::locate(MachineState& state, int depth, ValueId id) const
{
    const Model& model = m_executor.model();
    const auto count = static_cast<int>(state.frames.size());
    if (depth < -1 || depth >= count)
        return Error(ErrorCode::usage, "no frame " + std::to_string(depth)).expected("0 to " + std::to_string(count - 1));
    for (size_t f = static_cast<size_t>(depth < 0 ? count - 1 : depth);; --f) {
        FrameState& frame = state.frames[f];
        const Graph& graph = model.graph(frame.graph);
        if (id.index < 0 || static_cast<size_t>(id.index) >= graph.values.size())
            return Error(ErrorCode::usage, "no value " + std::to_string(id.index)).at("graph '" + graph.id + "'");
        const Value& value = graph.value(id);
        if (value.role == ValueRole::constant) return Error(ErrorCode::usage, "a constant cannot be changed").at("'" + value.id + "'");
        for (auto& [owner, variable] : state.variables)
            if (owner == frame.graph && variable.value == id) return &variable;
        if (ValueState* const own = among(frame.values, id)) return own;
        const auto input = std::ranges::find(graph.inputs, id);
        if (input == graph.inputs.end() || f == 0) return Error(ErrorCode::usage, "the value is not live here").at("'" + value.id + "'");
        const auto position = static_cast<size_t>(input - graph.inputs.begin());
        if (frame.role == CallRole::loop) return &frame.carried[position];
        const Operator& call = model.graph(state.frames[f - 1].graph).op(frame.site);
        id = call.inputs[static_cast<size_t>(callForm(call).firstArgument) + position];
    }
}

/// Changes the machine where it stands. On an error it is as before.
Status Timeline::applyEdit(const Edit& edit)
{
    const SharedState before = snapshot();
    auto edited = std::make_shared<MachineState>(*before);
    LS_TRY(ValueState* const value, locate(*edited, edit.depth, edit.value.value));
    value->shape = edit.value.shape;
    value->dtype = edit.value.dtype;
    value->bytes = edit.value.bytes;
    value->remote = nullptr;
    if (Status status = m_executor.restore(*edited); !status.ok()) {
        LS_CHECK_OK(m_executor.restore(*before));
        const Graph& graph = m_executor.model().graph(before->frames[static_cast<size_t>(edit.depth)].graph);
        return Error(ErrorCode::usage, "the value cannot be changed to this type")
            .at("'" + graph.value(edit.value.value).id + "'")
            .note(std::move(status).takeError().message());
    }
    m_base = edited;
    m_baseTick = tick();
    return {};
}

Result<TimelineId> Timeline::edit(int depth, ValueId id, const Tensor& tensor)
{
    LS_CHECK_OK(checkStarted());
    const Tick here = tick();
    Edit edit;
    edit.depth = depth < 0 ? position().depth - 1 : depth;
    edit.value = {id, tensor.dtype, tensor.shape, {}, nullptr};
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    if (!count || (bitWidth(tensor.dtype) > 0 && byteSize(tensor.dtype, *count) != tensor.bytes))
        return Error(ErrorCode::usage, "wrong number of bytes").found(std::to_string(tensor.bytes)).expected("those of the shape");
    {
        MachineState state = m_executor.snapshot();
        LS_TRY(const ValueState* const now, locate(state, edit.depth, id));
        if (now->dtype != tensor.dtype)
            return Error(ErrorCode::usage, "another dtype")
                .found(std::string(dtypeName(tensor.dtype)))
                .expected(std::string(dtypeName(now->dtype)));
    }
    edit.value.bytes = Bytes::copyOf(tensor.data, tensor.bytes);
    const uint64_t cost = tensor.bytes + sizeof(Line);
    if (!m_store.charge(cost)) return Error(ErrorCode::usage, "no room for another edit within the checkpoint budget");
    remember();
    if (Status status = applyEdit(edit); !status.ok()) {
        m_store.refund(cost);
        return std::move(status).takeError();
    }
    Line fork;
    fork.info = {std::ssize(m_lines) + 1, m_owner, here, here, here};
    fork.edit = std::move(edit);
    // The stop is the last one of the old timeline; the machine is past it, on the new one.
    leaveAt(here);
    m_lines.push_back(std::move(fork));
    m_line = m_owner = m_lines.back().info.id;
    m_sinceNs = 0;
    m_store.addCheckpoint(m_owner, here, m_base, 0);
    return m_line;
}

} // namespace loopscope
