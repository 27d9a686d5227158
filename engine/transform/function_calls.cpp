#include "engine/transform/function_calls.h"

#include "engine/ops/tf_registry.h"
#include "engine/transform/gradient/function_gradient.h"
#include "engine/transform/graph_editor.h"

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
        for (size_t g = 0; g < m_model.graphs.size(); ++g) {
            const GraphId id(static_cast<int64_t>(g));
            if (std::ranges::none_of(m_model.graph(id).operators, [&](const Operator& op) { return concerns(op); })) continue;
            GraphEditor editor(m_model, id);
            for (const OperatorId op : editor.order()) {
                rename(editor, op);
                bind(editor, op);
                if (m_model.graphs.size() > originals + kMostCopies) return;
            }
        }
    }

private:
    /// Whether the operator calls a function in one of the forms that change.
    bool concerns(const Operator& op) const
    {
        if (op.kind.dialect != "tf") return false;
        const auto hasBindings = [](const NamedAttribute& attribute) {
            const auto* const ref = attribute.value.as<GraphRef>();
            return ref && ref->attributes;
        };
        return op.kind.name == "SymbolicGradient" || std::ranges::any_of(op.attributes, hasBindings) ||
               (m_functions.contains(op.kind.name) && !findTfOp(op.kind.name));
    }

    void rename(GraphEditor& editor, OperatorId id)
    {
        const Operator node = editor.op(id);
        if (node.kind.dialect != "tf") return;
        GraphId callee;
        std::shared_ptr<const AttributeList> bindings;
        if (node.kind.name == "SymbolicGradient") {
            const Attribute* f = findAttribute(node.attributes, "f");
            const auto* ref = f ? f->as<GraphRef>() : nullptr;
            if (!ref || !m_model.hasGraph(ref->graph)) return;
            if (m_depth >= kDeepestGradients) // the kernel says so if it runs
                return editor.setAttribute(id, "f", AttributeMap{{"function", node.kind.name}});
            callee = registeredGradient(ref->graph);
            if (callee.valid()) bindings = ref->attributes;
            else callee = gradientOf(ref->attributes && isPolymorphic(ref->graph) ? copyFor(ref->graph, *ref->attributes) : ref->graph);
            if (const size_t given = m_model.graph(callee).outputs.size(); given != resultCount(node)) // the kernel says so if it runs
                return editor.setAttribute(id, "@results", static_cast<int64_t>(given));
        } else {
            const auto found = findTfOp(node.kind.name) ? m_functions.end() : m_functions.find(node.kind.name);
            if (found == m_functions.end()) return;
            callee = found->second;
            bindings = std::make_shared<const AttributeList>(node.attributes);
        }
        editor.setKind(id, {"tf", "PartitionedCall"});
        editor.setAttribute(id, "f", GraphRef{callee, bindings});
        orderResults(editor, id, m_model.graph(callee));
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
        m_model.graphs.push_back(copyGraph(m_model.graph(function), m_model.graph(function).id + "__gradient"));
        GraphEditor editor(m_model, id);
        ++m_depth;
        for (const OperatorId op : editor.order()) rename(editor, op);
        --m_depth;
        makeGradient(editor);
        return id;
    }

    /// One result for each output of the callee: the importer knows only those that are read, by number or by name. Results that the callee
    /// does not have follow: verifyCalls tells of them.
    static void orderResults(GraphEditor& editor, OperatorId id, const Graph& callee)
    {
        std::vector<ValueId> results(callee.outputs.size()), unknown;
        for (const ValueId result : editor.op(id).results) {
            const int64_t slot = slotOf(editor.value(result).id, editor.op(id).name, callee);
            if (slot >= 0 && slot < static_cast<int64_t>(results.size())) results[static_cast<size_t>(slot)] = result;
            else unknown.push_back(result);
        }
        results.insert(results.end(), unknown.begin(), unknown.end());
        results = editor.setResults(id, std::move(results));
        for (size_t k = 0; k < callee.outputs.size(); ++k) {
            TensorType type = editor.value(results[k]).type;
            if (type.dtype != DType::unknown) continue;
            type.dtype = callee.value(callee.outputs[k].value).type.dtype;
            editor.setType(results[k], std::move(type));
        }
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
    void bind(GraphEditor& editor, OperatorId id)
    {
        if (editor.op(id).kind.dialect != "tf") return;
        AttributeList attributes = editor.op(id).attributes;
        bool isBound = false;
        for (NamedAttribute& attribute : attributes) {
            const auto* const ref = attribute.value.as<GraphRef>();
            if (!ref || !ref->attributes || !m_model.hasGraph(ref->graph) || !isPolymorphic(ref->graph)) continue;
            const GraphRef wanted = *ref;
            attribute.value = GraphRef{copyFor(wanted.graph, *wanted.attributes), nullptr};
            isBound = true;
        }
        if (isBound) editor.setAttributes(id, std::move(attributes));
    }

    GraphId copyFor(GraphId function, const AttributeList& bindings)
    {
        for (const auto& [key, copy] : m_copies)
            if (key.first == function.index && key.second == bindings) return copy;
        Graph copy = copyGraph(m_model.graph(function), m_model.graph(function).id + "__" + std::to_string(m_copies.size()));
        bindTypes(copy, bindings);
        const GraphId id(static_cast<int64_t>(m_model.graphs.size()));
        m_model.graphs.push_back(std::move(copy));
        m_copies.emplace_back(std::pair(function.index, bindings), id);
        return id;
    }

    static void bindTypes(Graph& graph, const AttributeList& bindings)
    {
        GraphEditor editor(graph, Dialect::tf);
        for (const OperatorId id : editor.order()) {
            AttributeList attributes = editor.op(id).attributes;
            for (NamedAttribute& attribute : attributes) substitute(attribute.value, bindings);
            editor.setAttributes(id, std::move(attributes));
        }
        for (size_t v = 0; v < graph.values.size(); ++v) {
            TensorType type = graph.values[v].type;
            const Attribute* const bound = type.parameter.empty() ? nullptr : findAttribute(bindings, type.parameter);
            const DType* const dtype = bound ? bound->as<DType>() : nullptr;
            if (!dtype) continue;
            type.dtype = *dtype;
            type.parameter.clear();
            editor.setType(ValueId(static_cast<int64_t>(v)), std::move(type));
        }
        for (const OperatorId id : editor.order()) {
            const TfOpSignature* const signature = findTfOp(editor.op(id).kind.name);
            const auto types = signature ? tfSlotTypes(*signature, signature->outputs, editor.op(id).attributes) : std::nullopt;
            const std::vector<ValueId>& results = editor.op(id).results;
            for (size_t k = 0; types && k < results.size() && k < types->size(); ++k) {
                TensorType type = editor.value(results[k]).type;
                if (type.dtype != DType::unknown) continue;
                type.dtype = (*types)[k].dtype;
                editor.setType(results[k], std::move(type));
            }
        }
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
