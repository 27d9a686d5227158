// Heads of regions stay in view, with everything that can be pressed in them; names are drawn to be read.
#include "canvas_fixture.h"
#include "viewer/style/theme.h"

#include <QApplication>
#include <QLineEdit>
#include <QSignalSpy>

namespace loopscope::viewer {

using namespace testing;

class CanvasHeadsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }
    void headStaysAtTheTop();
    void partsOfAStuckHeadWork();
    void nestedHeadsStack();
    void headsMoveWithANarrowView();
    void foldingBringsTheCallIntoView();
    void smallPicturesGetHeadsToRead();
    void namesOfSidesAreRead();
    void boxesOfOneHeightAllHaveNames();
};

namespace {

QJsonObject regionOf(const GraphCanvas& canvas, const QString& id)
{
    for (const QJsonValue& one : canvas.describe()[QStringLiteral("regions")].toArray())
        if (one.toObject()[QStringLiteral("id")].toString() == id) return one.toObject();
    return {};
}

const QString kBody = QStringLiteral("main/while#0:body");

/// Collatz in iteration 37, its loop's head scrolled out of a low view.
struct ScrolledLoop {
    Model model = sample(QStringLiteral("collatz"));
    StopSnapshot stop = collatzStop(model);
    GraphCanvas canvas;
    ScrolledLoop()
    {
        canvas.setBuilder(&buildScene);
        canvas.resize(640, 300);
        canvas.setStateSource([this](const Scene& scene) { return stateAt(scene, model, stop); });
        canvas.setModel(&model, inlined({"main/while#0"}));
        if (!QTest::qWaitFor([this] { return canvas.scene() != nullptr; })) qFatal("no scene");
        canvas.camera().setViewport(1, {0, canvas.scene()->regions[0].head.y + 80});
    }
    QRectF part(const char* name) const { return rectOf(regionOf(canvas, kBody)[QString::fromLatin1(name)]); }
};

} // namespace

void CanvasHeadsTest::headStaysAtTheTop()
{
    ScrolledLoop f;
    QJsonObject loop = regionOf(f.canvas, kBody);
    QVERIFY(loop[QStringLiteral("stuck")].toBool());
    const QRectF head = f.part("head");
    QCOMPARE(head.top(), 0.0);
    QCOMPARE(head.height(), 26.0);
    for (const char* part : {"field", "slider", "condition"}) QVERIFY2(head.contains(f.part(part)), part);
    // What lies behind it is not hit.
    for (const int node : f.canvas.camera().visibleNodes())
        if (const QPointF middle = f.canvas.camera().nodeRect(node).center(); head.contains(middle)) QCOMPARE(f.canvas.nodeAt(middle), -1);
    f.canvas.camera().setViewport(1, {0, f.canvas.scene()->regions[0].head.y - 40});
    QVERIFY(!regionOf(f.canvas, kBody).contains(QStringLiteral("stuck")));
    QCOMPARE(f.part("head").top(), 40.0);
    // Nor where nothing of the loop is left below it.
    const Rect& box = f.canvas.scene()->regions[0].rect;
    f.canvas.camera().setViewport(1, {0, box.bottom() - 20});
    QVERIFY(!regionOf(f.canvas, kBody).contains(QStringLiteral("stuck")));
}

void CanvasHeadsTest::partsOfAStuckHeadWork()
{
    ScrolledLoop f;
    QSignalSpy moved(&f.canvas.input(), &CanvasInput::loopMoved);
    QTest::mouseClick(&f.canvas, Qt::LeftButton, {}, f.part("slider").center().toPoint());
    QCOMPARE(moved.count(), 2);
    QVERIFY(std::abs(moved.last()[1].toLongLong() - 55) <= 1);
    QVERIFY(moved.last()[2].toBool());
    QTest::mouseClick(&f.canvas, Qt::LeftButton, {}, f.part("field").center().toPoint());
    auto* field = f.canvas.findChild<QLineEdit*>(QStringLiteral("iterationField"));
    QVERIFY(field && field->isVisibleTo(&f.canvas));
    QVERIFY(QRectF(field->geometry()).intersects(f.part("field")));
    field->hide();
    QTest::mouseClick(&f.canvas, Qt::LeftButton, {}, (f.part("head").topLeft() + QPointF(60, 13)).toPoint());
    QCOMPARE(f.canvas.selection().region(), 0);
    // The condition opens where the head was pressed.
    QTest::mouseClick(&f.canvas, Qt::LeftButton, {}, f.part("condition").center().toPoint());
    QCOMPARE(f.canvas.view().condOpen, std::set<std::string>{"main/while#0"});
    QTRY_VERIFY(f.canvas.scene()->regionById.contains("main/while#0:cond"));
    QVERIFY(f.part("head").top() >= 0 && f.part("head").top() <= 1);
}

