#include "app/output/rewrite_report.h"

#include "app/output/graph_picture.h"
#include "app/output/json_writer.h"
#include "engine/base/text.h"
#include "engine/ir/origin.h"

#include <algorithm>

namespace loopscope::app {

namespace {

std::string placeOf(const Rewrite& rewrite) { return rewrite.graph + (rewrite.name.empty() ? "" : "/" + rewrite.name); }

std::string countText(size_t count, const char* one, const char* many) { return std::to_string(count) + " " + (count == 1 ? one : many); }

/// "outer › inner"; empty at the top.
std::string framesText(const std::vector<std::string>& frames) { return join(frames, " › "); }

std::string pairedName(const OriginPair& pair) { return pair.slot == 0 ? pair.node : pair.node + ":" + std::to_string(pair.slot); }

/// What became what, what stayed and why, and where each value of a function comes from. `partners`: null where nothing is drawn.
std::vector<ReportTable> tablesOf(const Model& before, const Model& after, const std::vector<PassRun>& runs, const RewriteProof& proof,
                                  const Partners* partners)
{
    ReportTable mapping{"What became what", {"v1", "is now", "place", "nodes"}, {}, "Nothing."};
    if (!proof.verdict.empty()) mapping.columns.push_back("proof");
    for (const PassRun& run : runs)
        for (const Rewrite& rewrite : run.report.rewrites) {
            ReportRow row{{rewrite.from, rewrite.kind, placeOf(rewrite), join(rewrite.nodes, " ")}, -1};
            if (!proof.verdict.empty()) row.cells.push_back(proof.verdict);
            if (partners && !rewrite.name.empty()) row.partners = Partners::find(after, partners->after, rewrite.graph, rewrite.name);
            mapping.rows.push_back(std::move(row));
        }
    ReportTable left{"What stays", {"where", "why"}, {}, "Nothing."};
    for (const Declined& declined : allDeclined(runs))
        left.rows.push_back(
            {{declined.where, declined.reason}, partners ? Partners::find(before, partners->before, "", declined.where) : -1});
    ReportTable values{"Values", {"v1 value", "frame", "raised value"}, {}, "All are where they were."};
    for (const OriginPair& pair : originPairs(after)) {
        const Graph& graph = after.graph(pair.graph);
        const Value& value = graph.value(pair.value);
        if (pair.frames.empty() && value.id == pairedName(pair)) continue; // is where it was
        ReportRow row{{pairedName(pair), framesText(pair.frames), graph.id + "/" + value.id}, -1};
        if (partners)
            row.partners = value.role == ValueRole::result
                               ? partners->after.operators[static_cast<size_t>(pair.graph.index)][static_cast<size_t>(value.producer.index)]
                               : partners->after.values[static_cast<size_t>(pair.graph.index)][static_cast<size_t>(pair.value.index)];
        values.rows.push_back(std::move(row));
    }
    return {std::move(mapping), std::move(left), std::move(values)};
}

Result<ReportPage> pairReport(const std::string& title, const Model& before, const Model& after, const std::vector<PassRun>& runs,
                              const RewriteProof& proof, bool isDrawn)
{
    ReportPage report;
    report.title = title;
    for (const PassRun& run : runs)
        report.figures.emplace_back(std::string(run.pass->name),
                                    run.isSkipped ? "skipped" : countText(run.report.rewrites.size(), "rewrite", "rewrites"));
    report.figures.emplace_back("left as it was", countText(allDeclined(runs).size(), "place", "places"));
    report.verdict = proof.verdict;
    report.proof = proof.lines;
    if (!isDrawn) {
        report.tables = tablesOf(before, after, runs, proof, nullptr);
        return report;
    }
    const Partners partners = partnersByOrigin(before, after);
    report.partners = partners.count();
    LS_TRY(report.before, drawGraph(before, "", "Before", partners, partners.before));
    LS_TRY(report.after, drawGraph(after, "", "After", partners, partners.after));
    report.tables = tablesOf(before, after, runs, proof, &partners);
    return report;
}

} // namespace

std::vector<Declined> allDeclined(const std::vector<PassRun>& runs)
{
    std::vector<Declined> all;
    for (const PassRun& run : runs)
        for (const Declined& declined : run.report.declined)
            if (std::ranges::find(all, declined) == all.end()) all.push_back(declined);
    return all;
}

std::string rewriteText(const std::vector<PassRun>& runs)
{
    constexpr size_t kShown = 40;
    std::string out;
    size_t rewrites = 0;
    for (const PassRun& run : runs)
        for (const Rewrite& rewrite : run.report.rewrites)
            if (++rewrites <= kShown)
                out += rewrite.kind + "  " + rewrite.from + (rewrite.name.empty() ? "" : "  ->  " + placeOf(rewrite)) + "\n";
    if (rewrites > kShown) out += "and " + std::to_string(rewrites - kShown) + " more\n";
    const std::vector<Declined> declined = allDeclined(runs);
    for (const Declined& left : declined) out += "left  " + left.where + ": " + left.reason + "\n";
    out += countText(rewrites, "rewrite", "rewrites") + ", " +
           countText(declined.size(), "place left as it was", "places left as they were") + "\n";
    return out;
}

std::string rewriteJson(const std::vector<PassRun>& runs, const RewriteProof& proof)
{
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("rewrites").beginArray();
    for (const PassRun& run : runs)
        for (const Rewrite& rewrite : run.report.rewrites) {
            json.beginObject().key("name").value(run.pass->name).key("from").value(rewrite.from).key("to").value(rewrite.kind);
            json.key("place").value(placeOf(rewrite)).key("nodes").beginArray();
            for (const std::string& node : rewrite.nodes) json.value(node);
            json.endArray();
            if (!proof.verdict.empty()) json.key("verdict").value(proof.verdict).key("error").value(proof.error);
            json.endObject();
        }
    json.endArray().key("declined").beginArray();
    for (const Declined& declined : allDeclined(runs))
        json.beginObject().key("where").value(declined.where).key("reason").value(declined.reason).endObject();
    json.endArray().key("passes").beginArray();
    for (const PassRun& run : runs)
        json.beginObject()
            .key("name")
            .value(run.pass->name)
            .key("skipped")
            .value(run.isSkipped)
            .key("seconds")
            .value(static_cast<double>(run.durationNs) * 1e-9)
            .endObject();
    json.endArray();
    if (!proof.json.empty()) json.key("proof").raw(proof.json);
    return json.endObject().text();
}

Result<std::string> rewriteReport(const std::string& path, const std::string& title, const Model& before, const Model& after,
                                  const std::vector<PassRun>& runs, const RewriteProof& proof)
{
    LS_CHECK_OK(checkReportName(path));
    if (path.ends_with(".json")) return rewriteJson(runs, proof) + "\n";
    const bool isPage = path.ends_with(".html");
    LS_TRY(const ReportPage report, pairReport(title, before, after, runs, proof, isPage));
    return isPage ? pageHtml(report) : pageMarkdown(report);
}

} // namespace loopscope::app
