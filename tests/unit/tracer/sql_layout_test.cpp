#include "tracer/api/recipes.h"
#include "tracer/api/sql_layout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

namespace loopscope {
namespace {

/// With each run of white space as one blank, and none inside of brackets.
std::string words(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        const bool isBlank = c == ' ' || c == '\n';
        if (!isBlank) out += c;
        else if (!out.empty() && out.back() != ' ' && out.back() != '(') out += ' ';
    }
    return out;
}

TEST(SqlLayout, whatFitsStaysAsItIs) { EXPECT_EQ(laidOutSql("SELECT a FROM t WHERE b = 1"), "SELECT a FROM t WHERE b = 1"); }

TEST(SqlLayout, clausesFillLinesAndSubqueriesAreIndented)
{
    EXPECT_EQ(
        laidOutSql("SELECT iteration, mean FROM (SELECT iteration, mean, lag(mean) OVER (ORDER BY event) AS before FROM writes WHERE run = "
                   ":run AND slot = 0) WHERE before IS NOT NULL ORDER BY mean DESC LIMIT 1"),
        "SELECT iteration, mean FROM (\n"
        "  SELECT iteration, mean, lag(mean) OVER (ORDER BY event) AS before\n"
        "  FROM writes WHERE run = :run AND slot = 0)\n"
        "WHERE before IS NOT NULL ORDER BY mean DESC LIMIT 1");
}

TEST(SqlLayout, longClausesBreakAtCommasAndConditions)
{
    EXPECT_EQ(laidOutSql("SELECT one, two, three, four FROM t WHERE a = 'FROM, AND' AND b = (SELECT 1 FROM u)", 24),
              "SELECT one, two, three,\n"
              "  four\n"
              "FROM t\n"
              "WHERE a = 'FROM, AND'\n"
              "  AND b = (SELECT 1 FROM u)");
}

TEST(SqlLayout, recipesKeepTheirWords)
{
    for (const Recipe& recipe : traceRecipes()) {
        const std::string text = laidOutSql(recipe.sql);
        EXPECT_EQ(words(text), words(std::string(recipe.sql))) << recipe.name;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << recipe.name << ": " << line;
    }
}

TEST(SqlLayout, brokenTextIsNoTrouble)
{
    EXPECT_EQ(laidOutSql("SELECT 'never ended AND ((( FROM", 8), "SELECT 'never ended AND ((( FROM");
    EXPECT_EQ(laidOutSql(")))) FROM t", 4), "))))\nFROM t");
}

} // namespace
} // namespace loopscope
