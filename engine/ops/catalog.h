// The operator catalogue: look-up of OpDefs by kind. Immutable after start, safe from any thread.
#pragma once

#include "engine/ops/op_def.h"

#include <span>
#include <string>

/// Begins the definition of an operator: `LS_DEFINE_OP(tfl, add) { OpDef def; …; return def; }`. Dialect and name are filled in.
#define LS_DEFINE_OP(dialect, name) ::loopscope::OpDef opDef_##dialect##_##name()

namespace loopscope {

/// The definition of a kind, or null. In a `circle` model `tfl` operators keep their dialect "tfl".
const OpDef* findOp(const Kind& kind);
/// All definitions in the order of ops.def.
std::span<const OpDef> allOps();

/// Runs arity checks and inference of one operator. Results of unknown operators keep what they had.
/// Errors: badFile, "C3: …" or a wrong operand count; without the operator's place, which the caller adds.
Status inferOperator(const Operator& op, std::span<const Tensor* const> inputs, std::span<InferredType> outputs);

/// Fills in the types of results that are not stated (`dtype unknown`) and checks those that are against inference, graph by graph,
/// callees included. Used on short text input and by `verify`. Errors: badFile, with "graph/kind#n: ".
Status inferModel(Model& model);

/// The declared type of a value as inference sees it: a constant has its data, if the file holds as many bytes as the type needs.
Tensor declaredTensor(const Value& value);

} // namespace loopscope
