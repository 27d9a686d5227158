// The graph panel with a real run behind it: stops, breakpoints, selection both ways, calls opened three ways, the loop slider.
#include "../text_backend.h"
#include "canvas_fixture.h"
#include "viewer/canvas/graph_panel.h"
#include "viewer/style/theme.h"

#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QToolButton>

namespace loopscope::viewer {

using namespace testing;

class GraphPanelTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }
    void init();
    void cleanup();
    void hasTheNamesOfTheDesign();
    void followsStops();
    void selectionGoesBothWays();
    void opensCalleesThreeWays();
    void calleeOpensBesideItsCaller();
    void calleeBesideFollowsTheRun();
    void altClickSplits();
    void stateBringsPlaceAndCalleeBack();
    void chosenIterationsComeBackWhereTheyWereChosen();
    void hitsAreMarked();
    void breakpointIsACommand();
    void sliderIsACommand();
    void whatIsDraggedCanBeDropped();
    void revealOpensWhatHides();
    void upGoesToTheCaller();
    void headKnowsWhatDecided();
    void valuesAreShownFromNear();
    void iterationIsTyped();
    void exportsPictures();

private:
    TextBackend* m_backend = nullptr;
    std::unique_ptr<Document> m_document;
    std::unique_ptr<GraphPanel> m_panel;
};

void GraphPanelTest::init()
{
    auto backend = std::make_unique<TextBackend>(sample(QStringLiteral("collatz")), std::vector<Array>{arrayOf<int32_t>(Shape(), {27})});
    m_backend = backend.get();
    m_document = std::make_unique<Document>(std::move(backend));
    m_panel = std::make_unique<GraphPanel>(*m_document);
    m_panel->resize(600, 600);
    m_panel->show();
    ViewState view;
    view.inlined.insert("main/while#0");
    m_document->setView(view);
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    QVERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/add#3") >= 0);
}

void GraphPanelTest::cleanup()
{
    m_panel.reset();
    m_document.reset();
}

void GraphPanelTest::hasTheNamesOfTheDesign()
{
    QCOMPARE(m_panel->objectName(), QStringLiteral("panelGraph"));
    QVERIFY(m_panel->findChild<GraphCanvas*>(QStringLiteral("graphCanvas")));
    QVERIFY(m_panel->findChild<QWidget*>(QStringLiteral("minimap")));
    QCOMPARE(m_panel->focusTarget(), static_cast<QWidget*>(&m_panel->canvas()));
}

void GraphPanelTest::followsStops()
{
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    QVERIFY(m_backend->errors.empty());
    QVERIFY(statesOf(m_panel->canvas(), QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("next")));
    QVERIFY(statesOf(m_panel->canvas(), QStringLiteral("main/while#0:body/equal#1")).contains(QStringLiteral("run")));
    QCOMPARE(m_panel->canvas().describe()[QStringLiteral("regions")].toArray()[0].toObject()[QStringLiteral("iteration")].toInt(), 5);
    keep(*m_panel, QStringLiteral("panel-stopped"));
}

void GraphPanelTest::selectionGoesBothWays()
{
    QVERIFY(m_document->select("main/while#0:body/equal#1"));
    QCOMPARE(m_panel->canvas().selection().addresses().front(), std::string("main/while#0:body/equal#1"));
    const int node = m_panel->canvas().scene()->findNode("main/while#0:body/add#3");
    QTest::mouseClick(&m_panel->canvas(), Qt::LeftButton, {}, m_panel->canvas().camera().nodeRect(node).center().toPoint());
    QVERIFY(QString::fromStdString(m_document->selection().address).startsWith(QStringLiteral("main/while#0")));
    QCOMPARE(m_document->selection().op, OperatorId(3));
    m_document->clearSelection();
    QVERIFY(m_panel->canvas().selection().addresses().empty());
}

void GraphPanelTest::opensCalleesThreeWays()
{
    m_panel->canvas().selection().select({"main/while#0:body/if#2"});
    QVERIFY(m_panel->command(QStringLiteral("inlineCallee")));
    QVERIFY(m_document->view().inlined.contains("main/while#0:body/if#2"));
    QTRY_VERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0") >= 0);
    QCOMPARE(m_document->openCallee(), OpenCallee::inlineHere);
    ViewState plain;
    m_document->setView(plain);
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    m_panel->canvas().selection().select({"main/while#0"});
    QVERIFY(m_panel->command(QStringLiteral("drillIn")));
    QCOMPARE(m_document->view().root, std::string("main/while#0:body"));
}

