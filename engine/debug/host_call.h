// The short spelling of places in the loop around a model (docs/host_loop.md): `call@37/main/while#1@3:body/add#2` stands for the same
// place behind the While and the call that make that loop.
#pragma once

#include "engine/ir/model.h"

#include <string>
#include <string_view>

namespace loopscope {

/// The key of the signature whose graph is the loop around a model.
inline constexpr const char* kHostLoopKey = "host_loop";

/// `text` in its canonical spelling; as it is, if it is not such a place or the model has no such loop. What stands behind `@` may be a
/// set.
std::string withoutHostCall(const Model& model, std::string_view text);

} // namespace loopscope
