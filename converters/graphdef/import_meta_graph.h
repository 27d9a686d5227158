// GraphDef and MetaGraphDef messages to models, for the importers of files and of SavedModel folders. Inside of converters/graphdef
// and converters/savedmodel only.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace loopscope::tfpb {
class GraphDef;
class MetaGraphDef;
} // namespace loopscope::tfpb

namespace loopscope::graphdef {

/// The message is left without its strings and tensors. `fileBytes` bounds what it may stand for.
Result<Model> modelOf(tfpb::GraphDef& graph, size_t fileBytes);
Result<Model> modelOf(tfpb::MetaGraphDef& metaGraph, size_t fileBytes);

enum class PartOf : uint8_t { graphDef, metaGraph, savedModel };
/// What is left of a binary message; all that is wrong with it comes to `faults`.
Result<Model> partOf(std::string_view bytes, PartOf kind, std::vector<Error>& faults);

} // namespace loopscope::graphdef
