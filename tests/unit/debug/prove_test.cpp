// The prover on maps of its own: what pairs decides, what is guessed tells where a difference begins, and nothing waits for ever.
#include "converters/lsir/lsir.h"
#include "engine/debug/prove/lock_step.h"
#include "engine/exec/make_executor.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

Model modelOf(const std::string& text)
{
    Result<Model> model = modelFromText("lsir 1\n" + text, "test.lsir");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return std::move(model).value();
}

/// Sums 0 to n − 1; `step` is what is added to the counter.
Model sumOf(const std::string& step)
{
    return modelOf(
        "graph main(n: i32[]) {\n  zero = const i32[] 0\n  i, s, m = while(zero, zero, n) body=@body cond=@cond : (i32[], i32[], i32[])\n"
        "  return s\n}\ngraph cond(i: i32[], s: i32[], n: i32[]) {\n  go = less(i, n) : bool[]\n  return go\n}\n"
        "graph body(i: i32[], s: i32[], n: i32[]) {\n  one = const i32[] " +
        step + "\n  s2 = add(s, i) : i32[]\n  i2 = add(i, one) : i32[]\n  return i2, s2, n\n}\n");
}

std::unique_ptr<Executor> runOf(const Model& model, int32_t n)
{
    Result<std::unique_ptr<Executor>> made = makeExecutor(model, GraphId(0));
    EXPECT_TRUE(made.ok());
    Tensor tensor;
    tensor.dtype = DType::i32;
    tensor.data = reinterpret_cast<std::byte*>(&n);
    tensor.bytes = sizeof n;
    EXPECT_TRUE((*made)->setInput(0, tensor).ok());
    return std::move(made).value();
}

Proof proofOf(const Model& a, const Model& b, int32_t n, const ProofOptions& options = {})
{
    const ValuePairing pairing = ValuePairing::create(a, GraphId(0), b, GraphId(0));
    const RunMap map = RunMap::ofPairing(pairing, a, GraphId(0), b, GraphId(0));
    const auto here = runOf(a, n), there = runOf(b, n);
    Result<Proof> proof = proveRuns(*here, *there, map, options);
    EXPECT_TRUE(proof.ok());
    return std::move(proof).value();
}

TEST(Prove, ComparesEveryWriteOfALoop)
{
    const Model model = sumOf("1");
    const Proof proof = proofOf(model, model, 10);
    EXPECT_EQ(proof.verdict, ProofVerdict::exact);
    EXPECT_EQ(proof.values, 11 + 2 * 10 + 1 + 1); // conditions, bodies, the result that is read, the output
    EXPECT_EQ(proof.trips, 1);
    EXPECT_EQ(proof.onlyHere + proof.onlyThere, 0);
}

TEST(Prove, NamesTheFirstWriteThatDiffers)
{
    const Proof proof = proofOf(sumOf("1"), sumOf("2"), 10);
    ASSERT_TRUE(proof.first);
    EXPECT_EQ(proof.verdict, ProofVerdict::different);
    EXPECT_EQ(proof.first->address, "main/while#0@0:body/add#1:0"); // same structure: addresses decide
    EXPECT_EQ(proof.first->a, "1");
    EXPECT_EQ(proof.first->b, "2");
}

TEST(Prove, ALoopThatGoesOnIsDifferentAndEnds)
{
    const Proof proof = proofOf(sumOf("1"), sumOf("0"), 3); // the second never ends
    EXPECT_EQ(proof.verdict, ProofVerdict::different);
}

/// Sums min(i, most) as long as i < n, and divides what comes by n − i where `divides`.
Model boundedSumOf(const std::string& most, const std::string& limit, bool divides = false)
{
    return modelOf(
        "graph main(n: i32[]) {\n  zero = const i32[] 0\n  i, s, m = while(zero, zero, n) body=@body cond=@cond : (i32[], i32[], i32[])\n"
        "  return s\n}\ngraph cond(i: i32[], s: i32[], n: i32[]) {\n  limit = const i32[] " +
        limit + "\n  go = less(i, limit) : bool[]\n  return go\n}\n" +
        "graph body(i: i32[], s: i32[], n: i32[]) {\n  one = const i32[] 1\n  most = const i32[] " + most +
        "\n  bounded = minimum(i, most) : i32[]\n" +
        (divides ? "  left = sub(n, i) : i32[]\n  part = div(bounded, left) : i32[]\n" : "  part = add(bounded, one) : i32[]\n") +
        "  s2 = add(s, part) : i32[]\n  i2 = add(i, one) : i32[]\n  return i2, s2, n\n}\n");
}

