// Where things stand on the screen, by what the canvas says of itself: at every level with words, and while things are opened.
#include "canvas_fixture.h"
#include "viewer/canvas/minimap.h"
#include "viewer/style/theme.h"

#include <QScopeGuard>
#include <QSignalSpy>

#include <cmath>

namespace loopscope::viewer {

using namespace testing;

class CanvasGeometryTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }
    void nothingCoversAnything_data();
    void nothingCoversAnything();
    void partsOfHeadsStandSideBySide();
    void heldLabelsOutliveTheCache();
    void openedHeadStays_data();
    void openedHeadStays();
    void theLegendGivesWay();
    void theLegendGrowsAndLeavesTheMapAlone_data();
    void theLegendGrowsAndLeavesTheMapAlone();
};

namespace {

void addSamples()
{
    QTest::addColumn<QString>("name");
    for (const QFileInfo& file : QDir(QStringLiteral("samples/text")).entryInfoList({QStringLiteral("*.lsir")}))
        QTest::newRow(qPrintable(file.completeBaseName())) << file.completeBaseName();
}

QString overlapOf(const std::vector<std::pair<QRectF, QString>>& boxes)
{
    for (size_t i = 0; i < boxes.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            if (boxes[i].first.intersects(boxes[k].first)) return boxes[i].second + QStringLiteral(" meets ") + boxes[k].second;
    return {};
}

} // namespace

void CanvasGeometryTest::nothingCoversAnything_data() { addSamples(); }

/// Nodes do not meet each other or a head, and stay inside of their region, at levels 2, 3 and 4.
void CanvasGeometryTest::nothingCoversAnything()
{
    QFETCH(QString, name);
    const Model model = sample(name);
    GraphCanvas canvas;
    canvas.resize(4000, 4000);
    canvas.setScene(sceneOf(model, initialView(model)));
    for (const double zoom : {0.5, 1.0, 2.0}) {
        canvas.camera().setViewport(zoom, QPointF(-20, -20));
        const QJsonObject all = canvas.describe();
        QCOMPARE(all[QStringLiteral("level")].toInt(), zoom < 1 ? 2 : zoom > 1 ? 4 : 3);
        QHash<QString, QRectF> regions;
        std::vector<std::pair<QRectF, QString>> boxes;
        for (const QJsonValue& value : all[QStringLiteral("regions")].toArray()) {
            const QJsonObject region = value.toObject();
            const QString id = region[QStringLiteral("id")].toString();
            regions[id] = rectOf(region[QStringLiteral("rect")]);
            boxes.emplace_back(rectOf(region[QStringLiteral("head")]).adjusted(0.2, 0.2, -0.2, -0.2), QStringLiteral("head of ") + id);
        }
        QVERIFY(!all[QStringLiteral("nodes")].toArray().isEmpty());
        for (const QJsonValue& value : all[QStringLiteral("nodes")].toArray()) {
            const QJsonObject node = value.toObject();
            const QRectF box = rectOf(node[QStringLiteral("rect")]);
            boxes.emplace_back(box.adjusted(0.2, 0.2, -0.2, -0.2), node[QStringLiteral("id")].toString());
            if (!node.contains(QStringLiteral("region"))) continue;
            const QRectF around = regions[node[QStringLiteral("region")].toString()];
            QVERIFY2(around.adjusted(-0.2, -0.2, 0.2, 0.2).contains(box), qPrintable(node[QStringLiteral("id")].toString()));
        }
        QCOMPARE(overlapOf(boxes), QString());
    }
}

/// A painter that holds a label asks for others, and the cache grows or is cleared meanwhile.
void CanvasGeometryTest::heldLabelsOutliveTheCache()
{
    LabelCache labels;
    const auto& held = labels.label(QStringLiteral("add#7"), Face::index);
    const double width = held.width;
    QVERIFY(width > 0 && !held.runs.isEmpty());
    for (int i = 0; i < 300; ++i) labels.label(QString::number(i), Face::index);
    labels.clear();
    labels.label(QStringLiteral("a much wider one"), Face::name);
    QCOMPARE(held.width, width);
    QCOMPARE(held.runs.size(), 1);
    QVERIFY(held.runs.first().rawFont().isValid());
}

/// Field, slider, condition and chips of a head keep apart, however wide the loop is, and stay in the head.
void CanvasGeometryTest::partsOfHeadsStandSideBySide()
{
    LabelCache labels;
    SceneRegion loop;
    loop.kind = RegionKind::loop;
    loop.name = "while";
    loop.index = "#1";
    loop.note = "cond 3 ops";
    RegionState state;
    state.iteration = 37;
    state.trips = 48;
    state.tripsFromEarlier = true;
    state.condition = "37<48 true";
    int complete = 0;
    for (double width = 60; width <= 900; width += 7) {
        loop.head = {10, 10, width, 26};
        const LoopHead head = layOutHead(loop, loop.head, state, labels);
        std::vector<std::pair<QRectF, QString>> boxes;
        const auto add = [&](const Rect& r, const char* what) {
            if (r.width <= 0) return;
            QVERIFY2(r.x >= 10 && r.right() <= 10 + width, what);
            boxes.emplace_back(QRectF(r.x, r.y, r.width, r.height), QString::fromLatin1(what));
        };
        add({head.nameX, 10, head.nameRoom, 20}, "name");
        add(head.field, "field");
        if (!head.total.isEmpty()) add({head.totalX, 10, labels.width(head.total, Face::name), 20}, "total");
        add(head.slider, "slider");
        add(head.condition, "condition");
        QVERIFY2(overlapOf(boxes).isEmpty(), qPrintable(QStringLiteral("%1 at %2").arg(overlapOf(boxes)).arg(width)));
        complete += boxes.size() == 5;
    }
    QVERIFY(complete > 20);
}

void CanvasGeometryTest::openedHeadStays_data() { addSamples(); }

/// What is opened or folded stays where it was on the screen.
void CanvasGeometryTest::openedHeadStays()
{
    QFETCH(QString, name);
    const Model model = sample(name);
    GraphCanvas canvas;
    canvas.setBuilder(&buildScene);
    canvas.resize(500, 300); // smaller than the picture: a whole one may be moved into view
    ViewState view = initialView(model);
    view.inlined.clear();
    canvas.setModel(&model, view);
    QTRY_VERIFY(canvas.scene());
    std::vector<std::string> ids;
    for (const SceneNode& node : canvas.scene()->nodes)
        if (node.call || node.kind == NodeKind::group) ids.push_back(node.id);
    for (const std::string& id : ids) {
        const int node = canvas.scene()->findNode(id);
        canvas.camera().setViewport(1.4,
                                    QPointF(canvas.camera().nodeRect(node).center() / canvas.camera().zoom() * 1.4) - QPointF(200, 80));
        canvas.camera().setViewport(1.4, canvas.camera().origin() + canvas.camera().nodeRect(node).center() - QPointF(200, 120));
        const QPointF before(canvas.camera().nodeRect(node).center().x(), canvas.camera().nodeRect(node).top());
        QSignalSpy shown(&canvas, &GraphCanvas::sceneChanged);
        ViewState opened = canvas.view();
        (canvas.scene()->nodes[static_cast<size_t>(node)].call ? opened.inlined : opened.expanded).insert(id);
        canvas.setView(opened, id);
        QTRY_COMPARE(shown.count(), 1);
        const Scene& now = *canvas.scene();
        if (canvas.camera().inWidget(now.bounds).width() < 500 && canvas.camera().inWidget(now.bounds).height() < 300) continue;
        const QRectF head = canvas.camera().inWidget(now.regions[static_cast<size_t>(now.regionById.at(id))].rect);
        QVERIFY2(std::abs(head.top() - before.y()) < 1.5, qPrintable(QString::fromStdString(id)));
        QVERIFY2(std::abs(head.center().x() - before.x()) < 1.5, qPrintable(QString::fromStdString(id)));
        canvas.setView(view, id);
        QTRY_COMPARE(shown.count(), 2);
    }
}

/// Of two corners at the top it takes the one where it hides nothing.
void CanvasGeometryTest::theLegendGivesWay()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(900, 700);
    canvas.setScene(sceneOf(model, initialView(model)));
    canvas.legend().setShown(true);
    QVERIFY(canvas.legend().rect().center().x() > 450);
    const Rect all = canvas.scene()->bounds;
    QVERIFY(all.width < 700);
    canvas.camera().setViewport(1, QPointF(all.x + all.width - 900, all.y - 10)); // the graph fills the right side
    QVERIFY(canvas.legend().rect().center().x() < 450);
    QCOMPARE(hiddenBy(canvas.legend().rect(), canvas.picture(), canvas.camera(), canvas.heads()), 0.0);
    canvas.camera().setViewport(1, QPointF(all.x - 10, all.y - 10));
    QVERIFY(canvas.legend().rect().center().x() > 450);
    QCOMPARE(hiddenBy(canvas.legend().rect(), canvas.picture(), canvas.camera(), canvas.heads()), 0.0);
}

