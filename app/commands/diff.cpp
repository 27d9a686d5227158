// `loopscope diff`: where two traces, models or archives of arrays first differ.
#include "app/commands/commands.h"
#include "app/commands/diff_models.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/table.h"
#include "app/wiring/signals.h"
#include "app/wiring/tolerance.h"
#include "converters/formats.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/npz.h"
#include "engine/tensor/value_text.h"
#include "tracer/api/trace_diff.h"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace loopscope::app {

namespace {

constexpr int kEqual = 0, kDifferent = 1;

enum class DiffKind : uint8_t { trace, archive, array, model };

Result<DiffKind> kindOf(const std::string& path)
{
    if (std::filesystem::is_directory(path)) return DiffKind::model; // a SavedModel
    if (isTraceFile(path)) return DiffKind::trace;
    LS_TRY(const Bytes content, mapFile(path));
    const std::string_view text(content.as<char>(), content.size());
    if (text.starts_with("PK")) return DiffKind::archive;
    if (text.starts_with("\x93NUMPY")) return DiffKind::array;
    return DiffKind::model;
}

/// A difference in the shape that text and JSON share.
struct Shown {
    std::string address, kind, a, b, at;
    int64_t step = -1;
    std::optional<double> maxAbs, maxRel, ulp, cosine;
    bool fromStatistics = false;
};

void addShown(JsonWriter& json, const Shown& d)
{
    const auto number = [&](const char* key, const std::optional<double>& value) {
        json.key(key);
        value ? json.value(*value) : json.null();
    };
    json.beginObject().key("address").value(d.address).key("step");
    d.step >= 0 ? json.value(d.step) : json.null();
    json.key("kind").value(d.kind).key("a").value(d.a).key("b").value(d.b);
    number("max_abs", d.maxAbs);
    number("max_rel", d.maxRel);
    number("ulp", d.ulp);
    number("cosine", d.cosine);
    json.key("at");
    d.at.empty() ? json.null() : json.value(d.at);
    json.endObject();
}

std::string shownText(const Shown& d, const Tolerance& tolerance)
{
    std::string line = d.address;
    if (d.step >= 0) line += "  step " + std::to_string(d.step);
    if (d.kind == "model") return line + "\n";
    if (d.kind != "value") return line + "\n  " + d.kind + "  " + d.a + " : " + d.b + "\n";
    line += "\n  ";
    if (d.maxAbs) line += "max |a - b| " + realText(*d.maxAbs, 3) + (d.at.empty() ? "" : " at " + d.at) + "   ";
    line += d.a + " : " + d.b;
    if (d.cosine) {
        line += "   cosine " + realText(*d.cosine, 6);
        if (tolerance.cosine && *d.cosine < *tolerance.cosine) line += " < " + realText(*tolerance.cosine, 6);
    }
    if (tolerance.ulp && d.ulp)
        line +=
            "   ulp " + realText(*d.ulp, 9) + (*d.ulp > static_cast<double>(*tolerance.ulp) ? " > " + std::to_string(*tolerance.ulp) : "");
    if (d.fromStatistics) line += "   (of min, max, mean: the elements are not stored)";
    return line + "\n";
}

void addScopes(JsonWriter& json, const std::vector<ScopeSummary>& scopes)
{
    json.key("scopes").beginArray();
    for (const ScopeSummary& scope : scopes)
        json.beginObject()
            .key("scope")
            .value(scope.scope)
            .key("depth")
            .value(static_cast<int64_t>(scope.depth))
            .key("operators")
            .value(scope.operators)
            .key("differing")
            .value(scope.differing)
            .key("only_a")
            .value(scope.onlyHere)
            .key("only_b")
            .value(scope.onlyThere)
            .endObject();
    json.endArray();
}

/// Prints the outcome in either form; the exit code.
int report(Console& console, bool equal, int64_t compared, const std::vector<Shown>& differences, const Tolerance& tolerance,
           const std::string& what, const std::vector<ScopeSummary>* scopes = nullptr)
{
    if (console.json()) {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("equal").value(equal).key("compared").value(compared).key("first");
        if (differences.empty()) json.null();
        else addShown(json, differences.front());
        json.key("verdict").value(equal ? "equal" : "different");
        if (differences.size() > 1) {
            json.key("differences").beginArray();
            for (const Shown& d : differences) addShown(json, d);
            json.endArray();
        }
        if (scopes != nullptr && scopes->size() > 1) addScopes(json, *scopes);
        console.line(json.endObject().text());
        return equal ? kEqual : kDifferent;
    }
    if (equal) {
        console.line("equal: " + console.number(compared) + " " + what + " compared");
        return kEqual;
    }
    const std::string head = tolerance.isExact() ? "first difference: " : "first beyond tolerance: ";
    for (size_t i = 0; i < differences.size(); ++i) console.print((i == 0 ? head : "") + shownText(differences[i], tolerance));
    return kDifferent;
}

Result<int> diffTraceFiles(const CommandContext& context, const std::string& a, const std::string& b)
{
    const Arguments& arguments = context.arguments;
    LS_TRY(const Tolerance tolerance, toleranceOf(arguments));
    DiffOptions options;
    const std::string pairing = arguments.text("pairing", "address");
    if (pairing == "map")
        return Error(ErrorCode::unsupported, "pairing 'map' needs a raised or fused model, which this program cannot make yet");
    options.pairing = pairing == "name" ? DiffPairing::name : DiffPairing::address;
    options.tolerance = tolerance;
    options.limit = arguments.has("all") ? 0 : 1;
    options.cancel = &interruptFlag();
    LS_TRY(const std::unique_ptr<TraceReader> first, TraceReader::open(a));
    LS_TRY(const std::unique_ptr<TraceReader> second, TraceReader::open(b));
    for (const auto* reader : {&first, &second})
        if (!(*reader)->note().empty()) context.console.note((*reader)->note());
    // One recording against itself: its two newest runs, or its only one.
    if (first->runs().size() == 1 && second->runs().size() == 1) {
        options.runA = first->runs().front().id;
        options.runB = second->runs().front().id;
    }
    LS_TRY(const TraceDiff diff, diffTraces(*first, *second, options));
    if (!diff.models.empty())
        context.console.note("the recordings are of two models: " + diff.models +
                             (options.pairing == DiffPairing::address ? "; --pairing name pairs their values by name" : ""));
    if (diff.unpaired > 0) context.console.note(std::to_string(diff.unpaired) + " operators have no partner");
    std::vector<Shown> shown;
    for (const TraceDifference& d : diff.differences)
        shown.push_back({d.address, d.kind, d.a, d.b, d.at, d.step, d.maxAbs, d.maxRel, d.ulp, d.cosine, d.fromStatistics});
    return report(context.console, diff.equal, diff.compared, shown, tolerance, "writes");
}

std::optional<Shown> compareArrays(const std::string& name, const Array& a, const Array& b, const Tolerance& tolerance)
{
    const Comparison c = compareTensors(a.view(), b.view(), tolerance, !tolerance.isExact());
    Shown d;
    d.address = name;
    if (!c.mismatch.empty()) {
        const bool shape = c.mismatch.starts_with("shape");
        d.kind = shape ? "shape" : "dtype";
        d.a = shape ? toString(a.shape) : std::string(dtypeName(a.dtype));
        d.b = shape ? toString(b.shape) : std::string(dtypeName(b.dtype));
        return d;
    }
    if (c.equal) return std::nullopt;
    const int64_t at = std::max<int64_t>(c.worst >= 0 ? c.worst : c.first, 0);
    d.kind = "value";
    NumberFormat exact; // what differs must not look alike
    exact.digits = NumberFormat::kExact;
    d.a = elementText(a.view(), at, exact);
    d.b = elementText(b.view(), at, exact);
    d.at = elementIndexText(a.shape, at);
    d.maxAbs = c.maxAbs;
    d.maxRel = c.maxRel;
    if (c.maxUlp) d.ulp = static_cast<double>(*c.maxUlp);
    if (a.dtype != DType::string) d.cosine = c.cosine;
    return d;
}

Result<int> diffArchives(const CommandContext& context, const std::string& a, const std::string& b)
{
    LS_TRY(const Tolerance tolerance, toleranceOf(context.arguments));
    LS_TRY(const NpzFile first, NpzFile::open(a));
    LS_TRY(const NpzFile second, NpzFile::open(b));
    std::vector<Shown> shown;
    int64_t compared = 0;
    const bool all = context.arguments.has("all");
    for (const std::string& key : first.keys()) {
        if (!all && !shown.empty()) break;
        if (!second.has(key)) {
            shown.push_back({key, "missing", "array", "nothing", "", -1, {}, {}, {}, {}, false});
            continue;
        }
        LS_TRY(const Array x, first.read(key));
        LS_TRY(const Array y, second.read(key));
        ++compared;
        if (std::optional<Shown> d = compareArrays(key, x, y, tolerance)) shown.push_back(std::move(*d));
    }
    for (const std::string& key : second.keys())
        if (!first.has(key) && (all || shown.empty())) shown.push_back({key, "missing", "nothing", "array", "", -1, {}, {}, {}, {}, false});
    return report(context.console, shown.empty(), compared, shown, tolerance, compared == 1 ? "array" : "arrays");
}

Result<int> diffArrays(const CommandContext& context, const std::string& a, const std::string& b)
{
    LS_TRY(const Tolerance tolerance, toleranceOf(context.arguments));
    std::vector<Array> arrays;
    for (const std::string* path : {&a, &b}) {
        LS_TRY(const Bytes content, mapFile(*path));
        Result<Array> array = readNpy(content.view());
        if (!array.ok()) return std::move(array).takeError().at(*path);
        arrays.push_back(std::move(array).value());
    }
    std::vector<Shown> shown;
    if (std::optional<Shown> d = compareArrays(a, arrays[0], arrays[1], tolerance)) shown.push_back(std::move(*d));
    return report(context.console, shown.empty(), 1, shown, tolerance, "array");
}

/// What differs where: scopes below each other.
void showScopes(Console& console, const std::vector<ScopeSummary>& scopes)
{
    if (scopes.size() < 2) return;
    Table table({"scope", "operators", "differ", "only in A", "only in B"});
    for (size_t column = 1; column < 5; ++column) table.align(column, Align::right);
    const auto number = [&](int64_t count) { return count == 0 ? std::string() : console.number(count); };
    for (const ScopeSummary& scope : scopes)
        table.add({std::string(static_cast<size_t>(2 * scope.depth), ' ') + scope.scope, console.number(scope.operators),
                   scope.isAlike() ? "alike" : number(scope.differing), number(scope.onlyHere), number(scope.onlyThere)});
    console.print(table.text());
}

Result<int> diffModelFiles(const CommandContext& context, const std::string& a, const std::string& b)
{
    LS_TRY(LoadedModel first, loadModel(a));
    LS_TRY(LoadedModel second, loadModel(b));
    LS_CHECK_OK(openForDiff(first.model, second.model));
    const std::string difference = firstDifference(first.model, second.model);
    int64_t operators = 0;
    for (const Graph& graph : first.model.graphs) operators += static_cast<int64_t>(graph.operators.size());
    std::vector<Shown> shown;
    if (difference.empty()) return report(context.console, true, operators, shown, {}, "operators");
    const ModelDiff diff = diffModels(first.model, second.model);
    for (const ModelDifference& d : diff.differences) {
        shown.push_back({d.address, d.kind, d.a, d.b, "", -1, {}, {}, {}, {}, false});
        if (!context.arguments.has("all")) break;
    }
    // Operators agree: it is something else of the file.
    if (shown.empty()) shown.push_back({difference, "model", a, b, "", -1, {}, {}, {}, {}, false});
    if (!context.console.json()) {
        const auto count = [&](int64_t n) { return context.console.number(n) + (n == 1 ? " operator" : " operators"); };
        std::string line = count(diff.paired) + " pair by " + diff.pairedBy;
        line += diff.differing == 0 ? ", all alike" : ", " + context.console.number(diff.differing) + " of them differ";
        if (diff.onlyA > 0) line += "; " + context.console.number(diff.onlyA) + " only in " + a;
        if (diff.onlyB > 0) line += "; " + context.console.number(diff.onlyB) + " only in " + b;
        context.console.line(line);
        if (context.arguments.has("all")) showScopes(context.console, diff.scopes);
    }
    return report(context.console, false, diff.paired, shown, {}, "operators", &diff.scopes);
}

} // namespace

