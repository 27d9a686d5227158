// Constants out of the loops that backpropagation makes: a constant inside of a body is a step of each iteration.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

/// Makes constants of a loop's condition and body operands, behind those that there are, which the body hands on as they are. Constants
/// that inference may want to see (shapes, axes) stay where they are: the sizes of results would not be known before the run.
/// The attributes of the Consts whose results the loop takes from now on.
Result<std::vector<AttributeList>> takeOutConstants(Graph& cond, Graph& body);

/// The place of the variable that counts the iterations of a loop, i32, one by one from a constant on; −1: there is none.
/// `operands`, of `around`, are those of the loop.
int64_t counterOf(const Graph& body, const Graph& around, std::span<const ValueId> operands);

} // namespace loopscope