/// Each pane takes a part of the panel, neither covers the other, and what the keys do goes to the one with the focus.
void GraphPanelTest::calleeOpensBesideItsCaller()
{
    QVERIFY(!m_panel->calleeCanvas());
    m_panel->canvas().selection().select({"main/while#0:body/if#2"});
    QVERIFY(m_panel->command(QStringLiteral("splitCallee")));
    GraphCanvas* const callee = m_panel->calleeCanvas();
    QVERIFY(callee);
    QTRY_VERIFY(m_panel->settled());
    QVERIFY(callee->view().root.starts_with("main/while#0:body/if#2:"));
    QVERIFY(callee->isVisible());
    QCOMPARE(m_document->view().root, std::string("main"));
    QCOMPARE(m_document->openCallee(), OpenCallee::split);
    const auto placeOf = [&](const QWidget& widget) { return QRect(widget.mapTo(m_panel.get(), QPoint()), widget.size()); };
    QVERIFY(!placeOf(m_panel->canvas()).intersects(placeOf(*callee)));
    QVERIFY(m_panel->canvas().height() > 150 && callee->height() > 150);
    keep(*m_panel, QStringLiteral("panel-split"));

    // Selecting in one selects in the document, which both show.
    const int node = callee->camera().visibleNodes().back();
    QTest::mouseClick(callee, Qt::LeftButton, {}, callee->camera().nodeRect(node).center().toPoint());
    QVERIFY(QString::fromStdString(m_document->selection().address).startsWith(QString::fromStdString(callee->view().root)));

    // From the callee up to the call, which the caller shows selected; then closed by the key that opened it.
    emit callee->input().focused();
    QVERIFY(m_panel->command(QStringLiteral("up")));
    QCOMPARE(m_document->selection().address, std::string("main/while#0:body/if#2"));
    QCOMPARE(m_panel->canvas().selection().addresses().front(), std::string("main/while#0:body/if#2"));
    QVERIFY(m_panel->command(QStringLiteral("splitCallee")));
    QVERIFY(!m_panel->calleeCanvas());
}

void GraphPanelTest::calleeBesideFollowsTheRun()
{
    m_document->setView({});
    m_document->setOpenCallee(OpenCallee::split);
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    QVERIFY(m_backend->errors.empty());
    QVERIFY(m_document->view().inlined.empty());
    QVERIFY(m_panel->calleeCanvas());
    QTRY_VERIFY(m_panel->settled());
    QCOMPARE(m_panel->calleeCanvas()->view().root, std::string("main/while#0:body"));
    QVERIFY(statesOf(*m_panel->calleeCanvas(), QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("next")));
    QVERIFY(statesOf(m_panel->canvas(), QStringLiteral("main/while#0")).contains(QStringLiteral("next")));
    auto* const name = m_panel->findChild<QLabel*>(QStringLiteral("calleeName"));
    QCOMPARE(name->toolTip(), QStringLiteral("main/while#0@5:body"));
    // What the callee calls is drawn inside of it.
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/if#2:else/mul#0"));
    QVERIFY(m_backend->errors.empty());
    QTRY_VERIFY(m_panel->settled());
    QCOMPARE(m_panel->calleeCanvas()->view().root, std::string("main/while#0:body"));
    QVERIFY(statesOf(*m_panel->calleeCanvas(), QStringLiteral("main/while#0:body/if#2:else/mul#0")).contains(QStringLiteral("next")));
    // Closed, it stays closed while the run goes on in it.
    m_panel->findChild<QToolButton*>(QStringLiteral("calleeClose"))->click();
    QVERIFY(!m_panel->calleeCanvas());
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@6:body/add#3"));
    QVERIFY(!m_panel->calleeCanvas());
}

