// What the definitions of custom operators on pictures share.
#pragma once

#include "engine/ops/inference_helpers.h"
#include "engine/ops/op_def.h"

#include <string_view>

namespace loopscope {

inline OpDef pictureDef(int operandCount, std::string_view operands, std::string_view summary, std::string_view source,
                        Status (*infer)(InferContext&))
{
    OpDef def = unaryDef(summary, source);
    def.minInputs = def.maxInputs = operandCount;
    def.operands = operands;
    def.infer = infer;
    return def;
}

} // namespace loopscope
