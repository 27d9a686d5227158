// The nine families that operators are coloured by (docs/desktop.md, "Operator families"). A colour never stands alone: the name of the
// operator is beside it, and legends and tooltips say the family in words.
#pragma once

#include "engine/ir/model.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace loopscope::viewer {

enum class Family : uint8_t { matrix, arithmetic, activation, reduction, movement, controlFlow, conversion, state, other };
inline constexpr size_t kFamilyCount = 9;

std::string_view familyName(Family family); ///< "control flow"
/// Unknown and custom kinds are `other`.
Family familyOf(const Kind& kind);

} // namespace loopscope::viewer
