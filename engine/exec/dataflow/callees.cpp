// Functions: how call nodes enter graphs and what happens when those are through. What the observer hears of invocations.
#include "engine/exec/dataflow/machine.h"

#include "engine/base/clock.h"
#include "engine/ops/tf_rules.h"

#include <array>

namespace loopscope {

using namespace dataflow;

namespace {

CallRole roleOf(CallKind kind, size_t callee)
{
    switch (kind) {
    case CallKind::branch: return callee == 0 ? CallRole::thenBranch : CallRole::elseBranch;
    case CallKind::select: return CallRole::branch;
    case CallKind::loop: return CallRole::loop;
    case CallKind::once: return CallRole::init;
    default: return CallRole::call;
    }
}

} // namespace

Status DataflowExecutor::Impl::enterCall(Iteration& iteration, const Node& node)
{
    const Program& program = programOf(iteration);
    const int32_t index = nodeIndex(iteration, node);
    const Operator& op = program.code.graph->op(node.op);
    const CallCode& code = program.code.calls[static_cast<size_t>(program.code.callOf[static_cast<size_t>(index)])];
    if (iteration.depth + 1 >= m_options.maxDepth)
        return Error(ErrorCode::execution, "recursion: depth " + std::to_string(m_options.maxDepth) + " is reached (--max-depth)");
    if (findOp(op.kind) != nullptr && !code.isFor) LS_CHECK_OK(checkCall(m_model, *program.code.graph, op));
    for (const Callee& callee : code.form.callees)
        if (!m_model.hasGraph(callee.graph)) return tfError(TfCode::notFound, "the function for '" + callee.role + "' is not in the model");
    if (node.inputCount < code.form.firstArgument)
        return invalidArgument("too few operands").found(std::to_string(node.inputCount)).expected(std::to_string(code.form.firstArgument));

    auto owned = std::make_unique<Call>();
    Call& call = *owned;
    call.caller = &iteration;
    call.node = index;
    call.code = &code;
    call.startNs = m_times ? nowNs() : 0;
    Tensor room;
    size_t callee = 0;
    if (code.isFor) {
        int64_t* const numbers[] = {&call.counter, &call.limit, &call.delta};
        for (int32_t i = 0; i < 3; ++i) {
            LS_TRY(const Tensor* const number, view(iteration, node, i, room));
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
        if (!isBounded)
            return invalidArgument("Invalid start/limit/delta: " + std::to_string(call.counter) + " " + std::to_string(call.limit) + " " +
                                   std::to_string(call.delta));
    } else if (code.form.kind == CallKind::branch || code.form.kind == CallKind::select) {
        LS_TRY(const Tensor* const steering, view(iteration, node, 0, room));
        if (!steering) return invalidArgument("the operand that chooses is missing");
        LS_TRY(callee, chooseCallee(call, *steering));
    }
    m_untouched = false;
    m_calls.push_back(std::move(owned));
    ++m_openCalls;
    setLimit();
    for (int32_t i = code.form.firstArgument; i < node.inputCount; ++i) {
        LS_TRY(Cell* const argument, operand(iteration, node, i));
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

Result<size_t> DataflowExecutor::Impl::chooseCallee(const Call& call, const Tensor& steering)
{
    if (call.code->form.kind == CallKind::branch) {
        LS_TRY(const bool taken, tfTruth(steering));
        return taken ? size_t{0} : size_t{1};
    }
    if (steering.shape.rank() != 0 || steering.dtype != DType::i32) return invalidArgument("branch_index must be scalar");
    const int32_t index = *steering.as<int32_t>();
    const size_t last = call.code->form.callees.size() - 1;
    return index < 0 || static_cast<size_t>(index) > last ? last : static_cast<size_t>(index);
}

/// Puts a callee on the way with the call's arguments.
Status DataflowExecutor::Impl::activate(Call& call, GraphId graph, CallRole role, int32_t branch)
{
    LS_TRY(Program* const callee, program(graph));
    auto activation = std::make_unique<Running>();
    activation->program = callee;
    activation->call = &call;
    activation->role = role;
    activation->branch = branch;
    call.callee = activation.get();
    m_activations.push_back(std::move(activation));
    Running& running = *call.callee;
    running.frame = &openFrame(running, 0, call.caller);
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
Status DataflowExecutor::Impl::begin(Running& activation, std::span<Cell* const> arguments)
{
    const GraphCode& code = activation.program->code;
    const Graph& graph = *code.graph;
    if (arguments.size() != graph.inputs.size())
        return invalidArgument("graph '" + graph.id + "' takes " + std::to_string(graph.inputs.size()) + " inputs, found " +
                               std::to_string(arguments.size()));
    Iteration& iteration = *activation.frame->alive.front();
    activation.outputs.assign(graph.outputs.size(), nullptr);
    for (size_t i = 0; i < arguments.size(); ++i)
        put(iteration, code.values[static_cast<size_t>(graph.inputs[i].index)].slot, CellPool::share(arguments[i]));
    for (const Edge& edge : code.inputEdges) LS_CHECK_OK(deliverEdge(iteration, *activation.program, edge, false, false));
    for (const int32_t root : code.roots) markReady(iteration, code.nodes[static_cast<size_t>(root)].position, false);
    return {};
}

/// Goes on with `call` (a loop that begins), then with every callee that has nothing left to do.
Status DataflowExecutor::Impl::settle(Running* activation, Call* call)
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
Result<DataflowExecutor::Impl::Running*> DataflowExecutor::Impl::continueCall(Call& call)
{
    LS_TRY(std::vector<Cell*> outputs, takeOutputs(*call.callee));
    const auto give = [&] {
        for (Cell* argument : call.arguments) m_cells.release(argument);
        call.arguments = std::move(outputs);
    };
    if (call.code->form.kind != CallKind::loop) {
        endInvocation(call.invocation, call.invocationStartNs);
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
        endInvocation(call.invocation, call.invocationStartNs);
        call.counter += call.delta;
        return continueLoop(call);
    }
    const bool isKnown = !m_recorded || outputs.size() != 1 || load(*outputs[0]);
    Result<bool> goesOn = !isKnown ? Error(ErrorCode::execution, "the recording does not hold what the condition gave").at(address())
                          : outputs.size() == 1 ? tfTruth(*outputs[0])
                                                : invalidArgument("Expected a single scalar return value from WhileOp cond, got " +
                                                                  std::to_string(outputs.size()) + " tensors.");
    for (Cell* output : outputs) m_cells.release(output);
    if (!goesOn.ok()) return std::move(goesOn).takeError();
    if (!*goesOn) {
        endInvocation(call.invocation, call.invocationStartNs);
        return completeCall(call);
    }
    call.inCond = false;
    LS_CHECK_OK(activate(call, call.code->form.callees[1].graph, CallRole::loop, -1));
    return call.callee;
}

/// Begins the next iteration: with the condition, or, of a For, with the body if there is one more.
Result<DataflowExecutor::Impl::Running*> DataflowExecutor::Impl::continueLoop(Call& call)
{
    call.invocation = 0;
    ++call.iteration;
    if (call.iteration > m_options.maxSteps)
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

Result<std::vector<DataflowExecutor::Impl::Cell*>> DataflowExecutor::Impl::takeOutputs(Running& activation)
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

void DataflowExecutor::Impl::dropActivation(Running& activation)
{
    for (Cell* output : activation.outputs)
        if (output) m_cells.release(output);
    if (activation.frame->parent) std::erase(activation.frame->parent->children, activation.frame);
    dropFrame(*activation.frame);
    if (activation.call) activation.call->callee = nullptr;
    std::erase_if(m_activations, [&](const std::unique_ptr<Running>& owned) { return owned.get() == &activation; });
}

/// The call node completes: its arguments have become its results.
Result<DataflowExecutor::Impl::Running*> DataflowExecutor::Impl::completeCall(Call& call)
{
    Iteration& iteration = *call.caller;
    Running* const activation = iteration.frame->activation;
    const Node& node = programOf(iteration).code.nodes[static_cast<size_t>(call.node)];
    if (call.arguments.size() != static_cast<size_t>(node.outputCount))
        return invalidArgument("Expect to produce " + std::to_string(node.outputCount) + " tensors, but only get " +
                               std::to_string(call.arguments.size()));
    for (size_t k = 0; k < call.arguments.size(); ++k) {
        if (m_recorded) load(*call.arguments[k]);
        m_out[k] = m_results[k] = call.arguments[k];
    }
    OperatorEvent event = eventOf(iteration, node);
    event.ns = m_times ? nowNs() - call.startNs : -1;
    event.trips = call.iteration; // -1 if it is no loop
    std::vector<Tensor*> shown(m_out.begin(), m_out.begin() + node.outputCount);
    event.results = {shown.data(), shown.size()};
    if (m_observer) m_observer->operatorExecuted(event);
    std::vector<Cell*> kept = call.arguments;
    for (Cell* cell : kept) CellPool::share(cell);
    call.arguments.clear();
    std::erase_if(m_calls, [&](const std::unique_ptr<Call>& owned) { return owned.get() == &call; });
    --m_openCalls;
    LS_CHECK_OK(propagate(iteration, node, false));
    if (m_asking && (node.traps & trapAfter) != 0) {
        showPosition(iteration, node);
        if (m_trapHandler->afterOperator(event, tick() + 1)) m_stopAsked = true;
        m_iteration = nullptr; // what is next is looked for anew
    }
    ++m_step;
    setLimit();
    for (Cell* cell : kept) m_cells.release(cell);
    if (--iteration.outstanding == 0 && iteration.frame->index != 0) LS_CHECK_OK(retire(*iteration.frame));
    --activation->outstanding;
    return activation;
}

void DataflowExecutor::Impl::startInvocation(Iteration& iteration)
{
    iteration.invocation = m_nextInvocation++;
    iteration.enteredAtStep = m_step;
    if (!m_observer) return;
    const DynamicFrame& frame = *iteration.frame;
    const Running& activation = *frame.activation;
    if (m_times) iteration.startNs = nowNs();
    InvocationStart event;
    event.id = iteration.invocation;
    event.role = frame.index != 0 ? CallRole::frame : activation.role;
    event.branch = frame.index != 0 ? -1 : activation.branch;
    event.iteration = event.role == CallRole::frame || event.role == CallRole::loop ? iteration.number : -1;
    event.step = m_step;
    event.graph = activation.program->code.id;
    if (frame.parent) {
        const GraphCode& caller = programOf(*frame.parent).code;
        event.parent = frame.parent->invocation;
        event.callerGraph = caller.id;
        event.site = frame.index != 0 ? frame.code->enter : caller.nodes[static_cast<size_t>(activation.call->node)].op;
    }
    if (event.role == CallRole::loop && !activation.call->code->isFor) {
        event.cond = activation.call->code->form.callees[0].graph;
        event.graph = activation.call->code->form.callees[1].graph;
    }
    m_observer->invocationStarted(event);
}

void DataflowExecutor::Impl::endInvocation(const Iteration& iteration) { endInvocation(iteration.invocation, iteration.startNs); }

void DataflowExecutor::Impl::endInvocation(InvocationId invocation, int64_t startNs)
{
    if (!m_observer || invocation == 0) return;
    InvocationEnd event;
    event.id = invocation;
    event.step = m_step;
    event.ns = m_times ? nowNs() - startNs : -1;
    m_observer->invocationEnded(event);
}

} // namespace loopscope