/// What a session keeps: where the user has put the picture, and the callee beside it.
void GraphPanelTest::stateBringsPlaceAndCalleeBack()
{
    QVERIFY(m_panel->state().isEmpty()); // nobody has moved anything
    QSignalSpy changed(m_panel.get(), &Panel::stateChanged);
    m_panel->canvas().selection().select({"main/while#0:body/if#2"});
    QVERIFY(m_panel->command(QStringLiteral("splitCallee")));
    QTRY_VERIFY(m_panel->settled());
    QCOMPARE(changed.count(), 1);
    m_panel->canvas().camera().setViewport(1.3, QPointF(60, 90));
    QVERIFY(changed.count() > 1);
    const QJsonObject state = m_panel->state();
    const QPointF middle = m_panel->canvas().camera().sceneInView().center();

    GraphPanel other(*m_document);
    other.resize(m_panel->size());
    other.show();
    other.setState(state); // before its picture is there
    QTRY_VERIFY(other.settled() && other.canvas().scene());
    QVERIFY(other.calleeCanvas());
    QCOMPARE(other.calleeCanvas()->view().root, m_panel->calleeCanvas()->view().root);
    QCOMPARE(other.canvas().camera().zoom(), 1.3);
    QVERIFY((other.canvas().camera().sceneInView().center() - middle).manhattanLength() < 40);
    QCOMPARE(other.state()[QStringLiteral("callee")].toObject()[QStringLiteral("root")],
             state[QStringLiteral("callee")].toObject()[QStringLiteral("root")]);

    // A callee that this model does not have is left out.
    QJsonObject wrong = state;
    wrong[QStringLiteral("callee")] = QJsonObject{{QStringLiteral("root"), QStringLiteral("main/while#9:body")}};
    GraphPanel third(*m_document);
    third.setState(wrong);
    QVERIFY(!third.calleeCanvas());
}

