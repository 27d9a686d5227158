#include "tracer/sqlite/snapshot_vfs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <optional>
#include <span>
#include <sqlite3.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace loopscope {

namespace {

/// A descriptor of a regular file, closed with its owner.
class ReadOnlyFile {
public:
    ReadOnlyFile() = default;
    explicit ReadOnlyFile(const std::string& path) : m_handle(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))
    {
        // A pipe or a device is no recording, and waits for ever.
        if (m_handle >= 0 && (fstat(m_handle, &m_info) != 0 || !S_ISREG(m_info.st_mode))) close();
    }
    ~ReadOnlyFile() { close(); }
    ReadOnlyFile(const ReadOnlyFile&) = delete;
    ReadOnlyFile& operator=(const ReadOnlyFile&) = delete;

    bool isOpen() const { return m_handle >= 0; }
    int64_t size() const { return isOpen() ? m_info.st_size : 0; }
    bool hasChanged() const
    {
        if (!isOpen()) return false;
        struct stat now = {};
        return fstat(m_handle, &now) != 0 || now.st_size != m_info.st_size || now.st_mtim.tv_sec != m_info.st_mtim.tv_sec ||
               now.st_mtim.tv_nsec != m_info.st_mtim.tv_nsec;
    }
    /// How many of the bytes at `offset` are there; −1: an error.
    int64_t read(void* to, int64_t count, int64_t offset) const
    {
        int64_t done = 0;
        while (done < count) {
            const ssize_t n = pread(m_handle, static_cast<char*>(to) + done, static_cast<size_t>(count - done), offset + done);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return -1;
            if (n == 0) break;
            done += n;
        }
        return done;
    }

private:
    void close()
    {
        if (m_handle >= 0) ::close(m_handle);
        m_handle = -1;
    }
    int m_handle = -1;
    struct stat m_info = {};
};

uint32_t bigEndianAt(std::span<const std::byte> bytes, size_t at)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
    return value;
}

/// The running checksum of a write-ahead log (sqlite.org/fileformat2.html#checksum_algorithm).
struct WalChecksum {
    bool isBigEndian = false;
    uint32_t first = 0, second = 0;

    void add(std::span<const std::byte> bytes)
    {
        for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
            first += word(bytes, at) + second;
            second += word(bytes, at + 4) + first;
        }
    }
    bool is(uint32_t a, uint32_t b) const { return first == a && second == b; }

private:
    uint32_t word(std::span<const std::byte> bytes, size_t at) const
    {
        uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return isBigEndian == (std::endian::native == std::endian::big) ? value : __builtin_bswap32(value);
    }
};

/// A database and the committed part of its log.
class Snapshot {
public:
    explicit Snapshot(const std::string& path) : m_file(path), m_log(path + "-wal")
    {
        // Byte 18 of a database says that it has a log; a closed recording has none, whatever lies beside it.
        std::byte format{};
        if (m_file.isOpen() && m_log.size() > 0 && m_file.read(&format, 1, 18) == 1 && format == std::byte{2}) readLog();
    }

    bool isOpen() const { return m_file.isOpen(); }
    int64_t size() const { return m_logPages > 0 ? m_logPages * m_pageSize : m_file.size(); }
    int64_t bytes() const { return m_file.size() + m_log.size(); }
    bool hasChanged() const { return m_file.hasChanged() || (!m_pages.empty() && m_log.hasChanged()); }

    int read(void* to, int64_t count, int64_t offset) const
    {
        if (hasChanged()) return SQLITE_IOERR_READ;
        int64_t done = 0;
        while (done < count) {
            auto* const at = static_cast<char*>(to) + done;
            const int64_t wanted = m_pages.empty() ? count - done : std::min(count - done, m_pageSize - (offset + done) % m_pageSize);
            const auto page = m_pages.empty() ? m_pages.end() : m_pages.find((offset + done) / m_pageSize + 1);
            const int64_t n = page != m_pages.end() ? m_log.read(at, wanted, page->second + (offset + done) % m_pageSize)
                                                    : m_file.read(at, wanted, offset + done);
            if (n < 0) return SQLITE_IOERR_READ;
            done += n;
            if (n < wanted) break;
        }
        if (done == count) return SQLITE_OK;
        std::memset(static_cast<char*>(to) + done, 0, static_cast<size_t>(count - done)); // SQLite wants the rest so
        return SQLITE_IOERR_SHORT_READ;
    }

private:
    static constexpr int64_t kHeader = 32, kFrameHeader = 24;

    /// Takes over the frames up to the last commit; what follows it, or does not fit, is not part of the database.
    void readLog()
    {
        std::array<std::byte, kHeader> header = {};
        if (m_log.read(header.data(), kHeader, 0) != kHeader) return;
        const uint32_t magic = bigEndianAt(header, 0);
        const int64_t pageSize = bigEndianAt(header, 8);
        if ((magic & ~1U) != 0x377f0682 || bigEndianAt(header, 4) != 3007000 || pageSize < 512 || pageSize > 65536 ||
            (pageSize & (pageSize - 1)) != 0)
            return;
        WalChecksum sum;
        sum.isBigEndian = (magic & 1) != 0;
        sum.add(std::span(header).first(24));
        if (!sum.is(bigEndianAt(header, 24), bigEndianAt(header, 28))) return;
        m_pageSize = pageSize;
        std::vector<std::byte> frame(static_cast<size_t>(kFrameHeader + pageSize));
        std::vector<std::pair<int64_t, int64_t>> since; // the last commit: page, offset
        for (int64_t at = kHeader; m_log.read(frame.data(), std::ssize(frame), at) == std::ssize(frame); at += std::ssize(frame)) {
            const int64_t page = bigEndianAt(frame, 0), pagesAfter = bigEndianAt(frame, 4);
            if (page == 0 || std::memcmp(frame.data() + 8, header.data() + 16, 8) != 0) break; // of an earlier use of the log
            sum.add(std::span(frame).first(8));
            sum.add(std::span(frame).subspan(kFrameHeader));
            if (!sum.is(bigEndianAt(frame, 16), bigEndianAt(frame, 20))) break;
            since.emplace_back(page, at + kFrameHeader);
            if (pagesAfter == 0) continue;
            for (const auto& [number, offset] : since) m_pages[number] = offset;
            since.clear();
            m_logPages = pagesAfter;
        }
    }

