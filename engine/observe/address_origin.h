// Addresses between a TensorFlow 1 graph and what was raised from it: `main/f@3:frame/add` is `main/f@3:body/add`, wherever raising put it.
#pragma once

#include "engine/ir/model.h"
#include "engine/observe/address.h"

#include <optional>

namespace loopscope {

/// What an address of the other form means in `model`. In a raised model a v1 place is that of what stands for it: frames become the loops
/// that were made of them, with their iterations, and branches are entered where it needs that. In a v1 graph the loops of an address
/// become the frames around its operator. Patterns keep their sets of iterations. Nothing: the model has no such place, or knows of no
/// other form.
std::optional<Address> throughOrigin(const Model& model, const Address& address);

} // namespace loopscope
