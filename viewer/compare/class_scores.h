// Which class each side of a comparison found most likely: of outputs that look like the scores of classes. No widgets.
#pragma once

#include "engine/api/inspector.h"
#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::viewer {

struct TopClasses {
    int64_t classes = 0;               ///< how many there are
    int64_t here = -1, there = -1;     ///< index of the highest score; the first of equal ones
    std::string labelHere, labelThere; ///< of the model's file; empty: it has none
};

/// Rows of a drift that are outputs of the root graph with one score a class: a single vector at the end of a softmax or logistic, whatever
/// only reshapes, converts or requantizes it in between. In the order of the outputs.
std::vector<int> scoreRows(const Model& model, GraphId root, const Drift& drift);
/// Whether an output of the root graph has one score a class, as above.
bool isOfScores(const Graph& root, ValueId output);
/// None: the sides have unlike many elements, or no numbers.
std::optional<TopClasses> topClassesOf(const Tensor& here, const Tensor& there);
/// The name of class `index` if `labels` are those of the classes: as many, or one fewer where the first class is the background.
std::string labelOf(const std::vector<std::string>& labels, const TopClasses& top, int64_t index);

} // namespace loopscope::viewer
