#include "engine/transform/gradient/call_gradients.h"

#include "engine/ops/tf_rules.h"
#include "engine/transform/gradient/activity.h"
#include "engine/transform/gradient/custom_gradients.h"
#include "engine/transform/gradient/known_shapes.h"
#include "engine/transform/gradient/loop_constants.h"

#include <algorithm>
#include <optional>
#include <set>

namespace loopscope {

namespace {

/// Functions inside of functions; deeper than this they call themselves.
constexpr int kDeepestCalls = 64;

AttributeItems dtypesOf(const Graph& graph, const std::vector<ValueId>& values, size_t from)
{
    AttributeItems types;
    for (size_t k = from; k < values.size(); ++k) types.emplace_back(graph.value(values[k]).type.dtype);
    return types;
}

/// A value that nobody looks at.
GradientValue standIn(GradientNodes& nodes, DType dtype)
{
    if (dtype == DType::variant)
        return nodes.node("EmptyTensorList", {nodes.integers({}), nodes.integer(-1)},
                          {{"element_dtype", DType::f32}, {"shape_type", DType::i32}});
    if (dtype == DType::string) return nodes.node("AsString", {nodes.integer(0)});
    const GradientValue zero = nodes.integer(0);
    return dtype == DType::i32 ? zero : nodes.node("Cast", {zero}, {{"DstT", dtype}});
}

/// More results for an operator: their ids.
std::vector<ValueId> addResults(GraphEditor& editor, OperatorId id, const std::vector<TensorType>& types)
{
    std::vector<ValueId> results = editor.op(id).results;
    const size_t before = results.size();
    results.resize(before + types.size());
    results = editor.setResults(id, std::move(results));
    for (size_t k = 0; k < types.size(); ++k) editor.setType(results[before + k], types[k]);
    return {results.begin() + static_cast<ptrdiff_t>(before), results.end()};
}

/// The value of another output type: what functions hand out has the shape that it has there.
TensorType anyShape(const TensorType& type) { return {type.dtype, Shape::unknownRank()}; }

/// The forward function of each branch with what it saves, and stand-ins for what the others save.
Status alignForward(std::vector<SplitFunction>& parts)
{
    for (size_t b = 0; b < parts.size() && parts.size() > 1; ++b) {
        for (const TensorType& type : parts[b].saved)
            if (type.dtype == DType::resource)
                return Error(ErrorCode::unsupported, "backpropagation needs a handle that only one branch makes").at(parts[b].forward.id);
        GraphEditor editor(parts[b].forward, Dialect::tf);
        GradientNodes nodes(editor);
        nodes.setScope(freshScope(parts[b].forward, "not_taken"), Sources::none());
        std::vector<GraphOutput> outputs = parts[b].forward.outputs;
        std::vector<GraphOutput> own(outputs.end() - static_cast<ptrdiff_t>(parts[b].saved.size()), outputs.end());
        outputs.resize(outputs.size() - own.size());
        for (size_t other = 0; other < parts.size(); ++other)
            for (size_t k = 0; k < parts[other].saved.size(); ++k)
                outputs.push_back({"saved_" + std::to_string(outputs.size()),
                                   other == b ? own[k].value : standIn(nodes, parts[other].saved[k].dtype).id});
        editor.setOutputs(std::move(outputs));
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    }
    return {};
}

/// Branches of one operator take the same operands.
Status alignBackward(std::vector<SplitFunction>& parts, const std::vector<size_t>& inputs, const std::vector<TensorType>& inputTypes)
{
    for (size_t b = 0; b < parts.size(); ++b) {
        Graph& graph = parts[b].backward;
        GraphEditor editor(graph, Dialect::tf);
        const std::vector<ValueId> own = graph.inputs;
        std::vector<ValueId> all(own.begin(), own.begin() + static_cast<ptrdiff_t>(parts[b].gradients));
        for (size_t other = 0; other < parts.size(); ++other)
            for (size_t k = 0; k < parts[other].saved.size(); ++k)
                all.push_back(other == b ? own[parts[b].gradients + k] : editor.addInput("not_taken", anyShape(parts[other].saved[k])));
        for (const size_t input : inputs) {
            const auto mine = std::ranges::find(parts[b].inputs, input);
            const auto k = static_cast<size_t>(mine - parts[b].inputs.begin());
            all.push_back(mine == parts[b].inputs.end() ? editor.addInput("not_needed", anyShape(inputTypes[input]))
                                                        : own[parts[b].gradients + parts[b].saved.size() + k]);
        }
        editor.setGraphInputs(std::move(all));
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    }
    return {};
}

/// The attributes that name the functions of a branching operator or a call.
void setCallees(AttributeList& attributes, const Operator& op, const std::vector<GraphId>& graphs)
{
    const auto set = [&](const char* key, GraphId id) { setAttribute(attributes, key, GraphRef{id, nullptr}); };
    if (isCall(op)) return set("f", graphs[0]);
    if (op.kind.name.ends_with("If")) {
        set("then_branch", graphs[0]);
        set("else_branch", graphs[1]);
        return;
    }
    AttributeItems branches;
    for (const GraphId id : graphs) branches.emplace_back(GraphRef{id, nullptr});
    setAttribute(attributes, "branches", std::move(branches));
}

} // namespace

FunctionalGradients::FunctionalGradients(Model& model, std::vector<std::string> recompute, bool stacks)
    : m_model(model),
      m_recompute(std::move(recompute)),
      m_stacks(stacks),
      m_arraySource("gradients")
{
    std::set<std::string, std::less<>> taken;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (op.kind.name.starts_with("TensorArrayGrad")) taken.emplace(attributeString(op.attributes, "source", ""));
    for (int k = 1; taken.contains(m_arraySource); ++k) m_arraySource = "gradients_" + std::to_string(k);
}

std::vector<bool> FunctionalGradients::reachedResults(const Operator& op, const std::vector<bool>& reached)
{
    return loopscope::reachedResults(m_model, op, reached);
}

GraphId FunctionalGradients::add(Graph graph)
{
    graph.id = freshFunctionId(m_model, graph.id);
    m_model.graphs.push_back(std::move(graph));
    return GraphId(static_cast<int64_t>(m_model.graphs.size() - 1));
}

Status FunctionalGradients::refuse(const GradientCase& c) const
{
    const std::string where = c.editor.graph().id + "/" + c.op.name;
    if (!c.refusal.empty()) return Error(ErrorCode::unsupported, "no gradient of tf." + c.op.kind.name + ": " + c.refusal).at(where);
    return Error(ErrorCode::unsupported, "no gradient rule for " + c.op.kind.full()).at(where);
}

GraphId FunctionalGradients::registeredGradient(const Operator& op) const
{
    const std::vector<GraphId> called = calledGraphs(op);
    for (const auto& [owner, gradient] : m_model.gradients)
        if (isCall(op) && !called.empty() && owner == called[0]) return m_model.findGraph(gradient);
    return {};
}

Status FunctionalGradients::differentiate(GradientCase& c)
{
    if (const GraphId custom = findCustomGradient(m_model, customGradientName(c.op)); custom.valid()) {
        c.refusal.clear();
        callCustomGradient(m_model, c, custom);
        return c.refusal.empty() ? Status() : refuse(c);
    }
    const std::vector<GraphId> called = calledGraphs(c.op);
    const bool areThere = std::ranges::all_of(called, [&](GraphId id) { return m_model.hasGraph(id); });
    if (called.empty() || !areThere || !c.refusal.empty()) return refuse(c); // before anything is changed
    if (m_depth >= kDeepestCalls)
        return Error(ErrorCode::unsupported, "functions call each other more than " + std::to_string(kDeepestCalls) + " deep")
            .at(c.editor.graph().id + "/" + c.op.name);
    if (const GraphId gradient = registeredGradient(c.op); gradient.valid()) return callRegistered(c, gradient);
    ++m_depth;
    Status status = isLoop(c.op) ? differentiateLoop(c) : differentiateBranches(c);
    --m_depth;
    return status;
}

Status FunctionalGradients::callRegistered(GradientCase& c, GraphId gradient)
{
    std::vector<GradientValue> operands = c.x;
    for (size_t k = 0; k < c.dy.size(); ++k) operands.push_back(c.dy[k].valid() ? c.dy[k] : zerosLike(c, c.y[k]));
    AttributeItems results;
    for (const GraphOutput& output : m_model.graph(gradient).outputs)
        results.emplace_back(m_model.graph(gradient).value(output.value).type.dtype);
    if (results.size() != c.x.size()) {
        c.refusal = "its registered gradient gives " + std::to_string(results.size()) + " results";
        return refuse(c);
    }
    c.dx = c.nodes.add("PartitionedCall", operands, {{"Tout", std::move(results)}, {"f", GraphRef{gradient, nullptr}}});
    return {};
}

Status FunctionalGradients::differentiateBranches(GradientCase& c)
{
    const size_t first = isBranch(c.op) ? 1 : 0;
    const Graph& graph = c.editor.graph();
    SplitRequest request;
    request.recompute = m_recompute;
    std::vector<TensorType> inputTypes;
    std::vector<size_t> wanted;
    for (size_t i = first; i < c.x.size(); ++i) {
        request.wanted.push_back(c.wanted[i]);
        request.dtypes.push_back(gradientDType(m_model, graph, c.x[i].id));
        inputTypes.push_back(graph.value(c.x[i].id).type);
        request.shapes.push_back(inputTypes.back().dynamicShape());
        if (c.wanted[i]) wanted.push_back(i);
    }
    std::vector<GradientValue> operands(c.x.begin(), c.x.begin() + static_cast<ptrdiff_t>(first));
    for (const GradientValue& dy : c.dy) {
        request.seeded.push_back(dy.valid());
        if (dy.valid()) operands.push_back(dy);
    }
    std::vector<SplitFunction> parts;
    for (const GraphId function : calledGraphs(c.op)) {
        request.function = function;
        const Graph& callee = m_model.graph(function);
        if (callee.inputs.size() != request.wanted.size() || callee.outputs.size() != c.dy.size())
            return Error(ErrorCode::badFile, "'" + callee.id + "' takes or gives another number of values than its caller").at(c.op.name);
        LS_TRY(SplitFunction split, splitFunction(m_model, *this, request));
        parts.push_back(std::move(split));
    }
    std::vector<TensorType> saved;
    std::vector<size_t> inputs;
    for (const SplitFunction& split : parts) {
        for (const TensorType& type : split.saved) saved.push_back(parts.size() == 1 ? type : anyShape(type));
        inputs.insert(inputs.end(), split.inputs.begin(), split.inputs.end());
    }
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    LS_CHECK_OK(alignForward(parts));
    LS_CHECK_OK(alignBackward(parts, inputs, inputTypes));
    std::vector<GraphId> forward, backward;
    for (SplitFunction& split : parts) {
        forward.push_back(saved.empty() ? GraphId() : add(std::move(split.forward)));
        backward.push_back(add(std::move(split.backward)));
    }
    if (!saved.empty()) {
        for (const ValueId result : addResults(c.editor, c.id, saved)) operands.push_back(c.nodes.value(result));
        AttributeList attributes = c.editor.op(c.id).attributes;
        setCallees(attributes, c.op, forward);
        setAttribute(attributes, "Tout", dtypesOf(c.editor.graph(), c.editor.op(c.id).results, 0));
        if (findAttribute(attributes, "output_shapes")) setAttribute(attributes, "output_shapes", AttributeItems());
        c.editor.setAttributes(c.id, std::move(attributes));
    }
    for (const size_t input : inputs) operands.push_back(c.x[first + input]);
    AttributeItems types;
    for (const size_t i : wanted) types.emplace_back(request.dtypes[i - first]);
    AttributeList attributes = {{"Tout", std::move(types)}};
    setCallees(attributes, c.op, backward);
    const std::vector<GradientValue> gradients = c.nodes.add(c.op.kind.name, operands, std::move(attributes));
    for (size_t k = 0; k < wanted.size(); ++k) c.dx[wanted[k]] = gradients[k];
    return {};
}

namespace {

constexpr size_t kLeastOnStack = 1024; ///< bytes: what is smaller is quicker on a list, and no stack puts it on disk

/// A loop on its way to two loops.
class LoopGradient {
public:
    LoopGradient(Model& model, GradientCase& c, bool stacks)
        : m_model(model),
          m_c(c),
          m_called(calledGraphs(c.op)),
          m_size(c.x.size()),
          m_stacks(stacks)
    {
    }

