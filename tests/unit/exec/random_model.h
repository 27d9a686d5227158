// Random models with nested loops, branches and calls, and a second, naive way to compute them, for property tests.
#pragma once

#include "tests/unit/exec/model_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>

namespace loopscope::testing {

/// What the generator's values are: i32 of one of three shapes. A list has a size that only running tells.
enum class Sort : uint8_t { scalar, vector, list };

/// A value of the naive evaluator.
struct Plain {
    Shape shape;
    std::vector<int32_t> data;
    bool operator==(const Plain&) const = default;
};

/// Makes models whose main graph takes (scalar, vector, list) and returns eight values.
class RandomModel {
public:
    explicit RandomModel(uint32_t seed) : m_random(seed)
    {
        const GraphBuilder main = addGraph(m_model, "main");
        fill(main, {Sort::scalar, Sort::vector, Sort::list}, randomSorts(8), 0);
    }

    const Model& model() const { return m_model; }

    /// Inputs for main.
    std::vector<Plain> inputs()
    {
        std::vector<Plain> values(3);
        values[0] = {Shape{}, {number()}};
        values[1] = {Shape{4}, {number(), number(), number(), number()}};
        values[2] = {Shape{2}, {number(), number()}};
        return values;
    }

private:
    int below(int limit) { return static_cast<int>(m_random() % static_cast<uint32_t>(limit)); }
    int32_t number() { return below(19) - 9; }

    std::vector<Sort> randomSorts(int count)
    {
        std::vector<Sort> sorts;
        for (int i = 0; i < count; ++i) sorts.push_back(static_cast<Sort>(below(3)));
        return sorts;
    }

    static Shape shapeOf(Sort sort) { return sort == Sort::scalar ? Shape{} : sort == Sort::vector ? Shape{4} : Shape{kUnknownDim}; }

    struct Known {
        ValueId value;
        Sort sort;
    };

    ValueId pick(GraphBuilder& graph, const std::vector<Known>& known, Sort sort)
    {
        std::vector<ValueId> fitting;
        for (const Known& k : known)
            if (k.sort == sort) fitting.push_back(k.value);
        if (!fitting.empty() && below(8) != 0) return fitting[static_cast<size_t>(below(static_cast<int>(fitting.size())))];
        const int count = sort == Sort::scalar ? 1 : sort == Sort::vector ? 4 : below(3);
        std::vector<int32_t> data;
        for (int i = 0; i < count; ++i) data.push_back(number());
        return graph.constant<int32_t>(sort == Sort::scalar ? Shape{} : Shape{count}, data);
    }

    std::vector<ValueId> pickAll(GraphBuilder& graph, const std::vector<Known>& known, const std::vector<Sort>& sorts)
    {
        std::vector<ValueId> values;
        for (const Sort sort : sorts) values.push_back(pick(graph, known, sort));
        return values;
    }

    /// A graph with this signature: a new one, or one made before.
    GraphId graphFor(const std::vector<Sort>& inputs, const std::vector<Sort>& outputs, int depth)
    {
        for (const auto& [id, signature] : m_signatures)
            if (signature == std::pair(inputs, outputs) && below(3) == 0) return id;
        const GraphBuilder graph = addGraph(m_model, "g" + std::to_string(m_model.graphs.size()));
        fill(graph, inputs, outputs, depth);
        m_signatures[graph.id()] = {inputs, outputs}; // only now: no graph calls itself
        return graph.id();
    }

    void fill(GraphBuilder graph, const std::vector<Sort>& inputs, const std::vector<Sort>& outputs, int depth)
    {
        std::vector<Known> known;
        for (const Sort sort : inputs) known.push_back({graph.input(DType::i32, shapeOf(sort)), sort});
        addOperators(graph, known, depth, 2 + below(7));
        graph.returns(pickAll(graph, known, outputs));
    }

    void addOperators(GraphBuilder& graph, std::vector<Known>& known, int depth, int count)
    {
        for (int i = 0; i < count; ++i) {
            const int choice = below(depth < 3 ? 12 : 6);
            if (choice < 3) {
                const char* const kinds[] = {"add", "sub", "mul"};
                const Sort sort = below(2) == 0 ? Sort::scalar : Sort::vector;
                const ValueId a = pick(graph, known, sort);
                const ValueId b = pick(graph, known, below(2) == 0 ? Sort::scalar : sort);
                known.push_back({graph.one(kinds[choice], {a, b}, DType::i32), sort});
            } else if (choice < 5) {
                const ValueId list = pick(graph, known, Sort::list);
                known.push_back(
                    {graph.one("concatenation", {list, pick(graph, known, Sort::vector)}, DType::i32, {{"axis", int64_t{0}}}), Sort::list});
            } else if (choice == 5) { // [4] + [1]: a list's size reaches the other values
                const ValueId size = graph.one("shape", {pick(graph, known, Sort::list)}, DType::i32);
                known.push_back({graph.one("add", {pick(graph, known, Sort::vector), size}, DType::i32), Sort::vector});
            } else if (choice < 8) {
                addBranch(graph, known, depth);
            } else if (choice < 10) {
                addLoop(graph, known, depth);
            } else {
                const std::vector<Sort> arguments = randomSorts(below(4));
                const std::vector<Sort> results = randomSorts(1 + below(3));
                addCall(graph, known, "call", pickAll(graph, known, arguments), results,
                        {graphAttribute("call", graphFor(arguments, results, depth + 1))});
            }
        }
    }

    void addCall(GraphBuilder& graph, std::vector<Known>& known, const std::string& kind, const std::vector<ValueId>& operands,
                 const std::vector<Sort>& results, AttributeList attributes)
    {
        const std::vector<ValueId> values = graph.op(kind, operands, std::vector<DType>(results.size(), DType::i32), std::move(attributes));
        for (size_t k = 0; k < results.size(); ++k) known.push_back({values[k], results[k]});
    }

