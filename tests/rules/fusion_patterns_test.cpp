// Each pattern that other converters fuse has its rule, or a reason why not, and its tests: docs/fusion_patterns.md names them, and they
// are there.
#include "tests/rules/fusion_tests.h"

#include <gtest/gtest.h>
#include <re2/re2.h>
#include <set>

namespace loopscope {
namespace {

constexpr int kPatterns = 142;

/// Every rule that a cell names stands in its file; how many there are.
int checkRules(const std::string& cell, const std::string& pattern)
{
    static const RE2 group("((?:`[a-z0-9-]+`(?:, )?)+) \\(([a-z_]+\\.cpp)\\)"), name("`([a-z0-9-]+)`");
    int count = 0;
    re2::StringPiece groups(cell);
    for (std::string names, file; RE2::FindAndConsume(&groups, group, &names, &file);) {
        const std::string source = readText("converters/fuse/" + file);
        re2::StringPiece rest(names);
        for (std::string found; RE2::FindAndConsume(&rest, name, &found); ++count) {
            const bool isThere = file == "composites.cpp" ? found == "composites" : source.find('"' + found + '"') != std::string::npos;
            EXPECT_TRUE(isThere) << pattern << ": " << file << " has no rule " << found;
        }
    }
    return count;
}

TEST(FusionPatterns, eachHasARuleOrAReasonAndATest)
{
    const std::set<std::string> tests = testsOfFusion("[a-zA-Z0-9_]+");
    static const RE2 row("\\| (.*) \\| (.*) \\| (.*) \\|"), part("([a-z_]+): ([^;]*)"), name("`([A-Za-z0-9_]+)`");
    int patterns = 0;
    for (const std::string& line : linesOf(readText("docs/fusion_patterns.md"))) {
        std::string pattern, rules, cell;
        if (!RE2::FullMatch(line, row, &pattern, &rules, &cell) || pattern == "pattern") continue;
        ++patterns;
        const int known = checkRules(rules, pattern);
        EXPECT_TRUE(known > 0 || rules.starts_with("refused, because ")) << pattern << ": neither a rule nor a reason";
        int count = 0;
        re2::StringPiece files(cell);
        for (std::string file, list; RE2::FindAndConsume(&files, part, &file, &list);) {
            re2::StringPiece rest(list);
            for (std::string found; RE2::FindAndConsume(&rest, name, &found); ++count)
                EXPECT_TRUE(tests.contains(file + ": " + found)) << pattern << ": " << file << " has no test " << found;
        }
        EXPECT_GT(count, 0) << pattern << " has no test";
    }
    EXPECT_EQ(patterns, kPatterns);
}

} // namespace
} // namespace loopscope
