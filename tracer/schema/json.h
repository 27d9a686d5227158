// The little JSON that traces hold: attributes of operators and lists of origins, written with sorted keys.
#pragma once

#include "engine/ir/attribute.h"

#include <span>
#include <string>
#include <string_view>

namespace loopscope {

/// A number as JSON has it; NaN and infinities as the strings "nan", "inf", "-inf". Shortest form that reads back the same.
std::string jsonNumber(double value);
/// An object, in the order of the list (sorted by key).
std::string attributesJson(const AttributeList& attributes);
std::string jsonList(std::span<const std::string> texts);

} // namespace loopscope
