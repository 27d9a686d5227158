// Entering and leaving graphs: calls, branches, loops, and what the observer hears of them.
#include "engine/exec/machine.h"

#include "engine/ops/tf_rules.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Operands from the first argument on.
std::span<const Tensor* const> argumentsOf(const CallState& call, int firstArgument)
{
    return std::span<const Tensor* const>(call.operands).subspan(static_cast<size_t>(firstArgument));
}

bool isSingle(const Tensor& tensor)
{
    return std::ranges::all_of(tensor.shape.dims(), [](int64_t d) { return d == 1; });
}

/// The block of a call: in the caller's region, or of its own if it was planned late.
std::byte* blockOf(const CallState& call, const Activation& caller)
{
    return call.late ? call.own.data() : caller.base() + call.planned->offset;
}

} // namespace

Result<size_t> chooseTfCallee(const CallForm& form, const Tensor& steering)
{
    if (form.kind == CallKind::call) return size_t{0};
    if (form.kind == CallKind::branch) {
        LS_TRY(const bool taken, tfTruth(steering));
        return taken ? size_t{0} : size_t{1};
    }
    if (steering.shape.rank() != 0 || steering.dtype != DType::i32) return invalidArgument("branch_index must be scalar");
    const int32_t index = *steering.as<int32_t>();
    const size_t last = form.callees.size() - 1;
    return index < 0 || static_cast<size_t>(index) > last ? last : static_cast<size_t>(index);
}

Status Interpreter::Impl::enter(CallFrame& caller, const Instruction& instruction, bool single)
{
    if (m_options.device) {
        m_options.device->settle();
        LS_CHECK_OK(m_options.device->check());
    }
    const GraphId graph = caller.activation->plan().graph;
    CallState& call = caller.activation->call(instruction.index);
    caller.callStart = m_audience.now();
    const PlannedOperator& planned = caller.activation->plan().operators[static_cast<size_t>(instruction.index)];
    const CallForm& form = planned.call->form;
    if (form.kind == CallKind::once && m_initialised.contains(form.callees[0].graph)) {
        CallFrame done;
        done.call = &call;
        m_frames.push_back(done); // completeCall takes it off again
        m_limits.setOpenCalls(std::ssize(m_frames) - 1);
        completeCall(m_frames.back());
        return {};
    }
    if (static_cast<int32_t>(m_frames.size()) >= m_options.maxDepth) {
        const size_t entered = form.kind == CallKind::loop ? 1 : 0;
        const std::string& name = m_model.graph(form.callees[entered].graph).id;
        return Error(ErrorCode::execution,
                     "recursion: " + name + " calls itself, depth " + std::to_string(m_options.maxDepth) + " (--max-depth)");
    }
    if (!planned.call->planned) LS_CHECK_OK(planLate(call, graph));

    if (form.kind == CallKind::loop) return enterLoop(call, argumentsOf(call, 0), single);
    LS_TRY(const size_t callee, chooseCallee(call));
    LS_CHECK_OK(checkTaken(call, graph, callee));
    return enterGraph(call, callee, roleOf(form.kind, callee), form.kind == CallKind::select ? static_cast<int32_t>(callee) : -1);
}

/// A call on the way to itself is planned when it is reached, for the shapes it is reached with, in a block of its own.
Status Interpreter::Impl::planLate(CallState& call, GraphId graph)
{
    std::vector<Shape> shapes;
    for (const Tensor* operand : call.operands) shapes.push_back(operand ? operand->shape : Shape::unknownRank());
    if (!call.late || shapes != call.lateShapes) {
        LS_TRY(call.late, m_planner->planCall(graph, call.op, shapes, address()));
        call.lateShapes = std::move(shapes);
        call.planned = call.late.get();
        call.pools.clear();
    }
    return call.own.reserve(call.planned->bytes);
}

Result<size_t> Interpreter::Impl::chooseCallee(const CallState& call) const
{
    const CallForm& form = call.planned->form;
    if (form.firstArgument == 0) return size_t{0};
    const Tensor& steering = *call.operands[0];
    if (form.tensorflow) return chooseTfCallee(form, steering);
    const bool isSelect = form.kind == CallKind::select;
    const DType wanted = isSelect ? DType::i32 : DType::boolean;
    if (steering.dtype != wanted || !isSingle(steering) || steering.bytes < byteSize(wanted, 1))
        return Error(ErrorCode::execution, std::string("C2: ") + (isSelect ? "index" : "predicate"))
            .found(std::string(dtypeName(steering.dtype)) + toString(steering.shape))
            .expected(std::string(dtypeName(wanted)) + " with one element");
    if (!isSelect) return *steering.as<uint8_t>() != 0 ? size_t{0} : size_t{1};
    const int32_t index = *steering.as<int32_t>();
    const size_t last = form.callees.size() - 1;
    return index < 0 || static_cast<size_t>(index) > last ? last : static_cast<size_t>(index);
}

