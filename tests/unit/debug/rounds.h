// How long the long property tests run: as they are, or the share that LOOPSCOPE_ROUNDS says in percent. tests/sanitizers asks for less,
// since instrumented programs are ten times slower.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace loopscope::testing {

/// At least one.
inline int rounds(int full)
{
    const char* const percent = std::getenv("LOOPSCOPE_ROUNDS");
    return percent ? std::max(1, static_cast<int>(full * std::strtod(percent, nullptr) / 100)) : full;
}

} // namespace loopscope::testing
