// The loop that runs instructions, and how a run ends.
#include "engine/exec/machine.h"

#include "engine/base/flushed_floats.h"
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>

namespace loopscope {

namespace {

/// What somebody is about to look at comes to the host. Errors: device.
Status bringResults(DeviceMemory* device, const KernelArgs& args, bool wantsElements = true)
{
    if (!device) return {};
    for (int k = 0; k < args.outputCount; ++k)
        if (wantsElements || !device->describes(args.out(k))) device->hostBytes(args.out(k));
    return device->check();
}

/// What a kernel of the host has written: its results, and the states among its operands.
void noteWritten(DeviceMemory& device, const Operator& op, const OpDef* def, const KernelArgs& args)
{
    for (int k = 0; k < args.outputCount; ++k) device.written(args.out(k));
    if (!def) return;
    for (const int state : def->stateOperandsOf ? def->stateOperandsOf(op) : def->stateOperands)
        if (args.has(state)) device.written(args.in(state));
}

} // namespace

/// Behind the last operator of the innermost graph: what comes next. `status` is what the run ends with where it is over.
[[gnu::always_inline]] inline Interpreter::Impl::GraphEnd Interpreter::Impl::passEnd(CallFrame& frame, Status& status, bool single)
{
    if (m_options.device && m_frames.size() > 1) [[unlikely]] { // values change hands here
        m_options.device->settle();
        if (status = m_options.device->check(); !status.ok()) {
            status = fail(std::move(status).takeError());
            return GraphEnd::over;
        }
    }
    if (frame.role == CallRole::loop) {
        if (frame.inCond) {
            // Elsewhere operators look at the flag, before which a run can stay.
            if (frame.enteredAtStep == m_step && m_cancel.requested()) [[unlikely]] {
                status = checkBudget();
                return GraphEnd::over;
            }
            bool goesOn = false;
            if (frame.call->verdictIsPlain) [[likely]] {
                goesOn = *frame.call->verdictSlot->as<uint8_t>() != 0;
            } else {
                Result<bool> verdict = readVerdict(frame);
                if (!verdict.ok()) {
                    popFrame();
                    status = fail(std::move(verdict).takeError());
                    return GraphEnd::over;
                }
                goesOn = *verdict;
            }
            if (goesOn) {
                frame.inCond = false;
                frame.activation = frame.call->body;
                return GraphEnd::entered;
            }
            status = frame.call->exchange.finish();
        } else {
            status = frame.call->exchange.next();
            if (status.ok()) [[likely]] {
                if (frame.iteration >= m_options.maxSteps) [[unlikely]] { // a loop without operators
                    status = checkBudget();
                    return GraphEnd::over;
                }
                nextIteration(frame, m_audience.ofIterations());
                if (single || !m_options.device) [[likely]]
                    return GraphEnd::entered;
                frame.next = 0;
                status = runOnDevice();
                if (status.ok()) return GraphEnd::returned; // to wherever the innermost frame is now
                status = fail(std::move(status).takeError());
                return GraphEnd::over;
            }
        }
    } else if (m_frames.size() == 1) {
        status = finishRoot();
        return GraphEnd::over;
    } else {
        status = leaveGraph(frame);
    }
    if (!status.ok()) [[unlikely]] {
        popFrame();
        status = fail(std::move(status).takeError());
        return GraphEnd::over;
    }
    completeCall(frame);
    return GraphEnd::returned;
}

namespace {

/// How many kernels a graph consists of; −1: there is something else in it, a chain, or results that are `fixed` are asked for (and
/// chains are none) and one is not.
int64_t countOfKernels(const Instruction* code, bool fixed)
{
    const auto isOne = [&](const Instruction& instruction) {
        const std::span results(instruction.args.outputs, static_cast<size_t>(instruction.args.outputCount));
        const bool isKernel = instruction.kind == InstructionKind::kernel || (fixed && instruction.kind == InstructionKind::chained);
        return isKernel &&
               (!fixed || std::ranges::all_of(results, [](const Tensor* result) { return static_cast<const Slot*>(result)->fixed; }));
    };
    int64_t count = 0;
    while (isOne(code[count])) ++count;
    return code[count].kind == InstructionKind::end ? count : -1;
}

} // namespace

/// Whole iterations of a loop whose graphs hold nothing but kernels, as long as nobody wants to hear of them one by one or to stop among
/// them. The frame stands at the beginning of the body before, and after it at `at`: there, or at the end of cond, which said that the loop
/// is over, or where somebody who takes whole iterations wants to hear of operators.
Status Interpreter::Impl::runTrips(CallFrame& frame, const Instruction*& at)
{
    CallState& call = *frame.call;
    at = call.body->code();
    TripTaker* const taker = m_audience.trips();
    const bool isHeard = !taker && (m_audience.ofOperators() || m_audience.ofIterations());
    if (!call.exchange.isPlain() || !call.verdictIsPlain || isHeard || m_options.device) return {};
    const Instruction* const cond = call.cond->code();
    const Instruction* const body = call.body->code();
    const bool isTaped = taker != nullptr; // a row of a tape has one size
    const int64_t ofCond = countOfKernels(cond, isTaped), ofBody = countOfKernels(body, isTaped);
    if (ofCond < 0 || ofBody < 0) {
        call.exchange.setMixed();
        return {};
    }
    if (taker) [[unlikely]]
        return runTapedTrips(frame, *taker, at);
    int64_t step = m_step;
    const int64_t ofTrip = std::max<int64_t>(ofBody + ofCond, 1); // nothing ends before the last of them
    while (frame.iteration < m_options.maxSteps && !m_limits.isReached(step + ofTrip - 1) && !m_cancel.requested()) {
        LS_CHECK_OK(runKernels(frame, body, body + ofBody, step));
        call.exchange.nextPlain();
        nextIteration(frame, nullptr);
        LS_CHECK_OK(runKernels(frame, cond, cond + ofCond, step));
        if (*call.verdictSlot->as<uint8_t>() == 0) {
            at = cond + ofCond;
            return {};
        }
        frame.inCond = false;
        frame.activation = call.body;
    }
    return {};
}

/// Runs to the end, or (Single) to the next operator boundary. Ends of graphs are passed at once, so that a stop is always before an
/// operator.
template <bool Single> Status Interpreter::Impl::execute()
{
    CallFrame* frame = &m_frames.back();
    const Instruction* at = frame->activation->code() + frame->next;
    bool moved = false;
    Status status;
    if constexpr (!Single)
        if (frame->next == 0 && frame->role == CallRole::loop && !frame->inCond)
            if (status = runTrips(*frame, at); !status.ok()) return fail(std::move(status).takeError());
    for (;;) {
        if (Single && moved && at->kind != InstructionKind::end) break;
        switch (at->kind) {
        case InstructionKind::chained:
            if (Chain& chain = frame->activation->program().chainAt(at->index);
                !Single && !m_audience.ofOperators() && !mustHalt(chain.length()) && chain.fits(at)) {
                frame->next = at->index;
                if (status = chain.run(at, *this); !status.ok()) return fail(std::move(status).takeError());
                m_step += chain.length();
                at += chain.length();
                break;
            }
            [[fallthrough]];
        case InstructionKind::kernel:
        case InstructionKind::sized:
        case InstructionKind::reads:
            frame->next = at->index;
            if (mustHalt()) [[unlikely]]
                return halt();
            status = m_audience.ofOperators()               ? runObserved(*frame, *at)
                     : at->plain == InstructionKind::kernel ? at->run(at->args)
                                                            : runSized(*at);
            if (!status.ok()) [[unlikely]]
                return fail(std::move(status).takeError());
            ++m_step;
            ++at;
            moved = true;
            break;
        case InstructionKind::call:
            frame->next = at->index;
            if (mustHalt()) return halt();
            if (status = enter(*frame, *at, Single); !status.ok()) return fail(std::move(status).takeError());
            frame = &m_frames.back();
            at = frame->activation->code() + frame->next;
            moved = true;
            break;
        case InstructionKind::fail: frame->next = at->index; return refuse(*frame, *at);
        case InstructionKind::trapped:
            frame->next = at->index;
            if (!Single && (at->traps & trapBefore) != 0 && !isQuiet(*frame)) askBefore(eventOf(*frame, OperatorId(at->index)));
            if (mustHalt()) return halt();
            if (at->plain == InstructionKind::fail) return refuse(*frame, *at);
            if (status = runTrapped(*frame, *at, Single); !status.ok()) return fail(std::move(status).takeError());
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
            frame->next = at->index;
            switch (passEnd(*frame, status, Single)) {
            case GraphEnd::over: return status;
            case GraphEnd::entered:
                at = frame->activation->code();
                if constexpr (!Single)
                    if (frame->role == CallRole::loop && !frame->inCond)
                        if (status = runTrips(*frame, at); !status.ok()) return fail(std::move(status).takeError());
                break;
            case GraphEnd::returned:
                frame = &m_frames.back();
                at = frame->activation->code() + frame->next;
                break;
            }
            break;
        }
    }
    frame->next = at->index;
    updatePosition();
    return {};
}

Status Interpreter::Impl::advance(bool single)
{
    if (single) return execute<true>();
    const FlushedFloats flushed(m_isTensorFlow && m_audience.isBlind() && !m_asking && !m_options.device);
    return execute<false>();
}

/// Infers with the operands' data, and gives the results memory.
Status Interpreter::Impl::inferResults(const Instruction& instruction, const Operator& op, const OpDef* def)
{
    const KernelArgs& args = instruction.args;
    const Program& program = m_frames.back().activation->program();
    const auto count = static_cast<size_t>(args.outputCount);
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
        } else if (!slot.heap) { // planned for a size that inference does not confirm
            return Error(ErrorCode::execution, "result " + std::to_string(k)).found("no size").expected(toString(slot.shape));
        } else { // the kernel knows: it calls resize
            LS_CHECK_OK(emptySlot(slot, m_inferred[k].shape));
        }
    }
    return {};
}

