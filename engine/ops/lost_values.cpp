#include "engine/ops/lost_values.h"

#include <algorithm>
#include <utility>

namespace loopscope {

namespace {

constexpr size_t kNamed = 3, kLines = 4;

struct Lost {
    std::string reason;
    std::vector<std::string> names;
};

std::vector<Lost> lostOf(const Model& model)
{
    std::vector<Lost> all;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators) {
            const std::string_view reason = attributeString(op.attributes, kLostValue, "");
            if (reason.empty()) continue;
            auto same = std::ranges::find(all, reason, &Lost::reason);
            if (same == all.end()) same = all.insert(all.end(), {std::string(reason), {}});
            same->names.push_back(op.name);
        }
    return all;
}

} // namespace

std::vector<std::string> lostValueLines(const Model& model)
{
    std::vector<Lost> all = lostOf(model);
    std::vector<std::string> lines;
    size_t rest = 0;
    for (const Lost& lost : all) {
        if (lines.size() == kLines) {
            rest += lost.names.size();
            continue;
        }
        std::string line = lost.names.size() == 1 ? "variable " : "variables ";
        for (size_t i = 0; i < std::min(kNamed, lost.names.size()); ++i) line += (i == 0 ? "'" : ", '") + lost.names[i] + "'";
        if (lost.names.size() > kNamed)
            line += " and " + std::to_string(lost.names.size() - kNamed) + (lost.names.size() - kNamed == 1 ? " other" : " others");
        lines.push_back(line + (lost.names.size() == 1 ? " has" : " have") + " no value: " + lost.reason);
    }
    if (rest > 0)
        lines.push_back(std::to_string(rest) + (rest == 1 ? " other variable has" : " other variables have") + " no value either");
    return lines;
}

Error withLostValue(Error error, const Model& model)
{
    const std::string text = error.message();
    for (const Lost& lost : lostOf(model))
        for (const std::string& name : lost.names)
            for (const char* said : {"uninitialized value ", "Could not find variable "}) {
                const size_t at = text.find(said + name);
                if (at == std::string::npos) continue;
                const size_t end = at + std::string_view(said).size() + name.size();
                const bool isWhole = end == text.size() || (text[end] == '.' && text.compare(end, 2, ". ") == 0);
                if (isWhole) return std::move(error).note("its value could not be read: " + lost.reason);
            }
    return error;
}

} // namespace loopscope
