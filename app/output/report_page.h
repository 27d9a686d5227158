// Graphs and tables on one page that needs nothing beside it. Of a rewrite: what it made of a model, as two pictures in which partners have
// one colour and find each other, what stayed and why, how far it is proved. Of a recording: one picture, plots, and what was recorded.
#pragma once

#include "engine/base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

/// A picture: SVG text in which what can be pointed at carries the class `partner` and a number, `p7`. Equal numbers in both pictures and
/// in rows are partners; `alone` says that there is none on the other side. app/output/graph_picture.h makes it.
struct ReportPicture {
    std::string heading; ///< "Before"
    std::string svg;     ///< empty: nothing is drawn
    std::string note;    ///< below the heading: what is not shown
};

struct ReportRow {
    std::vector<std::string> cells; ///< as many as there are columns
    int partners = -1;              ///< number of the partners that the row is about; −1: none
};

/// Rows of text; a cell that is one of the verdicts of a proof ("exact", "different" …) is coloured as such.
struct ReportTable {
    std::string heading; ///< "What became what"
    std::vector<std::string> columns;
    std::vector<ReportRow> rows;
    std::string empty;                ///< said where there are no rows
    std::string note{};               ///< below the heading: what is not shown
    std::vector<std::string> plots{}; ///< SVG, above the rows; app/output/plot_svg.h makes it
};

struct ReportPage {
    std::string title;
    std::vector<std::pair<std::string, std::string>> figures; ///< "rewrites" → "2": shown below the title
    ReportPicture before, after;                              ///< without a heading: there is none
    int partners = 0;                                         ///< numbers of partners are below it
    std::vector<double> shares;      ///< by number, 0 … 1: how strong its colour is; empty: partners are told apart by colours
    std::vector<char> marked;        ///< by number: drawn as what has gone wrong; may be empty
    std::vector<ReportTable> tables; ///< mapping, refusals, whatever there is to say
    std::string verdict;             ///< of the proof: "exact"; empty: nothing was proved
    std::vector<std::string> proof;  ///< its lines
};

/// One page without any reference to elsewhere. Pointing at something marks its partners, a click holds the mark, brings the partners into
/// view and names them; `#p7` behind the page's address does what a click does.
std::string pageHtml(const ReportPage& report);
/// The same without pictures and plots.
std::string pageMarkdown(const ReportPage& report);

/// Text as a page or picture may hold it: nothing in it is markup.
std::string escapedHtml(std::string_view text);

/// Errors: usage, if `path` does not end in .md, .json or .html. An empty path is fine.
Status checkReportName(const std::string& path);

} // namespace loopscope::app
