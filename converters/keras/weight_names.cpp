#include "converters/keras/weight_names.h"

#include "converters/keras/layer.h"

#include <cctype>

namespace loopscope::keras {

namespace {

/// "GlobalAveragePooling2D" → "global_average_pooling2d", as Keras names the groups of weights.
std::string snakeCase(std::string_view name)
{
    std::string word;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') word += c;
    const auto is = [&](size_t i, int (*kind)(int)) { return i < word.size() && kind(static_cast<unsigned char>(word[i])) != 0; };
    std::string out;
    for (size_t i = 0; i < word.size(); ++i) {
        // A capital that begins a word in small letters, or that follows one of them.
        if (i > 0 && is(i, std::isupper) && (is(i + 1, std::islower) || is(i - 1, std::islower))) out += '_';
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(word[i])));
    }
    return out;
}

} // namespace

std::string WeightNames::next(const Json& layer)
{
    if (ruleName(layer).starts_with("ops.")) return {};
    // Weights lie under the class's own name, which one layer does not go by.
    const std::string kind = layer["class_name"].text();
    const std::string name = snakeCase(kind == "GroupQueryAttention" ? "GroupedQueryAttention" : kind);
    const int n = m_used[name]++;
    return m_path + (m_path.empty() ? "" : "/") + "layers/" + name + (n == 0 ? "" : "_" + std::to_string(n));
}

} // namespace loopscope::keras
