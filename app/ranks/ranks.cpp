#include "app/ranks/ranks.h"

#include "engine/distributed/mpi_transport.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace loopscope::app {

namespace {

constexpr const char* kModule = "loopscope-mpi.so";

/// Beside the program where it was built, under lib/loopscope/modules where it is installed.
Result<std::string> modulePath()
{
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    for (const fs::path& place : {program.parent_path() / kModule, program.parent_path().parent_path() / "lib/loopscope/modules" / kModule})
        if (fs::exists(place, error)) return place.string();
    return Error(ErrorCode::unsupported, "no module for MPI beside this program")
        .note("install the package loopscope-mpi; or libopenmpi-dev and openmpi-bin, and build again");
}

} // namespace

bool hasRanks()
{
    const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE"); // what Open MPI's mpirun says
    return size && std::atoi(size) > 1;
}

Result<std::unique_ptr<Ranks>> Ranks::join()
{
    LS_TRY(const std::string path, modulePath());
    LS_TRY(std::unique_ptr<MpiTransport> transport, MpiTransport::join(path));
    return std::unique_ptr<Ranks>(new Ranks(std::move(transport)));
}

Ranks::Ranks(std::unique_ptr<MpiTransport> transport) : m_transport(std::move(transport)) {}
Ranks::~Ranks() = default;

Transport& Ranks::transport() { return *m_transport; }
int32_t Ranks::rank() const { return m_transport->rank(); }
int32_t Ranks::size() const { return m_transport->size(); }

int64_t Ranks::processors() const
{
    return std::max<int64_t>(1, std::max(1U, std::thread::hardware_concurrency()) / m_transport->ranksHere());
}

} // namespace loopscope::app