Status Interpreter::Impl::checkTaken(CallState& call, GraphId graph, size_t callee) const
{
    const CallForm& form = call.planned->form;
    if (form.kind != CallKind::branch && form.kind != CallKind::select) return {};
    call.checked.resize(form.callees.size(), false);
    if (call.checked[callee]) return {};
    LS_CHECK_OK(branchTypesAgree(m_model, m_model.graph(graph), m_model.graph(graph).op(call.op), form.callees[callee].graph));
    call.checked[callee] = true;
    return {};
}

Status Interpreter::Impl::bindCallee(CallState& call, size_t callee)
{
    std::byte* const block = blockOf(call, *m_frames.back().activation);
    LS_TRY(Activation* const activation,
           m_store.take(m_store.poolOf(call, callee), *call.planned->plans[callee], block + call.planned->regions));
    call.body = activation;
    const auto arguments = argumentsOf(call, call.planned->form.firstArgument);
    for (size_t i = 0; i < arguments.size(); ++i) aliasSlot(activation->input(i), *arguments[i]);
    const std::vector<PlannedOutput>& outputs = activation->plan().outputs;
    for (size_t k = 0; k < outputs.size(); ++k)
        if (outputs[k].direct) LS_CHECK_OK(directSlot(activation->slot(outputs[k].value), *call.results[k]));
    return {};
}

Status Interpreter::Impl::enterGraph(CallState& call, size_t callee, CallRole role, int32_t branch)
{
    LS_CHECK_OK(bindCallee(call, callee));
    pushFrame(call, role, branch, *call.body);
    m_frames.back().invocation = newInvocation();
    if (m_audience.present()) startInvocation(m_frames.back());
    return {};
}

Status Interpreter::Impl::bindLoop(CallState& call, std::span<const Tensor* const> initial)
{
    std::byte* const block = blockOf(call, *m_frames.back().activation);
    LS_TRY(call.cond, m_store.take(m_store.poolOf(call, 0), *call.planned->plans[0], block + call.planned->regions));
    LS_TRY(call.body, m_store.take(m_store.poolOf(call, 1), *call.planned->plans[1], block + call.planned->regions));
    LS_CHECK_OK(call.exchange.begin(call.planned->loop, *call.cond, *call.body, initial, call.results, block));
    call.verdictHome.heap = &call.verdict;
    call.verdictHome.fixed = false;
    Slot& verdict = call.cond->output(0);
    call.verdictSlot = &verdict;
    const bool isPlain = call.planned->form.tensorflow ? verdict.shape.rank() == 0 : isSingle(verdict);
    call.verdictIsPlain = verdict.fixed && verdict.dtype == DType::boolean && isPlain;
    if (!call.cond->plan().outputs[0].direct) return {};
    return directSlot(verdict, call.verdictHome);
}

Status Interpreter::Impl::enterLoop(CallState& call, std::span<const Tensor* const> initial, bool single)
{
    LS_CHECK_OK(bindLoop(call, initial));
    pushFrame(call, CallRole::loop, -1, *call.cond);
    CallFrame& frame = m_frames.back();
    frame.inCond = true;
    frame.iteration = 0;
    frame.invocation = newInvocation();
    if (m_audience.present()) startInvocation(frame);
    return single ? Status() : runOnDevice();
}

Result<bool> Interpreter::Impl::readVerdict(const CallFrame& frame) const
{
    const Slot& verdict = *frame.call->verdictSlot;
    if (frame.call->planned->form.tensorflow) return tfTruth(verdict);
    if (verdict.dtype != DType::boolean || !isSingle(verdict) || verdict.bytes < 1) [[unlikely]]
        return Error(ErrorCode::execution, "C2: output of cond '" + m_model.graph(frame.call->cond->plan().graph).id + "'")
            .found(std::string(dtypeName(verdict.dtype)) + toString(verdict.shape))
            .expected("bool with one element");
    return *verdict.as<uint8_t>() != 0;
}

