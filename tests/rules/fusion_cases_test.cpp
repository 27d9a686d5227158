// Each worked case of fusion has its tests: docs/fusion_cases.md names them all, and they are there.
#include "tests/rules/fusion_tests.h"

#include <gtest/gtest.h>
#include <re2/re2.h>
#include <set>

namespace loopscope {
namespace {

constexpr int kCases = 98;

TEST(FusionCases, eachHasATest)
{
    const std::set<std::string> tests = testsOfFusion("c[0-9]+[A-Za-z0-9_]*");
    static const RE2 row("\\| ([0-9]+) \\| .* \\| (.*) \\|"), part("([a-z_]+): ([^;]*)"), name("`(c0*([0-9]+)[A-Za-z0-9_]*)`");
    std::set<std::string> named;
    int last = 0;
    for (const std::string& line : linesOf(readText("docs/fusion_cases.md"))) {
        int number = 0, count = 0;
        std::string cell;
        if (!RE2::FullMatch(line, row, &number, &cell)) continue;
        EXPECT_EQ(number, ++last);
        re2::StringPiece files(cell);
        for (std::string file, list; RE2::FindAndConsume(&files, part, &file, &list);) {
            re2::StringPiece rest(list);
            int own = 0;
            for (std::string found; RE2::FindAndConsume(&rest, name, &found, &own); ++count) {
                EXPECT_EQ(own, number) << found;
                EXPECT_TRUE(tests.contains(file + ": " + found)) << file << " has no test " << found;
                named.insert(file + ": " + found);
            }
        }
        EXPECT_GT(count, 0) << "case " << number << " has no test";
    }
    EXPECT_EQ(last, kCases);
    for (const std::string& test : tests) EXPECT_TRUE(named.contains(test)) << test << " is not in docs/fusion_cases.md";
}

} // namespace
} // namespace loopscope
