// What is left of a model file that loadModel() refuses: to be looked at, not to be run.
#pragma once

#include "converters/formats.h"
#include "engine/base/result.h"

#include <string>
#include <vector>

namespace loopscope {

struct PartialModel {
    LoadedModel file;
    std::vector<Error> faults; ///< all that is wrong, with its place; at least one
};

/// Reads a TFLite, Circle, binary GraphDef or .lsir file, or the graph of a SavedModel, as far as it goes: what is lost is left out,
/// operators without a readable kind are named by the number of their code, nodes that others read are of the kind "Lost", constants that
/// are cut off have no data. The model has passed verifyModel. Errors: badFile, as of loadModel() (nothing is
/// left, or the file is of a format that has no parts).
Result<PartialModel> loadWhatCanBeRead(const std::string& path);

} // namespace loopscope
