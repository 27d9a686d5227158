#include "tracer/record/recording_lock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace loopscope {

/// Files that this process records into. Opening and closing one of them would take away the locks that SQLite holds on it, so a look at
/// them comes here first.
struct RecordedHere {
    std::mutex mutex;
    std::set<RecordingLock::Identity> files;

    static RecordedHere& instance()
    {
        static RecordedHere here;
        return here;
    }
    bool has(const struct stat& info)
    {
        const std::lock_guard guard(mutex);
        return files.contains({info.st_dev, info.st_ino});
    }
};

namespace {

/// One byte far behind any file and behind SQLite's own locks. Owned by the descriptor, not by the process (fcntl(2), "Open file
/// description locks").
struct flock theLock()
{
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = off_t{1} << 62;
    lock.l_len = 1;
    return lock;
}

Error systemError(const std::string& path) { return Error(ErrorCode::cannotWrite, std::strerror(errno)).at(path); }

constexpr const char* kIsRecorded = "is being recorded into";
constexpr const char* kExists = "exists; --force overwrites";

Error isRecorded(const std::string& path) { return Error(ErrorCode::cannotWrite, kIsRecorded).at(path); }

void removeBeside(const std::string& path)
{
    for (const char* suffix : {"-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
}

std::string folderOfFile(const std::string& path)
{
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace

Result<RecordingLock> RecordingLock::lock(std::string path, int handle)
{
    RecordingLock made;
    made.m_path = std::move(path);
    made.m_handle = handle;
    struct flock wanted = theLock();
    // Where a file system has no such locks, a recording goes on without.
    if (fcntl(handle, F_OFD_SETLK, &wanted) != 0 && (errno == EAGAIN || errno == EACCES)) return isRecorded(made.m_path);
    // Somebody may have put another file in its place before it was locked.
    struct stat info = {}, named = {};
    if (fstat(handle, &info) != 0) return systemError(made.m_path);
    if (stat(made.m_path.c_str(), &named) != 0 || named.st_ino != info.st_ino || named.st_dev != info.st_dev)
        return isRecorded(made.m_path);
    made.m_identity = {info.st_dev, info.st_ino};
    const std::lock_guard guard(RecordedHere::instance().mutex);
    RecordedHere::instance().files.insert(made.m_identity);
    return made;
}

Result<RecordingLock> RecordingLock::create(const std::string& path)
{
    if (path.empty()) return Error(ErrorCode::usage, "a recording needs a file name");
    const int handle = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (handle < 0) {
        struct stat info = {};
        if (errno == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
            return Error(ErrorCode::cannotWrite, "is a folder").at(path);
        if (errno == EEXIST) return Error(ErrorCode::cannotWrite, kExists).at(path);
        return systemError(path);
    }
    LS_TRY(RecordingLock made, lock(path, handle));
    // The name is ours: a journal left beside a file that is gone would be taken for the new one's.
    removeBeside(path);
    return made;
}

Result<RecordingLock> RecordingLock::take(const std::string& path)
{
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) return systemError(path);
    if (!S_ISREG(info.st_mode)) return Error(ErrorCode::cannotWrite, S_ISDIR(info.st_mode) ? "is a folder" : "is no regular file").at(path);
    if (RecordedHere::instance().has(info)) return isRecorded(path);
    const int handle = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (handle < 0) return systemError(path);
    return lock(path, handle);
}

Result<RecordingLock> RecordingLock::replace(const std::string& path)
{
    if (path.empty()) return Error(ErrorCode::usage, "a recording needs a file name");
    struct stat info = {};
    if (lstat(path.c_str(), &info) != 0) return create(path);
    if (S_ISDIR(info.st_mode)) return Error(ErrorCode::cannotWrite, "is a folder").at(path);
    RecordingLock old;
    if (S_ISREG(info.st_mode) && access(path.c_str(), W_OK) == 0) {
        LS_TRY(old, take(path)); // whoever records into it keeps it
    }
    removeBeside(path); // first: nobody else can have made them while the old file is there and ours
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return systemError(path);
    return create(path);
}

bool RecordingLock::isInUse(const Error& error) { return error.detail().what == kIsRecorded || error.detail().what == kExists; }

bool RecordingLock::isHeldHere(const std::string& path)
{
    struct stat info = {};
    return stat(path.c_str(), &info) == 0 && RecordedHere::instance().has(info);
}

bool RecordingLock::isHeld(const std::string& path)
{
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (RecordedHere::instance().has(info)) return true;
    const int handle = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (handle < 0) return false;
    struct flock question = theLock();
    const bool isHeld = fcntl(handle, F_OFD_GETLK, &question) == 0 && question.l_type != F_UNLCK;
    close(handle);
    return isHeld;
}

RecordingLock::~RecordingLock() { release(); }

RecordingLock::RecordingLock(RecordingLock&& other) noexcept
    : m_path(std::move(other.m_path)),
      m_handle(std::exchange(other.m_handle, -1)),
      m_identity(other.m_identity)
{
}

RecordingLock& RecordingLock::operator=(RecordingLock&& other) noexcept
{
    if (this != &other) {
        release();
        m_path = std::move(other.m_path);
        m_handle = std::exchange(other.m_handle, -1);
        m_identity = other.m_identity;
    }
    return *this;
}

void RecordingLock::release()
{
    if (m_handle < 0) return;
    {
        const std::lock_guard guard(RecordedHere::instance().mutex);
        RecordedHere::instance().files.erase(m_identity);
    }
    close(std::exchange(m_handle, -1));
}

void RecordingLock::synchronize() const
{
    if (m_handle < 0) return;
    fsync(m_handle);
    const int folder = open(folderOfFile(m_path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    fsync(folder);
    close(folder);
}

void RecordingLock::removeFile()
{
    removeBeside(m_path);
    unlink(m_path.c_str());
}

} // namespace loopscope
