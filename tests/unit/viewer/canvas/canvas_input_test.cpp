// How pointer, keys, menus and screen readers work the canvas.
#include "canvas_fixture.h"
#include "viewer/style/theme.h"

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QWheelEvent>
#include <cmath>

namespace loopscope::viewer {

using namespace testing;

class CanvasInputTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }
    void clickSelects();
    void ctrlClickAdds();
    void rubberBandSelects();
    void dragPans();
    void wheelZoomsAtCursor();
    void rangeZoom();
    void fitShowsAll();
    void sliderMoves();
    void arrowsWalkEdges();
    void producerAndConsumer();
    void tabFollowsTheListing();
    void groupExpandsInPlace();
    void railLightsUnderThePointer();
    void headStandsForItsCall();
    void contextMenuOffers();
    void copyName();
    void traceUpAndDown();
    void minimapPans();
    void minimapGivesWayToHeadsAndOperators();
    void aFirstViewIsReadableAtAnyTextSize();
    void aFirstViewBeginsAtTheInputs();
    void aStopComesNear();
    void screenReaderHearsNodes();
    void pickIsExact();
};

void CanvasInputTest::clickSelects()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QSignalSpy edited(&canvas.selection(), &CanvasSelection::edited);
    const int node = canvas.scene()->findNode("main/while#0:body/add#3");
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, canvas.camera().nodeRect(node).center().toPoint());
    QCOMPARE(edited.count(), 1);
    QCOMPARE(canvas.selection().addresses(), std::vector<std::string>{"main/while#0:body/add#3"});
    QVERIFY(statesOf(canvas, QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("selected")));
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, QPoint(2, 2));
    QVERIFY(canvas.selection().addresses().empty());
}

void CanvasInputTest::ctrlClickAdds()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    for (const char* id : {"main/while#0:body/add#3", "main/while#0:body/if#2"})
        QTest::mouseClick(&canvas, Qt::LeftButton, Qt::ControlModifier,
                          canvas.camera().nodeRect(canvas.scene()->findNode(id)).center().toPoint());
    QCOMPARE(canvas.selection().addresses().size(), size_t(2));
    QTest::mouseClick(&canvas, Qt::LeftButton, Qt::ControlModifier, canvas.camera().nodeRect(canvas.selection().node()).center().toPoint());
    QCOMPARE(canvas.selection().addresses(), std::vector<std::string>{"main/while#0:body/add#3"});
}

void CanvasInputTest::rubberBandSelects()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QTest::mousePress(&canvas, Qt::LeftButton, Qt::ShiftModifier, QPoint(1, 60));
    QTest::mouseMove(&canvas, QPoint(300, 300));
    QTest::mouseRelease(&canvas, Qt::LeftButton, Qt::ShiftModifier, QPoint(538, 578));
    QVERIFY(canvas.selection().addresses().size() > 4);
}

void CanvasInputTest::dragPans()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    const QPointF before = canvas.camera().origin();
    QTest::mousePress(&canvas, Qt::LeftButton, {}, QPoint(530, 570));
    QMouseEvent move(QEvent::MouseMove, QPointF(500, 540), canvas.mapToGlobal(QPointF(500, 540)), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QApplication::sendEvent(&canvas, &move);
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, QPoint(500, 540));
    QCOMPARE(canvas.camera().origin() - before, QPointF(30, 30));
}

void CanvasInputTest::wheelZoomsAtCursor()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    const QPointF cursor(200, 220);
    const Point before = canvas.camera().toScene(cursor);
    QWheelEvent in(cursor, canvas.mapToGlobal(cursor), {}, QPoint(0, 120), Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&canvas, &in);
    QVERIFY(canvas.camera().zoom() > 1.19);
    QVERIFY(std::abs(canvas.camera().toScene(cursor).x - before.x) < 1);
    QVERIFY(std::abs(canvas.camera().toScene(cursor).y - before.y) < 1);
    const double zoom = canvas.camera().zoom();
    const QPointF origin = canvas.camera().origin();
    QWheelEvent scroll(cursor, canvas.mapToGlobal(cursor), {}, QPoint(0, -120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&canvas, &scroll);
    QCOMPARE(canvas.camera().zoom(), zoom);
    QCOMPARE(canvas.camera().origin(), origin + QPointF(0, 48));
}

