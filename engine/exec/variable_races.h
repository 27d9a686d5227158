// Variables that are read and written, or written twice, in no fixed order: found while a TensorFlow graph runs, from who touched which
// variable in an invocation and whether edges order the two. Costs nothing where no variable is touched.
#pragma once

#include "engine/exec/race.h"
#include "engine/ir/model.h"
#include "engine/observe/events.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace loopscope {

/// A node that touches a variable, as one of the invocations around it sees it: the node itself, or the call that it runs in.
struct AccessSite {
    InvocationId invocation;
    GraphId graph;
    OperatorId op;
    OperatorId enter; ///< the invocation is an iteration of the v1 frame that this Enter leads into; invalid: of the graph itself
};

struct TouchedVariable {
    std::string variable;
    OperatorId op;
    bool isWrite = false;
};

/// Who has touched what, by invocation and graph (the cond and the body of a loop share an invocation). Part of a machine's state.
using VariableAccesses = std::map<std::pair<InvocationId, GraphId>, std::vector<TouchedVariable>>;

/// One per executor; not thread-safe.
class VariableRaces {
public:
    explicit VariableRaces(const Model& model);
    ~VariableRaces();
    VariableRaces(const VariableRaces&) = delete;
    VariableRaces& operator=(const VariableRaces&) = delete;

    /// A node touches a variable; `around`: the node, and the calls that it runs in, innermost first. Adds the races that this makes:
    /// two nodes of one invocation, one of which writes, with no path of data and control edges between them within an iteration.
    void note(std::span<const AccessSite> around, const std::string& variable, bool isWrite, Step step);
    void forget(InvocationId invocation); ///< it has ended
    bool hasAccesses() const { return !m_accesses.empty(); }
    /// One that somebody else noticed.
    void add(DataflowRace race) { addRace(m_found, std::move(race)); }
    const std::vector<DataflowRace>& found() const { return m_found; }

    const VariableAccesses& accesses() const { return m_accesses; }
    void set(const VariableAccesses& accesses, const std::vector<DataflowRace>& found)
    {
        m_accesses = accesses;
        m_found = found;
    }

private:
    struct GraphOrder;
    using Pair = std::tuple<GraphId, OperatorId, OperatorId, OperatorId>; ///< graph, Enter, two nodes

    bool isOrdered(const AccessSite& site, OperatorId earlier);
    GraphOrder& orderOf(GraphId graph);

    const Model& m_model;
    VariableAccesses m_accesses;
    std::vector<DataflowRace> m_found;
    std::map<GraphId, std::unique_ptr<GraphOrder>> m_orders; ///< made when two nodes touch one variable
    std::map<Pair, bool> m_known;
};

} // namespace loopscope
