// The loop that runs instructions, and how a run ends.
#include "engine/exec/machine.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <new>

namespace loopscope {

/// Runs to the end, or (Single) to the next operator boundary. Ends of graphs are passed at once, so that a stop is always before an
/// operator.
template <bool Single> Status Interpreter::Impl::execute()
{
    CallFrame* frame = &m_frames.back();
    const Instruction* at = frame->activation->code() + frame->next;
    bool moved = false;
    Status status;
    for (;;) {
        if constexpr (Single) {
            if (moved && at->kind != InstructionKind::end) break;
        }
        switch (at->kind) {
        case InstructionKind::kernel:
        case InstructionKind::sized:
        case InstructionKind::reads:
            frame->next = at->index;
            if (m_step >= m_limit || m_cancel.requested()) [[unlikely]]
                return halt();
            if (m_observer) [[unlikely]] {
                status = runObserved(*frame, *at);
            } else {
                status = at->kind == InstructionKind::kernel ? at->run(at->args) : runSized(*at);
            }
            if (!status.ok()) [[unlikely]]
                return fail(std::move(status).takeError());
            ++m_step;
            ++at;
            moved = true;
            break;
        case InstructionKind::call:
            frame->next = at->index;
            if (m_step >= m_limit || m_cancel.requested()) [[unlikely]]
                return halt();
            if (status = enter(*frame, *at); !status.ok()) return fail(std::move(status).takeError());
            frame = &m_frames.back();
            at = frame->activation->code() + frame->next;
            moved = true;
            break;
        case InstructionKind::fail: frame->next = at->index; return refuse(*frame, *at);
        case InstructionKind::trapped:
            frame->next = at->index;
            if (!Single && (at->traps & trapBefore) != 0 && !isQuiet(*frame)) askBefore(*frame, *at);
            if (m_step >= m_limit || m_cancel.requested()) return halt();
            if (at->plain == InstructionKind::fail) return refuse(*frame, *at);
            if (status = runTrapped(*frame, *at); !status.ok()) return fail(std::move(status).takeError());
            moved = true;
            if (at->plain == InstructionKind::call) {
                frame = &m_frames.back();
                at = frame->activation->code() + frame->next;
            } else {
                ++m_step;
                ++at;
            }
            break;
        case InstructionKind::end:
            if (frame->role == CallRole::loop) {
                frame->next = at->index;
                if (frame->inCond) {
                    // Elsewhere operators look at the flag, before which a run can stay.
                    if (frame->enteredAtStep == m_step && m_cancel.requested()) [[unlikely]]
                        return checkBudget();
                    bool goOn = false;
                    if (frame->call->verdictIsPlain) [[likely]] {
                        goOn = *frame->call->verdictSlot->as<uint8_t>() != 0;
                    } else {
                        const Result<bool> verdict = readVerdict(*frame);
                        if (!verdict.ok()) {
                            popFrame();
                            return fail(verdict.error().copy());
                        }
                        goOn = *verdict;
                    }
                    if (goOn) {
                        frame->inCond = false;
                        frame->activation = frame->call->body;
                        at = frame->activation->code();
                        break;
                    }
                    status = frame->call->exchange.finish();
                } else {
                    status = frame->call->exchange.next();
                    if (status.ok()) [[likely]] {
                        if (frame->iteration >= m_options.maxSteps) [[unlikely]]
                            return checkBudget(); // a loop without operators
                        if (m_observer) [[unlikely]]
                            endInvocation(*frame);
                        forgetAccesses(frame->invocation);
                        frame->taken = {};
                        ++frame->iteration;
                        frame->inCond = true;
                        frame->activation = frame->call->cond;
                        frame->enteredAtStep = m_step;
                        frame->invocation = m_nextInvocation++;
                        if (m_observer) [[unlikely]]
                            startInvocation(*frame);
                        at = frame->activation->code();
                        break;
                    }
                }
            } else if (m_frames.size() == 1) {
                frame->next = at->index;
                return finishRoot();
            } else {
                status = leaveGraph(*frame);
            }
            if (!status.ok()) [[unlikely]] {
                popFrame();
                return fail(std::move(status).takeError());
            }
            completeCall(*frame);
            frame = &m_frames.back();
            at = frame->activation->code() + frame->next;
            break;
        }
    }
    frame->next = at->index;
    updatePosition();
    return {};
}

template Status Interpreter::Impl::execute<false>();
template Status Interpreter::Impl::execute<true>();

/// Operators whose result sizes depend on values: inference with the operands' data, memory, then the kernel.
Status Interpreter::Impl::runSized(const Instruction& instruction)
{
    const KernelArgs& args = instruction.args;
    if (instruction.plain == InstructionKind::reads) LS_CHECK_OK(readReferences(instruction));
    const Program& program = m_frames.back().activation->program();
    const Operator& op = program.graph().operators[static_cast<size_t>(instruction.index)];
    const auto count = static_cast<size_t>(args.outputCount);
    const OpDef* const def = program.plan().operators[static_cast<size_t>(instruction.index)].def;
    const bool infers = def && def->infer;
    m_inferred.resize(std::max(m_inferred.size(), count));
    for (size_t k = 0; k < count; ++k) {
        m_inferred[k].dtype = args.outputs[k]->dtype;
        m_inferred[k].shape = infers ? Shape::unknownRank() : program.graph().value(op.results[k]).type.dynamicShape();
    }
    if (infers) { // the counts of operands and results were checked when the graph was planned
        InferContext context(op, {args.inputs, static_cast<size_t>(args.inputCount)}, {m_inferred.data(), count});
        LS_CHECK_OK(def->infer(context));
    }
    for (size_t k = 0; k < count; ++k) {
        Slot& slot = static_cast<Slot&>(*args.outputs[k]);
        if (slot.fixed) continue;
        if (m_inferred[k].shape.isStatic() && bitWidth(slot.dtype) > 0) {
            LS_CHECK_OK(sizeSlot(slot, m_inferred[k].shape));
        } else { // the kernel knows: it calls resize
            slot.shape = m_inferred[k].shape;
            slot.bytes = 0;
            LS_CHECK_OK(slot.heap->reserve(0));
            slot.data = slot.heap->data();
        }
    }
    LS_CHECK_OK(instruction.run(args));
    for (size_t k = 0; k < count; ++k) { // what follows was planned for the planned shape: it relies on it
        const Shape& planned = program.plan().value(op.results[k]).shape;
        const Shape& shape = args.outputs[k]->shape;
        if (!shape.isStatic()) return Error(ErrorCode::internal, "the kernel left result " + std::to_string(k) + " without a size");
        if (!isCompatible(planned, shape))
            return Error(ErrorCode::execution, "result " + std::to_string(k)).found("shape " + toString(shape)).expected(toString(planned));
    }
    return {};
}

/// Operands that are references become the present values of their variables.
Status Interpreter::Impl::readReferences(const Instruction& instruction)
{
    for (ReferenceRead& read : m_frames.back().activation->references(instruction.index)) {
        const Variable* variable = m_resources.variable(*read.handle->as<int32_t>());
        if (!variable) return Error(ErrorCode::internal, "a reference names no variable");
        if (!variable->assigned) return tfError(TfCode::failedPrecondition, "Attempting to use uninitialized value " + variable->name);
        if (variable->dtype != read.value.dtype)
            return invalidArgument("variable " + variable->name + " holds " + std::string(tfTypeName(variable->dtype)) + ", not " +
                                   std::string(tfTypeName(read.value.dtype)));
        read.value.shape = variable->shape;
        read.value.bytes = variable->bytes.size();
        read.value.data = const_cast<std::byte*>(variable->bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): read only
        if (m_resources.listener) m_resources.listener->accessed(variable->name, AccessKind::read, &read.value);
    }
    return {};
}

Status Interpreter::Impl::runObserved(const CallFrame& frame, const Instruction& instruction)
{
    const int64_t from = m_times ? nowNs() : 0;
    Status status = instruction.plain == InstructionKind::kernel ? instruction.run(instruction.args) : runSized(instruction);
    OperatorEvent event = eventOf(frame, OperatorId(instruction.index));
    event.ns = m_times ? nowNs() - from : -1;
    if (status.ok()) {
        event.results = {instruction.args.outputs, static_cast<size_t>(instruction.args.outputCount)};
    } else {
        event.state = EventState::failed;
    }
    m_observer->operatorExecuted(event);
    return status;
}

OperatorEvent Interpreter::Impl::eventOf(const CallFrame& frame, OperatorId op) const
{
    synchronise(SyncPoint::event);
    OperatorEvent event;
    event.step = m_step;
    event.invocation = frame.invocation;
    event.graph = frame.activation->plan().graph;
    event.op = op;
    return event;
}

void Interpreter::Impl::askBefore(const CallFrame& frame, const Instruction& instruction)
{
    const int64_t here = tick();
    if (here == m_askedBefore) return;
    m_askedBefore = here;
    updatePosition();
    if (!m_trapHandler->beforeOperator(eventOf(frame, OperatorId(instruction.index)), here)) return;
    m_stopAsked = true;
    setLimit();
}

/// The frame of the operator is the innermost one, and behind the operator already, so that its results are live.
void Interpreter::Impl::askAfter(const OperatorEvent& event)
{
    updatePosition();
    if (!m_trapHandler->afterOperator(event, tick() + 1)) return;
    m_stopAsked = true;
    setLimit();
}

Status Interpreter::Impl::runTrapped(CallFrame& frame, const Instruction& instruction)
{
    if (instruction.plain == InstructionKind::call) return enter(frame, instruction);
    if (m_observer) {
        LS_CHECK_OK(runObserved(frame, instruction));
    } else if (instruction.plain == InstructionKind::kernel) {
        LS_CHECK_OK(instruction.run(instruction.args));
    } else {
        LS_CHECK_OK(runSized(instruction));
    }
    if (!m_asking || (instruction.traps & trapAfter) == 0 || isQuiet(frame)) return {};
    OperatorEvent event = eventOf(frame, OperatorId(instruction.index));
    event.results = {instruction.args.outputs, static_cast<size_t>(instruction.args.outputCount)};
    frame.next = instruction.index + 1;
    askAfter(event);
    return {};
}

Status Interpreter::Impl::refuse(const CallFrame& frame, const Instruction& instruction)
{
    if (m_observer) {
        OperatorEvent event = eventOf(frame, OperatorId(instruction.index));
        event.state = EventState::failed;
        m_observer->operatorExecuted(event);
    }
    return fail(frame.activation->program().failure(instruction.index)->copy());
}

/// Before an operator: runTo() is there, or the run ends here.
Status Interpreter::Impl::halt()
{
    const bool wanted = m_stopAsked || m_step >= m_stepLimit || tick() >= m_tickLimit;
    if (m_cancel.requested() || (m_step >= m_options.maxSteps && !wanted)) return checkBudget();
    updatePosition();
    return {};
}

Status Interpreter::Impl::checkBudget()
{
    if (m_cancel.requested()) return stopAt(Error(ErrorCode::cancelled, "cancelled at " + address()), RunEnd::Reason::cancelled);
    return stopAt(Error(ErrorCode::execution, "step budget of " + groupThousands(m_options.maxSteps) + " reached at " + address()),
                  RunEnd::Reason::budget);
}

Error Interpreter::Impl::fail(Error error) { return stopAt(std::move(error).at(address()), RunEnd::Reason::failed); }

Error Interpreter::Impl::stopAt(Error error, RunEnd::Reason reason)
{
    updatePosition();
    m_phase = Phase::ended;
    endRun(reason, error.message());
    return error;
}

void Interpreter::Impl::endRun(RunEnd::Reason reason, std::string_view message)
{
    m_resources.listener = nullptr;
    if (!m_observer) return;
    RunEnd end;
    end.reason = reason;
    end.steps = m_step;
    end.ns = m_times ? nowNs() - m_runStart : 0;
    end.message = message;
    std::vector<const Tensor*> outputs;
    if (reason == RunEnd::Reason::finished)
        for (const RootValue& output : m_outputs) outputs.push_back(&output.slot);
    end.outputs = outputs;
    m_observer->runEnded(end);
}

void Interpreter::Impl::updatePosition()
{
    m_position.started = m_phase != Phase::idle;
    m_position.finished = m_phase == Phase::finished;
    m_position.step = m_step;
    m_position.depth = static_cast<int32_t>(m_frames.size());
    if (m_frames.empty()) return;
    const CallFrame& frame = m_frames.back();
    m_position.graph = frame.activation->plan().graph;
    m_position.invocation = frame.invocation;
    const bool atEnd = frame.next >= static_cast<int32_t>(frame.activation->plan().operators.size());
    m_position.op = atEnd ? OperatorId() : OperatorId(frame.next);
}

std::byte* Interpreter::Impl::scratch(size_t bytes)
{
    // A kernel cannot be refused its scratch memory in any other way; guarded() makes an error of it.
    if (!m_scratch.reserve(bytes).ok()) throw std::bad_alloc();
    return m_scratch.data();
}

void Interpreter::Impl::parallel(int64_t count, BlockFunction work)
{
    if (!m_threads) m_threads = std::make_unique<ThreadPool>(threads());
    m_threads->run(count, work);
}

Status Interpreter::Impl::resize(Tensor& output, const Shape& shape, size_t bytes)
{
    auto& slot = static_cast<Slot&>(output); // every result of every instruction is a slot
    if (!shape.isStatic()) return Error(ErrorCode::internal, "a result was to be given an unknown size").found(toString(shape));
    if (slot.fixed) {
        if (shape == slot.shape && bytes == slot.bytes) return {};
        return Error(ErrorCode::execution, "a result does not have the size that was planned")
            .found(toString(shape))
            .expected(toString(slot.shape));
    }
    LS_CHECK_OK(slot.heap->reserve(bytes));
    slot.data = slot.heap->data();
    slot.bytes = bytes;
    slot.shape = shape;
    return {};
}

void Interpreter::Impl::accessed(const std::string& name, AccessKind kind, const Tensor* value)
{
    if (kind != AccessKind::create && m_model.dialect == Dialect::tf) {
        std::vector<AccessSite> around;
        for (size_t f = m_frames.size(); f-- > 0;)
            around.push_back({m_frames[f].invocation, m_frames[f].activation->plan().graph, OperatorId(m_frames[f].next), OperatorId()});
        for (DataflowRace& race : m_accesses.note(around, name, kind == AccessKind::write, m_step)) addRace(m_races, std::move(race));
    }
    if (!m_observer) return;
    VariableAccess access;
    access.kind = kind == AccessKind::create ? VariableAccess::Kind::create
                  : kind == AccessKind::read ? VariableAccess::Kind::read
                                             : VariableAccess::Kind::write;
    access.name = name;
    access.value = value;
    access.step = m_step;
    m_observer->variableAccessed(access);
}

} // namespace loopscope
