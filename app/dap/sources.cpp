#include "app/dap/sources.h"

#include "app/output/listing.h"
#include "app/wiring/model_file.h"
#include "engine/base/bytes.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/structured.h"
#include "engine/observe/address_names.h"
#include "engine/observe/host_address.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>

namespace loopscope::app::dap {

namespace {

/// The file itself, if it is a text from which this model was read.
std::optional<Source> ownText(const Model& model, const std::string& path)
{
    if (!path.ends_with(".lsir")) return std::nullopt;
    const Result<Bytes> content = mapFile(path);
    if (!content.ok()) return std::nullopt;
    const ParsedText parsed = parseText({content->as<char>(), content->size()});
    // A loop around the model has added graphs of its own.
    if (!parsed.errors.empty() || parsed.places.size() > model.graphs.size()) return std::nullopt;
    Source source;
    source.name = fileNameOf(path);
    std::error_code failure;
    source.path = std::filesystem::absolute(path, failure).lexically_normal().string();
    for (size_t g = 0; g < parsed.places.size(); ++g) {
        // What runs may have been selected from what was read.
        if (parsed.places[g].size() != model.graphs[g].operators.size() || parsed.model.graphs[g].id != model.graphs[g].id)
            return std::nullopt;
        for (size_t op = 0; op < parsed.places[g].size(); ++op)
            source.places.push_back({parsed.places[g][op].kind.line, GraphId(g), OperatorId(op), {}});
    }
    std::ranges::stable_sort(source.places, {}, &OperatorPlace::line);
    return source;
}

Source listingOf(const Model& model, const std::string& name)
{
    Source source;
    source.name = name + (name.ends_with(".lsir") ? "" : ".lsir");
    int64_t number = 0;
    for (const ListingLine& line : listModel(model, std::nullopt)) {
        ++number;
        source.content += line.text + "\n";
        if (line.op.valid()) source.places.push_back({number, line.graph, line.op, {}});
    }
    return source;
}

constexpr std::string_view kFileUri = "file://";

std::string uriOf(const std::string& path)
{
    constexpr std::string_view kHex = "0123456789ABCDEF", kPlain = "/-._~:";
    std::string uri(kFileUri);
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 128 && std::isalnum(byte) != 0) || kPlain.find(c) != std::string_view::npos) uri += c;
        else uri.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
    return uri;
}

/// What is no URI is a path already.
std::string pathOfUri(const std::string& uri)
{
    if (!uri.starts_with(kFileUri)) return uri;
    std::string path;
    for (size_t i = std::min(uri.find('/', kFileUri.size()), uri.size()); i < uri.size(); ++i) {
        unsigned byte = 0;
        const bool isCoded =
            uri[i] == '%' && i + 2 < uri.size() && std::from_chars(&uri[i + 1], &uri[i + 1] + 2, byte, 16).ptr == &uri[i + 1] + 2;
        path += isCoded ? static_cast<char>(byte) : uri[i];
        if (isCoded) i += 2;
    }
    return path;
}

} // namespace

const OperatorPlace* Source::nearest(int64_t line) const
{
    const auto at = std::ranges::lower_bound(places, line, {}, &OperatorPlace::line);
    if (at == places.begin()) return places.empty() ? nullptr : &*at;
    const OperatorPlace& before = *std::prev(at);
    if (at != places.end() && (at->line == line || at->graph == before.graph)) return &*at;
    if (at == places.end()) return &before;
    return at->line - line <= line - before.line ? &*at : &before;
}

