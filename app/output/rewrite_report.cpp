#include "app/output/rewrite_report.h"

#include "app/output/json_writer.h"
#include "app/output/listing.h"
#include "engine/base/text.h"
#include "engine/transform/origin.h"

#include <algorithm>
#include <map>

namespace loopscope::app {

namespace {

std::string placeOf(const Rewrite& rewrite) { return rewrite.graph + (rewrite.name.empty() ? "" : "/" + rewrite.name); }

std::string countText(size_t count, const char* one, const char* many) { return std::to_string(count) + " " + (count == 1 ? one : many); }

std::string escaped(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else out += c;
    }
    return out;
}

std::string markdownCell(std::string text)
{
    std::string out;
    for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return "`" + out + "`";
}

/// "outer › inner"; empty at the top.
std::string framesText(const std::vector<std::string>& frames) { return join(frames, " › "); }

std::string pairedName(const OriginPair& pair) { return pair.slot == 0 ? pair.node : pair.node + ":" + std::to_string(pair.slot); }

std::string markdownReport(const std::string& title, const Model& after, const std::vector<PassRun>& runs)
{
    std::string out = "# " + title + "\n\n";
    for (const PassRun& run : runs)
        out += "- " + std::string(run.pass->name) + ": " +
               (run.isSkipped ? "skipped" : countText(run.report.rewrites.size(), "rewrite", "rewrites")) + "\n";
    out += "\n## What became what\n\n| v1 | is now | place | nodes |\n|---|---|---|---|\n";
    for (const PassRun& run : runs)
        for (const Rewrite& rewrite : run.report.rewrites)
            out += "| " + markdownCell(rewrite.from) + " | " + rewrite.kind + " | " + markdownCell(placeOf(rewrite)) + " | " +
                   markdownCell(join(rewrite.nodes, " ")) + " |\n";
    const std::vector<Declined> declined = allDeclined(runs);
    out += "\n## What stays\n\n";
    if (declined.empty()) out += "Nothing.\n";
    for (const Declined& left : declined) out += "- `" + left.where + "`: " + left.reason + "\n";
    out += "\n## Values\n\n| v1 value | frame | raised value |\n|---|---|---|\n";
    for (const OriginPair& pair : originPairs(after)) {
        const Graph& graph = after.graph(pair.graph);
        if (pair.frames.empty() && graph.value(pair.value).id == pairedName(pair)) continue; // is where it was
        out += "| " + markdownCell(pairedName(pair)) + " | " + framesText(pair.frames) + " | " +
               markdownCell(graph.id + "/" + graph.value(pair.value).id) + " |\n";
    }
    return out;
}

/// Lines of a listing; those of operators with one origin share a class, by which the page finds the partner.
std::string htmlListing(const Model& model, const std::map<std::string, int>& numbers, bool isRaised)
{
    std::string out = "<pre>";
    for (const ListingLine& line : listModel(model, std::nullopt)) {
        std::vector<int> groups;
        if (line.op.valid() && line.graph.valid()) {
            const Operator& op = model.graph(line.graph).op(line.op);
            std::vector<std::string> names = isRaised ? op.origin : std::vector<std::string>();
            names.push_back(op.name);
            for (std::string& name : names) {
                if (name.starts_with('@')) name = name.substr(std::min(name.size(), name.find('/') + 1));
                if (const auto found = numbers.find(name);
                    found != numbers.end() && std::ranges::find(groups, found->second) == groups.end())
                    groups.push_back(found->second);
            }
        }
        std::string classes;
        for (const int group : groups) classes += " o" + std::to_string(group);
        if (classes.empty()) out += escaped(line.text) + "\n";
        else
            out += "<span class=\"op" + classes + "\" style=\"--h:" + std::to_string(groups.front() * 47 % 360) + "\">" +
                   escaped(line.text) + "</span>\n";
    }
    return out + "</pre>";
}

std::string htmlReport(const std::string& title, const Model& before, const Model& after, const std::vector<PassRun>& runs)
{
    std::map<std::string, int> numbers; // of v1 operators
    for (const Graph& graph : before.graphs)
        for (const Operator& op : graph.operators) numbers.emplace(op.name, static_cast<int>(numbers.size()));
    std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
                      "</title>\n<style>\nbody{font:14px sans-serif;margin:1em}main{display:flex;gap:1em}section{flex:1;min-width:0}"
                      "pre{overflow:auto;max-height:70vh;border:1px solid #ccc;padding:.5em;margin:0}"
                      ".op{border-left:6px solid hsl(var(--h) 60% 60%);padding-left:4px;cursor:pointer}"
                      ".op.on{background:hsl(var(--h) 80% 85%)}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 6px;"
                      "text-align:left;font:12px monospace}\n</style></head><body>\n<h1>" +
                      escaped(title) + "</h1>\n<main><section><h2>Before</h2>" + htmlListing(before, numbers, false) +
                      "</section><section><h2>After</h2>" + htmlListing(after, numbers, true) + "</section></main>\n";
    out += "<h2>What became what</h2><table><tr><th>v1</th><th>is now</th><th>place</th><th>nodes</th></tr>\n";
    for (const PassRun& run : runs)
        for (const Rewrite& rewrite : run.report.rewrites)
            out += "<tr><td>" + escaped(rewrite.from) + "</td><td>" + escaped(rewrite.kind) + "</td><td>" + escaped(placeOf(rewrite)) +
                   "</td><td>" + escaped(join(rewrite.nodes, " ")) + "</td></tr>\n";
    out += "</table>\n<h2>What stays</h2>\n";
    const std::vector<Declined> declined = allDeclined(runs);
    if (declined.empty()) out += "<p>Nothing.</p>\n";
    for (const Declined& left : declined) out += "<p><code>" + escaped(left.where) + "</code>: " + escaped(left.reason) + "</p>\n";
    out += "<h2>Values</h2><table><tr><th>v1 value</th><th>frame</th><th>raised value</th></tr>\n";
    for (const OriginPair& pair : originPairs(after)) {
        const Graph& graph = after.graph(pair.graph);
        if (pair.frames.empty() && graph.value(pair.value).id == pairedName(pair)) continue;
        out += "<tr><td>" + escaped(pairedName(pair)) + "</td><td>" + escaped(framesText(pair.frames)) + "</td><td>" +
               escaped(graph.id + "/" + graph.value(pair.value).id) + "</td></tr>\n";
    }
    out += "</table>\n<script>\nfor (const line of document.querySelectorAll('.op')) {\n  const mark = on => { for (const c of "
           "line.classList) "
           "if (/^o\\d/.test(c)) for (const other of document.getElementsByClassName(c)) other.classList.toggle('on', on); };\n"
           "  line.onmouseenter = () => mark(true); line.onmouseleave = () => mark(false);\n"
           "  line.onclick = () => { const own = line.closest('section'); for (const c of line.classList) if (/^o\\d/.test(c)) for (const "
           "other of "
           "document.getElementsByClassName(c)) if (other.closest('section') !== own) { other.scrollIntoView({block: 'center'}); return; } "
           "};\n"
           "}\n</script></body></html>\n";
    return out;
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

std::string rewriteJson(const std::vector<PassRun>& runs)
{
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("rewrites").beginArray();
    for (const PassRun& run : runs)
        for (const Rewrite& rewrite : run.report.rewrites) {
            json.beginObject().key("name").value(run.pass->name).key("from").value(rewrite.from).key("to").value(rewrite.kind);
            json.key("place").value(placeOf(rewrite)).key("nodes").beginArray();
            for (const std::string& node : rewrite.nodes) json.value(node);
            json.endArray().endObject();
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
    return json.endArray().endObject().text();
}

Status checkReportName(const std::string& path)
{
    if (path.empty() || path.ends_with(".json") || path.ends_with(".md") || path.ends_with(".html")) return {};
    return Error(ErrorCode::usage, "option '--report'").found("'" + path + "'").expected("a file .md, .json or .html");
}

Result<std::string> rewriteReport(const std::string& path, const std::string& title, const Model& before, const Model& after,
                                  const std::vector<PassRun>& runs)
{
    LS_CHECK_OK(checkReportName(path));
    if (path.ends_with(".json")) return rewriteJson(runs) + "\n";
    return path.ends_with(".md") ? markdownReport(title, after, runs) : htmlReport(title, before, after, runs);
}

} // namespace loopscope::app
