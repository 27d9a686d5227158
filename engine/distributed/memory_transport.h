// Ranks that are threads of one process: messages in queues.
#pragma once

#include "engine/distributed/transport.h"

#include <memory>
#include <vector>

namespace loopscope {

/// One for each rank of a group of `size`; each is used by one thread.
std::vector<std::unique_ptr<Transport>> memoryTransports(int32_t size);

} // namespace loopscope
