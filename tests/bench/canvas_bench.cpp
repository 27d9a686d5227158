// The canvas against its goals, in software rendering: from a file to its first picture, frames while panning and zooming, picking,
// expanding, stepping, and the longest time that the GUI thread was away from its event loop. Run with QT_QPA_PLATFORM=offscreen.
#include "converters/formats.h"
#include "report.h"
#include "viewer/canvas/graph_canvas.h"
#include "viewer/style/theme.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QTemporaryDir>
#include <QThread>
#include <QTimer>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace loopscope::viewer {

namespace {

/// Blocks of eight operators with a skip over each, named as a framework would.
Model blocks(int operators)
{
    std::string text = "graph main(x: f32[4]) {\n";
    for (int n = 0; n < operators; ++n) {
        const std::string last = n == 0 ? "x" : "v" + std::to_string(n - 1);
        text += "  v" + std::to_string(n) + " = ";
        text += n % 8 == 7 ? "add(" + last + ", v" + std::to_string(n - 6) + ")" : "relu(" + last + ")";
        text += " : f32[4]\n";
    }
    text += "  return v" + std::to_string(operators - 1) + "\n}\n";
    Result<Model> model = modelFromText(text, "blocks");
    if (!model.ok()) qFatal("%s", model.error().message().c_str());
    for (Value& value : model->graphs[0].values)
        if (value.id.starts_with('v')) {
            const int n = std::stoi(value.id.substr(1));
            value.name = "net/stage_" + std::to_string(n / 256) + "/block_" + std::to_string(n / 8) + "/op_" + std::to_string(n % 8);
        }
    return std::move(model).value();
}

/// Nodes in a square, as wide graphs are: every one in view at a low zoom.
std::shared_ptr<const IndexedScene> field(int count)
{
    auto scene = std::make_shared<Scene>();
    const int columns = static_cast<int>(std::sqrt(count * 0.5));
    for (int i = 0; i < count; ++i) {
        SceneNode node;
        node.id = "main/op#" + std::to_string(i);
        node.name = i % 3 ? "conv_2d" : "fully_connected";
        node.index = "#" + std::to_string(i);
        node.family = static_cast<Family>(i % static_cast<int>(kFamilyCount));
        node.op = OperatorId(i);
        node.rect = {(i % columns) * 96.0, (i / columns) * 34.0, 84, 20};
        scene->nodeById[node.id] = i;
        scene->nodes.push_back(std::move(node));
        if (i < columns) continue;
        SceneEdge edge;
        edge.from = i - columns;
        edge.to = i;
        const Rect& a = scene->nodes[static_cast<size_t>(edge.from)].rect;
        const Rect& b = scene->nodes[static_cast<size_t>(i)].rect;
        edge.points = {
            {a.center().x, a.bottom()}, {a.center().x, a.bottom() + 7}, {b.center().x + 10, a.bottom() + 7}, {b.center().x + 10, b.y}};
        scene->edges.push_back(edge);
    }
    scene->bounds = {0, 0, columns * 96.0, (count / columns + 1) * 34.0};
    return std::make_shared<const IndexedScene>(scene);
}

double p95(std::vector<double> values)
{
    std::ranges::sort(values);
    return values.empty() ? 0 : values[std::min(values.size() - 1, values.size() * 95 / 100)];
}

double ms(QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) / 1e6; }

void measureFrames(const char* panName, const char* zoomName, GraphCanvas& canvas, double goal)
{
    QImage target(canvas.size(), QImage::Format_RGB32);
    std::vector<double> pans;
    std::vector<double> zooms;
    QElapsedTimer timer;
    for (const double zoom : {0.08, 0.2, 0.5, 1.0}) {
        canvas.camera().setViewport(zoom, QPointF(0, 0));
        QThread::msleep(130); // tiles are painted again
        canvas.render(&target);
        for (int i = 1; i <= 40; ++i) {
            timer.start();
            canvas.camera().setViewport(zoom, QPointF(i * 23, i * 17));
            canvas.render(&target);
            pans.push_back(ms(timer));
        }
    }
    canvas.camera().setViewport(0.05, QPointF(0, 0));
    for (int i = 0; i < 80; ++i) {
        timer.start();
        canvas.camera().zoomAt(QPointF(400, 300), i < 40 ? 1.09 : 1 / 1.09);
        canvas.render(&target);
        zooms.push_back(ms(timer));
    }
    bench::report(panName, p95(pans), "ms", goal);
    bench::report(zoomName, p95(zooms), "ms", goal);
}

void measurePick(GraphCanvas& canvas)
{
    std::vector<double> picks;
    QElapsedTimer timer;
    canvas.camera().setViewport(0.3, QPointF(0, 0));
    volatile int found = 0;
    for (int i = 0; i < 2000; ++i) {
        const QPointF at((i * 37) % canvas.width(), (i * 53) % canvas.height());
        timer.start();
        found = found + canvas.nodeAt(at);
        picks.push_back(ms(timer));
    }
    bench::report("canvas.pick_100k", p95(picks), "ms", 1);
}