/// Operators whose result sizes depend on values: inference with the operands' data, memory, then the kernel.
Status Interpreter::Impl::runSized(const Instruction& instruction)
{
    const KernelArgs& args = instruction.args;
    if (instruction.plain == InstructionKind::reads) LS_CHECK_OK(readReferences(instruction));
    const Program& program = m_frames.back().activation->program();
    if (program.device()) LS_CHECK_OK(bringOperands(program, instruction));
    const Operator& op = program.graph().operators[static_cast<size_t>(instruction.index)];
    const auto count = static_cast<size_t>(args.outputCount);
    const OpDef* const def = program.plan().operators[static_cast<size_t>(instruction.index)].def;
    InferenceMemo& memo = m_frames.back().activation->memo(instruction.index);
    if (!program.device() && memo.holds(args)) {
        for (size_t k = 0; k < count; ++k) {
            Slot& slot = static_cast<Slot&>(*args.outputs[k]);
            if (slot.fixed) continue;
            if (memo.isSizedByKernel(k)) LS_CHECK_OK(emptySlot(slot, memo.result(k)));
            else LS_CHECK_OK(sizeSlotAgain(slot, memo.result(k)));
        }
    } else {
        LS_CHECK_OK(inferResults(instruction, op, def));
        memo.keep(args, op, def, program.plan(), {m_inferred.data(), count});
    }
    LS_CHECK_OK(instruction.run(args));
    if (program.device() && !program.isOnDevice(instruction.index)) noteWritten(*program.device(), op, def, args);
    for (size_t k = 0; k < count; ++k) { // what follows was planned for the planned shape: it relies on it
        const Shape& planned = program.plan().value(op.results[k]).shape;
        const Shape& shape = args.outputs[k]->shape;
        if (!shape.isStatic()) return Error(ErrorCode::internal, "the kernel left result " + std::to_string(k) + " without a size");
        if (!isCompatible(planned, shape))
            return Error(ErrorCode::execution, "result " + std::to_string(k)).found("shape " + toString(shape)).expected(toString(planned));
    }
    return {};
}

