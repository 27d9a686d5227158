#include "app/wiring/placement.h"

#include "app/output/operator_status.h"

#include <algorithm>
#include <charconv>

namespace loopscope::app {

namespace {

constexpr std::string_view kRandom = "random:";

/// random:N:SEED.
Result<DevicePlacement> drawnPlacement(const std::string& text, const Graph& graph)
{
    int64_t count = 0;
    uint64_t seed = 0;
    const char* const end = text.data() + text.size();
    auto [at, problem] = std::from_chars(text.data() + kRandom.size(), end, count);
    if (problem == std::errc() && at != end && *at == ':') {
        const auto [last, badSeed] = std::from_chars(at + 1, end, seed);
        at = badSeed == std::errc() ? last : text.data();
    }
    if (at != end || count < 1 || count > 1000)
        return Error(ErrorCode::usage, "option '--place'").found("'" + text + "'").expected("random:N:SEED with up to 1000 devices");
    return placeAtRandom(graph, count, seed);
}

} // namespace

bool fitsPlace(const std::string& pattern, const Graph& graph, size_t op)
{
    const Operator& o = graph.operators[op];
    const std::string label = o.kind.name + "#" + std::to_string(op);
    return matchesWildcard(pattern, o.kind.name) || matchesWildcard(pattern, label) || matchesWildcard(pattern, graph.id + "/" + label) ||
           (!o.name.empty() && matchesWildcard(pattern, o.name));
}

bool asksForDevices(const std::vector<std::string>& texts)
{
    return std::ranges::any_of(texts, [](const std::string& text) { return !text.ends_with("=cpu"); });
}

Result<DevicePlacement> askedPlacement(const std::vector<std::string>& texts, const Graph& graph)
{
    if (texts.size() == 1 && texts[0].starts_with(kRandom)) return drawnPlacement(texts[0], graph);
    std::vector<std::string> wanted(graph.operators.size());
    for (const std::string& text : texts) {
        const size_t equals = text.rfind('=');
        const std::string pattern = text.substr(0, equals), device = equals == std::string::npos ? "" : text.substr(equals + 1);
        if (device.empty())
            return Error(ErrorCode::usage, "option '--place'").found("'" + text + "'").expected("PATTERN=DEVICE, or random:N:SEED");
        bool fits = false;
        for (size_t o = 0; o < wanted.size(); ++o) {
            if (!fitsPlace(pattern, graph, o)) continue;
            wanted[o] = device;
            fits = true;
        }
        if (!fits) return Error(ErrorCode::usage, "option '--place'").found("'" + pattern + "', which fits no operator of " + graph.id);
    }
    return decidePlacement(graph, wanted, "cpu:0");
}

Result<CutReport> cutAsAsked(const std::vector<std::string>& texts, Model& model, GraphId graph)
{
    if (!model.hasGraph(graph)) return Error(ErrorCode::usage, "the model has no graph");
    LS_TRY(const DevicePlacement placement, askedPlacement(texts, model.graph(graph)));
    return cutGraph(model, graph, placement);
}

} // namespace loopscope::app
