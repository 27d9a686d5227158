// What kernels are given while they run: memory, variables and tables, random numbers, threads; and what is kept of which kernels they are.
#pragma once

#include "engine/base/thread_pool.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/memory_block.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/resources.h"
#include "engine/kernels/selection.h"

#include <cstddef>
#include <memory>

namespace loopscope {

/// A KernelRuntime without resize(): where results lie is the machine's business.
class KernelHost : public KernelRuntime {
public:
    explicit KernelHost(const ExecutionOptions& options);
    ~KernelHost() override;
    KernelHost(const KernelHost&) = delete;
    KernelHost& operator=(const KernelHost&) = delete;

    MemoryAccount& account() { return m_account; }
    KernelReport& kernelReport() { return m_kernelReport; }
    const KernelReport& kernelReport() const { return m_kernelReport; }

    // KernelRuntime
    std::byte* scratch(size_t bytes) override;
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }
    int threads() const override { return m_threadCount; }
    void parallel(int64_t count, BlockFunction work) override;

protected:
    MemoryAccount m_account;
    KernelReport m_kernelReport;
    ResourceStore m_resources;
    RandomState m_random;

private:
    const int m_threadCount;
    MemoryBlock m_scratch;
    std::unique_ptr<ThreadPool> m_threads; ///< made when a kernel first wants it
};

} // namespace loopscope
