// What the canvas draws: scenes, stops, marks, levels of detail. No document, no window.
#include "canvas_fixture.h"
#include "viewer/style/theme.h"

#include <QMenu>
#include <QSignalSpy>
#include <QThread>
#include <cmath>

namespace loopscope::viewer {

using namespace testing;

class CanvasPictureTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }
    void levelsHaveHysteresis();
    void drawsALoop();
    void nodesOfDifferentKindsDoNotOverlap();
    void stopMarksNodes();
    void untakenSideIsGrey();
    void sidesStayWhenTheBranchHasReturned();
    void aStepRepaintsAllThatChanged();
    void tilesShowWhatDirectPaintingShows();
    void everyThemeAndLevelPaints();
    void sliderIsFinerFarAway();
    void unknownTripCountLeavesRoom();
    void loaderKeepsTheOldPicture();
    void newerRequestWins();
    void failureIsTold();
    void hitsAreCounted();
    void compareMarks();
    void bindingCardNamesTheWay();
    void portalsLeadToTheirEnds();
    void smallHeadsKeepTheirNames();
    void v1TokensShowTheirValues();
    void v1States();
    void framesOfManyIterationsHaveASlider();
};

void CanvasPictureTest::levelsHaveHysteresis()
{
    QCOMPARE(detailLevel(0.1), 0);
    QCOMPARE(detailLevel(0.15), 1);
    QCOMPARE(detailLevel(0.5), 2);
    QCOMPARE(detailLevel(1), 3);
    QCOMPARE(detailLevel(2), 4);
    QCOMPARE(detailLevel(0.76, 2), 2); // 5 % beyond the threshold, not before
    QCOMPARE(detailLevel(0.79, 2), 3);
    QCOMPARE(detailLevel(0.74, 3), 3);
    QCOMPARE(detailLevel(0.71, 3), 2);
}

void CanvasPictureTest::drawsALoop()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.show();
    const QJsonObject all = canvas.describe();
    QCOMPARE(all[QStringLiteral("level")].toInt(), 3);
    QVERIFY(!nodeOf(canvas, QStringLiteral("main/while#0:body/add#3")).isEmpty());
    QCOMPARE(nodeOf(canvas, QStringLiteral("main/while#0:body/add#3"))[QStringLiteral("text")].toString(), QStringLiteral("add#3"));
    QCOMPARE(all[QStringLiteral("regions")].toArray().size(), 1);
    const QRectF region = rectOf(all[QStringLiteral("regions")].toArray()[0].toObject()[QStringLiteral("rect")]);
    QVERIFY(region.contains(rectOf(nodeOf(canvas, QStringLiteral("main/while#0:body/add#3"))[QStringLiteral("rect")])));
    keep(canvas, QStringLiteral("loop-idle"));
}

void CanvasPictureTest::nodesOfDifferentKindsDoNotOverlap()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(700, 700);
    canvas.setScene(sceneOf(model, inlined({"main/while#0", "main/while#0:body/if#2"})));
    const QJsonArray nodes = canvas.describe()[QStringLiteral("nodes")].toArray();
    QVERIFY(nodes.size() > 8);
    for (qsizetype i = 0; i < nodes.size(); ++i)
        for (qsizetype j = 0; j < i; ++j)
            QVERIFY2(!rectOf(nodes[i].toObject()[QStringLiteral("rect")]).intersects(rectOf(nodes[j].toObject()[QStringLiteral("rect")])),
                     qPrintable(nodes[i].toObject()[QStringLiteral("id")].toString() + QLatin1Char(' ') +
                                nodes[j].toObject()[QStringLiteral("id")].toString()));
}

