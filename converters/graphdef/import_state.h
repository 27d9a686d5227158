// What the parts of the import share: the functions of the file with their signatures, and one body (the main graph's nodes, or a
// function's) on its way into the IR. Inside of converters/graphdef only.
#pragma once

#include "converters/graphdef/convert_values.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/ops/tf_registry.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace google::protobuf {
template <typename T> class RepeatedPtrField;
}
namespace loopscope::tfpb {
class FunctionDef;
class GraphDef;
class NodeDef;
class OpDef;
} // namespace loopscope::tfpb

namespace loopscope::graphdef {

using Nodes = google::protobuf::RepeatedPtrField<tfpb::NodeDef>;

/// A reference to a tensor as files write it: "node", "node:2", "node:out:0".
struct TensorName {
    std::string_view node;
    std::string_view argument; ///< "out"; empty if the output is said by number alone
    int64_t number = 0;
    bool hasNumber = false;
};
/// None if what follows the colons is no number, or too large a one.
std::optional<TensorName> parseTensorName(std::string_view text);

struct ImportState {
    Model model;
    std::unordered_map<std::string, GraphId> functionIds;
    std::unordered_map<std::string, TfOpSignature> functionSignatures;
    ValueReader values{&functionIds};
    int64_t slotsLeft = int64_t{1} << 22; ///< results that nodes may stand for beyond one for each byte of the file
    int32_t producer = 0;                 ///< version of the GraphDef's writer

    /// Signature of an operator or of a function that a node calls directly; null if neither is known.
    const TfOpSignature* signature(std::string_view op) const;
};

/// One graph's nodes to operators and values. Order of calls: arguments (functions), nodes, connect, then resolve.
class BodyImport {
public:
    BodyImport(ImportState& state, Graph& graph, bool isFunction) : m_state(state), m_graph(graph), m_isFunction(isFunction) {}

    /// Declares a formal parameter, whose value is already in the graph.
    Status argument(ValueId value);
    /// Reads the nodes: operators with attributes and facts. Strings and tensors are moved out of them.
    Status nodes(Nodes& nodes);
    /// Notes a reference from outside of the nodes (`ret`, signatures) before the results of unknown operators are counted.
    void mention(std::string_view tensor);
    /// Makes the results and connects the operands.
    Status connect(const Nodes& nodes);
    /// The value of a tensor name; an invalid id if there is none. After connect.
    ValueId resolve(std::string_view tensor) const;
    OperatorId findNode(std::string_view name) const;

private:
    Status node(tfpb::NodeDef& message);
    Status results(OperatorId id);
    Status operands(const tfpb::NodeDef& message, OperatorId id);
    void describeTypes(OperatorId id);
    Error badInput(OperatorId id, std::string_view input) const;

    ImportState& m_state;
    Graph& m_graph;
    bool m_isFunction;
    std::unordered_map<std::string_view, OperatorId> m_nodes; ///< names are those of the graph's operators
    std::unordered_map<std::string, ValueId> m_arguments;
    std::vector<const TfOpSignature*> m_signatures;                ///< of each operator; null: its results are not known
    std::vector<std::vector<TfSlotType>> m_types;                  ///< of the results, until they are made
    bool m_hasUnknown = false;                                     ///< some operator's results are not known
    size_t m_resultCount = 0;                                      ///< of known operators
    std::unordered_map<int32_t, int64_t> m_mentioned;              ///< unknown operator → highest output number + 1
    std::unordered_map<int32_t, std::vector<std::string>> m_named; ///< unknown operator → "out:k"
};

/// Reads the library's functions into model.graphs, after the main graph; signatures and ids are in the state.
Status importFunction(ImportState& state, tfpb::FunctionDef& function, Graph& graph);
/// A function's signature in the registry's form.
TfOpSignature signatureOf(const tfpb::OpDef& op);
/// What the graph itself says of its function's signature; export starts with it, import keeps what differs.
void deriveSignature(const Graph& graph, tfpb::OpDef& op);

} // namespace loopscope::graphdef
