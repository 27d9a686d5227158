// Strong index types: a ValueId cannot be passed where an operator index is meant. −1 means "none".
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace loopscope {

template <typename Tag> struct StrongId {
    int32_t index = -1;

    constexpr StrongId() = default;
    constexpr explicit StrongId(int64_t i) : index(static_cast<int32_t>(i)) {}
    constexpr bool valid() const { return index >= 0; }
    constexpr auto operator<=>(const StrongId&) const = default;
};

using GraphId = StrongId<struct GraphTag>;       ///< index of a graph (TFLite subgraph, TensorFlow function) in its model
using ValueId = StrongId<struct ValueTag>;       ///< index of a value (tensor) in its graph
using OperatorId = StrongId<struct OperatorTag>; ///< index of an operator in its graph, in file order: the n of `kind#n`

} // namespace loopscope

template <typename Tag> struct std::hash<loopscope::StrongId<Tag>> {
    size_t operator()(loopscope::StrongId<Tag> id) const noexcept { return std::hash<int32_t>()(id.index); }
};
