// Follows operands backwards from each assignment: the value to RestoreV2, the target to the variable's node.
#include "converters/savedmodel/restored_variables.h"

#include "engine/ops/op_traits.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <map>
#include <optional>

namespace loopscope::savedmodel {

namespace {

constexpr int kLongestChain = 64; ///< operators that only pass on their first operand

struct Place {
    GraphId graph;
    ValueId value;
};

class Tracer {
public:
    explicit Tracer(const Model& model) : m_model(model)
    {
        if (model.graphs.empty()) return;
        const Graph& main = model.graphs.front();
        for (size_t i = 0; i < main.operators.size(); ++i)
            for (const NamedAttribute& a : main.operators[i].attributes)
                if (const auto* ref = a.value.as<GraphRef>()) m_callers[ref->graph.index].push_back(OperatorId(static_cast<int64_t>(i)));
    }

    std::vector<RestoredVariable> run() const
    {
        std::map<OperatorId, RestoredVariable> found;
        for (size_t g = 0; g < m_model.graphs.size(); ++g) {
            const GraphId id(static_cast<int64_t>(g));
            for (const Operator& op : m_model.graphs[g].operators) {
                const bool assigns = op.kind.name == "AssignVariableOp" || op.kind.name == "Assign";
                if (!assigns || op.inputs.size() < 2) continue;
                const auto value = producer({id, op.inputs[1]});
                if (!value) continue;
                for (const OperatorId variable : variablesOf({id, op.inputs[0]})) {
                    RestoredVariable restored{variable, value->key, value->slice};
                    found.emplace(variable, std::move(restored));
                }
            }
        }
        std::vector<RestoredVariable> list;
        for (auto& [op, restored] : found) list.push_back(std::move(restored));
        return list;
    }

private:
    /// The operator that makes a value, behind those that hand it on; null for parameters.
    const Operator* source(Place& place) const
    {
        const Graph& graph = m_model.graph(place.graph);
        for (int i = 0; i < kLongestChain; ++i) {
            const Value& value = graph.value(place.value);
            if (value.role != ValueRole::result) return nullptr;
            const Operator& op = graph.op(value.producer);
            const bool hands = op.kind.name == "Identity" || op.kind.name == "Reshape" || op.kind.name == "StopGradient";
            if (!hands || op.inputs.empty()) return &op;
            place.value = op.inputs.front();
        }
        return nullptr;
    }

    struct Restored {
        std::string key, slice;
    };

    /// The strings of a constant; parameters are followed to their only caller.
    std::vector<std::string_view> strings(Place place) const
    {
        const Operator* op = source(place);
        if (op == nullptr) {
            const std::vector<Place> outside = callersOf(place);
            if (outside.size() != 1) return {};
            place = outside.front();
            op = source(place);
        }
        const Attribute* value = op && op->kind.name == "Const" ? findAttribute(op->attributes, "value") : nullptr;
        const auto* tensor = value ? value->as<TensorAttribute>() : nullptr;
        if (!tensor || tensor->type.dtype != DType::string || !tensor->data->hasBytes()) return {};
        auto list = unpackStrings(tensor->data->bytes().view());
        return list.ok() ? std::move(list).value() : std::vector<std::string_view>();
    }

    std::optional<Restored> producer(Place place) const
    {
        const Operator* op = source(place);
        if (!op || op->kind.name != "RestoreV2" || op->inputs.size() != 3) return std::nullopt;
        const auto names = strings({place.graph, op->inputs[1]});
        const auto slices = strings({place.graph, op->inputs[2]});
        const auto slot = static_cast<size_t>(m_model.graph(place.graph).value(place.value).slot);
        if (slot >= names.size()) return std::nullopt;
        return Restored{std::string(names[slot]), slot < slices.size() ? std::string(slices[slot]) : std::string()};
    }

    /// What the main graph passes for a function's parameter, at every call of it.
    std::vector<Place> callersOf(const Place& place) const
    {
        std::vector<Place> places;
        const Graph& graph = m_model.graph(place.graph);
        const auto at = std::ranges::find(graph.inputs, place.value);
        const auto callers = m_callers.find(place.graph.index);
        if (at == graph.inputs.end() || callers == m_callers.end()) return places;
        const auto index = static_cast<size_t>(at - graph.inputs.begin());
        for (const OperatorId caller : callers->second) {
            const Operator& op = m_model.graphs.front().op(caller);
            if (index < op.inputs.size() && op.inputs[index].valid()) places.push_back({GraphId(0), op.inputs[index]});
        }
        return places;
    }

    std::vector<OperatorId> variablesOf(Place place) const
    {
        std::vector<Place> places = {place};
        if (source(places.front()) == nullptr) places = callersOf(places.front());
        std::vector<OperatorId> variables;
        for (Place& p : places) {
            const Operator* op = source(p);
            const bool isVariable = op && p.graph == GraphId(0) && hasTrait(op->kind, OpTrait::variable);
            if (isVariable) variables.push_back(m_model.graphs.front().value(p.value).producer);
        }
        return variables;
    }

    const Model& m_model;
    std::map<int32_t, std::vector<OperatorId>> m_callers; ///< function → nodes of the main graph that name it
};

} // namespace

std::vector<RestoredVariable> restoredVariables(const Model& model) { return Tracer(model).run(); }

} // namespace loopscope::savedmodel
