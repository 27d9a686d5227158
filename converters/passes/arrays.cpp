// TensorArrays of TensorFlow 1 as lists. The array itself is what its flow leads through. Its gradient, which loops add to behind its
// handle, is a list of its own that goes where the handle goes: zeros like the array, once the first gradient is asked for.
#include "converters/passes/array_stacks.h"
#include "converters/passes/handle_threading.h"
#include "converters/passes/pass.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>

namespace loopscope {

namespace {

constexpr std::array<std::string_view, 9> kKnown = {"TensorArrayV3",        "TensorArrayWriteV3",  "TensorArrayReadV3",
                                                    "TensorArrayGatherV3",  "TensorArrayConcatV3", "TensorArraySplitV3",
                                                    "TensorArrayScatterV3", "TensorArraySizeV3",   "TensorArrayCloseV3"};

bool writes(const Operator& op)
{
    return isNamed(op, "TensorArrayWriteV3") || isNamed(op, "TensorArrayScatterV3") || isNamed(op, "TensorArraySplitV3");
}

HandleFlow::Kind madeByArrays(const Operator& op, size_t result, const std::vector<HandleFlow::Kind>& operands)
{
    if (isNamed(op, "TensorArrayV3")) return result == 0 ? HandleFlow::handle : HandleFlow::flow;
    if (operands.empty()) return HandleFlow::none;
    if (holdsHandles(op) && isNamed(op, "StackPopV2")) return HandleFlow::handle;
    if (holdsHandles(op) && isNamed(op, "StackPushV2"))
        return operands.back() == HandleFlow::handle ? HandleFlow::handle : HandleFlow::none;
    if (isNamed(op, "TensorArrayGradV3") && result == 0 && operands[0] == HandleFlow::handle) return HandleFlow::gradient;
    return writes(op) && operands[0] == HandleFlow::handle ? HandleFlow::flow : HandleFlow::none;
}

bool isState(HandleFlow::Kind kind) { return kind == HandleFlow::handle || kind == HandleFlow::gradient; }

/// By graph: for which sources gradients of arrays are computed in it and in what it calls.
std::vector<std::set<std::string>> gradientSources(const Model& model)
{
    std::vector<std::set<std::string>> sources(model.graphs.size());
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (const Operator& op : model.graphs[g].operators) {
                const size_t before = sources[g].size();
                if (isNamed(op, "TensorArrayGradV3")) sources[g].emplace(attributeString(op.attributes, "source", ""));
                for (const Callee& callee : callForm(op).callees)
                    if (model.hasGraph(callee.graph)) {
                        const std::set<std::string>& inner = sources[static_cast<size_t>(callee.graph.index)];
                        sources[g].insert(inner.begin(), inner.end());
                    }
                grows = grows || sources[g].size() != before;
            }
    }
    return sources;
}

std::vector<Declined> obstaclesOf(const Model& model, const HandleFlow& flow, const ArrayStacks& stacks)
{
    std::vector<Declined> found;
    std::map<std::pair<int32_t, std::string>, size_t> takenIn; // in which graph an array comes from stacks for which gradients
    const std::vector<std::set<std::string>> sources = gradientSources(model);
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (const Operator& op : model.graphs[g].operators) {
            const std::vector<HandleFlow::Kind> operands = flow.operandsOf(g, op);
            const bool isGradient = isNamed(op, "TensorArrayGradV3");
            if (isGradient && operands[0] != HandleFlow::handle) found.push_back({op.name, "a gradient of a gradient"});
            if (holdsHandles(op) && isNamed(op, "StackPushV2") && operands.back() != HandleFlow::handle)
                found.push_back({op.name, "it pushes what is no TensorArray"});
            if (holdsHandles(op) && isNamed(op, "StackPopV2")) {
                const int32_t array = stacks.arrayOf(g, op);
                if (array < 0) found.push_back({op.name, "it is not known which TensorArray it gives"});
                else if (std::ranges::any_of(sources[g], [&](const std::string& source) {
                             return takenIn.try_emplace({array, source}, g).first->second != g;
                         }))
                    found.push_back({op.name, "it gives a TensorArray that another function takes from a stack, too"});
            }
            if (op.kind.name.starts_with("Stack") && !operands.empty() && isState(operands[0]))
                found.push_back({op.name, "its stack comes from a stack"});
            const bool isKnown = isGradient || isLoop(op) || isBranchOrCall(op) || isNamed(op, "Identity") || holdsHandles(op) ||
                                 (op.kind.dialect == "tf" && std::ranges::find(kKnown, op.kind.name) != kKnown.end());
            if (!isKnown && std::ranges::any_of(operands, isState)) found.push_back({op.name, op.kind.name + " takes a TensorArray"});
            if (isKnown && !isGradient && op.kind.name.starts_with("TensorArray") && op.inputs.size() > 1 &&
                operands[0] == HandleFlow::handle && operands.back() != HandleFlow::flow)
                found.push_back({op.name, "its flow does not come from the array"});
        }
    return found;
}

class ArrayThreading final : public HandleThreading {
public:
    ArrayThreading(Model& model, const HandleFlow& flow, size_t graph, bool isCalled, const ArrayStacks& stacks)
        : HandleThreading(model, flow, graph, isCalled),
          m_model(flow.model()),
          m_stacks(stacks)
    {
        const Graph& before = m_editor.graph();
        for (bool grows = true; grows;) {
            grows = false;
            for (const Operator& op : before.operators) grows = follow(op) || grows;
        }
    }

private:
    /// Which array a flow belongs to, by the handle.
    bool follow(const Operator& op)
    {
        const auto belongs = [&](ValueId value, ValueId to) {
            const auto known = m_array.find(to.index);
            return known != m_array.end() && m_array.emplace(value.index, known->second).second;
        };
        if (isNamed(op, "TensorArrayV3")) {
            m_array.emplace(op.results[0].index, op.results[0].index);
            return m_array.emplace(op.results[1].index, op.results[0].index).second;
        }
        bool grows = false;
        if (isNamed(op, "Identity") || (writes(op) && kind(op.inputs[0]) == HandleFlow::handle))
            grows = belongs(op.results[0], op.inputs[0]);
        for (size_t i = 0; isLoop(op) && i < op.results.size(); ++i)
            if (kind(op.results[i]) != HandleFlow::none) grows = belongs(op.results[i], op.inputs[i]) || grows;
        return grows;
    }

