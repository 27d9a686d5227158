// What it costs to save and restore the machine inside a loop: the price of a checkpoint, next to the bytes it holds.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/bench/report.h"
#include "tests/unit/exec/model_builder.h"

#include <algorithm>
#include <cstdlib>

using namespace loopscope;
using namespace loopscope::testing;

namespace {

constexpr const char* kLoop = R"(
graph main(n: i32[], x: i32[64,64]) {
  zero = const i32[] 0
  i, m, y = while(zero, n, x) cond=@cond body=@body : (i32[], i32[], i32[64,64])
  return y
}
graph cond(i: i32[], n: i32[], x: i32[64,64]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x: i32[64,64]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  y = add(x, one) : i32[64,64]
  return next, n, y
}
)";

[[noreturn]] void giveUp(const std::string& message)
{
    std::fprintf(stderr, "%s\n", message.c_str());
    std::exit(1);
}

void expect(Status status)
{
    if (!status.ok()) giveUp(std::move(status).takeError().message());
}

} // namespace

int main()
{
    Result<Model> model = modelFromText(kLoop, "bench");
    if (!model.ok()) giveUp(model.error().message());
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(*model, GraphId(0));
    if (!made.ok()) giveUp(made.error().message());
    Interpreter& interpreter = **made;
    std::vector<int32_t> trips = {1000};
    std::vector<int32_t> x(64 * 64, 1);
    expect(interpreter.setInput(0, tensorOver(trips, Shape{})));
    expect(interpreter.setInput(1, tensorOver(x, Shape{64, 64})));
    expect(interpreter.start());
    for (int step = 0; step < 500; ++step) expect(interpreter.step());
    double saving = 1e9;
    double restoring = 1e9;
    for (int round = 0; round < 200; ++round) {
        const int64_t before = nowNs();
        const MachineState state = interpreter.snapshot();
        const int64_t saved = nowNs();
        expect(interpreter.restore(state));
        saving = std::min(saving, static_cast<double>(saved - before) / 1e3);
        restoring = std::min(restoring, static_cast<double>(nowNs() - saved) / 1e3);
    }
    bench::note("snapshot_bytes", static_cast<double>(interpreter.snapshot().byteSize()), "bytes");
    bench::report("snapshot_save", saving, "us", 50);
    bench::report("snapshot_restore", restoring, "us", 50);
}
