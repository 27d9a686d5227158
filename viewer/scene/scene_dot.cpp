#include "viewer/scene/scene_dot.h"

#include "engine/base/visible_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace loopscope::viewer {

namespace {

// The light theme of docs/desktop.md: exports go to paper.
constexpr std::array<const char*, kFamilyCount> kFamilyColors = {"#22357B", "#1BA494", "#8C5909", "#8690C8", "#393B3D",
                                                                 "#D83D60", "#BA8500", "#592C16", "#2F758A"};
constexpr const char* kLine = "#7F8893";
constexpr const char* kMuted = "#5A636E";
constexpr const char* kControlFlow = "#D83D60";
constexpr const char* kFeedback = "#0B5FBF";
constexpr double kCorner = 5; ///< radius of an edge's corners
constexpr double kArrow = 5;  ///< length of an arrow head

std::string number(double value)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", value);
    std::string result = text.data();
    result.erase(result.find_last_not_of('0') + 1);
    if (result.back() == '.') result.pop_back();
    return result == "-0" ? "0" : result;
}

std::string quoted(std::string_view text)
{
    std::string result = "\"";
    for (const char c : visibleText(text, LineBreaks::kept)) {
        if (c == '"' || c == '\\') result += '\\';
        result += c == '\n' || c == '\t' ? ' ' : c;
    }
    return result + "\"";
}

std::string html(std::string_view text)
{
    std::string result;
    for (const char c : visibleText(text, LineBreaks::escaped)) {
        switch (c) {
        case '<': result += "&lt;"; break;
        case '>': result += "&gt;"; break;
        case '&': result += "&amp;"; break;
        case '"': result += "&quot;"; break;
        default: result += c;
        }
    }
    return result;
}

/// Both ends carry meaning: what does not fit is left out in the middle.
std::string elided(const std::string& text, double width, const TextMeasure& measure, TextStyle style)
{
    if (measure(text, style) <= width) return text;
    size_t kept = text.size();
    while (kept > 4) {
        --kept;
        size_t head = (kept + 1) / 2, tail = text.size() - kept / 2;
        while (head > 0 && (static_cast<unsigned char>(text[head]) & 0xC0U) == 0x80U) --head;
        while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xC0U) == 0x80U) ++tail;
        const std::string shorter = text.substr(0, head) + "…" + text.substr(tail);
        if (measure(shorter, style) <= width) return shorter;
    }
    return text.substr(0, 1) + "…";
}

class DotWriter {
public:
    DotWriter(const Scene& scene, const TextMeasure& measure, const SceneClasses& classes)
        : m_scene(scene),
          m_measure(measure),
          m_classes(classes)
    {
    }

    std::string write()
    {
        m_children.resize(m_scene.regions.size() + 1);
        m_nodes.resize(m_scene.regions.size() + 1);
        for (size_t r = 0; r < m_scene.regions.size(); ++r)
            m_children[static_cast<size_t>(m_scene.regions[r].parent + 1)].push_back(static_cast<int>(r));
        for (size_t n = 0; n < m_scene.nodes.size(); ++n)
            m_nodes[static_cast<size_t>(m_scene.nodes[n].region + 1)].push_back(static_cast<int>(n));
        m_text = "digraph " + quoted(m_scene.view.root) + " {\n";
        m_text += std::string("  graph [rankdir=") + (m_scene.view.leftToRight ? "LR" : "TB") +
                  " outputorder=edgesfirst fontname=\"DejaVu Sans\" fontsize=11 bb=\"0,0," + number(m_scene.bounds.width) + "," +
                  number(m_scene.bounds.height) + "\"];\n";
        m_text +=
            "  node [shape=box style=\"rounded,filled\" fillcolor=white fixedsize=true fontname=\"DejaVu Sans\" fontsize=10 color=\"" +
            std::string(kLine) + "\"];\n";
        m_text += "  edge [arrowsize=0.5 fontname=\"DejaVu Sans Mono\" fontsize=8 color=\"" + std::string(kLine) + "\"];\n";
        for (const int n : m_nodes[0]) node(n, "  ");
        for (const int r : m_children[0]) region(r, "  ");
        for (const SceneEdge& e : m_scene.edges) edge(e);
        m_text += "}\n";
        return std::move(m_text);
    }

private:
    double flip(double y) const { return m_scene.bounds.height - y; }
    std::string point(Point p) const { return number(p.x) + "," + number(flip(p.y)); }

