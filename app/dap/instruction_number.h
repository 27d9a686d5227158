// How the protocol writes the number of an operator: as the address of an instruction.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>

namespace loopscope::app::dap {

/// "0x1f".
std::string instructionText(int64_t number);
/// "0x1f", "31". Errors: usage.
Result<int64_t> instructionNumber(const std::string& text);

} // namespace loopscope::app::dap
