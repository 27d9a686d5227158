// The one way to change a graph. It keeps what a rewrite would otherwise have to remember: who uses each value, where operators came from
// (`Operator::origin`), unique names, and the order of the operators. docs/transform.md shows how a rewrite is written.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/ir/origin.h"
#include "engine/transform/operator_order.h"
#include "engine/transform/use_lists.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loopscope {

/// The operators that a new one stands for: its origin is theirs, joined. There is no default, so that nobody forgets to say it.
class Sources {
public:
    Sources(OperatorId op) : m_operators{op} {} // NOLINT(google-explicit-constructor): `insert(draft, op)` reads well
    Sources(std::initializer_list<OperatorId> ops) : m_operators(ops) {}
    Sources(std::span<const OperatorId> ops) : m_operators(ops.begin(), ops.end()) {} // NOLINT(google-explicit-constructor)
    /// For what stands for nothing in the file: a value that nobody looks at, a read that a session adds.
    static Sources none() { return Sources(std::span<const OperatorId>()); }

    /// Operators of another graph, as parts of which a new graph is made: they are named with their graph, `@main/while/add`.
    static Sources elsewhere(const Graph& graph, std::span<const OperatorId> ops);

    const std::vector<OperatorId>& operators() const { return m_operators; }
    const std::vector<std::string>& others() const { return m_others; } ///< origins of operators of other graphs

private:
    std::vector<OperatorId> m_operators;
    std::vector<std::string> m_others;
};

/// An operator to be.
struct OperatorDraft {
    Kind kind;
    /// Wanted; a number is put behind it if it is taken. TensorFlow: the node's name, from which its values' ids follow. Else: the id of
    /// its first result. Empty: the kind's name.
    std::string name;
    AttributeList attributes; ///< in any order
    std::vector<ValueId> inputs;
    std::vector<TensorType> results;
    std::vector<OperatorId> controlInputs;
    uint64_t streamIdentity = 0; ///< of its random numbers; 0: follows from the rest
};

/// What of a cloned graph became what; invalid where there is no counterpart.
struct CloneMap {
    std::vector<ValueId> values;
    std::vector<OperatorId> operators;
};

/// A copy under another id, whose operators know where they came from (`@GRAPH/ORIGIN`). Without the name in the file.
Graph copyGraph(const Graph& graph, std::string id);

/// Edits one graph. While it lives, ids stay valid (those of erased operators included, for Sources) and nobody else may change the graph.
/// When it is finished, or gone, operators are numbered anew in their order; values keep their ids unless finish() is told otherwise.
class GraphEditor {
public:
    /// Signatures that name values of the graph count as uses and follow replacements. Graphs may be added to the model meanwhile.
    GraphEditor(Model& model, GraphId graph);
    /// A graph in no model, or one whose signatures somebody else keeps. What is edited must stay where it is.
    GraphEditor(Graph& graph, Dialect dialect);
    ~GraphEditor();
    GraphEditor(const GraphEditor&) = delete;
    GraphEditor& operator=(const GraphEditor&) = delete;

    // --- Looking ------------------------------------------------------------------------------------------------------------------------

    const Graph& graph() const { return m_model ? m_model->graph(m_graphId) : *m_graph; }
    const Operator& op(OperatorId id) const { return graph().op(id); }
    const Value& value(ValueId id) const { return graph().value(id); }
    /// False for operators that were erased.
    bool isAlive(OperatorId id) const { return m_isAlive[static_cast<size_t>(id.index)]; }
    /// In no particular order. The span ends with the next edit.
    std::span<const ValueUse> uses(ValueId id) const { return m_uses.of(id); }
    std::span<const ControlUse> uses(OperatorId id) const { return m_uses.of(id); }
    /// Whether anything reads a result of the operator or waits for it.
    bool isUsed(OperatorId id) const;
    /// The operators in their order.
    std::vector<OperatorId> order() const { return m_order.ids(); }
    OperatorId next(OperatorId id) const { return m_order.next(id); } ///< invalid behind the last

    // --- Operators ----------------------------------------------------------------------------------------------------------------------

    OperatorId insert(OperatorDraft draft, const Sources& sources, InsertPoint point);
    OperatorId append(OperatorDraft draft, const Sources& sources) { return insert(std::move(draft), sources, InsertPoint::end()); }
    /// A second one with other operands. It stands for what the first stands for, and draws from its random stream.
    OperatorId clone(OperatorId id, std::vector<ValueId> inputs, InsertPoint point);
    /// A new operator where the last of `ops` stands (they are in their order). Its result k is used where `replaced[k]` was (invalid:
    /// nowhere); it waits for what they waited for, and who waited for them waits for it. Then those of `ops` go that nothing uses any
    /// more. Except in TensorFlow, whose values are called after their nodes, its results take over the ids and names of what they
    /// replace.
    OperatorId replace(std::span<const OperatorId> ops, OperatorDraft draft, std::span<const ValueId> replaced);
    /// False, and nothing happens, if something uses it still.
    bool erase(OperatorId id);
    /// Erases those that nothing uses but each other; their number.
    size_t eraseUnused(std::span<const OperatorId> ops);
    /// Erases the operators that are not among `roots` and that neither those nor the graph's outputs, control outputs and signatures
    /// need; their number.
    size_t eraseUnneeded(std::span<const OperatorId> roots);
    void move(OperatorId id, InsertPoint point);
    /// Puts every operator behind those it reads and waits for; of several that could be next the first comes. False, and the order stays
    /// as it is, if there is a cycle.
    bool sortTopologically();
    /// Whether every operator stands behind those it reads and waits for.
    bool isInOrder() const;

