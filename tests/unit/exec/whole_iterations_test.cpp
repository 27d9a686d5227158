// Iterations of TensorFlow 1 loops that run as a whole leave what the same nodes leave one by one: every state, count, race and error.
// Loops are random: conditions in the body, dead nodes, control edges from them, loops inside, nodes that fail, values that die.
#include "tests/unit/exec/dataflow_models.h"

#include "engine/exec/dataflow/graph_code.h"
#include "engine/exec/machine_state.h"
#include "engine/transform/partition/partition.h"

#include <random>

namespace loopscope::testing {
namespace {

constexpr const char* kEnter = " T=i32 frame_name=\"loop\" parallel_iterations=";

/// A loop over three carried values with a body of random nodes.
class RandomLoop {
public:
    explicit RandomLoop(uint32_t seed) : m_random(seed) {}

    std::string text()
    {
        const std::string parallel = std::to_string(1 + pick(3) * 4);
        const auto enter = [&](const char* name, const char* of, bool isConstant) {
            line(std::string(name) + " = Enter(" + of + ")" + kEnter + parallel + " is_constant=" + (isConstant ? "true" : "false") +
                 " : i32");
        };
        m_text = "graph main(n: i32[]) {\n  zero = Const() dtype=i32 value=i32[] 0 : i32\n"
                 "  one = Const() dtype=i32 value=i32[] 1 : i32\n  four = Const() dtype=i32 value=i32[] 4 : i32\n";
        enter("e_n", "n", true);
        enter("e_one", "one", true);
        enter("e_four", "four", true);
        enter("e_i", "zero", false);
        enter("e_a", "one", false);
        enter("e_b", "n", false);
        for (const char* name : {"i", "a", "b"})
            line(std::string(name) + " = Merge(e_" + name + ", next_" + name + ") N=2 T=i32 : (i32, i32)");
        line("less = Less(i, e_n) T=i32 : bool");
        line("cond = LoopCond(less) : bool");
        for (const char* name : {"i", "a", "b"}) line("s_" + std::string(name) + " = Switch(" + name + ", cond) T=i32 : (i32, i32)");
        line("body_i = Identity(s_i:1) T=i32 : i32");
        m_values = {"body_i", "s_a:1", "s_b:1", "e_one", "e_four"};
        for (int count = 3 + pick(8); count > 0; --count) addSome();
        line("step = AddV2(body_i, e_one) T=i32 : i32");
        line("next_i = NextIteration(step) T=i32 : i32");
        for (const char* name : {"a", "b"}) {
            line("last_" + std::string(name) + " = Sub(" + value() +
                 ", body_i) T=i32 : i32"); // of no invariant alone: the loop would not end
            line("next_" + std::string(name) + " = NextIteration(last_" + name + ") T=i32 : i32");
        }
        for (const char* name : {"a", "b"}) line("exit_" + std::string(name) + " = Exit(s_" + name + ") T=i32 : i32");
        line("sum = AddV2(exit_a, exit_b) T=i32 : i32");
        return m_text + "  return a=exit_a, sum=sum\n}\n";
    }

private:
    int pick(int count) { return static_cast<int>(m_random() % static_cast<uint32_t>(count)); }
    std::string value() { return m_values[static_cast<size_t>(pick(static_cast<int>(m_values.size())))]; }
    void line(const std::string& text) { m_text += "  " + text + "\n"; }
    std::string name() { return "v" + std::to_string(m_count++); }
    std::string control()
    {
        return m_nodes.empty() || pick(6) != 0 ? "" : ", ^" + m_nodes[static_cast<size_t>(pick(static_cast<int>(m_nodes.size())))];
    }

    std::string add(const std::string& a, const std::string& b)
    {
        static constexpr const char* kKinds[] = {"AddV2", "Sub", "Maximum", "FloorDiv", "Mul"};
        const std::string made = name();
        line(made + " = " + kKinds[pick(5)] + "(" + a + ", " + b + control() + ") T=i32 : i32"); // a division by zero ends the run
        m_nodes.push_back(made);
        return made;
    }

    void addSome()
    {
        const int kind = pick(8);
        if (kind < 4) {
            m_values.push_back(add(value(), pick(2) == 0 ? value() : "e_four"));
            return;
        }
        const std::string odd = name(), which = name(), branch = name(), merged = name();
        line(odd + " = FloorMod(" + value() + ", e_four) T=i32 : i32");
        line(which + " = Less(" + odd + ", " + (pick(2) == 0 ? "e_one" : value()) + ") T=i32 : bool");
        line(branch + " = Switch(" + value() + ", " + which + control() + ") T=i32 : (i32, i32)");
        const std::string no = add(branch, value()), yes = pick(2) == 0 ? add(branch + ":1", value()) : branch + ":1";
        if (kind == 4) m_values.push_back(no);              // dead when it is not chosen
        const std::string other = kind == 5 ? value() : no; // two that live now and then
        line(merged + " = Merge(" + yes + ", " + other + control() + ") N=2 T=i32 : (i32, i32)");
        m_values.push_back(merged);
        if (pick(3) == 0) m_values.push_back(merged + ":1");
    }

