#include "engine/exec/kernel_host.h"

#include "engine/base/interruption.h"
#include "engine/base/memory_shares.h"

#include <algorithm>
#include <new>

namespace loopscope {

KernelHost::KernelHost(const ExecutionOptions& options, const Step& step)
    : m_account{0, MemoryAccount::machineLimit(), options.allocator ? options.allocator : &hostAllocator()},
      m_random(options.seed),
      m_now(step),
      m_threadCount(std::max(options.threads, 1)),
      m_device(options.device),
      m_scratch(m_account)
{
}

KernelHost::~KernelHost() { MemoryShares::all().scratch -= static_cast<int64_t>(m_scratch.capacity()); }

std::byte* KernelHost::scratch(size_t bytes)
{
    // A kernel cannot be refused its scratch memory in any other way; the run core makes an error of it.
    const uint64_t before = m_scratch.capacity();
    if (!m_scratch.reserve(bytes).ok()) throw std::bad_alloc();
    if (m_scratch.capacity() != before) MemoryShares::all().scratch += static_cast<int64_t>(m_scratch.capacity() - before);
    return m_scratch.data();
}

void KernelHost::parallel(int64_t count, BlockFunction work)
{
    if (!m_threads) m_threads = std::make_unique<ThreadPool>(m_threadCount);
    const InterruptionScope heedsNothing(nullptr); // other threads work on the same: the caller looks between two pieces of work
    m_threads->run(count, work);
}

} // namespace loopscope
