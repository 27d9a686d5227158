// Variables whose first value could not be read: their checkpoint is damaged, or of another model. The graph opens, and only what reads
// them fails.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Attribute of a variable's node in the place of `@value`: why there is none, in one line.
inline constexpr std::string_view kLostValue = "@lost";

/// "variables 'a', 'b' and 3 others have no value: …": a line for each reason, and of many a line that counts the rest.
std::vector<std::string> lostValueLines(const Model& model);
/// The error, with the reason where a variable was read that lost its value.
Error withLostValue(Error error, const Model& model);

} // namespace loopscope
