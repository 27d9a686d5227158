// Opening a model for a command: what kind of file it is, and the errors of docs/commands.md when it is none.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <memory>
#include <string>

namespace loopscope::app {

struct ModelFile {
    std::string path;
    std::string format; ///< "tflite", "circle", "lsir"
    uint64_t bytes = 0;
    std::unique_ptr<Model> model;

    /// File name without folders.
    std::string fileName() const;
};

/// Errors: badFile ("no such file", "not a model: …"), as the importer's.
Result<ModelFile> openModel(const std::string& path);

/// What a file is by its content, for messages: "a zip archive", "a SQLite database", "text", …
std::string describeContent(const std::string& path);

} // namespace loopscope::app
