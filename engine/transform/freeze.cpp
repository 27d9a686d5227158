#include "engine/transform/freeze.h"

#include "engine/base/text.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/lost_values.h"
#include "engine/ops/tf_registry.h"
#include "engine/transform/function_calls.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace loopscope {

namespace {

constexpr size_t kMostNamed = 5;
constexpr std::string_view kMetaGraph = "meta_graph"; ///< metadata: the rest of the MetaGraph, which names savers and objects

bool isVariable(const Operator& op)
{
    return op.kind.dialect == "tf" &&
           (op.kind.name == "VarHandleOp" || op.kind.name == "VariableV2" || op.kind.name == "Variable" || op.kind.name == "_VarHandlesOp");
}

bool isTable(const Operator& op) { return op.kind.name.find("HashTable") != std::string::npos; }

/// What an operator does with the handle of a variable that is its operand `index`.
enum class Use : uint8_t {
    read,    ///< becomes another operator, over the value
    pass,    ///< hands it on as its results
    call,    ///< hands it on to a graph
    control, ///< takes no notice of it
    write,
    other
};

Use useOf(const Operator& op, size_t index, bool isReference)
{
    const std::string& name = op.kind.name;
    for (const std::string_view read :
         {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp", "IsVariableInitialized"})
        if (name == read && index == 0) return op.inputs.size() == (name.starts_with("ResourceGather") ? 2 : 1) ? Use::read : Use::other;
    for (const std::string_view pass : {"Identity", "IdentityN", "Enter", "Exit", "Switch", "Merge", "NextIteration", "RefIdentity",
                                        "RefEnter", "RefExit", "RefSwitch", "RefMerge", "RefNextIteration"})
        if (name == pass) return Use::pass;
    const CallForm form = callForm(op);
    if (form.kind != CallKind::none) return static_cast<int>(index) >= form.firstArgument ? Use::call : Use::other;
    const TfOpSignature* const signature = findTfOp(name);
    if (isReference && signature) { // whoever does not take the reference reads the value
        size_t slot = 0;
        for (const TfArgument& argument : signature->inputs) {
            const size_t count = static_cast<size_t>(tfArgumentCount(*signature, argument, op.attributes).value_or(1));
            if (index < slot + count) return argument.isReference ? Use::write : Use::control;
            slot += count;
        }
    }
    const bool writes = name.starts_with("Assign") || name.starts_with("Resource") || name.find("Scatter") != std::string::npos;
    return writes ? Use::write : Use::other;
}

/// The variables of a model and where their handles go.
class Handles {
public:
    explicit Handles(const Model& model) : m_model(model), m_types(model.graphs.size())
    {
        for (size_t g = 0; g < model.graphs.size(); ++g) {
            const Graph& graph = model.graphs[g];
            m_types[g].resize(graph.values.size());
            for (size_t i = 0; i < graph.operators.size(); ++i)
                for (const Callee& callee : callForm(graph.operators[i]).callees)
                    if (model.hasGraph(callee.graph))
                        m_sites[callee.graph.index].push_back(
                            {GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(i)), callee.role});
        }
    }

    /// Follows every handle. Errors: what cannot be frozen.
    Status follow(GraphId root)
    {
        const Graph& graph = m_model.graph(root);
        for (const Operator& op : graph.operators) {
            if (!isVariable(op) || op.results.empty()) continue;
            const Attribute* const value = findAttribute(op.attributes, "@value");
            const auto* const tensor = value ? value->as<TensorAttribute>() : nullptr;
            m_variables.push_back(op.name);
            if (!tensor) m_valueless.push_back(op.name);
            else mark({root, op.results[0]}, {tensor->type, op.name, graph.value(op.results[0]).type.isReference});
        }
        while (!m_open.empty()) {
            const At at = m_open.back();
            m_open.pop_back();
            spread(at);
        }
        for (size_t g = 0; g < m_model.graphs.size(); ++g)
            for (const Operator& op : m_model.graphs[g].operators)
                if (isVariable(op) && static_cast<int64_t>(g) != root.index)
                    m_valueless.push_back(op.name + "' in '" + m_model.graphs[g].id);
        checkCalls();
        return problem();
    }

    size_t count() const { return m_variables.size(); }
    /// The type of the value behind a handle; null: the value is no handle of a variable.
    const TensorType* typeOf(GraphId graph, ValueId value) const
    {
        const auto& types = m_types[static_cast<size_t>(graph.index)];
        if (!value.valid() || static_cast<size_t>(value.index) >= types.size()) return nullptr; // a constant that was added
        const auto& known = types[static_cast<size_t>(value.index)];
        return known ? &known->type : nullptr;
    }

private:
    struct Handle {
        TensorType type;
        std::string variable; ///< one of those that it may be
        bool isReference = false;
    };
    struct At {
        GraphId graph;
        ValueId value;
    };
    struct Site {
        GraphId graph;
        OperatorId op;
        std::string role;
    };

    void mark(At at, Handle handle)
    {
        if (!at.value.valid()) return;
        std::optional<Handle>& known = m_types[static_cast<size_t>(at.graph.index)][static_cast<size_t>(at.value.index)];
        if (!known) {
            known = std::move(handle);
            m_open.push_back(at);
        } else if (known->type.dtype != handle.type.dtype) {
            addProblem(m_mixed, handle.variable, "another dtype than '" + known->variable + "' at the same place");
        } else if (!(known->type.shape == handle.type.shape) && known->type.shape.hasRank()) {
            known->type.shape = Shape::unknownRank();
            m_open.push_back(at);
        }
    }

    void spread(At at)
    {
        const Graph& graph = m_model.graph(at.graph);
        const Handle handle = *m_types[static_cast<size_t>(at.graph.index)][static_cast<size_t>(at.value.index)];
        for (const Operator& op : graph.operators)
            for (size_t i = 0; i < op.inputs.size(); ++i)
                if (op.inputs[i] == at.value) spreadTo(at.graph, op, i, handle);
        for (size_t k = 0; k < graph.outputs.size(); ++k)
            if (graph.outputs[k].value == at.value)
                for (const Site& site : m_sites[at.graph.index])
                    if (site.role != "cond") markResult(site.graph, m_model.graph(site.graph).op(site.op), k, handle);
    }

    void spreadTo(GraphId graph, const Operator& op, size_t index, const Handle& handle)
    {
        switch (useOf(op, index, handle.isReference)) {
        case Use::read:
        case Use::control: return;
        case Use::pass:
            if (op.kind.name == "IdentityN") return markResult(graph, op, index, handle);
            if (index > 0 && op.kind.name.ends_with("Switch")) return; // the predicate
            for (size_t k = 0; k < op.results.size(); ++k)
                if (k == 0 || op.kind.name.ends_with("Switch")) markResult(graph, op, k, handle);
            return;
        case Use::call: {
            const CallForm form = callForm(op);
            const size_t position = index - static_cast<size_t>(form.firstArgument);
            for (const Callee& callee : form.callees) {
                if (!m_model.hasGraph(callee.graph)) continue;
                const Graph& inside = m_model.graph(callee.graph);
                if (position < inside.inputs.size()) mark({callee.graph, inside.inputs[position]}, handle);
            }
            if (form.kind == CallKind::loop) markResult(graph, op, position, handle); // also of no iteration
            return;
        }
        case Use::write: return addProblem(m_written, handle.variable, op.kind.name + " '" + op.name + "'");
        case Use::other: return addProblem(m_mixed, handle.variable, op.kind.name + " '" + op.name + "'");
        }
    }

    void markResult(GraphId graph, const Operator& op, size_t slot, const Handle& handle)
    {
        if (slot < op.results.size()) mark({graph, op.results[slot]}, handle);
    }

    /// A function that is called with a variable here must not be called with something else there.
    void checkCalls()
    {
        for (const auto& [callee, sites] : m_sites) {
            const Graph& inside = m_model.graphs[static_cast<size_t>(callee)];
            for (const Site& site : sites) {
                const Operator& op = m_model.graph(site.graph).op(site.op);
                const auto first = static_cast<size_t>(callForm(op).firstArgument);
                for (size_t i = 0; i < inside.inputs.size() && first + i < op.inputs.size(); ++i)
                    if (const auto& formal = m_types[static_cast<size_t>(callee)][static_cast<size_t>(inside.inputs[i].index)];
                        formal && !typeOf(site.graph, op.inputs[first + i]))
                        addProblem(m_mixed, formal->variable, "'" + inside.id + "', which '" + op.name + "' calls with another resource");
            }
        }
    }

    using Problems = std::map<std::string, std::string>;
    static void addProblem(Problems& problems, const std::string& variable, std::string what)
    {
        problems.emplace(variable, std::move(what));
    }

    static std::string listed(const Problems& problems, std::string_view by)
    {
        std::vector<std::string> parts;
        for (const auto& [variable, what] : problems) parts.push_back("'" + variable + "' " + std::string(by) + " " + what);
        return few(std::move(parts));
    }
    static std::string few(std::vector<std::string> parts)
    {
        if (parts.size() > kMostNamed) {
            const size_t more = parts.size() - kMostNamed;
            parts.resize(kMostNamed);
            parts.push_back(std::to_string(more) + " more");
        }
        return join(parts, ", ");
    }

    Status problem() const
    {
        if (!m_valueless.empty()) {
            std::vector<std::string> names;
            const std::vector<std::string> lost = lostValueLines(m_model);
            for (const std::string& name : m_valueless) names.push_back("'" + name + "'");
            return Error(ErrorCode::unsupported, "cannot freeze variables without a value: " + few(std::move(names)))
                .note(lost.empty() ? "a SavedModel has the values in its checkpoint; a GraphDef has none" : lost.front());
        }
        if (!m_written.empty())
            return Error(ErrorCode::unsupported, "cannot freeze variables that are written: " + listed(m_written, "by"));
        if (!m_mixed.empty())
            return Error(ErrorCode::unsupported, "cannot freeze variables that no constant can stand for: " + listed(m_mixed, "in"));
        return {};
    }

    const Model& m_model;
    std::vector<std::vector<std::optional<Handle>>> m_types;
    std::map<int32_t, std::vector<Site>> m_sites;
    std::vector<At> m_open;
    std::vector<std::string> m_variables, m_valueless;
    Problems m_written, m_mixed;
};

/// One graph in which handles become values.
class Thawing {
public:
    Thawing(Model& model, GraphId graph, const Handles& handles)
        : m_model(model),
          m_graph(graph),
          m_handles(handles),
          m_editor(model, graph)
    {
    }

    Status run()
    {
        for (const OperatorId id : m_editor.order()) {
            const Operator op = m_editor.op(id);
            if (isVariable(op) && !op.results.empty()) constant(id, op);
            else if (std::ranges::any_of(op.inputs, [&](ValueId input) { return m_handles.typeOf(m_graph, input) != nullptr; }))
                adapt(id, op);
        }
        const size_t values = m_model.graph(m_graph).values.size();
        for (size_t v = 0; v < values; ++v) {
            const ValueId id(static_cast<int64_t>(v));
            if (const TensorType* const type = typeOf(id)) m_editor.setType(id, *type);
        }
        return m_editor.finish();
    }

private:
    /// Values that the editor added are no handles.
    const TensorType* typeOf(ValueId id) const { return m_handles.typeOf(m_graph, id); }

    void constant(OperatorId id, const Operator& op)
    {
        const TensorAttribute value = *findAttribute(op.attributes, "@value")->as<TensorAttribute>();
        m_editor.setKind(id, {"tf", "Const"});
        m_editor.setAttributes(id, {});
        m_editor.setAttribute(id, "dtype", value.type.dtype);
        m_editor.setAttribute(id, "value", value);
    }

    void adapt(OperatorId id, const Operator& op)
    {
        const std::string& name = op.kind.name;
        const TensorType* const first = op.inputs.empty() ? nullptr : typeOf(op.inputs[0]);
        if (name == "ReadVariableOp" || name == "VarIsInitializedOp" || name == "IsVariableInitialized" || name == "VariableShape" ||
            name.starts_with("ResourceGather"))
            return read(id, op, first->dtype);
        const CallForm form = callForm(op);
        if (form.kind != CallKind::none) return call(id, op, form);
        if (name == "IdentityN") return retype(id, "T", op, 0);
        if (useOf(op, 0, true) == Use::pass && first) {
            if (name.starts_with("Ref")) m_editor.setKind(id, {"tf", name.substr(3)});
            m_editor.setAttribute(id, "T", first->dtype);
        }
    }

    void read(OperatorId id, const Operator& op, DType dtype)
    {
        const std::string& name = op.kind.name;
        const auto become = [&](std::string kind, std::initializer_list<std::pair<std::string, Attribute>> attributes) {
            m_editor.setKind(id, {"tf", std::move(kind)});
            m_editor.setAttributes(id, {});
            for (const auto& [key, value] : attributes) m_editor.setAttribute(id, key, value);
        };
        const auto typeAttribute = [&](std::string_view key, DType otherwise) {
            const Attribute* const found = findAttribute(op.attributes, key);
            const DType* const type = found ? found->as<DType>() : nullptr;
            return type ? *type : otherwise;
        };
        if (name == "ReadVariableOp") return become("Identity", {{"T", dtype}});
        if (name == "VariableShape") return become("Shape", {{"T", dtype}, {"out_type", typeAttribute("out_type", DType::i32)}});
        const DType indices = typeAttribute("Tindices", DType::i32);
        if (name == "ResourceGatherNd") return become("GatherNd", {{"Tindices", indices}, {"Tparams", dtype}});
        if (name == "ResourceGather") {
            const int64_t batch = attributeInt(op.attributes, "batch_dims", 0);
            become("GatherV2", {{"Taxis", DType::i32}, {"Tindices", indices}, {"Tparams", dtype}, {"batch_dims", batch}});
            m_editor.setInputs(id, {op.inputs[0], op.inputs[1], scalar(id, op.name + "/axis", DType::i32, static_cast<int32_t>(batch))});
            return;
        }
        const auto isThere = uint8_t{1};
        become("Const", {{"dtype", DType::boolean}, {"value", TensorAttribute{TensorType(DType::boolean, Shape()), bytesOf(isThere)}}});
        m_editor.setInputs(id, {});
    }

    template <typename T> static ConstantPtr bytesOf(T value) { return std::make_shared<Constant>(Bytes::copyOf(&value, sizeof value)); }

    template <typename T> ValueId scalar(OperatorId before, std::string name, DType dtype, T value)
    {
        OperatorDraft draft;
        draft.kind = {"tf", "Const"};
        draft.name = std::move(name);
        const TensorType type(dtype, Shape());
        draft.attributes = {{"dtype", dtype}, {"value", TensorAttribute{type, bytesOf(value)}}};
        draft.results = {type};
        return m_editor.op(m_editor.insert(std::move(draft), before, InsertPoint::before(before))).results[0];
    }

    /// The list attribute `key` says the types of the operands from `first` on.
    void retype(OperatorId id, const std::string& key, const Operator& op, int first)
    {
        const Attribute* const types = findAttribute(op.attributes, key);
        if (!types || !types->as<AttributeItems>()) return;
        AttributeItems items = *types->as<AttributeItems>();
        for (size_t i = 0; i < items.size() && i + static_cast<size_t>(first) < op.inputs.size(); ++i)
            if (const TensorType* const type = typeOf(op.inputs[i + static_cast<size_t>(first)])) items[i] = type->dtype;
        m_editor.setAttribute(id, key, std::move(items));
    }

    void call(OperatorId id, const Operator& op, const CallForm& form)
    {
        for (const char* key : {"Tin", "T"}) retype(id, key, op, form.firstArgument);
        const Attribute* const types = findAttribute(op.attributes, "Tout");
        if (!types || !types->as<AttributeItems>()) return;
        AttributeItems items = *types->as<AttributeItems>();
        for (size_t k = 0; k < items.size() && k < op.results.size(); ++k)
            if (const TensorType* const type = typeOf(op.results[k])) items[k] = type->dtype;
        m_editor.setAttribute(id, "Tout", std::move(items));
    }

    Model& m_model;
    const GraphId m_graph;
    const Handles& m_handles;
    GraphEditor m_editor;
};

/// Calls `use` for every graph that an attribute names.
template <typename Use> void eachGraphRef(Attribute& attribute, const Use& use)
{
    if (auto* ref = attribute.as<GraphRef>()) {
        if (ref->attributes) {
            AttributeList own = *ref->attributes;
            for (NamedAttribute& a : own) eachGraphRef(a.value, use);
            ref->attributes = std::make_shared<const AttributeList>(std::move(own));
        }
        use(*ref);
    } else if (auto* items = attribute.as<AttributeItems>()) {
        for (Attribute& item : *items) eachGraphRef(item, use);
    } else if (auto* map = attribute.as<AttributeMap>()) {
        for (auto& [key, item] : *map) eachGraphRef(item, use);
    }
}

/// Drops the functions that nothing reaches from `root`, which becomes the first graph.
void dropFunctions(Model& model, GraphId root)
{
    std::vector<int32_t> order = {root.index};
    std::set<int32_t> seen = {root.index};
    const auto reach = [&](GraphId id) {
        if (model.hasGraph(id) && seen.insert(id.index).second) order.push_back(id.index);
    };
    std::unordered_map<std::string, GraphId> byName;
    for (size_t g = 0; g < model.graphs.size(); ++g) byName.emplace(model.graphs[g].id, GraphId(static_cast<int64_t>(g)));
    for (size_t at = 0; at < order.size(); ++at)
        for (Operator& op : model.graphs[static_cast<size_t>(order[at])].operators) {
            for (NamedAttribute& attribute : op.attributes) eachGraphRef(attribute.value, [&](GraphRef& ref) { reach(ref.graph); });
            if (const auto named = byName.find(op.kind.name); named != byName.end() && !findTfOp(op.kind.name)) reach(named->second);
        }
    std::ranges::sort(order.begin() + 1, order.end());
    std::unordered_map<int32_t, int64_t> number;
    std::vector<Graph> kept;
    for (const int32_t old : order) {
        number.emplace(old, static_cast<int64_t>(kept.size()));
        kept.push_back(std::move(model.graphs[static_cast<size_t>(old)]));
    }
    model.graphs = std::move(kept);
    for (Signature& signature : model.signatures) signature.graph = GraphId(number.at(signature.graph.index));
    for (Graph& graph : model.graphs)
        for (Operator& op : graph.operators)
            for (NamedAttribute& attribute : op.attributes)
                eachGraphRef(attribute.value, [&](GraphRef& ref) {
                    const auto found = number.find(ref.graph.index);
                    ref.graph = found == number.end() ? GraphId() : GraphId(found->second);
                });
    std::erase_if(model.gradients, [&](const auto& gradient) { return !number.contains(gradient.first.index); });
    for (auto& [function, name] : model.gradients) function = GraphId(number.at(function.index));
}

/// Whether a signature's outputs are what is fetched.
bool isFetched(const Model& model, const Signature& signature, const RunSelection& selection)
{
    return std::ranges::all_of(signature.outputs, [&](const SignatureBinding& binding) {
        return binding.value.valid() &&
               std::ranges::find(selection.fetches, model.graph(signature.graph).value(binding.value).id) != selection.fetches.end();
    });
}

/// What is fed becomes a Placeholder, if it is none.
Status placeholders(Model& model, GraphId root, const RunSelection& selection)
{
    GraphEditor editor(model, root);
    for (const OperatorId id : editor.order()) {
        const Operator op = editor.op(id);
        const auto names = [&](const std::string& feed) { return feed.substr(0, feed.find(':')) == op.name; };
        if (op.kind.name.starts_with("Placeholder") || std::ranges::none_of(selection.feeds, names)) continue;
        if (op.results.size() != 1)
            return Error(ErrorCode::unsupported, "a node of several results cannot be fed in a frozen graph").at("feed '" + op.name + "'");
        const TensorType type = editor.value(op.results[0]).type;
        editor.setKind(id, {"tf", "Placeholder"});
        editor.setInputs(id, {});
        editor.setControlInputs(id, {});
        editor.setAttributes(id, {});
        editor.setAttribute(id, "dtype", type.dtype);
        editor.setAttribute(id, "shape", type.shape);
    }
    return editor.finish();
}

/// Leaves of the root what the selection needs; its nodes that fill tables stay, too, if there are tables.
Status reduce(Model& model, GraphId root, const RunSelection& selection)
{
    std::vector<std::string> wanted = selection.targets;
    for (const std::string& fetch : selection.fetches) wanted.push_back(fetch.substr(0, fetch.find(':')));
    const auto rootsOf = [&](const std::vector<std::string>& names) {
        std::vector<OperatorId> roots;
        const Graph& graph = model.graph(root);
        for (size_t i = 0; i < graph.operators.size(); ++i)
            if (std::ranges::find(names, graph.operators[i].name) != names.end()) roots.emplace_back(static_cast<int64_t>(i));
        return roots;
    };
    const Model before = model;
    {
        GraphEditor editor(model, root);
        editor.eraseUnneeded(rootsOf(wanted));
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    }
    const std::string_view initialisers = attributeString(before.attributes, "init_op", "");
    if (initialisers.empty() || std::ranges::none_of(model.graph(root).operators, &isTable)) return {};
    model = before;
    for (size_t at = 0; at < initialisers.size();) {
        const size_t end = std::min(initialisers.find(' ', at), initialisers.size());
        if (end > at) wanted.emplace_back(initialisers.substr(at, end - at));
        at = end + 1;
    }
    GraphEditor editor(model, root);
    editor.eraseUnneeded(rootsOf(wanted));
    return editor.finish(GraphEditor::Values::dropUnused);
}

} // namespace

Result<Frozen> freezeVariables(Model& model, GraphId root, const RunSelection& selection, std::string_view signature)
{
    Model frozen = model;
    resolveFunctionCalls(frozen);
    // Other entry points would hold on to what they need.
    std::erase_if(frozen.signatures,
                  [&](const Signature& s) { return s.key != signature || s.graph != root || !isFetched(frozen, s, selection); });
    LS_CHECK_OK(placeholders(frozen, root, selection));
    LS_CHECK_OK(reduce(frozen, root, selection));
    dropFunctions(frozen, root);
    Handles handles(frozen);
    LS_CHECK_OK(handles.follow(GraphId(0)));
    for (size_t g = 0; g < frozen.graphs.size(); ++g) LS_CHECK_OK(Thawing(frozen, GraphId(static_cast<int64_t>(g)), handles).run());
    std::erase_if(frozen.metadata, [](const Metadata& metadata) { return metadata.name == kMetaGraph; });
    const auto hasAsset = [](const Graph& graph) {
        return std::ranges::any_of(graph.operators, [](const Operator& op) { return findAttribute(op.attributes, "@asset") != nullptr; });
    };
    if (std::ranges::none_of(frozen.graphs, hasAsset))
        std::erase_if(frozen.metadata, [](const Metadata& metadata) { return metadata.name.starts_with("assets/"); });
    Frozen answer;
    answer.variables = static_cast<int64_t>(handles.count());
    for (const Graph& graph : frozen.graphs)
        for (const Operator& op : graph.operators)
            if (isTable(op)) answer.tables.push_back(op.name);
    if (answer.tables.empty()) std::erase_if(frozen.attributes, [](const NamedAttribute& a) { return a.key == "init_op"; });
    model = std::move(frozen);
    return answer;
}

} // namespace loopscope
