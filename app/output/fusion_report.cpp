#include "app/output/fusion_report.h"

#include "app/output/graph_picture.h"
#include "app/output/json_writer.h"
#include "app/output/report_page.h"
#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_resolution.h"

#include <algorithm>

namespace loopscope::app {

namespace {

std::string wordOf(const FusionVerdict& verdict)
{
    if (!verdict.isDecided) return "undecided";
    return std::string(verdictText(verdict.verdict));
}

void addVerdict(JsonWriter& json, const FusionVerdict& verdict)
{
    json.key("verdict").value(wordOf(verdict)).key("error").value(verdict.maxAbs).key("inputs").value(verdict.inputs);
    json.key("holds").value(verdict.holds).key("proof").value(proofText(verdict));
}

void addFusion(JsonWriter& json, const Fusion& fusion, const FusionVerdict* verdict)
{
    json.beginObject().key("name").value(fusion.rule).key("graph").value(fusion.graph).key("operator").value(fusion.name);
    json.key("from").beginArray();
    for (const std::string& name : fusion.from) json.value(name);
    json.endArray().key("to").value(fusion.to).key("class").value(equalityText(fusion.equality));
    if (!fusion.note.empty()) json.key("note").value(fusion.note);
    if (verdict != nullptr) addVerdict(json, *verdict);
    json.endObject();
}

std::string countOf(const std::optional<int64_t>& count) { return count ? std::to_string(*count) : "not known"; }

/// "operators" → before → after.
std::vector<std::array<std::string, 3>> figureRows(const std::vector<FusionFigures>& figures)
{
    if (figures.size() != 2) return {};
    const FusionFigures &a = figures[0], &b = figures[1];
    const auto time = [](int64_t ns) { return ns < 0 ? std::string("not measured") : std::to_string(ns / 1000) + " us"; };
    return {{"operators", std::to_string(a.operators), std::to_string(b.operators)},
            {"bytes of constants", std::to_string(a.constantBytes), std::to_string(b.constantBytes)},
            {"multiply-adds", countOf(a.macs), countOf(b.macs)},
            {"peak of activations, bytes", countOf(a.peakBytes), countOf(b.peakBytes)},
            {"time of a run, reference kernels", time(a.medianNs), time(b.medianNs)}};
}

std::vector<ReportTable> tablesOf(const Model& after, const ToldFusion& told, const Partners* partners)
{
    const FusionReport& report = told.proof.report;
    const auto partnerOf = [&](const std::string& graph, const std::string& name) {
        return partners != nullptr ? Partners::find(after, partners->after, graph, name) : -1;
    };
    ReportTable rewrites{"What became what", {"rule", "from", "to", "operator", "class"}, {}, "Nothing was fused."};
    if (told.isProved) rewrites.columns.insert(rewrites.columns.end(), {"verdict", "proof"});
    for (size_t k = 0; k < report.rewrites.size(); ++k) {
        const Fusion& fusion = report.rewrites[k];
        ReportRow row{{fusion.note.empty() ? fusion.rule : fusion.rule + ": " + fusion.note, join(fusion.from, ", "), fusion.to,
                       fusion.graph + "/" + fusion.name, std::string(equalityText(fusion.equality))},
                      partnerOf(fusion.graph, fusion.name)};
        if (told.isProved) row.cells.insert(row.cells.end(), {wordOf(told.proof.proofs[k]), proofText(told.proof.proofs[k])});
        rewrites.rows.push_back(std::move(row));
    }
    ReportTable declined{"Not fused", {"rule", "where", "would be", "reason"}, {}, "Nothing looked like a pattern and was none."};
    for (const FusionDeclined& left : report.declined)
        declined.rows.push_back({{left.rule, left.graph + "/" + left.where, left.to, left.reason}, partnerOf(left.graph, left.where)});
    ReportTable figures{"Before and after", {"", "before", "after"}, {}, ""};
    for (const auto& [what, before, now] : figureRows(told.figures)) figures.rows.push_back({{what, before, now}, -1});
    std::vector<ReportTable> tables = {std::move(rewrites), std::move(declined)};
    if (!report.labels.empty()) {
        ReportTable labels{"Named, and left as it is", {"what", "where"}, {}, ""};
        for (const FusionLabel& label : report.labels)
            labels.rows.push_back({{label.name, label.graph + "/" + label.where}, partnerOf(label.graph, label.where)});
        tables.push_back(std::move(labels));
    }
    if (!figures.rows.empty()) tables.push_back(std::move(figures));
    return tables;
}

Result<ReportPage> pageOf(const std::string& title, const Model& before, const Model& after, const ToldFusion& told, bool isDrawn)
{
    ReportPage report;
    report.title = title;
    report.figures = {{"rewrites", std::to_string(told.proof.report.rewrites.size())},
                      {"refused", std::to_string(told.proof.report.declined.size())}};
    if (told.isProved) {
        report.verdict = wordOf(told.proof.whole);
        report.proof = {"the whole model: " + proofText(told.proof.whole) + ", on " + std::to_string(told.proof.whole.inputs) + " inputs"};
    }
    if (!isDrawn) {
        report.tables = tablesOf(after, told, nullptr);
        return report;
    }
    const Partners partners = partnersByOrigin(before, after);
    report.partners = partners.count();
    LS_TRY(report.before, drawGraph(before, "", "Before", partners, partners.before, SourceNodes::hidden));
    LS_TRY(report.after, drawGraph(after, "", "After", partners, partners.after, SourceNodes::hidden));
    report.tables = tablesOf(after, told, &partners);
    return report;
}

} // namespace

std::string fusionText(const ToldFusion& told)
{
    const FusionReport& report = told.proof.report;
    std::string text;
    for (size_t k = 0; k < report.rewrites.size(); ++k) {
        const Fusion& fusion = report.rewrites[k];
        text += fusion.to + "  " + fusion.graph + "/" + fusion.name + "  from " + join(fusion.from, ", ") + "  (" + fusion.rule + ", " +
                std::string(equalityText(fusion.equality)) + ")\n";
        if (!fusion.note.empty()) text += "    " + fusion.note + "\n";
        if (told.isProved) text += "    " + proofText(told.proof.proofs[k]) + "\n";
    }
    for (const FusionLabel& label : report.labels)
        text += "is " + label.name + ", which TFLite has no operator for: " + label.graph + "/" + label.where + "\n";
    for (const FusionDeclined& declined : report.declined)
        text += "not fused: " + declined.to + " at " + declined.graph + "/" + declined.where + ": " + declined.reason + " (" +
                declined.rule + ")\n";
    if (text.empty()) text = "nothing to fuse\n";
    if (!told.isProved) return text;
    const auto& proofs = told.proof.proofs;
    const auto proved = std::ranges::count_if(proofs, [](const FusionVerdict& proof) { return proof.isDecided && proof.holds; });
    text += std::to_string(proved) + " of " + std::to_string(proofs.size()) + " rewrites proved";
    if (!told.proof.failures.empty()) text += ", " + std::to_string(told.proof.failures.size()) + " undone";
    text += "; the whole model: " + proofText(told.proof.whole) + ", on " + std::to_string(told.proof.whole.inputs) + " inputs\n";
    return text;
}

std::string fusionJson(const ToldFusion& told)
{
    const FusionReport& report = told.proof.report;
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("rewrites").beginArray();
    for (size_t k = 0; k < report.rewrites.size(); ++k)
        addFusion(json, report.rewrites[k], told.isProved ? &told.proof.proofs[k] : nullptr);
    json.endArray().key("declined").beginArray();
    for (const FusionDeclined& declined : report.declined) {
        json.beginObject().key("name").value(declined.rule).key("graph").value(declined.graph).key("where").value(declined.where);
        json.key("to").value(declined.to).key("reason").value(declined.reason).endObject();
    }
    json.endArray().key("labels").beginArray();
    for (const FusionLabel& label : report.labels)
        json.beginObject().key("graph").value(label.graph).key("where").value(label.where).key("name").value(label.name).endObject();
    json.endArray();
    if (told.isProved) {
        json.key("undone").beginArray();
        for (size_t k = 0; k < told.proof.rolledBack.size(); ++k) addFusion(json, told.proof.rolledBack[k], &told.proof.failures[k]);
        json.endArray().key("whole").beginObject();
        addVerdict(json, told.proof.whole);
        json.endObject();
    }
    for (size_t k = 0; k < told.figures.size(); ++k) {
        const FusionFigures& figures = told.figures[k];
        const auto number = [&](const char* key, const std::optional<int64_t>& value) {
            json.key(key);
            value ? json.value(*value) : json.null();
        };
        json.key(k == 0 ? "before" : "after").beginObject().key("operators").value(figures.operators);
        json.key("constant_bytes").value(figures.constantBytes);
        number("macs", figures.macs);
        number("activation_peak", figures.peakBytes);
        number("median_ns", figures.medianNs < 0 ? std::nullopt : std::optional(figures.medianNs));
        json.endObject();
    }
    return json.endObject().text();
}

Result<std::string> fusionReport(const std::string& path, const std::string& title, const Model& before, const Model& after,
                                 const ToldFusion& told)
{
    LS_CHECK_OK(checkReportName(path));
    if (path.ends_with(".json")) return fusionJson(told) + "\n";
    const bool isPage = path.ends_with(".html");
    LS_TRY(const ReportPage report, pageOf(title, before, after, told, isPage));
    return isPage ? pageHtml(report) : pageMarkdown(report);
}

namespace {

/// The refusals that concern the operator, and what became of it.
std::vector<std::string> fusionLinesOf(const FusionReport& report, std::string_view op)
{
    std::vector<std::string> lines;
    const std::string name(op);
    // What stood in a function is called after its call now.
    const auto isAsked = [&](const std::string& other) { return other == name || other.ends_with("/" + name); };
    const auto isNamed = [&](const std::string& reason) {
        return reason.find("'" + name + "'") != std::string::npos || reason.find("/" + name + "'") != std::string::npos;
    };
    std::vector<std::string> became; // what it is a part of, which may have been refused more
    for (const Fusion& fusion : report.rewrites)
        if (std::ranges::any_of(fusion.from, isAsked)) became.push_back(fusion.graph + "/" + fusion.name);
    for (const auto* const list : {&report.declined, &report.declinedAtFused})
        for (const FusionDeclined& declined : *list)
            if (const std::string place = declined.graph + "/" + declined.where;
                isAsked(place) || std::ranges::find(became, place) != became.end() || isNamed(declined.reason))
                lines.push_back("not fused: " + declined.to + " at " + declined.graph + "/" + declined.where + ": " + declined.reason +
                                " (" + declined.rule + ")");
    for (const Fusion& fusion : report.rewrites)
        if (isAsked(fusion.name) || std::ranges::any_of(fusion.from, isAsked))
            lines.push_back("fused: " + fusion.to + " at " + fusion.graph + "/" + fusion.name + " from " + join(fusion.from, ", ") + " (" +
                            fusion.rule + ")");
    return lines;
}

/// What the operators give that an address (`main/while#0:body/add#1`) or the end of one (`add#1`) names: reasons call them by that.
std::vector<std::string> resultsOf(const Model& model, std::string_view op)
{
    std::vector<std::string> results;
    const auto add = [&](const Graph& graph, const Operator& node) {
        for (const ValueId value : node.results) results.push_back(graph.value(value).id);
    };
    if (const Result<Address> address = parseAddress(op); address.ok())
        if (const Result<ResolvedAddress> place = resolveAddress(model, *address); place.ok()) {
            if (place->op.valid()) add(model.graph(place->graph), model.graph(place->graph).op(place->op));
            return results;
        }
    for (const Graph& graph : model.graphs)
        for (size_t i = 0; i < graph.operators.size(); ++i)
            if (addressSite(graph.operators[i], static_cast<int64_t>(i)) == op) add(graph, graph.operators[i]);
    return results;
}

/// Whether `op` names an operator or value of the model: by what addresses call it, by its name in the file, or behind its graph
/// or the calls that lead to it. Otherwise an error with the names that are like it.
Status checkNamed(const Model& model, std::string_view op)
{
    const auto isNamed = [&](const std::string& graph, const std::string& name) {
        return !name.empty() &&
               (name == op || name.ends_with("/" + std::string(op)) || graph + "/" + name == op || op.ends_with("/" + name));
    };
    std::vector<std::string> names;
    for (const Graph& graph : model.graphs) {
        for (size_t i = 0; i < graph.operators.size(); ++i) {
            const Operator& node = graph.operators[i];
            std::string site = addressSite(node, static_cast<int64_t>(i));
            if (isNamed(graph.id, node.name) || isNamed(graph.id, site)) return {};
            names.push_back(node.name.empty() ? std::move(site) : node.name);
        }
        for (const Value& value : graph.values) {
            if (isNamed(graph.id, value.id) || isNamed(graph.id, value.name)) return {};
            names.push_back(value.displayName());
        }
    }
    return Error(ErrorCode::usage, "no operator or value '" + std::string(op) + "' in the model").nearest(nearestNames(op, names));
}

} // namespace

Result<std::vector<std::string>> whyNotFused(const Model& model, const FusionReport& report, std::string_view op)
{
    std::string_view inGraph = op; // reasons name operators without their graph
    for (const Graph& graph : model.graphs)
        if (op.starts_with(graph.id + "/")) inGraph = op.substr(graph.id.size() + 1);
    std::vector<std::string> lines = fusionLinesOf(report, inGraph);
    for (const std::string& result : resultsOf(model, op))
        for (std::string& line : fusionLinesOf(report, result))
            if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    if (!lines.empty()) return lines;
    LS_CHECK_OK(checkNamed(model, op));
    lines.push_back("no rule began to match at '" + std::string(op) + "'");
    return lines;
}

Result<std::vector<std::string>> whyNotFused(const Model& model, const RunTarget& target, std::string_view op)
{
    Model fused = model;
    LS_TRY(const FusionReport report, fuseOperators(fused, fusionOptionsOf(model, target)));
    return whyNotFused(model, report, op);
}

} // namespace loopscope::app
