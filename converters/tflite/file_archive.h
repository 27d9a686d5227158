// The zip archive behind a TFLite or Circle model: labels, vocabularies and whatever else the model's author put beside it
// (PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16). Zip64 is not read: the FlatBuffer before it is below 2 GiB.
#pragma once

#include "engine/base/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

struct ArchivedFile {
    std::string name;
    uint64_t size = 0;            ///< bytes, unpacked
    std::optional<Bytes> content; ///< a slice of the model's file; none if it is compressed
};

struct FileArchive {
    bool isDamaged = false; ///< there is an end record whose directory makes no sense; `files` is empty then
    std::vector<ArchivedFile> files;
};

/// The archive at the end of a model's file; without one, no files.
FileArchive readFileArchive(const Bytes& file);

/// The bytes of that archive as they must stand at `start` of another file: packed files stay as they are, offsets count from the start
/// of the file, as the tools that attach labels write them. Empty without an archive, or with a damaged one.
std::vector<std::byte> movedFileArchive(const Bytes& file, uint64_t start);

} // namespace loopscope