    void addBranch(GraphBuilder& graph, std::vector<Known>& known, int depth)
    {
        const std::vector<Sort> arguments = randomSorts(below(4));
        const std::vector<Sort> results = randomSorts(1 + below(3));
        std::vector<ValueId> operands = {
            graph.one("less", {pick(graph, known, Sort::scalar), pick(graph, known, Sort::scalar)}, DType::boolean)};
        for (const ValueId value : pickAll(graph, known, arguments)) operands.push_back(value);
        addCall(graph, known, "if", operands, results,
                {graphAttribute("then", graphFor(arguments, results, depth + 1)),
                 graphAttribute("else", graphFor(arguments, results, depth + 1))});
    }

    /// Counter and limit come first; the other carried values take whatever the body's random part leaves, inputs included.
    void addLoop(GraphBuilder& graph, std::vector<Known>& known, int depth)
    {
        const std::vector<Sort> carried = randomSorts(1 + below(4));
        std::vector<ValueId> operands = {graph.constant<int32_t>(Shape{}, {0}), graph.constant<int32_t>(Shape{}, {below(5)})};
        for (const ValueId value : pickAll(graph, known, carried)) operands.push_back(value);

        GraphBuilder cond = addGraph(m_model, "g" + std::to_string(m_model.graphs.size()));
        GraphBuilder body = addGraph(m_model, "g" + std::to_string(m_model.graphs.size()));
        std::vector<Known> inner;
        std::vector<ValueId> formals;
        for (int i = 0; i < 2; ++i) {
            formals.push_back(body.input(DType::i32, Shape{}));
            inner.push_back({formals.back(), Sort::scalar});
            cond.input(DType::i32, Shape{});
        }
        for (const Sort sort : carried) {
            formals.push_back(body.input(DType::i32, shapeOf(sort)));
            inner.push_back({formals.back(), sort});
            cond.input(DType::i32, shapeOf(sort));
        }
        cond.returns({cond.one("less", {cond.graph().inputs[0], cond.graph().inputs[1]}, DType::boolean)});
        addOperators(body, inner, depth + 1, below(6));
        std::vector<ValueId> next = {body.one("add", {formals[0], body.constant<int32_t>(Shape{}, {1})}, DType::i32), formals[1]};
        for (const ValueId value : pickAll(body, inner, carried)) next.push_back(value);
        body.returns(next);

        std::vector<Sort> results = {Sort::scalar, Sort::scalar};
        results.insert(results.end(), carried.begin(), carried.end());
        addCall(graph, known, "while", operands, results, {graphAttribute("cond", cond.id()), graphAttribute("body", body.id())});
    }

    std::mt19937 m_random;
    Model m_model;
    std::map<GraphId, std::pair<std::vector<Sort>, std::vector<Sort>>> m_signatures;
};

/// Computes a graph of such a model by recursion on fresh copies: slow, and too simple to share a fault with the interpreter.
inline std::vector<Plain> evaluate(const Model& model, GraphId id, const std::vector<Plain>& inputs)
{
    const Graph& graph = model.graph(id);
    std::vector<Plain> values(graph.values.size());
    for (size_t v = 0; v < values.size(); ++v) {
        const Value& value = graph.values[v];
        if (value.role != ValueRole::constant) continue;
        const Bytes& bytes = value.constant->bytes();
        values[v].shape = value.type.shape;
        values[v].data.assign(bytes.as<int32_t>(), bytes.as<int32_t>() + bytes.size() / 4);
    }
    for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(graph.inputs[i].index)] = inputs[i];
    for (const Operator& op : graph.operators) {
        std::vector<Plain> in;
        for (const ValueId input : op.inputs) in.push_back(values[static_cast<size_t>(input.index)]);
        std::vector<Plain> out(1);
        const std::string& kind = op.kind.name;
        const auto callee = [&](const char* role, const std::vector<Plain>& arguments) {
            return evaluate(model, attributeGraph(op.attributes, role), arguments);
        };
        if (kind == "concatenation") {
            out[0].data = in[0].data;
            out[0].data.insert(out[0].data.end(), in[1].data.begin(), in[1].data.end());
            out[0].shape = Shape{static_cast<int64_t>(out[0].data.size())};
        } else if (kind == "shape") {
            out[0] = {Shape{1}, {static_cast<int32_t>(in[0].data.size())}};
        } else if (kind == "call") {
            out = callee("call", in);
        } else if (kind == "if") {
            out = callee(in[0].data[0] != 0 ? "then" : "else", {in.begin() + 1, in.end()});
        } else if (kind == "while") {
            out = in;
            while (callee("cond", out)[0].data[0] != 0) out = callee("body", out);
        } else {
            out[0].shape = in[0].shape;
            for (size_t i = 0; i < in[0].data.size(); ++i) {
                const auto a = static_cast<uint32_t>(in[0].data[i]);
                const auto b = static_cast<uint32_t>(in[1].data[in[1].data.size() == 1 ? 0 : i]);
                const uint32_t result = kind == "add"   ? a + b
                                        : kind == "sub" ? a - b
                                        : kind == "mul" ? a * b
                                                        : static_cast<uint32_t>(in[0].data[i] < in[1].data[0]);
                out[0].data.push_back(static_cast<int32_t>(result));
            }
        }
        for (size_t k = 0; k < op.results.size(); ++k) values[static_cast<size_t>(op.results[k].index)] = out[k];
    }
    std::vector<Plain> outputs;
    for (const GraphOutput& output : graph.outputs) outputs.push_back(values[static_cast<size_t>(output.value.index)]);
    return outputs;
}

} // namespace loopscope::testing
