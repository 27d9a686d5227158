// Which vector instructions kernels may use: what the machine has, or less where a test asks for what lesser machines run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace loopscope {

/// Each has what those before it have.
enum class CpuLevel : uint8_t {
    baseline,  ///< what every machine of the architecture has
    avx2,      ///< with fused multiply-adds
    avx512,    ///< F, BW, VL
    avx512vnni ///< and products of pairs of integers
};
std::string_view cpuLevelName(CpuLevel level);
std::optional<CpuLevel> cpuLevelFromName(std::string_view name);

/// The environment variable that caps the level; what it says is none if it is no level's name.
inline constexpr const char* kCpuLevelVariable = "LOOPSCOPE_CPU";
/// What the machine has, capped. Stays the same while the program runs; may be asked before main(). Loops that the compiler made for
/// several machines (vectorised.h) go by the machine alone: they compute the same in every form.
CpuLevel cpuLevel();
inline bool cpuHas(CpuLevel level) { return cpuLevel() >= level; }

} // namespace loopscope
