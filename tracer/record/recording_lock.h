// Who records a file: its recorder holds a lock on it for as long as it lives, so that nobody else writes there, and a reader can tell a
// recording that goes on from one whose process was killed.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace loopscope {

/// The lock and the descriptor that carries it. The kernel gives it back when the process ends, however that happens.
class RecordingLock {
public:
    /// Creates the file, which must not exist, and locks it. Errors: cannotWrite (exists, no such folder, …).
    static Result<RecordingLock> create(const std::string& path);
    /// Removes a file that nobody records into, with what lies beside it, and creates it anew. Errors: cannotWrite.
    static Result<RecordingLock> replace(const std::string& path);
    /// Locks a file that is there. Errors: cannotWrite (is being recorded into, read-only, …).
    static Result<RecordingLock> take(const std::string& path);
    /// True if a recorder lives that holds the file's lock.
    static bool isHeld(const std::string& path);
    /// True if an error of the functions above says that somebody else was there first, which may pass.
    static bool isInUse(const Error& error);
    static bool isHeldHere(const std::string& path); ///< by this process; does not touch the file

    RecordingLock() = default;
    ~RecordingLock();
    RecordingLock(RecordingLock&& other) noexcept;
    RecordingLock& operator=(RecordingLock&& other) noexcept;

    /// Writes what the system still holds of the file, and its folder's entry, to the disk.
    void synchronize() const;
    /// Removes the file and what lies beside it: a recording that did not come to be.
    void removeFile();

private:
    struct Identity {
        uint64_t device = 0, inode = 0;
        auto operator<=>(const Identity&) const = default;
    };
    friend struct RecordedHere;
    static Result<RecordingLock> lock(std::string path, int handle);
    void release();

    std::string m_path;
    int m_handle = -1;
    Identity m_identity;
};

} // namespace loopscope
