#include "app/terminal/operator_lines.h"

#include "app/output/listing.h"
#include "engine/ir/ids.h"
#include "engine/ir/text/structured.h"

#include <algorithm>

namespace loopscope::app {

namespace {

/// TensorFlow's colocation hints say nothing at a stop: `Add(a, b) _class=["loc:@a"] T=f32` loses them.
void dropColocation(std::string& text)
{
    constexpr std::string_view kHint = " _class=[";
    const size_t begin = text.find(kHint);
    if (begin == std::string::npos) return;
    bool quoted = false;
    size_t end = begin + kHint.size();
    for (; end < text.size() && (quoted || text[end] != ']'); ++end) {
        if (quoted && text[end] == '\\') ++end;
        else if (text[end] == '"') quoted = !quoted;
    }
    text.erase(begin, std::min(end + 1, text.size()) - begin);
}

} // namespace

const OperatorLine& OperatorLines::of(GraphId graph, OperatorId op)
{
    std::vector<OperatorLine>& lines = m_graphs[graph];
    const bool isNew = lines.empty();
    if (isNew) {
        lines.resize(m_model.graph(graph).operators.size() + 1); // one more, empty: for a frame at its end
        StructuredOptions options;
        options.root = graph;
        options.callees = false;
        for (const StructuredLine& line : structuredView(m_model, options)) {
            if (!line.op.valid() || line.graph != graph) continue;
            const size_t end = line.typeAt > 0 ? line.typeAt : line.text.size();
            OperatorLine& made = lines[static_cast<size_t>(line.op.index)];
            const size_t digits = line.text.find_first_not_of(' ');
            const size_t begin = line.text.find_first_not_of(' ', line.text.find(' ', digits));
            if (begin < end) made.text = line.text.substr(begin, end - begin);
            made.text.erase(made.text.find_last_not_of(' ') + 1);
            made.type = line.text.substr(end);
        }
        // What the view shows as part of a loop's header (v1 graphs), `x = n -> x/Exit`: the line of the model's text.
        const auto isOperation = [](const OperatorLine& line) { return line.text.find('(') != std::string::npos; };
        const bool complete = std::all_of(lines.begin(), lines.end() - 1, isOperation);
        for (const ListingLine& line : complete ? std::vector<ListingLine>() : listModel(m_model, graph)) {
            if (!line.op.valid() || line.graph != graph || isOperation(lines[static_cast<size_t>(line.op.index)])) continue;
            OperatorLine& made = lines[static_cast<size_t>(line.op.index)];
            const size_t begin = std::min(line.text.find_first_not_of(' '), line.text.size());
            const size_t type = std::min(line.text.rfind(" : "), line.text.size());
            made.text = line.text.substr(begin, type - begin);
            if (type < line.text.size()) made.type = line.text.substr(type + 3);
        }
    }
    if (isNew)
        for (OperatorLine& line : lines) dropColocation(line.text);
    return op.valid() && static_cast<size_t>(op.index) < lines.size() ? lines[static_cast<size_t>(op.index)] : lines.back();
}

std::string operatorLabelOf(const Model& model, GraphId graph, OperatorId op)
{
    return op.valid() ? addressSite(model.graph(graph).op(op), op.index) : "end";
}

} // namespace loopscope::app