    /// Also where it is empty: what lies in a cluster would inherit the cluster's.
    template <class Part> static std::string classText(const std::function<std::string(const Part&)>& classOf, const Part& part)
    {
        return classOf ? " class=" + quoted(classOf(part)) : std::string();
    }

    /// Regions nest as deep as calls do, which the scene bounds.
    void region(int index, const std::string& indent)
    {
        const SceneRegion& r = m_scene.regions[static_cast<size_t>(index)];
        const std::string title = r.name + (r.index.empty() ? "" : " " + r.index) + (r.note.empty() ? "" : "  ·  " + r.note);
        const double width = m_measure(title, TextStyle::name);
        const bool isFlow = r.kind != RegionKind::group;
        m_text += indent + "subgraph " + quoted("cluster_" + r.id) + " {\n" + indent + "  graph [label=" + quoted(title) +
                  " tooltip=" + quoted(r.id) + classText(m_classes.region, r) + " bb=\"" + number(r.rect.x) + "," +
                  number(flip(r.rect.bottom())) + "," + number(r.rect.right()) + "," + number(flip(r.rect.y)) + "\" lp=\"" +
                  number(r.head.x + 10 + width / 2) + "," + number(flip(r.head.y + r.head.height / 2)) + "\" lwidth=" + number(width / 72) +
                  " lheight=0.2 style=\"rounded,filled\" fillcolor=\"#FAFBFC\" color=\"" + (isFlow ? kControlFlow : kLine) + "\"];\n";
        for (const int n : m_nodes[static_cast<size_t>(index + 1)]) node(n, indent + "  ");
        for (const int c : m_children[static_cast<size_t>(index + 1)]) region(c, indent + "  ");
        m_text += indent + "}\n";
    }

    void node(int index, const std::string& indent)
    {
        const SceneNode& n = m_scene.nodes[static_cast<size_t>(index)];
        m_text += indent + quoted(n.id) + " [pos=\"" + point(n.rect.center()) + "\" width=" + number(n.rect.width / 72) +
                  " height=" + number(n.rect.height / 72) + " tooltip=" + quoted(n.id + (n.shape.empty() ? "" : "  " + n.shape)) +
                  classText(m_classes.node, n);
        switch (n.kind) {
        case NodeKind::actual:
            m_text += " shape=plaintext style=\"\" fontsize=9 fontcolor=\"" + std::string(kMuted) +
                      "\" label=" + quoted(elided(n.name, n.rect.width, m_measure, TextStyle::index));
            break;
        case NodeKind::input:
        case NodeKind::output:
        case NodeKind::constant: pill(n); break;
        case NodeKind::op:
        case NodeKind::group: box(n); break;
        }
        m_text += "];\n";
    }

    void pill(const SceneNode& n)
    {
        const std::string name = elided(n.name, n.rect.width - 16, m_measure, TextStyle::name);
        m_text += " shape=none style=\"\" label=<<TABLE BORDER=\"1\" COLOR=\"" + std::string(kLine) +
                  "\" BGCOLOR=\"white\" STYLE=\"ROUNDED\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\">";
        const bool twoLines = n.rect.height > 24 && !n.shape.empty();
        const std::string width = number(n.rect.width - 4);
        m_text += "<TR><TD WIDTH=\"" + width + "\" HEIGHT=\"" + number(twoLines ? n.rect.height / 2 - 2 : n.rect.height - 4) + "\">" +
                  html(name) + "</TD></TR>";
        if (twoLines)
            m_text += "<TR><TD WIDTH=\"" + width + "\" HEIGHT=\"" + number(n.rect.height / 2 - 2) + "\"><FONT POINT-SIZE=\"8\" COLOR=\"" +
                      kMuted + "\">" + html(elided(n.shape, n.rect.width - 12, m_measure, TextStyle::monoSmall)) + "</FONT></TD></TR>";
        m_text += "</TABLE>>";
    }