/// Where a device computes, too: what the host is about to read comes to it.
Status Interpreter::Impl::bringOperands(const Program& program, const Instruction& instruction)
{
    const KernelArgs& args = instruction.args;
    const auto results = std::span(args.outputs, static_cast<size_t>(args.outputCount));
    const bool isFixed = std::ranges::all_of(results, [](const Tensor* result) { return static_cast<const Slot*>(result)->fixed; });
    for (int i = 0; i < args.inputCount; ++i) // inference looks at operands, too
        if (args.has(i) && (!isFixed || !program.isOnDevice(instruction.index))) show(args.in(i));
    return program.device()->check();
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
        if (m_options.device) m_options.device->written(read.value);      // the host may have changed the variable
        if (m_resources.listener) m_resources.listener->accessed(variable->name, AccessKind::read, &read.value);
    }
    return {};
}

Status Interpreter::Impl::runObserved(const CallFrame& frame, const Instruction& instruction)
{
    const int64_t from = m_audience.now();
    Status status = instruction.plain == InstructionKind::kernel ? instruction.run(instruction.args) : runSized(instruction);
    OperatorEvent event = eventOf(frame, OperatorId(instruction.index));
    event.ns = m_audience.since(from);
    event.device = m_options.device;
    if (status.ok()) status = bringResults(m_options.device, instruction.args, m_audience.ofOperators()->wantsElements());
    if (status.ok()) {
        event.results = {instruction.args.outputs, static_cast<size_t>(instruction.args.outputCount)};
    } else {
        event.state = EventState::failed;
    }
    m_audience.ofOperators()->operatorExecuted(event);
    return status.ok() && m_options.device ? m_options.device->check() : std::move(status);
}

