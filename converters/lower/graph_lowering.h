// What the rules of lowering are written on: one TensorFlow operator is looked at, TFLite operators are put behind those that are there.
#pragma once

#include "converters/lower/list_kinds.h"
#include "converters/lower/lower.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loopscope::lowering {

class ModelLowering;

/// The values of a TensorFlow graph, in the graph that they are lowered into.
using Lowered = std::vector<ValueId>;

/// One graph that is made. Functions that are called are lowered into the graph of their caller.
class GraphLowering {
public:
    GraphLowering(ModelLowering& model, std::string id);

    // --- The operator that is lowered ---------------------------------------------------------------------------------------------------

    const Operator& op() const { return *m_op; }
    int inputCount() const { return static_cast<int>(m_op->inputs.size()); }
    ValueId input(int i) const { return (*m_values)[static_cast<size_t>(m_op->inputs[static_cast<size_t>(i)].index)]; }
    std::vector<ValueId> inputs() const;
    const TensorType& type(ValueId id) const { return m_graph.value(id).type; }
    /// What TensorFlow says of result `k`.
    /// What an operand, or a result, holds that is a list or an optional.
    ListKind listOf(int operand) const;
    ListKind listGiven(int k) const;
    const TensorType& declared(int k) const { return m_source->value(m_op->results[static_cast<size_t>(k)]).type; }
    /// Elements of a constant of integers; none: it is no constant.
    std::optional<std::vector<int64_t>> integers(ValueId id) const;
    /// NHWC, or nothing said of it.
    Status checkLayout() const;

    // --- What stands for it -------------------------------------------------------------------------------------------------------------

    /// Result `k` of the operator is this value.
    void bind(int k, ValueId value);
    /// A new operator for result 0, or for all results of the TensorFlow operator. Errors: what TFLite's rules say against it.
    Status finish(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes = {});
    /// A new operator on the way, with one result. `dtype` unknown: as the rules of the operator say.
    Result<ValueId> emit(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes = {}, DType dtype = DType::unknown);
    /// With these types as far as inference does not know better.
    Result<std::vector<ValueId>> emitAll(Kind kind, std::vector<ValueId> inputs, AttributeList attributes, std::vector<TensorType> types,
                                         std::span<const std::string> names = {});

    ValueId constant(TensorType type, ConstantPtr data, std::string_view name = "");
    ValueId integerConstant(DType dtype, std::span<const int64_t> values, bool isScalar = false);
    ValueId realConstant(DType dtype, double value);
    /// As i32: where TFLite takes indices in that dtype only.
    Result<ValueId> asInt32(ValueId id);
    Result<ValueId> asBool(ValueId id); ///< TensorFlow's truth of a number
    Result<ValueId> shapeOf(ValueId id) { return emit("shape", {id}, {{"out_type", DType::i32}}, DType::i32); }
    /// A value of its own with the same elements.
    Result<ValueId> copy(ValueId id);

    /// The value, of which nobody looks at an element, may get another dtype.
    void markStandIn(ValueId id) { m_standIns.push_back(id); }
    const std::vector<ValueId>& standIns() const { return m_standIns; }

    /// What a table holds that is no table in TFLite, by what stands for its handle.
    struct Table {
        ValueId keys, values; ///< constants
    };
    void markTable(ValueId handle, Table table) { m_tables[handle.index] = table; }
    const Table* tableOf(ValueId handle) const
    {
        const auto found = m_tables.find(handle.index);
        return found == m_tables.end() ? nullptr : &found->second;
    }

    /// A list that stands for the flow of a TensorArray, or what is left of its handle: whatever dtype TensorFlow says of it.
    void markArray(ValueId id) { m_arrays.insert(id.index); }
    bool isArray(ValueId id) const { return m_arrays.contains(id.index); }
    /// Nothing was written to it.
    void markFresh(ValueId id) { m_fresh.insert(id.index); }
    bool isFresh(ValueId id) const { return m_fresh.contains(id.index); }

    ModelLowering& model() { return m_model; }
    void note(std::string text);
    std::string place() const { return m_place + "/" + m_op->name; }

    // --- Whole graphs -------------------------------------------------------------------------------------------------------------------

    /// Lowers the operators of a function into this graph; what its outputs are.
    std::vector<ValueId> lowerBody(const Graph& source, std::span<const ValueId> arguments, const std::string& place);
    ValueId addInput(const std::string& id, TensorType type);
    void setOutputs(const std::vector<ValueId>& outputs);
    Graph& graph() { return m_graph; }
    /// The value that stands for a value of the graph that was lowered last.
    ValueId valueOf(ValueId source) const { return (*m_values)[static_cast<size_t>(source.index)]; }

private:
    void lowerOperator(OperatorId id);
    static std::vector<bool> neededOperators(const Graph& source);
    Status lowerRagged();
    Status keepOperator(); ///< an operator of TFLite in the TensorFlow graph
    Result<ValueId> asState(ValueId id);
    ValueId newValue(const std::string& wanted, TensorType type, ValueRole role);
    ValueId absentResult(int k);
    std::vector<std::string> originInSource() const; ///< of what is made of the present operator

    ModelLowering& m_model;
    Graph m_graph;
    const Graph* m_source = nullptr;
    const Operator* m_op = nullptr;
    Lowered* m_values = nullptr;
    std::string m_place, m_prefix;
    std::unordered_set<std::string> m_names;
    std::vector<ValueId> m_standIns;
    std::set<int32_t> m_arrays, m_fresh;
    std::map<int32_t, Table> m_tables; ///< by value
    std::map<std::pair<int, std::vector<int64_t>>, ValueId> m_integers;
};