void CanvasHeadsTest::nestedHeadsStack()
{
    const Model model = sample(QStringLiteral("nested_loops"));
    GraphCanvas canvas;
    canvas.resize(560, 300);
    canvas.setScene(sceneOf(model, initialView(model)));
    const std::vector<SceneRegion>& regions = canvas.scene()->regions;
    const auto inner = std::ranges::find_if(regions, [&](const SceneRegion& one) {
        return one.kind == RegionKind::loop && one.parent >= 0 && regions[static_cast<size_t>(one.parent)].kind == RegionKind::loop;
    });
    QVERIFY(inner != regions.end());
    canvas.camera().setViewport(1.6, {inner->rect.x * 1.6, inner->head.bottom() * 1.6 + 10});
    const QRectF outerHead =
        rectOf(regionOf(canvas, QString::fromStdString(regions[static_cast<size_t>(inner->parent)].id))[QStringLiteral("head")]);
    const QRectF innerHead = rectOf(regionOf(canvas, QString::fromStdString(inner->id))[QStringLiteral("head")]);
    QCOMPARE(outerHead.top(), 0.0);
    QCOMPARE(innerHead.top(), outerHead.bottom());
}

/// A loop that is wider than the view keeps its slider in view, too.
void CanvasHeadsTest::headsMoveWithANarrowView()
{
    ScrolledLoop f;
    const Rect& head = f.canvas.scene()->regions[0].head;
    f.canvas.resize(400, 300);
    f.canvas.camera().setViewport(1, {head.x + 120, head.y - 40});
    QCOMPARE(f.part("head").topLeft(), QPointF(0, 40));
    QVERIFY(QRectF(f.canvas.rect()).contains(f.part("slider")));
    QVERIFY(QRectF(f.canvas.rect()).contains(f.part("field")));
}

void CanvasHeadsTest::foldingBringsTheCallIntoView()
{
    ScrolledLoop f;
    QTest::mouseClick(&f.canvas, Qt::LeftButton, {}, (f.part("head").topLeft() + QPointF(12, 13)).toPoint());
    QTRY_VERIFY(f.canvas.scene()->regions.empty());
    QVERIFY(QRectF(f.canvas.rect()).contains(f.canvas.camera().nodeRect(f.canvas.scene()->findNode("main/while#0"))));
}

/// Where a head in its place would have only a name, the one at the top can be used; in the map there is none.
void CanvasHeadsTest::smallPicturesGetHeadsToRead()
{
    ScrolledLoop f;
    f.canvas.resize(640, 160);
    f.canvas.camera().setViewport(0.5, {0, f.canvas.scene()->regions[0].head.y * 0.5 + 30});
    QVERIFY(f.part("slider").width() > 40);
    QVERIFY(f.part("head").height() > 20);
    f.canvas.camera().setViewport(0.3, {0, f.canvas.scene()->regions[0].head.y * 0.3 + 30});
    QVERIFY(!regionOf(f.canvas, kBody).contains(QStringLiteral("stuck")));
}

/// Also of a branch that has not run: the colour of its outline has not enough contrast for text.
void CanvasHeadsTest::namesOfSidesAreRead()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(700, 640);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0", "main/while#0:body/if#2"})));
    canvas.camera().setViewport(1, QPointF(-20, -20));
    QTest::qWait(130);
    const QImage picture = canvas.grab().toImage();
    int sides = 0;
    for (const SceneRegion& region : canvas.scene()->regions) {
        if (region.kind != RegionKind::branch || region.role.empty()) continue;
        const QRect name = canvas.camera().inWidget(region.head).toAlignedRect().adjusted(28, 4, -4, -4);
        int text = 0, outline = 0;
        for (int y = name.top(); y <= name.bottom(); ++y)
            for (int x = name.left(); x <= name.right(); ++x) {
                text += picture.pixelColor(x, y) == themed(Token::text);
                outline += picture.pixelColor(x, y) == themed(Family::controlFlow);
            }
        QVERIFY2(text > 3, region.site.c_str());
        QCOMPARE(outline, 0);
        ++sides;
    }
    QCOMPARE(sides, 2);
}

/// Where boxes are ten to eleven pixels high some are drawn with ten and some with eleven.
void CanvasHeadsTest::boxesOfOneHeightAllHaveNames()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0", "main/while#0:body/if#2"})));
    for (const double zoom : {0.505, 0.52, 0.54}) {
        canvas.camera().setViewport(zoom, QPointF(-20, -20));
        QTest::qWait(130);
        const QImage picture = canvas.grab().toImage();
        for (const SceneNode& node : canvas.scene()->nodes) {
            if (node.kind != NodeKind::op) continue;
            const QRect box = canvas.camera().inWidget(node.rect).toAlignedRect().adjusted(6, 2, -3, -2);
            int dark = 0;
            for (int y = box.top(); y <= box.bottom(); ++y)
                for (int x = box.left(); x <= box.right(); ++x) dark += qGray(picture.pixel(x, y)) < 150;
            QVERIFY2(dark > 4, qPrintable(QString("%1 at %2").arg(node.id.c_str()).arg(zoom)));
        }
    }
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::CanvasHeadsTest)
#include "canvas_heads_test.moc"
