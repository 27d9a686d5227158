#include "engine/base/memory_budget.h"

#include "engine/base/text.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <unistd.h>

namespace loopscope {

namespace {

constexpr uint64_t kLeast = uint64_t{256} << 20; ///< of the default: a machine without free memory must still open a model

std::atomic<uint64_t> chosenLimit = 0;

/// A number of a file of the system; 0 if there is none ("max").
uint64_t numberIn(const char* path)
{
    std::ifstream file(path);
    uint64_t number = 0;
    return file >> number ? number : 0;
}

uint64_t freeBytes()
{
    uint64_t available = 0;
    std::ifstream file("/proc/meminfo");
    for (std::string key, unit; file >> key >> available;) {
        if (key == "MemAvailable:") break;
        std::getline(file, unit);
        available = 0;
    }
    available *= 1024;
    // A container may have less.
    if (const uint64_t most = numberIn("/sys/fs/cgroup/memory.max"); most > 0) {
        const uint64_t left = most - std::min(most, numberIn("/sys/fs/cgroup/memory.current"));
        available = available == 0 ? left : std::min(available, left);
    }
    return available == 0 ? uint64_t{4} << 30 : available;
}

uint64_t defaultLimit()
{
    static const uint64_t limit = std::max(kLeast, memoryInUse() + freeBytes() / 2);
    return limit;
}

} // namespace

void setMemoryLimit(uint64_t bytes) { chosenLimit.store(bytes); }

uint64_t memoryLimit()
{
    const uint64_t chosen = chosenLimit.load();
    return chosen > 0 ? chosen : defaultLimit();
}

uint64_t memoryInUse()
{
    std::ifstream file("/proc/self/statm");
    uint64_t total = 0, resident = 0, shared = 0;
    if (!(file >> total >> resident >> shared)) return 0;
    return (resident - std::min(resident, shared)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Status checkMemory(uint64_t more, std::string_view what)
{
    const uint64_t limit = memoryLimit(), used = memoryInUse();
    if (more <= limit - std::min(limit, used)) return {};
    return Error(ErrorCode::execution, "needs more memory than the limit of " + formatBytes(limit) + " leaves (--memory)")
        .at(what)
        .found(formatBytes(more))
        .expected("at most " + formatBytes(limit - std::min(limit, used)));
}

Status MemoryMeter::ask()
{
    const uint64_t more = std::exchange(m_unasked, 0);
    return checkMemory(more, m_what);
}

} // namespace loopscope
