// What a resource or a variant stands for: variables, tables, tensor arrays, stacks, tensor lists, and the tensors in them. Runs on the
// engine's thread. No widgets.
#pragma once

#include "engine/api/inspector.h"
#include "engine/tensor/npy.h"
#include "viewer/tensor/tensor_slice.h"

#include <optional>
#include <string>

namespace loopscope::viewer {

/// The holder as a table of what it holds: one row an item, with its type and its first elements.
struct HeldValues {
    std::string summary; ///< "tensor list of f32[2]: 5 tensors", "variable count"
    Grid grid;
    std::optional<Array> opened; ///< the item that was asked for
};

/// `tensor`: resource or variant, its data present. `item`: row to open; −1: none.
HeldValues heldBy(const Inspector& inspector, const Tensor& tensor, int64_t item);

} // namespace loopscope::viewer
