// Reference runs: which values pair, what they are in any order of asking, and how a run drifts away from its reference.
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/debug/reference/drift.h"
#include "engine/debug/reference/run_place.h"
#include "engine/tensor/statistics.h"
#include "tests/unit/debug/inspect_models.h"

#include <gtest/gtest.h>

#include <cmath>

namespace loopscope::testing {
namespace {

/// Another model of the same computation as kSum, with other ids and one operator more: names pair.
constexpr const char* kRenamedSum = R"(
graph main(count: i32[]) {
  zero = const i32[] 0
  a, b, c = while(zero, zero, count) cond=@test body=@step : (i32[], i32[], i32[])
  return b
}
names main {
  count = "n"
  a = "i"
  b = "s"
  c = "m"
}
graph test(k: i32[], t: i32[], n: i32[]) {
  go = less_equal(k, n) : bool[]
  return go
}
graph step(k: i32[], t: i32[], n: i32[]) {
  one = const i32[] 1
  two = const i32[] 2
  p = add(k, two) : i32[]
  q = sub(p, one) : i32[]
  r = add(t, k) : i32[]
  return q, r, n
}
names step {
  q = "next"
  r = "sum"
}
)";

std::unique_ptr<Interpreter> runOf(const Model& model, int32_t n)
{
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0));
    EXPECT_TRUE(made.ok());
    std::vector<int32_t> value = {n};
    EXPECT_OK((*made)->setInput(0, tensorOver(value, Shape{})));
    return std::move(made).value();
}

std::unique_ptr<Reference> reference(const Inspected& session, const Model& model, int32_t n, const Tolerance& tolerance = {})
{
    Result<std::unique_ptr<Reference>> made = referenceToRun("other", runOf(model, n), session.model(), GraphId(0), tolerance, nullptr);
    EXPECT_TRUE(made.ok()) << made.error().message();
    return std::move(made).value();
}

int64_t valueFor(const Inspected& session, Reference& other, int depth, const std::string& id)
{
    const GraphId graph = session.target().executor.frame(depth).graph;
    const Result<const Tensor*> found = other.valueFor(session.target().executor, depth, session.model().graph(graph).findValue(id));
    EXPECT_TRUE(found.ok());
    return found.ok() && *found ? elementAsInteger(**found, 0) : -1;
}

TEST(RunPlace, OrdersPlacesAsARunComesByThem)
{
    using Way = std::vector<int64_t>;
    const Way mul = {0, 3, 1, 2}; // operator 2 of the body in iteration 3 of call 0
    EXPECT_FALSE(isWritten(mul, Way{0, 3, 1, 2}));
    EXPECT_TRUE(isWritten(mul, Way{0, 3, 1, 3}));
    EXPECT_TRUE(isWritten(mul, Way{0, 4, 0, 0}));
    EXPECT_FALSE(isWritten(mul, Way{0, 3, 0, 5}));
    EXPECT_FALSE(isWritten(mul, Way{0, 3, 1, 2, 0, 0, 4})); // inside the call that operator 2 is
    EXPECT_TRUE(isWritten(mul, Way{1}));
    EXPECT_FALSE(isWritten(Way{0}, mul)); // the call itself is written last
    EXPECT_TRUE(isWritten(Way{0, 3, 1, RunPlace::kFormal}, Way{0, 3, 1, 0}));
}

TEST(Reference, PairsByAddressWhereTheStructureIsTheSame)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {50}); });
    const Model same = textModel(kSum);
    const auto other = reference(session, same, 50);
    EXPECT_EQ(other->pairing().how, "address");
    EXPECT_EQ(other->pairingText(), "7 of 7 inputs and computed values paired by address");
}

TEST(Reference, PairsByNameAcrossModelsAndKnowsWhatDoesNotPair)
{
    Inspected session(kRenamedSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {50}); });
    const Model plain = textModel(kSum);
    const auto other = reference(session, plain, 50);
    EXPECT_EQ(other->pairing().how, "name");
    EXPECT_EQ(other->pairing().total, 8);
    EXPECT_EQ(other->pairing().paired, 7);
    EXPECT_EQ(other->pairing().unpaired, std::vector<std::string>{"main/while#0:body/p"});
    session.goTo("main/while#0@20:body/add#2");
    EXPECT_EQ(valueFor(session, *other, 1, "q"), 21);
    EXPECT_EQ(valueFor(session, *other, 1, "r"), 210);
    EXPECT_EQ(valueFor(session, *other, 1, "k"), 20);
    EXPECT_EQ(valueFor(session, *other, 1, "p"), -1);
    EXPECT_EQ(valueFor(session, *other, 0, "b"), 1275);
    EXPECT_EQ(valueFor(session, *other, 0, "count"), 50);
    session.goTo("main/while#0@3:body/add#0"); // back again
    EXPECT_EQ(valueFor(session, *other, 1, "r"), 6);
    EXPECT_EQ(valueFor(session, *other, 1, "k"), 3);
}

