// The condition of a loop as people see it: what it reads, how that went over the last iterations, and what follows from it. Loops of
// graphs and frames of v1 graphs are answered with the same words.
#pragma once

#include "engine/debug/inspect/why.h"
#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace loopscope {

/// A value that the condition reads, over the last iterations.
struct Track {
    ValueId value;            ///< of the condition's graph
    size_t position = 0;      ///< of a formal: among the graph's inputs
    bool isFormal = true;     ///< else it is computed in the condition
    bool isInvariant = false; ///< every iteration gets the same
    bool isScalar = true;
    std::deque<double> last;
    std::string now; ///< the present value, as shown; empty: it is not known
    double number = 0;

    /// One more iteration.
    void note(const Tensor& tensor);
};

/// What the condition gave, when it was computed last.
struct Verdict {
    std::string text;       ///< "true"; empty: not seen
    int64_t iteration = -1; ///< of the loop
};

/// "3", or of a tensor its least and greatest element.
std::string shortValue(const Tensor& tensor);

/// "i < n: true at @3": how the first line of an answer ends.
std::string conditionText(const std::string& expression, const Verdict& verdict, int64_t iteration);
/// A line for each value that the condition reads.
void addLeafLines(Explanation& answer, const Graph& graph, const std::vector<Track>& tracks);
/// What follows where the condition compares a number that moves by equal steps with one that stays. Empty: nothing.
std::string comparisonVerdict(const Graph& graph, ValueId condition, const std::vector<Track>& tracks, int64_t iteration);

} // namespace loopscope