void CanvasPictureTest::stopMarksNodes()
{
    const Model model = sample(QStringLiteral("collatz"));
    const StopSnapshot stop = collatzStop(model);
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setStateSource([&](const Scene& scene) { return stateAt(scene, model, stop); });
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    QCOMPARE(statesOf(canvas, QStringLiteral("main/while#0:body/add#3")),
             QStringList({QStringLiteral("not run"), QStringLiteral("next"), QStringLiteral("conditional breakpoint")}));
    QCOMPARE(statesOf(canvas, QStringLiteral("main/while#0:body/if#2")), QStringList({QStringLiteral("run"), QStringLiteral("last")}));
    QCOMPARE(statesOf(canvas, QStringLiteral("main/while#0:body/floor_mod#0")), QStringList({QStringLiteral("run")}));
    const QJsonObject region = canvas.describe()[QStringLiteral("regions")].toArray()[0].toObject();
    QCOMPARE(region[QStringLiteral("iteration")].toInt(), 37);
    QCOMPARE(region[QStringLiteral("trips")].toInt(), 111);
    canvas.selection().select({"main/while#0:body/if#2"});
    canvas.cards().setValueCard({"main/while#0:body/if#2", QStringLiteral("next_n"), QStringLiteral("i32[]"), {QStringLiteral("593")}});
    keep(canvas, QStringLiteral("loop-stopped"));
    Theme::instance().set(ThemeName::dark);
    keep(canvas, QStringLiteral("loop-stopped-dark"));
    Theme::instance().set(ThemeName::highContrast);
    keep(canvas, QStringLiteral("loop-stopped-contrast"));
    Theme::instance().set(ThemeName::light);
}

void CanvasPictureTest::untakenSideIsGrey()
{
    const Model model = sample(QStringLiteral("collatz"));
    StopSnapshot stop = collatzStop(model);
    stop.address = "main/while#0@37:body/if#2:else/add#1";
    stop.stack[1].info.next = OperatorId(2);
    stop.stack.push_back(frame("main/while#0@37:body/if#2:else", model.findGraph("triple"), 1, 2));
    GraphCanvas canvas;
    canvas.resize(700, 640);
    canvas.setStateSource([&](const Scene& scene) { return stateAt(scene, model, stop); });
    canvas.setScene(sceneOf(model, inlined({"main/while#0", "main/while#0:body/if#2"})));
    QCOMPARE(statesOf(canvas, QStringLiteral("main/while#0:body/if#2:then/floor_div#0")), QStringList({QStringLiteral("untaken")}));
    QCOMPARE(statesOf(canvas, QStringLiteral("main/while#0:body/if#2:else/mul#0")),
             QStringList({QStringLiteral("run"), QStringLiteral("last")}));
    QCOMPARE(statesOf(canvas, QStringLiteral("main/while#0:body/if#2:else/add#1")),
             QStringList({QStringLiteral("not run"), QStringLiteral("next")}));
    keep(canvas, QStringLiteral("branch"));
}

void CanvasPictureTest::sidesStayWhenTheBranchHasReturned()
{
    const Model model = sample(QStringLiteral("collatz"));
    StopSnapshot stop = collatzStop(model); // behind the branch
    const auto scene = sceneOf(model, inlined({"main/while#0", "main/while#0:body/if#2"}));
    const auto runOf = [&](const CanvasState& state, const char* id) {
        return state.nodes[static_cast<size_t>(scene->scene->findNode(id))].run;
    };
    const char* const half = "main/while#0:body/if#2:then/floor_div#0";
    const char* const triple = "main/while#0:body/if#2:else/mul#0";
    // Which side it was is not known: neither is drawn as taken.
    const CanvasState unknown = stateAt(*scene->scene, model, stop);
    QCOMPARE(runOf(unknown, half), RunState::none);
    QCOMPARE(runOf(unknown, triple), RunState::none);
    QVERIFY(!unknown.unknownSides.empty());
    QCOMPARE(unknown.unknownSides.front(), std::string("main/while#0@37:body"));
    stop.sides["main/while#0@37:body/if#2"] = 1;
    const CanvasState known = stateAt(*scene->scene, model, stop);
    QCOMPARE(runOf(known, half), RunState::untaken);
    QCOMPARE(runOf(known, triple), RunState::run);
    QVERIFY(known.unknownSides.empty());
    // Of an invocation that is none of the stack any more, somebody else knows.
    stop.sides.clear();
    const BranchSides told = {{"main/while#0@37:body/if#2", 0}};
    PictureMemory memory;
    memory.sides = &told;
    QCOMPARE(runOf(stateAt(*scene->scene, model, stop, memory), half), RunState::run);
    QCOMPARE(runOf(stateAt(*scene->scene, model, stop, memory), triple), RunState::untaken);
}

