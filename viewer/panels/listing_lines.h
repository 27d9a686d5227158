// The lines of the listing, cut into the parts that are drawn differently. No Qt: 100,000 of them are made on a worker thread.
#pragma once

#include "engine/ir/model.h"
#include "viewer/scene/family.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace loopscope::viewer {

struct ListingLine {
    std::string before;  ///< "add_1 = ", with its indentation
    std::string kind;    ///< "add"; empty on lines that are no operators
    std::string after;   ///< "(mul, mul_1)"; all of the text of other lines
    std::string type;    ///< "f32[2,4]"
    std::string address; ///< static, of the operator or of the invocation that the line begins
    GraphId graph;       ///< that owns op; invalid on comments
    OperatorId op;       ///< invalid on other lines
    Family family = Family::other;
    int indent = 0;      ///< columns before the text
    bool isCall = false; ///< the operator calls graphs
    int branchEnd = -1;  ///< of the head of a branch ("then half(…):"): the line behind its last one
    int operators = 0;   ///< of the same: operators of the branch, without what they call
    std::string text() const { return before + kind + after; }
};

struct Listing {
    std::vector<ListingLine> lines;
    std::unordered_map<std::string, int> byAddress; ///< operators
    int indexWidth = 2;                             ///< digits
};

/// One graph, calls on one line. `address`: static, of the invocation: "main/while#1:body".
Listing listGraph(const Model& model, GraphId graph, const std::string& address);
/// The whole model with callees in line.
Listing listStructured(const Model& model);

/// "while_body(arg0 … arg5)".
std::string signatureText(const Graph& graph);

} // namespace loopscope::viewer
