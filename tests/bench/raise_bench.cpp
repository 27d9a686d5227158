// How long large graphs of TensorFlow 1 take to be raised: the cost must grow with the graph, whatever its shape.
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

bool measure(const char* name, Model model, double goalSeconds)
{
    const size_t nodes = model.graphs[0].operators.size();
    const int64_t begin = nowNs();
    const Result<RewriteReport> report = raiseControlFlow(model);
    const Status right = verifyModel(model);
    const double seconds = static_cast<double>(nowNs() - begin) * 1e-9;
    loopscope::bench::report(name, seconds, "s", goalSeconds);
    note("  nodes", static_cast<double>(nodes), "");
    if (report.ok() && right.ok() && report->declined.empty()) return true;
    std::printf("%s: not raised: %s\n", name,
                !report.ok()               ? report.error().message().c_str()
                : report->declined.empty() ? "wrong"
                                           : report->declined.front().reason.c_str());
    return false;
}

int run()
{
    bool isRight = measure("conditionals_10000_in_a_row", conditionalsInARow(10'000, false), 6.0);
    isRight = measure("conditionals_10000_on_one_predicate", conditionalsInARow(10'000, true), 6.0) && isRight;
    isRight = measure("conditionals_2000_in_a_row", conditionalsInARow(2'000, false), 1.0) && isRight;
    GraphWriter deep;
    deep.node("Identity", {nest(deep, deep.placeholder(DType::i32), 49)}, {{"T", DType::i32}});
    isRight = measure("loops_50_deep", deep.take(), 1.0) && isRight;
    isRight = measure("frame_of_50000_nodes", oneFrame(50'000), 6.0) && isRight;
    isRight = measure("loops_with_conditionals_100000_nodes", loopsInARow(8'300), 12.0) && isRight;
    return isRight ? 0 : 1;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
