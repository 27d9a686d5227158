// The text tests of fusion, for the pages that name them.
#pragma once

#include "tests/rules/source_files.h"

#include <re2/re2.h>
#include <set>
#include <string>

namespace loopscope {

/// `file: name` of those whose whole name `pattern` matches.
inline std::set<std::string> testsOfFusion(const std::string& pattern)
{
    const RE2 test("(?m)^== test (" + pattern + ")$");
    std::set<std::string> tests;
    for (const std::string& file : sourceFiles({"tests/fusion"}, {".ltest"})) {
        const std::string text = readText(file), name = file.substr(file.rfind('/') + 1);
        re2::StringPiece rest(text);
        for (std::string found; RE2::FindAndConsume(&rest, test, &found);) tests.insert(name.substr(0, name.rfind('.')) + ": " + found);
    }
    return tests;
}

} // namespace loopscope