    /// A stack keeps the array as it is in the end: what is read of it later may be written behind the push.
    void push(OperatorId id, const Operator& op)
    {
        m_editor.setAttribute(id, "T", DType::variant);
        m_editor.setType(op.results[0], list());
        alias(op.results[0], rootOf(op.inputs[1]));
        m_pushes.push_back(id);
    }

    void pop(OperatorId id, const Operator& op)
    {
        const ValueId array = op.results[0];
        m_editor.setAttribute(id, "elem_type", DType::variant);
        m_editor.setType(array, list());
        const int32_t root = m_taken.try_emplace(m_stacks.arrayOf(m_graph, op), array.index).first->second;
        if (root != array.index) return alias(array, root); // it was taken from another stack
        begin(array, array);
        m_array.emplace(array.index, array.index);
        m_flowNow[array.index] = array;
    }

    void atEnd() override
    {
        for (const OperatorId id : m_pushes) {
            const auto array = m_array.find(rootOf(m_editor.op(id).inputs[1]));
            const auto flow = array == m_array.end() ? m_flowNow.end() : m_flowNow.find(array->second);
            if (flow == m_flowNow.end() || waitsFor(m_editor.value(flow->second).producer, id)) {
                refuse({m_editor.op(id).name, "it pushes an array that is written elsewhere"});
                continue;
            }
            m_editor.setInput(id, 1, flow->second);
        }
        if (!m_pushes.empty()) m_editor.sortTopologically();
    }

    /// Whether an operator runs behind another.
    bool waitsFor(OperatorId later, OperatorId earlier) const
    {
        std::vector<OperatorId> open = {later};
        std::set<int32_t> seen;
        while (!open.empty()) {
            const OperatorId id = open.back();
            open.pop_back();
            if (!id.valid() || !seen.insert(id.index).second) continue;
            if (id == earlier) return true;
            const Operator& op = m_editor.op(id);
            for (const ValueId input : op.inputs)
                if (input.valid() && m_editor.value(input).role == ValueRole::result) open.push_back(m_editor.value(input).producer);
            open.insert(open.end(), op.controlInputs.begin(), op.controlInputs.end());
        }
        return false;
    }

    void done(const Operator& op) override
    {
        for (const ValueId result : op.results)
            if (const auto array = m_array.find(result.index); array != m_array.end() && kind(result) == HandleFlow::flow)
                m_flowNow[array->second] = result;
    }

    static std::string sourceOf(const Operator& gradient) { return std::string(attributeString(gradient.attributes, "source", "")); }