void CanvasPictureTest::aStepRepaintsAllThatChanged()
{
    const Model model = sample(QStringLiteral("collatz"));
    StopSnapshot stop = collatzStop(model);
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setStateSource([&](const Scene& scene) { return stateAt(scene, model, stop); });
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.grab();
    const QImage before = canvas.grab().toImage();
    stop.address = "main/while#0@37:body/if#2";
    stop.stack[1].info.next = OperatorId(2);
    canvas.refreshState();
    const QImage after = canvas.grab().toImage();
    QVERIFY(before != after);
    // What the cache keeps must be what a fresh canvas draws.
    GraphCanvas fresh;
    fresh.resize(540, 580);
    fresh.setStateSource([&](const Scene& scene) { return stateAt(scene, model, stop); });
    fresh.setScene(sceneOf(model, inlined({"main/while#0"})));
    QCOMPARE(fresh.grab().toImage(), after);
}

void CanvasPictureTest::tilesShowWhatDirectPaintingShows()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(700, 700);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.camera().setViewport(1.25, QPointF(0, 0)); // paints directly for a moment after zooming
    const QImage direct = canvas.grab().toImage();
    QTest::qWait(150);
    const QImage tiled = canvas.grab().toImage();
    QCOMPARE(direct.size(), tiled.size());
    int different = 0;
    for (int y = 0; y < direct.height(); ++y)
        for (int x = 0; x < direct.width(); ++x) different += direct.pixel(x, y) != tiled.pixel(x, y);
    QCOMPARE(different, 0);
}

void CanvasPictureTest::everyThemeAndLevelPaints()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    for (const ThemeName theme : {ThemeName::dark, ThemeName::highContrast, ThemeName::light}) {
        Theme::instance().set(theme);
        QSet<int> seen;
        for (const double zoom : {0.1, 0.3, 0.6, 1.0, 2.5}) {
            canvas.camera().setViewport(zoom, canvas.camera().origin());
            canvas.commands().perform("fitSelection");
            canvas.camera().setViewport(zoom, QPointF(-20, -20));
            seen.insert(canvas.camera().level());
            const QImage picture = canvas.grab().toImage();
            QSet<QRgb> colors;
            for (int y = 0; y < picture.height(); y += 2)
                for (int x = 0; x < picture.width(); x += 2) colors.insert(picture.pixel(x, y));
            QVERIFY2(colors.size() >= 3, qPrintable(QString::number(zoom)));
            QVERIFY(colors.contains(themed(Token::surface).rgb()));
        }
        QCOMPARE(seen.size(), 5);
    }
}

void CanvasPictureTest::sliderIsFinerFarAway()
{
    LoopHead head;
    head.slider = {100, 0, 150, 22};
    RegionState state;
    state.trips = 1000000;
    QCOMPARE(iterationAt(head, state, 100, 0, 100, 0), int64_t(0));
    QCOMPARE(iterationAt(head, state, 250, 0, 100, 0), int64_t(999999));
    const int64_t near = iterationAt(head, state, 110, 0, 100, 0);
    const int64_t far = iterationAt(head, state, 110, 60, 100, 0);
    const int64_t farthest = iterationAt(head, state, 110, 200, 100, 0);
    QVERIFY(std::abs(near / 10 - far) <= 1);
    QVERIFY(std::abs(near / 1000 - farthest) <= 1);
    QCOMPARE(sliderPace(head, state, 200), QStringLiteral("1/1000"));
    state.trips = 48; // fewer iterations than pixels: always coarse
    QCOMPARE(iterationAt(head, state, 250, 200, 100, 0), int64_t(47));
    QVERIFY(sliderPace(head, state, 200).isEmpty());
}

void CanvasPictureTest::unknownTripCountLeavesRoom()
{
    RegionState state;
    state.iteration = 20;
    QCOMPARE(sliderPosition(state, 20), 0.9);
    LoopHead head;
    head.slider = {0, 0, 100, 22};
    QVERIFY(iterationAt(head, state, 100, 0, 0, 0) > 20);
    state.trips = 21;
    QCOMPARE(sliderPosition(state, 20), 1.0);
    QCOMPARE(iterationAt(head, state, 100, 0, 0, 0), int64_t(20));
}

