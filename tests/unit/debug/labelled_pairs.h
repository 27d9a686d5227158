// Pairs of models of which it is known what became of every operator, since they are made by known edits: what a diff of graphs is scored
// by.
#pragma once

#include "engine/debug/graph_diff/graph_diff.h"
#include "engine/ir/model.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::testing_pairs {

/// An operator to be; `ids`: the operators of the first model that it is, or is a part of. None: it was added.
struct Node {
    std::string kind;
    std::vector<int> inputs; ///< of nodes; −1: the model's input
    AttributeList attributes = {};
    uint32_t weights = 0; ///< seed of a constant operand; 0: none
    std::set<int> ids = {};
    std::string name = {};
};
using Nodes = std::vector<Node>;

/// A network of `count` operators with branches, as convolutional ones are. The same seed gives the same.
inline Nodes network(int count, uint32_t seed)
{
    std::mt19937 random(seed);
    const auto upTo = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    Nodes nodes;
    int last = -1, branch = -1;
    while (static_cast<int>(nodes.size()) < count) {
        const auto add = [&](std::string kind, std::vector<int> inputs, AttributeList attributes = {}, uint32_t weights = 0) {
            const int id = static_cast<int>(nodes.size());
            nodes.push_back({std::move(kind), std::move(inputs), std::move(attributes), weights, {id}, "t" + std::to_string(id)});
            last = id;
        };
        switch (upTo(6)) {
        case 0:
        case 1:
            add("conv_2d", {last}, {{"padding", Word{"SAME"}}, {"stride_h", int64_t{1}}, {"stride_w", int64_t{1}}}, random() | 1U);
            add(upTo(2) == 0 ? "relu" : "relu6", {last});
            break;
        case 2: add("mul", {last}, {}, random() | 1U); break;
        case 3:
            if (branch >= 0) add("add", {last, branch});
            branch = last;
            break;
        case 4: add("tanh", {last}); break;
        default: add("average_pool_2d", {last}, {{"filter_height", int64_t{1 + upTo(3)}}}); break;
        }
    }
    return nodes;
}

/// `dialect` tf: TensorFlow's kinds, constants as nodes. `isQuantized`: numbers are int8.
inline Model modelOf(const Nodes& nodes, Dialect dialect = Dialect::tfl, bool isQuantized = false)
{
    static const std::map<std::string, std::string> kTensorFlow = {
        {"conv_2d", "Conv2D"},          {"relu", "Relu"},       {"relu6", "Relu6"}, {"mul", "Mul"}, {"add", "AddV2"}, {"tanh", "Tanh"},
        {"average_pool_2d", "AvgPool"}, {"logistic", "Sigmoid"}};
    Model model;
    model.dialect = dialect;
    Graph graph;
    graph.id = "main";
    const bool isTf = dialect == Dialect::tf;
    const DType dtype = isQuantized ? DType::i8 : DType::f32;
    const auto value = [&](std::string id, ValueRole role) {
        Value made;
        made.id = std::move(id);
        made.type = TensorType(dtype, Shape{1, 4, 4, 2});
        made.role = role;
        graph.values.push_back(std::move(made));
        return ValueId(static_cast<int64_t>(graph.values.size()) - 1);
    };
    const ValueId input = value("x", ValueRole::input);
    graph.inputs = {input};
    std::vector<ValueId> results;
    const auto finish = [&](Operator op, const std::string& name) {
        const ValueId result = value(name, ValueRole::result);
        graph.value(result).producer = OperatorId(static_cast<int64_t>(graph.operators.size()));
        op.results = {result};
        if (isTf) op.name = name;
        graph.operators.push_back(std::move(op));
        return result;
    };
    for (const Node& node : nodes) {
        Operator op;
        const auto tf = kTensorFlow.find(node.kind);
        op.kind = {isTf ? "tf" : "tfl", isTf && tf != kTensorFlow.end() ? tf->second : node.kind};
        op.attributes = node.attributes;
        for (const int from : node.inputs) op.inputs.push_back(from < 0 ? input : results[static_cast<size_t>(from)]);
        if (node.weights != 0) {
            const float number = static_cast<float>(node.weights);
            const auto data = std::make_shared<const Constant>(Bytes::copyOf(&number, isQuantized ? 1 : 4));
            if (isTf) {
                Operator constant;
                constant.kind = {"tf", "Const"};
                constant.attributes = {{"value", TensorAttribute{TensorType(dtype, Shape{1}), data}}};
                op.inputs.push_back(finish(std::move(constant), node.name + "/w"));
            } else {
                op.inputs.push_back(value(node.name + "_w", ValueRole::constant));
                graph.values.back().constant = data;
                graph.values.back().type = TensorType(dtype, Shape{1});
            }
        }
        results.push_back(finish(std::move(op), node.name));
    }
    graph.outputs.push_back({"out", results.back()});
    model.graphs.push_back(std::move(graph));
    return model;
}

