// The texts that an editor shows of a model (its own file, its listing, the structured view) and which operator stands on which line of
// them, both ways.
#pragma once

#include "engine/base/json.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app::dap {

/// A line that shows an operator; lines count from 1.
struct OperatorPlace {
    int64_t line = 0;
    GraphId graph;
    OperatorId op;
    std::string address; ///< without iterations; empty: wherever its graph is called from
};

struct Source {
    int reference = 0; ///< of the protocol; 0: a file
    std::string name, path;
    std::string shownPath;             ///< `path` as the client names files
    std::string content;               ///< empty of a file
    std::vector<OperatorPlace> places; ///< by line
    /// The first at or after that line, if there is one before the next graph begins, else the last one before it; null: there is none.
    const OperatorPlace* nearest(int64_t line) const;
};

struct SourceOptions {
    bool structured = false; ///< stops are shown in the structured view, else in the listing; of a text model in its own file
    bool uris = false;       ///< the client names files by URIs
};

class Sources {
public:
    /// `path`: what the model was read from.
    Sources(const Model& model, const std::string& path, SourceOptions options);

    const std::vector<Source>& all() const { return m_sources; }
    /// The one that a message means, by reference, path or name. Errors: usage.
    Result<const Source*> find(const Json& source) const;
    static Json describe(const Source& source);

    /// The text that stops in a graph are shown in: of one that the model's own file does not have, as the loop around it, the listing.
    const Source& shown(GraphId graph) const;
    /// Where an operator stands there; an invalid one: at the end of its graph. `address` is that of the operator without iterations.
    int64_t lineOf(GraphId graph, OperatorId op, const std::string& address) const;
    /// Where an operator is called from: its addresses without iterations.
    const std::vector<std::string>& addressesOf(GraphId graph, OperatorId op) const;
    /// In which roles an operator calls graphs, by its address without iterations: "cond", "body".
    std::vector<std::string> rolesOf(const std::string& call) const;

    // All operators of the model, numbered through: what disassembly calls their addresses.
    int64_t numberOf(GraphId graph, OperatorId op) const;
    /// None where there is no such operator.
    std::optional<std::pair<GraphId, OperatorId>> operatorAt(int64_t number) const;
    int64_t operatorCount() const { return m_firsts.back(); }

private:
    const Model& m_model;
    std::vector<Source> m_sources;
    size_t m_shown = 0;
    std::vector<int64_t> m_firsts; ///< number of each graph's first operator, and the end
    std::map<std::pair<GraphId, OperatorId>, std::vector<std::string>> m_addresses;
    std::map<std::string, std::vector<std::string>> m_roles; ///< call → roles
};

} // namespace loopscope::app::dap