void CanvasPictureTest::loaderKeepsTheOldPicture()
{
    const Model model = sample(QStringLiteral("collatz"));
    std::atomic<bool> release = false;
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setBuilder(&buildScene);
    canvas.setModel(&model, {});
    QTRY_VERIFY(canvas.scene());
    const Scene* old = canvas.scene();
    canvas.setBuilder([&](const Model& m, const ViewState& view, const TextMeasure& measure, const SceneProgress& progress) {
        while (!release && !progress.stop.stop_requested()) QThread::msleep(1);
        return buildScene(m, view, measure, progress);
    });
    canvas.setView(inlined({"main/while#0"}));
    QVERIFY(canvas.isBuilding());
    QTest::qWait(20);
    QCOMPARE(canvas.scene(), old);
    canvas.cancelBuilding();
    QVERIFY(!canvas.isBuilding());
    QVERIFY(canvas.view().inlined.empty()); // what is wanted is again what is seen
    release = true;
    QTest::qWait(20);
    QCOMPARE(canvas.scene(), old);
}

void CanvasPictureTest::newerRequestWins()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setBuilder(&buildScene);
    canvas.setModel(&model, {});
    for (int i = 0; i < 10; ++i) canvas.setView(i % 2 ? ViewState() : inlined({"main/while#0"}));
    canvas.setView(inlined({"main/while#0"}));
    QTRY_VERIFY(!canvas.isBuilding());
    QVERIFY(canvas.scene()->findNode("main/while#0:body/add#3") >= 0);
}

void CanvasPictureTest::failureIsTold()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.setBuilder(&buildScene);
    QSignalSpy failed(&canvas, &GraphCanvas::buildFailed);
    ViewState view;
    view.root = "main/no_such#9:body";
    canvas.setModel(&model, view);
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(!failed[0][0].toString().isEmpty());
    canvas.grab(); // alive, and empty
}

void CanvasPictureTest::hitsAreCounted()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    canvas.setHits({QStringLiteral("main/while#0@3:body/add#3"), QStringLiteral("main/while#0:body/if#2"), QStringLiteral("main/none#1")});
    QCOMPARE(nodeOf(canvas, QStringLiteral("main/while#0:body/add#3"))[QStringLiteral("hits")].toInt(), 1);
    QCOMPARE(nodeOf(canvas, QStringLiteral("main/while#0:body/if#2"))[QStringLiteral("hits")].toInt(), 1);
    QVERIFY(!nodeOf(canvas, QStringLiteral("main/while#0:body/equal#1")).contains(QStringLiteral("hits")));
    canvas.setHits({});
    QVERIFY(!nodeOf(canvas, QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("hits")));
}

void CanvasPictureTest::compareMarks()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    const QImage before = canvas.grab().toImage();
    canvas.setCompareMarks({{QStringLiteral("main/while#0:body/add#3"), CompareMark::farOver}});
    QVERIFY(statesOf(canvas, QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("far over tolerance")));
    QVERIFY(canvas.grab().toImage() != before);
    canvas.setCompareMarks({});
    QCOMPARE(canvas.grab().toImage(), before);
}

void CanvasPictureTest::bindingCardNamesTheWay()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    const SceneRegion& loop = canvas.scene()->regions.front();
    QCOMPARE(loop.bindings.size(), size_t(2));
    const int formal = loop.bindings[0].formal;
    QVERIFY(formal >= 0);
    canvas.selection().select({canvas.scene()->nodes[static_cast<size_t>(formal)].id});
    canvas.grab();
    QVERIFY(canvas.describe().contains(QStringLiteral("card")));
    QVERIFY(!rectOf(canvas.describe()[QStringLiteral("card")]).intersects(canvas.camera().nodeRect(formal)));
    keep(canvas, QStringLiteral("binding-card"));
}

