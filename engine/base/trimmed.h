// Text without the blanks around it: what people type and files hold has them anywhere.
#pragma once

#include <string_view>

namespace loopscope {

inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n")
{
    const size_t begin = text.find_first_not_of(blanks);
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

} // namespace loopscope
