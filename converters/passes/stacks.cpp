// Stacks of TensorFlow 1, which gradients of loops fill and empty, become lists that run along the edges of the graph.
#include "converters/passes/handle_threading.h"
#include "converters/passes/pass.h"

#include <algorithm>
#include <memory>

namespace loopscope {

namespace {

HandleFlow::Kind madeByStacks(const Operator& op, size_t, const std::vector<HandleFlow::Kind>&)
{
    return isNamed(op, "StackV2") ? HandleFlow::handle : HandleFlow::none;
}

/// What stacks go to that lists cannot, and why.
std::vector<Declined> obstaclesOf(const Model& model, const HandleFlow& flow)
{
    std::vector<Declined> found;
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (const Operator& op : model.graphs[g].operators) {
            const Attribute* const said = findAttribute(op.attributes, "elem_type");
            const auto* const dtype = said ? said->as<DType>() : nullptr;
            if (isNamed(op, "StackV2") && dtype && *dtype == DType::resource)
                found.push_back({op.name, "its elements are stacks or arrays themselves"});
            const std::vector<HandleFlow::Kind> operands = flow.operandsOf(g, op);
            const bool isKnown = isLoop(op) || isBranchOrCall(op) || isNamed(op, "Identity") || isNamed(op, "StackPushV2") ||
                                 isNamed(op, "StackPopV2") || isNamed(op, "StackCloseV2");
            if (!isKnown && std::ranges::find(operands, HandleFlow::handle) != operands.end())
                found.push_back({op.name, op.kind.name + " takes a stack"});
            if (isNamed(op, "StackPushV2") && operands.back() == HandleFlow::handle) found.push_back({op.name, "it pushes a stack"});
        }
    return found;
}

class StackThreading final : public HandleThreading {
public:
    using HandleThreading::HandleThreading;

private:
    void rewriteOwn(OperatorId id, const Operator& op, RewriteReport& report) override
    {
        if (isNamed(op, "StackV2")) {
            m_editor.setInputs(id, {anyShape(id), op.inputs[0]});
            become(id, "EmptyTensorList", "elem_type", {{"shape_type", DType::i32}});
            m_editor.setType(op.results[0], list());
            begin(op.results[0], op.results[0]);
            report.rewrites.push_back({"EmptyTensorList", "StackV2 " + op.name, m_editor.graph().id, op.name, {op.name}});
        } else if (isNamed(op, "StackPushV2")) {
            m_editor.replaceUses(op.results[0], op.inputs[1]); // it hands on what it pushes
            m_editor.setInput(id, 0, now(op.inputs[0]));
            become(id, "TensorListPushBack", "T", {});
            m_editor.setType(op.results[0], list());
            setNow(rootOf(op.inputs[0]), op.results[0]);
        } else if (isNamed(op, "StackPopV2")) {
            m_editor.setInputs(id, {now(op.inputs[0]), anyShape(id)});
            become(id, "TensorListPopBack", "elem_type", {});
            const ValueId popped = m_editor.setResults(id, {op.results[0], ValueId()}).back();
            m_editor.setType(popped, m_editor.value(op.results[0]).type);
            m_editor.replaceUses(op.results[0], popped);
            m_editor.setType(op.results[0], list());
            setNow(rootOf(op.inputs[0]), op.results[0]);
        } else if (isNamed(op, "StackCloseV2")) {
            m_editor.setInputs(id, {});
            m_editor.setKind(id, {"tf", "NoOp"});
            m_editor.setAttributes(id, {});
        }
    }
};

} // namespace

/// stacks-to-lists: all stacks of a model, or none.
Result<RewriteReport> turnStacksIntoLists(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    const HandleFlow flow(model, madeByStacks);
    report.declined = obstaclesOf(model, flow);
    if (!report.declined.empty()) return report;
    return threadAll(model, flow, [](Model& edited, const HandleFlow& f, size_t g, bool isCalled) -> std::unique_ptr<HandleThreading> {
        return std::make_unique<StackThreading>(edited, f, g, isCalled);
    });
}

} // namespace loopscope
