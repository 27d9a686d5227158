// What proving costs: two runs of one program side by side, every value compared, beside the two runs alone. Scalar loops are the worst
// case, since an operator costs next to nothing there; loops over vectors are what models do.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/debug/prove/lock_step.h"
#include "engine/exec/make_executor.h"
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace loopscope {
namespace {

constexpr int kRounds = 40; // short ones: the least of them is one that nobody disturbed

std::string programOver(const char* type, const char* weights)
{
    std::string text =
        "lsir 1\ngraph main(n: i32[], v: TYPE) {\n  zero = const i32[] 0\n  i, m, w = while(zero, n, v) body=@body cond=@cond : (i32[], "
        "i32[], "
        "TYPE)\n  return w\n}\ngraph cond(i: i32[], n: i32[], v: TYPE) {\n  more = less(i, n) : bool[]\n  return more\n}\ngraph body(i: "
        "i32[], n: i32[], v: TYPE) {\n  one = const i32[] 1\n  scale = const WEIGHTS\n  next = add(i, one) : i32[]\n  scaled = mul(v, "
        "scale) : TYPE\n  moved = add(scaled, scale) : TYPE\n  return next, n, moved\n}\n";
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"TYPE", type}, {"WEIGHTS", weights}})
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
    return text;
}

struct Times {
    double alone = 1e300, proved = 1e300;
};

Times measure(const std::string& text, int32_t trips, std::vector<float> v, const Shape& shape)
{
    const Result<Model> model = modelFromText(text, "bench.lsir");
    if (!model.ok()) {
        std::fprintf(stderr, "%s\n", model.error().message().c_str());
        std::exit(1);
    }
    const auto make = [&] {
        std::unique_ptr<Executor> executor = std::move(makeExecutor(*model, GraphId(0))).value();
        Tensor n, w;
        n.dtype = DType::i32;
        n.data = reinterpret_cast<std::byte*>(&trips);
        n.bytes = sizeof trips;
        w.dtype = DType::f32;
        w.shape = shape;
        w.data = reinterpret_cast<std::byte*>(v.data());
        w.bytes = v.size() * sizeof(float);
        if (!executor->setInput(0, n).ok() || !executor->setInput(1, w).ok()) std::exit(1);
        return executor;
    };
    const ValuePairing pairing = ValuePairing::create(*model, GraphId(0), *model, GraphId(0));
    const RunMap map = RunMap::ofPairing(pairing, *model, GraphId(0), *model, GraphId(0));
    Times times;
    for (int round = 0; round < kRounds; ++round) {
        const auto a = make(), b = make(), c = make(), d = make();
        const int64_t start = nowNs();
        if (!a->start().ok() || !a->run().ok() || !b->start().ok() || !b->run().ok()) std::exit(1);
        const int64_t middle = nowNs();
        const Result<Proof> proof = proveRuns(*c, *d, map, {});
        const int64_t end = nowNs();
        if (!proof.ok() || proof->verdict != ProofVerdict::exact || proof->values < 3 * int64_t{trips}) std::exit(1);
        times.alone = std::min(times.alone, static_cast<double>(middle - start));
        times.proved = std::min(times.proved, static_cast<double>(end - middle));
    }
    return times;
}

} // namespace
} // namespace loopscope

int main()
{
    using namespace loopscope;
    const Times vectors = measure(programOver("f32[16384]", "f32[16384] splat 0.5"), 200, std::vector<float>(16384, 1), Shape{16384});
    bench::report("prove.vector_loop", vectors.proved / vectors.alone, "x the two runs", 1.3);
    const Times small = measure(programOver("f32[256]", "f32[256] splat 0.5"), 4'000, std::vector<float>(256, 1), Shape{256});
    bench::report("prove.small_vector_loop", small.proved / small.alone, "x the two runs", 1.3);
    const Times scalars = measure(programOver("f32[]", "f32[] 0.5"), 50'000, {1}, Shape{});
    bench::note("prove.scalar_two_runs", scalars.alone / 50'000, "ns a trip");
    bench::report("prove.scalar_loop", scalars.proved / scalars.alone, "x the two runs", 1.3);
    return 0;
}