TEST(Prove, FindsADifferenceAmongManyIterations)
{
    const Proof proof = proofOf(boundedSumOf("1000", "3000"), boundedSumOf("1001", "3000"), 0);
    EXPECT_EQ(proof.verdict, ProofVerdict::different);
    ASSERT_TRUE(proof.first);
    EXPECT_EQ(proof.first->address, "main/while#0@1001:body/minimum#0:0");
    EXPECT_EQ(proof.first->there, "main/while#0@1001:body/minimum#0:0");
    EXPECT_EQ(proof.first->step, 1001 * 5 + 1); // a condition and four operators an iteration
    EXPECT_EQ(proof.first->a, "1000");
    EXPECT_EQ(proof.first->b, "1001");
}

TEST(Prove, FindsAConditionThatSaysNoEarlier)
{
    for (const auto& [a, b] : {std::pair("3000", "2500"), std::pair("2500", "3000")}) {
        const Proof proof = proofOf(boundedSumOf("7", a), boundedSumOf("7", b), 0);
        EXPECT_EQ(proof.verdict, ProofVerdict::different);
        ASSERT_TRUE(proof.first);
        EXPECT_EQ(proof.first->address, "main/while#0@2500:cond/less#0:0");
        EXPECT_EQ(proof.first->step, 2500 * 5);
        EXPECT_EQ(proof.first->a, std::string_view(a) == "3000" ? "true" : "false");
    }
}

TEST(Prove, CountsEachValueOfManyIterations)
{
    const Model model = boundedSumOf("7", "20000");
    const Proof proof = proofOf(model, model, 0);
    EXPECT_EQ(proof.verdict, ProofVerdict::exact);
    EXPECT_EQ(proof.values, 20001 + 4 * 20000 + 1 + 1); // conditions, bodies, the result that is read, the output
    EXPECT_EQ(proof.onlyHere + proof.onlyThere, 0);
    EXPECT_EQ(proof.steps, 20001 + 4 * 20000 + 1);
    EXPECT_EQ(proof.trips, 1);
}

TEST(Prove, AnErrorAmongManyIterationsIsOneOfBoth)
{
    const Model model = boundedSumOf("7", "20000", true);
    const Proof both = proofOf(model, model, 9000);
    EXPECT_EQ(both.verdict, ProofVerdict::exact);
    EXPECT_NE(both.refused, "");
    EXPECT_EQ(both.values, 9001 + 5 * 9000 + 2); // in the last iteration the division fails
    EXPECT_EQ(both.onlyHere + both.onlyThere, 0);
}

TEST(Prove, ValuesAreLetGoWhereTheyWaitInVain)
{
    // The second program computes the first one's values in the other order, in runs of whole loops: one side waits for long.
    const auto twoLoops = [](bool swapped) {
        const std::string first = "  a, s, p = while(zero, zero, n) body=@body cond=@cond : (i32[], i32[], i32[])\n";
        const std::string second = "  b, t, q = while(zero, zero, n) body=@body cond=@cond : (i32[], i32[], i32[])\n";
        return modelOf(
            "graph main(n: i32[]) {\n  zero = const i32[] 0\n" + (swapped ? second + first : first + second) +
            "  y = sub(s, t) : i32[]\n  return y\n}\ngraph cond(i: i32[], s: i32[], n: i32[]) {\n  go = less(i, n) : bool[]\n  return "
            "go\n}\n"
            "graph body(i: i32[], s: i32[], n: i32[]) {\n  one = const i32[] 1\n  s2 = add(s, i) : i32[]\n  i2 = add(i, one) : i32[]\n"
            "  return i2, s2, n\n}\n");
    };
    ProofOptions options;
    options.mostBytes = 4096;
    const Proof proof = proofOf(twoLoops(false), twoLoops(true), 2000, options);
    EXPECT_EQ(proof.verdict, ProofVerdict::exact);
    EXPECT_GT(proof.onlyHere + proof.onlyThere, 0);
    const Proof whole = proofOf(twoLoops(false), twoLoops(true), 2000);
    EXPECT_EQ(whole.onlyHere + whole.onlyThere, 0);
    EXPECT_EQ(whole.trips, 2);
}

TEST(RunMap, WhatSomebodySaysReplacesWhatIsGuessed)
{
    const Model a = modelOf("graph main(x: f32[]) {\n  y = neg(x) : f32[]\n  z = abs(x) : f32[]\n  return y\n}\n");
    const Model b = modelOf("graph main(x: f32[]) {\n  z = neg(x) : f32[]\n  y = abs(x) : f32[]\n  return z\n}\n");
    RunMap map = RunMap::ofPairing(ValuePairing::create(a, GraphId(0), b, GraphId(0)), a, GraphId(0), b, GraphId(0));
    const ValueId y = a.graphs[0].findValue("y"), z = b.graphs[0].findValue("z");
    map.pair(y, z);
    const uint32_t key = map.scopes(RunMap::here)[0].keys[static_cast<size_t>(y.index)];
    EXPECT_EQ(key, map.scopes(RunMap::there)[0].keys[static_cast<size_t>(z.index)]);
    EXPECT_NE(key, 0U);
    EXPECT_TRUE(map.decides(key));
}

} // namespace
} // namespace loopscope::testing
