// The files of a corpus, one after the other, with a check that says what is wrong with one.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace loopscope::testing {

/// Checks every regular file below the folders (none given: $LOOPSCOPE_CORPUS or ../shared/corpus) that `wanted(path)` picks; `check(path)`
/// says what is wrong with it, empty: nothing. Exit codes: 0, 1 (failures, each named on stdout, or no file), 77 (no corpus).
template <typename Wanted, typename Check> int checkCorpus(std::vector<std::string> folders, const char* noun, Wanted wanted, Check check)
{
    if (folders.empty()) {
        const char* set = std::getenv("LOOPSCOPE_CORPUS");
        folders.emplace_back(set ? set : "../shared/corpus");
        if (!std::filesystem::is_directory(folders.front())) {
            std::printf("skipped: no corpus at %s\n", folders.front().c_str());
            return 77;
        }
    }
    std::vector<std::string> paths;
    for (const std::string& folder : folders)
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.is_regular_file() && wanted(entry.path())) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    int failures = 0;
    for (const std::string& path : paths) {
        const std::string problem = check(path);
        if (problem.empty()) continue;
        ++failures;
        std::printf("%s: %s\n", path.c_str(), problem.c_str());
    }
    std::printf("%zu %s, %d failures\n", paths.size(), noun, failures);
    return failures == 0 && !paths.empty() ? 0 : 1;
}

} // namespace loopscope::testing
