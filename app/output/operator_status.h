// What is built for each operator: opens, infers shapes, runs in which profile. The command `ops` and docs/op_status.md both show it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

struct OperatorStatus {
    std::string name, dialect;
    std::string summary;
    bool shape = false;                                                    ///< shape inference (calls infer through what they call)
    bool reference = false, fast = false, xnnpack = false, vulkan = false; ///< executed in that profile; calls by the interpreter itself
    bool call = false;
    std::string dtypes; ///< of the reference kernel
    std::string floatBound;
    std::string source, differs; ///< where its rules come from; known deliberate differences to it
};

/// All operators of the catalogue, by name. Operators outside it open, list and export too.
std::vector<OperatorStatus> operatorStatus();
/// The page docs/op_status.md.
std::string operatorStatusMarkdown(const std::vector<OperatorStatus>& rows);

/// `*` stands for any run of characters.
bool matchesWildcard(std::string_view pattern, std::string_view text);

} // namespace loopscope::app
