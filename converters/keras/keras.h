// Models of Keras 3 as `model.save` writes them: a zip archive of metadata.json, config.json (the layers) and model.weights.h5. Layers
// become TensorFlow's operators, named after them; a nested model becomes a function. docs/keras.md says which layers have a graph.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace loopscope {

/// Errors: badFile (damaged, weights missing), unsupported (Keras 2; a form of HDF5 that is not read).
Result<Model> importKeras(const std::string& path, Bytes content);
/// A zip archive whose first members are those of a Keras model.
bool looksLikeKeras(std::span<const std::byte> content);

} // namespace loopscope
