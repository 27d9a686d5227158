// What a TFLite file says of itself beside its graphs: the metadata in its buffer TFLITE_METADATA, and the files (labels, vocabularies) in
// the zip archive that follows the FlatBuffer.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// A file behind the model.
struct AssociatedFile {
    std::string name;
    std::string role;   ///< "labels", "vocabulary", "descriptions", "score calibration", "index"; "file" where nothing says what it is
    std::string tensor; ///< the input or output that it is about, "output 'probability'"; empty if it is about the model
    uint64_t size = 0;  ///< bytes, unpacked
    std::optional<Bytes> content; ///< a slice of the model's file; none if it is compressed, or only named
};

/// What the metadata says of one input or output.
struct TensorMetadata {
    std::string place; ///< "input 'image'"
    std::string description;
    std::vector<float> mean, deviation; ///< the model wants (x − mean) / deviation; empty if nothing is said
};

struct ModelMetadata {
    std::string name, description, version, author, license;
    std::vector<TensorMetadata> tensors; ///< those about which something is said
    std::vector<AssociatedFile> files;
    std::vector<std::string> problems; ///< what could not be read, one line each
};

/// Reads the metadata of `model` and the archive at the end of `file`. Nothing there gives an empty result; what is damaged is a problem
/// of the metadata, never of the model.
ModelMetadata readModelMetadata(const Model& model, const Bytes& file);

/// The lines of a text file, without their ends; a last empty one is none.
std::vector<std::string> textLines(const Bytes& content);

} // namespace loopscope