    ReadOnlyFile m_file, m_log;
    int64_t m_pageSize = 0, m_logPages = 0;
    std::unordered_map<int64_t, int64_t> m_pages; ///< number to offset in the log
};

struct SnapshotHandle {
    sqlite3_file base;
    Snapshot* snapshot;
};

Snapshot& snapshotOf(sqlite3_file* file) { return *reinterpret_cast<SnapshotHandle*>(file)->snapshot; }

int closeSnapshot(sqlite3_file* file)
{
    delete &snapshotOf(file);
    file->pMethods = nullptr;
    return SQLITE_OK;
}

int controlSnapshot(sqlite3_file* file, int operation, void* answer)
{
    if (operation == kSnapshotHasChanged) {
        *static_cast<int*>(answer) = snapshotOf(file).hasChanged() ? 1 : 0;
        return SQLITE_OK;
    }
    if (operation == kSnapshotBytes) {
        *static_cast<int64_t*>(answer) = snapshotOf(file).bytes();
        return SQLITE_OK;
    }
    return SQLITE_NOTFOUND;
}

const sqlite3_io_methods& snapshotMethods()
{
    static const sqlite3_io_methods kMethods = [] {
        sqlite3_io_methods m = {};
        m.iVersion = 1; // no shared memory, no mapping: a file that shrinks must not end the program
        m.xClose = closeSnapshot;
        m.xRead = [](sqlite3_file* file, void* to, int count, sqlite3_int64 offset) { return snapshotOf(file).read(to, count, offset); };
        m.xWrite = [](sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; };
        m.xTruncate = [](sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; };
        m.xSync = [](sqlite3_file*, int) { return SQLITE_OK; };
        m.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
            *size = snapshotOf(file).size();
            return SQLITE_OK;
        };
        m.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
        m.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
        m.xCheckReservedLock = [](sqlite3_file*, int* isHeld) {
            *isHeld = 0;
            return SQLITE_OK;
        };
        m.xFileControl = controlSnapshot;
        m.xSectorSize = [](sqlite3_file*) { return 4096; };
        m.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; };
        return m;
    }();
    return kMethods;
}

sqlite3_vfs& systemVfs(sqlite3_vfs* vfs) { return *static_cast<sqlite3_vfs*>(vfs->pAppData); }

int openSnapshot(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flagsOut)
{
    file->pMethods = nullptr;
    constexpr int kTemporary =
        SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB | SQLITE_OPEN_SUBJOURNAL; // of sorting, without a name
    if ((flags & kTemporary) != 0) return systemVfs(vfs).xOpen(&systemVfs(vfs), name, file, flags, flagsOut);
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0 || (flags & SQLITE_OPEN_READONLY) == 0 || name == nullptr) return SQLITE_CANTOPEN;
    auto* const snapshot = new (std::nothrow) Snapshot(name);
    if (snapshot == nullptr) return SQLITE_NOMEM;
    if (!snapshot->isOpen()) {
        delete snapshot;
        return SQLITE_CANTOPEN;
    }
    *reinterpret_cast<SnapshotHandle*>(file) = {{&snapshotMethods()}, snapshot};
    if (flagsOut != nullptr) *flagsOut = flags;
    return SQLITE_OK;
}

} // namespace

const char* snapshotVfs()
{
    static const char* const kName = []() -> const char* {
        sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
        if (system == nullptr) return nullptr;
        static sqlite3_vfs vfs = *system; // time, randomness and paths are the system's
        vfs.pNext = nullptr;
        vfs.zName = "loopscope_snapshot";
        vfs.pAppData = system;
        vfs.szOsFile = std::max(system->szOsFile, static_cast<int>(sizeof(SnapshotHandle)));
        vfs.xOpen = openSnapshot;
        vfs.xDelete = [](sqlite3_vfs*, const char*, int) { return SQLITE_IOERR_DELETE; };
        vfs.xAccess = [](sqlite3_vfs*, const char*, int, int* answer) {
            *answer = 0; // no journal is looked for
            return SQLITE_OK;
        };
        vfs.xFullPathname = [](sqlite3_vfs* v, const char* name, int size, char* out) {
            return systemVfs(v).xFullPathname(&systemVfs(v), name, size, out);
        };
        vfs.xDlOpen = nullptr;
        vfs.xRandomness = [](sqlite3_vfs* v, int size, char* out) { return systemVfs(v).xRandomness(&systemVfs(v), size, out); };
        vfs.xSleep = [](sqlite3_vfs* v, int us) { return systemVfs(v).xSleep(&systemVfs(v), us); };
        vfs.xCurrentTime = [](sqlite3_vfs* v, double* now) { return systemVfs(v).xCurrentTime(&systemVfs(v), now); };
        vfs.xGetLastError = [](sqlite3_vfs* v, int size, char* out) { return systemVfs(v).xGetLastError(&systemVfs(v), size, out); };
        vfs.xCurrentTimeInt64 = [](sqlite3_vfs* v, sqlite3_int64* now) { return systemVfs(v).xCurrentTimeInt64(&systemVfs(v), now); };
        vfs.iVersion = 2;
        return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs.zName : nullptr;
    }();
    return kName;
}

} // namespace loopscope