    /// For which sources a gradient of what a graph is given as this input is asked for in it.
    void collectSources(GraphId id, ValueId input, std::set<std::string>& sources, int depth) const
    {
        std::set<int32_t> same = {input.index};
        for (const Operator& op : m_model.graph(id).operators) {
            for (size_t i = 0; i < op.inputs.size(); ++i) {
                if (!op.inputs[i].valid() || !same.contains(op.inputs[i].index)) continue;
                if (isNamed(op, "TensorArrayGradV3")) sources.insert(sourceOf(op));
                if (isNamed(op, "Identity")) same.insert(op.results[0].index);
                if (isLoop(op)) same.insert(op.results[i].index);
                collectSources(op, i, sources, depth);
            }
        }
    }
    void collectSources(const Operator& op, size_t operand, std::set<std::string>& sources, int depth = 0) const
    {
        if ((!isLoop(op) && !isBranchOrCall(op)) || depth > 64) return;
        const CallForm form = callForm(op);
        const size_t own = operand - static_cast<size_t>(form.firstArgument);
        for (const Callee& callee : form.callees)
            if (m_model.hasGraph(callee.graph) && own < m_model.graph(callee.graph).inputs.size())
                collectSources(callee.graph, m_model.graph(callee.graph).inputs[own], sources, depth + 1);
    }

    int32_t rootToHandOn(OperatorId id, const Operator& op, size_t operand) override
    {
        const int32_t root = rootOf(op.inputs[operand]);
        if (kind(op.inputs[operand]) != HandleFlow::handle) return root;
        std::set<std::string> sources;
        collectSources(op, operand, sources);
        if (sources.size() > 1) refuse({op.name, "gradients of one array for two sources are computed in it"});
        return sources.empty() ? root : beginGradient(id, root, *sources.begin());
    }

    /// The state that the gradient of an array for this source is: zeros like the array, if it is one of this graph and has none yet. Other
    /// graphs are given it. For the first source it has the root of the array, whose own elements go where its flow leads.
    int32_t beginGradient(OperatorId id, int32_t root, const std::string& source)
    {
        const int32_t next = -2 - static_cast<int32_t>(m_states.size());
        const bool isFirst = m_firstSource.try_emplace(root, source).first->second == source;
        const int32_t state = isFirst ? root : m_states.try_emplace({root, source}, next).first->second;
        const auto flow = m_flowNow.find(root);
        if (flow == m_flowNow.end()) {
            if (!isFirst) refuse({m_editor.op(id).name, "gradients of one array for two sources are computed in one function"});
            return root;
        }
        if (!m_hasGradient.insert(state).second) return state;
        const ValueId zeros =
            appendNode(m_editor, "ZerosLike", m_editor.op(id).name + "/zeros", {flow->second}, {{"T", DType::variant}}, list(), id);
        m_editor.move(m_editor.value(zeros).producer, InsertPoint::before(id));
        setNow(state, zeros);
        return state;
    }

    /// What flows say as numbers: nothing.
    ValueId nothing(OperatorId id)
    {
        const std::array<float, 1> zero = {0};
        TensorAttribute value{TensorType(DType::f32, Shape{}), std::make_shared<Constant>(Bytes::copyOf(zero.data(), sizeof zero))};
        const TensorType type = value.type;
        const ValueId made = appendNode(m_editor, "Const", m_editor.op(id).name + "/nothing", {},
                                        {{"dtype", DType::f32}, {"value", std::move(value)}}, type, id);
        m_editor.move(m_editor.value(made).producer, InsertPoint::before(id));
        return made;
    }

    void makeArray(OperatorId id, const Operator& op)
    {
        m_editor.setInputs(id, {anyShape(id), op.inputs[0]});
        become(id, "TensorListReserve", "dtype", {{"shape_type", DType::i32}});
        m_editor.setType(op.results[0], list());
        const ValueId flow = appendNode(m_editor, "Identity", op.name + "/flow", {op.results[0]}, {{"T", DType::variant}}, list(), id);
        m_editor.move(m_editor.value(flow).producer, InsertPoint::after(id));
        m_editor.replaceUses(op.results[1], flow);
        m_editor.setResults(id, {op.results[0]});
        setKind(flow, HandleFlow::flow);
        m_array.emplace(flow.index, op.results[0].index);
        m_flowNow[op.results[0].index] = flow;
        begin(op.results[0], op.results[0]);
    }

