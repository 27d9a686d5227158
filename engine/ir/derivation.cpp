#include "engine/ir/derivation.h"

#include "engine/base/text.h"
#include "engine/ir/origin.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

namespace {

using GraphOrigins = std::vector<std::vector<std::string>>; ///< by operator

/// The parts of a text between single characters.
std::vector<std::string_view> partsOf(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    for (;;) {
        const size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<uint64_t> numberOf(std::string_view text)
{
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// "raise lsir 1234 0123…cdef name of the file.lsir"
std::string lineOf(const Derivation& from)
{
    std::string name = from.name;
    std::ranges::replace(name, '\n', ' ');
    return from.step + " " + from.format + " " + std::to_string(from.bytes) + " " + from.hash + " " + name;
}

std::optional<Derivation> derivationIn(std::string_view line)
{
    Derivation from;
    std::string_view bytes;
    const auto next = [&] {
        const size_t end = std::min(line.find(' '), line.size());
        const std::string_view word = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
        return word;
    };
    from.step = next();
    from.format = next();
    bytes = next();
    from.hash = next();
    from.name = line;
    const std::optional<uint64_t> size = numberOf(bytes);
    if (!size || from.step.empty() || from.name.empty()) return std::nullopt;
    from.bytes = *size;
    return from;
}

std::string_view entryText(const Model& model, std::string_view name)
{
    const auto entry = std::ranges::find(model.metadata, name, &Metadata::name);
    if (entry == model.metadata.end() || !entry->data || !entry->data->hasBytes()) return {};
    const std::span<const std::byte> bytes = entry->data->bytes().view();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void setEntry(Model& model, std::string_view name, const std::string& text)
{
    auto entry = std::ranges::find(model.metadata, name, &Metadata::name);
    if (entry == model.metadata.end()) entry = model.metadata.insert(model.metadata.end(), {std::string(name), nullptr});
    entry->data = std::make_shared<Constant>(Bytes::copyOf(text.data(), text.size()));
}

std::vector<std::string> texts(const Attribute* list)
{
    std::vector<std::string> found;
    if (const auto* items = list ? list->as<AttributeItems>() : nullptr)
        for (const Attribute& item : *items)
            if (const auto* text = item.as<std::string>()) found.push_back(*text);
    return found;
}

AttributeItems itemsOf(const std::vector<std::string>& list)
{
    AttributeItems items;
    for (const std::string& text : list) items.emplace_back(text);
    return items;
}

/// The nodes of the source, as an operator of a TensorFlow graph says them.
std::vector<std::string> nodesOf(const Graph& graph, const Operator& op)
{
    if (op.origin.empty())
        if (std::vector<std::string> said = texts(findAttribute(op.attributes, kOriginNodes)); !said.empty()) return said;
    return originNodes(graph, op);
}

// "graph 3" and then a line for each operator: what it came from, tabs between.
std::string originText(const Model& model, const Model& source)
{
    const std::vector<GraphOrigins> known = derivedOrigins(source);
    std::string text;
    for (const Graph& graph : model.graphs) {
        text += "graph " + std::to_string(graph.operators.size()) + "\n";
        const GraphId there = source.findGraph(graph.id);
        const GraphOrigins* const earlier =
            source.dialect != Dialect::tf && source.hasGraph(there) && !known.empty() ? &known[static_cast<size_t>(there.index)] : nullptr;
        for (const Operator& op : graph.operators) {
            std::vector<std::string> origins;
            for (const std::string& origin : op.origin) {
                const std::optional<uint64_t> index =
                    origin.starts_with("0:") ? numberOf(std::string_view(origin).substr(2)) : std::nullopt;
                if (earlier && index && *index < earlier->size())
                    for (const std::string& first : (*earlier)[*index]) origins.push_back(first);
                else if (origin.find_first_of("\t\n") == std::string::npos) origins.push_back(origin);
            }
            std::vector<std::string> once;
            for (std::string& origin : origins)
                if (std::ranges::find(once, origin) == once.end()) once.push_back(std::move(origin));
            text += join(once, "\t") + "\n";
        }
    }
    return text;
}

} // namespace

std::vector<Derivation> derivationsOf(const Model& model)
{
    std::vector<Derivation> chain;
    const auto add = [&](std::string_view line) {
        if (std::optional<Derivation> from = derivationIn(line)) chain.push_back(std::move(*from));
    };
    if (model.dialect != Dialect::tf) {
        for (const std::string_view line : partsOf(entryText(model, kDerivedFromEntry), '\n')) add(line);
        return chain;
    }
    if (model.graphs.empty()) return chain;
    for (const Operator& op : model.graphs.front().operators)
        if (const Attribute* const said = findAttribute(op.attributes, kDerivedFrom)) {
            for (const std::string& line : texts(said)) add(line);
            break;
        }
    return chain;
}

void recordDerivation(Model& model, const Derivation& from, const Model& source)
{
    std::vector<std::string> lines = {lineOf(from)};
    for (const Derivation& earlier : derivationsOf(source)) lines.push_back(lineOf(earlier));
    if (model.dialect != Dialect::tf) {
        setEntry(model, kDerivedFromEntry, join(lines, "\n"));
        setEntry(model, kOriginEntry, originText(model, source));
        return;
    }
    if (model.graphs.empty() || model.graphs.front().operators.empty()) return;
    for (Operator& op : model.graphs.front().operators) removeAttribute(op.attributes, kDerivedFrom);
    setAttribute(model.graphs.front().operators.front().attributes, std::string(kDerivedFrom), itemsOf(lines));
    for (Graph& graph : model.graphs)
        for (Operator& op : graph.operators) {
            const std::vector<std::string> nodes = originNodes(graph, op);
            Operator loaded; // what its file will say without more words
            loaded.name = op.name;
            loaded.attributes = op.attributes;
            if (nodes != originNodes(graph, loaded)) setAttribute(op.attributes, std::string(kOriginNodes), itemsOf(nodes));
        }
}

std::vector<GraphOrigins> derivedOrigins(const Model& model)
{
    std::vector<GraphOrigins> origins;
    if (model.dialect == Dialect::tf) {
        for (const Graph& graph : model.graphs) {
            GraphOrigins& own = origins.emplace_back();
            for (const Operator& op : graph.operators) own.push_back(nodesOf(graph, op));
        }
        return origins;
    }
    std::vector<std::string_view> lines = partsOf(entryText(model, kOriginEntry), '\n');
    size_t at = 0;
    for (const Graph& graph : model.graphs) {
        const size_t count = graph.operators.size();
        if (at >= lines.size() || lines[at] != "graph " + std::to_string(count) || lines.size() - at - 1 < count) return {};
        GraphOrigins& own = origins.emplace_back();
        for (size_t i = 0; i < count; ++i) {
            std::vector<std::string>& names = own.emplace_back();
            for (const std::string_view name : partsOf(lines[at + 1 + i], '\t'))
                if (!name.empty()) names.emplace_back(name);
        }
        at += count + 1;
    }
    return origins;
}

} // namespace loopscope
