// Catalogue entries of the operators that the interpreter runs itself. The planner infers their results through the graphs they call.
#include "engine/ops/catalog.h"

using namespace loopscope;

namespace {

OpDef callDef(int minInputs, std::string_view operands, std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = minInputs;
    def.maxInputs = -1;
    def.minOutputs = 0;
    def.maxOutputs = -1;
    def.operands = operands;
    def.summary = summary;
    def.source = source;
    def.floatBound = "exact";
    def.isCall = true;
    def.hasSideEffects = true;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, if)
{
    return callDef(1, "predicate [], arguments…", "Runs the then or the else graph on the arguments.", "LiteRT kernels/if.cc");
}

LS_DEFINE_OP(tfl, while)
{
    OpDef def = callDef(0, "initial values…", "Runs body on the carried values for as long as cond says true.", "LiteRT kernels/while.cc");
    def.differs = "values that the body permutes, duplicates or passes on are exchanged at once; LiteRT overwrites some before they are read";
    return def;
}

LS_DEFINE_OP(tfl, call)
{
    return callDef(0, "arguments…", "Runs a graph on the arguments.", "the schema; LiteRT has no kernel");
}

LS_DEFINE_OP(tfl, call_once)
{
    OpDef def = callDef(0, "", "Runs an initialisation graph once in a session.", "LiteRT kernels/call_once.cc");
    def.maxInputs = 0;
    def.maxOutputs = 0;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_while)
{
    return callDef(0, "initial values…", "Runs body on the carried values for as long as cond says true.", "StableHLO specification, while");
}

LS_DEFINE_OP(tfl, stablehlo_case)
{
    return callDef(1, "index [], arguments…", "Runs the branch with that index, the last one if it is out of range.", "LiteRT kernels/stablehlo_case.cc");
}

LS_DEFINE_OP(tfl, stablehlo_composite)
{
    return callDef(0, "arguments…", "Runs the decomposition graph of a named composite.", "LiteRT kernels/stablehlo_composite.cc");
}
