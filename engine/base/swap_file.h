// The file without a name where pieces of memory lie compressed. Of swapped_bytes.cpp.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace loopscope {

/// Where a piece lies in the file.
struct StoredPiece {
    off_t offset = -1;
    uint64_t room = 0;  ///< that belongs to it; what it does not need of that is a hole, which takes no space
    uint64_t bytes = 0; ///< that it takes
    bool isCompressed = false;
    bool isThere() const { return offset >= 0; }
};

/// One thread writes and reads, any may free.
class SwapFile {
public:
    SwapFile();
    ~SwapFile();
    SwapFile(const SwapFile&) = delete;
    SwapFile& operator=(const SwapFile&) = delete;

    /// A file that is open stays where it is until nothing lies in it.
    void setFolder(const std::string& folder);
    const std::string& folder() const { return m_folder; }
    /// 0, or why it cannot be made (errno).
    int open();
    /// Takes up to `room` bytes of the file. `problem`: why not (errno).
    StoredPiece write(std::span<const std::byte> content, uint64_t room, int& problem);
    /// 0, or why not (errno).
    int read(const StoredPiece& stored, std::span<std::byte> content);
    /// Gives its space back.
    void free(StoredPiece& stored);

private:
    struct Compressor;

    off_t offsetFor(uint64_t room);
    void close();

    std::mutex m_mutex;
    std::string m_folder;
    int m_file = -1;
    off_t m_end = 0;
    int64_t m_stored = 0;
    std::map<uint64_t, std::vector<off_t>> m_free; ///< by room
    std::unique_ptr<Compressor> m_compressor;
};

} // namespace loopscope
