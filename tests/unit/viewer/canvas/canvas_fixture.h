// What tests of the canvas share: models, hand-made stops, and readers of describe().
#pragma once

#include "converters/lsir/lsir.h"
#include "viewer/canvas/graph_canvas.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTest>

namespace loopscope::viewer::testing {

inline Model sample(const QString& name)
{
    QFile file(QStringLiteral("samples/text/%1.lsir").arg(name));
    if (!file.open(QIODevice::ReadOnly)) qFatal("no sample %s", qPrintable(name));
    Result<Model> model = modelFromText(file.readAll().toStdString(), name.toStdString());
    if (!model.ok()) qFatal("%s", model.error().message().c_str());
    return std::move(model).value();
}

inline ViewState inlined(std::initializer_list<const char*> sites)
{
    ViewState view;
    for (const char* site : sites) view.inlined.insert(site);
    return view;
}

inline std::shared_ptr<const IndexedScene> sceneOf(const Model& model, const ViewState& view)
{
    auto built = buildScene(model, view, fontTextMeasure());
    if (!built.ok()) qFatal("%s", built.error().message().c_str());
    return std::make_shared<const IndexedScene>(std::move(built).value());
}

inline FrameSnapshot frame(const char* address, GraphId graph, int64_t next, int64_t site = -1, int64_t iteration = -1)
{
    FrameSnapshot made;
    made.address = address;
    made.info.graph = graph;
    made.info.next = OperatorId(next);
    if (site >= 0) made.info.site = OperatorId(site);
    made.info.iteration = iteration;
    if (iteration >= 0) made.knownTrips = 111;
    return made;
}

/// Collatz before add#3 in iteration 37, with a breakpoint there.
inline StopSnapshot collatzStop(const Model& model)
{
    StopSnapshot stop;
    stop.started = true;
    stop.address = "main/while#0@37:body/add#3";
    stop.stack.push_back(frame("main", model.findGraph("main"), 0));
    stop.stack.push_back(frame("main/while#0@37:body", model.findGraph("step"), 3, 0, 37));
    BreakpointRow row;
    row.number = 1;
    row.address = "main/while#0:body/add#3";
    row.condition = "iter == 37";
    stop.breakpoints.push_back(row);
    return stop;
}

inline QJsonObject nodeOf(const GraphCanvas& canvas, const QString& id)
{
    for (const QJsonValue& one : canvas.describe()[QStringLiteral("nodes")].toArray())
        if (one.toObject()[QStringLiteral("id")].toString() == id) return one.toObject();
    return {};
}

inline QStringList statesOf(const GraphCanvas& canvas, const QString& id)
{
    QStringList states;
    for (const QJsonValue& one : nodeOf(canvas, id)[QStringLiteral("states")].toArray()) states.append(one.toString());
    return states;
}

inline QRectF rectOf(const QJsonValue& value)
{
    const QJsonArray a = value.toArray();
    return {a[0].toDouble(), a[1].toDouble(), a[2].toDouble(), a[3].toDouble()};
}

/// With LOOPSCOPE_PICTURES=FOLDER the pictures are kept, to be looked at.
inline void keep(QWidget& widget, const QString& name)
{
    const QString folder = qEnvironmentVariable("LOOPSCOPE_PICTURES");
    if (folder.isEmpty()) return;
    QPixmap picture(widget.size() * 2);
    picture.setDevicePixelRatio(2);
    widget.render(&picture);
    picture.save(QDir(folder).filePath(name + QStringLiteral("@2x.png")));
    widget.grab().save(QDir(folder).filePath(name + QStringLiteral(".png")));
}

} // namespace loopscope::viewer::testing
