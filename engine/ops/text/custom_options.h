// Options of TF Text's custom operators, read from their FlexBuffer maps.
#pragma once

#include "engine/ir/attribute.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// The map that a custom operator's options are; empty: they are none.
inline AttributeList customOptions(const AttributeList& attributes)
{
    const Attribute* const options = findAttribute(attributes, "options");
    const auto* const map = options != nullptr ? options->as<AttributeMap>() : nullptr;
    AttributeList list;
    if (map != nullptr)
        for (const auto& [key, value] : *map) setAttribute(list, key, value);
    return list;
}

struct NgramOptions {
    int64_t width = 0, axis = 0;
    std::string reduction, separator;

    static NgramOptions from(const AttributeList& attributes)
    {
        const AttributeList list = customOptions(attributes);
        return {attributeInt(list, "width", 0), attributeInt(list, "axis", 0), std::string(attributeString(list, "reduction_type", "")),
                std::string(attributeString(list, "string_separator", ""))};
    }
};

struct ProjectionOptions {
    int64_t buckets = 0;
    std::vector<int64_t> seeds;

    static ProjectionOptions from(const AttributeList& attributes)
    {
        const AttributeList list = customOptions(attributes);
        return {attributeInt(list, "buckets", 0), attributeInts(list, "hash_seed")};
    }
};

} // namespace loopscope
