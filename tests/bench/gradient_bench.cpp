// What gradients cost: building them for a graph of 10,000 nodes, and running a scalar loop with its gradient beside the loop alone.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/exec/make_executor.h"
#include "engine/transform/gradient/model_gradient.h"
#include "engine/transform/run_selection.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace loopscope::bench {
namespace {

constexpr int32_t kTrips = 1000;
constexpr int kNodes = 10'000, kRounds = 100;

[[noreturn]] void giveUp(Status status)
{
    std::fprintf(stderr, "%s\n", std::move(status).takeError().message().c_str());
    std::exit(1);
}

Model fromText(const std::string& text)
{
    Result<Model> model = modelFromText(text, "gradient");
    if (!model.ok()) giveUp(std::move(model).takeError());
    return std::move(model).value();
}

/// x ↦ k·sin(x), n times. `scalar` is what the file says of the shapes of computed values: "[]", or nothing.
std::string loopOf(const std::string& scalar)
{
    return R"(model tf
graph main(x: f32[], n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  w = While(zero, n, x) T=[i32, i32, f32] body=@body cond=@cond : (i32)" +
           scalar + ", i32" + scalar + ", f32" + scalar + R"()
  y = Identity(w:2) T=f32 : f32)" +
           scalar + R"(
  return y=y
}
graph cond(i: i32[], n: i32[], x: f32[]) {
  c = Less(i, n) T=i32 : bool
  return c=c
}
graph body(i: i32[], n: i32[], x: f32[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32
  k = Const() dtype=f32 value=f32[] 0.999 : f32
  next = AddV2(i, one) T=i32 : i32)" +
           scalar + R"(
  s = Sin(x) T=f32 : f32)" +
           scalar + R"(
  r = Mul(s, k) T=f32 : f32)" +
           scalar + R"(
  return next=next, n=n, x=r
}
)";
}

/// A chain of products and sines.
std::string chain()
{
    std::string text = "model tf\ngraph main(v0: f32[4]) {\n";
    for (int k = 0; k < kNodes; ++k) {
        const std::string before = "v" + std::to_string(k), result = "  v" + std::to_string(k + 1) + " = ";
        text += result + (k % 2 == 0 ? "Sin(" + before : "Mul(" + before + ", v0") + ") T=f32 : f32[4]\n";
    }
    return text + "  return y=v" + std::to_string(kNodes) + "\n}\n";
}

void differentiate(Model& model, const std::string& by)
{
    const Graph& main = model.graph(GraphId(0));
    GradientRequest request;
    request.graph = GraphId(0);
    request.of = {main.outputs[0].value};
    request.wrt = {main.findValue(by)};
    if (Result<ModelGradient> made = addGradients(model, request); !made.ok()) giveUp(std::move(made).takeError());
}

/// Microseconds of a run, the best of many.
double microseconds(const Model& model)
{
    const Result<Model> selected = selectForRun(model, GraphId(0), {});
    if (!selected.ok()) std::exit(1);
    Result<std::unique_ptr<Executor>> executor = makeExecutor(*selected, GraphId(0));
    if (!executor.ok()) giveUp(std::move(executor).takeError());
    float start = 0.5F;
    int32_t trips = kTrips;
    Tensor x, n;
    x.data = reinterpret_cast<std::byte*>(&start);
    x.bytes = sizeof start;
    x.dtype = DType::f32;
    n.data = reinterpret_cast<std::byte*>(&trips);
    n.bytes = sizeof trips;
    n.dtype = DType::i32;
    double best = 1e18;
    for (int round = 0; round < kRounds; ++round) {
        if (!(*executor)->setInput(0, x).ok() || !(*executor)->setInput(1, n).ok() || !(*executor)->start().ok()) std::exit(1);
        const int64_t from = nowNs();
        if (Status status = (*executor)->run(); !status.ok()) giveUp(std::move(status));
        best = std::min(best, static_cast<double>(nowNs() - from) / 1e3);
    }
    return best;
}

void reportRatio(const char* name, const std::string& text)
{
    const Model forward = fromText(text);
    Model both = fromText(text);
    differentiate(both, "x");
    const double alone = microseconds(forward), together = microseconds(both);
    note((std::string(name) + "_forward").c_str(), alone, "us");
    note((std::string(name) + "_both").c_str(), together, "us");
    report((std::string(name) + "_ratio").c_str(), together / alone, "x", 3.5);
}

int run()
{
    reportRatio("gradient_loop", loopOf("[]"));
    reportRatio("gradient_loop_without_shapes", loopOf(""));
    double best = 1e18;
    for (int round = 0; round < 3; ++round) {
        Model model = fromText(chain());
        const int64_t from = nowNs();
        differentiate(model, "v0");
        best = std::min(best, static_cast<double>(nowNs() - from) / 1e9);
    }
    report("gradient_of_10000_nodes", best, "s", 1);
    return 0;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
