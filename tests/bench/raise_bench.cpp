// How long large graphs of TensorFlow 1 take to be raised and lowered: the cost must grow with the graph, whatever its shape.
#include "app/wiring/lowering.h"
#include "converters/lsir/lsir.h"
#include "converters/passes/pass.h"
#include "converters/raise/raise.h"
#include "engine/base/clock.h"
#include "engine/ir/verifier.h"
#include "engine/tensor/tensor_type.h"
#include "tests/bench/report.h"

#include <string>
#include <vector>

namespace loopscope::bench {
namespace {

/// A v1 graph that is written node by node; values are known by their numbers.
class GraphWriter {
public:
    GraphWriter()
    {
        m_model.dialect = Dialect::tf;
        m_model.graphs.emplace_back();
        m_model.graphs[0].id = "main";
    }

    /// The first result.
    ValueId node(const std::string& kind, std::vector<ValueId> inputs, AttributeList attributes = {}, int results = 1,
                 DType dtype = DType::i32)
    {
        Graph& graph = m_model.graphs[0];
        const OperatorId id(static_cast<int64_t>(graph.operators.size()));
        Operator op;
        op.kind = {"tf", kind};
        op.name = "n" + std::to_string(id.index);
        op.attributes = std::move(attributes);
        op.inputs = std::move(inputs);
        for (int k = 0; k < results; ++k) {
            Value value;
            value.id = k == 0 ? op.name : op.name + ":" + std::to_string(k);
            value.type = TensorType(k == 1 && kind == "Merge" ? DType::i32 : dtype, Shape());
            value.role = ValueRole::result;
            value.producer = id;
            value.slot = k;
            op.results.emplace_back(static_cast<int64_t>(graph.values.size()));
            graph.values.push_back(std::move(value));
        }
        const ValueId first = op.results.empty() ? ValueId() : op.results.front();
        graph.operators.push_back(std::move(op));
        return first;
    }

    static ValueId second(ValueId first) { return ValueId(first.index + 1); }

    ValueId enter(ValueId value, const std::string& frame, bool isConstant)
    {
        return node("Enter", {value},
                    {{"T", DType::i32}, {"frame_name", frame}, {"is_constant", isConstant}, {"parallel_iterations", int64_t{10}}});
    }

    /// A loop over one variable; `body` gives the next value. What leaves it.
    template <typename Body> ValueId loop(ValueId start, const std::string& frame, Body body)
    {
        const ValueId entered = enter(start, frame, false);
        const ValueId merge = node("Merge", {entered, entered}, {{"N", int64_t{2}}, {"T", DType::i32}}, 2);
        const ValueId less = node("Less", {merge, merge}, {{"T", DType::i32}}, 1, DType::boolean);
        const ValueId condition = node("LoopCond", {less}, {}, 1, DType::boolean);
        const ValueId gate = node("Switch", {merge, condition}, {{"T", DType::i32}}, 2);
        const ValueId next = node("NextIteration", {body(second(gate))}, {{"T", DType::i32}});
        Graph& graph = m_model.graphs[0];
        graph.operators[static_cast<size_t>(graph.value(merge).producer.index)].inputs[1] = next;
        return node("Exit", {gate}, {{"T", DType::i32}});
    }

    ValueId conditional(ValueId data, ValueId predicate)
    {
        const ValueId gate = node("Switch", {data, predicate}, {{"T", DType::i32}}, 2);
        const ValueId yes = node("Neg", {second(gate)}, {{"T", DType::i32}});
        const ValueId no = node("Square", {gate}, {{"T", DType::i32}});
        return node("Merge", {no, yes}, {{"N", int64_t{2}}, {"T", DType::i32}}, 2);
    }