    /// The variables that need a gradient: those that depend on what is differentiated by, and that what comes depends on.
    Status choose()
    {
        const Graph& body = m_model.graph(m_called[1]);
        const Graph& cond = m_model.graph(m_called[0]);
        if (body.inputs.size() != m_size || body.outputs.size() != m_size || cond.inputs.size() != m_size || m_c.y.size() != m_size)
            return Error(ErrorCode::badFile, "'" + body.id + "' takes or gives another number of values than its loop").at(m_c.op.name);
        std::vector<bool> needed(m_size);
        for (size_t i = 0; i < m_size; ++i) needed[i] = m_c.dy[i].valid();
        for (bool changed = true; changed;) {
            changed = false;
            const std::vector<bool> more = neededInputs(body, needed);
            for (size_t i = 0; i < m_size; ++i) {
                changed = changed || (more[i] && !needed[i]);
                needed[i] = needed[i] || more[i];
            }
        }
        const std::vector<bool> reached = reachedResults(m_model, m_c.op, m_c.wanted);
        for (size_t i = 0; i < m_size; ++i) {
            m_isInvariant.push_back(source(body, body.outputs[i].value) == body.inputs[i]);
            m_dtypes.push_back(gradientDType(m_model, m_c.editor.graph(), m_c.x[i].id));
            if (!needed[i] || !reached[i] || !hasGradient(m_dtypes[i])) continue;
            if (m_dtypes[i] == DType::resource || m_dtypes[i] == DType::unknown) continue;
            m_variables.push_back(i);
        }
        m_counter = counterOf(body, m_c.editor.graph(), m_c.editor.op(m_c.id).inputs);
        return {};
    }

