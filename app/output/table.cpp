#include "app/output/table.h"

#include "engine/base/visible_text.h"

#include <algorithm>

namespace loopscope::app {

size_t displayWidth(const std::string& text)
{
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void Table::add(std::vector<std::string> row)
{
    for (std::string& cell : row)
        if (!isVisible(cell, LineBreaks::escaped)) cell = visibleText(cell, LineBreaks::escaped);
    m_rows.push_back(std::move(row));
}

std::string Table::text() const
{
    const size_t columns = m_heads.size();
    // Digits behind the decimal point, per column: cells with fewer are padded on the right, so that points stand under each other.
    const auto tail = [](const std::string& cell) {
        const size_t point = cell.find('.');
        return point == std::string::npos ? size_t{0} : cell.size() - point;
    };
    std::vector<size_t> tails(columns, 0), widths(columns, 0);
    for (const auto& row : m_rows)
        for (size_t c = 0; c < columns && c < row.size(); ++c)
            if (m_align[c] == Align::decimal) tails[c] = std::max(tails[c], tail(row[c]));
    const auto padded = [&](const std::string& cell, size_t c) {
        return m_align[c] == Align::decimal ? cell + std::string(tails[c] - tail(cell), ' ') : cell;
    };
    for (size_t c = 0; c < columns; ++c) {
        widths[c] = displayWidth(m_heads[c]);
        for (const auto& row : m_rows)
            if (c < row.size()) widths[c] = std::max(widths[c], displayWidth(padded(row[c], c)));
    }
    std::string out;
    const auto emit = [&](const std::vector<std::string>& row, bool head) {
        std::string line;
        for (size_t c = 0; c < columns; ++c) {
            const std::string cell = c < row.size() ? (head ? row[c] : padded(row[c], c)) : "";
            const std::string blanks(widths[c] - displayWidth(cell), ' ');
            if (c > 0) line += "  ";
            line += m_align[c] == Align::left ? cell + blanks : blanks + cell;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    };
    if (std::any_of(m_heads.begin(), m_heads.end(), [](const std::string& h) { return !h.empty(); })) emit(m_heads, true);
    for (const auto& row : m_rows) emit(row, false);
    return out;
}

} // namespace loopscope::app
