// What the module for an MPI library gives the program: plain functions, so that the program starts, and is built, without MPI. The module
// is the one place that knows <mpi.h>.
#pragma once

#include <cstdint>

namespace loopscope {

inline constexpr int32_t kMpiModuleVersion = 1;
/// A message begins with so many bytes that are the module's own.
inline constexpr uint64_t kMpiHeader = 16;

struct MpiModule {
    int32_t version;
    /// Joins the job. Null, or why it cannot be joined.
    const char* (*open)(int32_t* rank, int32_t* size, int32_t* ranksHere);
    /// Begins to send `size` bytes, the module's own at their beginning included; they must stay as they are until isSent() is true.
    /// 1: they are sent already; 0: not yet; negative: it failed.
    int32_t (*send)(void* bytes, uint64_t size, int32_t tag, int32_t to);
    /// 1: the last send is through; 0: not yet; −1: it failed.
    int32_t (*isSent)();
    /// The size of the message that has arrived, without the module's own bytes; −1: none; −2: it failed.
    int64_t (*arrived)(int32_t* from, int32_t* tag);
    /// Takes the message that arrived() told of. Negative: it failed.
    int32_t (*take)(void* room);
    /// Leaves the job together with all others.
    void (*close)();
};

/// The one name that a module exports.
using MpiModuleEntry = const MpiModule* (*)();

} // namespace loopscope