void CanvasInputTest::rangeZoom()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QTest::mousePress(&canvas, Qt::LeftButton, Qt::ControlModifier, QPoint(2, 2));
    QTest::mouseRelease(&canvas, Qt::LeftButton, Qt::ControlModifier, QPoint(272, 292));
    QVERIFY(std::abs(canvas.camera().zoom() - 2) < 0.05);
}

void CanvasInputTest::fitShowsAll()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(300, 260);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0", "main/while#0:body/if#2"})));
    canvas.camera().setViewport(3, QPointF(100, 100));
    QVERIFY(canvas.camera().visibleNodes().size() < canvas.scene()->nodes.size());
    QVERIFY(canvas.commands().perform(QStringLiteral("fit")));
    QCOMPARE(canvas.camera().visibleNodes().size(), canvas.scene()->nodes.size());
    QVERIFY(canvas.commands().perform(QStringLiteral("actualSize")));
    QCOMPARE(canvas.camera().zoom(), 1.0);
    QVERIFY(!canvas.commands().perform(QStringLiteral("noSuchCommand")));
}

void CanvasInputTest::sliderMoves()
{
    const Model model = sample(QStringLiteral("collatz"));
    const StopSnapshot stop = collatzStop(model);
    GraphCanvas canvas;
    canvas.resize(640, 580);
    canvas.setStateSource([&](const Scene& scene) { return stateAt(scene, model, stop); });
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QSignalSpy moved(&canvas.input(), &CanvasInput::loopMoved);
    const QJsonObject region = canvas.describe()[QStringLiteral("regions")].toArray()[0].toObject();
    QVERIFY2(region.contains(QStringLiteral("slider")), "the loop is too narrow for a slider");
    const QRectF slider = rectOf(region[QStringLiteral("slider")]);
    QTest::mousePress(&canvas, Qt::LeftButton, {}, slider.center().toPoint());
    QCOMPARE(moved.count(), 1);
    QVERIFY(std::abs(moved[0][1].toLongLong() - 55) <= 1);
    QCOMPARE(moved[0][2].toBool(), false);
    QMouseEvent move(QEvent::MouseMove, slider.topRight(), canvas.mapToGlobal(slider.topRight()), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QApplication::sendEvent(&canvas, &move);
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, slider.topRight().toPoint());
    QCOMPARE(moved.last()[1].toLongLong(), 110LL);
    QCOMPARE(moved.last()[2].toBool(), true);
}

void CanvasInputTest::arrowsWalkEdges()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.selection().select({"main/while#0:body/floor_mod#0"});
    QTest::keyClick(&canvas, Qt::Key_Down);
    QCOMPARE(canvas.selection().addresses().front(), std::string("main/while#0:body/equal#1"));
    QTest::keyClick(&canvas, Qt::Key_Up);
    QCOMPARE(canvas.selection().addresses().front(), std::string("main/while#0:body/floor_mod#0"));
}

void CanvasInputTest::producerAndConsumer()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.selection().select({"main/while#0:body/equal#1"});
    QVERIFY(canvas.commands().perform(QStringLiteral("producer")));
    QCOMPARE(canvas.selection().addresses().front(), std::string("main/while#0:body/floor_mod#0"));
    QVERIFY(canvas.commands().perform(QStringLiteral("producer")));
    const std::string formal = canvas.selection().addresses().front();
    QCOMPARE(canvas.scene()->nodes[static_cast<size_t>(canvas.selection().node())].kind, NodeKind::input);
    QVERIFY(canvas.commands().perform(QStringLiteral("consumer")));
    const std::string first = canvas.selection().addresses().front();
    QVERIFY(canvas.commands().perform(QStringLiteral("consumer"))); // again: the next one of the same value
    QVERIFY(canvas.selection().addresses().front() != first);
    QVERIFY(canvas.selection().addresses().front() != formal);
}

