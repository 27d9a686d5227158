// Walks the project's own source files for the rule tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace loopscope {

/// Paths relative to the top of the tree (the tests' working directory), sorted, with '/' separators.
inline std::vector<std::string> sourceFiles(const std::vector<std::string>& folders, const std::vector<std::string>& extensions)
{
    std::vector<std::string> files;
    for (const std::string& folder : folders) {
        if (!std::filesystem::exists(folder)) continue;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            const std::string extension = entry.path().extension().string();
            for (const std::string& wanted : extensions)
                if (entry.is_regular_file() && extension == wanted) files.push_back(entry.path().generic_string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

inline std::string readText(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

inline std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

} // namespace loopscope
