// Models of Keras as `model.save` writes them: a zip archive of metadata.json, config.json (the layers) and model.weights.h5, or all of it
// in one file of HDF5. Layers become TensorFlow's operators, named after them; a nested model becomes a function. docs/keras.md says which
// layers have a graph.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace loopscope {

/// Errors: badFile (damaged, weights missing), unsupported (another Keras; a form of HDF5 that is not read).
Result<Model> importKeras(const std::string& path, Bytes content);
/// A zip archive whose first members are those of a Keras model, or a file of HDF5.
bool looksLikeKeras(std::span<const std::byte> content);

} // namespace loopscope