void CanvasInputTest::tabFollowsTheListing()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, {}));
    canvas.show();
    canvas.setFocus();
    QVERIFY(canvas.commands().perform(QStringLiteral("nextNode")));
    QCOMPARE(canvas.selection().node(), 0);
    const int last = static_cast<int>(canvas.scene()->nodes.size()) - 1;
    for (int i = 0; i <= last + 2; ++i) canvas.commands().perform(QStringLiteral("nextNode"));
    QCOMPARE(canvas.selection().node(), last); // no wrapping: Tab leaves the canvas there
    QVERIFY(canvas.commands().perform(QStringLiteral("previousNode")));
    QCOMPARE(canvas.selection().node(), last - 1);
}

void CanvasInputTest::groupExpandsInPlace()
{
    std::string text = "graph main(x: f32[4]) {\n";
    for (int n = 0; n < 96; ++n)
        text += "  v" + std::to_string(n) + " = relu(" + (n == 0 ? "x" : "v" + std::to_string(n - 1)) + ") : f32[4]\n";
    text += "  return v95\n}\n";
    Result<Model> model = modelFromText(text, "blocks");
    QVERIFY2(model.ok(), model.ok() ? "" : model.error().message().c_str());
    for (Value& value : model->graphs[0].values)
        if (value.id.starts_with('v')) {
            const int n = std::stoi(value.id.substr(1));
            value.name = "net/block_" + std::to_string(n / 8) + "/relu_" + std::to_string(n % 8);
        }
    GraphCanvas canvas;
    canvas.setBuilder(&buildScene);
    canvas.resize(500, 500);
    canvas.setModel(&*model, initialView(*model));
    QTRY_VERIFY(canvas.scene());
    int group = -1;
    for (size_t i = 0; i < canvas.scene()->nodes.size(); ++i)
        if (canvas.scene()->nodes[i].kind == NodeKind::group && group < 0 && i > 1) group = static_cast<int>(i);
    QVERIFY(group >= 0);
    canvas.camera().setViewport(1, canvas.camera().origin());
    const QPointF before = canvas.camera().nodeRect(group).topLeft();
    const std::string id = canvas.scene()->nodes[static_cast<size_t>(group)].id;
    QSignalSpy edited(&canvas, &GraphCanvas::viewEdited);
    QSignalSpy shown(&canvas, &GraphCanvas::sceneChanged);
    canvas.selection().select({id});
    canvas.commands().perform(QStringLiteral("expand"));
    QCOMPARE(edited.count(), 1);
    QTRY_COMPARE(shown.count(), 1);
    const SceneRegion& region = canvas.scene()->regions[static_cast<size_t>(canvas.scene()->regionById.at(id))];
    QVERIFY(std::abs(region.rect.y - canvas.camera().toScene(before).y) < 1.5); // its head has stayed on the screen
    keep(canvas, QStringLiteral("groups"));
}

/// The pointer on a feedback rail lights it; off it, the picture is as before.
void CanvasInputTest::railLightsUnderThePointer()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(640, 580);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.show();
    const LoopBinding& count = canvas.scene()->regions[0].bindings[1];
    QVERIFY(count.rail.size() > 3);
    Point at; // the middle of its longest upright stretch
    double longest = 0;
    for (size_t k = 1; k < count.rail.size(); ++k) {
        const double length = std::abs(count.rail[k].y - count.rail[k - 1].y);
        if (length <= longest) continue;
        longest = length;
        at = {count.rail[k].x, (count.rail[k].y + count.rail[k - 1].y) / 2};
    }
    const QPoint place = canvas.camera().inWidget({at.x, at.y, 0, 0}).topLeft().toPoint();
    const QImage before = canvas.grab().toImage();
    QTest::mouseMove(&canvas, place);
    const QImage lit = canvas.grab().toImage();
    QVERIFY(lit != before);
    QCOMPARE(lit.pixelColor(place.x(), static_cast<int>(place.y() - longest / 2 + 8)), themed(Token::accent));
    QTest::mouseMove(&canvas, QPoint(2, 2));
    QCOMPARE(canvas.grab().toImage(), before);
}

