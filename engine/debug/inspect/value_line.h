// How values are written on one line: beside an operator, in lists of values and watches.
#pragma once

#include "engine/debug/evaluate.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/value_text.h"

#include <optional>
#include <string>

namespace loopscope {

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
/// For columns: a scalar whole, else the first `most` elements with four digits and the count: "0.5273 0.6219 … 8".
InlineValue firstElements(const Tensor& tensor, int most = 2);

/// "dead", "not written yet", …: what is shown instead of an absent value.
std::string absenceText(Absence absence);

/// One value of a list without its name and type: "593", "none", "[1 2 3]".
std::string bareText(const EvaluatedValue& value, const NumberFormat& format);
/// Anything that is no value of the model by itself; `withType`: its type where that is not obvious.
std::string computedText(const ExpressionValue& value, const NumberFormat& format, bool withType);
/// The elements of a value as a tensor: of the model, or computed, which is then held in `storage`. None: it has no elements that are
/// numbers.
std::optional<Tensor> elementsOf(const EvaluatedValue& value, Array& storage);

} // namespace loopscope
