// Places in the loop around a model as people type them (docs/host_loop.md): `call@37/while#1@3:body/add#2`, without the name of the one
// graph that is called.
#pragma once

#include "engine/ir/model.h"

#include <string>
#include <string_view>

namespace loopscope {

/// The key of the signature whose graph is the loop around a model.
inline constexpr const char* kHostLoopKey = "host_loop";

/// `text` with all that leads to the place; as it is, if it is not such a place or the model has no such loop. What stands behind `@` may
/// be a set.
std::string withoutHostCall(const Model& model, std::string_view text);

} // namespace loopscope
