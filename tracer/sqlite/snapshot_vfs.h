// How recordings are read: a view of the file system for SQLite in which a database and the log beside it are one file that never changes.
// Nothing is written, locked, rolled back or deleted, whatever journals lie beside the file; and a file that changes under its reader
// gives an error instead of other values.
#pragma once

#include <cstdint>

namespace loopscope {

/// Name of the VFS, for sqlite3_open_v2; registered at the first call. Null: no memory.
const char* snapshotVfs();

/// Operations of sqlite3_file_control on a database opened so.
inline constexpr int kSnapshotHasChanged = 0x4c530001; ///< int*: 1 if the file is no longer what was opened
inline constexpr int kSnapshotBytes = 0x4c530002;      ///< int64_t*: bytes of the file and of its log

} // namespace loopscope
