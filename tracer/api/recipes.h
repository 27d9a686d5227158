// The recipes: questions to a trace with a name, a sentence and SQL.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace loopscope {

/// What a recipe is asked with.
struct RecipeParameter {
    std::string_view name;
    std::string_view kind;      ///< "branch": an operator that chooses; "loop": the call of a loop or frame; empty: by its name
    std::string_view otherwise; ///< the default; empty: none
};

struct Recipe {
    std::string_view name;       ///< "first-nan"
    std::string_view question;   ///< one sentence
    std::string_view parameters; ///< separated by blanks: "run op:branch slot=0"
    std::string_view sql;
    std::vector<RecipeParameter> parameterList() const;
    std::string_view topic() const; ///< "Control flow", "Values", "Time", "Compare" or "Recording"
    bool readsOperators() const;    ///< the answer is made of rows of operators, which level control does not record
};
/// In the order in which lists show them.
std::span<const std::string_view> recipeTopics();

/// All of them, in the order of the documentation.
std::span<const Recipe> traceRecipes();
/// Null if there is none of that name.
const Recipe* findRecipe(std::string_view name);

} // namespace loopscope
