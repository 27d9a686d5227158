// Calls of every kind, and what goes wrong with them.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

using Numbers = std::vector<int32_t>;

/// A model from text and an interpreter of its first graph.
class Session {
public:
    explicit Session(std::string_view text, const ExecutionOptions& options = {})
    {
        Result<Model> parsed = modelFromText(text, "test");
        EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message());
        if (parsed.ok()) model = std::move(parsed).value();
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
        if (made.ok()) interpreter = std::move(made).value();
    }

    void set(int index, Numbers values, const Shape& shape)
    {
        const Status status = interpreter->setInput(index, tensorOver(values, shape));
        EXPECT_TRUE(status.ok()) << status.detail().what;
    }
    void set(int index, bool value)
    {
        Tensor tensor;
        tensor.dtype = DType::boolean;
        tensor.data = reinterpret_cast<std::byte*>(&value);
        tensor.bytes = 1;
        EXPECT_TRUE(interpreter->setInput(index, tensor).ok());
    }
    /// "" or the error of starting or running.
    std::string run()
    {
        Status status = interpreter->start();
        if (status.ok()) status = interpreter->run();
        return status.ok() ? "" : std::move(status).takeError().message();
    }
    Numbers output(int index) { return elements<int32_t>(interpreter->output(index)); }

    /// Steps through a run; from every stop a fresh interpreter goes on to the same end.
    void expectRestorableEverywhere()
    {
        ASSERT_TRUE(interpreter->start().ok());
        std::vector<MachineState> states;
        while (!interpreter->position().finished) {
            states.push_back(interpreter->snapshot());
            ASSERT_TRUE(interpreter->step().ok());
        }
        const uint64_t end = interpreter->snapshot().hash();
        for (const MachineState& state : states) {
            Result<std::unique_ptr<Interpreter>> other = Interpreter::create(model, GraphId(0));
            ASSERT_TRUE(other.ok());
            Status status = (*other)->restore(state);
            ASSERT_TRUE(status.ok()) << status.detail().what;
            EXPECT_EQ((*other)->snapshot().hash(), state.hash());
            ASSERT_TRUE((*other)->run().ok());
            EXPECT_EQ((*other)->snapshot().hash(), end) << "from step " << state.step;
        }
    }

    Model model;
    std::unique_ptr<Interpreter> interpreter;
};

TEST(Calls, predicateMayHaveAnyRankButOneElement)
{
    Session session(R"(
graph main(p: bool[?,?], x: i32[]) {
  y = if(p, x) then=@same else=@twice : i32[]
  return y
}
graph same(x: i32[]) {
  return x
}
graph twice(x: i32[]) {
  y = add(x, x) : i32[]
  return y
}
)");
    bool values[2] = {false, false};
    Tensor p;
    p.dtype = DType::boolean;
    p.data = reinterpret_cast<std::byte*>(values);
    p.bytes = 1;
    p.shape = Shape{1, 1};
    ASSERT_TRUE(session.interpreter->setInput(0, p).ok());
    session.set(1, {21}, Shape{});
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), Numbers{42});
    p.bytes = 2;
    p.shape = Shape{1, 2};
    ASSERT_TRUE(session.interpreter->setInput(0, p).ok());
    EXPECT_EQ(session.run(), "main/if#0: C2: predicate, found bool[1,2], expected bool with one element");
}

TEST(Calls, branchOfAnotherDtypeFailsOnlyWhenTaken)
{
    Session session(R"(
graph main(p: bool[], x: i32[]) {
  y = if(p, x) then=@same else=@real : i32[]
  return y
}
graph same(x: i32[]) {
  return x
}
graph real(x: i32[]) {
  y = const f32[] 1.5
  return y
}
)");
    session.set(0, true);
    session.set(1, {3}, Shape{});
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), Numbers{3});
    session.set(0, false);
    EXPECT_EQ(session.run(), "main/if#0: C4: output 0 'y' f32 of 'real', expected i32");
}

TEST(Calls, recursionThatEndsComputes)
{
    Session session(R"(
graph main(n: i32[]) {
  y = call(n) call=@factorial : i32[]
  return y
}
graph factorial(n: i32[]) {
  one = const i32[] 1
  small = less_equal(n, one) : bool[]
  y = if(small, n) then=@one else=@more : i32[]
  return y
}
graph one(n: i32[]) {
  one = const i32[] 1
  return one
}
graph more(n: i32[]) {
  one = const i32[] 1
  less = sub(n, one) : i32[]
  rest = call(less) call=@factorial : i32[]
  y = mul(n, rest) : i32[]
  return y
}
)");
    for (const auto& [n, expected] : {std::pair(0, 1), std::pair(1, 1), std::pair(5, 120), std::pair(10, 3628800)}) {
        session.set(0, {n}, Shape{});
        EXPECT_EQ(session.run(), "");
        EXPECT_EQ(session.output(0), Numbers{expected});
    }
    session.set(0, {4}, Shape{});
    session.expectRestorableEverywhere();
}