    void box(const SceneNode& n)
    {
        const double height = n.rect.height - 4;
        double room = n.rect.width - 16 - (n.index.empty() ? 0 : m_measure(n.index, TextStyle::index) + 4);
        std::string tail;
        if (!n.index.empty()) tail = "<FONT POINT-SIZE=\"9\" COLOR=\"" + std::string(kMuted) + "\"> " + html(n.index) + "</FONT>";
        if (n.kind == NodeKind::group) {
            const std::string more = n.detail + (n.shape.empty() ? "" : "  " + n.shape);
            room = std::max(24.0,
                            room - m_measure(more, TextStyle::monoSmall) - 7.0 * static_cast<double>(std::min<size_t>(n.strip.size(), 12)));
            tail = "<FONT POINT-SIZE=\"8\" COLOR=\"" + std::string(kMuted) + "\">  " + html(more) + "</FONT>";
        }
        std::string name = html(elided(n.unknown ? "'" + n.name + "'" : n.name, room, m_measure, TextStyle::name));
        if (n.custom) name = "<I>" + name + "</I>";
        if (n.kind == NodeKind::group) name = "<B>" + name + "</B>";
        if (n.kind == NodeKind::op && !n.detail.empty())
            tail += "<BR ALIGN=\"LEFT\"/>&#160;<FONT POINT-SIZE=\"8\" COLOR=\"" + std::string(kMuted) + "\">" +
                    html(elided(n.detail, n.rect.width - 16, m_measure, TextStyle::monoSmall)) + "</FONT><BR ALIGN=\"LEFT\"/>";
        const std::string fill = m_classes.fill ? m_classes.fill(n) : std::string();
        m_text += " shape=none style=\"\" label=<<TABLE BORDER=\"1\" COLOR=\"" + std::string(kLine) + "\" BGCOLOR=\"" +
                  (fill.empty() ? "white" : fill) + "\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR>";
        const auto stripe = [&](Family family, const char* width) {
            m_text += std::string("<TD WIDTH=\"") + width + "\" HEIGHT=\"" + number(height) + "\" BGCOLOR=\"" +
                      kFamilyColors[static_cast<size_t>(family)] + "\"></TD>";
        };
        double used = 5;
        if (n.kind == NodeKind::group) {
            used = 0;
            for (size_t k = 0; k < n.strip.size() && k < 12; ++k, used += 7) stripe(n.strip[k], "7");
        } else {
            stripe(n.family, "5");
        }
        m_text += "<TD ALIGN=\"LEFT\" WIDTH=\"" + number(std::max(8.0, n.rect.width - 4 - used)) + "\" HEIGHT=\"" + number(height) +
                  "\">&#160;" + name + tail + "</TD></TR></TABLE>>";
    }

    /// An orthogonal line as a spline with round corners.
    std::string spline(const std::vector<Point>& line) const
    {
        std::vector<Point> points = line;
        std::string text = "e," + point(points.back()) + " ";
        // The arrow takes the end of the line.
        Point& end = points.back();
        const Point before = points[points.size() - 2];
        const double length = std::hypot(end.x - before.x, end.y - before.y);
        const double cut = std::min(kArrow, length * 0.8);
        if (length > 0) {
            end.x -= (end.x - before.x) / length * cut;
            end.y -= (end.y - before.y) / length * cut;
        }
        text += point(points.front());
        Point at = points.front();
        const auto curve = [&](Point a, Point b, Point c) { text += " " + point(a) + " " + point(b) + " " + point(c); };
        const auto straight = [&](Point to) {
            curve({at.x + (to.x - at.x) / 3, at.y + (to.y - at.y) / 3}, {at.x + (to.x - at.x) * 2 / 3, at.y + (to.y - at.y) * 2 / 3}, to);
            at = to;
        };
        for (size_t i = 1; i + 1 < points.size(); ++i) {
            const Point corner = points[i], next = points[i + 1];
            const double in = std::hypot(corner.x - at.x, corner.y - at.y), out = std::hypot(next.x - corner.x, next.y - corner.y);
            const double radius = std::min({kCorner, in, out / 2});
            if (in <= 0 || out <= 0) continue;
            straight({corner.x - (corner.x - at.x) / in * radius, corner.y - (corner.y - at.y) / in * radius});
            const Point leave{corner.x + (next.x - corner.x) / out * radius, corner.y + (next.y - corner.y) / out * radius};
            curve(corner, corner, leave);
            at = leave;
        }
        straight(points.back());
        return text;
    }

