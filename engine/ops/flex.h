// TensorFlow operators inside of TFLite files: the custom operator FlexFoo carries the node of a Foo in its options. Where a converter
// was allowed custom operators, a Foo is one of that name and has its attributes in a map; a few have other names. Definitions and
// kernels of the "tf" dialect serve all of them.
#pragma once

#include "engine/ops/op_def.h"

#include <span>
#include <string_view>

namespace loopscope {

/// A custom operator of another name that does what one of TensorFlow's does.
struct PortedOp {
    std::string_view custom, tensorflow;
};
std::span<const PortedOp> portedOps();

/// "Foo" of the kinds custom.FlexFoo and custom.Foo, and of a ported one; empty for any other kind.
std::string_view flexName(const Kind& kind);

/// The definition of a Flex operator: TensorFlow's, by the node in its options. Null if there is none, or if it is a call.
const OpDef* findFlexOp(const Kind& kind);

/// The operator as a node of TensorFlow's: its kind, its name and its attributes. Operands and results stay.
/// Errors: badFile if the options hold no node; unsupported for attributes that are tensors or functions.
Result<Operator> flexNode(const Operator& op);

/// Gives a node the types among its attributes that it lacks: those of its operands and results.
void addTypes(Operator& node, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);

} // namespace loopscope
