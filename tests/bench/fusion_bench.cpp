// How long fusing a large graph takes with all patterns, up to the point where none finds anything more, how long the diff of it with its
// original, and how large the report on a graph of 2,000 operators is.
#include "app/output/fusion_report.h"
#include "converters/fuse/fuse.h"
#include "engine/base/clock.h"
#include "engine/debug/graph_diff/graph_diff.h"
#include "tests/bench/report.h"

#include <cstdio>
#include <memory>
#include <string>

namespace {

using namespace loopscope;

/// Convolutions with their batch norms and hard swishes written out, residual sums between them: nine operators a block.
class Network {
public:
    Network()
    {
        m_graph.id = "main";
        m_last = value("x", TensorType(DType::f32, kPicture), ValueRole::input);
        m_graph.inputs = {m_last};
        m_weights = constant("w", Shape{4, 1, 1, 4}, 16);
        m_row = constant("k", Shape{4}, 4);
        m_three = constant("three", Shape(), 1, 3.0F);
        m_six = constant("six", Shape(), 1, 6.0F);
    }

    Model of(int operators) &&
    {
        while (static_cast<int>(m_graph.operators.size()) + 9 <= operators) block();
        m_graph.outputs.push_back({"out", m_last});
        Model model;
        model.graphs.push_back(std::move(m_graph));
        return model;
    }

private:
    static inline const Shape kPicture{1, 4, 4, 4};

    ValueId value(std::string id, TensorType type, ValueRole role)
    {
        Value made;
        made.id = std::move(id);
        made.type = std::move(type);
        made.role = role;
        m_graph.values.push_back(std::move(made));
        return ValueId(static_cast<int64_t>(m_graph.values.size()) - 1);
    }

    ValueId constant(std::string id, Shape shape, int count, float number = 0.5F)
    {
        const std::vector<float> numbers(static_cast<size_t>(count), number);
        const ValueId made = value(std::move(id), TensorType(DType::f32, std::move(shape)), ValueRole::constant);
        m_graph.value(made).constant = std::make_shared<const Constant>(Bytes::copyOf(numbers.data(), numbers.size() * sizeof(float)));
        return made;
    }

    ValueId add(const char* kind, std::vector<ValueId> inputs, AttributeList attributes = {})
    {
        const ValueId result = value("t" + std::to_string(m_graph.operators.size()), TensorType(DType::f32, kPicture), ValueRole::result);
        Operator op;
        op.kind = {"tfl", kind};
        op.attributes = std::move(attributes);
        op.inputs = std::move(inputs);
        op.results = {result};
        m_graph.value(result).producer = OperatorId(static_cast<int64_t>(m_graph.operators.size()));
        m_graph.operators.push_back(std::move(op));
        return result;
    }

    void block()
    {
        const ValueId before = m_last;
        const ValueId product =
            add("conv_2d", {before, m_weights, m_row}, {{"padding", Word{"SAME"}}, {"stride_h", int64_t{1}}, {"stride_w", int64_t{1}}});
        const ValueId norm = add("add", {add("mul", {product, m_row}), m_row});
        const ValueId gate = add("relu6", {add("add", {norm, m_three})});
        const ValueId swish = add("div", {add("mul", {norm, gate}), m_six});
        m_last = add("relu", {add("add", {swish, before})});
    }

    Graph m_graph;
    ValueId m_last, m_weights, m_row, m_three, m_six;
};

} // namespace

int main()
{
    constexpr int kOfReport = 2'000, kSmall = 10'000, kLarge = 100'000;
    for (const int size : {kSmall, kLarge}) {
        const Model before = Network().of(size);
        Model after = before;
        const int64_t start = nowNs();
        const Result<FusionReport> report = fuseOperators(after);
        const int64_t fused = nowNs();
        const GraphDiff diff = diffGraphs(before, GraphId(0), after, GraphId(0));
        const int64_t compared = nowNs();
        if (!report.ok()) return 1;
        const bool isSmall = size == kSmall;
        bench::report(isSmall ? "fusion_10000_operators" : "fusion_100000_operators", static_cast<double>(fused - start) * 1e-9, "s",
                      isSmall ? 1 : 15);
        bench::report(isSmall ? "fusion_diff_10000_operators" : "fusion_diff_100000_operators",
                      static_cast<double>(compared - fused) * 1e-9, "s", isSmall ? 2 : 15);
        bench::note("fusion_rewrites", static_cast<double>(report->rewrites.size()), "");
        bench::note("fusion_operators_left", static_cast<double>(after.graphs[0].operators.size()), "");
    }
    const Model before = Network().of(kOfReport);
    Model after = before;
    app::ToldFusion told;
    Result<FusionReport> report = fuseOperators(after);
    if (!report.ok()) return 1;
    told.proof.report = std::move(report).value();
    const int64_t start = nowNs();
    const Result<std::string> page = app::fusionReport("report.html", "Fusion", before, after, told);
    if (!page.ok()) {
        std::printf("no page: %s\n", page.error().message().c_str());
        return 1;
    }
    bench::report("fusion_page_2000_operators", static_cast<double>(page->size()) * 1e-6, "MB", 10);
    bench::note("fusion_page_made_in", static_cast<double>(nowNs() - start) * 1e-9, "s");
}
