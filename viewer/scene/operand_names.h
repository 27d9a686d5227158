// What operands and attributes of an operator are called, for pictures and lists.
#pragma once

#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope::viewer {

/// "input", "filter", "bias" of a conv_2d, as the catalogue calls them; empty unless it has a name for each operand.
std::vector<std::string> operandNames(const Operator& op);

/// "padding=SAME", "stride_w=2", …: at most `most`, without those whose value is longer than 24 characters.
std::vector<std::string> attributeTexts(const Model& model, const Graph& graph, const Operator& op, size_t most);

} // namespace loopscope::viewer
