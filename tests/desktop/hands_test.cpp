// What hands expect of a window: keys of every layout, a double click that edits, F5 from wherever they are, files where one looks for
// them.
#include "driven_window.h"
#include "viewer/canvas/graph_panel.h"
#include "viewer/panels/listing_view.h"
#include "viewer/timeline/loop_slider.h"
#include "viewer/timeline/timeline_bar.h"
#include "viewer/widgets/rows.h"
#include "viewer/window/arrangements.h"

#include <QAccessible>
#include <QContextMenuEvent>
#include <QJsonArray>
#include <QJsonDocument>
#include <QMenu>
#include <QTableView>
#include <QTextBrowser>
#include <QToolButton>

using namespace loopscope;
using namespace loopscope::viewer;
using viewer::testing::rowsOf;

class HandsTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void symbolsAreOneKeyOnEveryLayout()
    {
        QCOMPARE(keyText(Qt::ShiftModifier | Qt::Key_Plus), QString("+")); // above "=" on a US layout
        QCOMPARE(keyText(Qt::ControlModifier | Qt::ShiftModifier | Qt::Key_Plus), QString("Ctrl++"));
        QCOMPARE(keyText(Qt::KeypadModifier | Qt::Key_Plus), QString("+"));
        QCOMPARE(keyText(Qt::ControlModifier | Qt::KeypadModifier | Qt::Key_Plus), QString("Ctrl++"));
        QCOMPARE(keyText(Qt::ShiftModifier | Qt::Key_Asterisk), QString("*"));
        QCOMPARE(keyText(Qt::ShiftModifier | Qt::Key_N), QString("Shift+N")); // of letters Shift means something
        QCOMPARE(keyText(Qt::ShiftModifier | Qt::Key_Space), QString("Shift+Space"));

        open("collatz.lsir");
        enter("panelGraph");
        GraphCanvas& graph = canvas();
        QWidget* const focus = QApplication::focusWidget();
        for (const Qt::KeyboardModifiers layout : {Qt::KeyboardModifiers(Qt::ShiftModifier), Qt::KeyboardModifiers(Qt::KeypadModifier)}) {
            const double before = graph.camera().zoom();
            QTest::keyClick(focus, Qt::Key_Plus, Qt::ControlModifier | layout);
            QVERIFY2(graph.camera().zoom() > before, qPrintable(QString::number(graph.camera().zoom())));
        }
        m_window->document()->select("main/while#0");
        settle();
        QTest::keyClick(focus, Qt::Key_Asterisk, Qt::ShiftModifier);
        settle();
        QVERIFY(m_window->document()->view().inlined.contains("main/while#0"));
    }

    // F5.
    void oneKeyRunsFromAFieldThatIsTypedInto()
    {
        open("collatz.lsir");
        press("F5"); // asks for the input
        auto* const field = find<QLineEdit>("inputSource.x");
        QVERIFY(field && field->isVisible());
        field->setFocus();
        field->clear();
        type("6");
        press("F5");
        QTRY_VERIFY(stop().finished);
        settle();
        QCOMPARE(m_window->document()->backend().inputs().front().source, std::string("6"));
        // What came out is said, and the graph is in front.
        QVERIFY(canvas().isVisible());
        QTRY_VERIFY(find<QToolButton>("result.n"));
        QVERIFY2(find<QToolButton>("result.steps")->text().endsWith("8"), qPrintable(find<QToolButton>("result.steps")->text()));
        press("Alt+F10");
        QVERIFY(!find<QWidget>("resultStrip")->isVisible()); // nothing has come out yet here
    }
    void largeSeedsDoNotHoldTheWindowUp()
    {
        const QString path = m_folder->path() + "/large.lsir";
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("graph main(x: f32[4096,1024]) {\n  y = abs(x) : f32[4096,1024]\n  return y\n}\n");
        file.close();
        open(path);
        press("F5");
        auto* const field = find<QLineEdit>("inputSource.x");
        QVERIFY(field);
        field->setFocus();
        type("@7");
        // What a source of so many elements gives is not made on this thread, be it right or wrong: whoever asks what there is does not
        // wait.
        m_window->document()->backend().setInput("x", "[1,2,3]");
        QCOMPARE(m_window->document()->backend().inputs().front().problem, std::string());
        m_window->run("run"); // takes what is typed, and is kept until that was told
        QTRY_VERIFY_WITH_TIMEOUT(stop().finished, 30000);
    }
    void aNaNAmongTheResultsIsMarked()
    {
        open("nan_at_7.lsir", {{"n", "10"}});
        press("F5");
        QTRY_VERIFY(find<QWidget>("resultStrip")->isVisible());
        QStringList texts;
        for (const QToolButton* const one : find<QWidget>("resultStrip")->findChildren<QToolButton*>()) texts.append(one->text());
        QVERIFY2(texts.join('|').contains("NaN "), qPrintable(texts.join('|')));
    }

    // A double click edits.
    void aVariableIsSetByADoubleClick()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        enter("panelVariables");
        auto* const view = find<RowView>("variableTable");
        editCell(*view, cellOf(*view, "n  i32[]"), "100");
        QCOMPARE(stop().timeline, 2);
        QTRY_VERIFY(rowsOf(view).contains("n  i32[] | 100"));
        QCOMPARE(address(), QString("main/while#0@5:body/if#2"));
    }
    void aVariableOfAnOuterFrameIsSet()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2:else/add#1");
        m_window->document()->setFrame(1);
        enter("panelVariables");
        auto* const view = find<RowView>("variableTable");
        QTRY_VERIFY(cellOf(*view, "count  i32[]").isValid());
        editCell(*view, cellOf(*view, "count  i32[]"), "40");
        QCOMPARE(stop().timeline, 2);
        m_window->document()->setFrame(1); // a stop looks at the innermost one
        QTRY_VERIFY(rowsOf(view).contains("count  i32[] | 40"));
    }
    void anElementOfATensorIsSet()
    {
        showTensorTable();
        auto* const table = find<QTableView>("tensorTable");
        QTRY_VERIFY(table->isVisible() && table->model()->rowCount() > 0);
        const QModelIndex cell = table->model()->index(table->model()->rowCount() - 1, table->model()->columnCount() - 1);
        editCell(*table, cell, "-7");
        QCOMPARE(stop().timeline, 2);
        QTRY_COMPARE(table->model()->index(cell.row(), cell.column()).data().toString(), QString(QChar(0x2212)) + "7");
    }
    void aWatchSetsWhatItNames()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        execute("display count");
        enter("panelWatches");
        auto* const view = find<RowView>("watchTable");
        QTRY_COMPARE(rowsOf(view), QStringList{"count | 5"});
        editCell(*view, view->model()->index(0, 1), "50");
        QTRY_COMPARE(rowsOf(view), QStringList{"count | 50"});
    }

    void whatIsTypedStaysWhileOthersComeIn()
    {
        showTensorTable();
        auto* const table = find<QTableView>("tensorTable");
        QTRY_VERIFY(table->isVisible() && table->model()->rowCount() > 0);
        QLineEdit* const editor = editorIn(*table, table->model()->index(0, 0));
        QVERIFY(editor);
        QTest::keyClicks(editor, "-7");
        emit Theme::instance().changed(); // everything is shown anew
        QCOMPARE(editor->text(), QString("-7"));
    }

    // Asking, where the question arises.
    void aMenuAsksAboutAVariable()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        enter("panelVariables");
        auto* const view = find<RowView>("variableTable");
        QMenu* menu = menuAt(*view, cellOf(*view, "rest  i32[]"), "variableMenu");
        QVERIFY(menu);
        for (const char* const name : {"set", "watch", "breakWhen", "breakWrite", "whoWrote", "why", "copyName", "copyValue"})
            QVERIFY2(menu->findChild<QAction*>(QStringLiteral("value.") + name), name);
        menu->findChild<QAction*>("value.watch")->trigger();
        settle();
        QTRY_COMPARE(rowsOf(find<RowView>("watchTable")).size(), 1);
        menu->findChild<QAction*>("value.whoWrote")->trigger();
        settle();
        auto* const console = find<QTextBrowser>("consoleLog");
        QVERIFY(console && console->isVisible());
        QTRY_VERIFY2(console->toPlainText().contains("main/while#0@5:body/floor_mod#0:0 = 1, step 33"), qPrintable(console->toPlainText()));
        menu->close();
        enter("panelVariables");
        menu = menuAt(*view, cellOf(*view, "rest  i32[]"), "variableMenu");
        QVERIFY(menu);
        menu->findChild<QAction*>("value.set")->trigger();
        QVERIFY(view->findChild<QLineEdit*>());
        menu->close();
    }
    void menusOfTheOtherTables()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        execute("break main/while#0:body/add#3");
        execute("display n * 2");
        enter("panelWatches");
        auto* const watches = find<RowView>("watchTable");
        QMenu* menu = menuAt(*watches, watches->model()->index(0, 0), "watchMenu");
        QVERIFY(menu);
        QVERIFY(!menu->findChild<QAction*>("value.set")->isEnabled()); // no place to set
        QVERIFY(!menu->findChild<QAction*>("value.whoWrote"));
        menu->close();
        enter("panelBreakpoints");
        auto* const breakpoints = find<RowView>("breakpointTable");
        menu = menuAt(*breakpoints, breakpoints->model()->index(0, 0), "breakpointMenu");
        QVERIFY(menu);
        for (const char* const name : {"value.set", "value.watch", "value.breakWhen", "value.whoWrote", "value.why"})
            QVERIFY2(menu->findChild<QAction*>(name), name);
        actionOf(*menu, "Disable")->trigger();
        settle();
        QVERIFY(!stop().breakpoints.front().enabled);
        menu->close();
        enter("panelInvocations");
        auto* const tree = find<RowView>("invocationTree");
        menu = menuAt(*tree, tree->currentIndex(), "invocationMenu");
        QVERIFY(menu);
        QVERIFY(actionOf(*menu, "Copy address"));
        for (const char* const name : {"value.set", "value.watch", "value.breakWhen", "value.whoWrote", "value.why"})
            QVERIFY2(menu->findChild<QAction*>(name), name);
        menu->close();
        QMenu canvasMenu;
        canvas().commands().fillMenu(canvasMenu, canvas().scene()->findNode("main/while#0:body/add#3"));
        QVERIFY(!canvasMenu.findChild<QAction*>("context.why")); // it decides nothing
        m_window->document()->setView({});
        QTRY_VERIFY(!canvas().isBuilding() && canvas().scene()->findNode("main/while#0") >= 0);
        QMenu loopMenu;
        canvas().commands().fillMenu(loopMenu, canvas().scene()->findNode("main/while#0"));
        QVERIFY(loopMenu.findChild<QAction*>("context.why"));
        loopMenu.findChild<QAction*>("context.why")->trigger();
        settle();
        QTRY_VERIFY2(find<QTextBrowser>("consoleLog")->toPlainText().contains("why loop main/while#0"),
                     qPrintable(find<QTextBrowser>("consoleLog")->toPlainText()));
    }
    void whyNaNIsAButton()
    {
        open("nan_at_613.lsir", {{"n", "1000"}});
        m_window->run("nextNaN");
        QTRY_VERIFY(stop().started);
        settle();
        QCOMPARE(QString::fromStdString(m_window->document()->selection().address), QString("main/while#0@613:body/div#4:0")); // as the NaN
        enter("panelTensor");
        const auto button = [this]() -> QAbstractButton* {
            for (auto* const one : find<QWidget>("tensorOptions")->findChildren<QAbstractButton*>())
                if (one->text() == "why nan" && one->isVisible()) return one;
            return nullptr;
        };
        QTRY_VERIFY(button());
        button()->click();
        settle();
        QTRY_VERIFY2(find<QTextBrowser>("consoleLog")->toPlainText().contains("why nan"),
                     qPrintable(find<QTextBrowser>("consoleLog")->toPlainText()));
        QVERIFY(find<QTextBrowser>("consoleLog")->isVisible());
    }
    void operatorsSayThatTheyGaveNaN()
    {
        open("nan_at_613.lsir", {{"n", "1000"}});
        m_window->run("nextNaN");
        QTRY_VERIFY(stop().started);
        settle();
        const auto abnormal = [this](const char* id) {
            for (const QJsonValue& node : canvas().describe()["nodes"].toArray())
                if (node["id"].toString() == id) return node["abnormal"].toString();
            return QString("not drawn");
        };
        QTRY_COMPARE(abnormal("main/while#0:body/div#4"), QString("NaN"));
        QCOMPARE(abnormal("main/while#0:body/mul#2"), QString());
        // So do the lines along which it flows, and the word asks where it came from.
        const QJsonObject line = edgeMark("main/while#0:body/div#4", "abnormal");
        QCOMPARE(line["word"].toString(), QString("NaN"));
        QVERIFY2(line["to"].toString().startsWith("main/while#0:body"), qPrintable(line["to"].toString()));
        QVERIFY(edgeMark("main/while#0:body/mul#2", "abnormal").isEmpty());
        const QRectF node = canvas().camera().nodeRect(canvas().scene()->findNode("main/while#0:body/div#4"));
        QTest::mouseClick(&canvas(), Qt::LeftButton, {}, node.topRight().toPoint() + QPoint(2, -2));
        settle();
        QTRY_VERIFY2(consoleText().contains("why nan"), qPrintable(consoleText()));
        execute("goto main/while#0@612:body/mul#5");
        QTRY_COMPARE(abnormal("main/while#0:body/div#4"), QString());
    }
    void timesFollowTheLines()
    {
        open("nan_at_613.lsir", {{"n", "20"}});
        execute("start");
        ViewState view = m_window->document()->view();
        view.root = "main/while#0:body";
        m_window->document()->setView(view);
        settle();
        QVERIFY(edgeMark("main/while#0:body/div#4", "time").isEmpty());
        QVERIFY(static_cast<GraphPanel*>(m_window->area()->panel("panelGraph"))->command("overlay time"));
        settle();
        QTRY_VERIFY(canvas().describe().contains("overlay"));
        bool any = false;
        for (const QJsonValue& mark : canvas().describe()["edgeMarks"].toArray()) any = any || mark["mark"].toString() == "time";
        QVERIFY(any);
    }
    void aSideOfABranchAsksWhy()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        ViewState view = m_window->document()->view();
        view.root = "main/while#0:body";
        view.inlined = {"main/while#0:body/if#2"};
        m_window->document()->setView(view);
        execute("goto while#0@37:body/add#3");
        const auto why = [this] {
            for (const QJsonValue& region : canvas().describe()["regions"].toArray())
                if (region["note"].toString() == "untaken") return region["why"].toArray();
            return QJsonArray();
        };
        QTRY_VERIFY2(!why().isEmpty(), QJsonDocument(canvas().describe()["regions"].toArray()).toJson().constData());
        const QJsonArray at = why();
        QTest::mouseClick(&canvas(), Qt::LeftButton, {},
                          QPointF(at[0].toDouble() + at[2].toDouble() / 2, at[1].toDouble() + at[3].toDouble() / 2).toPoint());
        settle();
        QTRY_VERIFY2(consoleText().contains("why branch main/while#0:body/if#2"), qPrintable(consoleText()));
    }
    void questionsStandBelowTheProperties()
    {
        open("nan_at_613.lsir", {{"n", "1000"}});
        m_window->document()->select("main/while#0:body/div#4");
        enter("panelProperties");
        const auto button = [this](const char* name) { return find<QAbstractButton>(QStringLiteral("question.") + name); };
        QVERIFY(button("whyNaN")->isHidden() && button("whoWrote")->isHidden()); // nothing has run
        m_window->run("nextNaN");
        QTRY_VERIFY(stop().started);
        settle();
        m_window->document()->select(m_window->document()->atStop("main/while#0:body/div#4"));
        settle();
        QTRY_VERIFY(!button("whyNaN")->isHidden());
        QVERIFY(button("whyValue")->isHidden());
        QVERIFY(button("whyBranch")->isHidden()); // there is none around
        button("whyNaN")->click();
        settle();
        QTRY_VERIFY2(consoleText().contains("why nan"), qPrintable(consoleText()));
        QVERIFY(!button("whyLoop")->isHidden());
        button("whyLoop")->click();
        settle();
        QTRY_VERIFY2(consoleText().contains("why loop main/while#0"), qPrintable(consoleText()));
        button("whoWrote")->click();
        settle();
        QTRY_VERIFY2(consoleText().contains("lastwrite "), qPrintable(consoleText()));
    }
    void theBranchAroundIsAskedAbout()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@37:body/add#3");
        m_window->document()->select("main/while#0:body/if#2:then/floor_div#0"); // that has not run
        enter("panelProperties");
        auto* const why = find<QAbstractButton>("question.whyBranch");
        QTRY_VERIFY(!why->isHidden());
        why->click();
        settle();
        QTRY_VERIFY2(consoleText().contains("why branch main/while#0@37:body/if#2"), qPrintable(consoleText()));
    }
    void theTimelineHasAMenu()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        m_window->document()->select(m_window->document()->atStop("main/while#0:body/add#3"));
        enter("panelTimeline");
        auto* const bar = find<TimelineBar>("timelineBar");
        QTRY_VERIFY(bar->content().course != nullptr && bar->content().course->loops().size() == 1);
        const QPoint pip(static_cast<int>(bar->scale().toX(static_cast<double>(stop().position.step))), 30);
        QContextMenuEvent click(QContextMenuEvent::Mouse, pip, bar->mapToGlobal(pip));
        QApplication::sendEvent(bar, &click);
        const auto menus = m_window->findChildren<QMenu*>("timelineMenu");
        QCOMPARE(menus.size(), 1);
        QMenu* const menu = menus.front();
        for (const char* const name : {"timeline.iteration", "timeline.step", "timeline.break", "timeline.whyLoop", "value.set",
                                       "value.watch", "value.breakWhen", "value.whoWrote", "value.why"})
            QVERIFY2(menu->findChild<QAction*>(name), name);
        menu->findChild<QAction*>("timeline.break")->trigger();
        settle();
        QCOMPARE(stop().breakpoints.size(), size_t{1});
        QVERIFY2(stop().breakpoints.front().where.find("while#0") != std::string::npos, stop().breakpoints.front().where.c_str());
        menu->close();
    }
    void hitsAreShownWhileTyping()
    {
        open("collatz.lsir", {{"x", "27"}});
        press("Ctrl+F");
        auto* const field = find<QLineEdit>("findField");
        QTRY_VERIFY(field->hasFocus());
        QTest::keyClicks(field, "floor");
        settle();
        QTRY_VERIFY2(rowsOf(find<QAbstractItemView>("searchResults")).join('|').contains("floor_mod"),
                     qPrintable(rowsOf(find<QAbstractItemView>("searchResults")).join('|')));
        QVERIFY(field->hasFocus());
        QCOMPARE(selected(), QString()); // nothing is visited before Return
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QTRY_VERIFY(selected().contains("floor_"));
    }

    // Looking.
    void theHighlightedRowSelects()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2");
        enter("panelVariables");
        auto* const view = find<RowView>("variableTable");
        view->scrollTo(cellOf(*view, "rest  i32[]"));
        const QRect row = view->visualRect(cellOf(*view, "rest  i32[]"));
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, row.center());
        QCOMPARE(selected(), QString("main/while#0@5:body/floor_mod#0"));
        m_window->document()->select("main/while#0:body/add#3");
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, row.center());
        QCOMPARE(selected(), QString("main/while#0@5:body/floor_mod#0"));
    }
    void aLoopVariableLightsAlone()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/if#2:else/add#1"); // which takes a copy of n
        m_window->document()->select("main/while#0:body/n");
        settle();
        QCOMPARE(canvas().selection().addresses(), std::vector<std::string>{"main/while#0:body>n"});
    }
    void slidersFollowEachOther()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@20:body/if#2");
        const auto inTheHead = [this] {
            for (const QJsonValue& region : canvas().describe()["regions"].toArray())
                if (region["id"].toString() == "main/while#0:body") return region["scrubbed"].toInt(-1);
            return -1;
        };
        QCOMPARE(inTheHead(), -1);
        m_window->document()->setPreview(12, "main/while#0:body"); // as the timeline's slider does
        QCOMPARE(inTheHead(), 12);
        QCOMPARE(find<LoopSlider>("loopSlider")->position(), int64_t(12)); // as the head's slider does
        m_window->document()->setPreview(std::nullopt);
        QCOMPARE(inTheHead(), -1);
        QCOMPARE(find<LoopSlider>("loopSlider")->position(), int64_t(20));
    }
    void afterAJumpBackTheFutureIsNotShown()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@5:body/add#3");
        m_window->document()->select("main/while#0:body/if#2");
        Panel* const tensor = enter("panelTensor");
        QVERIFY(tensor->command("mode table")); // of this stop, not of all iterations
        settle();
        const auto described = [&] {
            QJsonObject all;
            QMetaObject::invokeMethod(tensor, "describe", Q_RETURN_ARG(QJsonObject, all));
            return all;
        };
        QTRY_VERIFY(described()["present"].toBool());
        execute("goto while#0@5:body/floor_mod#0");
        QTRY_VERIFY(!described()["present"].toBool());
        QVERIFY2(described()["text"].toString().startsWith("no value: not run"), qPrintable(described()["text"].toString()));
        execute("goto while#0@5:body/add#3");
        QTRY_VERIFY(described()["present"].toBool());
    }

    void theGraphKeepsItsWidth()
    {
        for (const int width : {960, 1100, 1200, 1280}) {
            const QJsonObject debug = drawnArrangement(Task::debug, false, width)["parts"].toArray()[0].toObject();
            for (const QJsonObject& columns : {drawnArrangement(Task::browse, false, width), debug}) {
                const QJsonArray sizes = columns["sizes"].toArray();
                const int graph = width - sizes[0].toInt() - sizes[2].toInt() - 24; // gaps and margins
                QVERIFY2(graph >= 480, qPrintable(QString("%1 of %2").arg(graph).arg(width)));
            }
        }
    }

    // Recordings.
    void aRecordingLiesBesideItsModel()
    {
        QVERIFY(QFile::copy("samples/text/collatz.lsir", m_folder->path() + "/my model.lsir"));
        open(m_folder->path() + "/my model.lsir", {{"x", "6"}});
        m_window->run("record");
        settle();
        auto* const banner = find<QWidget>("errorBanner");
        QVERIFY2(banner->accessibleName().contains("/my model.lstrace"), qPrintable(banner->accessibleName()));
        press("F5");
        m_window->run("record");
        settle();
        QVERIFY(QFile::exists(m_folder->path() + "/my model.lstrace"));
        QVERIFY(!QFile::exists("my model.lstrace")); // the working folder
        QVERIFY2(banner->accessibleName().startsWith("recorded into "), qPrintable(banner->accessibleName()));
        m_window->run("record"); // the first one stays as it is
        settle();
        QVERIFY2(banner->accessibleName().contains("/my model-2.lstrace"), qPrintable(banner->accessibleName()));
        press("F5");
        m_window->run("record");
        settle();
        for (QPushButton* const button : banner->findChildren<QPushButton*>())
            if (button->text() == "Open recording") {
                QTest::mouseClick(button, Qt::LeftButton);
                break;
            }
        settle();
        QVERIFY(m_window->document()->backend().isReplay());
        QVERIFY(find<QAction>("recordInto"));
    }

    // A screen reader that runs before the window does.
    void graphAndListingAreThereForScreenReaders()
    {
        end();
        QAccessible::setActive(true);
        QAccessible::installUpdateHandler([](QAccessibleEvent* event) {
            if (event->object()) static_cast<void>(QAccessible::queryAccessibleInterface(event->object()));
        });
        begin();
        open("collatz.lsir");
        QAccessibleInterface* const graph = QAccessible::queryAccessibleInterface(&canvas());
        QVERIFY(graph);
        QVERIFY2(graph->childCount() > 2, qPrintable(QString::number(graph->childCount())));
        enter("panelListing");
        QAccessibleInterface* const listing = QAccessible::queryAccessibleInterface(find<ListingView>("listingView"));
        QVERIFY(listing);
        QCOMPARE(listing->role(), QAccessible::List);
        QVERIFY(listing->childCount() > 0);
        QVERIFY2(listing->child(0)->text(QAccessible::Name).contains("while"), qPrintable(listing->child(0)->text(QAccessible::Name)));
        QAccessible::installUpdateHandler(nullptr);
        QAccessible::setActive(false);
    }