    ValueId placeholder(DType dtype) { return node("Placeholder", {}, {{"dtype", dtype}, {"shape", Shape()}}, 1, dtype); }
    Model take() { return std::move(m_model); }

private:
    Model m_model;
};

Model conditionalsInARow(int count, bool isOnePredicate)
{
    GraphWriter g;
    ValueId value = g.placeholder(DType::i32);
    ValueId predicate = g.placeholder(DType::boolean);
    for (int k = 0; k < count; ++k) {
        if (!isOnePredicate) predicate = g.node("Less", {value, value}, {{"T", DType::i32}}, 1, DType::boolean);
        value = g.conditional(value, predicate);
    }
    g.node("Identity", {value}, {{"T", DType::i32}});
    return g.take();
}

ValueId nest(GraphWriter& g, ValueId start, int depth)
{
    return g.loop(start, "f" + std::to_string(depth), [&](ValueId now) {
        const ValueId sum = g.node("AddV2", {now, now}, {{"T", DType::i32}});
        return depth == 0 ? sum : nest(g, sum, depth - 1);
    });
}

Model oneFrame(int nodes)
{
    GraphWriter g;
    const ValueId start = g.placeholder(DType::i32);
    const ValueId end = g.loop(start, "wide", [&](ValueId now) {
        for (int k = 0; k < nodes; ++k) now = g.node("AddV2", {now, now}, {{"T", DType::i32}});
        return now;
    });
    g.node("Identity", {end}, {{"T", DType::i32}});
    return g.take();
}

Model loopsInARow(int count)
{
    GraphWriter g;
    ValueId value = g.placeholder(DType::i32);
    for (int k = 0; k < count; ++k)
        value = g.loop(value, "l" + std::to_string(k), [&](ValueId now) {
            const ValueId predicate = g.node("Less", {now, now}, {{"T", DType::i32}}, 1, DType::boolean);
            return g.conditional(now, predicate);
        });
    g.node("Identity", {value}, {{"T", DType::i32}});
    return g.take();
}

/// As `convert` does: what is asked for is cut out, raised, folded and lowered.
double secondsToLower(const Model& model, bool& isRight)
{
    const Graph& graph = model.graphs[0];
    RunSelection selection;
    for (const Operator& op : graph.operators)
        if (op.kind.name == "Placeholder") selection.feeds.push_back(op.name);
    selection.fetches = {graph.operators.back().name};
    const int64_t begin = nowNs();
    const Result<LoweredModel> lowered = app::loweredModel(model, GraphId(0), selection, "", {});
    if (!lowered.ok() || !lowered->noForm.empty() || !verifyModel(lowered->model).ok()) {
        std::printf("not lowered: %s\n", !lowered.ok()              ? lowered.error().message().c_str()
                                         : !lowered->noForm.empty() ? lowered->noForm.front().reason.c_str()
                                                                    : "wrong");
        isRight = false;
    }
    return static_cast<double>(nowNs() - begin) * 1e-9;
}

/// Goals are for all of it: raised, verified and lowered.
bool measure(const std::string& name, const Model& source, double goalSeconds)
{
    bool isRight = true;
    Model model = source;
    note((name + ".nodes").c_str(), static_cast<double>(source.graphs[0].operators.size()), "");
    const int64_t begin = nowNs();
    const Result<RewriteReport> report = raiseControlFlow(model);
    const Status right = verifyModel(model);
    note((name + ".raised").c_str(), static_cast<double>(nowNs() - begin) * 1e-9, "s");
    loopscope::bench::report((name + ".lowered").c_str(), secondsToLower(source, isRight), "s", goalSeconds);
    if (report.ok() && right.ok() && report->declined.empty()) return isRight;
    std::printf("%s: not raised: %s\n", name.c_str(),
                !report.ok()               ? report.error().message().c_str()
                : report->declined.empty() ? "wrong"
                                           : report->declined.front().reason.c_str());
    return false;
}

/// Loops of For, each with a function of its own: the pass for-to-while alone.
bool measureFor(int count, double goalSeconds)
{
    std::string text = "lsir 1\nmodel tf\ngraph main {\n  v0 = Placeholder() dtype=i32 shape=shape[] : i32[]\n"
                       "  zero = Const() dtype=i32 value=i32[] 0 : i32[]\n  ten = Const() dtype=i32 value=i32[] 10 : i32[]\n"
                       "  one = Const() dtype=i32 value=i32[] 1 : i32[]\n";
    std::string functions;
    for (int k = 0; k < count; ++k) {
        const std::string number = std::to_string(k), next = std::to_string(k + 1);
        text += "  v" + next + " = For(zero, ten, one, v" + number + ") T=[i32] body=@f" + number + " : i32\n";
        functions += "graph f" + number + "(i: i32, x: i32) {\n  y = AddV2(i, x) T=i32 : i32\n  return z=y\n}\n";
    }
    Result<Model> model = modelFromText(text + "}\n" + functions, "bench.lsir");
    if (!model.ok()) {
        std::printf("%s\n", model.error().message().c_str());
        return false;
    }
    const int64_t begin = nowNs();
    const Result<RewriteReport> report = lowerFor(*model, {});
    const Status right = verifyModel(*model);
    bench::report(("for_to_while_" + std::to_string(count)).c_str(), static_cast<double>(nowNs() - begin) * 1e-9, "s", goalSeconds);
    return report.ok() && right.ok() && report->declined.empty();
}

int run()
{
    bool isRight = measure("conditionals_10000_in_a_row", conditionalsInARow(10'000, false), 6.0); // 50,000 nodes
    isRight = measure("conditionals_10000_on_one_predicate", conditionalsInARow(10'000, true), 6.0) && isRight;
    isRight = measure("conditionals_2000_in_a_row", conditionalsInARow(2'000, false), 1.0) && isRight; // 10,000 nodes
    GraphWriter deep;
    deep.node("Identity", {nest(deep, deep.placeholder(DType::i32), 49)}, {{"T", DType::i32}});
    isRight = measure("loops_50_deep", deep.take(), 1.0) && isRight;
    isRight = measure("frame_of_50000_nodes", oneFrame(50'000), 6.0) && isRight;
    isRight = measure("loops_with_conditionals_10000_nodes", loopsInARow(830), 1.0) && isRight;
    isRight = measure("loops_with_conditionals_100000_nodes", loopsInARow(8'300), 12.0) && isRight;
    isRight = measureFor(1'000, 1.0) && isRight; // 10,000 operators come of it
    isRight = measureFor(10'000, 12.0) && isRight;
    return isRight ? 0 : 1;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
