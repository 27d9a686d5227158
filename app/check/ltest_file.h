// Text tests (.ltest): how a file is cut into cases and sections. docs/text_tests.md describes the language.
#pragma once

#include "engine/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// `== run profile=all`, and the lines up to the next `==`.
struct LtestSection {
    std::string name;                   ///< "run"
    std::vector<std::string> words;     ///< what follows the name: "profile=all"
    std::vector<std::string> lines;     ///< comments and trailing empty lines left out
    size_t line = 0;                    ///< of the `==`, from 1
    size_t firstBody = 0, lastBody = 0; ///< lines that hold the body, from 1, both inclusive; last < first: empty

    bool hasWord(std::string_view word) const;
    /// The value of KEY=VALUE, or `otherwise`.
    std::string value(std::string_view key, std::string_view otherwise = "") const;
    std::string text() const; ///< the lines with line ends
};

struct LtestCase {
    std::string name;
    size_t line = 0;
    bool slow = false;
    std::string requirement; ///< "vulkan"; empty: none
    std::vector<LtestSection> sections;
};

struct LtestFile {
    std::string path;
    std::vector<std::string> lines;
    std::vector<LtestCase> cases;
};

/// Errors: badFile, "PATH:LINE: …" (unknown section, text before the first case, a name given twice).
Result<LtestFile> parseLtest(const std::string& path, std::string_view text);
Result<LtestFile> readLtest(const std::string& path);

/// Compares a reply with the lines that a test expects: trailing blanks ignored, runs of blanks equal, `...`, `{{regex}}`, `{{N:regex}}`.
/// Empty if it matches, else one line that says where they part.
std::string matchReply(const std::vector<std::string>& expected, const std::vector<std::string>& actual);
/// True if `pattern`, by the same rules, occurs somewhere in `text`.
bool occursIn(const std::string& pattern, const std::string& text);

std::vector<std::string> splitLines(std::string_view text);

} // namespace loopscope::app
