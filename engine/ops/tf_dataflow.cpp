// Catalogue entries of TensorFlow 1's control flow: the dataflow executor runs them (engine/exec/dataflow, docs/dataflow.md).
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef dataflowDef(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef(arity, operands, summary, nullptr);
    def.source = "TensorFlow core/ops/control_flow_ops.cc and core/common_runtime/propagator_state.cc";
    def.isCall = true;
    def.hasSideEffects = true;
    return def;
}

constexpr std::string_view kSwitch = "Hands data on at output 1 if pred is true, else at output 0; the other output is dead.";
constexpr std::string_view kMerge = "Hands on the first live input that arrives, and its index.";
constexpr std::string_view kEnter = "Hands data into the frame frame_name: its iteration 0, or, if is_constant, every iteration.";
constexpr std::string_view kExit = "Hands data out of a frame.";
constexpr std::string_view kNext = "Hands data to the next iteration of a frame.";
constexpr std::string_view kSend = "Leaves a tensor, dead or alive, for the Recv with the same key.";
constexpr std::string_view kReceive = "Takes the tensor that the Send with the same key left; waits for it.";

} // namespace

LS_DEFINE_OP(tf, Switch) { return dataflowDef({2, 2, 2, 2}, "data, pred bool []", kSwitch); }
LS_DEFINE_OP(tf, RefSwitch) { return dataflowDef({2, 2, 2, 2}, "data (reference), pred bool []", kSwitch); }
LS_DEFINE_OP(tf, _SwitchN)
{
    return dataflowDef({2, 2, 1, -1}, "data, output_index i32 []",
                       "Hands data on at the output of that index, the last one if it is out of range.");
}
LS_DEFINE_OP(tf, Merge) { return dataflowDef({1, -1, 2, 2}, "inputs…", kMerge); }
LS_DEFINE_OP(tf, RefMerge) { return dataflowDef({1, -1, 2, 2}, "inputs… (references)", kMerge); }
LS_DEFINE_OP(tf, Enter) { return dataflowDef({1, 1, 1, 1}, "data", kEnter); }
LS_DEFINE_OP(tf, RefEnter) { return dataflowDef({1, 1, 1, 1}, "data (reference)", kEnter); }
LS_DEFINE_OP(tf, Exit) { return dataflowDef({1, 1, 1, 1}, "data", kExit); }
LS_DEFINE_OP(tf, RefExit) { return dataflowDef({1, 1, 1, 1}, "data (reference)", kExit); }
LS_DEFINE_OP(tf, NextIteration) { return dataflowDef({1, 1, 1, 1}, "data", kNext); }
LS_DEFINE_OP(tf, RefNextIteration) { return dataflowDef({1, 1, 1, 1}, "data (reference)", kNext); }
LS_DEFINE_OP(tf, LoopCond) { return dataflowDef({1, 1, 1, 1}, "input bool []", "Marks the predicate of a loop; hands it on."); }
LS_DEFINE_OP(tf, ControlTrigger)
{
    return dataflowDef({0, 0, 0, 0}, "", "Waits for its control inputs and is live even if they are dead.");
}
LS_DEFINE_OP(tf, Abort) { return dataflowDef({0, 0, 0, 0}, "", "Fails with error_msg."); }
LS_DEFINE_OP(tf, For)
{
    return dataflowDef({3, -1, 0, -1}, "start, limit, delta i32 [], loop variables…", "Runs body on the counter and the loop variables.");
}
LS_DEFINE_OP(tf, Send) { return dataflowDef({1, 1, 0, 0}, "tensor", kSend); }
LS_DEFINE_OP(tf, Recv) { return dataflowDef({0, 0, 1, 1}, "", kReceive); }
LS_DEFINE_OP(tf, _Send) { return dataflowDef({1, 1, 0, 0}, "tensor", kSend); }
LS_DEFINE_OP(tf, _HostSend) { return dataflowDef({1, 1, 0, 0}, "tensor", kSend); }
LS_DEFINE_OP(tf, _Recv) { return dataflowDef({0, 0, 1, 1}, "", kReceive); }
LS_DEFINE_OP(tf, _HostRecv) { return dataflowDef({0, 0, 1, 1}, "", kReceive); }
