// TensorFlow operators inside of TFLite files: the custom operator FlexFoo carries the node of a Foo in its options. Definitions and
// kernels of the "tf" dialect serve it, once its node has been read.
#pragma once

#include "engine/ops/op_def.h"

#include <string_view>

namespace loopscope {

/// "Foo" of the kind custom.FlexFoo; empty for any other kind.
std::string_view flexName(const Kind& kind);

/// The definition of a Flex operator: TensorFlow's, by the node in its options. Null if there is none, or if it is a call.
const OpDef* findFlexOp(const Kind& kind);

/// The operator as a node of TensorFlow's: its kind, its name and its attributes. Operands and results stay.
/// Errors: badFile if the options hold no node; unsupported for attributes that are tensors or functions.
Result<Operator> flexNode(const Operator& op);

} // namespace loopscope
