#include "engine/base/swap_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

namespace loopscope {

namespace {

constexpr int kLevel = 1;
constexpr size_t kSample = 64 << 10; ///< what becomes no smaller by this much is not compressed at all

/// All of `content` by `transfer`; 0 or errno.
template <typename Byte, typename Transfer> int transferAll(std::span<Byte> content, off_t offset, Transfer transfer)
{
    while (!content.empty()) {
        const ssize_t done = transfer(content.data(), content.size(), offset);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : EIO;
        content = content.subspan(static_cast<size_t>(done));
        offset += done;
    }
    return 0;
}

} // namespace

struct SwapFile::Compressor {
    ZSTD_CCtx* writing = ZSTD_createCCtx();
    ZSTD_DCtx* reading = ZSTD_createDCtx();
    std::vector<std::byte> buffer;

    Compressor() = default;
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;
    ~Compressor()
    {
        ZSTD_freeCCtx(writing);
        ZSTD_freeDCtx(reading);
    }

    /// In the buffer; nothing if it would hardly become smaller.
    std::span<const std::byte> compressed(std::span<const std::byte> content)
    {
        const auto compress = [&](std::span<const std::byte> part) {
            if (buffer.size() < ZSTD_compressBound(part.size())) buffer.resize(ZSTD_compressBound(part.size()));
            const size_t size = ZSTD_compressCCtx(writing, buffer.data(), buffer.size(), part.data(), part.size(), kLevel);
            return ZSTD_isError(size) || size > part.size() - part.size() / 8 ? 0 : size;
        };
        if (!writing || compress(content.first(std::min(kSample, content.size()))) == 0) return {};
        const size_t size = compress(content); // which may move the buffer
        return std::span<const std::byte>(buffer).first(size);
    }
};

SwapFile::SwapFile() : m_compressor(std::make_unique<Compressor>()) {}

SwapFile::~SwapFile() { close(); }

void SwapFile::close()
{
    if (m_file >= 0) ::close(m_file);
    m_file = -1;
    m_end = 0;
    m_free.clear();
}

void SwapFile::setFolder(const std::string& folder)
{
    const std::lock_guard lock(m_mutex);
    if (m_stored == 0 && folder != m_folder) close();
    m_folder = folder;
}

int SwapFile::open()
{
    const std::lock_guard lock(m_mutex);
    if (m_file >= 0) return 0;
    std::string path = m_folder + "/loopscope-XXXXXX";
    m_file = mkostemp(path.data(), O_CLOEXEC);
    if (m_file < 0) return errno;
    unlink(path.c_str());
    return 0;
}

off_t SwapFile::offsetFor(uint64_t room)
{
    const std::lock_guard lock(m_mutex);
    ++m_stored;
    std::vector<off_t>& known = m_free[room];
    if (!known.empty()) {
        const off_t offset = known.back();
        known.pop_back();
        return offset;
    }
    const off_t offset = m_end;
    m_end += static_cast<off_t>(room);
    return offset;
}

StoredPiece SwapFile::write(std::span<const std::byte> content, uint64_t room, int& problem)
{
    const std::span<const std::byte> smaller = m_compressor->compressed(content);
    const std::span<const std::byte> written = smaller.empty() ? content : smaller;
    StoredPiece stored{offsetFor(room), room, written.size(), !smaller.empty()};
    problem =
        transferAll(written, stored.offset, [&](const std::byte* from, size_t size, off_t at) { return pwrite(m_file, from, size, at); });
    if (problem != 0) free(stored);
    return stored;
}

int SwapFile::read(const StoredPiece& stored, std::span<std::byte> content)
{
    const auto fetch = [&](std::byte* to, size_t size, off_t at) { return pread(m_file, to, size, at); };
    if (!stored.isCompressed) return transferAll(content.first(std::min<size_t>(content.size(), stored.bytes)), stored.offset, fetch);
    std::vector<std::byte>& buffer = m_compressor->buffer;
    if (buffer.size() < stored.bytes) buffer.resize(stored.bytes);
    const std::span<std::byte> packed = std::span(buffer).first(stored.bytes);
    if (const int problem = transferAll(packed, stored.offset, fetch); problem != 0) return problem;
    const size_t size = ZSTD_decompressDCtx(m_compressor->reading, content.data(), content.size(), packed.data(), packed.size());
    return size == content.size() ? 0 : EIO;
}

void SwapFile::free(StoredPiece& stored)
{
    if (!stored.isThere()) return;
    const std::lock_guard lock(m_mutex);
    --m_stored;
    fallocate(m_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, stored.offset, static_cast<off_t>(stored.room));
    m_free[stored.room].push_back(stored.offset);
    stored = {};
}

} // namespace loopscope