Status Interpreter::Impl::runTrapped(CallFrame& frame, const Instruction& instruction, bool single)
{
    if (instruction.plain == InstructionKind::call) return enter(frame, instruction, single);
    if (m_audience.ofOperators()) {
        LS_CHECK_OK(runObserved(frame, instruction));
    } else if (instruction.plain == InstructionKind::kernel) {
        LS_CHECK_OK(instruction.run(instruction.args));
    } else {
        LS_CHECK_OK(runSized(instruction));
    }
    if (!m_asking || (instruction.traps & trapAfter) == 0 || isQuiet(frame)) return {};
    LS_CHECK_OK(bringResults(m_options.device, instruction.args));
    OperatorEvent event = eventOf(frame, OperatorId(instruction.index));
    event.results = {instruction.args.outputs, static_cast<size_t>(instruction.args.outputCount)};
    frame.next = instruction.index + 1;
    askAfter(event);
    return {};
}

Status Interpreter::Impl::refuse(const CallFrame& frame, const Instruction& instruction)
{
    if (m_audience.present()) {
        OperatorEvent event = eventOf(frame, OperatorId(instruction.index));
        event.state = EventState::failed;
        m_audience.present()->operatorExecuted(event);
    }
    return fail(frame.activation->program().failure(instruction.index)->copy());
}

void Interpreter::Impl::locate(Position& position) const
{
    position.depth = static_cast<int32_t>(m_frames.size());
    if (m_frames.empty()) return;
    const CallFrame& frame = m_frames.back();
    position.graph = frame.activation->plan().graph;
    position.invocation = frame.invocation;
    const bool atEnd = frame.next >= static_cast<int32_t>(frame.activation->plan().operators.size());
    position.op = atEnd ? OperatorId() : OperatorId(frame.next);
}

namespace {

[[gnu::noinline]] Status resizeAnew(Slot& slot, const Shape& shape, size_t bytes, DeviceMemory* device)
{
    if (!shape.isStatic()) return Error(ErrorCode::internal, "a result was to be given an unknown size").found(toString(shape));
    if (slot.fixed) {
        if (slot.shape == shape && bytes == slot.bytes) return {};
        return Error(ErrorCode::execution, "a result does not have the size that was planned")
            .found(toString(shape))
            .expected(toString(slot.shape));
    }
    if (device) device->written(slot); // its place may become another value's
    LS_CHECK_OK(slot.heap->reserve(bytes));
    slot.data = slot.heap->data();
    slot.bytes = bytes;
    if (slot.shape != shape) slot.shape = shape;
    return {};
}

} // namespace

/// Lists grow and shrink in each iteration: what is mostly asked for is at the beginning, and the rest elsewhere.
Status Interpreter::Impl::resize(Tensor& output, const Shape& shape, size_t bytes)
{
    auto& slot = static_cast<Slot&>(output); // every result of every instruction is a slot
    const auto isScalar = [](const Shape& of) { return of.rank() == 0 && of.hasRank(); };
    if (isScalar(shape) && isScalar(slot.shape)) {
        if (slot.fixed && bytes == slot.bytes) return {};
        if (!slot.fixed && !m_options.device && slot.heap->data() && bytes <= slot.heap->capacity()) {
            slot.data = slot.heap->data();
            slot.bytes = bytes;
            return {};
        }
    }
    return resizeAnew(slot, shape, bytes, m_options.device);
}

std::vector<AccessSite> Interpreter::Impl::accessSites() const
{
    std::vector<AccessSite> around;
    for (size_t f = m_frames.size(); f-- > 0;)
        around.push_back({m_frames[f].invocation, m_frames[f].activation->plan().graph, OperatorId(m_frames[f].next), OperatorId()});
    return around;
}

} // namespace loopscope
