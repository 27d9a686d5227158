#include "engine/debug/prove/verdict.h"

#include "engine/base/text.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

namespace {

std::string counted(int64_t count, const char* one, const char* many) { return std::to_string(count) + " " + (count == 1 ? one : many); }

} // namespace

std::string_view verdictText(ProofVerdict verdict)
{
    switch (verdict) {
    case ProofVerdict::exact: return "exact";
    case ProofVerdict::realEqual: return "real-equal";
    case ProofVerdict::approximate: return "approximate";
    case ProofVerdict::different: return "different";
    }
    return "";
}

void add(Proof& whole, const Proof& part)
{
    whole.steps = std::max(whole.steps, part.steps);
    whole.values += part.values;
    whole.outputs += part.outputs;
    whole.trips += part.trips;
    whole.branches += part.branches;
    whole.variables += part.variables;
    whole.inexact += part.inexact;
    whole.onlyHere += part.onlyHere;
    whole.onlyThere += part.onlyThere;
    whole.handles += part.handles;
    whole.apart += part.apart;
    if (whole.firstOnlyHere.empty()) whole.firstOnlyHere = part.firstOnlyHere;
    if (whole.firstOnlyThere.empty()) whole.firstOnlyThere = part.firstOnlyThere;
    if (!whole.firstApart) whole.firstApart = part.firstApart;
    if (!whole.first) whole.first = part.first;
    whole.maxAbs = std::max(whole.maxAbs, part.maxAbs);
    whole.maxRel = std::max(whole.maxRel, part.maxRel);
    if (part.maxUlp) whole.maxUlp = std::max(whole.maxUlp.value_or(0), *part.maxUlp);
    if (part.ofBound > whole.ofBound) {
        whole.ofBound = part.ofBound;
        whole.bound = part.bound;
        whole.worst = part.worst;
    }
    if (whole.refused.empty()) whole.refused = part.refused;
    if (whole.undecided.empty()) whole.undecided = part.undecided;
    whole.verdict = std::max(whole.verdict, part.verdict);
}

std::string evidenceText(const Proof& proof)
{
    std::string text = counted(proof.values, "value", "values") + " compared, " + std::to_string(proof.outputs) + " of them " +
                       (proof.outputs == 1 ? "an output" : "outputs");
    if (proof.variables > 0) text += ", " + counted(proof.variables, "variable", "variables");
    if (proof.trips > 0) text += "; " + counted(proof.trips, "loop", "loops") + " went round alike";
    if (proof.branches > 0) text += "; " + counted(proof.branches, "branch", "branches") + " taken alike";
    return text;
}

std::string verdictLine(const Proof& proof)
{
    std::string text(verdictText(proof.verdict));
    if (proof.verdict == ProofVerdict::different && proof.first) {
        text += " at " + proof.first->address;
        if (proof.first->step >= 0) text += ", step " + std::to_string(proof.first->step.number);
        return text;
    }
    if (proof.inexact == 0) return text;
    text += ": " + counted(proof.inexact, "value differs", "values differ") + " by up to " + differenceText(proof.maxAbs);
    if (proof.maxUlp) text += ", " + std::to_string(*proof.maxUlp) + " ulp";
    if (std::isfinite(proof.ofBound)) text += "; roundings explain " + differenceText(proof.bound) + " of " + proof.worst;
    return text;
}

std::string differenceLine(const ProofDifference& difference)
{
    if (difference.kind != "value") return difference.kind + "  " + difference.a + " : " + difference.b;
    std::string text = difference.a + " : " + difference.b;
    if (!difference.at.empty() && difference.at != "[]") text += " at " + difference.at;
    text += "   max |a - b| " + differenceText(difference.figures.maxAbs);
    if (difference.figures.elements > 1)
        text +=
            ", " + std::to_string(difference.figures.different) + " of " + std::to_string(difference.figures.elements) + " elements differ";
    return text;
}

} // namespace loopscope
