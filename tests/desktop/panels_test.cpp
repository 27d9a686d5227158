// The panels in the window: what is done in one is seen in the others, by pointer and by key, and by who cannot see it.
#include "driven_window.h"
#include "viewer/canvas/canvas_description.h"
#include "viewer/canvas/graph_panel.h"
#include "viewer/panels/listing_view.h"
#include "viewer/panels/norm_chart.h"
#include "viewer/widgets/rows.h"
#include "viewer/window/accessibility.h"

#include <QAccessible>
#include <QJsonArray>
#include <QJsonDocument>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTextBrowser>

using namespace loopscope;
using namespace loopscope::viewer;
using viewer::testing::rowsOf;

class PanelsTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    // --- what is chosen in one panel is shown in the others -------------------------------------------------------------------------

    void aRowOfTheStructureIsSelectedEverywhere()
    {
        open("collatz.lsir");
        clickRow("structureTree", "while#0");
        QCOMPARE(selected(), QString("main/while#0"));
        QCOMPARE(canvas().selection().addresses().front(), std::string("main/while#0"));
        const QStringList properties = rowsOf(find<QTreeView>("propertyTable"));
        QVERIFY2(properties.join('\n').contains("main/while#0"), qPrintable(properties.join('\n')));
    }

    void aSubgraphIsShownInTheGraph()
    {
        open("collatz.lsir");
        enter("panelSubgraphs");
        const QStringList rows = rowsOf(find<QTreeView>("subgraphTable"));
        QCOMPARE(rows.size(), 5);
        chooseRow("subgraphTable", "half");
        QVERIFY2(m_window->document()->view().root.ends_with("if#2:then"), m_window->document()->view().root.c_str());
        press("Backspace"); // up to the caller
        enter("panelGraph");
        press("Backspace");
        QVERIFY(!m_window->document()->view().root.ends_with("then"));
    }

    void aNodeOfTheGraphIsSelectedInTheListing()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@3:body/if#2");
        GraphCanvas& graph = canvas();
        const int node = graph.scene()->findNode("main/while#0:body/floor_mod#0");
        QVERIFY(node >= 0);
        QTest::mouseClick(&graph, Qt::LeftButton, {}, graph.camera().nodeRect(node).center().toPoint());
        settle();
        QCOMPARE(selected(), QString("main/while#0@3:body/floor_mod#0"));
        auto* const tensor = m_window->area()->panel("panelTensor");
        QCOMPARE(tensor->title(), QString("rest"));
    }

    void anInvocationBecomesTheMoment()
    {
        open("collatz.lsir", {{"x", "6"}});
        execute("run");
        enter("panelInvocations");
        auto* const tree = find<QTreeView>("invocationTree");
        tree->expandAll();
        settle();
        chooseRow("invocationTree", "@3");
        QVERIFY2(address().startsWith("main/while#0@3:"), qPrintable(address()));
    }

    void whatHasEndedIsShownInTheGraph()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@20:body/add#3");
        const int64_t tick = stop().tick;
        m_window->document()->select("main/while#0:body/add#3");
        settle();
        const auto shown = [this] { return canvas().describe()["valueCard"].toString(); };
        const auto next = static_cast<size_t>(canvas().scene()->findNode("main/while#0:body/add#3"));
        const auto region = static_cast<size_t>(canvas().scene()->nodes[next].region);
        QVERIFY(canvas().state().nodes[next].next);
        QCOMPARE(shown(), QString()); // it has not run here
        m_window->document()->lookAt("main/while#0@10:body");
        settle();
        QTRY_COMPARE(shown(), QString("next_count @10 11"));
        QVERIFY(!canvas().state().nodes[next].next);
        QCOMPARE(canvas().state().nodes[next].run, RunState::run); // the iteration has ended
        QCOMPARE(canvas().state().regions[region].iteration, std::optional<int64_t>(10));
        m_window->document()->lookAt({});
        settle();
        QTRY_COMPARE(shown(), QString());
        QVERIFY(canvas().state().nodes[next].next);
        m_window->document()->setPreview(12, "main/while#0:body");
        QTRY_COMPARE(shown(), QString("next_count \u2248 @12 13"));
        m_window->document()->setPreview(std::nullopt);
        QTRY_COMPARE(shown(), QString());
        QCOMPARE(stop().tick, tick);
    }

    void sidesAreFactsOfTheirInvocation()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        ViewState view = m_window->document()->view();
        view.inlined = {"main/while#0", "main/while#0:body/if#2"};
        m_window->document()->setView(view);
        execute("goto while#0@37:body/add#3"); // the branch has returned; n is 593 there
        const auto stateOf = [this](const char* id) {
            const int node = canvas().scene()->findNode(id);
            return node < 0 ? RunState::waiting : canvas().state().nodes[static_cast<size_t>(node)].run;
        };
        const char* const half = "main/while#0:body/if#2:then/floor_div#0";
        const char* const triple = "main/while#0:body/if#2:else/mul#0";
        QTRY_COMPARE(stateOf(triple), RunState::run); // which is odd
        QCOMPARE(stateOf(half), RunState::untaken);
        QTRY_COMPARE(sidesIn("@37"), QStringList({"then  half|untaken", "else  triple|2"}));
        // An iteration that has ended, looked back at, and in the tree.
        m_window->document()->lookAt("main/while#0@1:body"); // 82 is even
        QTRY_COMPARE(stateOf(half), RunState::run);
        QCOMPARE(stateOf(triple), RunState::untaken);
        QTRY_COMPARE(sidesIn("@1"), QStringList({"then  half|1", "else  triple|untaken"}));
        m_window->document()->lookAt({});
        // Behind the loop its last iteration is shown: 2 was halved.
        execute("until");
        settle();
        QVERIFY(stop().finished);
        QTRY_COMPARE(stateOf(half), RunState::run);
        QTRY_COMPARE(stateOf(triple), RunState::untaken);
        // The listing of the loop's body says which side it was.
        execute("goto while#0@0:body/add#3");
        auto* const listing = find<ListingView>("listingView");
        QTRY_VERIFY(listing->state().notes.contains(2));
        QCOMPARE(listing->state().notes.at(2), QString("else taken"));
    }

    void aFrameOfTheStackIsLookedAt()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2:else/mul#0");
        enter("panelVariables");
        QVERIFY(rowsOf(find<QTreeView>("variableTable")).filter("n  i32[]").first().endsWith("31"));
        const int64_t tick = stop().tick;
        enter("panelCallStack");
        clickRow("callStackTable", "1  while#0");
        QCOMPARE(m_window->document()->frame(), 1);
        QCOMPARE(stop().tick, tick); // looking is free
    }

    void marksAndBookmarks()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        press("Ctrl+B");
        press("Ctrl+PgDown");
        enter("panelMarks");
        QCOMPARE(rowsOf(find<QTreeView>("markTable")).size(), 1);
        chooseRow("markTable", "mark1");
        QCOMPARE(address(), QString("main/while#0@5:body/if#2"));
        press("Ctrl+PgDown");
        press("Ctrl+1");
        QCOMPARE(address(), QString("main/while#0@5:body/if#2"));
    }

    void problemsAreWalkedByKey()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto nowhere");
        press("F8");
        QVERIFY(m_window->area()->isOpen("panelProblems"));
        QVERIFY(rowsOf(find<QTreeView>("problemTable")).first().contains("nowhere"));
    }

    void theConsoleHearsClicksAndIsHeard()
    {
        open("collatz.lsir", {{"x", "27"}});
        trigger("stepInto");
        const QString log = find<QTextBrowser>("consoleLog")->toPlainText();
        QVERIFY2(log.contains("start"), qPrintable(log));
        press("Ctrl+`");
        type("goto while#0@7:body/if#2");
        press("Return");
        QCOMPARE(address(), QString("main/while#0@7:body/if#2"));
    }

    void bothListingsFollowTheStop()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@7:body/if#2");
        QJsonObject shown;
        for (const char* const view : {"listingView", "structuredView"}) {
            enter(view == QString("listingView") ? "panelListing" : "panelStructured");
            auto* const listing = find<ListingView>(view);
            QVERIFY(listing && listing->isVisible());
            QVERIFY2(listing->state().current.ends_with("while#0:body/if#2"), listing->state().current.c_str());
        }
    }

    void theNextLineIsInSightHoweverTheListingCameToBeSeen()
    {
        QFile file(m_folder->path() + "/long.lsir");
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("graph main(v0: f32[1]) {\n");
        for (int k = 1; k <= 40; ++k) file.write(QString("  v%1 = neg(v%2) : f32[1]\n").arg(k).arg(k - 1).toUtf8());
        file.write("  return v40\n}\n");
        file.close();
        open(file.fileName(), {{"v0", "1"}});
        QCOMPARE(m_window->task(), Task::browse); // where there is no listing
        for (const int line : {14, 30}) {
            execute(QString("tbreak main/neg#%1").arg(line));
            execute("run");
            QCOMPARE(m_window->task(), Task::debug);
            auto* const view = static_cast<ListingView*>(find("listingView"));
            const std::vector<int> seen = view->linesInSight();
            const int shown = static_cast<int>(view->viewport()->height() / Theme::instance().rowHeight()); // wholly
            const auto at = std::ranges::find(seen, line);
            QVERIFY2(at != seen.end() && at - seen.begin() < shown, qPrintable(QString("%1 of %2").arg(line).arg(seen.front())));
            m_window->setTask(Task::browse);
            settle();
        }
    }
    void theTimelineKnowsWhatRan()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("run");
        QJsonObject course;
        QVERIFY(QMetaObject::invokeMethod(find<QWidget>("timelineBar"), "describe", Q_RETURN_ARG(QJsonObject, course)));
        QVERIFY2(!course["marks"].isUndefined() && !course["lanes"].toArray().isEmpty(), QJsonDocument(course).toJson().constData());
    }

    void theTimelineHasLanesOfJumpsAndOfTheRecording()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("record on " + m_folder->path() + "/run.lstrace");
        execute("start");
        execute("goto while#0@37:body/if#2");
        enter("panelTimeline");
        const auto course = [this] {
            QJsonObject told;
            QMetaObject::invokeMethod(find<QWidget>("timelineBar"), "describe", Q_RETURN_ARG(QJsonObject, told));
            return told;
        };
        const int64_t there = stop().position.step;
        QTRY_COMPARE(course()["recorded"].toArray(), (QJsonArray{0, static_cast<qint64>(there)}));
        QVERIFY(!course().contains("jumps")); // what had not run before is no jump
        execute("iter 5");
        const int64_t back = stop().position.step;
        QCOMPARE(course()["jumps"].toArray(), (QJsonArray{QJsonArray{static_cast<qint64>(there), static_cast<qint64>(back)}}));
        execute("step");
        execute("goto while#0@37:body/if#2"); // over what ran already
        QCOMPARE(course()["jumps"].toArray().size(), 2);
        QStringList kinds;
        for (const QJsonValue& lane : course()["lanes"].toArray()) kinds.append(lane["kind"].toString());
        QVERIFY2(kinds.contains("jumps") && kinds.contains("recorded"), qPrintable(kinds.join(' ')));
    }

    // A jump hears no loop on its way; the survey that draws the timeline tells everybody.
    void heardLoopsHaveTheirLength()
    {
        open("nested_loops.lsir", {{"rows", "3"}, {"columns", "4"}});
        execute("start");
        execute("goto step:60");
        execute("goto main/while#0@0:body/while#0@2:body/add#1");
        QCOMPARE(stop().stack.back().knownTrips, std::optional<int64_t>(4));
        for (const QJsonValue& one : canvas().describe()["regions"].toArray()) {
            const QJsonObject loop = one.toObject();
            if (loop["id"].toString() == "main/while#0:body/while#0:body") QCOMPARE(loop["trips"].toInt(), 4);
            QVERIFY(!loop.contains("tripsFromEarlier"));
        }
    }

    // --- TensorFlow 1 graphs --------------------------------------------------------------------------------------------------------

    void framesTokensAndTheOperatorOfADataflowRun()
    {
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("tbreak dead half");
        execute("run");
        QVERIFY(stop().isDataflow);
        QVERIFY(rowsOf(find<QTreeView>("frameTree")).join('\n').contains("@0"));
        const QStringList tokens = rowsOf(find<QTreeView>("tokenTable"));
        QVERIFY2(tokens.first().startsWith("Ready set"), qPrintable(tokens.join('\n')));
        enter("panelOperator");
        QVERIFY(!rowsOf(find<QTreeView>("operatorTable")).isEmpty());
        const int node = canvas().scene()->findNode(staticAddress(address().toStdString()));
        QVERIFY(node >= 0);
        QVERIFY2(accessibleText(canvas(), node).contains("next to run"), qPrintable(accessibleText(canvas(), node)));
    }

    // --- recordings -----------------------------------------------------------------------------------------------------------------

    void aRecordingIsAskedAndEnteredThere()
    {
        open("collatz.lsir", {{"x", "27"}});
        const QString path = m_folder->path() + "/run.lstrace";
        execute("record on " + path);
        execute("run");
        execute("record off");
        open(path);
        QCOMPARE(m_window->task(), Task::trace);
        QVERIFY(m_window->document()->backend().isReplay());
        auto* const editor = find<QPlainTextEdit>("sqlEditor");
        editor->setPlainText("SELECT address FROM value_history WHERE value = 'next_n' ORDER BY max DESC LIMIT 1");
        editor->setFocus();
        press("Ctrl+Return");
        auto* const result = find<QTableView>("resultTable");
        QTRY_VERIFY(result->model()->rowCount() == 1);
        QCOMPARE(result->model()->index(0, 0).data().toString(), QString("main/while#0@76:body/if#2:0"));
        execute("start");
        execute("goto main/while#0@76:body/if#2");
        QCOMPARE(address(), QString("main/while#0@76:body/if#2"));
        QCOMPARE(m_window->status()->stateText(), QString("Replaying"));
    }

    // --- for who does not see it or uses no pointer ---------------------------------------------------------------------------------

    void theStatusIsReadOut()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break main/while#0:body/if#2 if n > 1000");
        execute("run");
        QAccessibleInterface* const status = QAccessible::queryAccessibleInterface(m_window->status());
        QVERIFY(status);
        QCOMPARE(status->role(), QAccessible::StatusBar);
        const QString iteration = address().section('@', 1).section(':', 0, 0);
        QCOMPARE(status->text(QAccessible::Name), "Stopped. Breakpoint 1 on if#2, n > 1000. if 2, iteration " + iteration + ".");
    }

    void nodesAreReadOut()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break main/while#0:body/if#2");
        execute("run");
        QAccessibleInterface* const graph = QAccessible::queryAccessibleInterface(&canvas());
        QVERIFY(graph && graph->childCount() > 0);
        QStringList names;
        for (int i = 0; i < graph->childCount(); ++i)
            if (QAccessibleInterface* const child = graph->child(i)) names.append(child->text(QAccessible::Name));
        QVERIFY2(!names.filter("floor_mod 0").isEmpty(), qPrintable(names.join('\n')));
        for (const QString& name : names) QVERIFY(!name.isEmpty());
    }

    void tabGoesThroughThePanelsInTheirOrder()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        QStringList order;
        QWidget* each = canvas().nextInFocusChain();
        for (int guard = 0; guard < 2000 && each != &canvas(); ++guard, each = each->nextInFocusChain())
            for (const QWidget* up = each; up; up = up->parentWidget())
                if (const auto* const panel = qobject_cast<const Panel*>(up);
                    panel && panel->isVisible() && !order.contains(panel->objectName()))
                    order.append(panel->objectName());
        const QStringList wanted = {"panelListing", "panelInvocations", "panelTensor",  "panelBreakpoints",
                                    "panelWatches", "panelConsole",     "panelTimeline"};
        QStringList found;
        for (const QString& name : order)
            if (wanted.contains(name)) found.append(name);
        QCOMPARE(found, wanted);
    }

    /// What has the keyboard looks other than what has not, in every panel of every task.
    void theFocusIsSeenInEveryPanel()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        execute("break main/while#0:body/add#3");
        execute("display n");
        QStringList unseen;
        for (const char* const name :
             {"panelGraph", "panelListing", "panelStructured", "panelInvocations", "panelCallStack", "panelBreakpoints", "panelMarks",
              "panelWatches", "panelVariables", "panelTensor", "panelConsole", "panelProblems", "panelSearch", "panelProperties",
              "panelStructure", "panelSubgraphs", "panelInputs", "panelTimeline"}) {
            Panel* const panel = m_window->area()->show(name, true);
            QVERIFY2(panel, name);
            settle();
            QWidget* const focused = QApplication::focusWidget();
            if (!focused || !panel->isAncestorOf(focused)) {
                if (focused != panel) unseen.append(QString(name) + " takes no focus");
                continue;
            }
            QWidget* const strip = panel->parentWidget()->parentWidget()->parentWidget()->parentWidget();
            QVERIFY2(qobject_cast<PanelStrip*>(strip), strip->metaObject()->className());
            const QImage with = strip->grab().toImage();
            m_window->addressBar()->setFocus(Qt::OtherFocusReason);
            QTest::qWait(20);
            const QImage without = strip->grab().toImage();
            int different = 0;
            for (int y = 0; y < with.height(); ++y)
                for (int x = 0; x < with.width(); ++x) different += with.pixel(x, y) != without.pixel(x, y) ? 1 : 0;
            if (different < strip->width()) unseen.append(QString(name) + QString(": %1 pixels").arg(different));
        }
        QVERIFY2(unseen.isEmpty(), qPrintable(unseen.join('\n')));
    }

    void everyPanelIsReachedByItsNumberAndLeftAgain()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        const QStringList order = focusOrder(false);
        for (int i = 1; i <= 10; ++i) {
            press(QString("Alt+%1").arg(i % 10));
            QVERIFY2(m_window->area()->focusPanel(), qPrintable(order[i - 1]));
            QCOMPARE(m_window->area()->focusPanel()->objectName(), order[i - 1]);
        }
        press("Alt+1");
        press("Alt+2");
        press("Alt+2"); // back to where it was
        QCOMPARE(m_window->area()->focusPanel()->objectName(), QString("panelGraph"));
    }
    void aGradientShowsItsNormInEachIteration()
    {
        open("tests/desktop/gradient.lsir", {{"x", "0.5"}, {"n", "5"}});
        enter("panelProperties");
        execute("run");
        QTRY_VERIFY(stop().started);
        settle();
        auto* const chart = find<NormChart>("normChart");
        auto* const why = find<QAbstractButton>("question.whyGradient");
        m_window->document()->select("main/y");
        settle();
        QVERIFY(why->isHidden()); // no gradient
        m_window->document()->select("main/gradients/x");
        settle();
        QTRY_VERIFY(!why->isHidden());
        QVERIFY(chart->isHidden());
        why->click();
        settle();
        QTRY_VERIFY(!chart->isHidden());
        QTRY_VERIFY2(find<QTextBrowser>("consoleLog")->toPlainText().contains("why grad {main/gradients/x:0}"),
                     qPrintable(find<QTextBrowser>("consoleLog")->toPlainText()));
        const IterationCourse& course = chart->course();
        QCOMPARE(course.points.size(), size_t{5});
        QCOMPARE(course.loop, std::string("main/gradients/w_grad/While"));
        QVERIFY(course.points[4].value < course.points[0].value); // every sine takes some of it
        QTest::mouseClick(chart, Qt::LeftButton, {}, QPoint(chart->width() - 12, chart->height() / 2));
        settle();
        QTRY_VERIFY2(find<QTextBrowser>("consoleLog")->toPlainText().contains("goto main/gradients/w_grad/While@4"),
                     qPrintable(find<QTextBrowser>("consoleLog")->toPlainText()));
        m_window->document()->select("main/y");
        settle();
        QVERIFY(chart->isHidden());
    }

