#include "engine/debug/inspect/call_path.h"

#include "engine/exec/executor.h"
#include "engine/ir/flow_role.h"
#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope {

namespace {

OperatorId findSite(const Graph& graph, const OperatorName& name)
{
    for (size_t i = 0; i < graph.operators.size(); ++i) {
        const bool found = name.index >= 0 ? static_cast<int64_t>(i) == name.index : graph.operators[i].name == name.name;
        if (found) return OperatorId(static_cast<int64_t>(i));
    }
    return {};
}

} // namespace

CallPath CallPath::parent() const
{
    CallPath path = *this;
    path.levels.pop_back();
    return path;
}

CallPath CallPath::into(OperatorId site, GraphId graph) const
{
    CallPath path = *this;
    path.levels.push_back({site, graph, false});
    return path;
}

bool CallPath::entersFrames() const { return std::ranges::any_of(levels, &Level::isFrame); }

CallPath pathAt(const Executor& executor, int depth)
{
    CallPath path;
    path.root = executor.root();
    for (int d = 1; d <= depth; ++d) {
        const FrameInfo frame = executor.frame(d);
        path.levels.push_back({frame.site, frame.graph, frame.role == CallRole::frame});
    }
    return path;
}

Result<CallPath> pathOf(const Model& model, GraphId root, const Address& address)
{
    CallPath path;
    path.root = root;
    if (model.findGraph(address.root) != root)
        return Error(ErrorCode::usage, "this run does not begin there").at(toString(address)).expected(model.graph(root).id);
    for (const AddressStep& step : address.steps) {
        const Graph& graph = model.graph(path.graph());
        if (step.role == StepRole::frame) {
            const auto enter = std::ranges::find_if(graph.operators, [&](const Operator& op) {
                return flowRole(op) == FlowRole::enter && attributeString(op.attributes, "frame_name", "") == step.site.name;
            });
            if (enter == graph.operators.end()) return Error(ErrorCode::usage, "no such frame").at(toString(address));
            path.levels.push_back({OperatorId(enter - graph.operators.begin()), path.graph(), true});
            continue;
        }
        const OperatorId site = findSite(graph, step.site);
        GraphId entered;
        if (site.valid())
            for (const Callee& callee : calleesOf(graph.op(site)))
                if (callee.role == roleText(step)) entered = callee.graph;
        if (!model.hasGraph(entered)) return Error(ErrorCode::usage, "no such invocation").at(toString(address));
        path.levels.push_back({site, entered, false});
    }
    return path;
}

bool isOnPath(const Executor& executor, int frames, const CallPath& path)
{
    if (frames <= path.depth()) return false;
    for (int d = path.depth(); d >= 1; --d) {
        const FrameInfo frame = executor.frame(d);
        const CallPath::Level& level = path.levels[static_cast<size_t>(d - 1)];
        if (level.isFrame ? frame.role != CallRole::frame : frame.site != level.site) return false;
        if (frame.graph != level.graph) return false;
    }
    return true;
}

std::string executedAddress(const Executor& executor, const OperatorEvent& event)
{
    std::vector<FrameInfo> stack;
    for (int depth = 0, count = frameCount(executor, event.step); depth < count; ++depth) stack.push_back(executor.frame(depth));
    return addressOf(executor.model(), stack, event.op);
}

Address addressOfStack(const Model& model, std::span<const FrameInfo> stack)
{
    Address address;
    if (stack.empty()) return address;
    address.root = model.graph(stack.front().graph).id;
    for (size_t f = 1; f < stack.size(); ++f) {
        AddressStep step;
        if (!stack[f].site.valid()) break;
        step.site = siteName(model.graph(stack[f - 1].graph).op(stack[f].site), stack[f].site.index, stack[f].role);
        step.role = stepRole(stack[f].role, stack[f].inCond);
        step.branch = stack[f].branch;
        step.iteration = stack[f].iteration;
        address.steps.push_back(std::move(step));
    }
    return address;
}

std::string addressOf(const Model& model, std::span<const FrameInfo> stack, OperatorId op, int slot)
{
    Address address = addressOfStack(model, stack);
    address.target = slot < 0 ? TargetKind::op : TargetKind::output;
    address.slot = slot;
    address.op = operatorName(model.graph(stack.back().graph).op(op), op.index);
    return toString(address);
}

} // namespace loopscope
