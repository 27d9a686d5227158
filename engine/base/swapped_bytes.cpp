#include "engine/base/swapped_bytes.h"

#include "engine/base/swap_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <utility>

namespace loopscope {

namespace {

constexpr uint64_t kPiece = uint64_t{8} << 20; ///< bytes that come and go together
constexpr uint64_t kAligned = 64;
constexpr size_t kAhead = 2; ///< pieces that are read before they are needed
constexpr uint64_t kLeastInMemory = 4 * kPiece;

/// A range of addresses where values lie. Its memory comes and goes.
struct Piece {
    enum class State { resident, leaving, away, coming };

    std::byte* data = nullptr;
    uint64_t size = 0, used = 0;
    int64_t values = 0;  ///< that lie in it
    int64_t writers = 0; ///< that are copying into it
    int64_t pins = 0;    ///< readers that need it in memory
    uint64_t lastUse = 0;
    KeptKind kind = KeptKind::value;
    uint64_t number = 0; ///< in the order in which they were begun
    State state = State::resident;
    bool isFull = false;   ///< nothing more is put there
    bool isQueued = false; ///< the worker has it, or will
    StoredPiece stored;    ///< in the file, if it has been written

    bool hasMemory() const { return state != State::away; }
};

/// Thread-safe. One thread writes and reads the file, so that nobody else has to, unless what is asked for is not there yet.
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
        for (Piece* const newest : {m_newest[0], m_newest[1]})
            if (newest && newest->values == 0 && !newest->isQueued) drop(*newest);
        m_file.setFolder(folder);
        m_writeError = 0;
    }

    Result<KeptBytes> keep(std::span<const std::byte> source, KeptKind kind)
    {
        std::unique_lock lock(m_mutex);
        if (m_most == 0 || source.size() < kLeastKept) {
            lock.unlock();
            return KeptBytes::inHeap(source);
        }
        LS_TRY(Piece* const piece, roomFor(lock, source.size(), kind));
        std::byte* const place = piece->data + piece->used;
        piece->used += (source.size() + kAligned - 1) / kAligned * kAligned;
        piece->lastUse = ++m_uses;
        ++piece->values;
        ++piece->writers;
        lock.unlock();
        std::memcpy(place, source.data(), source.size());
        lock.lock();
        --piece->writers;
        return KeptBytes({place, source.size()}, piece);
    }

    void retain(Piece& piece)
    {
        const std::lock_guard lock(m_mutex);
        ++piece.values;
    }

    void countRecords(int64_t bytes)
    {
        const std::lock_guard lock(m_mutex);
        m_records += bytes;
    }

    /// `kept` lies in it.
    Bytes bringBack(Piece& piece, const KeptBytes& kept, const std::byte* data)
    {
        std::unique_lock lock(m_mutex);
        ++piece.pins;
        piece.lastUse = ++m_uses;
        if (piece.state == Piece::State::leaving) piece.state = Piece::State::resident; // the worker sees it
        while (piece.state != Piece::State::resident) {
            if (piece.state == Piece::State::away) queue(piece, Piece::State::coming, true);
            m_changed.wait(lock);
        }
        lookedAt(piece);
        evict(0);
        lock.unlock(); // a copy of `kept` takes it
        const std::shared_ptr<const void> owner(&piece, [kept](const void* pinned) {
            instance().unpin(*static_cast<Piece*>(const_cast<void*>(pinned))); // NOLINT(cppcoreguidelines-pro-type-const-cast)
        });
        return Bytes({data, kept.size()}, owner);
    }

    /// A value goes. Nothing is read ahead for it: at the end of a run all of them go, and nobody looks at them.
    void release(Piece& piece)
    {
        const std::lock_guard lock(m_mutex);
        --piece.values;
        if (piece.values == 0 && &piece == m_newest[static_cast<size_t>(piece.kind)] && piece.state == Piece::State::resident &&
            !piece.isQueued && piece.size == kPiece) {
            piece.used = 0; // the next ones lie there
            piece.isFull = false;
            m_file.free(piece.stored);
        } else if (piece.values == 0) {
            piece.isFull = true;
        }
        if (piece.values == 0 && piece.isFull && !piece.isQueued && piece.pins == 0) drop(piece);
    }

    bool isOnDisk(const Piece& piece)
    {
        const std::lock_guard lock(m_mutex);
        return !piece.hasMemory();
    }

    bool isOn()
    {
        const std::lock_guard lock(m_mutex);
        return m_most > 0;
    }

    Status failure()
    {
        const std::lock_guard lock(m_mutex);
        if (m_readError == 0) return {};
        return Error(ErrorCode::execution, "what was kept beyond --memory cannot be read")
            .at(m_file.folder())
            .found(std::strerror(std::exchange(m_readError, 0)));
    }

