#include "app/wiring/memory_option.h"

#include "app/wiring/recording.h"
#include "engine/base/memory_budget.h"
#include "engine/base/swapped_bytes.h"

#include <cstdlib>

namespace loopscope::app {

Status applyMemory(const Arguments& arguments)
{
    if (!arguments.has("memory")) return {};
    Result<uint64_t> limit = parseSize(arguments.text("memory"));
    if (!limit.ok()) return std::move(limit).takeError().at("option '--memory'");
    setMemoryLimit(*limit);
    const char* const folder = std::getenv("TMPDIR");
    setSwapping(*limit / 2, folder && *folder ? folder : "/var/tmp"); // where /tmp is memory, nothing would be won
    return {};
}

} // namespace loopscope::app
