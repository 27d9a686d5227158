#include "engine/base/swapped_bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace loopscope {

namespace {

constexpr uint64_t kExtent = uint64_t{8} << 20; ///< bytes that come and go together
constexpr uint64_t kLeast = 1024;               ///< smaller values stay in the heap
constexpr uint64_t kAligned = 64;
constexpr size_t kAhead = 2; ///< extents that are read before they are needed

class Swap;

/// A piece of the file that is mapped as long as something lies in it.
struct Extent {
    std::byte* data = nullptr;
    uint64_t size = 0, used = 0;
    off_t offset = 0;
    int64_t values = 0; ///< that lie in it
    bool isResident = true;
    bool isFull = false; ///< nothing more is put there
};

/// Thread-safe.
class Swap {
public:
    static Swap& instance()
    {
        static Swap* const swap = new Swap; // values may go when the process ends
        return *swap;
    }

    void configure(uint64_t inMemory, const std::string& folder)
    {
        const std::lock_guard lock(m_mutex);
        m_most = inMemory;
        if (m_file >= 0 && m_extents.empty() && folder != m_folder) {
            close(m_file);
            m_file = -1;
            m_end = 0;
            m_freeOffsets.clear();
        }
        m_folder = folder;
    }

    Result<Bytes> keep(std::span<const std::byte> source)
    {
        std::unique_lock lock(m_mutex);
        if (m_most == 0 || source.size() < kLeast) {
            lock.unlock();
            return Bytes::copyOf(source);
        }
        LS_TRY(Extent* const extent, roomFor(source.size()));
        std::byte* const place = extent->data + extent->used;
        extent->used += (source.size() + kAligned - 1) / kAligned * kAligned;
        ++extent->values;
        lock.unlock();
        std::memcpy(place, source.data(), source.size());
        return Bytes({place, source.size()}, std::shared_ptr<const void>(place, [extent](const void*) { instance().release(*extent); }));
    }

    SwapShares shares()
    {
        const std::lock_guard lock(m_mutex);
        SwapShares shares;
        for (const Extent* extent : m_extents) (extent->isResident ? shares.inMemory : shares.onDisk) += extent->used;
        return shares;
    }

private:
    Error full(const char* what) const
    {
        return Error(ErrorCode::cannotWrite, std::string("what is kept beyond --memory has no room: ") + what)
            .at(m_folder)
            .found(std::strerror(errno));
    }

    /// The extent where so many bytes fit in behind what is there. Room in the file is had before anything is written, so that a full disk
    /// is an error here and not a fault there.
    Result<Extent*> roomFor(uint64_t size)
    {
        if (!m_extents.empty() && !m_extents.back()->isFull && m_extents.back()->size - m_extents.back()->used >= size)
            return m_extents.back();
        if (!m_extents.empty()) m_extents.back()->isFull = true;
        if (m_file < 0) {
            std::string path = m_folder + "/loopscope-XXXXXX";
            m_file = mkostemp(path.data(), O_CLOEXEC);
            if (m_file < 0) return full("the file cannot be made");
            unlink(path.c_str());
        }
        const uint64_t bytes = std::max(kExtent, (size + 4095) / 4096 * 4096);
        const off_t offset = offsetFor(bytes);
        if (const int problem = posix_fallocate(m_file, offset, static_cast<off_t>(bytes)); problem != 0) {
            errno = problem;
            return full("the disk is full");
        }
        void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m_file, offset);
        if (data == MAP_FAILED) return full("the file cannot be mapped");
        auto* const extent = new Extent{static_cast<std::byte*>(data), bytes, 0, offset};
        m_extents.push_back(extent);
        evict();
        return extent;
    }

    /// A place in the file that was given up, else its end.
    off_t offsetFor(uint64_t bytes)
    {
        if (bytes == kExtent && !m_freeOffsets.empty()) {
            const off_t offset = m_freeOffsets.back();
            m_freeOffsets.pop_back();
            return offset;
        }
        const off_t offset = m_end;
        m_end += static_cast<off_t>(bytes);
        return offset;
    }

    /// The oldest leave memory until the rest is within the bound. The system has them written; nobody waits.
    void evict()
    {
        uint64_t resident = 0;
        for (size_t e = m_extents.size(); e-- > 0;) {
            Extent& extent = *m_extents[e];
            if (!extent.isResident) continue;
            resident += extent.size;
            if (resident <= std::max(m_most, kExtent * (kAhead + 1))) continue;
            sync_file_range(m_file, extent.offset, static_cast<off_t>(extent.size), SYNC_FILE_RANGE_WRITE);
            madvise(extent.data, extent.size, MADV_DONTNEED);
            extent.isResident = false;
        }
    }

    /// A value goes. Where the newest extents begin to empty, those before them are read ahead.
    void release(Extent& extent)
    {
        const std::lock_guard lock(m_mutex);
        extent.isFull = true;
        --extent.values;
        const auto at = std::ranges::find(m_extents.rbegin(), m_extents.rend(), &extent);
        if (at == m_extents.rend()) return;
        for (auto [before, count] = std::pair(std::next(at), size_t{0}); before != m_extents.rend() && count < kAhead; ++before, ++count) {
            if ((*before)->isResident) continue;
            madvise((*before)->data, (*before)->size, MADV_WILLNEED);
            (*before)->isResident = true;
        }
        if (extent.values > 0) return;
        munmap(extent.data, extent.size);
        fallocate(m_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, extent.offset, static_cast<off_t>(extent.size));
        if (extent.size == kExtent) m_freeOffsets.push_back(extent.offset);
        m_extents.erase(std::next(at).base());
        delete &extent;
    }

    std::mutex m_mutex;
    uint64_t m_most = 0;
    std::string m_folder;
    int m_file = -1;
    off_t m_end = 0;
    std::vector<off_t> m_freeOffsets;
    std::deque<Extent*> m_extents; ///< in the order in which they were begun
};

} // namespace

void setSwapping(uint64_t bytesInMemory, const std::string& folder) { Swap::instance().configure(bytesInMemory, folder); }

Result<Bytes> keptCopy(std::span<const std::byte> source) { return Swap::instance().keep(source); }

SwapShares swapShares() { return Swap::instance().shares(); }

} // namespace loopscope
