#include "viewer/panels/listing_lines.h"

#include "engine/ir/ids.h"
#include "engine/ir/text/structured.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

std::string trimmedEnd(std::string text)
{
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

/// `address`: of the operator.
ListingLine cut(const Model& model, const StructuredLine& line, std::string address)
{
    ListingLine made;
    made.address = std::move(address);
    made.graph = line.graph;
    made.op = line.op;
    const size_t end = line.typeAt > 0 ? line.typeAt : line.text.size();
    // The head of a root graph begins at the left, where other lines have their gutter.
    const bool hasGutter = line.op.valid() || line.text.find_first_not_of(' ') >= kStructuredGutter;
    const size_t begins = std::min(end, hasGutter ? kStructuredGutter : size_t{0});
    std::string text = trimmedEnd(line.text.substr(begins, end - begins));
    if (end < line.text.size()) made.type = line.text.substr(end);
    made.indent = static_cast<int>(std::min(text.find_first_not_of(' '), text.size()));
    if (!line.op.valid()) {
        made.after = std::move(text);
        return made;
    }
    const Operator& op = model.graph(line.graph).op(line.op);
    made.family = familyOf(op.kind);
    made.isCall = callForm(op).kind != CallKind::none;
    const size_t assigned = text.find(" = ");
    const size_t begin = assigned == std::string::npos ? static_cast<size_t>(made.indent) : assigned + 3;
    const size_t stop = std::min(text.find_first_of("( ", begin), text.size());
    made.before = text.substr(0, begin);
    made.kind = text.substr(begin, stop - begin);
    made.after = text.substr(stop);
    return made;
}

bool isBranchHead(const std::string& text, size_t indent)
{
    return text.compare(indent, 5, "then ") == 0 || text.compare(indent, 5, "else ") == 0 || text.compare(indent, 6, "branch") == 0;
}

void finish(Listing& listing)
{
    int32_t most = 9;
    for (size_t i = 0; i < listing.lines.size(); ++i) {
        const ListingLine& line = listing.lines[i];
        if (!line.op.valid()) continue;
        most = std::max(most, line.op.index);
        listing.byAddress.try_emplace(line.address, static_cast<int>(i));
    }
    listing.indexWidth = std::max(2, static_cast<int>(std::to_string(most).size()));
}

} // namespace

std::string signatureText(const Graph& graph)
{
    std::string text = graph.id + "(";
    const auto name = [&](size_t i) { return graph.value(graph.inputs[i]).id; };
    if (graph.inputs.size() > 3) text += name(0) + " … " + name(graph.inputs.size() - 1);
    else
        for (size_t i = 0; i < graph.inputs.size(); ++i) text += (i > 0 ? ", " : "") + name(i);
    return text + ")";
}

Listing listGraph(const Model& model, GraphId graph, const std::string& address)
{
    Listing listing;
    StructuredOptions options;
    options.root = graph;
    options.callees = false;
    const std::string own = escapeAddressName(model.graph(graph).id, false);
    bool first = true;
    for (const StructuredLine& line : structuredView(model, options)) {
        const bool head = std::exchange(first, false);
        if (line.text.find_first_not_of(' ') == std::string::npos || head) continue;
        // Its own addresses begin at the graph; those of v1 nodes go through their frames.
        listing.lines.push_back(cut(model, line, line.address.starts_with(own) ? address + line.address.substr(own.size()) : address));
    }
    finish(listing);
    return listing;
}

Listing listStructured(const Model& model)
{
    Listing listing;
    for (const StructuredLine& line : structuredView(model)) listing.lines.push_back(cut(model, line, line.address));
    for (size_t i = 0; i < listing.lines.size(); ++i) {
        ListingLine& head = listing.lines[i];
        if (head.op.valid() || !isBranchHead(head.after, static_cast<size_t>(head.indent))) continue;
        size_t end = i + 1;
        for (; end < listing.lines.size(); ++end) {
            const ListingLine& inner = listing.lines[end];
            const bool blank = inner.text().empty();
            if (!blank && inner.indent <= head.indent) break;
            if (inner.op.valid() && inner.graph == head.graph) ++head.operators;
        }
        head.branchEnd = static_cast<int>(end);
    }
    finish(listing);
    return listing;
}

} // namespace loopscope::viewer
