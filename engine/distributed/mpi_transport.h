// Messages between the ranks of an mpirun: what the module for MPI sends, and the lifelines by which a rank that dies is noticed.
#pragma once

#include "engine/distributed/lifelines.h"
#include "engine/distributed/mpi/mpi_module.h"
#include "engine/distributed/transport.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

class MpiTransport final : public Transport {
public:
    /// Joins the job of this process with the module in `path`. Errors: unsupported, if there is no module or no MPI to run it with;
    /// execution, if the ranks do not find each other.
    static Result<std::unique_ptr<MpiTransport>> join(const std::string& path);
    ~MpiTransport() override;

    int32_t rank() const override { return m_rank; }
    int32_t size() const override { return m_size; }
    /// Ranks of the job on this machine, this one included.
    int32_t ranksHere() const { return m_ranksHere; }
    Status send(int32_t to, int32_t tag, std::span<const std::byte> bytes) override;
    Status sendInPlace(int32_t to, int32_t tag, std::span<std::byte> room) override;
    Result<bool> receive(RankMessage& message) override;
    Result<bool> wait(RankMessage& message, int64_t ns) override;
    bool isLost(int32_t rank) override { return m_lifelines.isLost(rank); }
    /// Leaves together with all others; with a lost rank alone, since MPI would wait for it.
    void leave();

private:
    explicit MpiTransport(const MpiModule& module) : m_module(module) {}
    Status meet();
    Result<bool> take(RankMessage& message);

    const MpiModule& m_module;
    int32_t m_rank = 0, m_size = 1, m_ranksHere = 1;
    bool m_isOpen = false;
    Lifelines m_lifelines;
    std::vector<std::byte> m_outgoing;
    std::deque<RankMessage> m_early; ///< came while something was being sent
};

} // namespace loopscope