TEST(Calls, recursionThatDoesNotEndIsAnError)
{
    ExecutionOptions options;
    options.maxDepth = 4;
    Session session(R"(
graph main(n: i32[]) {
  y = while(n) cond=@true body=@body : i32[]
  return y
}
graph true(n: i32[]) {
  t = const bool[] true
  return t
}
graph body(n: i32[]) {
  y = while(n) cond=@true body=@body : i32[]
  return y
}
)",
                    options);
    session.set(0, {1}, Shape{});
    EXPECT_EQ(session.run(),
              "main/while#0@0:body/while#0@0:body/while#0@0:body/while#0: recursion: body calls itself, depth 4 (--max-depth)");
}

TEST(Calls, onceRunsOnceInASession)
{
    constexpr const char* kText = R"(
graph main(x: i32[]) {
  h = var_handle() container="" shared_name="v" : resource[]
  call_once() init=@init
  call_once() init=@init
  v = read_variable(h) : i32[]
  y = add(v, x) : i32[]
  assign_variable(h, y)
  return y
}
graph init() {
  h = var_handle() container="" shared_name="v" : resource[]
  c = const i32[] 100
  assign_variable(h, c)
}
)";
    Session session(kText);
    session.set(0, {5}, Shape{});
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), Numbers{105});
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), Numbers{110});
    const int64_t second = session.interpreter->position().step;
    session.interpreter->reset();
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), Numbers{105});
    EXPECT_EQ(session.interpreter->position().step, second + 2) << "the first run of a session executes init as well";
    session.interpreter->reset();
    session.expectRestorableEverywhere();
}

TEST(Calls, rootMayReturnInputsConstantsAndRepetitions)
{
    Session session(R"(
graph main(x: i32[2], y: i32[]) {
  seven = const i32[] 7
  z = add(x, y) : i32[2]
  return y, seven, z, z, x
}
)");
    session.set(0, {1, 2}, Shape{2});
    session.set(1, {3}, Shape{});
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), Numbers{3});
    EXPECT_EQ(session.output(1), Numbers{7});
    EXPECT_EQ(session.output(2), (Numbers{4, 5}));
    EXPECT_EQ(session.output(3), (Numbers{4, 5}));
    EXPECT_EQ(session.output(4), (Numbers{1, 2}));
}

TEST(Calls, stringsChangePlacesInALoop)
{
    Session session(R"(
graph main(n: i32[]) {
  a = const str[2] ["left", "a longer one"]
  b = const str[1] ["b"]
  i, p, q = while(n, a, b) cond=@positive body=@swap : (i32[], str[?], str[?])
  return p, q
}
graph positive(n: i32[], a: str[?], b: str[?]) {
  zero = const i32[] 0
  go = greater(n, zero) : bool[]
  return go
}
graph swap(n: i32[], a: str[?], b: str[?]) {
  one = const i32[] 1
  m = sub(n, one) : i32[]
  return m, b, a
}
)");
    const auto text = [&](int k) {
        const Tensor& tensor = session.interpreter->output(k);
        return std::string(reinterpret_cast<const char*>(tensor.data), tensor.bytes);
    };
    std::string results[3][2];
    for (int trips = 0; trips < 3; ++trips) {
        session.set(0, {trips}, Shape{});
        EXPECT_EQ(session.run(), "");
        results[trips][0] = text(0);
        results[trips][1] = text(1);
    }
    EXPECT_NE(results[0][0].find("longer"), std::string::npos);
    EXPECT_EQ(results[1][0], results[0][1]);
    EXPECT_EQ(results[1][1], results[0][0]);
    EXPECT_EQ(results[2][0], results[0][0]);
    EXPECT_EQ(results[2][1], results[0][1]);
    EXPECT_EQ(session.interpreter->output(0).shape, Shape{2});
    session.expectRestorableEverywhere();
}

constexpr const char* kEndless = R"(
graph main(n: i32[]) {
  m = while(n) cond=@true body=@count : i32[]
  return m
}
graph true(n: i32[]) {
  t = const bool[] true
  return t
}
graph count(n: i32[]) {
  one = const i32[] 1
  m = add(n, one) : i32[]
  return m
}
)";

