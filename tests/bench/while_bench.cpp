// What a loop costs: a While whose cond is LESS and whose body is two ADDs on i32 scalars, beside the same three kernels called bare.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/exec/interpreter.h"
#include "engine/kernels/registry.h"
#include "tests/bench/report.h"
#include "tests/unit/exec/model_builder.h"

#include <algorithm>
#include <cstdlib>

using namespace loopscope;
using namespace loopscope::testing;

namespace {

[[noreturn]] void giveUp(Status status)
{
    std::fprintf(stderr, "%s\n", std::move(status).takeError().message().c_str());
    std::exit(1);
}

constexpr int32_t kTrips = 5'000; // runs shorter than a time slice, many of them: what else the machine does hardly shows in the best
constexpr int kRounds = 400;

/// main(n): (i, n, s) from (0, n, 0); while (i < n) (i + 1, n, s + i); returns s.
Model counting()
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    GraphBuilder cond = addGraph(model, "cond");
    GraphBuilder body = addGraph(model, "body");
    for (int k = 0; k < 3; ++k) {
        cond.input(DType::i32, Shape{});
        body.input(DType::i32, Shape{});
    }
    cond.returns({cond.one("less", {cond.graph().inputs[0], cond.graph().inputs[1]}, DType::boolean)});
    const std::vector<ValueId> formals = body.graph().inputs;
    const ValueId next = body.one("add", {formals[0], body.constant<int32_t>(Shape{}, {1})}, DType::i32);
    body.returns({next, formals[1], body.one("add", {formals[2], formals[0]}, DType::i32)});
    const ValueId n = main.input(DType::i32, Shape{});
    const ValueId zero = main.constant<int32_t>(Shape{}, {0});
    const std::vector<ValueId> results = main.op("while", {zero, n, zero}, {DType::i32, DType::i32, DType::i32},
                                                 {graphAttribute("cond", cond.id()), graphAttribute("body", body.id())});
    main.returns({results[2]});
    return model;
}

constexpr const char* kMain = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  i, m, s = while(zero, n, zero) cond=@cond body=@body : (i32[], i32[], i32[])
  return s
}
graph cond(i: i32[], n: i32[], s: i32[]) {
  go = less(i, n) : bool[]
  return go
}
)";

/// A branch in every iteration.
constexpr const char* kBranching = R"(
graph body(i: i32[], n: i32[], s: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  small = less(s, one) : bool[]
  t = if(small, s, i) then=@plus else=@minus : i32[]
  return next, n, t
}
graph plus(s: i32[], i: i32[]) {
  t = add(s, i) : i32[]
  return t
}
graph minus(s: i32[], i: i32[]) {
  t = sub(s, i) : i32[]
  return t
}
)";

/// Ten additions in every iteration.
constexpr const char* kTenAdds = R"(
graph body(i: i32[], n: i32[], s: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  s1 = add(s, i) : i32[]
  s2 = add(s1, i) : i32[]
  s3 = add(s2, i) : i32[]
  s4 = add(s3, i) : i32[]
  s5 = add(s4, i) : i32[]
  s6 = add(s5, i) : i32[]
  s7 = add(s6, i) : i32[]
  s8 = add(s7, i) : i32[]
  s9 = add(s8, i) : i32[]
  s10 = add(s9, i) : i32[]
  return next, n, s10
}
)";

/// Values whose size is known only when they are computed.
constexpr const char* kDynamic = R"(
graph body(i: i32[], n: i32[], s: i32[]) {
  one = const i32[] 1
  axis = const i32[] 0
  dims = const i32[1] [1]
  next = add(i, one) : i32[]
  bit = floor_mod(i, one) : i32[]
  size = add(bit, one) : i32[]
  shape = reshape(size, dims) : i32[1]
  filled = fill(shape, i) : i32[?]
  twice = add(filled, filled) : i32[?]
  t = reduce_max(twice, axis) : i32[]
  return next, n, t
}
)";

/// The body passes its values on crosswise.
constexpr const char* kSwapping = R"(
graph body(i: i32[], n: i32[], s: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  return next, n, i
}
)";

/// The same with a value of ten elements beside the counter; the body consists of `count` operators on it.
std::string onTenElements(const char* kind, int count)
{
    std::string text = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  start = const f32[10] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  i, m, x = while(zero, n, start) cond=@cond body=@body : (i32[], i32[], f32[10])
  s = cast(i) : i32[]
  return s
}
graph cond(i: i32[], n: i32[], x: f32[10]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x0: f32[10]) {
  one = const i32[] 1
  half = const f32[10] [0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25]
  next = add(i, one) : i32[]
)";
    for (int k = 0; k < count; ++k) text += "  x" + std::to_string(k + 1) + " = " + kind + "(x" + std::to_string(k) + ", half) : f32[10]\n";
    return text + "  return next, n, x" + std::to_string(count) + "\n}\n";
}

Model parsed(const std::string& text)
{
    Result<Model> model = modelFromText(text, "bench");
    if (!model.ok()) giveUp(std::move(model).takeError());
    return std::move(model).value();
}

Model fromText(const char* body)
{
    Result<Model> model = modelFromText(std::string(kMain) + body, "bench");
    if (!model.ok()) giveUp(std::move(model).takeError());
    return std::move(model).value();
}

