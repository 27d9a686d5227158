// Expressions of docs/expressions.md as operators of a host loop's body: what `--let` feeds and what `--until` asks is then part of the
// run like everything else. Those parts of the language that speak of a debugger's position have no operators and are refused by name.
#pragma once

#include "app/wiring/host_nodes.h"
#include "engine/base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// What an expression may name.
struct HostNames {
    std::map<std::string, ValueId, std::less<>> values;
    ValueId iteration; ///< of `iter`: i32[]
};

/// Writes the operators that compute `text`; the result is of `wanted`'s dtype, quantized as it is. Errors: usage, "1:5: no value 'tokn'
/// here".
Result<ValueId> hostExpression(HostNodes& nodes, std::string_view text, const HostNames& names, const TensorType& wanted);
/// The same of a condition: bool[]. Errors: usage, also if it gives more than one bool.
Result<ValueId> hostCondition(HostNodes& nodes, std::string_view text, const HostNames& names);

} // namespace loopscope::app
