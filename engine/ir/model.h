// The intermediate representation: a model is a list of graphs; a graph is a list of values and operators in file order. Importing
// never loses or changes an operator: what the file says is what is stored here. Plain data; passes and importers fill it in.
#pragma once

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/constant.h"
#include "engine/tensor/tensor_type.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// The op set a model is written in. `circle` contains every `tfl` operator.
enum class Dialect : uint8_t { tfl, circle, tf };
std::string_view dialectName(Dialect dialect);

/// What an operator is: dialect and name, `tfl.conv_2d`, `tf.Switch`, `custom.MyOp` (the name of a custom operator is free text).
/// StableHLO operators of TFLite are `tfl.stablehlo_add`. In a circle model Circle's own operators are `circle.instance_norm`.
struct Kind {
    std::string dialect; ///< "tfl", "circle", "tf", "custom"
    std::string name;
    std::string full() const { return dialect + "." + name; }
    bool operator==(const Kind&) const = default;
};

enum class ValueRole : uint8_t {
    input,    ///< formal parameter of the graph
    result,   ///< written by `producer`
    constant, ///< data in `constant`
    variable, ///< is_variable: keeps its bytes between runs; may have initial data in `constant`
    absent,   ///< neither producer nor data: LSTM intermediates, unused tensors
};

/// A typed value slot of a graph (TFLite: tensor; TensorFlow: output `slot` of a node).
struct Value {
    std::string id;   ///< unique in the graph, short, never recomputed (docs/text_ir.md, "Ids and names")
    std::string name; ///< what the file says, byte for byte; empty if it says nothing or says the id
    TensorType type;
    ValueRole role = ValueRole::absent;
    OperatorId producer; ///< role result
    int32_t slot = 0;    ///< role result: which result of the producer
    ConstantPtr constant;
    AttributeList attributes; ///< function parameters' arg_attr; facts of the file's tensor table that have no other place
    /// The full name: what commands accept in quotes.
    const std::string& displayName() const { return name.empty() ? id : name; }
};

struct Operator {
    Kind kind;
    std::string name;            ///< TensorFlow: node name (the id of its first output); else empty
    AttributeList attributes;    ///< sorted by key; facts (`@…`) first
    std::vector<ValueId> inputs; ///< data operands in file order; an invalid id is a missing optional operand
    std::vector<OperatorId> controlInputs;
    std::vector<ValueId> results;
    std::vector<std::string> origin; ///< where it came from, `MODEL:INDEX` or node names; joined by rewrites; not compared
    uint64_t streamIdentity = 0;     ///< of its random numbers (random_stream.h); 0: follows from the rest; not compared
};

/// TensorFlow: `return name=value`. TFLite: only `value`.
struct GraphOutput {
    std::string name;
    ValueId value;
    bool operator==(const GraphOutput&) const = default;
};

struct Graph {
    std::string id;
    std::string name; ///< as in the file; empty if it says nothing or says the id
    AttributeList attributes;
    std::vector<ValueId> inputs;
    std::vector<GraphOutput> outputs;
    std::vector<std::pair<std::string, OperatorId>> controlOutputs; ///< TensorFlow functions
    std::vector<Value> values;
    std::vector<Operator> operators;

    const Value& value(ValueId id_) const { return values[static_cast<size_t>(id_.index)]; }
    Value& value(ValueId id_) { return values[static_cast<size_t>(id_.index)]; }
    const Operator& op(OperatorId id_) const { return operators[static_cast<size_t>(id_.index)]; }
    /// Linear search by id; invalid if there is none. Build a map for many look-ups.
    ValueId findValue(std::string_view id_) const;
};

struct SignatureBinding {
    std::string name;
    ValueId value;
    bool operator==(const SignatureBinding&) const = default;
};

struct Signature {
    std::string key;
    GraphId graph;
    std::vector<SignatureBinding> inputs, outputs; ///< in file order
    bool operator==(const Signature&) const = default;
};

struct Metadata {
    std::string name;
    ConstantPtr data; ///< null: the entry names no buffer
};

struct ExternalBuffer {
    int32_t number = 0;       ///< what `external N` in a declaration refers to
    AttributeList attributes; ///< group, offset, length, packing, …
    bool operator==(const ExternalBuffer&) const = default;
};

struct KindVersion {
    Kind kind;
    int64_t version = 1;
    bool operator==(const KindVersion&) const = default;
};

struct Model {
    Dialect dialect = Dialect::tfl;
    AttributeList attributes; ///< description, schema; TensorFlow: producer, min_consumer, tags, …
    std::vector<KindVersion> versions;
    std::vector<Signature> signatures;
    std::vector<Metadata> metadata;
    std::vector<ExternalBuffer> externalBuffers;
    std::vector<Graph> graphs;                              ///< graphs[0] is the primary one; there may be none
    std::vector<std::pair<GraphId, std::string>> gradients; ///< TensorFlow GradientDef: function, name of its gradient function

    const Graph& graph(GraphId id) const { return graphs[static_cast<size_t>(id.index)]; }
    Graph& graph(GraphId id) { return graphs[static_cast<size_t>(id.index)]; }
    GraphId findGraph(std::string_view id) const;
    /// The value of that id, else the input or output of the graph that goes by that name: in what it returns, else in a signature of it.
    /// Invalid if there is none.
    ValueId findValue(GraphId graph, std::string_view idOrPort) const;
    bool hasGraph(GraphId id) const { return id.index >= 0 && static_cast<size_t>(id.index) < graphs.size(); }
};

/// Equality of the text language (docs/text_ir.md, "Canonical form"): values by id, everything except numbering of tensors, buffers
/// and operator codes, file offsets, origins, and blobs whose bytes are absent (those by hash and size).
bool sameModel(const Model& a, const Model& b);
/// The first thing in which the two differ ("graph body: operator 3: attribute 'axis'"); empty if sameModel.
std::string firstDifference(const Model& a, const Model& b);

/// Role of a graph-valued attribute of a `tfl` operator, in execution order: while → cond, body; if → then, else; … Empty for others.
struct Callee {
    std::string role; ///< "cond", "body", "then", "else", "branch0", "call", "init", "region"
    GraphId graph;
};
std::vector<Callee> calleesOf(const Operator& op);

} // namespace loopscope
