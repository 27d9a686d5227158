// The ranks of the mpirun that started this process: joined once, by the first command that wants them.
#pragma once

#include "engine/base/result.h"
#include "engine/distributed/transport.h"

#include <cstdint>
#include <memory>

namespace loopscope {
class MpiTransport;
}

namespace loopscope::app {

/// Whether mpirun has started more than one of this program.
bool hasRanks();

/// Leaves the job when it goes.
class Ranks {
public:
    /// Errors: unsupported, where this program has no module for MPI.
    static Result<std::unique_ptr<Ranks>> join();
    ~Ranks();

    Transport& transport();
    int32_t rank() const;
    int32_t size() const;
    bool isFirst() const { return rank() == 0; }
    /// Processors of this machine that are this rank's share.
    int64_t processors() const;

private:
    explicit Ranks(std::unique_ptr<MpiTransport> transport);
    std::unique_ptr<MpiTransport> m_transport;
};

} // namespace loopscope::app