    void edge(const SceneEdge& e)
    {
        const std::string from = quoted(m_scene.nodes[static_cast<size_t>(e.from)].id),
                          to = quoted(m_scene.nodes[static_cast<size_t>(e.to)].id);
        if (e.portal || e.points.size() < 2) {
            stubs(e);
            return;
        }
        m_text += "  " + from + " -> " + to + " [pos=\"" + spline(e.points) + "\"";
        switch (e.style) {
        case EdgeStyle::data: break;
        case EdgeStyle::control: m_text += " style=dashed"; break;
        case EdgeStyle::passThrough: m_text += " style=dashed"; break;
        case EdgeStyle::captured:
        case EdgeStyle::binding: m_text += " style=dotted"; break;
        case EdgeStyle::feedback: m_text += " constraint=false color=\"" + std::string(kFeedback) + "\""; break;
        }
        m_text += " tooltip=" + quoted(e.label) + "];\n";
    }

    /// Where a stub's label covers no node and no other label: beside its node, on the right, on the left, or one line further on.
    Point freePlace(const Rect& node, double width, bool isSource)
    {
        constexpr double kHeight = 10, kGap = 6;
        const double direction = isSource ? 1 : -1;
        Point first;
        for (int line = 0; line < 4; ++line) {
            for (const double x : {node.right() + kGap, node.x - kGap - width}) {
                const double y = (isSource ? node.bottom() - 5 : node.y + 5) + direction * line * kHeight;
                const Rect place{x, y - kHeight / 2, width, kHeight};
                const auto covers = [&](const Rect& other) { return place.intersects(other); };
                if (line == 0 && x > node.x) first = place.center();
                if (std::ranges::any_of(m_stubPlaces, covers)) continue;
                if (m_scene.nodes.size() <= kMostChecked &&
                    std::ranges::any_of(m_scene.nodes, [&](const SceneNode& other) { return covers(other.rect); }))
                    continue;
                m_stubPlaces.push_back(place);
                return place.center();
            }
        }
        return first;
    }

    /// A cut edge: a labelled stub at either end.
    void stubs(const SceneEdge& e)
    {
        if (!e.portal) return;
        const auto chip = [&](const Rect& r, bool isSource, const std::string& label) {
            const double width = std::min(120.0, m_measure(label, TextStyle::monoSmall) + 8);
            const Point center = freePlace(r, width, isSource);
            m_text += "  " + quoted("stub" + std::to_string(m_stubs++)) + " [shape=plaintext style=\"\" fontsize=8 fontcolor=\"" + kMuted +
                      "\" pos=\"" + point(center) + "\" width=" + number(width / 72) +
                      " height=0.14 label=" + quoted(elided(label, width, m_measure, TextStyle::monoSmall)) + "];\n";
        };
        if (m_lastSource != std::pair(e.from, e.value.index)) chip(m_scene.nodes[static_cast<size_t>(e.from)].rect, true, e.label);
        m_lastSource = {e.from, e.value.index};
        chip(m_scene.nodes[static_cast<size_t>(e.to)].rect, false, e.endLabel);
    }

    const Scene& m_scene;
    const TextMeasure& m_measure;
    const SceneClasses& m_classes;
    std::string m_text;
    std::vector<std::vector<int>> m_children, m_nodes; ///< of region + 1
    std::pair<int, int32_t> m_lastSource{-1, -1};
    static constexpr size_t kMostChecked = 5'000; ///< nodes of a picture whose labels look for a free place
    std::vector<Rect> m_stubPlaces;
    int m_stubs = 0;
};

} // namespace

std::string sceneDot(const Scene& scene, const TextMeasure& measure, const SceneClasses& classes)
{
    return DotWriter(scene, measure, classes).write();
}

} // namespace loopscope::viewer
