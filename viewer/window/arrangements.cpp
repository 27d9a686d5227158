#include "viewer/window/arrangements.h"

#include "viewer/style/theme.h"

#include <QJsonArray>

#include <algorithm>
#include <array>

namespace loopscope::viewer {

namespace {

constexpr std::array kNames = {"Browse", "Debug", "Compare", "Trace"};

QJsonObject strip(const QStringList& panels)
{
    QStringList names;
    for (const QString& panel : panels) names.append(QStringLiteral("panel") + panel);
    return {{"tabs", QJsonArray::fromStringList(names)}, {"current", names.front()}};
}

QJsonObject split(const char* direction, const QList<int>& sizes, int stretch, const QList<QJsonObject>& parts)
{
    QJsonArray all, widths;
    for (const QJsonObject& part : parts) all.append(part);
    for (const int size : sizes) widths.append(size);
    return {{"split", direction}, {"sizes", widths}, {"stretch", stretch}, {"parts", all}};
}

QJsonObject row(const QList<int>& sizes, int stretch, const QList<QJsonObject>& parts) { return split("h", sizes, stretch, parts); }
QJsonObject column(const QList<int>& sizes, int stretch, const QList<QJsonObject>& parts) { return split("v", sizes, stretch, parts); }

constexpr int kLeastGraph = 480, kBetween = 24; ///< gaps and margins of three columns
constexpr int kLeastRight = 200;

int grown(int pixels) { return Theme::instance().barHeight(pixels); }

/// Of the column at the left: it grows with the text, as far as the others keep what they need.
int leftColumn(int windowWidth, int drawn)
{
    return std::clamp((windowWidth - kLeastGraph - kBetween - kLeastRight) / 2, drawn, grown(drawn));
}

/// Its head, and lanes that grow by half of what the text does.
int timelineHeight(int drawn) { return grown(24) + (drawn - 24) * (100 + std::max(100, Theme::instance().textPercent())) / 200; }

/// Of the column at the right: in a narrow window it gives way first, so that the graph keeps its width.
int rightColumn(int windowWidth, int left, int drawn)
{
    return std::clamp(windowWidth - left - kLeastGraph - kBetween, kLeastRight, grown(drawn));
}

QJsonObject browse(int width)
{
    const int beside = leftColumn(width, 236);
    return row({beside, 704, rightColumn(width, beside, 324)}, 1,
               {column({392, 314}, 1, {strip({"Structure", "Subgraphs"}), strip({"Search", "Marks"})}), strip({"Graph"}),
                strip({"Properties", "Tensor", "Inputs"})});
}

QJsonObject debug(int width)
{
    const int beside = leftColumn(width, 240);
    const QJsonObject left =
        column({350, 130, 118}, 2, {strip({"Invocations", "CallStack"}), strip({"Breakpoints", "Marks"}), strip({"Watches", "Variables"})});
    const QJsonObject graph = strip({"Graph", "Structure", "Inputs"});
    const QJsonObject console = strip({"Console", "Search", "Problems"});
    QJsonObject listing = strip({"Listing", "Structured", "Properties"});
    if (width >= 1600)
        listing = row({width >= 2200 ? 716 : 484, width >= 2200 ? 380 : 324}, 0, {strip({"Listing", "Structured"}), strip({"Properties"})});
    if (width >= 2200) // which is high, too
        return column({606, timelineHeight(100)}, 0,
                      {row({beside, 540, 1100}, 1,
                           {column({640, 240, 118}, 2,
                                   {strip({"Invocations", "CallStack"}), strip({"Breakpoints", "Marks"}), strip({"Watches", "Variables"})}),
                            column({600, 200}, 0, {graph, console}), column({520, 300}, 1, {listing, strip({"Tensor"})})}),
                       strip({"Timeline"})});
    return column({606, timelineHeight(100)}, 0,
                  {row({beside, 540, width >= 1600 ? 812 : rightColumn(width, beside, 484)}, 1,
                       {left, graph, column({228, 238, 132}, 1, {listing, strip({"Tensor"}), console})}),
                   strip({"Timeline"})});
}

QJsonObject debugDataflow(int width)
{
    // Both graphs side by side where there is room.
    const bool isWide = width >= 1600;
    const QJsonObject graphs =
        isWide ? row({560, 440}, 0, {strip({"Graph", "Listing"}), strip({"Raised"})}) : strip({"Graph", "Raised", "Listing"});
    return column({572, 134}, 0,
                  {row({228, 700, rightColumn(width, 228, 336)}, 1,
                       {strip({"Frames", "CallStack"}), graphs,
                        column({376, 192}, 1, {strip({"Tokens", "Breakpoints", "Console"}), strip({"Operator", "Properties", "Tensor"})})}),
                   strip({"Timeline"})});
}

QJsonObject compare(int width)
{
    // In a narrow window the pictures give way to the table; of a wide one they take half of what there is more.
    const int pane = std::clamp((width - 540) / 2, 200, 296) + std::max(0, width - 1440) / 4, bars = width < 1200 ? 150 : 168;
    return column({498, 208}, 0,
                  {row({pane, bars, pane, 500}, 3,
                       {strip({"CompareA", "Graph"}), strip({"CompareStrip"}), strip({"CompareB"}),
                        strip({"Differences", "Kernels", "Rewrites", "Unmatched", "CompareSettings", "Console"})}),
                   strip({"TensorDifference", "TensorA", "TensorB"})});
}

QJsonObject trace()
{
    return column({606, timelineHeight(100)}, 0,
                  {row({224, 560, 480}, 1,
                       {strip({"Recipes", "Schema"}), column({196, 406}, 1, {strip({"Sql"}), strip({"Result", "Plan"})}),
                        column({346, 256}, 0, {strip({"Plot", "Graph"}), strip({"RecordedValue", "Tensor", "Console"})})}),
                   strip({"Timeline"})});
}

} // namespace

QString taskName(Task task) { return QLatin1String(kNames[static_cast<size_t>(task)]); }

int taskOf(const QString& name)
{
    for (size_t i = 0; i < kNames.size(); ++i)
        if (name.compare(QLatin1String(kNames[i]), Qt::CaseInsensitive) == 0) return static_cast<int>(i);
    return -1;
}

QJsonObject drawnArrangement(Task task, bool dataflow, int windowWidth)
{
    switch (task) {
    case Task::browse: return browse(windowWidth);
    case Task::debug: return dataflow ? debugDataflow(windowWidth) : debug(windowWidth);
    case Task::compare: return compare(windowWidth);
    default: return trace();
    }
}

QString arrangementKey(Task task, bool dataflow) { return taskName(task) + (task == Task::debug && dataflow ? " v1" : ""); }

QJsonObject arrangementFor(Task task, bool dataflow, const QJsonObject& kept, int windowWidth)
{
    const QJsonObject own = kept[arrangementKey(task, dataflow)].toObject();
    return own.isEmpty() ? drawnArrangement(task, dataflow, windowWidth) : own;
}

QStringList focusOrder(bool dataflow)
{
    return {"panelGraph",   "panelListing",     dataflow ? "panelFrames" : "panelInvocations",
            "panelTensor",  "panelBreakpoints", "panelWatches",
            "panelConsole", "panelTimeline",    "panelProperties",
            "panelSearch"};
}

} // namespace loopscope::viewer