/// The user's choice of an iteration of a v1 frame holds at the stop at which it was made.
void GraphPanelTest::chosenIterationsComeBackWhereTheyWereChosen()
{
    QFile file(QStringLiteral("samples/text/v1_collatz.lsir"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QByteArray text = file.readAll();
    text.replace("Placeholder() dtype=i32 shape=shape[]", "Const() dtype=i32 value=i32[] 6");
    Document document(std::make_unique<TextBackend>(textModel(text.constData()), std::vector<Array>()));
    GraphPanel panel(document);
    panel.resize(700, 800);
    panel.show();
    QTRY_VERIFY(panel.settled() && panel.canvas().scene());
    executeAndSettle(document, QStringLiteral("start"));
    executeAndSettle(document, QStringLiteral("goto main/collatz@3:frame/x/now"));
    const auto iteration = [&] {
        return panel.canvas().describe()[QStringLiteral("regions")].toArray()[0].toObject()[QStringLiteral("iteration")].toInt(-1);
    };
    QCOMPARE(iteration(), 3);
    emit panel.canvas().input().frameIterationChosen(0, 1);
    QCOMPARE(iteration(), 1);
    const QJsonObject state = panel.state();
    const int64_t tick = document.stop()->tick;
    executeAndSettle(document, QStringLiteral("step"));
    QCOMPARE(iteration(), 3); // what is next matters again
    GraphPanel later(document);
    later.resize(700, 800);
    QTRY_VERIFY(later.settled() && later.canvas().scene());
    later.setState(state);
    executeAndSettle(document, QStringLiteral("goto main/collatz@3:frame/x/now"));
    QCOMPARE(document.stop()->tick, tick);
    QCOMPARE(iteration(), 1);
    QCOMPARE(later.canvas().describe()[QStringLiteral("regions")].toArray()[0].toObject()[QStringLiteral("iteration")].toInt(-1), 1);
    // And every node that ran in the iteration that is shown has its value, as long as it is one number.
    for (int i = 0; i < 30; ++i) {
        executeAndSettle(document, QStringLiteral("step"));
        const StopSnapshot& stop = *document.stop();
        const Scene& scene = *panel.canvas().scene();
        for (const char* name : {"main/collatz:frame/LoopCond", "main/collatz:frame/more", "main/collatz:frame/x/Switch"}) {
            const auto node = static_cast<size_t>(scene.findNode(name));
            const NodeState& shown = panel.canvas().state().nodes[node];
            const bool isGone = stop.frames.size() > 1 && iteration() < stop.frames[1].oldestIteration;
            if (shown.run == RunState::run && !isGone)
                QVERIFY2(!shown.badge.empty(),
                         qPrintable(QStringLiteral("%1 at step %2").arg(QString::fromLatin1(name)).arg(stop.position.step)));
        }
    }
}

void GraphPanelTest::altClickSplits()
{
    const int node = m_panel->canvas().scene()->findNode("main/while#0:body/if#2");
    QTest::mouseClick(&m_panel->canvas(), Qt::LeftButton, Qt::AltModifier, m_panel->canvas().camera().nodeRect(node).center().toPoint());
    QVERIFY(m_panel->calleeCanvas());
    // What is open is open in both.
    QVERIFY(m_panel->command(QStringLiteral("attributes")));
    QVERIFY(m_document->view().showAttributes);
    QVERIFY(m_panel->calleeCanvas()->view().showAttributes);
    QVERIFY(m_panel->canvas().view().showAttributes);
    QCOMPARE(m_panel->canvas().view().root, std::string("main"));
}

void GraphPanelTest::hitsAreMarked()
{
    m_document->setHits({QStringLiteral("main/while#0:body/add#3"), QStringLiteral("main/while#0:body/if#2:else/mul#0"),
                         QStringLiteral("main/while#0:body/if#2:else/add#1")});
    QCOMPARE(nodeOf(m_panel->canvas(), QStringLiteral("main/while#0:body/add#3"))[QStringLiteral("hits")].toInt(), 1);
    QCOMPARE(nodeOf(m_panel->canvas(), QStringLiteral("main/while#0:body/if#2"))[QStringLiteral("hits")].toInt(), 2);
    m_document->setHits({});
    QVERIFY(!nodeOf(m_panel->canvas(), QStringLiteral("main/while#0:body/if#2")).contains(QStringLiteral("hits")));
}

void GraphPanelTest::breakpointIsACommand()
{
    emit m_panel->canvas().breakpointRequested(QStringLiteral("main/while#0:body/add#3"));
    QTRY_VERIFY(!m_document->bridge().busy());
    QTRY_VERIFY(!m_backend->lines.empty());
    QCOMPARE(m_backend->lines.back(), std::string("break main/while#0:body/add#3"));
}

void GraphPanelTest::sliderIsACommand()
{
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    emit m_panel->canvas().input().loopMoved(0, 20, true);
    QTRY_COMPARE(m_document->stop()->stack.back().info.iteration, int64_t(20));
    QVERIFY(m_backend->errors.empty());
    QCOMPARE(m_backend->lines.back(), std::string("iter 20"));
    emit m_panel->canvas().input().loopMoved(0, 30, false); // dragging only looks
    QCOMPARE(m_document->preview(), std::optional<int64_t>(30));
    QCOMPARE(m_backend->lines.back(), std::string("iter 20"));
}

void GraphPanelTest::whatIsDraggedCanBeDropped()
{
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("end"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    GraphCanvas& canvas = m_panel->canvas();
    const auto slider = [&] {
        for (const QJsonValue& region : canvas.describe()[QStringLiteral("regions")].toArray())
            if (region.toObject().contains(QStringLiteral("slider"))) return rectOf(region.toObject()[QStringLiteral("slider")]);
        return QRectF();
    }();
    QVERIFY(!slider.isEmpty());
    const auto press = [&] {
        QTest::mousePress(&canvas, Qt::LeftButton, {}, slider.center().toPoint());
        QVERIFY(m_document->preview());
    };
    press();
    QTest::keyClick(&canvas, Qt::Key_Escape);
    QVERIFY(!m_document->preview()); // values of the stop are shown again
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, slider.center().toPoint());
    press();
    canvas.setScene(sceneOf(m_document->model(), canvas.view())); // another picture
    QVERIFY(!m_document->preview());
}

void GraphPanelTest::revealOpensWhatHides()
{
    m_document->setView({});
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    QVERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0") < 0);
    m_document->reveal("main/while#0@3:body/if#2:else/mul#0");
    QTRY_VERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0") >= 0);
    const int node = m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0");
    QVERIFY(QRectF(m_panel->canvas().rect()).contains(m_panel->canvas().camera().nodeRect(node)));
}

void GraphPanelTest::upGoesToTheCaller()
{
    ViewState inside;
    inside.root = "main/while#0:body";
    m_document->setView(inside);
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    QVERIFY(m_panel->command(QStringLiteral("up")));
    QCOMPARE(m_document->view().root, std::string("main"));
    QCOMPARE(m_document->selection().op, OperatorId(0));
}

QJsonObject loopOf(const GraphCanvas& canvas) { return canvas.describe()[QStringLiteral("regions")].toArray()[0].toObject(); }

/// "of ?" until the loop was seen to its end, what decided each iteration, and the number of the last run when it runs again.
void GraphPanelTest::headKnowsWhatDecided()
{
    GraphCanvas& canvas = m_panel->canvas();
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@1:body/add#3"));
    QVERIFY(m_backend->errors.empty());
    QVERIFY(!loopOf(canvas).contains(QStringLiteral("trips")));
    QCOMPARE(loopOf(canvas)[QStringLiteral("decided")].toString(), QStringLiteral("82!=1 true")); // 27 → 82
    executeAndSettle(*m_document, QStringLiteral("continue"));
    QCOMPARE(loopOf(canvas)[QStringLiteral("trips")].toInt(), 111);
    QCOMPARE(loopOf(canvas)[QStringLiteral("decided")].toString(), QStringLiteral("false"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@1:body/add#3"));
    QCOMPARE(loopOf(canvas)[QStringLiteral("trips")].toInt(), 111);
    QVERIFY(!loopOf(canvas).contains(QStringLiteral("tripsFromEarlier")));
    executeAndSettle(*m_document, QStringLiteral("start")); // forgets what the run before has shown
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@1:body/add#3"));
    QCOMPARE(loopOf(canvas)[QStringLiteral("trips")].toInt(), 111);
    QVERIFY(loopOf(canvas)[QStringLiteral("tripsFromEarlier")].toBool());
    keep(*m_panel, QStringLiteral("panel-last-run"));
}

/// From near, operators have their values written beside them: those of the invocations that are open.
void GraphPanelTest::valuesAreShownFromNear()
{
    GraphCanvas& canvas = m_panel->canvas();
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@1:body/add#3"));
    const QString odd = QStringLiteral("main/while#0:body/floor_mod#0");
    QVERIFY(!nodeOf(canvas, odd).contains(QStringLiteral("value")));
    canvas.camera().setViewport(2, canvas.camera().origin());
    QVERIFY(canvas.reveal(odd.toStdString(), true));
    QCOMPARE(canvas.camera().level(), 4);
    QTRY_COMPARE(nodeOf(canvas, odd)[QStringLiteral("value")].toString(), QStringLiteral("0"));            // 82 mod 2
    QVERIFY(!nodeOf(canvas, QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("value"))); // it is next
    keep(*m_panel, QStringLiteral("panel-details"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@2:body/add#3"));
    QTRY_COMPARE(nodeOf(canvas, odd)[QStringLiteral("value")].toString(), QStringLiteral("1")); // 41 mod 2
}

void GraphPanelTest::iterationIsTyped()
{
    GraphCanvas& canvas = m_panel->canvas();
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    const QRectF field = rectOf(loopOf(canvas)[QStringLiteral("field")]);
    const auto type = [&](const char* keys, Qt::Key last) {
        QTest::mouseClick(&canvas, Qt::LeftButton, {}, field.center().toPoint());
        auto* const edit = canvas.findChild<QLineEdit*>(QStringLiteral("iterationField"));
        QVERIFY(edit && edit->isVisible());
        QTest::keyClicks(edit, QString::fromLatin1(keys));
        QTest::keyClick(edit, last);
        QVERIFY(!edit->isVisible());
    };
    const size_t before = m_backend->lines.size();
    type("7", Qt::Key_Escape);
    QCOMPARE(m_backend->lines.size(), before);
    type("12x", Qt::Key_Return); // takes digits only
    QTRY_COMPARE(m_document->stop()->stack.back().info.iteration, int64_t(12));
    QCOMPARE(m_backend->lines.back(), std::string("iter 12"));
}

void GraphPanelTest::exportsPictures()
{
    QTemporaryDir folder;
    for (const char* name : {"a.png", "a.svg", "a.pdf"}) {
        const QString file = folder.filePath(QString::fromLatin1(name));
        QVERIFY(m_panel->command(QStringLiteral("exportTo ") + file));
        QVERIFY2(QFileInfo(file).size() > 2000, name);
    }
    QVERIFY(m_document->problems().empty());
    const QImage picture(folder.filePath(QStringLiteral("a.png")));
    QCOMPARE(picture.width(), static_cast<int>(2 * (m_panel->canvas().scene()->bounds.width + 24)));
    QVERIFY(m_panel->command(QStringLiteral("exportTo ") + folder.filePath(QStringLiteral("a.gif"))));
    QCOMPARE(m_document->problems().size(), size_t(1));
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::GraphPanelTest)
#include "graph_panel_test.moc"
