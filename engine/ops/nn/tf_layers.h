// What TensorFlow's convolutions and poolings say of themselves alike.
#pragma once

#include "engine/ops/tf_rules.h"

#include <string_view>

namespace loopscope {

/// A layer whose kernel takes channels first or last.
inline OpDef tfLayer(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef(arity, operands, summary, inferAtRunTime, withinRelative(1e-6));
    def.differs = "channels may come first in every layout that the operator names; TensorFlow's CPU kernels refuse some";
    return def;
}

} // namespace loopscope
