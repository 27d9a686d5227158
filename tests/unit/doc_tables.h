// Reads examples out of the project's own pages, so that the pages cannot become wrong unnoticed. Tests run from the top of the tree.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace loopscope {

inline std::vector<std::string> linesOfFile(const std::string& path)
{
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// Fenced blocks that begin with ```LANGUAGE.
inline std::vector<std::string> fencedBlocks(const std::string& path, const std::string& language)
{
    std::vector<std::string> blocks;
    bool inside = false;
    for (const std::string& line : linesOfFile(path)) {
        if (inside && line == "```") inside = false;
        else if (inside) blocks.back() += line + "\n";
        else if (line == "```" + language) {
            inside = true;
            blocks.emplace_back();
        }
    }
    return blocks;
}

/// Rows of the first table below the heading `## TITLE`; each cell without its blanks, and without backquotes if it is one code word.
inline std::vector<std::vector<std::string>> tableBelow(const std::string& path, const std::string& title)
{
    std::vector<std::vector<std::string>> rows;
    bool found = false;
    for (const std::string& line : linesOfFile(path)) {
        if (line == "## " + title) {
            found = true;
            continue;
        }
        if (!found) continue;
        if (line.starts_with("## ") || (line.empty() && !rows.empty())) break;
        if (!line.starts_with("| ")) continue;
        std::vector<std::string> cells;
        for (size_t at = 1; at < line.size();) {
            const size_t bar = line.find('|', at);
            if (bar == std::string::npos) break;
            std::string cell = line.substr(at, bar - at);
            cell = cell.substr(cell.find_first_not_of(' '), cell.find_last_not_of(' ') - cell.find_first_not_of(' ') + 1);
            if (cell.size() > 2 && cell.front() == '`' && cell.back() == '`') cell = cell.substr(1, cell.size() - 2);
            cells.push_back(cell);
            at = bar + 1;
        }
        rows.push_back(cells);
    }
    if (!rows.empty()) rows.erase(rows.begin()); // the table's head
    return rows;
}

} // namespace loopscope