TEST(Reference, AnswersForPlacesThatTheReferenceDoesNotReach)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {50}); });
    const Model same = textModel(kSum);
    const auto other = reference(session, same, 10);
    session.goTo("main/while#0@40:body/add#1");
    EXPECT_EQ(valueFor(session, *other, 1, "sum"), -1);
    session.goTo("main/while#0@9:body/add#1");
    EXPECT_EQ(valueFor(session, *other, 1, "sum"), 45);
}

TEST(Reference, GivesTheSameInAnyOrderOfAsking)
{
    Inspected session(kCountedCollatz, [](Subject& subject) { subject.add<int32_t>(Shape{}, {27}); });
    const Model same = textModel(kCountedCollatz);
    const auto other = reference(session, same, 27);
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        EXPECT_OK(session.timeline().goTo(static_cast<int64_t>(random() % 1000)));
        const Executor& executor = session.executor();
        const int depth = executor.position().depth - 1;
        const Graph& graph = session.model().graph(executor.frame(depth).graph);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const Tensor* const here = executor.value(depth, ValueId(static_cast<int64_t>(v)));
            if (!here) continue;
            const Result<const Tensor*> there = other->valueFor(executor, depth, ValueId(static_cast<int64_t>(v)));
            ASSERT_TRUE(there.ok());
            ASSERT_NE(*there, nullptr) << executor.positionAddress() << " " << graph.values[v].id;
            EXPECT_TRUE(isSameTensor(*here, **there)) << executor.positionAddress() << " " << graph.values[v].id;
        }
    }
}

TEST(Reference, RefusesWhatDoesNotPair)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {50}); });
    const Model none =
        textModel("graph main() {\n  two = const i32[1] [2]\n  z = random_uniform(two) seed=0 seed2=0 : f32[2]\n  return z\n}\n");
    Result<std::unique_ptr<Interpreter>> run = Interpreter::create(none, GraphId(0));
    ASSERT_TRUE(run.ok());
    const auto refused = referenceToRun("none.tflite", std::move(*run), session.model(), GraphId(0), {}, nullptr);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message(),
              "none.tflite: no value pairs with one of this run, expected the same structure, or equal tensor names");
}

constexpr const char* kLayers = R"(
graph main(x: f32[2]) {
  w = const f32[2] [W]
  a = mul(x, w) : f32[2]
  b = add(a, a) : f32[2]
  return b
}
)";

std::string layers(const std::string& weights)
{
    std::string text = kLayers;
    return text.replace(text.find("[W]"), 3, weights);
}

TEST(Drift, TellsTheFirstLayerBeyondTheTolerance)
{
    Inspected session(layers("[1.0, 2.5]").c_str(), [](Subject& subject) { subject.add<float>(Shape{2}, {4, 2}); });
    const Model exact = textModel(layers("[1.0, 2.0]").c_str());
    Result<std::unique_ptr<Interpreter>> run = Interpreter::create(exact, GraphId(0));
    std::vector<float> x = {4, 2};
    EXPECT_OK((*run)->setInput(0, tensorOver(x, Shape{2})));
    auto other = referenceToRun("exact", std::move(*run), session.model(), GraphId(0), Tolerance{Tolerance::Close{}, {}, {}}, nullptr);
    ASSERT_TRUE(other.ok());
    const Result<Drift> drift = collectDrift(session.target(), **other);
    ASSERT_TRUE(drift.ok()) << drift.error().message();
    EXPECT_EQ(driftText(*drift), "layer   max |diff|  mean |diff|    cosine  SNR dB\n"
                                 "mul#0         1.00        0.500  0.993884    15.1  <- first\n"
                                 "add#1         2.00         1.00  0.993884    15.1\n");
    EXPECT_EQ(session.timeline().tick(), 0);
    EXPECT_OK(session.timeline().goTo(1));
    const auto compared = compareHere(session.target(), **other, 0, session.model().graphs[0].findValue("a"));
    ASSERT_TRUE(compared.ok() && *compared);
    EXPECT_EQ((*compared)->text, "got 5, want 4 at [1]   max 1.00   1 of 2 beyond rtol 1e-05, atol 1e-06   cosine 0.993884");
}

TEST(Drift, GivesARowForEachIteration)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {3}); });
    const Model same = textModel(kSum);
    const auto other = reference(session, same, 3);
    const Result<Drift> drift = collectDriftOf(session.target(), *other, session.place("main/while#0:body/sum"));
    ASSERT_TRUE(drift.ok());
    ASSERT_EQ(drift->rows.size(), 4U);
    EXPECT_EQ(drift->rows[3].layer, "@3");
    EXPECT_EQ(drift->first, -1);
    EXPECT_EQ(drift->rows[3].maxAbs, 0);
}