    bool hasVariables() const { return !m_variables.empty(); }

    SplitRequest request(const std::vector<std::string>& recompute) const
    {
        std::vector<Shape> initial;
        for (const GradientValue& x : m_c.x) initial.push_back(m_c.editor.value(x.id).type.dynamicShape());
        SplitRequest asked{m_called[1], std::vector<bool>(m_size, false), {}, m_dtypes, KnownShapes(m_model).carried(m_called[1], initial),
                           recompute};
        for (const size_t i : m_variables) asked.wanted[i] = true;
        asked.seeded = asked.wanted;
        return asked;
    }

    /// What the backward body takes of the loop's operands has to be the same in all iterations; else it is saved like what is computed.
    void place(SplitFunction& split)
    {
        for (size_t k = 0; k < split.saved.size(); ++k) m_lists.push_back(split.saved[k]);
        for (const size_t input : split.inputs) {
            if (m_isInvariant[input]) m_constants.push_back(input);
            else m_lists.push_back(split.backward.value(split.backward.inputs[split.gradients + split.saved.size() + m_order.size()]).type);
            m_order.push_back(input);
        }
    }

    /// The forward body: lists follow the loop's variables, and a counter where none of them counts; what is saved is pushed.
    Result<Graph> forwardBody(SplitFunction& split) const
    {
        Graph graph = std::move(split.forward);
        GraphEditor editor(graph, Dialect::tf);
        GradientNodes nodes(editor);
        const std::string scope = freshScope(graph, "saving");
        nodes.setScope(scope, Sources::none());
        std::vector<GraphOutput> outputs(graph.outputs.begin(), graph.outputs.begin() + static_cast<ptrdiff_t>(m_size));
        std::vector<ValueId> saved;
        std::vector<std::pair<std::string, OperatorId>> controls = graph.controlOutputs;
        for (size_t k = m_size; k < graph.outputs.size(); ++k) saved.push_back(graph.outputs[k].value);
        for (const size_t input : m_order)
            if (!m_isInvariant[input]) saved.push_back(graph.inputs[input]);
        if (m_counter < 0) {
            const GradientValue count = nodes.value(editor.addInput(scope + "/count", TensorType(DType::i32, Shape())));
            outputs.push_back({"count_" + std::to_string(outputs.size()), (count + nodes.integer(1)).id});
        }
        for (size_t k = 0; k < saved.size(); ++k) {
            const ValueId value = saved[k];
            if (graph.value(value).role == ValueRole::result) nodes.setScope(scope, graph.value(value).producer);
            if (isOnStack(m_lists[k])) {
                const GradientValue stack = nodes.value(editor.addInput(scope + "/stack", TensorType(DType::resource, Shape())));
                const GradientValue pushed = nodes.node("StackPushV2", {stack, nodes.value(value)}, {{"swap_memory", true}});
                outputs.push_back({"stack_" + std::to_string(outputs.size()), stack.id});
                controls.emplace_back("pushed_" + std::to_string(controls.size()), graph.value(pushed.id).producer);
                continue;
            }
            const GradientValue list = nodes.value(editor.addInput(scope + "/list", TensorType(DType::variant, Shape())));
            const GradientValue pushed =
                nodes.node("TensorListPushBack", {list, nodes.value(value)}, {{"element_dtype", graph.value(value).type.dtype}});
            outputs.push_back({"list_" + std::to_string(outputs.size()), pushed.id});
        }
        editor.setOutputs(std::move(outputs));
        if (controls.size() > graph.controlOutputs.size()) editor.setControlOutputs(std::move(controls));
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
        return graph;
    }

