// Models for tests of the questions that a debugger answers, and a session on one of them.
#pragma once

#include "engine/debug/target.h"
#include "engine/debug/timeline.h"
#include "engine/observe/address_resolution.h"
#include "tests/unit/debug/timeline_models.h"

#include <memory>

namespace loopscope::testing {

/// The steps from x to 1 of the Collatz sequence; the branch decides between halving and tripling.
inline constexpr const char* kCountedCollatz = R"(
graph main(x: i32[]) {
  zero = const i32[] 0
  i, y, n = while(zero, x, zero) cond=@cond body=@body : (i32[], i32[], i32[])
  return y, n
}
graph cond(i: i32[], x: i32[], n: i32[]) {
  one = const i32[] 1
  go = not_equal(x, one) : bool[]
  return go
}
graph body(i: i32[], x: i32[], n: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  two = const i32[] 2
  mod = floor_mod(x, two) : i32[]
  even = equal(mod, zero) : bool[]
  next = if(even, x) then=@half else=@triple : i32[]
  more = add(n, one) : i32[]
  i1 = add(i, one) : i32[]
  return i1, next, more
}
graph half(x: i32[]) {
  two = const i32[] 2
  y = floor_div(x, two) : i32[]
  return y
}
graph triple(x: i32[]) {
  one = const i32[] 1
  three = const i32[] 3
  t = mul(x, three) : i32[]
  y = add(t, one) : i32[]
  return y
}
)";

/// A loop of n iterations whose state is divided by what a table says: the table may hold 0 / 0.
inline constexpr const char* kDivisions = R"(
graph main(n: i32[], table: f32[700], state: f32[2]) {
  zero = const i32[] 0
  i, m, t, s = while(zero, n, table, state) cond=@cond body=@body : (i32[], i32[], f32[700], f32[2])
  one = const f32[] 1.0
  shifted = add(s, one) : f32[2]
  return shifted
}
graph cond(i: i32[], n: i32[], table: f32[700], state: f32[2]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], table: f32[700], state: f32[2]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  entry = gather(table, i) axis=0 : f32[]
  part = div(entry, entry) : f32[]
  moved = mul(state, part) : f32[2]
  return next, n, table, moved
}
)";

/// Sums up to n: endless where n is the largest i32.
inline constexpr const char* kSum = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  i, s, m = while(zero, zero, n) cond=@cond body=@body : (i32[], i32[], i32[])
  return s
}
graph cond(i: i32[], s: i32[], n: i32[]) {
  go = less_equal(i, n) : bool[]
  return go
}
graph body(i: i32[], s: i32[], n: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  sum = add(s, i) : i32[]
  return next, sum, n
}
)";

/// Two values that change places, and one that comes back every third iteration: endless.
inline constexpr const char* kRing = R"(
graph main(a: i32[], b: i32[], k: i32[]) {
  x, y, z = while(a, b, k) cond=@cond body=@body : (i32[], i32[], i32[])
  return x, y, z
}
graph cond(a: i32[], b: i32[], k: i32[]) {
  ten = const i32[] 10
  go = less(k, ten) : bool[]
  return go
}
graph body(a: i32[], b: i32[], k: i32[]) {
  one = const i32[] 1
  three = const i32[] 3
  more = add(k, one) : i32[]
  ring = floor_mod(more, three) : i32[]
  return b, a, ring
}
)";

/// A model being run on a timeline.
class Inspected {
public:
    Inspected(const char* text, const std::function<void(Subject&)>& feed, int64_t maxSteps = 1'000'000)
    {
        m_subject.model = std::make_shared<Model>(textModel(text));
        m_subject.maxSteps = maxSteps;
        feed(m_subject);
        m_executor = m_subject.make();
        m_timeline = std::make_unique<Timeline>(*m_executor);
        m_target = std::make_unique<DebugTarget>(DebugTarget{*m_subject.model, *m_executor, *m_timeline, m_control});
        EXPECT_OK(m_timeline->start());
    }

    const DebugTarget& target() const { return *m_target; }
    Timeline& timeline() { return *m_timeline; }
    Interpreter& executor() { return *m_executor; }
    const Model& model() const { return *m_subject.model; }

    ResolvedAddress place(const std::string& text) const
    {
        const Result<Address> address = parseAddress(text);
        EXPECT_TRUE(address.ok()) << text;
        Result<ResolvedAddress> resolved = resolveAddress(*m_subject.model, *address);
        EXPECT_TRUE(resolved.ok()) << text;
        return std::move(resolved).value();
    }
    /// Steps to the first stop with this position.
    void goTo(const std::string& position)
    {
        EXPECT_OK(m_timeline->goTo(0));
        while (m_executor->positionAddress() != position && !m_timeline->finished())
            if (!m_timeline->forward().ok()) break;
        EXPECT_EQ(m_executor->positionAddress(), position);
    }

private:
    Subject m_subject;
    std::unique_ptr<Interpreter> m_executor;
    std::unique_ptr<Timeline> m_timeline;
    TravelControl m_control;
    std::unique_ptr<DebugTarget> m_target;
};

} // namespace loopscope::testing
