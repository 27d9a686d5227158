#include "app/output/report_page.h"

#include "engine/base/text.h"
#include "engine/base/visible_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace loopscope::app {

namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"exact", "real-equal", "approximate", "different", "undecided"};

constexpr const char* kStyle = R"(body{font:14px/1.4 system-ui,sans-serif;margin:1em;color:#1b1f24;background:#fff}
h1{font-size:20px;margin:0 0 .2em}h2{font-size:15px;margin:1.2em 0 .4em}
.figures span{margin-right:1.5em}.figures b{font-weight:600}
main{display:flex;gap:1em}main section{flex:1;min-width:0}
.picture{overflow:auto;height:66vh;border:1px solid #c8ced6;background:#fff}
main section:only-child .picture{height:auto;max-height:66vh}
.zoom{float:right}.zoom button{font:13px sans-serif;width:2.2em}
#says{position:sticky;top:0;background:#fff;border-bottom:1px solid #c8ced6;padding:.4em 0;min-height:1.4em;z-index:1;
font:13px ui-monospace,monospace;overflow-wrap:anywhere}
.partner{cursor:pointer}
svg .partner [fill=white]{fill:hsl(var(--h) var(--s,75%) var(--l,87%))}
svg .partner.alone [fill=white]{fill:#ececec}
svg .cluster.partner path{stroke:hsl(var(--h) 65% 45%);stroke-width:2}
svg .partner.near [fill=white],svg .partner.on [fill=white]{fill:hsl(var(--h) 90% 66%)}
svg .node.on{outline:3px solid #0b5fbf;outline-offset:1px}
svg .cluster.near path{stroke-width:4}svg .cluster.on path{stroke:#0b5fbf;stroke-width:5}
table{border-collapse:collapse}td,th{border:1px solid #c8ced6;padding:2px 8px;text-align:left;vertical-align:top;
font:12px ui-monospace,monospace;overflow-wrap:break-word}
tr.partner td:first-child{border-left:6px solid hsl(var(--h) 65% 60%)}tr.near td{background:#eef3f9}tr.on td{background:#d9e8fb}
.exact,.real-equal{color:#0a6b2d}.approximate,.undecided{color:#8c5909}.different{color:#b3123a;font-weight:600}
.plots svg{margin:0 1em .6em 0}details{margin:.6em 0}
.verdict{font-weight:600}pre{white-space:pre-wrap;font:12px ui-monospace,monospace}
)";

// Numbers of partners are classes; a folded group of operators has several.
constexpr const char* kScript = R"(const numbers = e => [...e.classList].filter(c => /^p\d+$/.test(c));
const at = event => event.target.closest && event.target.closest('.partner');
const mark = (e, name, on) => { for (const c of numbers(e)) for (const other of document.getElementsByClassName(c)) other.classList.toggle(name, on); };
const clear = name => { for (const e of [...document.getElementsByClassName(name)]) e.classList.remove(name); };
const parts = (side, e) => numbers(e).flatMap(c => [...document.querySelectorAll('#' + side + ' .' + c)]);
const names = (side, e) => [...new Set(parts(side, e).map(p => p.dataset.name || p.querySelector('title').textContent.replace(/^cluster_/, '')))].join(', ');
const says = document.getElementById('says');
function hold(e) {
  const was = e.classList.contains('on');
  clear('on');
  says.textContent = '';
  if (was) return;
  mark(e, 'on', true);
  says.textContent = (names('before', e) || 'nothing') + (document.getElementById('after') ? '  \u2194  ' + (names('after', e) || 'nothing') : '');
  for (const side of ['before', 'after']) {
    const own = e.closest('#' + side), partner = parts(side, e)[0];
    if (!own && partner) partner.scrollIntoView({block: 'center', inline: 'center'});
  }
  if (e.closest('svg')) scrollTo({top: document.querySelector('main').offsetTop - 40});
}
document.addEventListener('mouseover', event => { clear('near'); const e = at(event); if (e) mark(e, 'near', true); });
document.addEventListener('click', event => { const e = at(event); if (e) hold(e); });
document.addEventListener('keydown', event => { if (event.key === 'Escape') { clear('on'); says.textContent = ''; } if (event.key === 'Enter') { const e = at(event); if (e) hold(e); } });
for (const e of document.querySelectorAll('.partner')) e.setAttribute('tabindex', '0');
for (const section of document.querySelectorAll('main section')) {
  const svg = section.querySelector('svg'), pane = section.querySelector('.picture');
  if (!svg) continue;
  const own = svg.viewBox.baseVal.width * 4 / 3;
  let width = own;
  const show = to => { width = to; svg.style.width = to + 'px'; svg.style.height = 'auto'; };
  show(own);
  for (const button of section.querySelectorAll('.zoom button'))
    button.onclick = () => show({fit: pane.clientWidth - 20, more: width * 1.25, less: width / 1.25}[button.name]);
}
const asked = document.getElementsByClassName(location.hash.slice(1))[0];
if (/^#p\d+$/.test(location.hash) && asked) { hold(asked); asked.scrollIntoView({block: 'center', inline: 'center'}); }
)";

std::string markdownCell(std::string_view text)
{
    std::string out;
    for (const char c : visibleText(text, LineBreaks::escaped)) {
        if (c == '|') out += '\\';
        out += c == '`' ? '\'' : c;
    }
    return out.empty() ? out : "`" + out + "`";
}

bool isVerdict(const std::string& text) { return std::ranges::find(kVerdicts, text) != kVerdicts.end(); }

/// What is drawn, without the XML around it that a page has no place for.
std::string_view drawing(const std::string& svg)
{
    const size_t start = svg.find("<svg");
    return start == std::string::npos ? std::string_view() : std::string_view(svg).substr(start);
}

/// The same with half the elements: graphviz puts a link around every thing to give it a tooltip, while its title is none. The tooltip
/// becomes the title, and what the thing is called an attribute. A browser opens the page in a third less time.
std::string withoutLinks(std::string_view svg)
{
    static constexpr std::string_view kTitle = "\n<title>", kTitleEnd = "</title>\n", kGroup = "<g id=\"a_", kTip = "<a xlink:title=\"",
                                      kTipEnd = "\">\n", kLinkEnd = "</a>\n</g>\n", kCluster = "cluster_";
    std::string out;
    out.reserve(svg.size());
    while (true) {
        const size_t title = svg.find(kTitle);
        const size_t end = title == std::string_view::npos ? title : svg.find(kTitleEnd, title);
        if (end == std::string_view::npos) break;
        const size_t body = end + kTitleEnd.size(), tip = svg.find(kTip, body), tipEnd = svg.find(kTipEnd, tip);
        const size_t linkEnd = svg.find(kLinkEnd, tipEnd);
        if (!svg.substr(body).starts_with(kGroup) || svg[title - 1] != '>' || linkEnd == std::string_view::npos) { // it has no tooltip
            out += svg.substr(0, body);
            svg.remove_prefix(body);
            continue;
        }
        std::string_view name = svg.substr(title + kTitle.size(), end - title - kTitle.size());
        if (name.starts_with(kCluster)) name.remove_prefix(kCluster.size());
        const std::string_view told = svg.substr(tip + kTip.size(), tipEnd - tip - kTip.size());
        const std::string_view before = svg.substr(0, title - 1);
        const bool isEdge =
            before.substr(before.rfind('<')).find("class=\"edge") != std::string_view::npos; // nobody asks what it is called
        out += before;
        if (name != told && !isEdge) out += " data-name=\"" + std::string(name) + "\"";
        out += ">" + std::string(kTitle) + std::string(told) + std::string(kTitleEnd);
        out += svg.substr(tipEnd + kTipEnd.size(), linkEnd - tipEnd - kTipEnd.size());
        svg.remove_prefix(linkEnd + kLinkEnd.size());
    }
    out += svg;
    return out;
}

std::string section(const char* id, const ReportPicture& picture)
{
    if (picture.heading.empty()) return {};
    std::string out = "<section id=\"" + std::string(id) + "\"><h2>" + escapedHtml(picture.heading) +
                      "<span class=\"zoom\"><button name=\"less\">&minus;</button> <button name=\"more\">+</button> "
                      "<button name=\"fit\">fit</button></span></h2>\n";
    if (!picture.note.empty()) out += "<p>" + escapedHtml(picture.note) + "</p>\n";
    return out + "<div class=\"picture\">" + withoutLinks(drawing(picture.svg)) + "</div></section>\n";
}

void addTable(std::string& out, const ReportTable& table)
{
    out += "<h2>" + escapedHtml(table.heading) + "</h2>\n";
    if (!table.note.empty()) out += "<p>" + escapedHtml(table.note) + "</p>\n";
    if (!table.plots.empty()) out += "<div class=\"plots\">" + join(table.plots, "\n") + "</div>\n";
    if (table.rows.empty()) {
        out += "<p>" + escapedHtml(table.empty) + "</p>\n";
        return;
    }
    out += "<table><tr>";
    for (const std::string& column : table.columns) out += "<th>" + escapedHtml(column) + "</th>";
    out += "</tr>\n";
    for (const ReportRow& row : table.rows) {
        out += row.partners < 0 ? "<tr>" : "<tr class=\"partner p" + std::to_string(row.partners) + "\">";
        for (const std::string& cell : row.cells)
            out += (isVerdict(cell) ? "<td class=\"" + cell + "\">" : std::string("<td>")) + escapedHtml(cell) + "</td>";
        out += "</tr>\n";
    }
    out += "</table>\n";
}

/// Neighbouring numbers get colours far apart; what has a share is the darker the larger it is.
std::string colorOf(const ReportPage& report, size_t number)
{
    if (number < report.marked.size() && report.marked[number] != 0) return "--h:345;--s:90%;--l:72%";
    if (number >= report.shares.size()) return "--h:" + std::to_string((number * 137 + 20) % 360);
    return "--h:32;--s:95%;--l:" + std::to_string(97 - std::lround(40 * std::clamp(report.shares[number], 0.0, 1.0))) + "%";
}

} // namespace

std::string escapedHtml(std::string_view text)
{
    std::string out;
    for (const char c : visibleText(text, LineBreaks::kept)) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else out += c;
    }
    return out;
}

std::string pageHtml(const ReportPage& report)
{
    std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escapedHtml(report.title) +
                      "</title>\n<style>\n" + kStyle;
    for (int p = 0; p < report.partners; ++p) out += ".p" + std::to_string(p) + "{" + colorOf(report, static_cast<size_t>(p)) + "}\n";
    out += "</style></head><body>\n<h1>" + escapedHtml(report.title) + "</h1>\n<div class=\"figures\">";
    for (const auto& [label, figure] : report.figures) out += "<span>" + escapedHtml(label) + " <b>" + escapedHtml(figure) + "</b></span>";
    if (!report.verdict.empty())
        out += "<span>proof <b class=\"" + (isVerdict(report.verdict) ? report.verdict : std::string("undecided")) + "\">" +
               escapedHtml(report.verdict) + "</b></span>";
    out += "</div>\n<div id=\"says\"></div>\n<main>" + section("before", report.before) + section("after", report.after) + "</main>\n";
    for (const ReportTable& table : report.tables) addTable(out, table);
    if (!report.verdict.empty()) {
        out += "<h2>Proof</h2>\n<pre>";
        for (const std::string& line : report.proof) out += escapedHtml(line) + "\n";
        out += "</pre>\n";
    }
    return out + "<script>\n" + kScript + "</script></body></html>\n";
}

std::string pageMarkdown(const ReportPage& report)
{
    std::string out = "# " + report.title + "\n\n";
    for (const auto& [label, figure] : report.figures) out += "- " + label + ": " + figure + "\n";
    if (!report.verdict.empty()) out += "- proof: " + report.verdict + "\n";
    for (const ReportTable& table : report.tables) {
        out += "\n## " + table.heading + "\n\n";
        if (!table.note.empty()) out += table.note + "\n\n";
        if (table.rows.empty()) {
            out += table.empty + "\n";
            continue;
        }
        std::string rule = "|";
        out += "|";
        for (const std::string& column : table.columns) {
            out += " " + column + " |";
            rule += "---|";
        }
        out += "\n" + rule + "\n";
        for (const ReportRow& row : table.rows) {
            out += "|";
            for (const std::string& cell : row.cells) out += " " + (isVerdict(cell) ? cell : markdownCell(cell)) + " |";
            out += "\n";
        }
    }
    if (!report.verdict.empty()) {
        out += "\n## Proof\n\n";
        for (const std::string& line : report.proof) out += "    " + line + "\n";
    }
    return visibleText(out, LineBreaks::kept);
}

Status checkReportName(const std::string& path)
{
    if (path.empty() || path.ends_with(".json") || path.ends_with(".md") || path.ends_with(".html")) return {};
    return Error(ErrorCode::usage, "option '--report'").found("'" + path + "'").expected("a file .md, .json or .html");
}

} // namespace loopscope::app