    /// The condition with further operands, which it does not look at.
    Graph forwardCond() const
    {
        Graph graph = copyGraph(m_model.graph(m_called[0]), m_model.graph(m_called[0]).id + "_forward");
        GraphEditor editor(graph, Dialect::tf);
        if (m_counter < 0) editor.addInput("saving/count", TensorType(DType::i32, Shape()));
        for (const TensorType& type : m_lists)
            editor.addInput(isOnStack(type) ? "saving/stack" : "saving/list", TensorType(keeperOf(type), Shape()));
        return graph;
    }

    /// count, gradients, lists, constants → the same one iteration earlier.
    Result<Graph> backwardBody(SplitFunction& split) const
    {
        Graph graph = std::move(split.backward);
        GraphEditor editor(graph, Dialect::tf);
        GradientNodes nodes(editor);
        const std::string scope = freshScope(graph, "saved");
        nodes.setScope(scope, Sources::none());
        const std::vector<ValueId> own = graph.inputs;
        std::vector<ValueId> inputs(own.begin(), own.begin() + static_cast<ptrdiff_t>(split.gradients));
        std::vector<ValueId> constants, popped;
        const GradientValue count = nodes.value(editor.addInput(scope + "/count", TensorType(DType::i32, Shape())));
        inputs.insert(inputs.begin(), count.id);
        for (size_t k = split.gradients; k < own.size(); ++k) {
            const size_t number = k - split.gradients;
            if (number >= split.saved.size() && m_isInvariant[m_order[number - split.saved.size()]]) {
                constants.push_back(own[k]);
                continue;
            }
            const TensorType type = m_lists[popped.size()];
            inputs.push_back(editor.addInput(scope + (isOnStack(type) ? "/stack" : "/list"), TensorType(keeperOf(type), Shape())));
            const GradientValue list = nodes.value(inputs.back());
            if (isOnStack(type)) {
                const GradientValue top = nodes.node("StackPopV2", {list}, {{"elem_type", type.dtype}});
                editor.setType(top.id, type);
                editor.replaceUses(own[k], top.id);
                popped.push_back(list.id);
                continue;
            }
            const GradientValue shape = type.shape.isStatic() ? nodes.integers(dimsOf(type)) : nodes.integer(-1);
            const GradientValue operands[] = {list, shape};
            AttributeList attributes = {{"element_dtype", type.dtype}};
            if (type.shape.isStatic()) setAttribute(attributes, std::string(kElementShapeAttribute), type.shape);
            const std::vector<GradientValue> pop = nodes.add("TensorListPopBack", operands, std::move(attributes));
            editor.setType(pop[1].id, type);
            editor.replaceUses(own[k], pop[1].id);
            popped.push_back(pop[0].id);
        }
        std::vector<GraphOutput> outputs = {{"count", (count - nodes.integer(1)).id}};
        for (const GraphOutput& gradient : graph.outputs) outputs.push_back(gradient);
        for (size_t k = 0; k < popped.size(); ++k) outputs.push_back({"list_" + std::to_string(k), popped[k]});
        for (size_t k = 0; k < constants.size(); ++k) outputs.push_back({"constant_" + std::to_string(k), constants[k]});
        inputs.insert(inputs.end(), constants.begin(), constants.end());
        editor.setOutputs(std::move(outputs));
        editor.setGraphInputs(std::move(inputs));
        editor.sortTopologically();
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
        return graph;
    }

