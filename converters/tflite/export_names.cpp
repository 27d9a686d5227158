// Finds the names that a file must say so that its next import deals out the same ids.
#include "converters/tflite/export_state.h"
#include "engine/ir/ids.h"

#include <algorithm>

namespace loopscope::tflite_format {

namespace {

/// Values whose name is tried both ways when nothing simpler fits.
constexpr size_t kMaxTries = 256;

/// True for ids that values without a name get: `t3`, or `t3_1` where another value was called t3 before.
bool isNumberId(std::string_view id, size_t index)
{
    const std::string plain = "t" + std::to_string(index);
    if (!id.starts_with(plain)) return false;
    id.remove_prefix(plain.size());
    return id.empty() || (id.size() > 1 && id[0] == '_' && std::ranges::all_of(id.substr(1), [](char c) { return c >= '0' && c <= '9'; }));
}

class NameChooser {
public:
    explicit NameChooser(const Graph& graph) : m_graph(graph)
    {
        Graph& copy = m_trial.graphs.emplace_back();
        copy.inputs = graph.inputs;
        for (const Operator& op : graph.operators) copy.operators.emplace_back().results = op.results;
        copy.values.resize(graph.values.size());
        for (size_t i = 0; i < graph.values.size(); ++i)
            if (graph.values[i].name.empty() && isNumberId(graph.values[i].id, i)) m_open.push_back(i);
    }

    FileNames choose()
    {
        // All or none of the open names left out, with the graph's name or without: this fits all but contrived files.
        FileNames best;
        size_t fewest = SIZE_MAX;
        for (const bool sayGraph : {true, false}) {
            for (const bool sayOpen : {false, true}) {
                FileNames names = spelling(sayGraph, sayOpen);
                const size_t wrong = wrongIds(names);
                if (wrong < fewest) {
                    fewest = wrong;
                    best = std::move(names);
                }
                if (fewest == 0) return best;
                if (m_open.empty()) break;
            }
            if (!m_graph.name.empty()) break;
        }
        for (size_t k = 0; k < std::min(m_open.size(), kMaxTries) && fewest > 0; ++k) {
            FileNames names = best;
            std::string& name = names.values[m_open[k]];
            name = name.empty() ? m_graph.values[m_open[k]].id : std::string();
            const size_t wrong = wrongIds(names);
            if (wrong >= fewest) continue;
            fewest = wrong;
            best = std::move(names);
        }
        return best;
    }

private:
    FileNames spelling(bool sayGraph, bool sayOpen) const
    {
        FileNames names;
        names.graph = m_graph.name.empty() && sayGraph ? m_graph.id : m_graph.name;
        for (const Value& value : m_graph.values) names.values.push_back(value.displayName());
        if (!sayOpen)
            for (const size_t i : m_open) names.values[i].clear();
        return names;
    }

    size_t wrongIds(const FileNames& names)
    {
        Graph& copy = m_trial.graphs.front();
        copy.name = names.graph;
        for (size_t i = 0; i < copy.values.size(); ++i) copy.values[i].name = names.values[i];
        assignIds(m_trial);
        size_t wrong = 0;
        for (size_t i = 0; i < copy.values.size(); ++i) wrong += copy.values[i].id == m_graph.values[i].id ? 0 : 1;
        return wrong;
    }

    const Graph& m_graph;
    Model m_trial;              ///< holds a graph of names and producers only
    std::vector<size_t> m_open; ///< values that may have had no name
};

} // namespace

FileNames namesToWrite(const Graph& graph) { return NameChooser(graph).choose(); }

} // namespace loopscope::tflite_format
