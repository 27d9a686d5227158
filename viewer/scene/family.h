// The nine families that operators are coloured by (docs/desktop.md, "Operator families"). A colour never stands alone: the name of the
// operator is beside it, and legends and tooltips say the family in words.
#pragma once

#include "engine/ops/op_traits.h"

#include <array>
#include <string_view>

namespace loopscope::viewer {

using Family = OpFamily;
inline constexpr size_t kFamilyCount = kOpFamilyCount;

inline std::string_view familyName(Family family) { return opFamilyName(family); } ///< "control flow"
/// What the catalogue says; of TensorFlow's operators that it lacks, what their names suggest. Unknown and custom kinds are `other`.
Family familyOf(const Kind& kind);

} // namespace loopscope::viewer
