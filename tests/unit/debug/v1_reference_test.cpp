// Reference runs of TensorFlow 1 graphs: values pair by node, frame and iteration, in whatever order both runs come by them.
#include "engine/debug/reference/drift.h"
#include "engine/tensor/statistics.h"
#include "tests/unit/debug/v1_debugger.h"
#include "tests/unit/exec/dataflow_models.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    return text;
}

std::unique_ptr<Reference> referenceTo(const V1Debugger& session, const Model& model, std::optional<int32_t> n = {}, uint64_t seed = 0)
{
    ExecutionOptions options;
    options.keepAll = true;
    options.scheduleSeed = seed;
    Result<std::unique_ptr<DataflowExecutor>> made = DataflowExecutor::create(model, GraphId(0), options);
    EXPECT_TRUE(made.ok());
    if (n) {
        std::vector<int32_t> value = {*n};
        EXPECT_OK((*made)->setInput(0, tensorOver(value, Shape{})));
    }
    Result<std::unique_ptr<Reference>> reference = referenceToRun("other", std::move(*made), session.model, GraphId(0), {}, nullptr);
    EXPECT_TRUE(reference.ok()) << reference.error().message();
    return std::move(reference).value();
}

const DriftRow* rowOf(const Drift& drift, const std::string& layer)
{
    const auto found = std::ranges::find(drift.rows, layer, &DriftRow::layer);
    return found == drift.rows.end() ? nullptr : &*found;
}

void goTo(V1Debugger& session, const std::string& position)
{
    EXPECT_OK(session.timeline.goTo(0));
    while (session.executor->positionAddress() != position && session.timeline.forward().ok()) {
    }
    ASSERT_EQ(session.executor->positionAddress(), position);
}

int64_t valueFor(const V1Debugger& session, Reference& other, int depth, const std::string& id)
{
    const Result<const Tensor*> found = other.valueFor(*session.executor, depth, session.model.graph(GraphId(0)).findValue(id));
    EXPECT_TRUE(found.ok());
    return found.ok() && *found ? elementAsInteger(**found, 0) : -1;
}

/// Counts to 10 by twos.
const std::string kByTwos = replaced(kV1Loop, "value=i32[] 1 ", "value=i32[] 2 ");

TEST(V1Reference, ComparesNodesByFrameAndIteration)
{
    V1Debugger session(kV1Loop);
    EXPECT_OK(session.timeline.start());
    const Model twos = textModel(kByTwos.c_str());
    const auto other = referenceTo(session, twos);
    Result<Drift> drift = collectDrift(session.target, *other);
    ASSERT_TRUE(drift.ok()) << drift.error().message();

    const DriftRow* const add = rowOf(*drift, "foo:frame/add");
    ASSERT_NE(add, nullptr);
    EXPECT_EQ(add->address, "main/foo:frame/add");
    EXPECT_EQ(add->writes, 5); // what B leaves at 10 goes on here
    EXPECT_EQ(add->maxAbs, 5); // 5 against 10
    std::vector<double> apart;
    for (const DriftWrite& write : drift->writes)
        if (&drift->rows[static_cast<size_t>(write.row)] == add) {
            EXPECT_EQ(write.iterations, std::vector<int64_t>{std::ssize(apart)});
            apart.push_back(write.figures.maxAbs);
        }
    EXPECT_EQ(apart, (std::vector<double>{1, 2, 3, 4, 5}));
    ASSERT_NE(rowOf(*drift, "foo:frame/exit"), nullptr); // in iteration 10 here, 5 there
    EXPECT_EQ(rowOf(*drift, "foo:frame/exit")->different, 0);
    EXPECT_EQ(rowOf(*drift, "foo:frame/exit")->writes, 1);
    EXPECT_EQ(drift->rows[static_cast<size_t>(drift->first)].layer, "one");
    ASSERT_EQ(drift->trips.size(), size_t(1));
    EXPECT_EQ(drift->trips[0].address, "main/foo");
    EXPECT_EQ(drift->trips[0].here, 10);
    EXPECT_EQ(drift->trips[0].there, 5);
    EXPECT_EQ(session.timeline.tick(), 0); // it stands where it stood
}

