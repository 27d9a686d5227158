// The moments at which somebody besides kernels looks at what a run has computed, or changes it. A backend whose work is queued on a device
// finishes it there and brings to the host what is looked at; between them it may run ahead.
#pragma once

#include <cstdint>

namespace loopscope {

enum class SyncPoint : uint8_t {
    event,    ///< an observer or a trap is shown an operator with its operands and results
    value,    ///< somebody asks for a value of a frame or an output
    snapshot, ///< the state of the machine is copied
    restore,  ///< it is replaced
};

/// Told of every synchronisation point, on the executor's thread, before anybody looks.
class Synchroniser {
public:
    virtual ~Synchroniser() = default;
    virtual void reach(SyncPoint point) = 0;
};

} // namespace loopscope