/// All graphs of a model.
class ModelLowering {
public:
    ModelLowering(const Model& model, const LowerOptions& options) : m_source(model), m_options(options), m_lists(model) {}

    Result<LoweredModel> lower(GraphId root);

    const Model& source() const { return m_source; }
    const LowerOptions& options() const { return m_options; }
    const ListKinds& lists() const { return m_lists; }
    LoweredModel& result() { return m_result; }
    /// The graph that a function becomes whose inputs are given values of these types; `extra` inputs stand before its own. A number
    /// that its output is becomes its truth where `isCondition`. `copies`: outputs get values of their own where LiteRT needs that.
    struct Callee {
        GraphId source;
        std::vector<TensorType> types; ///< of what it is given; used where the function leaves dtypes open, as lists are
        int extra = 0;
        bool isCondition = false, isBody = false;
        std::vector<bool> arrays; ///< which of what it is given are arrays; empty: none
        /// What of it is known, and stays so: the graph has constants of its own for these.
        std::vector<std::optional<TensorAttribute>> constants = {};
    };
    Result<GraphId> calleeOf(const Callee& callee, const std::string& place);
    GraphId reserve(std::string id);
    void put(GraphId id, Graph graph);
    void decline(std::string place, std::string kind, std::string reason);
    /// Which outputs are arrays.
    std::vector<bool> outputArrays(GraphId lowered) const;
    /// The variable has this value when a session begins.
    void initialise(const Operator& variable, const TensorAttribute& value);
    /// A table that is filled when a session begins; its number.
    int64_t addTable(const Operator& table, const TensorAttribute& keys, const TensorAttribute& values);
    /// Where branches give different dtypes and one of them only a stand-in, that becomes one of the other's dtype. What the two together
    /// give: where shapes differ, of unknown rank. Errors: unsupported, if both give something, of two dtypes.
    Result<std::vector<TensorType>> matchBranches(GraphId a, GraphId b);
    /// Whether nobody looks at an element of a value, or of an output, of a lowered graph.
    bool isStandIn(GraphId graph, ValueId value) const { return m_standIns.contains({graph.index, value.index}); }
    bool isStandIn(GraphId graph, size_t k) const { return isStandIn(graph, m_result.model.graph(graph).outputs[k].value); }
    int depth = 0;                                               ///< of functions within functions
    bool hasOpenLists = false;                                   ///< whose elements have no shape before the first is written
    int64_t padding() const { return m_hasEmptyLists ? 1 : 0; }  ///< rows before the first element of each list
    bool hasGrowingArrays() const { return m_hasGrowingArrays; } ///< TensorArrays of a size that is not known

private:
    const Model& m_source;
    const LowerOptions& m_options;
    const ListKinds m_lists;
    LoweredModel m_result;
    std::map<std::string, GraphId> m_callees;
    bool m_hasEmptyLists = false, m_hasGrowingArrays = false;
    std::map<int32_t, std::vector<bool>> m_arrayOutputs; ///< by graph
    void addInitialiser(Graph& main);
    void become(GraphId graph, ValueId standIn, DType dtype);
    std::unordered_set<std::string> m_ids;
    std::set<std::pair<int32_t, int32_t>> m_standIns;                         ///< graph and value
    std::map<std::pair<std::string, std::string>, TensorAttribute> m_initial; ///< by container and shared name
    struct FilledTable {
        std::string name;
        TensorAttribute keys, values;
    };
    std::vector<FilledTable> m_tables; ///< by number
};

/// How one TensorFlow operator is lowered. Errors: unsupported, badFile: why it cannot be.
using Rule = Status (*)(GraphLowering&);
/// Null: there is none.
Rule findRule(std::string_view kind);
/// Operators that only check or say something, of which nothing is left: what they read is not needed for them.
bool isLeftOut(std::string_view kind);
/// The same for operators that only change their names and the keys of attributes; false: it is none of them.
bool isSimple(std::string_view kind);
Status lowerSimple(GraphLowering& lowering);

struct NamedRule {
    std::string_view kind;
    Rule rule;
};
std::span<const NamedRule> mathRules();
std::span<const NamedRule> nnRules();
std::span<const NamedRule> flowRules();
std::span<const NamedRule> listRules();
std::span<const NamedRule> scatterRules();
std::span<const NamedRule> imageRules();
std::span<const NamedRule> windowRules();
std::span<const NamedRule> tableRules();
std::span<const NamedRule> einsumRules();
std::span<const NamedRule> signalRules();
std::span<const NamedRule> optimizerRules();
/// Of operators on lists whose elements have shapes of their own; null: it has none for those.
Rule findRaggedRule(std::string_view kind);
/// How values of this dtype lie in such a list.
DType raggedDtype(DType item);

/// The tensor with `updates` at `indices`, […, depth]: what is written twice has the later value.
Result<ValueId> updated(GraphLowering& l, ValueId tensor, ValueId indices, ValueId updates);

inline ValueId numbers(GraphLowering& l, std::initializer_list<int64_t> values)
{
    return l.integerConstant(DType::i32, std::vector<int64_t>(values));
}
inline ValueId number(GraphLowering& l, int64_t value) { return l.integerConstant(DType::i32, std::span(&value, 1), true); }

inline Error noForm(std::string reason) { return Error(ErrorCode::unsupported, std::move(reason)); }
/// "SAME" of a TensorFlow string as TFLite's enumerator.
inline Attribute wordOf(const Operator& op, std::string_view key) { return Word{std::string(attributeString(op.attributes, key, ""))}; }

} // namespace loopscope::lowering