/// One value for 20 consumers is cut: chips at its ends, which light together and lead to each other.
void CanvasPictureTest::portalsLeadToTheirEnds()
{
    std::string text = "graph main(x: f32[4], mask: f32[4]) {\n";
    for (int n = 0; n < 20; ++n)
        text += "  v" + std::to_string(n) + " = add(" + (n == 0 ? "x" : "v" + std::to_string(n - 1)) + ", mask) : f32[4]\n";
    text += "  return v19\n}\n";
    Result<Model> model = modelFromText(text, "masked");
    QVERIFY2(model.ok(), model.ok() ? "" : model.error().message().c_str());
    GraphCanvas canvas;
    canvas.resize(700, 900);
    canvas.setScene(sceneOf(*model, {}));
    canvas.camera().setViewport(1, QPointF(-200, -20));
    canvas.show();
    const QJsonArray portals = canvas.describe()[QStringLiteral("portals")].toArray();
    QVERIFY(portals.size() > 10);
    const auto chip = [&](const char* words) {
        for (const QJsonValue& one : portals)
            if (one.toObject()[QStringLiteral("text")].toString() == QString::fromUtf8(words))
                return rectOf(one.toObject()[QStringLiteral("rect")]);
        return QRectF();
    };
    const QRectF source = chip("mask → 20"), consumer = chip("mask ←");
    QVERIFY(!source.isEmpty() && !consumer.isEmpty());
    for (const int node : canvas.camera().visibleNodes()) QVERIFY(!canvas.camera().nodeRect(node).intersects(consumer));

    // Chips count for what they lead to.
    const auto hitsOf = [&](const char* words) {
        int most = 0;
        for (const QJsonValue& one : canvas.describe()[QStringLiteral("portals")].toArray())
            if (one.toObject()[QStringLiteral("text")].toString() == QString::fromUtf8(words))
                most = std::max(most, one.toObject()[QStringLiteral("hits")].toInt());
        return most;
    };
    QCOMPARE(hitsOf("mask → 20"), 0);
    canvas.setHits({QStringLiteral("main/add#3"), QStringLiteral("main/add#17")});
    QCOMPARE(hitsOf("mask → 20"), 2);
    QCOMPARE(hitsOf("mask ←"), 0);
    keep(canvas, QStringLiteral("portal-hits"));
    canvas.setHits({QStringLiteral("main>mask")});
    QCOMPARE(hitsOf("mask ←"), 1);
    canvas.setHits({});

    const QImage before = canvas.grab(consumer.toAlignedRect()).toImage();
    QTest::mouseMove(&canvas, source.center().toPoint());
    QVERIFY(canvas.grab(consumer.toAlignedRect()).toImage() != before); // the other ends light up
    keep(canvas, QStringLiteral("portals"));
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, consumer.center().toPoint());
    QCOMPARE(canvas.selection().addresses().front(), std::string("main>mask"));

    QVERIFY(canvas.commands().perform(QStringLiteral("drillIn")));
    auto* const ends = canvas.findChild<QMenu*>(QStringLiteral("portalEnds"));
    QVERIFY(ends);
    QCOMPARE(ends->actions().size(), 22); // the source, a line, 20 consumers
    ends->actions().last()->trigger();
    QCOMPARE(canvas.selection().addresses().front(), std::string("main/add#19"));
    ends->close();
}

/// Names stay as long as there is room for letters of 8 pixels.
void CanvasPictureTest::smallHeadsKeepTheirNames()
{
    const Model model = sample(QStringLiteral("collatz"));
    GraphCanvas canvas;
    canvas.resize(540, 580);
    canvas.setMinimapShown(false);
    canvas.setScene(sceneOf(model, inlined({"main/while#0"})));
    for (const double zoom : {0.42, 0.5, 0.58, 0.64}) {
        canvas.camera().setViewport(zoom, QPointF(-20, -20));
        QTest::qWait(130);
        const QImage picture = canvas.grab().toImage();
        const QRect head = canvas.camera().inWidget(canvas.scene()->regions[0].head).toAlignedRect().adjusted(20, 3, -3, -3);
        int dark = 0;
        for (int y = head.top(); y <= head.bottom(); ++y)
            for (int x = head.left(); x <= head.right(); ++x) dark += qGray(picture.pixel(x, y)) < 120;
        QVERIFY2(dark > 10, qPrintable(QString::number(zoom)));
        keep(canvas, QStringLiteral("head-%1").arg(qRound(zoom * 100)));
    }
}

