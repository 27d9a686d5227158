// The values that attributes name (`@intermediates=[mid]`): found in one way by whoever counts, replaces or renumbers them.
#pragma once

#include "engine/ir/attribute.h"

namespace loopscope {

/// Calls `visit` for every ValueRef in an attribute (const or not), in their order.
template <typename AttributeType, typename Visit> void visitValueRefs(AttributeType& attribute, const Visit& visit)
{
    if (auto* const ref = attribute.template as<ValueRef>()) {
        visit(*ref);
    } else if (auto* const items = attribute.template as<AttributeItems>()) {
        for (auto& item : *items) visitValueRefs(item, visit);
    } else if (auto* const map = attribute.template as<AttributeMap>()) {
        for (auto& [key, item] : *map) visitValueRefs(item, visit);
    }
}

template <typename List, typename Visit> void visitAllValueRefs(List& attributes, const Visit& visit)
{
    for (auto& attribute : attributes) visitValueRefs(attribute.value, visit);
}

} // namespace loopscope