private:
    /// The product of an iteration, as a table of elements.
    void showTensorTable()
    {
        open("nan_at_613.lsir", {{"n", "1000"}});
        execute("start");
        execute("goto main/while#0@3:body/mul#5");
        m_window->document()->select("main/while#0:body/mul#5");
        execute("next");
        enter("panelTensor");
        QVERIFY(m_window->area()->panel("panelTensor")->command("mode table"));
        settle();
    }

    QString consoleText() { return find<QTextBrowser>("consoleLog")->toPlainText(); }
    /// The mark of a line that begins at a node; empty: it has none.
    QJsonObject edgeMark(const char* from, const char* kind)
    {
        for (const QJsonValue& mark : canvas().describe()["edgeMarks"].toArray())
            if (mark["from"].toString() == from && mark["mark"].toString() == kind) return mark.toObject();
        return {};
    }
    GraphCanvas& canvas() { return static_cast<GraphPanel*>(m_window->area()->panel("panelGraph"))->canvas(); }
    static QModelIndex cellOf(const QAbstractItemView& view, const QString& name)
    {
        const QModelIndexList found = view.model()->match(view.model()->index(0, 0), Qt::DisplayRole, name, 1, Qt::MatchExactly);
        return found.isEmpty() ? QModelIndex() : found.front().siblingAtColumn(1);
    }
    static QAction* actionOf(const QMenu& menu, const QString& text)
    {
        for (QAction* const action : menu.actions())
            if (action->text() == text) return action;
        return nullptr;
    }
    /// What a right click on a cell opens.
    QMenu* menuAt(QAbstractItemView& view, const QModelIndex& cell, const char* name)
    {
        emit view.customContextMenuRequested(view.visualRect(cell).center());
        for (QMenu* const menu : m_window->findChildren<QMenu*>(name))
            if (menu->isVisible()) return menu;
        return nullptr;
    }
    static QLineEdit* editorIn(QAbstractItemView& view, const QModelIndex& cell)
    {
        const QPoint at = view.visualRect(cell).center();
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, at);
        QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, at);
        return view.findChild<QLineEdit*>();
    }
    void editCell(QAbstractItemView& view, const QModelIndex& cell, const QString& text)
    {
        QVERIFY(cell.isValid());
        const QPointer<QLineEdit> editor = editorIn(view, cell);
        QVERIFY(editor);
        editor->selectAll();
        QTest::keyClicks(editor, text);
        QTest::keyClick(editor, Qt::Key_Return);
        settle();
    }
};

QTEST_MAIN(HandsTest)
#include "hands_test.moc"
