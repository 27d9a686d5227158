#include "engine/transform/function_calls.h"

#include "engine/ops/tf_registry.h"
#include "engine/transform/function_gradient.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

namespace loopscope {

namespace {

/// Copies of one function for different bindings end here: a function that calls itself with ever new types must not go on for ever.
constexpr size_t kMostCopies = 1000;
/// Functions that ask for gradients of functions that ask for gradients of …
constexpr int kDeepestGradients = 256;

class CallResolver {
public:
    explicit CallResolver(Model& model) : m_model(model)
    {
        for (size_t g = 0; g < model.graphs.size(); ++g) m_functions.emplace(model.graphs[g].id, GraphId(static_cast<int64_t>(g)));
    }

    void run()
    {
        const size_t originals = m_model.graphs.size();
        for (size_t g = 0; g < m_model.graphs.size(); ++g)
            for (size_t o = 0; o < m_model.graphs[g].operators.size(); ++o) {
                rename(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)));
                bind(g, o);
                if (m_model.graphs.size() > originals + kMostCopies) return;
            }
    }

private:
    void rename(GraphId in, OperatorId id)
    {
        const Operator node = m_model.graph(in).op(id);
        if (node.kind.dialect != "tf") return;
        GraphId callee;
        std::shared_ptr<const AttributeList> bindings;
        if (node.kind.name == "SymbolicGradient") {
            const Attribute* f = findAttribute(node.attributes, "f");
            const auto* ref = f ? f->as<GraphRef>() : nullptr;
            if (!ref || !m_model.hasGraph(ref->graph)) return;
            if (m_depth >= kDeepestGradients) { // the kernel says so if it runs
                setAttribute(m_model.graph(in).operators[static_cast<size_t>(id.index)].attributes, "f",
                             AttributeMap{{"function", node.kind.name}});
                return;
            }
            callee = registeredGradient(ref->graph);
            if (callee.valid()) bindings = ref->attributes;
            else callee = gradientOf(ref->attributes && isPolymorphic(ref->graph) ? copyFor(ref->graph, *ref->attributes) : ref->graph);
            if (const size_t given = m_model.graph(callee).outputs.size(); given != resultCount(node)) { // the kernel says so if it runs
                setAttribute(m_model.graph(in).operators[static_cast<size_t>(id.index)].attributes, "@results",
                             static_cast<int64_t>(given));
                return;
            }
        } else {
            const auto found = findTfOp(node.kind.name) ? m_functions.end() : m_functions.find(node.kind.name);
            if (found == m_functions.end()) return;
            callee = found->second;
            bindings = std::make_shared<const AttributeList>(node.attributes);
        }
        Operator& op = m_model.graph(in).operators[static_cast<size_t>(id.index)];
        op.kind.name = "PartitionedCall";
        setAttribute(op.attributes, "f", GraphRef{callee, bindings});
        orderResults(m_model.graph(in), id, m_model.graph(callee));
    }

    static size_t resultCount(const Operator& gradient)
    {
        const Attribute* const types = findAttribute(gradient.attributes, "Tout");
        const auto* const items = types ? types->as<AttributeItems>() : nullptr;
        return items ? items->size() : gradient.results.size();
    }

    GraphId registeredGradient(GraphId function) const
    {
        for (const auto& [owner, gradient] : m_model.gradients)
            if (owner == function)
                if (const auto found = m_functions.find(gradient); found != m_functions.end()) return found->second;
        return {};
    }

    /// The function's gradient, made when it is first asked for.
    GraphId gradientOf(GraphId function)
    {
        const auto [at, isNew] = m_gradients.emplace(function, GraphId(static_cast<int64_t>(m_model.graphs.size())));
        const GraphId id = at->second;
        if (!isNew) return id;
        Graph copy = m_model.graph(function);
        copy.id += "__gradient";
        copy.name.clear();
        m_model.graphs.push_back(std::move(copy));
        ++m_depth;
        for (size_t o = 0; o < m_model.graph(id).operators.size(); ++o) rename(id, OperatorId(static_cast<int64_t>(o)));
        --m_depth;
        makeGradient(m_model.graph(id));
        return id;
    }

    /// One result for each output of the callee: the importer knows only those that are read, by number or by name.
    void orderResults(Graph& graph, OperatorId id, const Graph& callee) const
    {
        Operator& op = graph.operators[static_cast<size_t>(id.index)];
        std::vector<ValueId> results(callee.outputs.size());
        for (const ValueId result : op.results) {
            const int64_t slot = slotOf(graph.value(result).id, op.name, callee);
            if (slot >= 0 && slot < static_cast<int64_t>(results.size())) results[static_cast<size_t>(slot)] = result;
        }
        for (size_t k = 0; k < results.size(); ++k) {
            const TensorType& type = callee.value(callee.outputs[k].value).type;
            if (!results[k].valid()) {
                Value value;
                value.id = k == 0 ? op.name : op.name + ":" + std::to_string(k);
                value.role = ValueRole::result;
                value.producer = id;
                results[k] = ValueId(static_cast<int64_t>(graph.values.size()));
                graph.values.push_back(std::move(value));
            }
            Value& value = graph.value(results[k]);
            value.slot = static_cast<int32_t>(k);
            if (value.type.dtype == DType::unknown) value.type.dtype = type.dtype;
        }
        op.results = std::move(results);
    }