/// Results that the callee did not write in place are copied: inputs, constants, variables and repetitions.
Status Interpreter::Impl::leaveGraph(CallFrame& frame)
{
    CallState& call = *frame.call;
    const std::vector<PlannedOutput>& outputs = frame.activation->plan().outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
        const Slot& output = frame.activation->slot(outputs[k].value);
        if (outputs[k].direct) {
            aliasSlot(*call.results[k], output);
        } else {
            LS_CHECK_OK(copyToSlot(*call.results[k], output));
        }
    }
    if (frame.role == CallRole::init) m_initialised.insert(frame.activation->plan().graph);
    return {};
}

/// The root's outputs as the caller of the interpreter sees them.
Status Interpreter::Impl::publishOutputs()
{
    const Activation& root = *m_frames.front().activation;
    for (size_t k = 0; k < m_outputs.size(); ++k) {
        const PlannedOutput& output = root.plan().outputs[k];
        show(root.slot(output.value));
        if (output.direct) {
            aliasSlot(m_outputs[k].slot, root.slot(output.value));
        } else {
            LS_CHECK_OK(copyToSlot(m_outputs[k].slot, root.slot(output.value)));
            if (m_options.device) m_options.device->written(m_outputs[k].slot);
        }
    }
    return m_options.device ? m_options.device->check() : Status();
}

Status Interpreter::Impl::finishRoot()
{
    if (Status status = publishOutputs(); !status.ok()) return fail(std::move(status).takeError());
    return finish(m_frames.front().invocation, m_frames.front().invocationStart);
}

/// The call operator of `frame` is done: the frame goes, the operator counts as completed.
void Interpreter::Impl::completeCall(CallFrame& frame)
{
    const CallState& call = *frame.call;
    const int64_t trips = frame.role == CallRole::loop ? frame.iteration : -1;
    if (m_audience.totals() && frame.activation && frame.role == CallRole::loop) m_audience.totals()->loopEnded(trips);
    if (m_audience.present() && frame.activation) endInvocation(frame.invocation, frame.invocationStart);
    popFrame();
    CallFrame& caller = m_frames.back();
    const Instruction& instruction = caller.activation->code()[call.op.index];
    const bool asked = m_asking && (instruction.traps & trapAfter) != 0;
    if (m_audience.present() || asked) {
        OperatorEvent event = eventOf(caller, call.op);
        event.ns = m_audience.since(caller.callStart);
        event.trips = trips;
        event.results = {instruction.args.outputs, static_cast<size_t>(instruction.args.outputCount)};
        if (m_audience.present()) m_audience.present()->operatorExecuted(event);
        caller.next = call.op.index + 1;
        if (asked) askAfter(event);
    }
    ++m_step;
    caller.next = call.op.index + 1;
}

void Interpreter::Impl::pushFrame(CallState& call, CallRole role, int32_t branch, Activation& activation)
{
    CallFrame frame;
    frame.activation = &activation;
    frame.call = &call;
    frame.role = role;
    frame.branch = branch;
    frame.enteredAtStep = m_step;
    m_frames.push_back(frame);
    m_limits.setOpenCalls(std::ssize(m_frames) - 1);
}

void Interpreter::Impl::popFrame()
{
    const CallFrame frame = m_frames.back();
    m_frames.pop_back();
    m_limits.setOpenCalls(std::ssize(m_frames) - 1);
    forgetAccesses(races(), frame.invocation);
    if (!frame.activation) return;
    ActivationStore::giveBack(*frame.call->body);
    if (frame.role != CallRole::loop) return;
    ActivationStore::giveBack(*frame.call->cond);
    frame.call->restored.clear();
}

void Interpreter::Impl::startInvocation(CallFrame& frame)
{
    InvocationStart event;
    event.id = frame.invocation;
    event.role = frame.role;
    event.branch = frame.branch;
    event.iteration = frame.iteration;
    event.step = m_step;
    event.graph = frame.activation->plan().graph;
    if (frame.role == CallRole::loop) {
        event.graph = frame.call->body->plan().graph;
        event.cond = frame.call->cond->plan().graph;
    }
    if (m_frames.size() > 1) {
        const CallFrame& caller = m_frames[m_frames.size() - 2];
        event.parent = caller.invocation;
        event.callerGraph = caller.activation->plan().graph;
        event.site = frame.call->op;
    }
    frame.invocationStart = m_audience.now();
    m_audience.present()->invocationStarted(event);
}

} // namespace loopscope
