// What it costs that values cross between parts: within a process, and between two ranks of mpirun beside a bare ping-pong of MPI.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/distributed/mpi_transport.h"
#include "engine/distributed/rank_peers.h"
#include "engine/exec/make_executor.h"
#include "engine/transform/partition/partition.h"
#include "engine/transform/run_selection.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#define OMPI_SKIP_MPICXX
#include <mpi.h>
#include <string>
#include <unistd.h>

namespace loopscope::bench {
namespace {

constexpr GraphId kMain(0);
constexpr int64_t kTrips = 5'000; ///< shorter than a time slice: what else runs hardly shows
constexpr int kRounds = 200;
constexpr int kPings = 2'000; ///< the same
constexpr int kPingRounds = 100;

/// A loop whose sum is made elsewhere: three values cross in each trip, there, back and the predicate.
const std::string kLoop = R"(model tf
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  i/Enter = Enter(zero) T=i32 frame_name="loop" is_constant=false parallel_iterations=10 : i32
  i = Merge(i/Enter, i/Next) N=2 T=i32 : (i32, i32)
  many = Const(^i) dtype=i32 value=i32[] 5000 : i32[]
  less = Less(i, many) T=i32 : bool
  go = LoopCond(less) : bool
  i/Switch = Switch(i, go) T=i32 : (i32, i32)
  out = Exit(i/Switch) T=i32 : i32
  now = Identity(i/Switch:1) T=i32 : i32
  one = Const(^now) dtype=i32 value=i32[] 1 : i32[]
  i/add = AddV2(now, one) T=i32 : i32
  i/Next = NextIteration(i/add) T=i32 : i32
  done = Identity(out) T=i32 : i32
}
)";

/// The best of some runs, ns, and how many nodes ran.
double bestRun(const Model& model, int64_t& steps)
{
    double best = 1e18;
    for (int round = 0; round < kRounds; ++round) {
        auto executor = makeExecutor(model, kMain);
        if (!executor.ok() || !(*executor)->start().ok()) std::exit(1);
        const int64_t from = nowNs();
        if (!(*executor)->run().ok()) std::exit(1);
        best = std::min(best, static_cast<double>(nowNs() - from));
        steps = (*executor)->position().step;
    }
    return best;
}

/// A Send and a Recv against as many other nodes that hand a value on, which an Identity is.
void withinProcess()
{
    Result<Model> parsed = modelFromText(kLoop, "bench");
    if (!parsed.ok()) std::exit(1);
    Result<Model> model = selectForRun(*parsed, kMain, {{}, {"done"}, {}});
    if (!model.ok()) std::exit(1);
    Model cut = *model;
    std::vector<std::string> wanted(cut.graph(kMain).operators.size());
    for (size_t o = 0; o < wanted.size(); ++o)
        if (cut.graph(kMain).operators[o].name == "i/add") wanted[o] = "b";
    const Result<DevicePlacement> placement = decidePlacement(cut.graph(kMain), wanted, "a");
    if (!placement.ok() || !cutGraph(cut, kMain, *placement).ok()) std::exit(1);
    int64_t wholeSteps = 0, cutSteps = 0;
    const double whole = bestRun(*model, wholeSteps), parts = bestRun(cut, cutSteps);
    const double perNode = whole / static_cast<double>(wholeSteps);
    int64_t sends = 0;
    for (const Operator& op : cut.graph(kMain).operators) sends += op.kind.name == "_Send" ? 1 : 0;
    const double tokens = static_cast<double>(sends) * kTrips;
    const double others = static_cast<double>(cutSteps) - 2 * tokens; // those of the control loops, too
    note("node of the loop", perNode, "ns");
    report("Send and Recv within a process", (parts - others * perNode) / tokens, "ns", 150);
    report("messages of a trip for each carried value", static_cast<double>(sends), "", 2); // one is carried; the predicate is one more
}

double pingPong(int rank, size_t bytes)
{
    std::array<char, 4096> room = {};
    const auto size = static_cast<int>(bytes);
    const int64_t from = nowNs();
    for (int k = 0; k < kPings; ++k) {
        if (rank == 0) MPI_Send(room.data(), size, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(room.data(), size, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(room.data(), size, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
    }
    return static_cast<double>(nowNs() - from) / (2.0 * kPings);
}

double tokens(RankPeers& peers, int rank)
{
    int32_t number = 0;
    Tensor value;
    value.dtype = DType::i32;
    value.shape = Shape();
    value.data = reinterpret_cast<std::byte*>(&number);
    value.bytes = sizeof(number);
    Arrival arrival;
    const int64_t from = nowNs();
    for (int k = 0; k < kPings; ++k) {
        const std::array<int64_t, 1> iteration = {k};
        if (rank == 0 && !peers.send(0, iteration, &value).ok()) std::exit(1);
        if (const Result<bool> hasCome = peers.receive(arrival, true); !hasCome.ok() || !*hasCome) std::exit(1);
        if (rank == 1 && !peers.send(1, iteration, &value).ok()) std::exit(1);
    }
    return static_cast<double>(nowNs() - from) / (2.0 * kPings);
}

int betweenRanks(const std::string& module)
{
    Result<std::unique_ptr<MpiTransport>> transport = MpiTransport::join(module);
    if (!transport.ok()) return std::fprintf(stderr, "%s\n", transport.error().message().c_str()), 1;
    const int rank = (*transport)->rank();
    CutPlan plan;
    plan.devices = {"a", "b"};
    plan.rankOf = {{"a", 0}, {"b", 1}};
    plan.channels = {{0, 1}, {1, 0}};
    CancelFlag cancel;
    RankPeers peers(**transport, plan, cancel);
    peers.begin();
    double bare = 1e18, token = 1e18;
    for (int round = 0; round < kPingRounds; ++round) { // beside each other, since the machine is not always the same
        bare = std::min(bare, pingPong(rank, 80));
        token = std::min(token, tokens(peers, rank));
    }
    if (rank == 0) note("MPI ping-pong of 80 bytes, one way", bare, "ns");
    if (rank == 0) note("token between ranks, one way", token, "ns");
    if (rank == 0) report("token between ranks, of a bare ping-pong", token / bare, "x", 1.2);
    return peers.finish({}).ok() ? 0 : 1;
}

} // namespace
} // namespace loopscope::bench

int main(int, char** argv)
{
    using namespace loopscope::bench;
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string module = (self.parent_path() / ".." / ".." / "loopscope-mpi.so").string();
    if (std::getenv("OMPI_COMM_WORLD_SIZE")) return betweenRanks(module);
    withinProcess();
    std::fflush(stdout);
    if (!std::filesystem::exists(module)) return 0;
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    execlp("mpirun", "mpirun", "-n", "2", argv[0], nullptr);
    return 0;
}
