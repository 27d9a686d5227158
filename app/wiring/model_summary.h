// What a model is at a glance: operators by count, control flow as an outline, sizes, what will not run. `info` shows it.
#pragma once

#include "app/output/type_summary.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// One call in the outline of control flow.
struct ControlFlowLine {
    int depth = 0;
    std::string address; ///< "main/while#0:body/if#2"
    std::string label;   ///< at depth 0 the address, below only "if#2"
    std::string text;    ///< "cond while_cond, body while_body, 3 carried"
};

/// Control flow of TensorFlow v1, over all graphs.
struct FrameSummary {
    int64_t frames = 0, loops = 0;
    int64_t nesting = 0;      ///< frames inside each other, at most
    int64_t conditionals = 0; ///< predicates that nodes depend on
    int64_t neverLive = 0;    ///< nodes that are dead whatever is fed
    bool any = false;         ///< some graph has such control flow
};

struct ModelSummary {
    std::map<std::string, int64_t> operators; ///< by kind as files name it: "ADD", "custom.Foo"
    int64_t operatorCount = 0;
    std::vector<ControlFlowLine> controlFlow;
    std::vector<int64_t> calls;       ///< by graph: how many operators call it
    std::vector<std::string> missing; ///< kinds without reference kernel
    TypeSummary types;
    Placement placement;
    std::vector<std::string> warnings; ///< loops that other runtimes compute differently, …
    FrameSummary frames;
    int64_t variables = 0;     ///< variables of the session and is_variable values
    int64_t dynamicValues = 0; ///< values whose declared shape has unknown dimensions
    int64_t parameters = 0;    ///< elements of numeric constants, shared ones counted once
    uint64_t constantBytes = 0;
    bool dynamicInputs = false;             ///< an input has unknown dimensions: what follows counts them as 1
    std::optional<int64_t> macs;            ///< multiply-adds of one pass, every graph once; none if a shape is known only when running
    std::optional<uint64_t> activationPeak; ///< bytes of the planned arena; none if the model cannot be planned
    int64_t unsizedValues = 0;              ///< values that are no part of it: their size is known only when running
};

ModelSummary summarize(const Model& model);
/// Of TensorFlow's constants, and of its variables that have a value; empty for other operators.
std::vector<const TensorAttribute*> tensorsOfNode(const Operator& op);

/// "3 ADD, 1 each EQUAL FLOOR_DIV": the most frequent first.
std::string operatorCounts(const std::map<std::string, int64_t>& operators);
/// "main(x: i32[]) -> Identity: i32[], Identity_1: i32[]".
std::string headText(const Graph& graph);

} // namespace loopscope::app
