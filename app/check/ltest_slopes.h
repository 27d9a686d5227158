// `== slopes`: gradients that a pass has added, held against difference quotients.
#pragma once

#include "app/check/ltest_file.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>

namespace loopscope::app {

/// Why what `== pass gradient of=… wrt=…` (`pass`) made of `model` is not the slope of the sum of `of` by each element of what it is
/// differentiated by, at the inputs of the section; empty: it is. All are f64. Errors: usage, and what running says.
Result<std::string> whyNoSlopes(const Model& model, const LtestSection& pass, const LtestSection& section);

} // namespace loopscope::app