struct LabelledPair {
    std::string name;
    Nodes before, after;
    Dialect dialect = Dialect::tfl; ///< of the second
    bool isQuantized = false;       ///< the second
};

/// Leaves `at` out; its readers read what it read.
inline void erase(Nodes& nodes, int at)
{
    const int from = nodes[static_cast<size_t>(at)].inputs[0];
    nodes.erase(nodes.begin() + at);
    for (Node& node : nodes)
        for (int& input : node.inputs) {
            if (input == at) input = from;
            else if (input > at) --input;
        }
}

/// Puts a node behind `at`, whose readers read it instead.
inline void insertBehind(Nodes& nodes, int at, Node added)
{
    for (Node& node : nodes)
        for (int& input : node.inputs)
            if (input >= at) ++input;
    added.inputs = {at};
    nodes.insert(nodes.begin() + at + 1, std::move(added));
}

inline int readersOf(const Nodes& nodes, int at)
{
    int count = at + 1 == static_cast<int>(nodes.size()) ? 1 : 0;
    for (const Node& node : nodes) count += static_cast<int>(std::ranges::count(node.inputs, at));
    return count;
}

inline void rename(Nodes& nodes, uint32_t seed)
{
    std::mt19937 random(seed);
    for (Node& node : nodes) node.name = "v" + std::to_string(random());
}

/// Convolutions take in the activation that alone reads them.
inline void fuseActivations(Nodes& nodes)
{
    for (int k = 0; k + 1 < static_cast<int>(nodes.size()); ++k) {
        Node &conv = nodes[static_cast<size_t>(k)], &act = nodes[static_cast<size_t>(k) + 1];
        if (conv.kind != "conv_2d" || !act.kind.starts_with("relu") || act.inputs != std::vector<int>{k} || readersOf(nodes, k) != 1)
            continue;
        conv.attributes.insert(conv.attributes.begin(), {"act", Word{act.kind == "relu" ? "RELU" : "RELU6"}});
        conv.ids.insert(act.ids.begin(), act.ids.end());
        conv.name = act.name; // as converters name it
        erase(nodes, k + 1);
    }
}

