#include "engine/distributed/mpi_transport.h"

#include "engine/base/clock.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

namespace loopscope {

namespace {

constexpr int32_t kMeetTag = -1;
constexpr int64_t kMeetNs = 20'000'000'000;
constexpr int64_t kLeaveNs = 60'000'000'000; ///< until rank 0 has printed what came of it
constexpr int kEagerLooks = 2000;            ///< as long as an answer between two ranks of one machine takes
constexpr int64_t kPatientNs = 200'000;      ///< then others may have the core
constexpr int64_t kLifelineNs = 10'000'000;  ///< between looks for lost ranks

Error lostError(int32_t rank) { return Error(ErrorCode::execution, "ended without a word").at("rank " + std::to_string(rank)); }

} // namespace

Result<std::unique_ptr<MpiTransport>> MpiTransport::join(const std::string& path)
{
    // Global: MPI's own parts look for its names there.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        const char* const why = dlerror();
        return Error(ErrorCode::unsupported, "the module for MPI cannot be loaded").at(path).found(why ? why : "no reason");
    }
    const auto entry = reinterpret_cast<MpiModuleEntry>(dlsym(library, "loopscopeMpi"));
    const MpiModule* const module = entry ? entry() : nullptr;
    if (!module || module->version != kMpiModuleVersion)
        return Error(ErrorCode::unsupported, "the module for MPI is of another version of this program").at(path);
    std::unique_ptr<MpiTransport> transport(new MpiTransport(*module));
    if (const char* const problem = module->open(&transport->m_rank, &transport->m_size, &transport->m_ranksHere))
        return Error(ErrorCode::execution, problem);
    transport->m_isOpen = true;
    LS_CHECK_OK(transport->meet());
    return transport;
}

MpiTransport::~MpiTransport() { leave(); }

/// Every rank connects its lifeline.
Status MpiTransport::meet()
{
    if (m_size == 1) return {};
    if (m_rank == 0) {
        LS_TRY(const std::string offered, m_lifelines.offer(m_size, m_ranksHere == m_size));
        for (int32_t other = 1; other < m_size; ++other) LS_CHECK_OK(send(other, kMeetTag, std::as_bytes(std::span(offered))));
        m_lifelines.accept(kMeetNs);
        return {};
    }
    RankMessage message;
    LS_TRY(const bool hasCome, wait(message, kMeetNs));
    if (!hasCome || message.tag != kMeetTag) return Error(ErrorCode::execution, "rank 0 says nothing").at("rank " + std::to_string(m_rank));
    return m_lifelines.connect(std::string(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()), m_rank);
}

void MpiTransport::leave()
{
    if (!m_isOpen) return;
    m_isOpen = false;
    bool isWhole = true;
    for (int32_t other = 0; other < m_size; ++other) isWhole = isWhole && !m_lifelines.isLost(other);
    m_lifelines.sayGoodbye(isWhole);
    if (m_rank > 0) isWhole = isWhole && m_lifelines.hearsThatAllLeave(kLeaveNs);
    if (isWhole) m_module.close();
}

Status MpiTransport::send(int32_t to, int32_t tag, std::span<const std::byte> bytes)
{
    m_outgoing.resize(kMpiHeader + bytes.size());
    if (!bytes.empty()) std::memcpy(m_outgoing.data() + kMpiHeader, bytes.data(), bytes.size());
    return sendInPlace(to, tag, m_outgoing);
}

Status MpiTransport::sendInPlace(int32_t to, int32_t tag, std::span<std::byte> room)
{
    static_assert(kHeader == kMpiHeader);
    int32_t isSent = m_module.send(room.data(), room.size(), tag, to);
    int64_t looked = 0;
    while (isSent == 0 && (isSent = m_module.isSent()) == 0) {
        // A large one waits for its receiver, which may be sending to us.
        RankMessage early;
        LS_TRY(const bool hasCome, take(early));
        if (hasCome) m_early.push_back(std::move(early));
        if (const int64_t now = nowNs(); now - looked > kLifelineNs) {
            looked = now;
            if (m_lifelines.isLost(to) || m_lifelines.isLost(0)) return lostError(m_lifelines.isLost(to) ? to : 0);
        }
    }
    if (isSent < 0) return Error(ErrorCode::execution, "MPI could not send").at("rank " + std::to_string(to));
    return {};
}

Result<bool> MpiTransport::take(RankMessage& message)
{
    const int64_t size = m_module.arrived(&message.from, &message.tag);
    if (size == -1) return false;
    if (size < 0) return Error(ErrorCode::execution, "MPI could not receive");
    message.bytes.resize(static_cast<size_t>(size));
    if (m_module.take(message.bytes.data()) < 0) return Error(ErrorCode::execution, "MPI could not receive");
    return true;
}

Result<bool> MpiTransport::receive(RankMessage& message)
{
    if (m_early.empty()) [[likely]]
        return take(message);
    message = std::move(m_early.front());
    m_early.pop_front();
    return true;
}

Result<bool> MpiTransport::wait(RankMessage& message, int64_t ns)
{
    for (int look = 0; look < kEagerLooks; ++look) {
        LS_TRY(const bool hasCome, receive(message));
        if (hasCome) return true;
    }
    const int64_t start = nowNs();
    for (;;) {
        LS_TRY(const bool hasCome, receive(message));
        if (hasCome) return true;
        const int64_t waited = nowNs() - start;
        if (waited >= ns) return false;
        if (waited < kPatientNs) {
            sched_yield();
        } else {
            const timespec pause = {0, 20'000};
            nanosleep(&pause, nullptr);
        }
    }
}

} // namespace loopscope
