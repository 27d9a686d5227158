// Where batch_matmul and its custom form, TensorFlow's BatchMatMulV2 as converters pass it on, say that an operand is adjoint.
#pragma once

#include "engine/ir/attribute.h"

#include <string_view>

namespace loopscope {

/// `key` is "adj_x" or "adj_y": an attribute of the builtin, an entry of the custom operator's options.
inline bool isAdjoint(const AttributeList& attributes, std::string_view key)
{
    if (const Attribute* options = findAttribute(attributes, "options"))
        if (const AttributeMap* map = options->as<AttributeMap>())
            for (const auto& [name, value] : *map)
                if (const bool* flag = value.as<bool>(); name == key && flag) return *flag;
    return attributeBool(attributes, key, false);
}

} // namespace loopscope
