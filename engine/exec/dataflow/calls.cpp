#include "engine/exec/dataflow/calls.h"

#include "engine/exec/call_state.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <array>

namespace loopscope::dataflow {

Calls::Calls(RunCore& core, Flow& flow, NodeRunner& runner, Replay& replay, CallListener& listener)
    : m_core(core),
      m_flow(flow),
      m_cells(flow.cells()),
      m_runner(runner),
      m_replay(replay),
      m_listener(listener)
{
}

/// What is wrong with a call before anything is changed.
Status Calls::checkEntered(const Iteration& iteration, const Node& node, const CallCode& code) const
{
    const Graph& graph = *programOf(iteration).code.graph;
    const Operator& op = graph.op(node.op);
    const int32_t maxDepth = m_core.options().maxDepth;
    if (iteration.depth + 1 >= maxDepth)
        return Error(ErrorCode::execution, "recursion: depth " + std::to_string(maxDepth) + " is reached (--max-depth)");
    if (findOp(op.kind) != nullptr && !code.isFor) LS_CHECK_OK(checkCall(m_core.model(), graph, op));
    for (const Callee& callee : code.form.callees)
        if (!m_core.model().hasGraph(callee.graph))
            return tfError(TfCode::notFound, "the function for '" + callee.role + "' is not in the model");
    if (node.inputCount < code.form.firstArgument)
        return invalidArgument("too few operands").found(std::to_string(node.inputCount)).expected(std::to_string(code.form.firstArgument));
    return {};
}

/// The numbers of a For.
Status Calls::readFor(Call& call, const Iteration& iteration, const Node& node)
{
    Tensor room;
    int64_t* const numbers[] = {&call.counter, &call.limit, &call.delta};
    for (int32_t i = 0; i < 3; ++i) {
        LS_TRY(const Tensor* const number, m_runner.view(iteration, node, i, room));
        if (!number || number->dtype != DType::i32) return invalidArgument("start, limit and delta must be int32 scalars");
        constexpr std::array kNames = {"start", "limit", "delta"};
        if (number->shape.rank() != 0 || number->bytes < sizeof(int32_t))
            return invalidArgument(std::string(kNames[static_cast<size_t>(i)]) + " must be a scalar, but it has shape " +
                                   tfShapeText(number->shape));
        *numbers[i] = *number->as<int32_t>();
    }
    const bool isBounded = call.delta > 0   ? call.counter <= call.limit
                           : call.delta < 0 ? call.counter >= call.limit
                                            : call.counter == call.limit;
    if (isBounded) return {};
    return invalidArgument("Invalid start/limit/delta: " + std::to_string(call.counter) + " " + std::to_string(call.limit) + " " +
                           std::to_string(call.delta));
}

Status Calls::enter(Iteration& iteration, const Node& node)
{
    m_isEntered = false;
    const Program& program = programOf(iteration);
    const int32_t index = nodeIndex(iteration, node);
    const CallCode& code = program.code.calls[static_cast<size_t>(program.code.callOf[static_cast<size_t>(index)])];
    LS_CHECK_OK(checkEntered(iteration, node, code));
    auto owned = std::make_unique<Call>();
    Call& call = *owned;
    call.caller = &iteration;
    call.node = index;
    call.code = &code;
    call.startNs = m_core.audience().now();
    size_t callee = 0;
    if (code.isFor) {
        LS_CHECK_OK(readFor(call, iteration, node));
    } else if (code.form.kind == CallKind::branch || code.form.kind == CallKind::select) {
        Tensor room;
        LS_TRY(const Tensor* const steering, m_runner.view(iteration, node, 0, room));
        if (!steering) return invalidArgument("the operand that chooses is missing");
        LS_TRY(callee, chooseTfCallee(code.form, *steering));
    }
    m_isEntered = true;
    m_calls.push_back(std::move(owned));
    m_listener.callsChanged(std::ssize(m_calls));
    for (int32_t i = code.form.firstArgument; i < node.inputCount; ++i) {
        LS_TRY(Cell* const argument, m_runner.operand(iteration, node, i));
        call.arguments.push_back(argument);
    }
    if (code.form.kind == CallKind::loop) {
        call.iteration = -1;
        return settle(nullptr, &call);
    }
    const int32_t branch = code.form.kind == CallKind::select ? static_cast<int32_t>(callee) : -1;
    LS_CHECK_OK(activate(call, code.form.callees[callee].graph, roleOf(code.form.kind, callee), branch));
    return settle(call.callee, nullptr);
}

/// Puts a callee on the way with the call's arguments.
Status Calls::activate(Call& call, GraphId graph, CallRole role, int32_t branch)
{
    LS_TRY(Program* const callee, m_runner.program(graph));
    auto activation = std::make_unique<Activation>();
    activation->program = callee;
    activation->call = &call;
    activation->role = role;
    activation->branch = branch;
    call.callee = activation.get();
    m_activations.push_back(std::move(activation));
    Activation& running = *call.callee;
    running.frame = &m_flow.openFrame(running, 0, call.caller);
    Iteration& first = *running.frame->alive.front();
    first.number = call.iteration;
    if (role != CallRole::loop) {
        call.invocation = 0;
        startInvocation(first);
    } else if (call.invocation == 0) {
        startInvocation(first);
    }
    if (first.invocation != 0) {
        call.invocation = first.invocation;
        call.invocationStartNs = first.startNs;
    }
    first.invocation = call.invocation;
    std::vector<Cell*> arguments = call.arguments;
    Cell* counter = nullptr;
    if (call.code->isFor) {
        counter = m_cells.take();
        counter->dtype = DType::i32;
        counter->shape = Shape();
        LS_CHECK_OK(CellPool::reserve(*counter, sizeof(int32_t)));
        *counter->as<int32_t>() = static_cast<int32_t>(call.counter);
        arguments.insert(arguments.begin(), counter);
    }
    Status status = begin(running, arguments);
    if (counter) m_cells.release(counter);
    return status;
}

/// Gives a graph its inputs and makes what waits for nothing ready.
Status Calls::begin(Activation& activation, std::span<Cell* const> arguments)
{
    const GraphCode& code = activation.program->code;
    const Graph& graph = *code.graph;
    if (arguments.size() != graph.inputs.size())
        return invalidArgument("graph '" + graph.id + "' takes " + std::to_string(graph.inputs.size()) + " inputs, found " +
                               std::to_string(arguments.size()));
    Iteration& iteration = *activation.frame->alive.front();
    activation.outputs.assign(graph.outputs.size(), nullptr);
    for (size_t i = 0; i < arguments.size(); ++i)
        m_flow.put(iteration, code.values[static_cast<size_t>(graph.inputs[i].index)].slot, CellPool::share(arguments[i]));
    for (const Edge& edge : code.inputEdges) LS_CHECK_OK(m_flow.deliverEdge(iteration, *activation.program, edge, false, false));
    for (const int32_t root : code.roots) m_flow.markReady(iteration, code.nodes[static_cast<size_t>(root)].position, false);
    return {};
}

/// Goes on with `call` (a loop that begins), then with every callee that has nothing left to do.
Status Calls::settle(Activation* activation, Call* call)
{
    if (call) {
        LS_TRY(activation, continueLoop(*call));
    }
    while (activation && activation->outstanding == 0 && activation->call) {
        LS_TRY(activation, continueCall(*activation->call));
    }
    return {};
}

/// The callee is through. Gives the activation to look at next: the callee that follows, or that of the caller.
Result<Activation*> Calls::continueCall(Call& call)
{
    LS_TRY(std::vector<Cell*> outputs, takeOutputs(*call.callee));
    const auto give = [&] {
        for (Cell* argument : call.arguments) m_cells.release(argument);
        call.arguments = std::move(outputs);
    };
    if (call.code->form.kind != CallKind::loop) {
        m_core.endInvocation(call.invocation, call.invocationStartNs);
        dropActivation(*call.callee);
        give();
        return completeCall(call);
    }
    dropActivation(*call.callee);
    if (!call.inCond) {
        if (outputs.size() != call.arguments.size()) {
            for (Cell* output : outputs) m_cells.release(output);
            return invalidArgument(std::string(call.code->isFor ? "For" : "While") + " loop body returned " +
                                   std::to_string(outputs.size()) + " arguments. Expected: " + std::to_string(call.arguments.size()));
        }
        give();
        m_core.endInvocation(call.invocation, call.invocationStartNs);
        call.counter += call.delta;
        return continueLoop(call);
    }
    if (outputs.size() == 1 && outputs[0]) LS_CHECK_OK(CellPool::bring(*outputs[0]));
    const bool isKnown = !m_replay.isOn() || outputs.size() != 1 || m_replay.load(*outputs[0]);
    Result<bool> goesOn = !isKnown ? Error(ErrorCode::execution, "the recording does not hold what the condition gave").at(m_core.address())
                          : outputs.size() == 1 ? tfTruth(*outputs[0])
                                                : invalidArgument("Expected a single scalar return value from WhileOp cond, got " +
                                                                  std::to_string(outputs.size()) + " tensors.");
    for (Cell* output : outputs) m_cells.release(output);
    if (!goesOn.ok()) return std::move(goesOn).takeError();
    if (!*goesOn) {
        m_core.endInvocation(call.invocation, call.invocationStartNs);
        return completeCall(call);
    }
    call.inCond = false;
    LS_CHECK_OK(activate(call, call.code->form.callees[1].graph, CallRole::loop, -1));
    return call.callee;
}

/// Begins the next iteration: with the condition, or, of a For, with the body if there is one more.
Result<Activation*> Calls::continueLoop(Call& call)
{
    call.invocation = 0;
    ++call.iteration;
    if (call.iteration > m_core.options().maxSteps)
        return Error(ErrorCode::execution, "a loop without operators ran " + std::to_string(call.iteration) + " iterations");
    if (call.code->isFor) {
        const bool goesOn = call.delta > 0 ? call.counter < call.limit : call.delta < 0 && call.counter > call.limit;
        if (!goesOn) return completeCall(call);
        LS_CHECK_OK(activate(call, call.code->form.callees[0].graph, CallRole::loop, -1));
        return call.callee;
    }
    call.inCond = true;
    LS_CHECK_OK(activate(call, call.code->form.callees[0].graph, CallRole::loop, -1));
    return call.callee;
}

Result<std::vector<Cell*>> Calls::takeOutputs(Activation& activation)
{
    const Graph& graph = *activation.program->code.graph;
    for (size_t k = 0; k < activation.outputs.size(); ++k)
        if (!activation.outputs[k])
            return invalidArgument("Retval[" + std::to_string(k) + "] does not have value")
                .at("output '" + graph.outputs[k].name + "' of " + graph.id);
    std::vector<Cell*> outputs;
    outputs.swap(activation.outputs);
    return outputs;
}

void Calls::dropActivation(Activation& activation)
{
    for (Cell* output : activation.outputs)
        if (output) m_cells.release(output);
    if (activation.frame->parent) std::erase(activation.frame->parent->children, activation.frame);
    m_flow.dropFrame(*activation.frame, Announce::yes);
    if (activation.call) activation.call->callee = nullptr;
    std::erase_if(m_activations, [&](const std::unique_ptr<Activation>& owned) { return owned.get() == &activation; });
}

void Calls::startInvocation(Iteration& iteration)
{
    iteration.invocation = m_core.newInvocation();
    iteration.enteredAtStep = m_core.stepsDone();
    if (!m_core.audience().present()) return;
    const Frame& frame = *iteration.frame;
    const Activation& activation = *frame.activation;
    iteration.startNs = m_core.audience().now();
    InvocationStart event;
    event.id = iteration.invocation;
    event.role = frame.index != 0 ? CallRole::frame : activation.role;
    event.branch = frame.index != 0 ? -1 : activation.branch;
    event.iteration = event.role == CallRole::frame || event.role == CallRole::loop ? iteration.number : -1;
    event.step = m_core.stepsDone();
    event.graph = activation.program->code.id;
    if (frame.parent) {
        const GraphCode& caller = programOf(*frame.parent).code;
        event.parent = frame.parent->invocation;
        event.callerGraph = caller.id;
        event.site = frame.index != 0 ? frame.code->enter : callNodeOf(iteration).op;
    }
    if (event.role == CallRole::loop && !activation.call->code->isFor) {
        event.cond = activation.call->code->form.callees[0].graph;
        event.graph = activation.call->code->form.callees[1].graph;
    }
    m_core.audience().present()->invocationStarted(event);
}

/// The call node completes: its arguments have become its results.
Result<Activation*> Calls::completeCall(Call& call)
{
    Iteration& iteration = *call.caller;
    Activation* const activation = iteration.frame->activation;
    const Node& node = programOf(iteration).code.nodes[static_cast<size_t>(call.node)];
    if (call.arguments.size() != static_cast<size_t>(node.outputCount))
        return invalidArgument("Expect to produce " + std::to_string(node.outputCount) + " tensors, but only get " +
                               std::to_string(call.arguments.size()));
    std::vector<Cell*> results;
    results.swap(call.arguments);
    std::ranges::copy(results, m_flow.results().begin());
    m_listener.callReturns(iteration, node, call);
    for (Cell* cell : results) CellPool::share(cell); // delivering hands them on; they stay until they have been shown
    const int64_t trips = call.iteration;             // −1 if it is no loop
    std::erase_if(m_calls, [&](const std::unique_ptr<Call>& owned) { return owned.get() == &call; });
    m_listener.callsChanged(std::ssize(m_calls));
    Status status = m_listener.callCompleted(iteration, node, trips);
    for (Cell* cell : results) m_cells.release(cell);
    LS_CHECK_OK(std::move(status));
    if (--iteration.outstanding == 0 && iteration.frame->index != 0) LS_CHECK_OK(m_flow.retire(*iteration.frame));
    --activation->outstanding;
    return activation;
}

Status Calls::finishNode(Iteration& iteration)
{
    Activation* const activation = iteration.frame->activation;
    if (--iteration.outstanding == 0 && iteration.frame->index != 0) LS_CHECK_OK(m_flow.retire(*iteration.frame));
    if (--activation->outstanding == 0) return settle(activation);
    return {};
}

Status Calls::enterRoot(std::span<Cell* const> inputs)
{
    LS_TRY(Program* const root, m_runner.program(m_core.root()));
    Activation& activation = *m_activations.emplace_back(std::make_unique<Activation>());
    activation.program = root;
    activation.frame = &m_flow.openFrame(activation, 0, nullptr);
    return begin(activation, inputs);
}

void Calls::clear()
{
    for (const std::unique_ptr<Call>& call : m_calls)
        for (Cell* argument : call->arguments) m_cells.release(argument);
    m_calls.clear();
    for (const std::unique_ptr<Activation>& activation : m_activations)
        for (Cell* output : activation->outputs)
            if (output) m_cells.release(output);
    m_activations.clear();
}

} // namespace loopscope::dataflow