/// Nanoseconds per iteration, the best of several runs.
double interpreted(const Model& model, ExecutionObserver* observer, Profile profile = Profile::reference)
{
    ExecutionOptions options;
    options.profile = profile;
    Result<std::unique_ptr<Interpreter>> interpreter = Interpreter::create(model, GraphId(0), options);
    if (!interpreter.ok()) giveUp(std::move(interpreter).takeError());
    (*interpreter)->setObserver(observer);
    std::vector<int32_t> trips = {kTrips};
    double best = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        if (Status status = (*interpreter)->setInput(0, tensorOver(trips, Shape{})); !status.ok()) giveUp(std::move(status));
        if (Status status = (*interpreter)->start(); !status.ok()) giveUp(std::move(status));
        const int64_t from = nowNs();
        if (Status status = (*interpreter)->run(); !status.ok()) giveUp(std::move(status));
        best = std::min(best, static_cast<double>(nowNs() - from) / kTrips);
    }
    return best;
}

/// The same kernels with the same operands, in a plain loop.
double bare(const Model& model)
{
    struct Call {
        PreparedKernel kernel;
        std::vector<const Tensor*> inputs;
        std::vector<Tensor*> outputs;
        KernelArgs args = {};
    };
    int32_t values[4] = {0, kTrips, 0, 1}; // i, n, s, one
    bool go = false;
    const auto tensorOf = [](void* data, DType dtype, size_t bytes) {
        Tensor tensor;
        tensor.data = static_cast<std::byte*>(data);
        tensor.bytes = bytes;
        tensor.dtype = dtype;
        return tensor;
    };
    Tensor i = tensorOf(&values[0], DType::i32, 4);
    Tensor n = tensorOf(&values[1], DType::i32, 4);
    Tensor s = tensorOf(&values[2], DType::i32, 4);
    Tensor one = tensorOf(&values[3], DType::i32, 4);
    Tensor verdict = tensorOf(&go, DType::boolean, 1);
    const auto prepare = [](const Operator& op, std::vector<const Tensor*> inputs, Tensor* output) {
        Call call;
        call.inputs = std::move(inputs);
        call.outputs = {output};
        const std::vector<const Tensor*> outputs = {output};
        const KernelEntry* entry = KernelRegistry::builtin().find(op.kind, Profile::reference);
        Result<PreparedKernel> kernel = entry->prepare(KernelSetup{op, call.inputs, outputs, true});
        if (!kernel.ok()) giveUp(std::move(kernel).takeError());
        call.kernel = std::move(kernel).value();
        return call;
    };
    Call calls[] = {prepare(model.graphs[1].operators[0], {&i, &n}, &verdict), prepare(model.graphs[2].operators[1], {&s, &i}, &s),
                    prepare(model.graphs[2].operators[0], {&i, &one}, &i)};
    for (Call& call : calls)
        call.args = {call.inputs.data(), call.outputs.data(), call.kernel.params.get(), nullptr, static_cast<int>(call.inputs.size()), 1};
    double best = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        values[0] = values[2] = 0;
        const int64_t from = nowNs();
        for (;;) {
            if (!calls[0].kernel.run(calls[0].args).ok() || !go) break;
            if (!calls[1].kernel.run(calls[1].args).ok() || !calls[2].kernel.run(calls[2].args).ok()) break;
        }
        best = std::min(best, static_cast<double>(nowNs() - from) / kTrips);
    }
    return best;
}

/// What an operator of ten elements costs beside its arithmetic, which is a plain loop over as many.
double besideArithmetic(const char* kind, Profile profile)
{
    const double many = interpreted(parsed(onTenElements(kind, 21)), nullptr, profile);
    const double one = interpreted(parsed(onTenElements(kind, 1)), nullptr, profile);
    float x[10] = {}, half[10] = {};
    double best = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        const int64_t from = nowNs();
        for (int k = 0; k < kTrips; ++k) {
            for (int i = 0; i < 10; ++i) x[i] = x[i] + half[i];
            asm volatile("" : : "r"(x), "r"(half) : "memory");
        }
        best = std::min(best, static_cast<double>(nowNs() - from) / kTrips);
    }
    return (many - one) / 20 - best;
}

} // namespace

int main()
{
    const Model model = counting();
    bench::note("while_bare_kernels", bare(model), "ns");
    bench::report("while_iteration", interpreted(model, nullptr), "ns", 15);
    ExecutionObserver nobody;
    bench::note("while_iteration_observed", interpreted(model, &nobody), "ns");
    bench::note("while_with_ten_adds", interpreted(fromText(kTenAdds), nullptr), "ns");
    for (const Profile profile : {Profile::reference, Profile::fast})
        for (const char* const kind : {"add", "mul", "maximum"})
            bench::report((std::string("ten_elements_") + kind + "_" + std::string(profileName(profile))).c_str(),
                          besideArithmetic(kind, profile), "ns", 12);
    bench::note("while_with_branch", interpreted(fromText(kBranching), nullptr), "ns");
    bench::note("while_with_swap", interpreted(fromText(kSwapping), nullptr), "ns");
    bench::note("while_with_dynamic_values", interpreted(fromText(kDynamic), nullptr), "ns");
}
