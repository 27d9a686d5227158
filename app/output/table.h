// Plain text tables: columns padded to their widest cell, numbers to the right.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

enum class Align : unsigned char { left, right, decimal };

/// Collects rows, then lays them out. Two blanks between columns; no trailing blanks.
class Table {
public:
    explicit Table(std::vector<std::string> heads) : m_heads(std::move(heads)), m_align(m_heads.size(), Align::left) {}

    void align(size_t column, Align how) { m_align[column] = how; }
    /// Cells are text without colour; what no cell may hold is written out (visibleText).
    void add(std::vector<std::string> row);
    size_t rowCount() const { return m_rows.size(); }
    /// With the header line, unless all heads are empty; each line ends in a newline.
    std::string text() const;

private:
    std::vector<std::string> m_heads;
    std::vector<Align> m_align;
    std::vector<std::vector<std::string>> m_rows;
};

/// Columns that a UTF-8 text takes, counting one for every code point.
size_t displayWidth(const std::string& text);

} // namespace loopscope::app