private:
    /// Both sides of the branch in an iteration of the loop, as the tree says it.
    QStringList sidesIn(const QString& iteration)
    {
        auto* const tree = find<QTreeView>("invocationTree");
        const QAbstractItemModel& model = *tree->model();
        const QModelIndexList found = model.match(model.index(0, 0), Qt::DisplayRole, iteration, 1, Qt::MatchRecursive | Qt::MatchExactly);
        if (found.isEmpty()) { // folded into a range: that is opened
            for (const QModelIndex& range :
                 model.match(model.index(0, 0), Qt::DisplayRole, iteration + "..", 1, Qt::MatchRecursive | Qt::MatchStartsWith))
                static_cast<void>(model.rowCount(range));
            return {};
        }
        QStringList sides;
        const QModelIndex body = model.index(model.rowCount(found.front()) - 1, 0, found.front());
        for (const QModelIndex& branch : model.match(model.index(0, 0, body), Qt::DisplayRole, "if#2", 1, Qt::MatchExactly))
            for (int row = 0; row < model.rowCount(branch); ++row)
                sides.append(model.index(row, 0, branch).data().toString() + '|' + model.index(row, 1, branch).data().toString());
        return sides;
    }

    GraphCanvas& canvas() { return static_cast<GraphPanel*>(m_window->area()->panel("panelGraph"))->canvas(); }
    QModelIndex rowWith(QTreeView* view, const QString& text)
    {
        const QModelIndexList found =
            view->model()->match(view->model()->index(0, 0), Qt::DisplayRole, text, 1, Qt::MatchStartsWith | Qt::MatchRecursive);
        return found.isEmpty() ? QModelIndex() : found.front();
    }
    void clickRow(const char* name, const QString& text)
    {
        auto* const view = find<QTreeView>(name);
        const QModelIndex index = rowWith(view, text);
        QVERIFY2(index.isValid(), qPrintable(text + " in\n" + rowsOf(view).join('\n')));
        view->scrollTo(index);
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(index).center());
        settle();
    }
    void chooseRow(const char* name, const QString& text)
    {
        clickRow(name, text);
        QTest::keyClick(find<QTreeView>(name), Qt::Key_Return);
        settle();
    }
};

QTEST_MAIN(PanelsTest)
#include "panels_test.moc"
