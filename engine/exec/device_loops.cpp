// Loops whose graphs a device runs by itself: whole iterations, as long as nobody wants to hear of them or to stop among them. Steps,
// iterations and invocations are counted as if the host had run them.
#include "engine/exec/machine.h"

#include <cstring>

namespace loopscope {

namespace {

/// What handing a loop over costs is worth it from here on.
constexpr int64_t kFewestTrips = 2;

int64_t operatorsOf(const Activation& activation) { return std::ssize(activation.plan().operators); }

} // namespace

/// How many iterations may run without the host; 0: somebody listens, or there is a trap in them.
int64_t Interpreter::Impl::tripsForDevice(const CallFrame& frame) const
{
    const CallState& call = *frame.call;
    if (m_audience.ofOperators() || m_audience.ofIterations()) return 0;
    if (m_traps.has(call.cond->plan().graph) || m_traps.has(call.body->plan().graph)) return 0;
    const int64_t ofTrip = operatorsOf(*call.cond) + operatorsOf(*call.body);
    return ofTrip == 0 ? 0 : m_limits.stepsLeft(m_step) / ofTrip;
}

/// The innermost frame, if it is a loop's that stands before the cond of an iteration, goes on as far as the device may run it: to another
/// iteration, or out of the loop.
Status Interpreter::Impl::runOnDevice()
{
    CallFrame& frame = m_frames.back();
    if (!m_options.device || frame.role != CallRole::loop || !frame.inCond || frame.next != 0) return {};
    CallState& call = *frame.call;
    const Activation& caller = *m_frames[m_frames.size() - 2].activation;
    const PreparedKernel& kernel = caller.program().kernel(call.op.index);
    if (!kernel.run || call.late) return {};
    DeviceTrips run;
    run.mostTrips = tripsForDevice(frame);
    run.cancel = &m_cancel;
    if (run.mostTrips < kFewestTrips) return {};

    std::vector<const Tensor*> carried;
    for (size_t k = 0; k < call.exchange.size(); ++k) carried.push_back(&call.exchange.carried(k));
    const std::vector<Tensor*> results(call.results.begin(), call.results.end());
    const KernelArgs args{
        carried.data(), results.data(), kernel.params.get(), this, static_cast<int>(carried.size()), static_cast<int>(results.size())};
    m_loopRun = &run;
    Status status = kernel.run(args);
    m_loopRun = nullptr;
    LS_CHECK_OK(std::move(status));

    m_step += run.trips * (operatorsOf(*call.cond) + operatorsOf(*call.body)) + (run.isOver ? operatorsOf(*call.cond) : 0);
    frame.iteration += run.trips;
    m_nextInvocation += run.trips;
    if (run.trips > 0) frame.invocation = m_nextInvocation - 1;
    if (run.isOver) {
        completeCall(frame);
        return {};
    }
    frame.enteredAtStep = m_step;
    return takeCarriedValues(call, results);
}

/// The loop goes on with the values that lie where its results will: as initial values, read only, so that these places are free.
Status Interpreter::Impl::takeCarriedValues(CallState& call, std::span<Tensor* const> values)
{
    std::deque<MemoryBlock> blocks;
    std::deque<Tensor> tensors;
    std::vector<const Tensor*> initial;
    for (const Tensor* const value : values) {
        show(*value);
        MemoryBlock& block = blocks.emplace_back(m_account);
        LS_CHECK_OK(block.reserve(value->bytes));
        if (value->bytes > 0) std::memcpy(block.data(), value->data, value->bytes);
        Tensor& tensor = tensors.emplace_back(*value);
        tensor.data = block.data();
        initial.push_back(&tensor);
    }
    LS_CHECK_OK(m_options.device->check());
    std::byte* const block = m_frames[m_frames.size() - 2].activation->base() + call.planned->offset;
    LS_CHECK_OK(call.exchange.begin(call.planned->loop, *call.cond, *call.body, initial, call.results, block));
    call.restored.swap(blocks);
    return {};
}

} // namespace loopscope
