#include "engine/kernels/vulkan/loop_arena.h"

#include "engine/kernels/registry.h"

#include <algorithm>
#include <cstring>

namespace loopscope::vulkan {

uint32_t widthOf(Code store)
{
    switch (store) {
    case storeU8:
    case storeI8: return 1;
    case storeI16:
    case storeU16:
    case storeF16: return 2;
    case storeI64: return 8;
    default: return 4;
    }
}

uint64_t LoopArena::room(uint64_t bytes)
{
    const uint64_t place = m_bytes;
    m_bytes += std::max<uint64_t>((bytes + 15) / 16, 1) * 16;
    return place;
}

uint64_t LoopArena::constant(std::span<const std::byte> bytes)
{
    for (const auto& [place, known] : m_constants)
        if (std::ranges::equal(known, bytes)) return place;
    m_constants.emplace_back(room(bytes.size()), std::vector<std::byte>(bytes.begin(), bytes.end()));
    return m_constants.back().first;
}

Bytes LoopArena::image() const
{
    std::vector<std::byte> all(kReportBytes);
    for (const auto& [place, bytes] : m_constants) {
        all.resize(std::max<size_t>(all.size(), place + bytes.size()));
        std::memcpy(all.data() + place, bytes.data(), bytes.size());
    }
    return Bytes::copyOf(all);
}

LoopGraph::LoopGraph(const CalledGraph& called) : m_called(&called), m_branches(called.branches.size())
{
    for (size_t o = 0; o < m_branches.size(); ++o)
        for (const CalledGraph& branch : called.branches[o]) m_branches[o].emplace_back(branch);
}

Status LoopGraph::checkVerdict(bool isTensorflow) const
{
    const Tensor& verdict = tensor(graph().outputs[0].value);
    if (verdict.dtype == DType::boolean && verdict.elementCount() == 1 && (!isTensorflow || verdict.shape.rank() == 0)) return {};
    return unsupported("a cond that gives no single bool");
}

int64_t LoopGraph::mostSteps() const
{
    int64_t steps = std::ssize(graph().operators);
    for (const std::vector<LoopGraph>& branches : m_branches) {
        int64_t most = 0;
        for (const LoopGraph& branch : branches) most = std::max(most, branch.mostSteps());
        steps += most;
    }
    return steps;
}

void LoopGraph::giveHomes(std::span<const uint64_t> homes)
{
    for (size_t k = 0; k < homes.size(); ++k) {
        const ValueId value = graph().outputs[k].value;
        if (graph().value(value).role == ValueRole::result) m_places.try_emplace(value, homes[k]);
    }
}

Status LoopGraph::prepare(const Model* model)
{
    for (const Tensor& value : m_called->values) {
        if (bitWidth(value.dtype) == 0) return unsupported("a loop with values of dtype " + std::string(dtypeName(value.dtype)));
        if (!value.shape.isStatic()) return unsupported("shapes that are known only when running");
    }
    const KernelRegistry& registry = KernelRegistry::builtin();
    for (size_t o = 0; o < graph().operators.size(); ++o) {
        const Operator& op = graph().operators[o];
        if (!m_branches[o].empty()) {
            for (LoopGraph& branch : m_branches[o]) LS_CHECK_OK(branch.prepare(model));
            m_kernels.emplace_back();
            continue;
        }
        const KernelEntry* const entry = registry.find(op.kind, Profile::vulkan);
        if (!entry) return unsupported("a loop with '" + op.kind.name + "' inside");
        std::vector<const Tensor*> inputs, outputs;
        for (const ValueId input : op.inputs) inputs.push_back(input.valid() ? &tensor(input) : nullptr);
        for (const ValueId result : op.results) outputs.push_back(&tensor(result));
        KernelSetup setup{op, inputs, outputs, true, model};
        setup.profile = Profile::vulkan;
        LS_TRY(PreparedKernel kernel, entry->prepare(setup));
        if (!PlanBuilder::planOf(kernel)) return unsupported("a loop with '" + op.kind.name + "' inside");
        m_kernels.push_back(std::move(kernel));
    }
    return {};
}

Result<uint64_t> LoopGraph::placeOf(ValueId value, LoopArena& arena)
{
    if (const auto known = m_places.find(value); known != m_places.end()) return known->second;
    const Tensor& tensor = this->tensor(value);
    const ValueRole role = graph().value(value).role;
    if (role == ValueRole::constant && tensor.data) return m_places[value] = arena.constant(tensor.view());
    if (role != ValueRole::result) return unsupported("a loop with values from elsewhere");
    return m_places[value] = arena.room(byteSize(tensor.dtype, tensor.elementCount()));
}

Result<uint64_t> LoopGraph::placeOf(size_t op, const Place& place, LoopArena& arena)
{
    const Operator& one = graph().operators[op];
    switch (place.of) {
    case Place::Of::input: return placeOf(one.inputs[place.index], arena);
    case Place::Of::output: return placeOf(one.results[place.index], arena);
    case Place::Of::constant: {
        const auto [at, isNew] = m_constants.try_emplace({op, place.index}, 0);
        if (isNew) at->second = arena.constant(plan(op).constants[place.index].view());
        return at->second;
    }
    case Place::Of::scratch: break;
    }
    const auto [at, isNew] = m_scratch.try_emplace({op, place.index}, 0);
    if (isNew) at->second = arena.room(plan(op).scratch[place.index]);
    return at->second;
}

void LoopGraph::writeInPlace()
{
    for (size_t k = 0; k < graph().outputs.size(); ++k)
        if (mayOverwrite(k)) m_places[graph().outputs[k].value] = m_places.at(graph().inputs[k]);
}

bool LoopGraph::mayOverwrite(size_t output) const
{
    const ValueId value = graph().outputs[output].value, old = graph().inputs[output];
    if (graph().value(value).role != ValueRole::result) return false;
    for (size_t k = 0; k < graph().outputs.size(); ++k)
        if (graph().outputs[k].value == old || (k != output && graph().outputs[k].value == value)) return false;
    if (tensor(value).dtype != tensor(old).dtype || tensor(value).shape != tensor(old).shape) return false;
    const auto writer = static_cast<size_t>(graph().value(value).producer.index);
    for (size_t o = writer; o < graph().operators.size(); ++o) {
        if (std::ranges::find(graph().operators[o].inputs, old) == graph().operators[o].inputs.end()) continue;
        if (o > writer || !m_branches[o].empty()) return false;
        // Element by element it is read before it is written.
        const std::vector<Step>& steps = plan(o).steps;
        if (steps.size() != 1 || steps[0].shader != Shader::elementwise || steps[0].constants[6] != 0) return false;
    }
    return true;
}

} // namespace loopscope::vulkan