    static Graph backwardCond(const Graph& body, std::string id)
    {
        Graph graph;
        graph.id = std::move(id);
        GraphEditor editor(graph, Dialect::tf);
        GradientNodes nodes(editor);
        nodes.setScope("saved", Sources::none());
        std::vector<GradientValue> inputs;
        for (const ValueId input : body.inputs)
            inputs.push_back(nodes.value(editor.addInput(body.value(input).id, body.value(input).type)));
        editor.setOutputs({{"more", nodes.node("Greater", {inputs[0], nodes.integer(0)}).id}});
        return graph;
    }

    /// The forward loop takes and gives the lists, and a counter where it has none. How often it ran, and the lists.
    std::vector<GradientValue> extendForward(GraphId cond, GraphId body)
    {
        GraphEditor& editor = m_c.editor;
        std::vector<ValueId> inputs = editor.op(m_c.id).inputs;
        std::vector<TensorType> types;
        if (m_counter < 0) {
            types.emplace_back(DType::i32, Shape());
            inputs.push_back(m_c.nodes.integer(0).id);
        }
        GradientValue any; // shape, and number of elements
        for (const TensorType& type : m_lists) {
            if (!any.valid()) any = m_c.nodes.integer(-1);
            types.emplace_back(keeperOf(type), Shape());
            if (isOnStack(type)) {
                inputs.push_back(m_c.nodes.node("StackV2", {any}, {{"elem_type", type.dtype}, {"stack_name", std::string()}}).id);
                continue;
            }
            const GradientValue shape = type.shape.isStatic() && type.dtype != DType::variant ? m_c.nodes.integers(dimsOf(type)) : any;
            inputs.push_back(
                m_c.nodes.node("EmptyTensorList", {shape, any}, {{"element_dtype", type.dtype}, {"shape_type", DType::i32}}).id);
        }
        editor.setInputs(m_c.id, std::move(inputs));
        std::vector<GradientValue> results;
        if (m_counter >= 0) results.push_back(m_c.y[static_cast<size_t>(m_counter)] - m_c.x[static_cast<size_t>(m_counter)]);
        for (const ValueId result : addResults(editor, m_c.id, types)) results.push_back(m_c.nodes.value(result));
        AttributeList attributes = editor.op(m_c.id).attributes;
        setAttribute(attributes, "T", dtypesOf(editor.graph(), editor.op(m_c.id).inputs, 0));
        setAttribute(attributes, "cond", GraphRef{cond, nullptr});
        setAttribute(attributes, "body", GraphRef{body, nullptr});
        if (findAttribute(attributes, "output_shapes")) setAttribute(attributes, "output_shapes", AttributeItems());
        editor.setAttributes(m_c.id, std::move(attributes));
        return results;
    }

