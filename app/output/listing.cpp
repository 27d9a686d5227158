#include "app/output/listing.h"

#include "engine/ir/ids.h"

namespace loopscope::app {

namespace {
/// Begins the mark that the printer is asked to leave on operator lines; it occurs in no other text, since the printer escapes it.
constexpr char kMark = '\x1f';
} // namespace

std::vector<ListingLine> listModel(const Model& model, std::optional<GraphId> graph, PrintOptions options)
{
    options.comment = [more = std::move(options.comment)](GraphId g, OperatorId op) {
        return (more ? more(g, op) : std::string()) + kMark + std::to_string(g.index) + ":" + std::to_string(op.index);
    };
    const std::string text = graph ? printGraph(model, *graph, options) : printModel(model, options);
    std::vector<ListingLine> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        ListingLine line{text.substr(at, end - at), {}, {}};
        at = end + 1;
        if (const size_t mark = line.text.find(kMark); mark != std::string::npos) {
            const size_t colon = line.text.find(':', mark);
            line.graph = GraphId(std::atoll(line.text.c_str() + mark + 1));
            line.op = OperatorId(std::atoll(line.text.c_str() + colon + 1));
            line.text.resize(mark);
            while (!line.text.empty() && (line.text.back() == ' ' || line.text.back() == ';')) line.text.pop_back();
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

TraceListing graphListing(const Model& model, GraphId graph)
{
    TraceListing listing;
    listing.operatorLines.assign(model.graph(graph).operators.size(), -1);
    int32_t number = 0;
    for (const ListingLine& line : listModel(model, graph)) {
        if (line.op.valid()) listing.operatorLines[static_cast<size_t>(line.op.index)] = number;
        listing.text += line.text + "\n";
        ++number;
    }
    return listing;
}

} // namespace loopscope::app
