// Files of Keras 2 (2.12 and later write .keras): their configuration in the words of Keras 3.
#pragma once

#include "engine/base/json.h"

namespace loopscope::keras {

/// The configuration of a model as Keras 3 would have written it. Whatever has no counterpart stays as it is.
Json fromKeras2(const Json& model);

} // namespace loopscope::keras
