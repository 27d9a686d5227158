// Model files of every kind: one place that knows which formats there are, tells them apart by content and writes them by extension.
// docs/add_an_importer.md is the checklist for a new one.
#pragma once

#include "converters/lsir/lsir.h"
#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/derivation.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A model, and the file that it came from.
struct LoadedModel {
    Model model;
    std::string path;
    std::string_view formatName;         ///< "TFLite", "Circle", "lsir", "SavedModel", …
    Bytes content;                       ///< the whole file, mapped; hashing it reads it. Of a SavedModel: saved_model.pb
    std::vector<Derivation> derivedFrom; ///< what the file says, the nearest first; what runs of the model may be a part of it
    uint64_t fileBytes() const { return content.size(); }
};

struct SaveOptions {
    std::string format;                  ///< extension of the format without the dot; empty: that of the path
    bool overwrite = false;              ///< an existing file is refused otherwise
    DataMode data = DataMode::automatic; ///< where text puts large constants
    Bytes source; ///< the file that the model came from: .tflite and .circle take the archive of files behind it along
};

/// One format.
struct Format {
    std::string_view name;      ///< for people: "TFLite"
    std::string_view extension; ///< without the dot: "tflite"
    /// True if the content is of this format. `path` may only settle what the content leaves open.
    bool (*recognizes)(std::string_view path, std::span<const std::byte> content);
    Result<Model> (*load)(const std::string& path, Bytes content);
    Status (*save)(const Model& model, const std::string& path, const SaveOptions& options); ///< null: it is only read
    bool keepsFiles = false; ///< what it saves has room for SaveOptions::source
};

/// All formats that can be opened, in the order in which they are tried.
std::span<const Format> formats();

/// Opens a model file; its kind comes from its content, never its name. The model has passed verifyModel.
/// Errors: badFile (missing, malformed, no model: what it is instead, where that can be told), unsupported (a model of another kind).
Result<LoadedModel> loadModel(const std::string& path);

/// The format in which saveModel writes. Errors: usage (there is none of that name).
Result<const Format*> formatToSave(const std::string& path, const SaveOptions& options);

/// Writes a model in the format that the options or the extension name. Nothing half-written is ever seen.
/// Errors: usage (no such format), unsupported (what the format cannot say, by name), cannotWrite.
Status saveModel(const Model& model, const std::string& path, const SaveOptions& options = {});

} // namespace loopscope
