#include "converters/tflite/file_view.h"

#include <charconv>

namespace loopscope::tflite_format {

std::string hexNumber(uint64_t value)
{
    char digits[16];
    return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
}

Error FileView::fault(const void* inside, std::string what, const char* file, int line) const
{
    Error error(ErrorCode::badFile, std::move(what), file, line);
    error.at("at " + hexNumber(offsetOf(inside)));
    return error;
}

Status FileView::spend(const void* inside, uint64_t bytes)
{
    if (bytes > m_budget)
        return fault(inside, "the same parts of the file are used too often").expected("at most 16 times the file's size to be read");
    m_budget -= bytes;
    return {};
}

} // namespace loopscope::tflite_format
