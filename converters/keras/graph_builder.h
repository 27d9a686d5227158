// A graph of TensorFlow's operators that is being written, one layer after the other. What goes wrong is kept until the layer is done:
// rules are written as formulas, and a formula over nothing gives nothing.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loopscope::keras {

/// A dimension of a shape that is computed: a number, or the one that a value has along an axis when the model runs, times a number.
struct Extent {
    int64_t number = 0;
    ValueId of; ///< invalid: `number` alone
    int axis = 0;
    int64_t factor = 1;
    int64_t plus = 0;
};

class GraphBuilder {
public:
    GraphBuilder(std::string id, bool isMain);

    // --- Operators ----------------------------------------------------------------------------------------------------------------------

    /// An operator of TensorFlow's registry. Its attributes of types and counts follow from the operands, the types of its results from
    /// inference. Gives its results; none if anything is wrong, which failure() tells.
    std::vector<ValueId> all(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes = {});
    /// The same, its first result.
    ValueId op(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes = {});
    /// An operator whose results' types the caller knows: a call, a loop, a layer without a graph.
    std::vector<ValueId> typed(Kind kind, std::string_view name, std::vector<ValueId> inputs, AttributeList attributes,
                               std::vector<TensorType> results);
    /// A Placeholder of the main graph, a parameter of a function.
    ValueId input(const std::string& name, TensorType type);
    void output(std::string name, ValueId value) { m_graph.outputs.push_back({std::move(name), value}); }

    // --- Constants ----------------------------------------------------------------------------------------------------------------------

    ValueId constant(const std::string& name, TensorAttribute value);
    ValueId ints(const std::vector<int64_t>& values); ///< i32[n]
    ValueId integer(int64_t value);                   ///< i32[]
    ValueId number(double value, ValueId like);       ///< of the dtype of `like`, scalar
    ValueId numbers(const std::vector<double>& values, const Shape& shape, DType dtype);

    // --- Formulas -----------------------------------------------------------------------------------------------------------------------

    ValueId add(ValueId a, ValueId b) { return op("AddV2", {a, b}); }
    ValueId sub(ValueId a, ValueId b) { return op("Sub", {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
    ValueId cast(ValueId value, DType dtype);
    ValueId reshape(ValueId value, const std::vector<Extent>& extents);
    ValueId transpose(ValueId value, const std::vector<int64_t>& order);
    ValueId expand(ValueId value, int64_t axis) { return op("ExpandDims", {value, integer(axis)}); }
    ValueId squeeze(ValueId value, std::vector<int64_t> axes);
    /// Mean, Sum, Max, Min, Prod, All, Any along axes.
    ValueId reduce(std::string_view kind, ValueId value, const std::vector<int64_t>& axes, bool keep);
    /// value[…, begin:end, …]; an end of nothing: to the axis' own.
    ValueId slice(ValueId value, int axis, int64_t begin, std::optional<int64_t> end);
    /// A vector i32 of the extents.
    ValueId sizes(const std::vector<Extent>& extents);
    /// The axis as it is, whatever it is.
    Extent same(ValueId value, int axis) const;

    // --- Types --------------------------------------------------------------------------------------------------------------------------

    const TensorType& type(ValueId value) const;
    DType dtype(ValueId value) const { return type(value).dtype; }
    const Shape& shape(ValueId value) const { return type(value).shape; }
    int rank(ValueId value) const { return shape(value).hasRank() ? shape(value).rank() : -1; }
    /// Unknown where there is no such axis; negative axes count from the end.
    int64_t dim(ValueId value, int axis) const;
    void setShape(ValueId value, Shape shape);

    // --- Masks --------------------------------------------------------------------------------------------------------------------------

    /// Which steps of a value count, as Keras hands it from layer to layer: none; a value of bools; or an invalid id where it is not known.
    std::optional<ValueId> maskOf(ValueId value) const;
    void setMask(ValueId value, ValueId mask) { m_masks[value.index] = mask; }
    void forgetMask(ValueId value) { m_masks.erase(value.index); }

    // --- Names, failures ----------------------------------------------------------------------------------------------------------------

    /// What the following operators' names begin with; empty: nothing.
    void enter(std::string scope) { m_scope = std::move(scope); }
    const std::string& scope() const { return m_scope; }
    std::string freshName(const std::string& wanted);
    /// Gives the operator that makes a value another name, which nobody has.
    void rename(ValueId value, const std::string& name);

    void fail(Error error)
    {
        if (!m_failure) m_failure = std::move(error);
    }
    bool failed() const { return m_failure.has_value(); }
    std::optional<Error> takeFailure() { return std::exchange(m_failure, std::nullopt); }

    /// What was built since is gone with restore.
    struct Mark {
        size_t operators = 0, values = 0;
    };
    Mark mark() const { return {m_graph.operators.size(), m_graph.values.size()}; }
    void restore(const Mark& mark);

    /// A constant that was made under this key before.
    ValueId known(const std::string& key) const;
    void remember(const std::string& key, ValueId value) { m_constants[key] = value; }

    bool isMain() const { return m_isMain; }
    Graph& graph() { return m_graph; }

private:
    /// A small constant of the current scope, made once.
    ValueId shared(DType dtype, Shape shape, const std::vector<double>& values);
    bool complete(Operator& op, std::vector<TensorType>& results);
    std::vector<ValueId> add(Operator op, std::string_view name, std::vector<TensorType> results);
    Status infer(const Operator& op, std::vector<TensorType>& results) const;

    Graph m_graph;
    bool m_isMain;
    std::string m_scope;
    std::unordered_set<std::string> m_names;
    std::map<std::string, ValueId> m_constants;
    std::map<std::string, int> m_suffixes;
    std::map<int32_t, ValueId> m_masks;
    std::optional<Error> m_failure;
};

} // namespace loopscope::keras
