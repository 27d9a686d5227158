// What kernels are given while they run: memory, variables and tables, random numbers, threads; and what is kept of which kernels they are.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/thread_pool.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/memory_block.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/resources.h"
#include "engine/kernels/selection.h"
#include "engine/tensor/device_host.h"

#include <cstddef>
#include <memory>

namespace loopscope {

/// A KernelRuntime without resize(): where results lie is the machine's business.
class KernelHost : public KernelRuntime, public DeviceHost {
public:
    /// `step`: of the operator that runs.
    KernelHost(const ExecutionOptions& options, const Step& step);
    ~KernelHost() override;
    KernelHost(const KernelHost&) = delete;
    KernelHost& operator=(const KernelHost&) = delete;

    MemoryAccount& account() { return m_account; }
    KernelReport& kernelReport() { return m_kernelReport; }
    const KernelReport& kernelReport() const { return m_kernelReport; }

    // KernelRuntime. Who asks for what outlives an operator is noted.
    std::byte* scratch(size_t bytes) override;
    ResourceStore& resources() override
    {
        m_lastingStep = m_now;
        return m_resources;
    }
    RandomState& random() override
    {
        m_lastingStep = m_now;
        return m_random;
    }
    int threads() const override { return m_threadCount; }
    void parallel(int64_t count, BlockFunction work) override;
    DeviceMemory* deviceMemory() override { return m_device; }

protected:
    MemoryAccount m_account;
    KernelReport m_kernelReport;
    ResourceStore m_resources;
    RandomState m_random;
    Step m_lastingStep{-1}; ///< of the operator that asked for resources or random numbers last

private:
    const Step& m_now;
    const int m_threadCount;
    DeviceMemory* const m_device;
    MemoryBlock m_scratch;
    std::unique_ptr<ThreadPool> m_threads; ///< made when a kernel first wants it
};

} // namespace loopscope
