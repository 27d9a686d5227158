// Builds small models in code, one line an operator, for tests of the planner and the interpreter.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace loopscope::testing {

/// Adds values and operators to one graph of a model.
class GraphBuilder {
public:
    GraphBuilder(Model& model, GraphId graph) : m_model(model), m_graph(graph) {}

    ValueId input(DType dtype, const Shape& shape)
    {
        const ValueId value = add(dtype, shape, ValueRole::input);
        graph().inputs.push_back(value);
        return value;
    }

    template <typename T> ValueId constant(const Shape& shape, std::initializer_list<T> data)
    {
        return constant(shape, std::vector<T>(data));
    }
    template <typename T> ValueId constant(const Shape& shape, const std::vector<T>& data)
    {
        const ValueId value = add(dtypeOf<T>(), shape, ValueRole::constant);
        graph().value(value).constant = std::make_shared<const Constant>(Bytes::copyOf(data.data(), data.size() * sizeof(T)));
        return value;
    }

    ValueId variable(DType dtype, const Shape& shape) { return add(dtype, shape, ValueRole::variable); }

    /// An operator with results of the given dtypes; their shapes are left to inference.
    std::vector<ValueId> op(const std::string& kind, const std::vector<ValueId>& inputs, const std::vector<DType>& results,
                            AttributeList attributes = {})
    {
        Operator op;
        const size_t dot = kind.find('.');
        op.kind = dot == std::string::npos ? Kind{"tfl", kind} : Kind{kind.substr(0, dot), kind.substr(dot + 1)};
        for (NamedAttribute& attribute : attributes) setAttribute(op.attributes, attribute.key, attribute.value);
        op.inputs = inputs;
        const OperatorId id(static_cast<int64_t>(graph().operators.size()));
        for (const DType dtype : results) {
            const ValueId value = add(dtype, Shape::unknownRank(), ValueRole::result);
            graph().value(value).producer = id;
            graph().value(value).slot = static_cast<int32_t>(op.results.size());
            op.results.push_back(value);
        }
        graph().operators.push_back(op);
        return op.results;
    }

    ValueId one(const std::string& kind, const std::vector<ValueId>& inputs, DType result, AttributeList attributes = {})
    {
        return op(kind, inputs, {result}, std::move(attributes))[0];
    }

    void returns(const std::vector<ValueId>& values)
    {
        for (const ValueId value : values) graph().outputs.push_back({"", value});
    }

    GraphId id() const { return m_graph; }
    Graph& graph() { return m_model.graph(m_graph); }

private:
    ValueId add(DType dtype, const Shape& shape, ValueRole role)
    {
        Value value;
        value.id = "v" + std::to_string(graph().values.size());
        value.type = TensorType(dtype, shape);
        value.role = role;
        graph().values.push_back(value);
        return ValueId(static_cast<int64_t>(graph().values.size() - 1));
    }

    Model& m_model;
    GraphId m_graph;
};

inline GraphBuilder addGraph(Model& model, const std::string& id)
{
    Graph graph;
    graph.id = id;
    model.graphs.push_back(graph);
    return GraphBuilder(model, GraphId(static_cast<int64_t>(model.graphs.size() - 1)));
}

inline NamedAttribute graphAttribute(const std::string& key, GraphId graph) { return {key, GraphRef{graph, nullptr}}; }

/// A tensor over `data`, which must stay alive.
template <typename T> Tensor tensorOver(std::vector<T>& data, const Shape& shape)
{
    Tensor tensor;
    tensor.data = reinterpret_cast<std::byte*>(data.data());
    tensor.bytes = data.size() * sizeof(T);
    tensor.dtype = dtypeOf<T>();
    tensor.shape = shape;
    return tensor;
}

template <typename T> std::vector<T> elements(const Tensor& tensor)
{
    std::vector<T> values(tensor.bytes / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), tensor.data, tensor.bytes);
    return values;
}

} // namespace loopscope::testing
