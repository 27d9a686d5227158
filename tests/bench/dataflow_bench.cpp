// What an operator of a TensorFlow 1 loop costs, and whether memory stays constant while a loop runs a million iterations.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/exec/dataflow_executor.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <unistd.h>

namespace loopscope::bench {
namespace {

/// The loop that tf.while_loop writes for a counter and a sum: 12 nodes an iteration.
constexpr const char* kLoop = R"(
graph main(n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  one = Const() dtype=i32 value=i32[] 1 : i32
  enter_i = Enter(zero) T=i32 frame_name="loop" is_constant=false parallel_iterations=10 : i32
  enter_x = Enter(zero) T=i32 frame_name="loop" is_constant=false parallel_iterations=10 : i32
  enter_n = Enter(n) T=i32 frame_name="loop" is_constant=true parallel_iterations=10 : i32
  i = Merge(enter_i, next_i) N=2 T=i32 : (i32, i32)
  x = Merge(enter_x, next_x) N=2 T=i32 : (i32, i32)
  less = Less(i, enter_n) T=i32 : bool
  cond = LoopCond(less) : bool
  switch_i = Switch(i, cond) T=i32 : (i32, i32)
  switch_x = Switch(x, cond) T=i32 : (i32, i32)
  body_i = Identity(switch_i:1) T=i32 : i32
  step = Const(^body_i) dtype=i32 value=i32[] 1 : i32
  add_i = AddV2(body_i, step) T=i32 : i32
  add_x = AddV2(switch_x:1, body_i) T=i32 : i32
  next_i = NextIteration(add_i) T=i32 : i32
  next_x = NextIteration(add_x) T=i32 : i32
  exit_x = Exit(switch_x) T=i32 : i32
  return x=exit_x
}
)";

/// Resident bytes of this process.
double residentBytes()
{
    std::ifstream statm("/proc/self/statm");
    long size = 0;
    long resident = 0;
    statm >> size >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

int run()
{
    Result<Model> model = modelFromText(kLoop, "loop");
    if (!model.ok()) {
        std::printf("%s\n", model.error().message().c_str());
        return 1;
    }
    Result<std::unique_ptr<DataflowExecutor>> executor = DataflowExecutor::create(*model, GraphId(0));
    if (!executor.ok()) return 1;
    int32_t trips = 0;
    Tensor n;
    n.data = reinterpret_cast<std::byte*>(&trips);
    n.bytes = sizeof(trips);
    n.dtype = DType::i32;
    const auto runFor = [&](int32_t count) {
        trips = count;
        if (!(*executor)->setInput(0, n).ok() || !(*executor)->start().ok()) return -1.0;
        const int64_t from = nowNs();
        if (!(*executor)->run().ok()) return -1.0;
        return static_cast<double>(nowNs() - from) / static_cast<double>((*executor)->position().step);
    };
    runFor(1000);
    const double before = residentBytes();
    double best = 1e9;
    for (int i = 0; i < 200; ++i) best = std::min(best, runFor(5'000)); // shorter than a time slice: what else runs hardly shows
    report("v1_loop_operator", best, "ns", 30);
    note("v1_loop_operator_of_tensorflow", 175, "ns");
    runFor(1'000'000);
    report("v1_loop_million_iterations", (residentBytes() - before) / 1e6, "MB", 1);
    return 0;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
