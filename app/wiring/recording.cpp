#include "app/wiring/recording.h"

#include "app/output/listing.h"
#include "app/wiring/signals.h"
#include "engine/base/hash.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_resolution.h"

#include <array>
#include <charconv>
#include <cmath>

namespace loopscope::app {

namespace {

constexpr std::array kLevels = {"control", "statistics", "hashes", "values", "all"};

} // namespace

std::string levelName(TraceLevel level) { return kLevels[static_cast<size_t>(level)]; }

Result<TraceLevel> parseLevel(const std::string& text)
{
    for (size_t i = 0; i < kLevels.size(); ++i)
        if (text == kLevels[i]) return static_cast<TraceLevel>(i);
    return Error(ErrorCode::usage, "level").found("'" + text + "'").expected("control, statistics, hashes, values or all");
}

Result<uint64_t> parseSize(const std::string& text)
{
    const auto wrong = [&] { return Error(ErrorCode::usage, "size").found("'" + text + "'").expected("a number with KiB, MiB or GiB"); };
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number > 0)) return wrong();
    const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
    const double factor = unit.empty()    ? 1
                          : unit == "KiB" ? 0x1p10
                          : unit == "MiB" ? 0x1p20
                          : unit == "GiB" ? 0x1p30
                          : unit == "TiB" ? 0x1p40
                                          : 0;
    if (factor == 0 || number * factor > 0x1p62) return wrong();
    return static_cast<uint64_t>(number * factor);
}

namespace {

/// Operators are recorded, or not: who names a result means what writes it.
AddressPattern ofOperator(const AddressPattern& pattern)
{
    Address address = pattern.pattern();
    if (address.target != TargetKind::output) return pattern;
    address.target = TargetKind::op;
    address.slot = -1;
    return AddressPattern(std::move(address));
}

/// What an operator or a value is called where it lies, without the way there: it is meant wherever it is.
bool isShortName(const Model& model, const std::string& text)
{
    if (model.findGraph(text).valid()) return false;
    for (const Graph& graph : model.graphs) {
        if (graph.findValue(text).valid()) return true;
        for (size_t o = 0; o < graph.operators.size(); ++o)
            if (addressSite(graph.operators[o], static_cast<int64_t>(o)) == text) return true;
    }
    return false;
}

} // namespace

TraceModelInfo traceModelInfo(const LoadedModel& file)
{
    TraceModelInfo info;
    info.path = file.path;
    for (const Format& format : formats())
        if (format.name == file.formatName) info.format = format.extension;
    info.bytes = file.fileBytes();
    info.hash = toHex(hashBytes(file.content.view()));
    info.derivedFrom = file.derivedFrom;
    return info;
}

Derivation derivationFrom(const LoadedModel& file, std::string step)
{
    const TraceModelInfo info = traceModelInfo(file);
    return {std::move(step), info.format, info.bytes, info.hash, fileNameOf(file.path)};
}

std::vector<TraceFeed> feedsOf(const BoundInputs& inputs)
{
    std::vector<TraceFeed> feeds;
    for (size_t i = 0; i < inputs.inputs.size(); ++i) feeds.push_back({static_cast<int32_t>(i), inputs.inputs[i].source});
    return feeds;
}

Result<RecorderOptions> recorderOptions(const Arguments& arguments, const LoadedModel& file, const BoundInputs& inputs)
{
    RecorderOptions options;
    options.path = arguments.text("output");
    options.overwrite = arguments.has("force");
    LS_TRY(options.level, parseLevel(arguments.text("level", "statistics")));
    const auto patterns = [&](std::string_view option, std::vector<AddressPattern>& to) -> Status {
        for (const std::string& text : arguments.all(option)) {
            Result<std::vector<AddressPattern>> patterns = resolvePattern(file.model, isShortName(file.model, text) ? ".../" + text : text);
            if (!patterns.ok()) return std::move(patterns).takeError().at("option '--" + std::string(option) + "'");
            for (const AddressPattern& pattern : *patterns) to.push_back(option == "keep" ? pattern : ofOperator(pattern));
        }
        return {};
    };
    LS_CHECK_OK(patterns("keep", options.keep));
    LS_CHECK_OK(patterns("only", options.only));
    LS_CHECK_OK(patterns("except", options.except));
    if (arguments.has("iterations")) {
        Result<IterationSet> set = parseIterations(arguments.text("iterations"));
        if (!set.ok()) return std::move(set).takeError().at("option '--iterations'");
        options.iterations = std::move(set).value();
    }
    options.append = arguments.has("append");
    options.sparse = arguments.has("sparse");
    LS_TRY(options.onAlert, arguments.integer("on-alert", 0, 0, 1'000'000));
    if (arguments.has("quota")) {
        Result<uint64_t> quota = parseSize(arguments.text("quota"));
        if (!quota.ok()) return std::move(quota).takeError().at("option '--quota'");
        options.quotaBytes = *quota;
    }
    options.durable = arguments.has("durable");
    options.noIndex = arguments.has("no-index");
    options.allConstants = arguments.has("constants");
    options.model = traceModelInfo(file);
    options.feeds = feedsOf(inputs);
    options.listing = graphListing;
    options.cancel = &interruptFlag();
    return options;
}

} // namespace loopscope::app