    std::mt19937 m_random;
    std::string m_text;
    std::vector<std::string> m_values, m_nodes;
    int m_count = 0;
};

/// What is known when a run is over, or has failed.
struct Ending {
    std::string error, address;
    std::vector<std::string> races, outputs;
    std::vector<int64_t> tallies;
    bool operator==(const Ending&) const = default;
};

Ending endingOf(const DataflowExecutor& executor, Status status)
{
    Ending ending;
    ending.address = executor.positionAddress();
    for (const DataflowRace& race : executor.races()) ending.races.push_back(race.text + std::to_string(race.step.number));
    for (const DataflowTally& tally : executor.dataflow()->tallies())
        ending.tallies.insert(ending.tallies.end(), {tally.op.index, tally.runs, tally.dead, tally.lastLive, tally.lastDead});
    if (!status.ok()) ending.error = std::move(status).takeError().message();
    else
        for (int k = 0; k < 2; ++k) ending.outputs.push_back(std::to_string(*executor.output(k).as<int32_t>()));
    return ending;
}

void compareWays(const Model* model, int32_t n, bool keepAll, std::mt19937& random)
{
    ExecutionOptions options;
    options.keepAll = keepAll;
    options.maxSteps = 2000;
    const auto stepped = startedDataflow(*model, n, options);
    std::vector<MachineState> states = {stepped->snapshot()};
    Status status;
    while (status.ok() && !stepped->position().finished) {
        status = stepped->step();
        if (status.ok()) states.push_back(stepped->snapshot());
    }
    const Ending expected = endingOf(*stepped, std::move(status));
    const auto whole = startedDataflow(*model, n, options);
    Status ran = whole->run();
    ASSERT_EQ(endingOf(*whole, std::move(ran)), expected);
    if (expected.error.empty()) {
        ASSERT_EQ(whole->snapshot().hash(), states.back().hash());
    }
    for (int i = 0; i < 6; ++i) {
        size_t at = random() % states.size();
        const auto executor = startedDataflow(*model, n, options);
        ASSERT_TRUE(executor->runTo(static_cast<int64_t>(at)).ok());
        ASSERT_EQ(executor->tick(), static_cast<int64_t>(at));
        ASSERT_EQ(executor->snapshot().hash(), states[at].hash()) << at << " " << executor->positionAddress();
        at = random() % states.size();
        ASSERT_TRUE(executor->restore(states[at]).ok());
        ASSERT_EQ(executor->snapshot().hash(), states[at].hash());
        if (states[at].finished) continue;
        Status further = executor->run();
        const Ending ending = endingOf(*executor, std::move(further));
        ASSERT_EQ(ending.error, expected.error);
        ASSERT_EQ(ending.outputs, expected.outputs);
        ASSERT_EQ(ending.tallies, expected.tallies);
    }
}

TEST(WholeIterations, leaveWhatNodesLeaveOneByOne)
{
    std::mt19937 random(3);
    for (uint32_t seed = 0; seed < 150; ++seed) {
        const std::string text = RandomLoop(seed).text();
        SCOPED_TRACE(text);
        compareWays(dataflowModel(text.c_str()).get(), static_cast<int32_t>(seed % 9), seed % 3 == 0, random);
        if (HasFatalFailure()) return;
    }
}

/// Parts of a graph in one machine: what one sends another receives in the same iteration, dead values, too.
TEST(WholeIterations, ofLoopsThatAreCutBetweenDevices)
{
    std::mt19937 random(5);
    int straight = 0;
    for (uint32_t seed = 0; seed < 100; ++seed) {
        const std::string text = RandomLoop(seed).text();
        SCOPED_TRACE(text);
        Model model = *dataflowModel(text.c_str());
        ASSERT_TRUE(cutGraph(model, GraphId(0), placeAtRandom(model.graph(GraphId(0)), 2 + seed % 2, seed)).ok());
        const Result<dataflow::GraphCode> code = dataflow::compileGraph(model, GraphId(0));
        ASSERT_TRUE(code.ok());
        straight += code->frames[1].straight.isStraight ? 1 : 0;
        compareWays(&model, static_cast<int32_t>(seed % 9), seed % 3 == 0, random);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(straight, 80); // no function is called in them
}

TEST(WholeIterations, ofLoopsInLoops)
{
    std::mt19937 random(4);
    for (const int32_t n : {1, 4, 7}) compareWays(dataflowModel(kNestedFrames).get(), n, n == 4, random);
}

} // namespace
} // namespace loopscope::testing