    void askGradient(OperatorId id, const Operator& op)
    {
        const int32_t state = beginGradient(id, rootOf(op.inputs[0]), sourceOf(op));
        m_editor.replaceUses(op.results[1], nothing(id));
        m_editor.setResults(id, {});
        m_editor.setInputs(id, {});
        m_editor.setKind(id, {"tf", "NoOp"});
        m_editor.setAttributes(id, {});
        alias(op.results[0], state);
    }

    /// A node before `id`.
    ValueId add(OperatorId id, std::string_view kind, std::string_view name, std::vector<ValueId> inputs, AttributeList attributes,
                TensorType type)
    {
        const ValueId made = appendNode(m_editor, kind, m_editor.op(id).name + "/" + std::string(name), std::move(inputs),
                                        std::move(attributes), std::move(type), id);
        m_editor.move(m_editor.value(made).producer, InsertPoint::before(id));
        return made;
    }

    /// list[index] += value
    void addElement(OperatorId id, const Operator& op)
    {
        const DType dtype = m_editor.value(op.inputs[2]).type.dtype;
        const TensorType type(dtype, Shape::unknownRank());
        const ValueId old =
            add(id, "TensorListGetItem", "before", {now(op.inputs[0]), op.inputs[1], anyShape(id)}, {{"element_dtype", dtype}}, type);
        const ValueId sum = add(id, "AddV2", "sum", {old, op.inputs[2]}, {{"T", dtype}}, type);
        m_editor.setInputs(id, {now(op.inputs[0]), op.inputs[1], sum});
        become(id, "TensorListSetItem", "T", {});
    }

    /// The same for rows, of which several may go to one place.
    void addElements(OperatorId id, const Operator& op)
    {
        const DType dtype = m_editor.value(op.inputs[2]).type.dtype;
        const TensorType type(dtype, Shape::unknownRank());
        const ValueId whole = add(id, "TensorListStack", "before", {now(op.inputs[0]), anyShape(id)},
                                  {{"element_dtype", dtype}, {"num_elements", int64_t{-1}}}, type);
        const ValueId last = appendScalar(m_editor, op.name + "/last", -1, id);
        m_editor.move(m_editor.value(last).producer, InsertPoint::before(id));
        const ValueId places = add(id, "ExpandDims", "places", {op.inputs[1], last}, {{"T", DType::i32}, {"Tdim", DType::i32}},
                                   TensorType(DType::i32, Shape::unknownRank()));
        const ValueId sum =
            add(id, "TensorScatterAdd", "sum", {whole, places, op.inputs[2]}, {{"T", dtype}, {"Tindices", DType::i32}}, type);
        m_editor.setInputs(id, {sum, anyShape(id)});
        become(id, "TensorListFromTensor", "T", {{"shape_type", DType::i32}});
    }

    /// The pieces of a tensor, of several lengths; added to what a gradient has.
    void addPieces(OperatorId id, const Operator& op)
    {
        const DType dtype = m_editor.value(op.inputs[1]).type.dtype;
        const ValueId pieces = add(id, "TensorListSplit", "pieces", {op.inputs[1], anyShape(id), op.inputs[2]},
                                   {{"element_dtype", dtype}, {"shape_type", DType::i32}}, list());
        m_editor.setInputs(id, {now(op.inputs[0]), pieces});
        become(id, "AddN", "", {{"N", int64_t{2}}, {"T", DType::variant}});
    }

    void concatenate(OperatorId id, ValueId array)
    {
        TensorAttribute none{TensorType(DType::i64, Shape{0}), std::make_shared<Constant>(Bytes::copyOf(std::span<const std::byte>()))};
        const TensorType type = none.type;
        const ValueId leading = add(id, "Const", "leading_dims", {}, {{"dtype", DType::i64}, {"value", std::move(none)}}, type);
        m_editor.setInputs(id, {array, anyShape(id), leading});
        become(id, "TensorListConcatV2", "dtype", {{"shape_type", DType::i32}});
    }

