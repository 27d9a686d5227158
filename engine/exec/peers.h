// Executors elsewhere that run the other parts of a graph that is cut between devices: where Sends send what is received there, and where
// Recvs get what is sent there (docs/distributed.md).
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace loopscope {

/// A value that has come from another part.
struct Arrival {
    int32_t channel = -1;
    std::vector<int64_t> iterations; ///< of the frames it belongs to, from the outside inwards
    bool isDead = false;
    Tensor value; ///< valid until the next question
};

/// Of one executor, on its thread.
class Peers {
public:
    virtual ~Peers() = default;
    /// The number of what a Send and a Recv hand over, the same in all parts; −1: both stand in this part.
    virtual int32_t channel(std::string_view sendDevice, std::string_view recvDevice, std::string_view tensorName) const = 0;
    /// `value` null: it is dead.
    virtual Status send(int32_t channel, std::span<const int64_t> iterations, const Tensor* value) = 0;
    /// What has come. With `waits` it waits for something; false: nothing has, or ever will. Errors: execution, if another part failed or
    /// is lost.
    virtual Result<bool> receive(Arrival& arrival, bool waits) = 0;
};

} // namespace loopscope