    SwapShares shares()
    {
        const std::lock_guard lock(m_mutex);
        SwapShares shares;
        for (const Piece& piece : m_pieces) {
            (piece.hasMemory() ? shares.inMemory : shares.onDisk) += piece.used;
            if (!piece.hasMemory()) shares.written += piece.stored.bytes;
        }
        return shares;
    }

private:
    Error full(const char* what, int problem) const
    {
        return Error(ErrorCode::cannotWrite, std::string("what is kept beyond --memory has no room: ") + what)
            .at(m_file.folder())
            .found(std::strerror(problem));
    }

    /// The piece where so many bytes fit in behind what is there.
    Result<Piece*> roomFor(std::unique_lock<std::mutex>& lock, uint64_t size, KeptKind kind)
    {
        Piece*& newest = m_newest[static_cast<size_t>(kind)];
        if (newest && !newest->isFull && newest->size - newest->used >= size) return newest;
        if (const int problem = m_file.open(); problem != 0) return full("the file cannot be made", problem);
        const uint64_t bytes = std::max(kPiece, (size + 4095) / 4096 * 4096);
        if (newest) newest->isFull = true;
        LS_CHECK_OK(makeRoom(lock, bytes));
        void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) return full("there are no addresses for it", errno);
        Piece& piece = m_pieces.emplace_back();
        piece.data = static_cast<std::byte*>(data);
        piece.size = bytes;
        piece.kind = kind;
        if (newest) newest->isFull = true; // another thread has begun one meanwhile
        newest = &piece;
        piece.number = ++m_begun;
        m_inMemory += bytes;
        return &piece;
    }

    uint64_t most() const
    {
        const uint64_t records = static_cast<uint64_t>(std::max<int64_t>(m_records, 0));
        return std::max(m_most - std::min(m_most, records), kLeastInMemory);
    }

    /// Waits until `more` bytes fit in. Where all of it is being read, the bound is passed.
    Status makeRoom(std::unique_lock<std::mutex>& lock, uint64_t more)
    {
        evict(more + kPiece); // earlier than it has to be
        while (m_inMemory + more > most() && m_leaving > 0 && m_writeError == 0) {
            m_changed.wait(lock);
            evict(more);
        }
        if (m_inMemory + more <= most() || m_writeError == 0) return {};
        return full("the disk is full", std::exchange(m_writeError, 0)); // the next run may find room
    }

    /// Has the pieces that were not used for the longest time leave, until `more` bytes would fit in.
    void evict(uint64_t more)
    {
        while (m_inMemory - m_leaving + more > most() && m_writeError == 0) {
            Piece* oldest = nullptr;
            for (Piece& piece : m_pieces) {
                if (piece.state != Piece::State::resident || !piece.isFull || piece.isQueued || piece.writers > 0 || piece.pins > 0)
                    continue;
                if (!oldest || piece.lastUse < oldest->lastUse) oldest = &piece;
            }
            if (!oldest) return;
            if (oldest->stored.isThere()) dropMemory(*oldest);
            else queue(*oldest, Piece::State::leaving, false);
        }
    }

    void dropMemory(Piece& piece)
    {
        madvise(piece.data, piece.size, MADV_DONTNEED);
        piece.state = Piece::State::away;
        m_inMemory -= piece.size;
    }

    void queue(Piece& piece, Piece::State state, bool isUrgent)
    {
        if (state == Piece::State::leaving) m_leaving += piece.size;
        else m_inMemory += piece.size;
        piece.state = state;
        piece.isQueued = true;
        isUrgent ? m_work.push_front(&piece) : m_work.push_back(&piece);
        if (!m_hasWorker) std::thread([this] { work(); }).detach();
        m_hasWorker = true;
        m_changed.notify_all();
    }

    /// The thread that writes and reads.
    void work()
    {
        std::unique_lock lock(m_mutex);
        for (;;) {
            m_changed.wait(lock, [&] { return !m_work.empty(); });
            Piece& piece = *m_work.front();
            m_work.pop_front();
            piece.state == Piece::State::coming ? fetch(lock, piece) : store(lock, piece);
            piece.isQueued = false;
            if (piece.values == 0 && piece.pins == 0) drop(piece);
            m_changed.notify_all();
        }
    }

    /// Writes a piece and gives its memory up, unless somebody reads it meanwhile.
    void store(std::unique_lock<std::mutex>& lock, Piece& piece)
    {
        if (piece.state == Piece::State::leaving && piece.values > 0) {
            lock.unlock();
            int problem = 0;
            const StoredPiece stored = m_file.write({piece.data, piece.used}, piece.size, problem);
            lock.lock();
            piece.stored = stored;
            if (problem != 0) m_writeError = problem;
        }
        m_leaving -= piece.size;
        if (piece.state != Piece::State::leaving) return;
        piece.state = Piece::State::resident;
        if (piece.stored.isThere()) dropMemory(piece);
    }

    void fetch(std::unique_lock<std::mutex>& lock, Piece& piece)
    {
        if (piece.values > 0) {
            lock.unlock();
            const int problem = m_file.read(piece.stored, {piece.data, piece.used});
            lock.lock();
            if (problem != 0) m_readError = problem;
        }
        piece.state = Piece::State::resident;
        piece.lastUse = ++m_uses; // it was read for somebody
    }

    void unpin(Piece& piece)
    {
        const std::lock_guard lock(m_mutex);
        --piece.pins;
    }

    /// The neighbours of what is looked at are read ahead, in the direction in which that goes.
    void lookedAt(const Piece& piece)
    {
        const uint64_t before = std::exchange(m_lookedAt, piece.number);
        if (piece.number < before) readAheadOf(piece);
        if (piece.number <= before) return;
        auto at = std::ranges::find(m_pieces, &piece, [](const Piece& other) { return &other; });
        for (size_t count = 0; count < kAhead && at != m_pieces.end() && ++at != m_pieces.end(); ++count)
            if (at->state == Piece::State::away) queue(*at, Piece::State::coming, false);
    }

    void readAheadOf(const Piece& piece)
    {
        const auto at = std::ranges::find(m_pieces.rbegin(), m_pieces.rend(), &piece, [](const Piece& other) { return &other; });
        if (at == m_pieces.rend()) return;
        size_t count = 0;
        for (auto before = std::next(at); before != m_pieces.rend() && count < kAhead; ++before, ++count)
            if (before->state == Piece::State::away) queue(*before, Piece::State::coming, false);
    }

    void drop(Piece& piece)
    {
        munmap(piece.data, piece.size);
        if (piece.hasMemory()) m_inMemory -= piece.size;
        m_file.free(piece.stored);
        if (m_newest[static_cast<size_t>(piece.kind)] == &piece) m_newest[static_cast<size_t>(piece.kind)] = nullptr;
        m_pieces.remove_if([&](const Piece& other) { return &other == &piece; });
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    uint64_t m_most = 0;
    int64_t m_records = 0;
    uint64_t m_inMemory = 0, m_leaving = 0; ///< bytes of pieces that have memory; of those that will give it up
    uint64_t m_uses = 0;
    uint64_t m_begun = 0, m_lookedAt = 0; ///< numbers of pieces
    int m_writeError = 0, m_readError = 0;
    bool m_hasWorker = false;
    SwapFile m_file;
    std::list<Piece> m_pieces;               ///< in the order in which they were begun
    Piece* m_newest[2] = {nullptr, nullptr}; ///< of each kind
    std::deque<Piece*> m_work;
};

