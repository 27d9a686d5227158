// The module for MPI: the one source that includes <mpi.h>. Loaded when a program that runs under mpirun asks for its ranks.
#define OMPI_SKIP_MPICXX // the bindings of C alone
#include "engine/distributed/mpi/mpi_module.h"

#include <cstdlib>
#include <cstring>
#include <mpi.h>

namespace {

using loopscope::kMpiHeader;

constexpr int kFirst = 1; ///< tag of messages, or of their beginnings
constexpr int kRest = 2;  ///< tag of what does not fit into the standing receive
constexpr uint64_t kSmall = 8192;
constexpr uint64_t kAtOnce =
    1024; ///< MPI copies what is so small and has sent it when it returns: no request, which would cost as much again

struct Header {
    int32_t tag;
    int32_t isWhole;
    uint64_t size; ///< without this header
};
static_assert(sizeof(Header) == kMpiHeader);

alignas(16) char standing[kMpiHeader + kSmall]; ///< where the next message arrives
MPI_Request incoming = MPI_REQUEST_NULL;
MPI_Request outgoing[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
int arrivedFrom = -1;

bool listen()
{
    if (incoming == MPI_REQUEST_NULL &&
        MPI_Recv_init(standing, sizeof(standing), MPI_BYTE, MPI_ANY_SOURCE, kFirst, MPI_COMM_WORLD, &incoming) != MPI_SUCCESS)
        return false;
    return MPI_Start(&incoming) == MPI_SUCCESS;
}

/// Where all ranks are on one machine they talk through its memory: to look for networks takes MPI longer than all else that it does when
/// it starts. Whoever has said otherwise is heard.
void stayOnMachine()
{
    const char* const all = std::getenv("OMPI_COMM_WORLD_SIZE");
    const char* const here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (all == nullptr || here == nullptr || std::strcmp(all, here) != 0) return;
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "self,vader", 0);
}

const char* open(int32_t* rank, int32_t* size, int32_t* ranksHere)
{
    setenv("HWLOC_COMPONENTS", "-gl",
           0); // MPI looks at the machine by it: X servers are none of its business, and end who asks when they end
    stayOnMachine();
    int isOpen = 0;
    MPI_Initialized(&isOpen);
    int level = 0; // a debugger's engine has a thread of its own; no two threads call at a time
    if (isOpen == 0 && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return "MPI could not be started";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int ownRank = 0, count = 1, here = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &ownRank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm sameHost = MPI_COMM_NULL;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sameHost) == MPI_SUCCESS) {
        MPI_Comm_size(sameHost, &here);
        MPI_Comm_free(&sameHost);
    }
    *rank = ownRank;
    *size = count;
    *ranksHere = here;
    return listen() ? nullptr : "MPI receives nothing";
}

int32_t send(void* bytes, uint64_t size, int32_t tag, int32_t to)
{
    const uint64_t content = size - kMpiHeader;
    const Header header = {tag, content <= kSmall ? 1 : 0, content};
    std::memcpy(bytes, &header, sizeof(header));
    if (content <= kAtOnce) return MPI_Send(bytes, static_cast<int>(size), MPI_BYTE, to, kFirst, MPI_COMM_WORLD) == MPI_SUCCESS ? 1 : -1;
    const uint64_t first = content <= kSmall ? size : kMpiHeader;
    if (MPI_Isend(bytes, static_cast<int>(first), MPI_BYTE, to, kFirst, MPI_COMM_WORLD, &outgoing[0]) != MPI_SUCCESS) return -1;
    if (content <= kSmall) return 0;
    if (content > INT32_MAX) return -1;
    char* const rest = static_cast<char*>(bytes) + kMpiHeader;
    return MPI_Isend(rest, static_cast<int>(content), MPI_BYTE, to, kRest, MPI_COMM_WORLD, &outgoing[1]) == MPI_SUCCESS ? 0 : -1;
}

int32_t isSent()
{
    int all = 0;
    if (MPI_Testall(2, outgoing, &all, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return -1;
    return all;
}

int64_t arrived(int32_t* from, int32_t* tag)
{
    if (arrivedFrom < 0) {
        int isThere = 0;
        MPI_Status status;
        if (MPI_Test(&incoming, &isThere, &status) != MPI_SUCCESS) return -2;
        if (isThere == 0) return -1;
        arrivedFrom = status.MPI_SOURCE;
    }
    Header header;
    std::memcpy(&header, standing, sizeof(header));
    *from = arrivedFrom;
    *tag = header.tag;
    return static_cast<int64_t>(header.size);
}

int32_t take(void* room)
{
    Header header;
    std::memcpy(&header, standing, sizeof(header));
    const int from = arrivedFrom;
    arrivedFrom = -1;
    if (header.isWhole != 0) {
        std::memcpy(room, standing + kMpiHeader, header.size);
    } else if (MPI_Recv(room, static_cast<int>(header.size), MPI_BYTE, from, kRest, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return -1;
    }
    return listen() ? 0 : -1;
}

void close()
{
    MPI_Cancel(&incoming);
    MPI_Wait(&incoming, MPI_STATUS_IGNORE);
    MPI_Request_free(&incoming);
    MPI_Finalize();
}

constexpr loopscope::MpiModule kModule = {loopscope::kMpiModuleVersion, open, send, isSent, arrived, take, close};

} // namespace

extern "C" __attribute__((visibility("default"))) const loopscope::MpiModule* loopscopeMpi() { return &kModule; }