    void addBackward(const std::vector<GradientValue>& saved, const std::vector<AttributeList>& constants, GraphId cond, GraphId body)
    {
        std::vector<GradientValue> operands = {saved[0]};
        for (const size_t i : m_variables) operands.push_back(m_c.dy[i].valid() ? m_c.dy[i] : zerosOf(i));
        operands.insert(operands.end(), saved.begin() + 1, saved.end());
        for (const size_t i : m_constants) operands.push_back(m_c.x[i]);
        for (const AttributeList& constant : constants) operands.push_back(m_c.nodes.node("Const", {}, constant));
        const std::vector<GradientValue> results = m_c.nodes.add("While", operands,
                                                                 {{"body", GraphRef{body, nullptr}},
                                                                  {"cond", GraphRef{cond, nullptr}},
                                                                  {"output_shapes", AttributeItems()},
                                                                  {"parallel_iterations", int64_t{10}}});
        for (size_t k = 0; k < m_variables.size(); ++k) m_c.dx[m_variables[k]] = results[1 + k];
    }

    std::string name() const { return m_model.graph(m_called[1]).id; }

private:
    bool isOnStack(const TensorType& type) const
    {
        const std::optional<int64_t> count = checkedElementCount(type.shape);
        return m_stacks && count && bitWidth(type.dtype) > 0 && type.dtype != DType::resource &&
               byteSize(type.dtype, *count) >= kLeastOnStack;
    }
    DType keeperOf(const TensorType& type) const { return isOnStack(type) ? DType::resource : DType::variant; }

