// What functions of keras.ops are called with, beside tensors.
#pragma once

#include "converters/keras/layer.h"
#include "engine/base/json.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace loopscope::keras {

/// An argument by its place or name, else as the operation keeps it.
inline const Json& given(const LayerCall& l, size_t place, std::string_view key)
{
    const Json& argument = l.literal(place, key);
    return argument.isNull() ? l.config[key] : argument;
}

/// A tuple of Python is a list of its items.
inline const Json& opened(const Json& value)
{
    if (value["class_name"].text() != "__tuple__") return value;
    return value["items"].isNull() ? value["config"] : value["items"];
}

/// The whole numbers of a list, or the one that it is.
inline std::vector<int64_t> integersOf(const Json& value)
{
    std::vector<int64_t> numbers;
    const Json& list = opened(value);
    if (list.isNumber()) numbers.push_back(list.integer());
    for (const Json& item : list.items()) numbers.push_back(item.integer());
    return numbers;
}

} // namespace loopscope::keras
