// How the debugger writes values: on one line beside an operator, and in full as `print` shows them.
#pragma once

#include "app/terminal/ink.h"
#include "app/wiring/value_text.h"
#include "engine/debug/evaluate.h"
#include "engine/tensor/tensor.h"

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
/// The same with its type in front: "i32[] = 10", "f32[1,4]  [[…]]".
InlineValue typedInlineValue(const Tensor& tensor, const NumberFormat& format = {});

/// "dead", "not written yet", …: what is shown instead of an absent value.
std::string absenceText(Absence absence);

/// One value of a list without its name and type: "593", "none", "[1 2 3]".
std::string bareText(const EvaluatedValue& value, const NumberFormat& format);
/// What `print` says: a value of the model with its name and type, anything computed by itself, a list joined by ", ". Lines are ended.
std::string printedText(const std::vector<EvaluatedValue>& values, const NumberFormat& format, const Ink& ink);

} // namespace loopscope::app
