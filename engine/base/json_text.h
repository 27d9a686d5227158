// Text as a string of JSON.
#pragma once

#include <string>
#include <string_view>

namespace loopscope {

/// With quotes; quotes, backslashes and what a terminal would obey are escaped, bytes that are no UTF-8 replaced.
std::string jsonQuoted(std::string_view text);

} // namespace loopscope
