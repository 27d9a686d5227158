// Which random stream an operator with seeds draws from: a number that names the operator, the same in every session, whatever rewrites
// did to the graph around it.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <string_view>

namespace loopscope {

/// Operators that have seeds.
bool drawsRandomNumbers(const Operator& op);

/// `Operator::streamIdentity` if it is set; else what follows from the operator as its file has it: TensorFlow's from the node's name,
/// others' from kind, operands, results, seeds and, where the importer knows it, the place in the file (`0:INDEX`).
uint64_t randomStreamIdentity(const Operator& op, std::string_view placeInFile = {});

} // namespace loopscope
