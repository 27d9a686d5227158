// A pause in the middle of an operator that would take minutes: it ends there, and the session goes on as if it had stopped before it.
#include "engine/api/debug_session.h"
#include "tests/unit/debug/debugger_fixture.h"

#include <chrono>
#include <future>

namespace loopscope::testing {
namespace {

struct LongKernel {
    const char* name;
    const char* text;
    const char* address; ///< of the operator that takes so long
};

void PrintTo(const LongKernel& kernel, std::ostream* out) { *out << kernel.name; }

class Interruption : public ::testing::TestWithParam<LongKernel> {};

std::unique_ptr<DebugSession> open(const char* text, int threads)
{
    OpenOptions options;
    options.inputs = {"n=3"};
    options.execution.threads = threads;
    options.execution.keepAll = true;
    const auto read = [&](const std::string&) -> Result<std::shared_ptr<const Model>> {
        return std::make_shared<const Model>(textModel(text));
    };
    Result<std::unique_ptr<DebugSession>> session = DebugSession::open("model.lsir", read, std::move(options));
    EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message());
    return std::move(session).value();
}

std::string valueOf(DebugSession& session, const std::string& expression)
{
    const auto values = session.ask([&](Inspector& inspector) { return inspector.evaluate({}, expression); });
    return values.ok() && values->size() == 1 ? bareText(values->front(), {}) : "error";
}

/// Pauses until the request has its answer.
Result<Stop> runAndPause(DebugSession& session)
{
    std::promise<Result<Stop>> promise;
    std::future<Result<Stop>> answer = promise.get_future();
    session.post("long", request::Resume(), {}, [&](Result<Stop> stop) { promise.set_value(std::move(stop)); });
    while (answer.wait_for(std::chrono::milliseconds(300)) != std::future_status::ready) session.pause();
    return answer.get();
}

TEST_P(Interruption, endsInTheMiddleOfAnOperator)
{
    for (const int threads : {1, 2}) {
        const auto session = open(GetParam().text, threads);
        Result<Stop> stop = session->begin({{}, false});
        ASSERT_TRUE(stop.ok());
        for (int step = 0; stop->report.address != GetParam().address; ++step) { // what is before it may take long, too, on a slow machine
            ASSERT_LT(step, 20) << stop->report.address;
            stop = session->move(request::Step());
            ASSERT_TRUE(stop.ok()) << stop.error().message();
        }
        stop = runAndPause(*session);
        ASSERT_TRUE(stop.ok()) << stop.error().message();
        ASSERT_TRUE(stop->report.has(StopCause::cancelled)) << "it came to its end, or failed";
        EXPECT_EQ(stop->report.address, GetParam().address);
        EXPECT_EQ(valueOf(*session, "m"), "4") << "what was computed before is there";
        const Result<Stop> before = session->move(request::Step{Direction::backward});
        ASSERT_TRUE(before.ok()) << before.error().message();
        EXPECT_EQ(before->report.tick, stop->report.tick - 1);
        const Result<Stop> again = session->move(request::Step());
        ASSERT_TRUE(again.ok()) << again.error().message();
        EXPECT_EQ(again->report.address, GetParam().address);
        // It runs anew, and is ended anew.
        const Result<Stop> second = runAndPause(*session);
        ASSERT_TRUE(second.ok()) << second.error().message();
        EXPECT_TRUE(second->report.has(StopCause::cancelled));
        EXPECT_EQ(second->report.address, GetParam().address);
    }
}

constexpr LongKernel kKernels[] = {
    {"matrix_product", R"(
graph main(n: i32[]) {
  one = const i32[] 1
  m = add(n, one) : i32[]
  shape = const i32[2] [4000, 4000]
  half = const f32[] 0.5
  a = fill(shape, half) : f32[4000,4000]
  y = batch_matmul(a, a) : f32[4000,4000]
  return m, y
}
)",
     "main/batch_matmul#2"},
    {"windows", R"(
graph main(n: i32[]) {
  one = const i32[] 1
  m = add(n, one) : i32[]
  shape = const i32[2] [1024, 1024]
  half = const f32[] 0.5
  window = const i64[2] [512, 512]
  ones = const i64[2] [1, 1]
  a = fill(shape, half) : f32[1024,1024]
  y = reduce_window(a, half, window, ones, ones) reduce_function=ADD : f32[513,513]
  return m, y
}
)",
     "main/reduce_window#2"},
    {"pooling", R"(
graph main(n: i32[]) {
  one = const i32[] 1
  m = add(n, one) : i32[]
  shape = const i32[4] [1, 2048, 2048, 1]
  half = const f32[] 0.5
  a = fill(shape, half) : f32[1,2048,2048,1]
  y = max_pool_2d(a) padding=VALID stride_w=1 stride_h=1 filter_width=1024 filter_height=1024 fused_activation_function=NONE : f32[1,1025,1025,1]
  return m, y
}
)",
     "main/max_pool_2d#2"},
    {"sorting", R"(
graph main(n: i32[]) {
  one = const i32[] 1
  m = add(n, one) : i32[]
  shape = const i32[1] [20000000]
  half = const f32[] 0.5
  k = const i32[] 9000000
  a = fill(shape, half) : f32[20000000]
  y, places = topk_v2(a, k) : (f32[9000000], i32[9000000])
  return m, y
}
)",
     "main/topk_v2#2"},
    {"dataflow", R"(
graph main(n: i32[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32
  m = AddV2(n, one) T=i32 : i32
  yes = Const() dtype=bool value=bool[] true : bool
  switch = Switch(m, yes) T=i32 : (i32, i32)
  four = Identity(switch:1) T=i32 : i32
  shape = Const() dtype=i32 value=i32[2] [3000, 3000] : i32
  half = Const() dtype=f32 value=f32[] 0.5 : f32
  a = Fill(shape, half, ^four) T=f32 index_type=i32 : f32
  y = Einsum(a, a) N=2 T=f32 equation="ij,jk->ik" : f32
  return y=y
}
)",
     "main/y"},
};

/// A cell that has gone through a part of its sequence has changed its state, which counts for the next attempt.
TEST(InterruptionTest, statesAreAsBeforeTheOperator)
{
    const auto session = open(R"(
graph main(n: i32[]) {
  x = const f32[1,30000,1] splat 1.0
  w = const f32[1024,1] splat 0.5
  r = const f32[1024,1024] splat 0.25
  b = const f32[1024] splat 1.0
  h = variable f32[1,1024]
  m = add(n, n) : i32[]
  y = unidirectional_sequence_rnn(x, w, r, b, h) act=TANH : f32[1,30000,1024]
  return m, y
}
)",
                              1);
    ASSERT_TRUE(session->begin({{}, false}).ok());
    ASSERT_TRUE(session->move(request::Step()).ok());
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Result<Stop> stop = runAndPause(*session);
        ASSERT_TRUE(stop.ok()) << stop.error().message();
        ASSERT_TRUE(stop->report.has(StopCause::cancelled)) << "it came to its end, or failed";
        EXPECT_EQ(valueOf(*session, "max(abs(h))"), "0");
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Interruption, ::testing::ValuesIn(kKernels),
                         [](const ::testing::TestParamInfo<LongKernel>& info) { return info.param.name; });

} // namespace
} // namespace loopscope::testing
