#include "tracer/schema/schema.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace loopscope {
namespace {

TEST(SchemaPage, isCurrent)
{
    const char* kPath = "docs/trace_schema.md";
    if (std::getenv("LOOPSCOPE_UPDATE") != nullptr) std::ofstream(kPath) << traceSchemaPage();
    std::ifstream file(kPath);
    std::ostringstream committed;
    committed << file.rdbuf();
    EXPECT_EQ(committed.str(), traceSchemaPage()) << "run with LOOPSCOPE_UPDATE=1 and commit the page";
}

TEST(Recipes, haveNamesOfTheirOwn)
{
    std::set<std::string_view> names;
    for (const Recipe& recipe : traceRecipes()) {
        names.insert(recipe.name);
        EXPECT_EQ(recipe.question.back(), '?') << recipe.name;
    }
    EXPECT_EQ(names.size(), traceRecipes().size());
    EXPECT_EQ(findRecipe("first-nan")->name, "first-nan");
    EXPECT_EQ(findRecipe("first-na"), nullptr);
}

TEST(Recipes, declareExactlyTheParametersTheyUse)
{
    for (const Recipe& recipe : traceRecipes()) {
        std::set<std::string> used, declared;
        const auto isQuoted = [&](size_t at) {
            return std::count(recipe.sql.begin(), recipe.sql.begin() + static_cast<int64_t>(at), '\'') % 2 != 0;
        };
        for (size_t at = recipe.sql.find(':'); at != std::string_view::npos; at = recipe.sql.find(':', at + 1)) {
            const size_t end = recipe.sql.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 1);
            if (!isQuoted(at))
                used.insert(std::string(recipe.sql.substr(at + 1, (end == std::string_view::npos ? recipe.sql.size() : end) - at - 1)));
        }
        for (const RecipeParameter& parameter : recipe.parameterList()) declared.insert(std::string(parameter.name));
        EXPECT_EQ(used, declared) << recipe.name;
    }
}

TEST(Schema, everyTableNamesItsKey)
{
    for (const TraceTable& table : traceTables()) {
        std::set<std::string_view> columns;
        for (const TraceColumn& column : table.columns) EXPECT_TRUE(columns.insert(column.name).second) << table.name << "." << column.name;
        std::istringstream keys(table.key);
        for (std::string key; std::getline(keys, key, ',');) {
            if (key.front() == ' ') key.erase(0, 1);
            EXPECT_TRUE(columns.contains(key)) << table.name << " has no column " << key;
        }
    }
}

} // namespace
} // namespace loopscope