TEST(Drift, TellsFiguresOfEachWriteAndHowOftenLoopsWentRound)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {3}); });
    const Model renamed = textModel(kRenamedSum);
    const auto other = reference(session, renamed, 10);
    const Result<Drift> drift = collectDrift(session.target(), *other);
    ASSERT_TRUE(drift.ok()) << drift.error().message();
    ASSERT_EQ(drift->trips.size(), 1U);
    EXPECT_EQ(drift->trips[0].address, "main/while#0");
    EXPECT_EQ(drift->trips[0].here, 4); // 0 to 3
    EXPECT_EQ(drift->trips[0].there, 11);
    // In the loop the runs agree until one of them leaves it, with 6 and 55.
    EXPECT_EQ(drift->rows.back().address, "main/while#0");
    ASSERT_EQ(drift->writes.size(), 5U + 2 * 4); // the condition is asked once more
    for (const DriftWrite& write : drift->writes) EXPECT_EQ(write.figures.isBeyond, &write == &drift->writes.back());
    EXPECT_EQ(drift->writes.back().iterations, std::vector<int64_t>{4});
    std::vector<std::string> beyond;
    for (const DriftRow& row : drift->rows)
        if (row.isBeyond) beyond.push_back(row.layer);
    EXPECT_EQ(beyond, (std::vector<std::string>{"while#0:cond/less_equal#0", "while#0:0", "while#0:1", "while#0:2"}));
}

TEST(Drift, SaysTheSameOfTwoRunsThatLeaveTheirLoopsAlike)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {3}); });
    const Model same = textModel(kSum);
    const auto other = reference(session, same, 3);
    const Result<Drift> drift = collectDrift(session.target(), *other);
    ASSERT_TRUE(drift.ok());
    EXPECT_TRUE(drift->trips.empty());
    EXPECT_EQ(drift->first, -1);
    for (const DriftRow& row : drift->rows) EXPECT_EQ(row.different, 0);
}

TEST(Drift, ShowsBothSidesOfOneWrite)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {3}); });
    const Model same = textModel(kSum);
    const auto other = reference(session, same, 10);
    const Result<Drift> drift = collectDrift(session.target(), *other);
    ASSERT_TRUE(drift.ok());
    session.goTo("main/while#0@1:body/add#1");
    const int64_t tick = session.timeline().tick();
    int64_t here = -1, there = -1;
    const auto keep = [&](const Tensor& a, const Tensor* b) {
        here = elementAsInteger(a, 0);
        there = b ? elementAsInteger(*b, 0) : -1;
    };
    for (const DriftRow& row : drift->rows)
        if (row.address == "main/while#0" && row.slot == 1) EXPECT_OK(withBothSides(session.target(), *other, row, row.worstStep, keep));
    EXPECT_EQ(here, 6);
    EXPECT_EQ(there, 55);
    EXPECT_EQ(session.timeline().tick(), tick);
    EXPECT_FALSE(withBothSides(session.target(), *other, drift->rows.front(), drift->rows.back().worstStep, keep).ok());
}

TEST(ReferenceArrays, PairByNameAndByAddress)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {3}); });
    const auto array = [](const char* name, int32_t value) {
        NamedArray made{name, DType::i32, Shape{}, {}};
        made.bytes.resize(4);
        std::memcpy(made.bytes.data(), &value, 4);
        return made;
    };
    Result<std::unique_ptr<Reference>> made = referenceToArrays(
        "want.npz", {array("s", 7), array("main/while#0@2:body/add#1:0", 3), array("stray", 1)}, session.model(), GraphId(0), {});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ((*made)->pairing().paired, 1);
    EXPECT_EQ((*made)->pairing().unpaired.back(), "'stray' of want.npz");
    session.goTo("main/while#0@2:body/add#1");
    EXPECT_EQ(valueFor(session, **made, 1, "sum"), 3);
    EXPECT_EQ(valueFor(session, **made, 1, "next"), -1);
    EXPECT_EQ(valueFor(session, **made, 0, "s"), 7);
    const auto refused = referenceToArrays("want.npz", {array("stray", 1)}, session.model(), GraphId(0), {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message(), "want.npz: no array is named like a value of this run, found stray");
}

TEST(ComparisonText, KeepsThreeDigits)
{
    EXPECT_EQ(differenceText(0.0044216), "0.00442");
    EXPECT_EQ(differenceText(0.73), "0.730");
    EXPECT_EQ(differenceText(12.345), "12.3");
    EXPECT_EQ(differenceText(0.000751), "0.00075");
    EXPECT_EQ(differenceText(0), "0");
}

} // namespace
} // namespace loopscope::testing