TEST(Calls, stepBudgetAndCancelEndALoop)
{
    ExecutionOptions options;
    options.maxSteps = 1000;
    Session session(kEndless, options);
    session.set(0, {0}, Shape{});
    EXPECT_EQ(session.run(), "step budget of 1,000 reached at main/while#0@1000:body/add#0");
    EXPECT_EQ(elements<int32_t>(*session.interpreter->value(-1, ValueId(0))), Numbers{1000}) << "the run can be inspected afterwards";
    EXPECT_FALSE(session.interpreter->step().ok());

    CancelFlag cancel;
    cancel.request();
    options.cancel = &cancel;
    Session cancelled(kEndless, options);
    cancelled.set(0, {0}, Shape{});
    ASSERT_TRUE(cancelled.interpreter->start().ok());
    const Status status = cancelled.interpreter->run();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.detail().code, ErrorCode::cancelled);
}

TEST(Calls, aLoopWithoutOperatorsIsEndedByTheBudget)
{
    ExecutionOptions options;
    options.maxSteps = 1000;
    Session session(R"(
graph main(n: i32[]) {
  m = while(n) cond=@true body=@nothing : i32[]
  return m
}
graph true(n: i32[]) {
  t = const bool[] true
  return t
}
graph nothing(n: i32[]) {
  return n
}
)",
                    options);
    session.set(0, {0}, Shape{});
    EXPECT_EQ(session.run(), "step budget of 1,000 reached at main/while#0@1000:body");
}

TEST(Calls, unknownOperatorFailsWhenReached)
{
    Session session(R"(
graph main(n: i32[]) {
  m = add(n, n) : i32[]
  y = custom.TFLite_Foo(m) : i32[]
  return y
}
)");
    session.set(0, {1}, Shape{});
    ASSERT_TRUE(session.interpreter->start().ok());
    ASSERT_TRUE(session.interpreter->step().ok());
    const Status status = session.interpreter->step();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.detail().code, ErrorCode::unsupported);
    EXPECT_EQ(session.run(), "main/custom#1: operator 'TFLite_Foo' has no kernel; it opens, lists and exports");
}

TEST(Calls, sizesBeyondTheMachineAreErrors)
{
    Session planned(R"(
graph main(x: i32[]) {
  dims = const i32[4] [65536, 65536, 65536, 16]
  y = fill(dims, x) : i32[?,?,?,?]
  z = add(y, y) : i32[?,?,?,?]
  return z
}
)");
    planned.set(0, {1}, Shape{});
    EXPECT_NE(planned.run(), "");
    Session dynamic(R"(
graph main(dims: i32[4], x: i32[]) {
  y = fill(dims, x) : i32[?,?,?,?]
  return y
}
)");
    dynamic.set(1, {1}, Shape{});
    dynamic.set(0, {1024, 1024, 1024, 1024}, Shape{4});
    EXPECT_NE(dynamic.run().find("main/fill#0: out of memory"), std::string::npos);
    dynamic.set(0, {2147483647, 2147483647, 2147483647, 2147483647}, Shape{4});
    EXPECT_NE(dynamic.run(), "");
    dynamic.set(0, {1, 2, 1, 1}, Shape{4});
    EXPECT_EQ(dynamic.run(), "");
    EXPECT_EQ(dynamic.output(0), (Numbers{1, 1}));
}

TEST(Calls, shapesCalculatedFromShapesArePlanned)
{
    Session session(R"(
graph main(x: i32[2,6]) {
  zero = const i32[1] [0]
  one  = const i32[1] [1]
  four = const i32[] 4
  s = shape(x) : i32[2]
  rows = strided_slice(s, zero, one, one) shrink_axis_mask=1 : i32[]
  minus = const i32[] -1
  target = pack(rows, minus) axis=0 : i32[2]
  flat = reshape(x, target) : i32[?,?]
  wide = fill(target, four) : i32[?,?]
  y = add(flat, flat) : i32[?,?]
  z = add(y, flat) : i32[?,?]
  return z
}
)");
    // fill of a negative size is an error of the graph's own, found before running: the size is known.
    session.set(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Shape{2, 6});
    EXPECT_NE(session.run().find("main/fill#4: "), std::string::npos);
    EXPECT_EQ(session.interpreter->position().step, 0);

    Session sound(R"(
graph main(x: i32[2,6]) {
  zero = const i32[1] [0]
  one  = const i32[1] [1]
  minus = const i32[] -1
  s = shape(x) : i32[2]
  rows = strided_slice(s, zero, one, one) shrink_axis_mask=1 : i32[]
  target = pack(rows, minus) axis=0 : i32[2]
  flat = reshape(x, target) : i32[?,?]
  y = add(flat, flat) : i32[?,?]
  z = add(y, flat) : i32[?,?]
  return z
}
)");
    sound.set(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Shape{2, 6});
    EXPECT_EQ(sound.run(), "");
    EXPECT_EQ(sound.output(0)[11], 36);
    EXPECT_GE(sound.interpreter->memory().arenaBytes, 128U) << "flat and y have their place in the arena";
}

