// The layout engine and scenes of large models: chains, transformer-like blocks, and blocks that all consume two more tensors.
// Figures are the 95th percentile of 20 runs (3 of the largest).
#include "tests/bench/report.h"
#include "viewer/layout/layout.h"
#include "viewer/scene/scene.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace loopscope;

/// Operators in sequence, every third with a line past it.
layout::Graph chain(int count)
{
    layout::Graph graph;
    graph.nodes.resize(static_cast<size_t>(count));
    for (int i = 1; i < count; ++i) {
        graph.edges.push_back({.from = i - 1, .to = i, .fromPort = -1, .toPort = -1, .net = 0});
        if (i % 3 == 0) graph.edges.push_back({.from = i - 3, .to = i, .fromPort = -1, .toPort = -1, .net = 0});
    }
    return graph;
}

/// Which operators of a block of 25 an operator consumes, as distances backwards; 25 and more reach into the block before.
const std::vector<std::vector<int>>& blockInputs()
{
    // norm; q, k, v with two reshapes each; scores, scale, mask, softmax, context, two reshapes, projection, residual; norm; two layers …
    static const std::vector<std::vector<int>> inputs = {{1}, {1},    {1}, {1}, {4}, {1},     {1}, {7}, {1}, {1}, {4, 7}, {1},   {1},
                                                         {1}, {1, 5}, {1}, {1}, {1}, {1, 19}, {1}, {1}, {1}, {1}, {1},    {1, 6}};
    return inputs;
}

layout::Graph transformer(int count, bool twoTensors)
{
    layout::Graph graph;
    const int first = twoTensors ? 2 : 0;
    graph.nodes.resize(static_cast<size_t>(count + first));
    for (int i = 1; i < count; ++i) {
        for (const int back : blockInputs()[static_cast<size_t>(i % 25)])
            if (i - back >= 0) graph.edges.push_back({.from = first + i - back, .to = first + i, .fromPort = -1, .toPort = -1, .net = 0});
        if (twoTensors && i % 25 == 12) graph.edges.push_back({.from = 0, .to = first + i, .fromPort = -1, .toPort = -1, .net = 0});
        if (twoTensors && i % 25 == 4) graph.edges.push_back({.from = 1, .to = first + i, .fromPort = -1, .toPort = -1, .net = 0});
    }
    return graph;
}

Model transformerModel(int count)
{
    Model model;
    Graph graph;
    graph.id = "main";
    const auto addValue = [&](std::string name, ValueRole role) {
        Value value;
        value.id = "v" + std::to_string(graph.values.size());
        value.name = std::move(name);
        value.type = TensorType(DType::f32, Shape{1, 128, 768});
        value.role = role;
        graph.values.push_back(std::move(value));
        return ValueId(static_cast<int64_t>(graph.values.size()) - 1);
    };
    const ValueId input = addValue("x", ValueRole::input);
    const ValueId mask = addValue("mask", ValueRole::input);
    graph.inputs = {input, mask};
    std::vector<ValueId> made;
    for (int i = 0; i < count; ++i) {
        Operator op;
        op.kind = {"tfl", i % 3 == 0 ? "fully_connected" : "add"};
        for (const int back : blockInputs()[static_cast<size_t>(i % 25)])
            op.inputs.push_back(i - back >= 0 ? made[static_cast<size_t>(i - back)] : input);
        if (i % 25 == 12) op.inputs.push_back(mask);
        made.push_back(addValue("encoder/layer_" + std::to_string(i / 25) + "/part_" + std::to_string(i % 25) + "/op", ValueRole::result));
        graph.values.back().producer = OperatorId(i);
        op.results = {made.back()};
        graph.operators.push_back(std::move(op));
    }
    graph.outputs.push_back({"", made.back()});
    model.graphs.push_back(std::move(graph));
    return model;
}

double secondsOf(const std::function<void()>& work)
{
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double p95(int runs, const std::function<void()>& work)
{
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(secondsOf(work));
    std::sort(times.begin(), times.end());
    return times[static_cast<size_t>(runs) * 95 / 100 < times.size() ? static_cast<size_t>(runs) * 95 / 100 : times.size() - 1];
}

void layOut(const char* family, const std::function<layout::Graph(int)>& make)
{
    for (const auto& [count, name, goal] : {std::tuple(1000, "1k", 0.05), std::tuple(10000, "10k", 0.4), std::tuple(100000, "100k", 4.0)}) {
        const layout::Graph graph = make(count);
        int64_t passed = 0;
        const double seconds = p95(count > 50000 ? 3 : 20, [&] { passed = layout::layOut(graph, {})->passed; });
        bench::report((std::string("layout_") + family + "_" + name).c_str(), seconds, "s", goal);
        bench::report((std::string("layout_") + family + "_" + name + "_passed_per_edge").c_str(),
                      static_cast<double>(passed) / static_cast<double>(graph.edges.size()), "places",
                      std::max(2.0, 4096.0 / static_cast<double>(graph.edges.size())));
    }
}

} // namespace

int main()
{
    layOut("chain", chain);
    layOut("transformer", [](int n) { return transformer(n, false); });
    layOut("transformer_2", [](int n) { return transformer(n, true); });

    using namespace loopscope::viewer;
    const TextMeasure measure = approximateTextMeasure();
    for (const auto& [count, name, goal] : {std::tuple(1000, "1k", 0.1), std::tuple(10000, "10k", 0.2), std::tuple(100000, "100k", 1.0)}) {
        const Model model = transformerModel(count);
        ViewState view = initialView(model);
        const double folded = p95(count > 50000 ? 3 : 20, [&] { (void)buildScene(model, view, measure); });
        bench::report((std::string("scene_folded_") + name).c_str(), folded, "s", goal);
        view.allExpanded = true;
        const double expanded = p95(3, [&] { (void)buildScene(model, view, measure); });
        bench::report((std::string("scene_expanded_") + name).c_str(), expanded, "s", count / 1000 * 0.1);
    }
    // Asked to stop at any moment: how long until it does.
    const layout::Graph large = transformer(100000, true);
    std::vector<double> waits;
    for (int k = 1; k <= 12; ++k) {
        std::stop_source stop;
        std::clock_t asked = 0; // processor time: what else runs on the machine does not count
        std::thread asker([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(40 * k));
            asked = std::clock();
            stop.request_stop();
        });
        const bool stopped = !layout::layOut(large, {}, stop.get_token());
        const std::clock_t ended = std::clock();
        asker.join();
        if (stopped) waits.push_back(static_cast<double>(ended - asked) / CLOCKS_PER_SEC);
    }
    if (!waits.empty()) bench::report("layout_cancel_worst", *std::max_element(waits.begin(), waits.end()), "s", 0.1);
    return 0;
}
