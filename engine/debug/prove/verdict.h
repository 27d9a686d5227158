// What a proof says: how far two runs agree, on how much that rests, and where they part.
#pragma once

#include "engine/base/counts.h"
#include "engine/tensor/compare.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loopscope {

/// From the best to the worst; docs/proving.md says what each one promises.
enum class ProofVerdict : uint8_t {
    exact,       ///< every value that was compared is the same bit for bit
    realEqual,   ///< floats differ by no more than the roundings on their way explain
    approximate, ///< floats differ by more, within the tolerance
    different,   ///< refuted
};
/// "exact", "real-equal", "approximate", "different"
std::string_view verdictText(ProofVerdict verdict);

/// Where two runs part.
struct ProofDifference {
    std::string address; ///< in the first program: of the result, the loop, the call; "output NAME"
    std::string there;   ///< in the second
    Step step = -1;      ///< in the first run; −1: none
    std::string kind;    ///< "value", "shape", "dtype", "trips", "branch", "variable", "outcome"
    std::string a, b;    ///< the two sides
    std::string at;      ///< "[1,0]": the element that differs most
    Comparison figures;  ///< kind "value"
};

/// What the proof of one pair of runs came to.
struct Proof {
    ProofVerdict verdict = ProofVerdict::exact;
    int64_t steps = 0;     ///< of the longer run
    int64_t values = 0;    ///< pairs of writes that were compared, outputs included
    int64_t outputs = 0;   ///< of them, outputs
    int64_t trips = 0;     ///< executions of loops whose iterations were counted on both sides
    int64_t branches = 0;  ///< choices that were compared
    int64_t variables = 0; ///< whose last values were compared
    int64_t inexact = 0;   ///< pairs that are not the same bit for bit, yet no difference
    int64_t onlyHere = 0;  ///< writes of values with a partner, which the other run did not write there
    int64_t onlyThere = 0;
    std::string firstOnlyHere, firstOnlyThere; ///< their addresses
    int64_t handles = 0;                       ///< pairs of resources and variants: numbers of a session, which say nothing
    int64_t apart = 0; ///< pairs that were guessed and differ, although what decides agrees: no partners after all, or later made good
    std::optional<ProofDifference> firstApart;
    std::optional<ProofDifference> first;  ///< verdict different
    std::optional<ProofDifference> output; ///< the first output that differs, where it says more than `first`
    // Over the pairs that are not the same bit for bit:
    double maxAbs = 0, maxRel = 0;
    std::optional<int64_t> maxUlp;
    double bound = 0;      ///< what roundings explain, absolute, of the pair that comes nearest to it
    double ofBound = 0;    ///< |a − b| as part of that bound, the largest
    std::string worst;     ///< address of that pair
    std::string refused;   ///< both runs ended with an error, the first one's; what ran before it was compared
    std::string undecided; ///< a run reached a budget, so that nothing is known of the rest
};

/// Joins the proof of another pair of runs of the same programs: counts add up, the worse verdict stays.
void add(Proof& whole, const Proof& part);

/// "12 values compared, 2 of them outputs; 1 loop and 3 branches went alike".
std::string evidenceText(const Proof& proof);
/// "exact"; "real-equal: at most 2 ulp, 0.00003 apart, 12% of what roundings explain"; "different at main/add#2:0, step 7".
std::string verdictLine(const Proof& proof);
/// "got 3, want 4 at [0,1]   max 1 …" or "trips  3 : 4".
std::string differenceLine(const ProofDifference& difference);

} // namespace loopscope