/// A value that NextIteration has sent on is written at its edge, and nodes of the iteration that is shown wear theirs.
void CanvasPictureTest::v1TokensShowTheirValues()
{
    const Model model = sample(QStringLiteral("v1_collatz"));
    const auto scene = sceneOf(model, initialView(model));
    const SceneRegion& loop = scene->scene->regions[static_cast<size_t>(scene->scene->regionById.at("main/collatz"))];
    const LoopBinding& steps = loop.bindings[1];
    const SceneNode& next = scene->scene->nodes[static_cast<size_t>(steps.result)];
    const SceneNode& merge = scene->scene->nodes[static_cast<size_t>(steps.formal)];
    StopSnapshot stop;
    stop.started = stop.isDataflow = true;
    stop.address = "main/collatz@3:frame/half";
    DataflowFrame frame;
    frame.name = "collatz";
    frame.address = "main/collatz@4:frame";
    frame.graph = loop.graph;
    frame.oldestIteration = 3;
    frame.newestIteration = 4;
    stop.frames = {DataflowFrame(), frame};
    stop.tallies = {{merge.graph, merge.op, 4, 0, 3, -1}, {next.graph, next.op, 4, 0, 3, -1}};
    stop.values = {{merge.graph, merge.value, 1, 3, false, "3"}, {next.graph, next.value, 1, 4, false, "4"}};
    const CanvasState state = stateAt(*scene->scene, model, stop);
    QCOMPARE(state.tokens.size(), size_t(1));
    QCOMPARE(state.tokens[0].text, std::string("4 → @4"));
    QCOMPARE(scene->scene->edges[static_cast<size_t>(state.tokens[0].edge)].from, steps.result);
    QCOMPARE(state.nodes[static_cast<size_t>(steps.formal)].badge, std::string("3"));
    QCOMPARE(state.nodes[static_cast<size_t>(steps.result)].badge, std::string("4")); // what it gave in @3
    // A side of a conditional is taken or dead as its nodes are.
    const auto sideOf = [&](const char* node) {
        return static_cast<size_t>(scene->scene->nodes[static_cast<size_t>(scene->scene->findNode(node))].region);
    };
    const size_t half = sideOf("main/collatz:frame/half"), triple = sideOf("main/collatz:frame/triple");
    QVERIFY(half != triple);
    const auto tallyOf = [&](const char* node, int64_t live, int64_t dead) {
        const SceneNode& one = scene->scene->nodes[static_cast<size_t>(scene->scene->findNode(node))];
        stop.tallies.push_back({one.graph, one.op, 4, 1, live, dead});
    };
    QCOMPARE(state.regions[half].note, std::string());
    // One that waits for its turn with a dead operand is dead as well.
    const SceneNode& halving = scene->scene->nodes[static_cast<size_t>(scene->scene->findNode("main/collatz:frame/half"))];
    stop.ready = {{"main/collatz@3:frame/half", halving.graph, halving.op, 0, true}};
    QCOMPARE(stateAt(*scene->scene, model, stop).regions[half].note, std::string("dead"));
    stop.ready.clear();
    tallyOf("main/collatz:frame/half", -1, 3);
    tallyOf("main/collatz:frame/triple", 3, -1);
    const CanvasState decided = stateAt(*scene->scene, model, stop);
    QCOMPARE(decided.regions[half].note, std::string("dead"));
    QCOMPARE(decided.regions[half].run, RunState::untaken);
    QCOMPARE(decided.regions[triple].note, std::string("taken"));
    // Of a Switch the side that it sent its value to.
    const SceneNode& branch = scene->scene->nodes[static_cast<size_t>(scene->scene->findNode("main/collatz:frame/branch"))];
    stop.tallies.push_back({branch.graph, branch.op, 4, 0, 3, -1});
    const std::vector<ValueId>& sides = model.graph(branch.graph).op(branch.op).results;
    stop.values.push_back({branch.graph, sides[0], 1, 3, true, ""});
    stop.values.push_back({branch.graph, sides[1], 1, 3, false, "7"});
    const CanvasState sent = stateAt(*scene->scene, model, stop);
    QCOMPARE(sent.nodes[static_cast<size_t>(&branch - scene->scene->nodes.data())].badge, std::string(":1 7"));
    // In the iteration that it went to it is no longer under way.
    PictureMemory memory;
    memory.shownIterations["main/collatz"] = 4;
    QVERIFY(stateAt(*scene->scene, model, stop, memory).tokens.empty());
}