TEST(Calls, inputsAreChecked)
{
    Session session(R"(
graph main(x: i32[2], y: i32[?]) {
  z = add(x, y) : i32[?]
  return z
}
)");
    const auto setting = [&](Numbers values, const Shape& shape) {
        Status status = session.interpreter->setInput(0, tensorOver(values, shape));
        return status.ok() ? "" : std::move(status).takeError().message();
    };
    std::vector<float> real = {1.0F, 2.0F};
    Status otherType = session.interpreter->setInput(0, tensorOver(real, Shape{2}));
    ASSERT_FALSE(otherType.ok());
    EXPECT_EQ(std::move(otherType).takeError().message(), "input 'x': found f32[2], expected i32[2]");
    EXPECT_FALSE(session.interpreter->setInput(2, tensorOver(real, Shape{2})).ok()) << "there are only two";
    EXPECT_EQ(setting({1, 2, 3}, Shape{2}), "input 'x': wrong number of bytes, found 12, expected 8");
    EXPECT_EQ(setting({1, 2, 3}, Shape{3}), "") << "another size resizes";
    EXPECT_EQ(session.run(), "input 'y': missing");
    session.set(1, {10, 20, 30}, Shape{3});
    EXPECT_EQ(session.run(), "");
    EXPECT_EQ(session.output(0), (Numbers{11, 22, 33}));
}

TEST(Calls, variablesKeepTheirBytesUntilReset)
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    const ValueId state = main.variable(DType::i32, Shape{2});
    main.returns({main.one("add", {state, state}, DType::i32), state});
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0));
    ASSERT_TRUE(made.ok());
    Interpreter& interpreter = **made;
    ASSERT_TRUE(interpreter.start().ok());
    ASSERT_TRUE(interpreter.run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter.output(1)), (Numbers{0, 0}));
    MachineState changed = interpreter.snapshot();
    ASSERT_EQ(changed.variables.size(), 1U);
    const Numbers seven = {7, 8};
    changed.variables[0].second.bytes = Bytes::copyOf(seven.data(), 8);
    ASSERT_TRUE(interpreter.restore(changed).ok());
    ASSERT_TRUE(interpreter.start().ok());
    ASSERT_TRUE(interpreter.run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter.output(0)), (Numbers{14, 16}));
    interpreter.reset();
    ASSERT_TRUE(interpreter.start().ok());
    ASSERT_TRUE(interpreter.run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter.output(1)), (Numbers{0, 0}));
}

TEST(Calls, valuesCanBeSeenWhileTheyLive)
{
    constexpr const char* kText = R"(
graph main(x: i32[]) {
  a = add(x, x) : i32[]
  b = add(a, a) : i32[]
  c = add(b, b) : i32[]
  return c
}
)";
    for (const bool keepAll : {false, true}) {
        ExecutionOptions options;
        options.keepAll = keepAll;
        Session session(kText, options);
        session.set(0, {1}, Shape{});
        const Graph& graph = session.model.graphs[0];
        const auto seen = [&](const char* id) { return session.interpreter->value(0, graph.findValue(id)); };
        ASSERT_TRUE(session.interpreter->start().ok());
        EXPECT_EQ(seen("a"), nullptr) << "not written yet";
        EXPECT_EQ(elements<int32_t>(*seen("x")), Numbers{1});
        ASSERT_TRUE(session.interpreter->step().ok());
        EXPECT_EQ(elements<int32_t>(*seen("a")), Numbers{2});
        ASSERT_TRUE(session.interpreter->step().ok());
        EXPECT_EQ(elements<int32_t>(*seen("a")), Numbers{2}) << "what the last operator read is still there";
        ASSERT_TRUE(session.interpreter->step().ok());
        EXPECT_EQ(seen("a") != nullptr, keepAll);
        EXPECT_EQ(elements<int32_t>(*seen("c")), Numbers{8});
        EXPECT_EQ(session.interpreter->value(1, ValueId(0)), nullptr);
        EXPECT_EQ(session.interpreter->value(0, ValueId(99)), nullptr);
    }
}

} // namespace
} // namespace loopscope::testing