    void write(OperatorId id, const Operator& op)
    {
        const bool isOne = isNamed(op, "TensorArrayWriteV3"), isSplit = isNamed(op, "TensorArraySplitV3");
        if (kind(op.inputs[0]) == HandleFlow::gradient) {
            isOne ? addElement(id, op) : isSplit ? addPieces(id, op) : addElements(id, op);
            m_editor.replaceUses(op.results[0], nothing(id));
            setNow(rootOf(op.inputs[0]), op.results[0]);
        } else if (isOne) {
            m_editor.setInputs(id, {op.inputs[3], op.inputs[1], op.inputs[2]});
            become(id, "TensorListSetItem", "T", {{"resize_if_index_out_of_bounds", true}});
        } else if (isSplit) {
            m_editor.setInputs(id, {op.inputs[1], anyShape(id), op.inputs[2]});
            become(id, "TensorListSplit", "T", {{"shape_type", DType::i32}});
        } else {
            m_editor.setInputs(id, {op.inputs[3], op.inputs[2], op.inputs[1]});
            become(id, "TensorListScatterIntoExistingList", "T", {});
        }
        m_editor.setType(op.results[0], list());
    }

    void rewriteOwn(OperatorId id, const Operator& op, RewriteReport& report) override
    {
        if (isNamed(op, "TensorArrayV3")) {
            report.rewrites.push_back({"TensorListReserve", "TensorArrayV3 " + op.name, m_editor.graph().id, op.name, {op.name}});
            return makeArray(id, op);
        }
        if (isNamed(op, "TensorArrayGradV3")) return askGradient(id, op);
        if (holdsHandles(op) && isNamed(op, "StackPushV2")) return push(id, op);
        if (holdsHandles(op) && isNamed(op, "StackPopV2")) return pop(id, op);
        const bool takesArray = !op.inputs.empty() && isHandle(op.inputs[0]);
        if (!takesArray) {
            for (size_t i = 0; i < op.inputs.size(); ++i)
                if (kind(op.inputs[i]) == HandleFlow::flow) m_editor.setInput(id, static_cast<int32_t>(i), nothing(id));
            return;
        }
        const ValueId array = kind(op.inputs[0]) == HandleFlow::gradient ? now(op.inputs[0]) : op.inputs.back();
        if (writes(op)) {
            write(id, op);
        } else if (isNamed(op, "TensorArrayReadV3") || isNamed(op, "TensorArrayGatherV3")) {
            m_editor.setInputs(id, {array, op.inputs[1], anyShape(id)});
            become(id, isNamed(op, "TensorArrayReadV3") ? "TensorListGetItem" : "TensorListGather", "dtype", {});
        } else if (isNamed(op, "TensorArrayConcatV3")) {
            concatenate(id, array);
        } else if (isNamed(op, "TensorArraySizeV3")) {
            m_editor.setInputs(id, {array});
            become(id, "TensorListLength", "", {});
        } else {
            m_editor.setInputs(id, {});
            become(id, "NoOp", "", {});
        }
    }

    const Model& m_model;
    const ArrayStacks& m_stacks;
    std::map<int32_t, int32_t> m_taken;   ///< roots of what stacks gave, by the number of the array
    std::map<int32_t, int32_t> m_array;   ///< of handles and flows: the array's handle
    std::map<int32_t, ValueId> m_flowNow; ///< by array of this graph: the list that it is at this point
    std::set<int32_t> m_hasGradient;
    std::map<int32_t, std::string> m_firstSource;                ///< of gradients, by array
    std::map<std::pair<int32_t, std::string>, int32_t> m_states; ///< of those for other sources: array and source
    std::vector<OperatorId> m_pushes;                            ///< of arrays
};

} // namespace

/// arrays-to-lists: all TensorArrays of a model, or none.
Result<RewriteReport> turnArraysIntoLists(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    const HandleFlow flow(model, madeByArrays);
    const ArrayStacks stacks(model);
    report.declined = obstaclesOf(model, flow, stacks);
    if (!report.declined.empty()) return report;
    LS_TRY(report, threadAll(model, flow, [&](Model& edited, const HandleFlow& f, size_t g, bool isCalled) {
               return std::unique_ptr<HandleThreading>(std::make_unique<ArrayThreading>(edited, f, g, isCalled, stacks));
           }));
    for (size_t g = 0; report.declined.empty() && g < model.graphs.size(); ++g) { // stacks whose elements are lists now
        std::vector<OperatorId> stacks = operatorsNamed(model.graphs[g], {"StackV2"});
        std::erase_if(stacks, [&](OperatorId id) { return !holdsHandles(model.graphs[g].op(id)); });
        if (stacks.empty()) continue;
        GraphEditor editor(model, GraphId(static_cast<int64_t>(g)));
        for (const OperatorId id : stacks) editor.setAttribute(id, "elem_type", DType::variant);
        LS_CHECK_OK(editor.finish());
    }
    return report;
}

} // namespace loopscope
