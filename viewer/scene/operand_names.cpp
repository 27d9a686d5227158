#include "viewer/scene/operand_names.h"

#include "engine/ir/text/printer.h"
#include "engine/ops/catalog.h"

#include <algorithm>

namespace loopscope::viewer {

/// The catalogue has "input [N,H,W,C], filter [O,KH,KW,I], bias? [O]".
std::vector<std::string> operandNames(const Operator& op)
{
    std::vector<std::string> names;
    const OpDef* definition = findOp(op.kind);
    if (definition == nullptr) return names;
    int depth = 0;
    bool inName = true;
    std::string name;
    const auto end = [&] {
        if (!name.empty()) names.push_back(name);
        name.clear();
        inName = true;
    };
    for (const char c : definition->operands) {
        if (c == '[' || c == '(') ++depth;
        if (c == ']' || c == ')') --depth;
        if (c == ',' && depth == 0) {
            end();
        } else if (c == ' ' && !name.empty()) {
            inName = false;
        } else if (inName && depth == 0 && c != ' ' && c != '?' && c != ']' && c != ')') {
            name += c;
        }
    }
    end();
    const bool isOpen = std::ranges::any_of(names, [](const std::string& one) { return one == "…" || one == "..."; });
    return isOpen || names.size() < op.inputs.size() ? std::vector<std::string>() : names;
}

std::vector<std::string> attributeTexts(const Model& model, const Graph& graph, const Operator& op, size_t most)
{
    constexpr size_t longest = 24;
    std::vector<std::string> texts;
    for (const NamedAttribute& attribute : op.attributes) {
        if (texts.size() == most) break;
        if (attribute.key.starts_with("@")) continue;
        const std::string text = attributeText(attribute.value, model, &graph);
        if (text.size() <= longest) texts.push_back(attribute.key + "=" + text);
    }
    return texts;
}

} // namespace loopscope::viewer