    void setKind(OperatorId id, Kind kind);
    void setInput(OperatorId id, int32_t index, ValueId value);
    void setInputs(OperatorId id, std::vector<ValueId> inputs);
    /// Its results from now on: values of its own, of nobody, or invalid ids, for which values are made. What it no longer has becomes
    /// absent. The new list.
    const std::vector<ValueId>& setResults(OperatorId id, std::vector<ValueId> results);
    void setControlInputs(OperatorId id, std::vector<OperatorId> controls);
    void addControlInput(OperatorId id, OperatorId before); ///< once, however often it is asked for
    void removeControlInput(OperatorId id, OperatorId before);
    void setAttributes(OperatorId id, AttributeList attributes);
    void setAttribute(OperatorId id, std::string key, Attribute value);
    void removeAttribute(OperatorId id, std::string_view key);

    // --- Values -------------------------------------------------------------------------------------------------------------------------

    ValueId addConstant(std::string id, TensorType type, ConstantPtr data);
    ValueId addInput(std::string id, TensorType type, AttributeList attributes = {});
    void setType(ValueId id, TensorType type);
    void replaceUse(ValueId from, const ValueUse& use, ValueId to);
    void replaceUses(ValueId from, ValueId to);
    void replaceUses(OperatorId from, OperatorId to); ///< waiting for one becomes waiting for the other

    // --- The graph's own ----------------------------------------------------------------------------------------------------------------

    void setOutput(int32_t index, ValueId value);
    void setOutputs(std::vector<GraphOutput> outputs);
    void setControlOutputs(std::vector<std::pair<std::string, OperatorId>> outputs);
    /// What the graph takes from now on, of its inputs, in this order; the others become absent values.
    void setGraphInputs(std::vector<ValueId> inputs);
    /// The value comes from the caller from now on, as the last input. If an operator writes it, that writes `asideId` instead.
    void makeInput(ValueId id, std::string asideId);

    /// Copies another graph's operators, in their order, to `place`: a call that is expanded. `arguments` stand for the source's inputs;
    /// constants and variables are copied. New names begin with `prefix`. Its outputs are `map.values[source.outputs[k].value]`.
    CloneMap cloneGraph(const Graph& source, std::span<const ValueId> arguments, const std::string& prefix, InsertPoint point);

    /// An id for a value or a node that nobody has: `wanted`, or `wanted_1`, ….
    std::string freshName(std::string wanted);

    enum class Values : uint8_t { keepIds, dropUnused };
    /// Brings operators in order and numbers them; a dialect that wants producers before consumers gets them so. With `dropUnused` values
    /// that nothing names or writes are gone and the others are numbered anew. The editor is of no use after it.
    /// Errors: internal, "the rewritten graph has a cycle", in dialects that know none.
    Status finish(Values values = Values::keepIds);

private:
    Graph& mutableGraph() { return m_model ? m_model->graph(m_graphId) : *m_graph; }
    Operator& mutableOp(OperatorId id) { return mutableGraph().operators[static_cast<size_t>(id.index)]; }
    bool isTensorFlow() const { return m_dialect == Dialect::tf; }

    void begin();
    void linkSignatures();
    ValueId& signatureBinding(int32_t index);
    ValueId addValue(Value value);
    OperatorId addOperator(Operator op, InsertPoint point);
    void addResults(OperatorId id, std::vector<TensorType> types, const std::string& name);
    void drop(OperatorId id);

    // editor_order.cpp
    void renumberOperators();
    void dropUnusedValues();

    Model* m_model = nullptr; ///< null: m_graph is edited
    GraphId m_graphId;
    Graph* m_graph = nullptr;
    Dialect m_dialect = Dialect::tfl;
    bool m_isFinished = false;

    UseLists m_uses;
    OperatorOrder m_order;
    std::vector<std::pair<size_t, size_t>> m_signatures; ///< bindings of this graph: signature, binding (outputs count on from inputs)
    std::vector<bool> m_isAlive;
    bool m_namesKnown = false;
    std::unordered_set<std::string> m_names; ///< ids of values and names of nodes, once somebody asks
    std::unordered_map<std::string, int> m_suffixes;
};

/// An operator of another graph with these operands and control inputs, with its name, types and random stream. It stands for that one.
OperatorId cloneFrom(GraphEditor& editor, const Graph& source, OperatorId id, std::vector<ValueId> inputs, std::vector<OperatorId> controls,
                     InsertPoint point);

} // namespace loopscope
