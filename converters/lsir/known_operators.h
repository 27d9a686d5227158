// Operators and attributes of a text that nothing knows: a misspelt attribute must not run with its default.
#pragma once

#include "engine/ir/text/parser.h"

#include <vector>

namespace loopscope {

/// What is written but does not exist, with its place and the nearest names, and values that their attribute cannot have, at most 20.
/// TFLite and Circle: what their schemas do not have. TensorFlow's registry is open (users register operators, newer releases add
/// attributes), so a name of a GraphDef is an error only if it looks like a known one misspelt. The text must have been read without
/// errors.
std::vector<TextError> unknownOperators(const ParsedText& parsed);

} // namespace loopscope