/// Bytes in the heap, behind the number of values that share them.
struct HeapBlock {
    std::atomic<int64_t> values = 1;
};
constexpr size_t kBeforeBytes = 16;

} // namespace

void setSwapping(uint64_t bytesInMemory, const std::string& folder) { Swap::instance().configure(bytesInMemory, folder); }

bool isSwapping() { return Swap::instance().isOn(); }

KeptBytes KeptBytes::inHeap(std::span<const std::byte> source)
{
    KeptBytes kept;
    if (source.empty()) return kept;
    void* const block = ::operator new(kBeforeBytes + source.size());
    kept.m_holder = new (block) HeapBlock;
    std::byte* const place = static_cast<std::byte*>(block) + kBeforeBytes;
    std::memcpy(place, source.data(), source.size());
    kept.m_data = place;
    kept.m_size = source.size();
    return kept;
}

void KeptBytes::retain() const
{
    if (m_inPiece) Swap::instance().retain(*static_cast<Piece*>(m_holder));
    else ++static_cast<HeapBlock*>(m_holder)->values;
}

void KeptBytes::release() const
{
    if (m_inPiece) Swap::instance().release(*static_cast<Piece*>(m_holder));
    else if (--static_cast<HeapBlock*>(m_holder)->values == 0) ::operator delete(m_holder);
}

bool KeptBytes::isOnDisk() const { return m_inPiece && Swap::instance().isOnDisk(*static_cast<const Piece*>(m_holder)); }

Bytes KeptBytes::pinned() const
{
    if (m_inPiece) return Swap::instance().bringBack(*static_cast<Piece*>(m_holder), *this, m_data);
    if (!m_holder) return {};
    return Bytes({m_data, m_size}, std::shared_ptr<const void>(m_data, [kept = *this](const void*) {}));
}

const std::byte* KeptBytes::look(BytesPin& pin) const
{
    if (!m_inPiece) return m_data;
    pin.bytes = pinned();
    return pin.bytes.data();
}

Result<KeptBytes> keptCopy(std::span<const std::byte> source, KeptKind kind) { return Swap::instance().keep(source, kind); }

void countKeptRecords(int64_t bytes) { Swap::instance().countRecords(bytes); }

Status swapFailure() { return Swap::instance().failure(); }

SwapShares swapShares() { return Swap::instance().shares(); }

} // namespace loopscope
