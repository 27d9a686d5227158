// How the debugger writes values: on one line beside an operator, and in full as `print` shows them.
#pragma once

#include "app/terminal/ink.h"
#include "app/wiring/value_text.h"
#include "engine/debug/evaluate.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// A value on one line.
struct InlineValue {
    std::string text;
    bool abnormal = false; ///< holds NaN or infinity
};

/// "593", "[[0.5 nan]]  nan 1, first [0,1]", and "min 0  max 14.6  mean 1.94" beyond 16 elements; without a type.
InlineValue inlineValue(const Tensor& tensor, const NumberFormat& format = {});
/// A value of which only the statistics were recorded: of one element the value itself.
InlineValue inlineStatistics(const TensorStatistics& statistics, DType dtype);
/// The same with its type in front: "i32[] = 10", "f32[1,4]  [[…]]".
InlineValue typedInlineValue(const Tensor& tensor, const NumberFormat& format = {});

/// "dead", "not written yet", …: what is shown instead of an absent value.
std::string absenceText(Absence absence);

/// One value of a list without its name and type: "593", "none", "[1 2 3]".
std::string bareText(const EvaluatedValue& value, const NumberFormat& format);
/// The elements of a value as a tensor: of the model, or computed, which is then held in `storage`. None: it has no elements that are
/// numbers.
std::optional<Tensor> elementsOf(const EvaluatedValue& value, Array& storage);
/// What `print` says: a value of the model with its name and type, anything computed by itself, a list joined by ", ". Lines are ended.
/// `level` says of a recording what is in it.
std::string printedText(const std::vector<EvaluatedValue>& values, const NumberFormat& format, const Ink& ink,
                        const std::string& level = "");

} // namespace loopscope::app
