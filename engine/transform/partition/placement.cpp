#include "engine/transform/partition/placement.h"

#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace loopscope {

namespace {

bool isTied(const TensorType& type) { return type.isReference || type.dtype == DType::resource; }

size_t at(OperatorId id) { return static_cast<size_t>(id.index); }

class Placer {
public:
    explicit Placer(const Graph& graph) : m_graph(graph), m_groups(graph.operators.size()), m_reader(graph.values.size())
    {
        std::iota(m_groups.begin(), m_groups.end(), size_t{0});
        std::unordered_map<std::string, size_t> byName;
        for (size_t o = 0; o < graph.operators.size(); ++o) byName.emplace(graph.operators[o].name, o);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            for (const ValueId input : op.inputs) {
                if (!input.valid()) continue;
                OperatorId& reader = m_reader[static_cast<size_t>(input.index)];
                if (!reader.valid()) reader = OperatorId(static_cast<int64_t>(o));
                const Value& value = graph.value(input);
                if (!isTied(value.type)) continue;
                if (value.role == ValueRole::result) join(o, at(value.producer));
                else join(o, at(reader));
            }
            tieByClass(op, o, byName);
        }
        for (size_t o = 0; o < m_groups.size(); ++o) ++m_sizes[groupOf(o)];
    }

    /// Loops that cannot be cut: a control loop needs a predicate.
    void keepUncuttable()
    {
        if (!hasFramesOrSwitches(m_graph)) return;
        for (const Frame& frame : analyzeFrames(m_graph).frames)
            for (const OperatorId node : frame.nodes)
                if (frame.parent >= 0 && !frame.condition.valid()) join(at(node), at(frame.nodes.front()));
    }

    size_t groupOf(size_t op)
    {
        while (m_groups[op] != op) op = m_groups[op] = m_groups[m_groups[op]];
        return op;
    }

    /// The device of each group. Errors: usage.
    Status decide(const std::vector<std::string>& wanted)
    {
        std::unordered_map<size_t, size_t> decidedBy;
        for (size_t o = 0; o < wanted.size(); ++o) {
            if (wanted[o].empty() || (flowRole(m_graph.operators[o]) != FlowRole::none && m_sizes[groupOf(o)] > 1)) continue;
            const auto [first, isNew] = decidedBy.emplace(groupOf(o), o);
            if (isNew || wanted[first->second] == wanted[o]) continue;
            return Error(ErrorCode::usage, "'" + m_graph.operators[first->second].name + "' and '" + m_graph.operators[o].name +
                                               "' share a variable, an array or another handle, or a '_class'")
                .found("devices " + wanted[first->second] + " and " + wanted[o])
                .expected("one device");
        }
        m_devices.assign(wanted.size(), "");
        for (size_t o = 0; o < wanted.size(); ++o) {
            const auto decision = decidedBy.find(groupOf(o));
            if (decision != decidedBy.end()) m_devices[o] = wanted[decision->second];
        }
        return {};
    }

    DevicePlacement placed(const std::string& otherwise)
    {
        DevicePlacement placement;
        std::unordered_map<std::string, int32_t> numbers;
        for (size_t o = 0; o < m_groups.size(); ++o) {
            const std::string& wanted = m_devices[standsWith(o)];
            const std::string& device = wanted.empty() ? otherwise : wanted;
            const auto [number, isNew] = numbers.emplace(device, static_cast<int32_t>(placement.devices.size()));
            if (isNew) placement.devices.push_back(device);
            placement.deviceOf.push_back(number->second);
        }
        placeConstants(placement);
        return placement;
    }

private:
    /// A constant of which nobody has said where it stands is where it is read, if that is one place: it needs not be sent there again and
    /// again.
    void placeConstants(DevicePlacement& placement) const
    {
        std::vector<int32_t> readers(m_graph.operators.size(), -1); // −1: nobody, −2: several devices, or the caller
        const auto reads = [&](ValueId value, int32_t device) {
            if (!value.valid() || m_graph.value(value).role != ValueRole::result) return;
            int32_t& known = readers[at(m_graph.value(value).producer)];
            known = known == -1 || known == device ? device : -2;
        };
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            for (const ValueId input : m_graph.operators[o].inputs) reads(input, placement.deviceOf[o]);
        for (const GraphOutput& output : m_graph.outputs) reads(output.value, -2);
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            if (m_graph.operators[o].kind.name == "Const" && m_devices[standsWith(o)].empty() && readers[o] >= 0)
                placement.deviceOf[o] = readers[o];
    }

    void join(size_t a, size_t b) { m_groups[groupOf(a)] = groupOf(b); }

    void tieByClass(const Operator& op, size_t o, const std::unordered_map<std::string, size_t>& byName)
    {
        const Attribute* const said = findAttribute(op.attributes, "_class");
        const auto* const items = said ? said->as<AttributeItems>() : nullptr;
        for (size_t k = 0; items && k < items->size(); ++k) {
            const auto* const text = (*items)[k].as<std::string>();
            if (!text || !text->starts_with("loc:@")) continue;
            const auto other = byName.find(text->substr(5));
            // A loop's Switch names its Merge, where it goes anyway.
            if (other != byName.end() && flowRole(op) == FlowRole::none) join(o, other->second);
        }
    }

    /// The operator whose device a node of control flow takes.
    size_t standsWith(size_t op) const
    {
        for (size_t hops = 0; hops <= m_groups.size(); ++hops) {
            const Operator& node = m_graph.operators[op];
            OperatorId next;
            switch (flowRole(node)) {
            case FlowRole::choice:
            case FlowRole::manyChoice:
            case FlowRole::exit:
                if (!node.inputs.empty() && node.inputs[0].valid()) next = m_graph.value(node.inputs[0]).producer;
                break;
            case FlowRole::enter:
            case FlowRole::nextIteration:
                if (!node.results.empty()) next = m_reader[static_cast<size_t>(node.results[0].index)];
                break;
            default: break;
            }
            if (!next.valid() || (!node.results.empty() && isTied(m_graph.value(node.results[0]).type))) return op;
            op = at(next);
        }
        return op;
    }

    const Graph& m_graph;
    std::vector<size_t> m_groups;
    std::unordered_map<size_t, size_t> m_sizes;
    std::vector<OperatorId> m_reader; ///< value → its first reader
    std::vector<std::string> m_devices;
};

/// A well-mixed number (splitmix64).
uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

} // namespace

Result<DevicePlacement> decidePlacement(const Graph& graph, const std::vector<std::string>& wanted, const std::string& otherwise)
{
    Placer placer(graph);
    std::vector<std::string> all = wanted;
    all.resize(graph.operators.size());
    for (size_t o = 0; o < all.size(); ++o)
        if (all[o].empty()) all[o] = attributeString(graph.operators[o].attributes, "@device", "");
    LS_CHECK_OK(placer.decide(all));
    return placer.placed(otherwise);
}

DevicePlacement placeAtRandom(const Graph& graph, int64_t count, uint64_t seed)
{
    Placer placer(graph);
    placer.keepUncuttable();
    std::vector<std::string> wanted;
    for (size_t o = 0; o < graph.operators.size(); ++o)
        wanted.push_back("d" + std::to_string(mixed(mixed(seed) + placer.groupOf(o)) % static_cast<uint64_t>(std::max<int64_t>(count, 1))));
    static_cast<void>(placer.decide(wanted)); // members of one group want the same
    return placer.placed("d0");
}

} // namespace loopscope
