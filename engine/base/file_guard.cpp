#include "engine/base/file_guard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace loopscope {

namespace {

/// Where mapped files lie, for the signal handler, which may take no lock. What does not fit is not guarded.
struct GuardedRange {
    std::atomic<uintptr_t> begin = 0, end = 0;
};
std::array<GuardedRange, 256> ranges;
std::atomic<bool> pageWasMissing = false;

struct Mapping {
    std::string path;
    int descriptor = -1;
    struct stat opened = {};
    bool isChanged = false;
};
std::mutex mappingsMutex;
std::list<Mapping> mappings;              ///< under mappingsMutex
std::set<std::string> changedUntilClosed; ///< under mappingsMutex: files that were mapped, and were written by then

extern "C" void replaceMissingPage(int, siginfo_t* info, void*)
{
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    for (const GuardedRange& range : ranges) {
        const uintptr_t begin = range.begin.load(), end = range.end.load();
        if (at < begin || at >= end) continue;
        pageWasMissing.store(true);
        // Zeros from this page to the end: what lies behind is missing, too. mmap is one system call and no more.
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        const uintptr_t first = at / page * page;
        if (mmap(reinterpret_cast<void*>(first), end - first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
            return;
    }
    std::signal(SIGBUS, SIG_DFL); // not ours: the instruction runs again and ends the process
}

/// What tells a file that was written from one that was not.
bool isSame(const struct stat& a, const struct stat& b)
{
    return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

/// What was seen once stays so.
bool isWritten(Mapping& mapping)
{
    struct stat now = {};
    mapping.isChanged = mapping.isChanged || fstat(mapping.descriptor, &now) != 0 || !isSame(mapping.opened, now);
    return mapping.isChanged;
}

void guardRange(uintptr_t begin, size_t size)
{
    for (GuardedRange& range : ranges) {
        uintptr_t unused = 0;
        if (!range.begin.compare_exchange_strong(unused, begin)) continue;
        range.end.store(begin + size);
        return;
    }
}

void forgetRange(uintptr_t begin)
{
    for (GuardedRange& range : ranges) {
        if (range.begin.load() != begin) continue;
        range.end.store(0);
        range.begin.store(0);
        return;
    }
}

} // namespace

void guardMappedFiles()
{
    struct sigaction action = {};
    action.sa_sigaction = replaceMissingPage;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, nullptr);
}

std::shared_ptr<const void> mapGuarded(int descriptor, size_t size, const std::string& path)
{
    const int kept = dup(descriptor);
    struct stat opened = {};
    if (kept < 0 || fstat(kept, &opened) != 0) {
        if (kept >= 0) close(kept);
        return nullptr;
    }
    void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kept, 0);
    if (address == MAP_FAILED) {
        close(kept);
        return nullptr;
    }
    guardRange(reinterpret_cast<uintptr_t>(address), size);
    const std::lock_guard lock(mappingsMutex);
    const auto place = mappings.insert(mappings.end(), {path, kept, opened, false});
    return {address, [size, place](const void* p) {
                forgetRange(reinterpret_cast<uintptr_t>(p));
                munmap(const_cast<void*>(p), size);
                const std::lock_guard inner(mappingsMutex);
                if (isWritten(*place)) changedUntilClosed.insert(place->path);
                close(place->descriptor);
                mappings.erase(place);
            }};
}

std::vector<std::string> changedFiles()
{
    const std::lock_guard lock(mappingsMutex);
    std::set<std::string> changed = changedUntilClosed;
    for (Mapping& mapping : mappings)
        if (isWritten(mapping)) changed.insert(mapping.path);
    return {changed.begin(), changed.end()};
}

Status checkFilesUnchanged()
{
    const std::vector<std::string> changed = changedFiles();
    if (!changed.empty())
        return Error(ErrorCode::badFile, "was written while it was in use: what was computed from it holds no longer").at(changed.front());
    if (pageWasMissing.load()) return Error(ErrorCode::badFile, "a part of a file could not be read while it was in use");
    return {};
}

Status checkWithin(const std::string& folder, const std::string& path)
{
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path inside = fs::canonical(folder.empty() ? fs::path(".") : fs::path(folder), error);
    const fs::path real = error ? fs::path() : fs::weakly_canonical(path, error);
    const bool leaves = error || std::mismatch(inside.begin(), inside.end(), real.begin(), real.end()).first != inside.end();
    if (leaves) return Error(ErrorCode::badFile, "leads out of its folder, which is not followed").at(path);
    return {};
}

Result<Bytes> mapFileWithin(const std::string& folder, const std::string& name)
{
    const std::string path = folder.empty() ? name : (std::filesystem::path(folder) / name).string();
    LS_CHECK_OK(checkWithin(folder, path));
    return mapFile(path);
}

} // namespace loopscope