/// At least 30 pairs: each edit with names kept and with new ones.
inline std::vector<LabelledPair> labelledPairs()
{
    using Edit = std::function<void(Nodes&)>;
    const auto each = [](std::string kind, size_t step, const std::function<void(Nodes&, int)>& edit) -> Edit {
        return [=](Nodes& nodes) {
            std::vector<int> found;
            for (size_t k = 0; k < nodes.size(); ++k)
                if (kind.empty() || nodes[k].kind == kind) found.push_back(static_cast<int>(k));
            for (size_t k = found.size(); k-- > 0;)
                if (k % step == 1) edit(nodes, found[k]);
        };
    };
    const std::vector<std::pair<std::string, Edit>> edits = {
        {"nothing", [](Nodes&) {}},
        {"attributes", each("average_pool_2d", 2, [](Nodes& n, int k) { n[static_cast<size_t>(k)].attributes[0].value = int64_t{9}; })},
        {"constants", each("conv_2d", 3, [](Nodes& n, int k) { n[static_cast<size_t>(k)].weights += 2; })},
        {"all constants", each("", 1000000,
                               [](Nodes& n, int) {
                                   for (Node& node : n) node.weights += node.weights != 0 ? 2 : 0;
                               })},
        {"removed", each("tanh", 3,
                         [](Nodes& n, int k) {
                             if (k + 1 < static_cast<int>(n.size())) erase(n, k);
                         })},
        {"added", each("mul", 3,
                       [](Nodes& n, int k) {
                           insertBehind(n, k, {"logistic", {}, {}, 0, {}, "added" + std::to_string(k)});
                       })},
        {"kind", each("relu", 4, [](Nodes& n, int k) { n[static_cast<size_t>(k)].kind = "elu"; })},
        {"fused", fuseActivations},
        {"split", each("mul", 4,
                       [](Nodes& n, int k) {
                           const Node& mul = n[static_cast<size_t>(k)];
                           insertBehind(n, k, {"relu", {}, {}, 0, mul.ids, mul.name + "_b"});
                           n[static_cast<size_t>(k)].weights += 2;
                       })},
        {"rewired", each("add", 3,
                         [](Nodes& n, int k) {
                             if (n[static_cast<size_t>(k)].inputs[1] > 0) --n[static_cast<size_t>(k)].inputs[1];
                         })},
        {"swapped operands",
         each("add", 2, [](Nodes& n, int k) { std::swap(n[static_cast<size_t>(k)].inputs[0], n[static_cast<size_t>(k)].inputs[1]); })},
    };
    std::vector<LabelledPair> pairs;
    uint32_t seed = 1;
    for (const auto& [name, edit] : edits)
        for (const int variant : {0, 1, 2}) {
            LabelledPair pair{name + (variant == 0 ? "" : variant == 1 ? ", renamed" : ", numbered anew"), network(60, ++seed), {}};
            pair.after = pair.before;
            edit(pair.after);
            if (variant == 1) rename(pair.after, seed);
            if (variant == 2)
                for (size_t k = 0; k < pair.after.size(); ++k) pair.after[k].name = "t" + std::to_string(k);
            pairs.push_back(std::move(pair));
        }
    for (const bool isFused : {false, true})
        for (const bool isNamed : {false, true}) {
            LabelledPair pair{
                std::string("TensorFlow") + (isFused ? ", fused" : "") + (isNamed ? "" : ", renamed"), network(60, ++seed), {}};
            pair.after = pair.before;
            if (isFused) fuseActivations(pair.after);
            if (!isNamed) rename(pair.after, seed);
            pair.dialect = Dialect::tf;
            pairs.push_back(pair);
            pair.name = std::string("int8") + (isFused ? ", fused" : "") + (isNamed ? "" : ", renamed");
            pair.dialect = Dialect::tfl;
            pair.isQuantized = true;
            pairs.push_back(std::move(pair));
        }
    return pairs;
}

/// How many operators are matched as the edits say, and of how many.
inline std::pair<int64_t, int64_t> score(const LabelledPair& pair)
{
    const Model before = modelOf(pair.before), after = modelOf(pair.after, pair.dialect, pair.isQuantized);
    const GraphDiff diff = diffGraphs(before, GraphId(0), after, GraphId(0));
    std::map<int, std::set<std::string>> got, want; // operators of the first → names there
    std::map<std::string, std::set<int>> gotThere;
    const auto nameOf = [&](OperatorId op) { return after.graphs[0].value(after.graphs[0].op(op).results[0]).id; };
    for (const MatchedGroup& group : diff.groups)
        for (const OperatorId other : group.there) {
            if (after.graphs[0].op(other).kind.name == "Const") continue;
            for (const OperatorId own : group.here) {
                got[own.index].insert(nameOf(other));
                gotThere[nameOf(other)].insert(own.index);
            }
        }
    for (const Node& node : pair.after)
        for (const int id : node.ids) want[id].insert(node.name);
    int64_t right = 0, all = 0;
    for (size_t k = 0; k < pair.before.size(); ++k, ++all) right += got[static_cast<int>(k)] == want[static_cast<int>(k)] ? 1 : 0;
    for (const Node& node : pair.after)
        if (node.ids.empty()) {
            ++all;
            right += gotThere[node.name].empty() ? 1 : 0;
        }
    return {right, all};
}

} // namespace loopscope::testing_pairs