/// What is drawn inside can be folded, drilled into and split by keys, too: its head stands for the call.
void CanvasInputTest::headStandsForItsCall()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(640, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QSignalSpy edited(&canvas.selection(), &CanvasSelection::edited);
    QSignalSpy open(&canvas, &GraphCanvas::openRequested);
    const QRectF head = canvas.camera().inWidget(canvas.scene()->regions[0].head);
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, (head.topLeft() + QPointF(60, 13)).toPoint());
    QCOMPARE(edited.count(), 1);
    QCOMPARE(canvas.selection().region(), 0);
    QVERIFY(canvas.describe()[QStringLiteral("regions")].toArray()[0].toObject()[QStringLiteral("selected")].toBool());
    QVERIFY(canvas.commands().perform(QStringLiteral("splitCallee")));
    QCOMPARE(open.count(), 1);
    QCOMPARE(open[0][0].value<CallSite>().address, std::string("main/while#0"));
    QCOMPARE(open[0][0].value<CallSite>().op, OperatorId(0));
    QVERIFY(canvas.commands().perform(QStringLiteral("nextNode"))); // into it
    QCOMPARE(canvas.scene()->nodes[static_cast<size_t>(canvas.selection().node())].region, 0);
    QVERIFY(canvas.commands().perform(QStringLiteral("collapse")));
    QVERIFY(canvas.view().inlined.empty());
    QCOMPARE(canvas.selection().addresses(), std::vector<std::string>{"main/while#0"});
}

void CanvasInputTest::contextMenuOffers()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, {}));
    canvas.selection().select({"main/while#0"});
    QMenu menu;
    canvas.commands().fillMenu(menu, canvas.selection().node());
    QVERIFY(menu.findChild<QAction*>(QStringLiteral("context.inlineCallee")));
    QSignalSpy open(&canvas, &GraphCanvas::openRequested);
    menu.findChild<QAction*>(QStringLiteral("context.splitCallee"))->trigger();
    QCOMPARE(open.count(), 1);
    QSignalSpy breakpoint(&canvas, &GraphCanvas::breakpointRequested);
    menu.findChild<QAction*>(QStringLiteral("context.toggleBreakpoint"))->trigger();
    QCOMPARE(breakpoint[0][0].toString(), QStringLiteral("main/while#0"));
}

void CanvasInputTest::copyName()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.setScene(sceneOf(model, {}));
    canvas.selection().select({"main/while#0"});
    canvas.commands().perform(QStringLiteral("copyName"));
    QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("while#0"));
}

void CanvasInputTest::traceUpAndDown()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.selection().select({"main/while#0:body/equal#1"});
    canvas.commands().perform(QStringLiteral("traceUp"));
    QVERIFY(statesOf(canvas, QStringLiteral("main/while#0:body/floor_mod#0")).contains(QStringLiteral("traced")));
    QVERIFY(!statesOf(canvas, QStringLiteral("main/while#0:body/if#2")).contains(QStringLiteral("traced")));
    canvas.commands().perform(QStringLiteral("traceUp"));
    QVERIFY(statesOf(canvas, QStringLiteral("main/while#0:body/if#2")).contains(QStringLiteral("traced")));
    canvas.commands().perform(QStringLiteral("traceUp"));
    QVERIFY(!statesOf(canvas, QStringLiteral("main/while#0:body/if#2")).contains(QStringLiteral("traced")));
}

