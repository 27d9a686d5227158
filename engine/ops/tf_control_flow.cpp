// Catalogue entries of TensorFlow's functional control flow: the interpreter runs them (control_flow.cpp holds the rules).
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef callDef(int minInputs, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef({minInputs, -1, 0, -1}, operands, summary, nullptr);
    def.isCall = true;
    def.hasSideEffects = true;
    return def;
}

constexpr std::string_view kIf = "Runs then_branch or else_branch on the arguments; any dtype is a condition.";
constexpr std::string_view kCase = "Runs the branch of that index on the arguments, the last one if it is out of range.";
constexpr std::string_view kWhile = "Runs body on the loop variables for as long as cond says true; shapes may change.";

} // namespace

LS_DEFINE_OP(tf, If) { return callDef(1, "cond, arguments…", kIf); }
LS_DEFINE_OP(tf, StatelessIf) { return callDef(1, "cond, arguments…", kIf); }
LS_DEFINE_OP(tf, Case) { return callDef(1, "branch_index, arguments…", kCase); }
LS_DEFINE_OP(tf, StatelessCase) { return callDef(1, "branch_index, arguments…", kCase); }
LS_DEFINE_OP(tf, While) { return callDef(0, "loop variables…", kWhile); }
LS_DEFINE_OP(tf, StatelessWhile) { return callDef(0, "loop variables…", kWhile); }
LS_DEFINE_OP(tf, PartitionedCall) { return callDef(0, "arguments…", "Runs the function f on the arguments."); }
LS_DEFINE_OP(tf, StatefulPartitionedCall) { return callDef(0, "arguments…", "Runs the function f on the arguments."); }
LS_DEFINE_OP(tf, RemoteCall)
{
    return callDef(1, "target, arguments…", "Runs the function f on the arguments; the target is this process.");
}
