// The structured view: a model as a short program, callees inline under their calls. Display only, never parsed
// (docs/text_ir.md, "Structured view").
#pragma once

#include "engine/base/ids.h"
#include "engine/ir/model.h"

#include <functional>
#include <string>
#include <vector>

namespace loopscope {

/// Columns before the text of every line of a graph: the operator's index, right-aligned, and a blank. Debuggers put marks there.
inline constexpr size_t kStructuredGutter = 5;

struct StructuredLine {
    std::string text;    ///< as printed, gutter included
    size_t typeAt = 0;   ///< operators: where in the text the result types begin; 0: there are none
    int depth = 0;       ///< how many calls lie between the line and its root graph
    GraphId graph;       ///< whose ids the line speaks in; invalid on comments and empty lines
    OperatorId op;       ///< the operator with that number in the gutter; invalid on other lines
    std::string address; ///< of the operator, the carried value or the invocation, without iterations: `main/while#0:body/add#2`
};

struct StructuredOptions {
    bool full = false;   ///< show what is hidden otherwise: facts, attributes equal to 1, constants as ids
    bool callees = true; ///< false: a call is one line, `a, b = while(x, y)`, and nothing of what it calls is shown
    GraphId root;        ///< invalid: the whole model, entry graphs first
    /// Appended to an operator's line after its type: values, marks; empty: nothing.
    std::function<std::string(const StructuredLine&)> note;
};

/// The lines of the view. `model` must pass verifyModel.
std::vector<StructuredLine> structuredView(const Model& model, const StructuredOptions& options = {});
/// The lines joined, each ended.
std::string structuredText(const std::vector<StructuredLine>& lines);

} // namespace loopscope
