// What is inside of variants, as arrays with names: lists of tensors have no form of their own in NumPy's files.
#pragma once

#include "engine/tensor/npz.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// The tensors in a variant, named behind `name`: `list[0]`, `list[1]`, of a list in a list `list[1][0]`; of a tensor of several variants
/// each behind its own index. One that was not set is an array of no element, and so is `list[]`, which a list of no tensors is. They view
/// the variant's bytes.
std::vector<NamedTensor> variantParts(const std::string& name, const Tensor& variant);

/// What of an array can be written to NumPy's files: itself, the parts of a variant, nothing of the handle of a resource.
std::vector<NamedTensor> writableParts(NamedTensor array);

} // namespace loopscope::app
