#include "engine/base/result.h"

#include "engine/base/visible_text.h"

#include <stdexcept>

namespace loopscope {

Error::Error(ErrorCode code, std::string what, const char* file, int line) : m_detail(std::make_unique<ErrorDetail>())
{
    m_detail->code = code;
    m_detail->what = std::move(what);
    m_detail->sourceFile = file;
    m_detail->sourceLine = line;
}

Error& Error::at(std::string_view place) &
{
    std::string joined(place);
    if (!m_detail->where.empty()) joined += ": " + m_detail->where;
    m_detail->where = std::move(joined);
    return *this;
}

Error&& Error::at(std::string_view place) &&
{
    this->at(place);
    return std::move(*this);
}

Error&& Error::found(std::string text) &&
{
    m_detail->found = std::move(text);
    return std::move(*this);
}

Error&& Error::expected(std::string text) &&
{
    m_detail->expected = std::move(text);
    return std::move(*this);
}

Error&& Error::nearest(std::vector<std::string> names) &&
{
    m_detail->nearest = std::move(names);
    return std::move(*this);
}

Error&& Error::note(std::string text) &&
{
    m_detail->notes.push_back(std::move(text));
    return std::move(*this);
}

std::string Error::message() const
{
    std::string text;
    if (!m_detail->where.empty()) text += m_detail->where + ": ";
    text += m_detail->what;
    if (!m_detail->found.empty()) text += ", found " + m_detail->found;
    if (!m_detail->expected.empty()) text += ", expected " + m_detail->expected;
    if (!m_detail->nearest.empty()) {
        text += "; did you mean ";
        for (size_t i = 0; i < m_detail->nearest.size(); ++i) text += (i == 0 ? "'" : " or '") + m_detail->nearest[i] + "'";
        text += "?";
    }
    // What files call things cannot break a message's line.
    return visibleText(text, LineBreaks::escaped);
}

Error Error::copy() const { return Error(std::make_unique<ErrorDetail>(*m_detail)); }

void detail::wrongSideOfResult() { throw std::logic_error("the value of an error was asked for, or the error of a value"); }

} // namespace loopscope