    static std::vector<int32_t> dimsOf(const TensorType& type)
    {
        std::vector<int32_t> dims;
        for (const int64_t dim : type.shape.dims()) dims.push_back(static_cast<int32_t>(dim));
        return dims;
    }

    /// What Identities hand on.
    static ValueId source(const Graph& graph, ValueId value)
    {
        for (size_t hops = 0; hops <= graph.operators.size(); ++hops) {
            const Value& v = graph.value(value);
            if (v.role != ValueRole::result || graph.op(v.producer).kind.name != "Identity") break;
            value = graph.op(v.producer).inputs[0];
        }
        return value;
    }

    GradientValue zerosOf(size_t i)
    {
        const TensorType& type = m_c.editor.value(m_c.y[i].id).type;
        if (type.dtype != DType::resource) return zerosLike(m_c, m_c.y[i]);
        const GradientValue shape = m_c.nodes.node("VariableShape", {m_c.x[i]}, {{"out_type", DType::i32}});
        return m_c.nodes.node("Fill", {shape, m_c.nodes.number(0, m_dtypes[i])});
    }

    Model& m_model;
    GradientCase& m_c;
    std::vector<GraphId> m_called; ///< cond, body
    size_t m_size;
    bool m_stacks;
    int64_t m_counter = -1; ///< the variable that counts iterations
    std::vector<bool> m_isInvariant;
    std::vector<DType> m_dtypes;     ///< of gradients
    std::vector<size_t> m_variables; ///< those with a gradient
    std::vector<size_t> m_order;     ///< operands that the backward body takes, in its order
    std::vector<size_t> m_constants; ///< of those the invariant ones
    std::vector<TensorType> m_lists; ///< types of what is saved in each iteration
};

} // namespace

Status FunctionalGradients::differentiateLoop(GradientCase& c)
{
    LoopGradient loop(m_model, c, m_stacks && m_depth == 1); // a stack belongs to one run of its loop
    LS_CHECK_OK(loop.choose());
    if (!loop.hasVariables()) return {};
    LS_TRY(SplitFunction split, splitFunction(m_model, *this, loop.request(m_recompute)));
    loop.place(split);
    const std::string name = loop.name();
    LS_TRY(Graph backwardBody, loop.backwardBody(split));
    LS_TRY(Graph wholeBody, loop.forwardBody(split));
    Graph backwardCond = LoopGradient::backwardCond(backwardBody, name + "_backward_cond");
    LS_TRY(const std::vector<AttributeList> constants, takeOutConstants(backwardCond, backwardBody));
    const GraphId forwardBody = add(std::move(wholeBody));
    const GraphId forwardCond = add(loop.forwardCond());
    const GraphId body = add(std::move(backwardBody)), cond = add(std::move(backwardCond));
    loop.addBackward(loop.extendForward(forwardCond, forwardBody), constants, cond, body);
    return {};
}

} // namespace loopscope