void CanvasInputTest::minimapGivesWayToHeadsAndOperators()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 400);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.show();
    auto* const map = canvas.findChild<QWidget*>(QStringLiteral("minimap"));
    const SceneRegion& loop = canvas.scene()->regions.front();
    // Wherever the head of the loop comes to lie, the map does not lie on it.
    for (const double y : {10.0, 150.0, 280.0, 350.0}) {
        const double zoom = 1.5;
        canvas.camera().setViewport(zoom, QPointF(loop.head.right() * zoom - 530, loop.head.y * zoom - y));
        if (map->isHidden()) continue;
        QVERIFY2(!canvas.camera().inWidget(loop.head).intersects(QRectF(map->geometry())), qPrintable(QString::number(y)));
    }
    // Nor where it stays at the top of the view.
    canvas.camera().setViewport(1.5, QPointF(loop.head.x, loop.head.bottom() + 60) * 1.5);
    QVERIFY(!canvas.heads().stuck().empty());
    QVERIFY(map->isVisible());
    for (const PlacedHead& head : canvas.heads().stuck()) QVERIFY(!head.onScreen(head.box).intersects(QRectF(map->geometry())));
}

void CanvasInputTest::aFirstViewIsReadableAtAnyTextSize()
{
    const Model model = sample(QStringLiteral("collatz"));
    const auto zoomAt = [&](int percent) {
        Theme::instance().setTextPercent(percent);
        GraphCanvas canvas;
        canvas.resize(300, 260);
        canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
        canvas.reveal("main/while#0:body/add#3", false, true);
        return canvas.camera().zoom();
    };
    const double usual = zoomAt(100), large = zoomAt(200);
    Theme::instance().setTextPercent(100);
    QVERIFY2(large >= 1.4 * usual, qPrintable(QStringLiteral("%1 %2").arg(usual).arg(large)));
}

void CanvasInputTest::aFirstViewBeginsAtTheInputs()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(300, 400); // too small for all of it
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    const int node = canvas.scene()->findNode("main/while#0:body/floor_mod#0");
    QVERIFY(node >= 0);
    canvas.reveal("main/while#0:body/floor_mod#0", false, true);
    const Rect& all = canvas.scene()->bounds;
    const QRectF graph = canvas.camera().inWidget(all), seen = canvas.camera().nodeRect(node);
    QVERIFY2(QRectF(canvas.rect()).contains(seen), "the operator is in view");
    QVERIFY(graph.width() > canvas.width()); // else this says nothing
    QVERIFY2(graph.left() >= 0 && graph.top() >= 0, qPrintable(QStringLiteral("%1 %2").arg(graph.left()).arg(graph.top())));
}

void CanvasInputTest::minimapPans()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(400, 420); // smaller than the graph
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.show();
    GraphCanvas small;
    small.resize(200, 240);
    small.setScene(sceneOf(model, inlined({"main/while#0"})));
    QVERIFY(small.camera().zoom() < 0.6 && small.camera().showsAll()); // a first view fits, whatever its words
    auto* map = canvas.findChild<QWidget*>(QStringLiteral("minimap"));
    canvas.camera().fit();
    QVERIFY(map && !map->isVisible()); // all of it is in sight
    canvas.camera().setViewport(0.3, QPointF(0, 0));
    QVERIFY(!map->isVisible());
    QVERIFY(canvas.reveal("main/while#0:body/if#2", true, false)); // comes near
    QVERIFY(map->isVisible());
    canvas.camera().setViewport(3, QPointF(0, 0));
    QVERIFY(map->isVisible());
    QTest::mouseClick(map, Qt::LeftButton, {}, map->rect().center());
    const Rect& b = canvas.scene()->bounds;
    const Point middle = canvas.camera().toScene(QPointF(200, 210));
    QVERIFY(std::abs(middle.x - b.center().x) < b.width * 0.1);
    QVERIFY(std::abs(middle.y - b.center().y) < b.height * 0.1);
    // It gives way to the head of a loop or branch.
    const Rect head = canvas.scene()->regions.front().head;
    for (const double y : {20.0, canvas.height() - 60.0, 30.0}) {
        canvas.camera().setViewport(1.5, QPointF(head.right() * 1.5 - canvas.width() + 4, head.y * 1.5 - y));
        QVERIFY2(!QRectF(map->geometry()).intersects(canvas.camera().inWidget(head)), qPrintable(QString::number(y)));
    }
    canvas.commands().perform(QStringLiteral("minimap"));
    QVERIFY(!map->isVisible());
}