void CanvasPictureTest::v1States()
{
    const Model model = sample(QStringLiteral("v1_collatz"));
    const auto scene = sceneOf(model, {});
    StopSnapshot stop;
    stop.started = stop.isDataflow = true;
    // Three operators of the same frame: one ran, one is queued, one was dead.
    std::vector<const SceneNode*> ops;
    for (const SceneNode& node : scene->scene->nodes)
        if (node.kind == NodeKind::op && node.region < 0) ops.push_back(&node);
    QVERIFY2(ops.size() >= 3, "the scene folds its nodes");
    stop.tallies.push_back({ops[0]->graph, ops[0]->op, 1, 0, -1, -1});
    stop.tallies.push_back({ops[1]->graph, ops[1]->op, 0, 1, -1, -1});
    DataflowReady ready;
    ready.address = ops[2]->id;
    ready.graph = ops[2]->graph;
    ready.op = ops[2]->op;
    ready.willBeDead = true;
    stop.ready.push_back(ready);
    stop.address = ops[2]->id;
    const CanvasState state = stateAt(*scene->scene, model, stop);
    const auto of = [&](const SceneNode* node) { return state.nodes[static_cast<size_t>(node - scene->scene->nodes.data())]; };
    QCOMPARE(of(ops[0]).run, RunState::run);
    QCOMPARE(of(ops[1]).run, RunState::dead);
    QCOMPARE(of(ops[1]).badge, std::string("dead"));
    QCOMPARE(of(ops[2]).run, RunState::ready);
    QVERIFY(of(ops[2]).next && of(ops[2]).willBeDead);
    QCOMPARE(of(ops[2]).badge, std::string("dead"));
    GraphCanvas canvas;
    canvas.resize(700, 700);
    canvas.setStateSource([&](const Scene& s) { return stateAt(s, model, stop); });
    canvas.setScene(scene);
    keep(canvas, QStringLiteral("v1"));
}

/// Up to eight iterations are chips, more are a slider over all of them; nothing in it runs.
void CanvasPictureTest::framesOfManyIterationsHaveASlider()
{
    const Model model = sample(QStringLiteral("v1_collatz"));
    const auto scene = sceneOf(model, initialView(model));
    StopSnapshot stop;
    stop.started = stop.isDataflow = true;
    stop.address = "main/collatz@6:frame/half";
    DataflowFrame frame;
    frame.name = "collatz";
    frame.graph = scene->scene->graph;
    frame.oldestIteration = 6;
    frame.newestIteration = 7;
    stop.frames = {DataflowFrame(), frame};
    GraphCanvas canvas;
    canvas.resize(800, 900);
    canvas.setStateSource([&](const Scene& s) { return stateAt(s, model, stop); });
    canvas.setScene(scene);
    const auto head = [&] { return canvas.describe()[QStringLiteral("regions")].toArray()[0].toObject(); };
    QCOMPARE(head()[QStringLiteral("chips")].toArray().size(), 8);
    QVERIFY(!head().contains(QStringLiteral("slider")));
    stop.frames[1].newestIteration = 99;
    canvas.refreshState();
    QVERIFY(!head().contains(QStringLiteral("chips")));
    QCOMPARE(head()[QStringLiteral("iteration")].toInt(), 6);
    keep(canvas, QStringLiteral("frame-slider"));
    QSignalSpy moved(&canvas.input(), &CanvasInput::loopMoved);
    const QRectF slider = rectOf(head()[QStringLiteral("slider")]);
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, (slider.topRight() + QPointF(4, slider.height() / 2)).toPoint());
    QCOMPARE(moved.last()[1].toInt(), 99); // not beyond the newest
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::CanvasPictureTest)
#include "canvas_picture_test.moc"
