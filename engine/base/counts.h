// Names for what a run counts; docs/glossary.md says what each is and where it begins.
#pragma once

#include <cstdint>

namespace loopscope {

using Step = int64_t;         ///< operators completed in a run, from 0
using Tick = int64_t;         ///< which stop of a run, from 0
using InvocationId = int64_t; ///< which execution of a graph or iteration of a loop, from 1; 0: none

} // namespace loopscope
