// `--rtol --atol --ulp --cosine --bitwise` as a Tolerance.
#pragma once

#include "app/wiring/command_line.h"
#include "engine/base/result.h"
#include "engine/tensor/compare.h"

namespace loopscope::app {

/// All that are given must hold; none given: rtol 1e-5 and atol 1e-6; --bitwise: exact. Errors: usage.
Result<Tolerance> toleranceOf(const Arguments& arguments);

} // namespace loopscope::app
