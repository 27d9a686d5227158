// Models to graphs: which layer is called with what. Inside of converters/keras only.
#pragma once

#include "converters/keras/layer.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::keras {

struct NamedValue {
    std::string name;
    ValueId value;
};

struct ModelEnds {
    std::vector<NamedValue> inputs, outputs;
};

/// The whole model of a config.json, with its signature. Errors: badFile, unsupported.
Result<Model> modelOf(const Json& config, std::optional<Hdf5File> weights);
/// Writes the layers of a Sequential or Functional model into a graph. `path`: of its weights, "" for the model itself.
/// Errors: badFile, unsupported.
Result<ModelEnds> writeModel(ImportState& state, GraphBuilder& b, const Json& model, const std::string& path);
bool isModel(const Json& layer);

/// A nested model: a function, made once for each graph that calls it, and a call of it.
void callModel(LayerCall& l);

/// Runs the layer's rule; one without becomes an operator without kernel, of these types. Errors: badFile.
Status writeLayer(LayerCall& l, const std::vector<TensorType>& seen);

} // namespace loopscope::keras