void CanvasInputTest::aStopComesNear()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(330, 700);
    canvas.show();
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QVERIFY(canvas.camera().zoom() < 0.75);
    // Somebody selects before the run stops there: what he sees is no more his choice than the fit was.
    QVERIFY(canvas.reveal("main/while#0:body/add#3", true, false));
    QVERIFY(canvas.reveal("main/while#0:body/if#2", false, true));
    QCOMPARE(canvas.camera().zoom(), 0.75);
    // With the room the picture grows on, and hangs at the top where all of it has room.
    canvas.resize(900, 900);
    QCOMPARE(canvas.camera().zoom(), 1.0);
    QVERIFY(canvas.camera().inWidget(canvas.scene()->bounds).top() <= 9);
    canvas.camera().setViewport(0.5, {});
    canvas.resize(901, 900);
    QCOMPARE(canvas.camera().zoom(), 0.5); // which was by hand
}

void CanvasInputTest::screenReaderHearsNodes()
{
    const Model model = sample(QStringLiteral("collatz"));
    const StopSnapshot stop = collatzStop(model);
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setStateSource([&](const Scene& scene) { return stateAt(scene, model, stop); });
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.show();
    QAccessibleInterface* root = QAccessible::queryAccessibleInterface(&canvas);
    QVERIFY(root);
    QCOMPARE(root->role(), QAccessible::Graphic);
    QCOMPARE(root->childCount(), static_cast<int>(canvas.camera().visibleNodes().size()));
    QStringList names;
    for (int i = 0; i < root->childCount(); ++i) names.append(root->child(i)->text(QAccessible::Name));
    QVERIFY2(names.contains(QStringLiteral("add 3, arithmetic, next to run, conditional breakpoint, input count")),
             qPrintable(names.join(QLatin1Char('\n'))));
    QAccessibleInterface* first = root->child(0);
    QCOMPARE(root->indexOfChild(first), 0);
    QVERIFY(first->parent() == root);
    QVERIFY(!first->rect().isEmpty());
    auto* action = first->actionInterface();
    QVERIFY(action);
    QCOMPARE(action->actionNames(), QStringList({QStringLiteral("open"), QStringLiteral("break"), QStringLiteral("inspect")}));
}

void CanvasInputTest::pickIsExact()
{
    const Model model = sample(QStringLiteral("collatz"));
    const auto scene = sceneOf(model, inlined({"main/while#0"}));
    for (size_t i = 0; i < scene->scene->nodes.size(); ++i) {
        if (scene->scene->nodes[i].kind == NodeKind::actual) continue;
        QCOMPARE(scene->index.nodeAt(scene->scene->nodes[i].rect.center()), static_cast<int>(i));
    }
    QCOMPARE(scene->index.nodeAt({-1000, -1000}), -1);
    for (size_t e = 0; e < scene->scene->edges.size(); ++e) {
        const SceneEdge& edge = scene->scene->edges[e];
        if (edge.points.size() < 2) continue;
        const Point middle{(edge.points[0].x + edge.points[1].x) / 2, (edge.points[0].y + edge.points[1].y) / 2};
        const int found = scene->index.edgeAt(middle, 3);
        QVERIFY(found >= 0);
    }
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::CanvasInputTest)
#include "canvas_input_test.moc"