    /// The slot that "node", "node:2" or "node:name:0" means; −1 if none.
    static int64_t slotOf(std::string_view value, std::string_view node, const Graph& callee)
    {
        if (!value.starts_with(node)) return -1;
        value.remove_prefix(node.size());
        if (value.empty()) return 0;
        value.remove_prefix(1);
        int64_t number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error == std::errc() && end == value.data() + value.size()) return number;
        const std::string_view name = value.substr(0, value.find(':'));
        for (size_t k = 0; k < callee.outputs.size(); ++k)
            if (callee.outputs[k].name == name) return static_cast<int64_t>(k);
        return -1;
    }

    static bool hasPlaceholder(const Attribute& attribute)
    {
        if (attribute.as<Placeholder>()) return true;
        const auto* items = attribute.as<AttributeItems>();
        return items && std::any_of(items->begin(), items->end(), hasPlaceholder);
    }

    bool isPolymorphic(GraphId id)
    {
        const auto [at, isNew] = m_polymorphic.emplace(id.index, false);
        if (!isNew) return at->second;
        const Graph& graph = m_model.graph(id);
        bool found = std::any_of(graph.values.begin(), graph.values.end(), [](const Value& v) { return !v.type.parameter.empty(); });
        for (const Operator& op : graph.operators)
            for (const NamedAttribute& attribute : op.attributes) found = found || hasPlaceholder(attribute.value);
        return at->second = found;
    }

    /// Points the operator's callees at copies made for its bindings.
    void bind(size_t g, size_t o)
    {
        if (m_model.graphs[g].operators[o].kind.dialect != "tf") return;
        for (size_t a = 0; a < m_model.graphs[g].operators[o].attributes.size(); ++a) {
            const auto* ref = m_model.graphs[g].operators[o].attributes[a].value.as<GraphRef>();
            if (!ref || !ref->attributes || !m_model.hasGraph(ref->graph) || !isPolymorphic(ref->graph)) continue;
            const GraphRef wanted = *ref;
            const GraphId copy = copyFor(wanted.graph, *wanted.attributes);
            m_model.graphs[g].operators[o].attributes[a].value = GraphRef{copy, nullptr};
        }
    }

    GraphId copyFor(GraphId function, const AttributeList& bindings)
    {
        for (const auto& [key, copy] : m_copies)
            if (key.first == function.index && key.second == bindings) return copy;
        Graph copy = m_model.graph(function);
        copy.id += "__" + std::to_string(m_copies.size());
        copy.name.clear();
        for (Operator& op : copy.operators)
            for (NamedAttribute& attribute : op.attributes) substitute(attribute.value, bindings);
        for (Value& value : copy.values) {
            const Attribute* bound = value.type.parameter.empty() ? nullptr : findAttribute(bindings, value.type.parameter);
            const DType* dtype = bound ? bound->as<DType>() : nullptr;
            if (!dtype) continue;
            value.type.dtype = *dtype;
            value.type.parameter.clear();
        }
        for (Operator& op : copy.operators) {
            const TfOpSignature* signature = findTfOp(op.kind.name);
            const auto types = signature ? tfSlotTypes(*signature, signature->outputs, op.attributes) : std::nullopt;
            for (size_t k = 0; types && k < op.results.size() && k < types->size(); ++k)
                if (copy.value(op.results[k]).type.dtype == DType::unknown) copy.value(op.results[k]).type.dtype = (*types)[k].dtype;
        }
        const GraphId id(static_cast<int64_t>(m_model.graphs.size()));
        m_model.graphs.push_back(std::move(copy));
        m_copies.emplace_back(std::pair(function.index, bindings), id);
        return id;
    }

    static void substitute(Attribute& attribute, const AttributeList& bindings)
    {
        if (const auto* placeholder = attribute.as<Placeholder>()) {
            if (const Attribute* bound = findAttribute(bindings, placeholder->name)) attribute = Attribute(*bound);
        } else if (auto* items = attribute.as<AttributeItems>()) {
            for (Attribute& item : *items) substitute(item, bindings);
        } else if (auto* ref = attribute.as<GraphRef>(); ref && ref->attributes) {
            AttributeList inner = *ref->attributes;
            for (NamedAttribute& named : inner) substitute(named.value, bindings);
            ref->attributes = std::make_shared<const AttributeList>(std::move(inner));
        }
    }

    Model& m_model;
    std::unordered_map<std::string, GraphId> m_functions;
    std::map<int32_t, bool> m_polymorphic;
    std::map<GraphId, GraphId> m_gradients; ///< functions and the gradients that were made for them
    int m_depth = 0;                        ///< gradients that are being made, each for another
    std::vector<std::pair<std::pair<int32_t, AttributeList>, GraphId>> m_copies;
};

} // namespace

void resolveFunctionCalls(Model& model) { CallResolver(model).run(); }

} // namespace loopscope