void measureModel()
{
    const Model model = blocks(10000);
    GraphCanvas canvas;
    canvas.resize(1000, 700);
    canvas.setBuilder(&buildScene);
    double longest = 0; // between two turns of the event loop
    QElapsedTimer away;
    QTimer tick;
    QObject::connect(&tick, &QTimer::timeout, [&] {
        longest = std::max(longest, ms(away));
        away.start();
    });
    const auto settle = [&] {
        while (canvas.isBuilding()) QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    };
    canvas.show();
    QElapsedTimer timer;
    timer.start();
    away.start();
    tick.start(0);
    canvas.setModel(&model, initialView(model));
    settle();
    canvas.grab();
    bench::report("canvas.open_10k_folded", ms(timer), "ms", 500);
    std::vector<double> expands;
    for (int i = 0; i < 20; ++i) {
        std::string id;
        int seen = 0;
        for (const SceneNode& node : canvas.scene()->nodes)
            if (node.kind == NodeKind::group && seen++ == i) id = node.id;
        if (id.empty()) break;
        canvas.selection().select({id});
        timer.start();
        canvas.commands().perform(QStringLiteral("expand"));
        settle();
        canvas.grab();
        expands.push_back(ms(timer));
    }
    bench::report("canvas.expand_group", p95(expands), "ms", 100);
    tick.stop();
    bench::report("canvas.gui_thread_away", longest, "ms", 50);
}

/// From a file on disk to the first painted picture: reading, checking, grouping, layout, painting.
void measureOpening()
{
    QTemporaryDir folder;
    for (const auto& [operators, name, goal, runs] :
         {std::tuple(1000, "canvas.open_file_1k", 250.0, 20), std::tuple(10000, "canvas.open_file_10k", 500.0, 20),
          std::tuple(100000, "canvas.open_file_100k", 1500.0, 5)}) {
        const std::string path = folder.filePath(QStringLiteral("model.tflite")).toStdString();
        SaveOptions options;
        options.overwrite = true;
        if (!saveModel(blocks(operators), path, options).ok()) qFatal("cannot write %s", path.c_str());
        std::vector<double> times;
        for (int i = 0; i < runs; ++i) {
            QElapsedTimer timer;
            timer.start();
            Result<LoadedModel> loaded = loadModel(path);
            if (!loaded.ok()) qFatal("%s", loaded.error().message().c_str());
            GraphCanvas canvas;
            canvas.resize(1000, 700);
            canvas.setBuilder(&buildScene);
            canvas.setModel(&loaded->model, initialView(loaded->model));
            while (canvas.isBuilding()) QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
            canvas.grab();
            times.push_back(ms(timer));
        }
        bench::report(name, p95(times), "ms", goal);
    }
}

void measureStep(const std::shared_ptr<const IndexedScene>& scene)
{
    GraphCanvas canvas;
    canvas.resize(1000, 700);
    int next = 0;
    canvas.setStateSource([&](const Scene& s) {
        CanvasState state = idleState(s);
        for (size_t i = 0; i < state.nodes.size(); ++i) state.nodes[i].run = static_cast<int>(i) < next ? RunState::run : RunState::notRun;
        state.nodes[static_cast<size_t>(next)].next = true;
        return state;
    });
    canvas.setScene(scene);
    canvas.camera().setViewport(1, QPointF(0, 0));
    QThread::msleep(130);
    QImage target(canvas.size(), QImage::Format_RGB32);
    canvas.render(&target);
    std::vector<double> steps;
    QElapsedTimer timer;
    for (int i = 0; i < 60; ++i) {
        ++next;
        timer.start();
        canvas.refreshState();
        canvas.render(&target);
        steps.push_back(ms(timer));
    }
    bench::report("canvas.step_repaint_10k", p95(steps), "ms", 33);
}

} // namespace

} // namespace loopscope::viewer

int main(int argc, char** argv)
{
    using namespace loopscope::viewer;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    Theme::instance().apply();
    {
        const auto ten = field(10000);
        GraphCanvas canvas;
        canvas.resize(1000, 700);
        canvas.setScene(ten);
        measureFrames("canvas.pan_10k", "canvas.zoom_10k", canvas, 16.7);
        measureStep(ten);
    }
    {
        GraphCanvas canvas;
        canvas.resize(1000, 700);
        canvas.setScene(field(100000));
        measureFrames("canvas.pan_100k", "canvas.zoom_100k", canvas, 33);
        measurePick(canvas);
    }
    measureModel();
    measureOpening();
    return 0;
}