TEST(V1Reference, OneNodeHasARowForEachIteration)
{
    V1Debugger session(kV1Loop);
    EXPECT_OK(session.timeline.start());
    const Model twos = textModel(kByTwos.c_str());
    const auto other = referenceTo(session, twos);
    Result<Drift> drift = collectDriftOf(session.target, *other, session.place("add")); // the frame goes without saying
    ASSERT_TRUE(drift.ok()) << drift.error().message();
    ASSERT_EQ(drift->rows.size(), size_t(5));
    EXPECT_EQ(drift->rows[3].layer, "@3");
    EXPECT_EQ(drift->rows[3].maxAbs, 4);
}

TEST(V1Reference, AnswersAtStopsInAnyOrder)
{
    V1Debugger session(kV1Loop);
    EXPECT_OK(session.timeline.start());
    const Model twos = textModel(kByTwos.c_str());
    const auto other = referenceTo(session, twos);
    goTo(session, "main/foo@3:frame/cond");
    EXPECT_EQ(valueFor(session, *other, 1, "merge"), 6);
    EXPECT_EQ(valueFor(session, *other, 1, "enter_one"), 2); // written outside, looked at inside
    EXPECT_EQ(valueFor(session, *other, 0, "enter_one"), 2);
    goTo(session, "main/out");
    EXPECT_EQ(valueFor(session, *other, 0, "exit"), 10); // written inside, looked at outside
    goTo(session, "main/foo@1:frame/cond");              // back again
    EXPECT_EQ(valueFor(session, *other, 1, "merge"), 2);
    goTo(session, "main/foo@8:frame/cond");
    EXPECT_EQ(valueFor(session, *other, 1, "merge"), -1); // B has left the frame
    goTo(session, "main/foo@5:frame/cond");
    EXPECT_EQ(valueFor(session, *other, 1, "merge"), 10);
    EXPECT_EQ(valueFor(session, *other, 1, "switch:1"), -1); // dead there, live here
    EXPECT_EQ(valueFor(session, *other, 1, "switch"), 10);
}

TEST(V1Reference, FramesOfOtherNamesPairByWhatEntersThem)
{
    V1Debugger session(kNestedFrames);
    std::vector<int32_t> five = {5};
    EXPECT_OK(session.executor->setInput(0, tensorOver(five, Shape{})));
    EXPECT_OK(session.timeline.start());
    std::string renamed = replaced(kNestedFrames, "frame_name=\"outer\"", "frame_name=\"first\"");
    renamed = replaced(renamed, "  zero = Const()", "  more = Const() dtype=i32 value=i32[] 9 : i32\n  zero = Const()");
    const Model model = textModel(renamed.c_str());
    for (const uint64_t seed : {0, 3}) { // in the order of the file, and in another one
        const auto other = referenceTo(session, model, 5, seed);
        EXPECT_EQ(other->pairing().how, "name");
        Result<Drift> drift = collectDrift(session.target, *other);
        ASSERT_TRUE(drift.ok()) << drift.error().message();
        EXPECT_EQ(drift->unpaired, 0) << seed;
        EXPECT_TRUE(drift->trips.empty());
        for (const DriftRow& row : drift->rows) EXPECT_EQ(row.different, 0) << row.layer;
        const DriftRow* const add = rowOf(*drift, "outer:frame/inner:frame/i/add");
        ASSERT_NE(add, nullptr);
        EXPECT_EQ(add->writes, 0 + 1 + 2 + 3 + 4);
        ASSERT_NE(rowOf(*drift, "outer:frame/o/call:then/w:body/y"), nullptr); // a loop in a function called in a frame
    }
}

TEST(V1Reference, InnerFramesThatEndUnlikeAreNamedWithTheIterationAround)
{
    V1Debugger session(kNestedFrames);
    std::vector<int32_t> three = {3};
    EXPECT_OK(session.executor->setInput(0, tensorOver(three, Shape{})));
    EXPECT_OK(session.timeline.start());
    // The inner loop runs up to 2 · 1 instead of i.
    const Model model = textModel(replaced(kNestedFrames, "i/n = Enter(o/i_body)", "i/n = Enter(o/two)").c_str());
    const auto other = referenceTo(session, model, 3);
    Result<Drift> drift = collectDrift(session.target, *other);
    ASSERT_TRUE(drift.ok()) << drift.error().message();
    std::vector<std::string> lines;
    for (const DriftTrips& trips : drift->trips)
        lines.push_back(trips.address + " " + std::to_string(trips.here) + " " + std::to_string(trips.there));
    EXPECT_EQ(lines, (std::vector<std::string>{"main/outer@0:frame/inner 0 2", "main/outer@1:frame/inner 1 2"}));
}

} // namespace
} // namespace loopscope::testing
