// The recipes: questions to a trace with a name, a sentence and SQL.
#pragma once

#include <span>
#include <string_view>

namespace loopscope {

struct Recipe {
    std::string_view name;       ///< "first-nan"
    std::string_view question;   ///< one sentence
    std::string_view parameters; ///< names separated by blanks, `name=N` with a default: "run op slot=0"
    std::string_view sql;
    std::string_view topic() const; ///< "Control flow", "Values", "Time", "Compare" or "Recording"
};
/// In the order in which lists show them.
std::span<const std::string_view> recipeTopics();

/// All of them, in the order of the documentation.
std::span<const Recipe> traceRecipes();
/// Null if there is none of that name.
const Recipe* findRecipe(std::string_view name);

} // namespace loopscope