void CanvasGeometryTest::theLegendGrowsAndLeavesTheMapAlone_data() { addSamples(); }

void CanvasGeometryTest::theLegendGrowsAndLeavesTheMapAlone()
{
    QFETCH(QString, name);
    Theme::instance().setTextPercent(200);
    const auto back = qScopeGuard([] { Theme::instance().setTextPercent(100); });
    const Model model = sample(name);
    GraphCanvas canvas;
    canvas.resize(1400, 800);
    canvas.setScene(sceneOf(model, initialView(model)));
    canvas.legend().setShown(true);
    QVERIFY(canvas.legend().rect().width() > 290);
    const auto* const map = canvas.findChild<Minimap*>();
    QVERIFY(map);
    const Rect all = canvas.scene()->bounds;
    for (const double x : {0.0, 0.5, 1.0})
        for (const double y : {0.0, 0.5, 1.0}) {
            canvas.camera().setViewport(3, QPointF(all.x + x * all.width, all.y + y * all.height) * 3 - QPointF(700, 400));
            QVERIFY(!map->isVisibleTo(&canvas) || !canvas.legend().rect().intersects(QRectF(map->geometry())));
        }
    canvas.resize(700, 800); // the graph counts more there
    QVERIFY(canvas.legend().rect().isEmpty());
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::CanvasGeometryTest)
#include "canvas_geometry_test.moc"
