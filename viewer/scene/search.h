// Search over all graphs of a model: an index that is built once, off the GUI thread, and queries that look at 100,000 operators within
// a frame or two. No Qt here.
//
// A query is words; all must hold: `conv` (part of a kind, a name or an id), `op:while`, `shape:[1,?,576]`, `dtype:i8`, `#56`,
// `attr:padding` or `padding=SAME`, `graph:while_body`, `/conv_\d+/`. `a > b` asks for operators b that read a result of an a.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::viewer {

enum class SearchKind : uint8_t { operators, tensors, attributes };

struct SearchHit {
    std::string address; ///< static: "main/while#1:body/add#14"; of inputs and constants "main/x"
    GraphId graph;
    OperatorId op;      ///< invalid: a value without operator
    ValueId value;      ///< of an operator its first result
    std::string what;   ///< "depthwise_conv_2d#56", a value's id, "padding = SAME"
    std::string detail; ///< "block_13  i8[1,6,6,576]"
};

struct SearchAnswer {
    std::vector<SearchHit> hits; ///< in order of graphs and operators, at most `most`
    int64_t count = 0;           ///< of all hits
    int64_t searched = 0;        ///< operators, tensors or attributes that were looked at
    std::string nearest;         ///< where nothing matches: a word that would
    std::string problem;         ///< what of the query cannot be read: "1:4: …"; empty: nothing
};

class SearchIndex {
public:
    /// `model` must outlive the index. Null: stopped.
    static std::shared_ptr<const SearchIndex> build(const Model& model, std::stop_token stop = {});

    SearchAnswer find(std::string_view query, SearchKind kind, size_t most = 2000, std::stop_token stop = {}) const;
    /// Static address by which a graph is reached first; of graphs that nothing calls its own id.
    const std::string& addressOf(GraphId graph) const { return m_graphs[static_cast<size_t>(graph.index)]; }
    std::string addressOf(GraphId graph, OperatorId op) const;

private:
    struct Entry {
        GraphId graph;
        OperatorId op;
        uint32_t begin = 0, end = 0; ///< its lower-case words in m_text, ended by '\n' each: kind, label, name, results' ids and names
    };
    struct Term;
    explicit SearchIndex(const Model& model) : m_model(model) {}
    bool matches(const Term& term, const Entry& entry) const;
    bool holds(const std::vector<Term>& terms, const Entry& entry) const;
    void findOperators(const std::vector<std::vector<Term>>& chain, SearchAnswer& answer, size_t most, const std::stop_token& stop) const;
    void findTensors(const std::vector<Term>& terms, SearchAnswer& answer, size_t most, const std::stop_token& stop) const;
    void findAttributes(const std::vector<Term>& terms, SearchAnswer& answer, size_t most, const std::stop_token& stop) const;
    std::string nearest(const std::vector<Term>& terms) const;
    std::string_view textOf(const Entry& entry) const { return std::string_view(m_text).substr(entry.begin, entry.end - entry.begin); }

    const Model& m_model;
    std::vector<std::string> m_graphs;
    std::vector<size_t> m_first; ///< by graph: its first entry
    std::vector<Entry> m_entries;
    std::string m_text;
};

} // namespace loopscope::viewer