Result<int> runDiff(const CommandContext& context)
{
    const std::string& a = context.arguments.positionals[0];
    const bool isOfProfiles = !context.arguments.text("against-profile").empty();
    if (context.arguments.positionals.size() == 1) {
        if (isOfProfiles) return runProve(context); // one model, two sets of kernels: only running it tells
        return Error(ErrorCode::usage, "a second file is missing")
            .at("'diff'")
            .expected("loopscope diff A B or diff MODEL -i NAME=SOURCE --against-profile xnnpack");
    }
    if (isOfProfiles) return Error(ErrorCode::usage, "'diff' takes a second file or --against-profile, not both");
    const std::string& b = context.arguments.positionals[1];
    LS_TRY(const DiffKind first, kindOf(a));
    LS_TRY(const DiffKind second, kindOf(b));
    constexpr std::array names = {"a trace", "an .npz archive", "an .npy array", "a model"};
    if (first != second)
        return Error(ErrorCode::usage, "two files of one kind are needed")
            .at("diff")
            .found(a + " (" + names[static_cast<size_t>(first)] + ") and " + b + " (" + names[static_cast<size_t>(second)] + ")");
    switch (first) {
    case DiffKind::trace: return diffTraceFiles(context, a, b);
    case DiffKind::archive: return diffArchives(context, a, b);
    case DiffKind::array: return diffArrays(context, a, b);
    case DiffKind::model: return diffModelFiles(context, a, b);
    }
    return kEqual;
}

} // namespace loopscope::app
