#include "engine/base/cpu_level.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>

namespace loopscope {

namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512", "avx512vnni"};

CpuLevel machineLevel()
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) return CpuLevel::baseline;
    if (__builtin_cpu_supports("avx512f") == 0 || __builtin_cpu_supports("avx512bw") == 0 || __builtin_cpu_supports("avx512vl") == 0)
        return CpuLevel::avx2;
    return __builtin_cpu_supports("avx512vnni") == 0 ? CpuLevel::avx512 : CpuLevel::avx512vnni;
#else
    return CpuLevel::baseline;
#endif
}

CpuLevel cappedLevel()
{
    const CpuLevel machine = machineLevel();
    const char* const wanted = std::getenv(kCpuLevelVariable);
    return wanted ? std::min(machine, cpuLevelFromName(wanted).value_or(machine)) : machine;
}

} // namespace

std::string_view cpuLevelName(CpuLevel level) { return kNames[static_cast<size_t>(level)]; }

std::optional<CpuLevel> cpuLevelFromName(std::string_view name)
{
    const auto* const found = std::ranges::find(kNames, name);
    if (found == std::end(kNames)) return std::nullopt;
    return static_cast<CpuLevel>(found - std::begin(kNames));
}

CpuLevel cpuLevel()
{
    static const CpuLevel level = cappedLevel();
    return level;
}

} // namespace loopscope