Sources::Sources(const Model& model, const std::string& path, SourceOptions wanted) : m_model(model)
{
    m_firsts.push_back(0);
    for (const Graph& graph : model.graphs) m_firsts.push_back(m_firsts.back() + std::ssize(graph.operators));
    const std::string name = fileNameOf(path);
    Source view;
    view.name = name + " (structured).lsir";
    int64_t number = 0;
    StructuredOptions options;
    // The loop around a model is what runs: everything is shown, and has its address, where it is called from there.
    if (model.signatures.size() == 1 && model.hasGraph(model.signatures[0].graph) &&
        model.graph(model.signatures[0].graph).id == kHostGraph)
        options.root = model.signatures[0].graph;
    for (const StructuredLine& line : structuredView(model, options)) {
        ++number;
        view.content += line.text + "\n";
        if (!line.address.empty()) {
            const std::string call = callSiteOf(line.op.valid() ? invocationOf(line.address) : line.address);
            const std::string invocation = line.op.valid() ? invocationOf(line.address) : line.address;
            if (!call.empty() && invocation.size() > call.size() + 1 && invocation[call.size()] == ':') {
                std::vector<std::string>& roles = m_roles[call];
                const std::string role = invocation.substr(call.size() + 1);
                if (role.find('/') == std::string::npos && std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
            }
        }
        if (!line.op.valid()) continue;
        view.places.push_back({number, line.graph, line.op, line.address});
        std::vector<std::string>& addresses = m_addresses[{line.graph, line.op}];
        if (std::ranges::find(addresses, line.address) == addresses.end()) addresses.push_back(line.address);
    }
    m_sources.push_back(listingOf(model, name));
    m_sources.back().reference = 1;
    m_sources.push_back(std::move(view));
    m_sources.back().reference = 2;
    if (std::optional<Source> own = ownText(model, path)) m_sources.push_back(std::move(*own));
    for (Source& one : m_sources) one.shownPath = wanted.uris ? uriOf(one.path) : one.path;
    m_shown = wanted.structured ? 1 : m_sources.size() == 3 ? 2 : 0;
}

Result<const Source*> Sources::find(const Json& source) const
{
    const int64_t reference = source["sourceReference"].integer();
    const std::string path = pathOfUri(source["path"].text());
    for (const Source& one : m_sources)
        if (reference > 0 ? one.reference == reference : one.reference == 0 && !path.empty() && one.path == path) return &one;
    std::error_code failure;
    if (reference <= 0 && !path.empty())
        for (const Source& one : m_sources)
            if (one.reference == 0 && std::filesystem::equivalent(path, one.path, failure)) return &one;
    const std::string name = source["name"].text();
    if (reference <= 0)
        for (const Source& one : m_sources)
            if (!name.empty() && path.empty() && one.name == name) return &one;
    return Error(ErrorCode::usage, "no such source")
        .found(reference > 0 ? std::to_string(reference) : "'" + (path.empty() ? name : path) + "'");
}

Json Sources::describe(const Source& source)
{
    Json json = Json::object();
    json.set("name", source.name);
    if (source.reference > 0) json.set("sourceReference", source.reference).set("origin", "made from the model");
    else json.set("path", source.shownPath);
    return json;
}

const Source& Sources::shown(GraphId graph) const
{
    const Source& source = m_sources[m_shown];
    const bool isThere = source.reference > 0 || std::ranges::find(source.places, graph, &OperatorPlace::graph) != source.places.end();
    return isThere ? source : m_sources.front();
}

int64_t Sources::lineOf(GraphId graph, OperatorId op, const std::string& address) const
{
    const Source& source = shown(graph);
    const OperatorPlace* best = nullptr;
    for (const OperatorPlace& place : source.places) {
        if (place.graph != graph) continue;
        if (!op.valid()) { // behind the last one
            if (best == nullptr || place.line > best->line) best = &place;
        } else if (place.op == op) {
            if (place.address.empty() || place.address == address) return place.line;
            if (best == nullptr) best = &place;
        }
    }
    if (best == nullptr) return 1;
    return op.valid() ? best->line : best->line + 1;
}

const std::vector<std::string>& Sources::addressesOf(GraphId graph, OperatorId op) const
{
    static const std::vector<std::string> kNone;
    const auto found = m_addresses.find({graph, op});
    return found == m_addresses.end() ? kNone : found->second;
}

std::vector<std::string> Sources::rolesOf(const std::string& call) const
{
    const auto found = m_roles.find(call);
    return found == m_roles.end() ? std::vector<std::string>() : found->second;
}

int64_t Sources::numberOf(GraphId graph, OperatorId op) const { return m_firsts[static_cast<size_t>(graph.index)] + std::max(op.index, 0); }

std::optional<std::pair<GraphId, OperatorId>> Sources::operatorAt(int64_t number) const
{
    if (number < 0 || number >= operatorCount()) return std::nullopt;
    const auto graph = std::ranges::upper_bound(m_firsts, number) - m_firsts.begin() - 1;
    return std::pair(GraphId(graph), OperatorId(number - m_firsts[static_cast<size_t>(graph)]));
}

} // namespace loopscope::app::dap
