// What a run is asked to be: kernels, budgets, seeds, threads. The same for every executor.
#pragma once

#include "engine/base/cancel.h"
#include "engine/exec/memory_block.h"
#include "engine/exec/sync_point.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/device_memory.h"

#include <cstdint>
#include <string>

namespace loopscope {

class KernelRegistry;
class Peers;
class RemoteKernels;

struct ExecutionOptions {
    Profile profile = Profile::reference;
    std::string signature;            ///< name under which the root graph is run, for listeners; empty: none
    int64_t maxSteps = 1'000'000'000; ///< per run
    int32_t maxDepth = 256;           ///< nested invocations
    uint64_t seed = 1;                ///< of random operators
    int32_t threads = 1;              ///< never changes results
    uint64_t scheduleSeed = 0;        ///< DataflowExecutor: picks among ready nodes; 0: the documented order
    bool keepAll = false; ///< keep values that are no longer needed until their frame is left, for inspection; takes more memory
    const CancelFlag* cancel = nullptr;
    BlockAllocator* allocator = nullptr;     ///< of all memory for values; null: the host's heap
    Synchroniser* synchroniser = nullptr;    ///< null: nothing runs behind the executor's back
    DeviceMemory* device = nullptr;          ///< of the kernels of a device's profile; null: all values are on the host
    const KernelRegistry* kernels = nullptr; ///< null: those that are built in
    Peers* peers = nullptr;                  ///< DataflowExecutor: who runs the other parts of a graph that is cut; null: nobody
    RemoteKernels* remote = nullptr;         ///< DataflowExecutor: kernels that run on other ranks; null: all run here
    const Operator* only = nullptr;          ///< the operator of the model that has kernels of `profile`, alone; null: all have

    Profile profileOf(const Operator& op) const { return only == nullptr || only == &op ? profile : Profile::reference; }
};

} // namespace loopscope
