// The ways through the window that people take most, with the clicks and keys that they cost: each test presses nothing else.
#include "driven_window.h"
#include "viewer/canvas/graph_panel.h"
#include "viewer/panels/listing_view.h"
#include "viewer/widgets/parts.h"

#include <QFile>
#include <QMenu>
#include <QMimeData>
#include <QTextBrowser>
#include <QTreeView>

using namespace loopscope;
using namespace loopscope::viewer;
using viewer::testing::rowsOf;

class WorkflowTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    // 1. Open → picture.
    void aDroppedFileBecomesAPicture()
    {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QDir::currentPath() + "/samples/text/conv_classifier.lsir")});
        QDragEnterEvent enters(QPoint(600, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(m_window.get(), &enters);
        QVERIFY(enters.isAccepted());
        QDropEvent drops(QPointF(600, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(m_window.get(), &drops);
        settle();
        pictureIsShown("conv_classifier.lsir");
    }
    void aChosenFileBecomesAPicture()
    {
        press("Ctrl+O");
        answerDialog(QDir::currentPath() + "/samples/text/collatz.lsir");
        pictureIsShown("collatz.lsir");
    }

    // 2. Find an operator.
    void anOperatorIsFound()
    {
        open("collatz.lsir");
        press("Ctrl+F");
        type("op:floor_div");
        press("Return");
        QCOMPARE(selected(), QString("main/while#0:body/if#2:then/floor_div#0"));
        GraphCanvas& graph = canvas();
        QCOMPARE(graph.selection().addresses().front(), std::string("main/while#0:body/if#2:then/floor_div#0")); // what hides it was opened
        QVERIFY(QRectF(graph.rect()).contains(graph.camera().nodeRect(graph.selection().node()).center()));
    }
    void theNextHitIsOneKeyAway()
    {
        open("collatz.lsir");
        press("Ctrl+F");
        type("add");
        press("Return");
        const QString first = selected();
        press("F3");
        QVERIFY(selected() != first);
        press("Shift+F3");
        QCOMPARE(selected(), first);
    }

    // 3. Set a breakpoint.
    void aBreakpointByKeyWithACondition()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->document()->select("main/while#0:body/if#2");
        enter("panelGraph");
        press("F9");
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        press("Alt+F9");
        type("iter == 37");
        press("Return");
        QCOMPARE(QString::fromStdString(stop().breakpoints[0].condition), QString("iter == 37"));
        press("F5");
        QCOMPARE(address(), QString("main/while#0@37:body/if#2"));
        QCOMPARE(reason(), QString("breakpoint 1 on if#2, iter == 37"));
    }
    void editingMakesTheBreakpoint()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->document()->select("main/while#0:body/add#3");
        press("Alt+F9");
        type("n > 100");
        press("Return");
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        QCOMPARE(QString::fromStdString(stop().breakpoints[0].condition), QString("n > 100"));
    }
    void aBreakpointInTheGutter()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        auto* const listing = find<ListingView>("listingView");
        QVERIFY(listing->isVisible());
        const QPoint gutter(9, Theme::instance().rowHeight() / 2);
        QTest::mouseClick(listing->viewport(), Qt::LeftButton, {}, gutter);
        settle();
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        QCOMPARE(stop().breakpoints[0].address, std::string("main/while#0"));
        QTest::mouseClick(listing->viewport(), Qt::LeftButton, {}, gutter);
        settle();
        QVERIFY(stop().breakpoints.empty());
    }
    void aConditionThatIsWrongIsSaid()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break main/while#0:body/if#2");
        enter("panelBreakpoints");
        execute("condition 1 nn > 100");
        const QString said = find<QLabel>("breakpointError")->text();
        QVERIFY2(said.contains("no value 'nn'"), qPrintable(said));
        QVERIFY(stop().breakpoints[0].condition.empty());
    }

    // 4. Run to it.
    void missingInputsAreFilledWithReturn()
    {
        open("collatz.lsir");
        press("F5");
        QVERIFY(!stop().started);
        QCOMPARE(QApplication::focusWidget(), find<QWidget>("inputsFill"));
        press("Return");
        QCOMPARE(QApplication::focusWidget(), find<QWidget>("inputsRun"));
        press("Return");
        QVERIFY(stop().started);
        QVERIFY(stop().finished);
    }
    void aRunFromTheConsoleAsksForInputsToo()
    {
        open("collatz.lsir");
        press("Ctrl+`");
        type("run");
        press("Return");
        QVERIFY(!stop().started);
        QVERIFY(find<QWidget>("inputsFill")->isVisible());
    }
    void anInputThatDoesNotFitIsSaidBeforeTheRun()
    {
        open("collatz.lsir");
        execute("input x=[1,2,3]");
        press("F5");
        QVERIFY(!stop().started);
        const QString reason = find<QLabel>("inputsReason")->text();
        QVERIFY2(reason.startsWith("x: "), qPrintable(reason));
        QVERIFY(!find<QAbstractButton>("inputsRun")->isEnabled());
    }

    // 5. Step into a While.
    void condIsSeenBeforeTheBody()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        QCOMPARE(address(), QString("main/while#0"));
        press("F11");
        QVERIFY(address().startsWith("main/while#0@0:cond/"));
        press("Shift+F11");
        QCOMPARE(address(), QString("main/while#0@0:body/floor_mod#0"));
        QVERIFY(m_window->document()->view().inlined.contains("main/while#0"));
        press("Alt+F11");
        press("Alt+F5");
        QCOMPARE(stop().tick, int64_t(0));
    }

    // 6. Scrub.
    void iterationsByKeyByNumberAndByTheSlider()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@3:body/if#2");
        press("Ctrl+PgDown");
        QCOMPARE(address(), QString("main/while#0@4:body/if#2"));
        press("Ctrl+PgUp");
        QCOMPARE(address(), QString("main/while#0@3:body/if#2"));
        press("Ctrl+I");
        type("37");
        press("Return");
        QCOMPARE(address(), QString("main/while#0@37:body/if#2"));
        auto* const slider = find<QWidget>("loopSlider");
        QVERIFY(slider->isVisible());
        const QPoint from(slider->width() - 8, slider->height() / 2), to(12, slider->height() / 2);
        QTest::mousePress(slider, Qt::LeftButton, {}, from);
        QMouseEvent drag(QEvent::MouseMove, to, slider->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(slider, &drag);
        QTest::mouseRelease(slider, Qt::LeftButton, {}, to);
        settle();
        const int reached = address().section('@', 1).section(':', 0, 0).toInt();
        QVERIFY2(reached < 4, qPrintable(address()));
        press("Alt+Left");
        QCOMPARE(address(), QString("main/while#0@37:body/if#2"));
        press("Alt+Right");
        QCOMPARE(address().section('@', 1).section(':', 0, 0).toInt(), reached);
    }

    // A program's loop around a model, which a file beside it keeps: calls are iterations.
    void aKeptLoopOpensWithItsCalls()
    {
        const QString model = m_folder->path() + "/decoder.lsir";
        QVERIFY(QFile::copy(QDir::currentPath() + "/samples/text/decoder.lsir", model));
        QFile loop(m_folder->path() + "/decoder.loop.toml");
        QVERIFY(loop.open(QIODevice::WriteOnly));
        loop.write("calls = [\"20\"]\n"
                   "feed-back = [\"next_token=token\", \"next_position=position\", \"next_cache=cache\"]\n");
        loop.close();
        open(model, {{"token", "[1]"}, {"position", "[0]"}, {"cache", "0"}});
        execute("start");
        execute("goto call@3/add#8");
        QCOMPARE(address(), QString("call@3/main/add#8"));
        press("F10");
        QCOMPARE(address(), QString("call@3/main/floor_mod#9"));
        press("Ctrl+PgDown");
        QCOMPARE(address(), QString("call@4/main/floor_mod#9"));
        auto* const slider = find<QWidget>("loopSlider");
        QVERIFY(slider->isVisible());
        QTest::mouseClick(slider, Qt::LeftButton, {}, QPoint(12, slider->height() / 2));
        settle();
        QVERIFY2(address().startsWith("call@0/main"), qPrintable(address()));
        execute("goto end");
        execute("why stop");
        QVERIFY(find<QTextBrowser>("consoleLog")->toPlainText().contains("call stopped after 20 calls: call < calls was false"));
    }

    // 7. Who wrote this.
    void theWriterIsOneKeyAway()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("start");
        execute("goto while#0@37:body/if#2");
        const int64_t here = stop().tick;
        m_window->document()->select("main/while#0:body/floor_mod#0");
        enter("panelGraph");
        press(",");
        QVERIFY(stop().tick < here);
        QVERIFY2(address().startsWith("main/while#0@37:body/"), qPrintable(address()));
        press("Alt+Left");
        QCOMPARE(stop().tick, here);
    }

    // 8. The first wrong layer.
    void twoFilesAreComparedAndTheFirstDifferenceIsOneKeyAway()
    {
        open("layers_int8.lsir");
        press("Ctrl+Shift+D");
        answerDialog(QDir::currentPath() + "/samples/text/layers_float.lsir");
        QCOMPARE(m_window->task(), Task::compare);
        auto* const table = find<QTreeView>("differenceTable");
        QTRY_COMPARE(rowsOf(table).size(), 3);
        settle();
        press("F8");
        QTRY_COMPARE(selected(), QString("main/fully_connected#0"));
    }

    // 9. Find a NaN.
    void theFirstNaNAndItsCause()
    {
        open("nan_at_7.lsir", {{"n", "10"}});
        press("Ctrl+Alt+N");
        QVERIFY(address().contains("@7"));
        QVERIFY2(reason().contains("NaN"), qPrintable(reason()));
        QVERIFY(stop().breakpoints.empty()); // it was a temporary one
        const int64_t here = stop().tick;
        press("Alt+F10");
        QVERIFY(stop().tick < here);
        press("Ctrl+Alt+N");
        QCOMPARE(stop().tick, here);
    }

    // 10. Export.
    void thePictureIsExported()
    {
        open("collatz.lsir");
        press("Ctrl+Shift+E");
        const QString path = m_folder->path() + "/graph.svg";
        answerDialog(path);
        QTRY_VERIFY(QFile::exists(path));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("<svg"));
    }
    void aTensorIsExported()
    {
        open("nan_at_7.lsir", {{"n", "10"}});
        execute("run");
        m_window->document()->select("main/while#0");
        Panel* const tensor = enter("panelTensor");
        const QString path = m_folder->path() + "/state.npy";
        QVERIFY(QMetaObject::invokeMethod(tensor, "exportTo", Q_ARG(QString, path)));
        QTRY_VERIFY(QFile::exists(path));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().startsWith("\x93NUMPY"));
    }

    // A newcomer sees a loop run.
    void aLoopRunsInThreeClicks()
    {
        QTest::mouseClick(find<QPushButton>("sampleCard0"), Qt::LeftButton); // 1
        settle();
        QCOMPARE(m_window->task(), Task::debug);
        QVERIFY(address().startsWith("main/while#0@0:body"));
        QCOMPARE(stop().stack.back().knownTrips.value_or(0), int64_t(111));
        auto* const slider = find<QWidget>("loopSlider");
        QTest::mouseClick(slider, Qt::LeftButton, {}, QPoint(slider->width() / 2, slider->height() / 2)); // 2
        settle();
        const int reached = address().section('@', 1).section(':', 0, 0).toInt();
        QVERIFY2(reached > 40 && reached < 70, qPrintable(address()));
        press("F5"); // 3
        QCOMPARE(m_window->status()->stateText(), QString("Finished"));
    }

    // What goes wrong stays where the work is.
    void aKernelErrorIsALineAboveThePanels()
    {
        const QString path = m_folder->path() + "/never.lsir";
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("graph main(x: f32[2]) {\n"
                   "  handle = var_handle() container=\"\" shared_name=\"never\" : resource[]\n"
                   "  old = read_variable(handle) : f32[2]\n"
                   "  y = add(old, x) : f32[2]\n"
                   "  return y\n"
                   "}\n");
        file.close();
        open(path, {{"x", "[1,2]"}});
        press("F5");
        auto* const banner = find<QWidget>("errorBanner");
        QVERIFY(banner->isVisible());
        QVERIFY2(banner->accessibleName().contains("never"), qPrintable(banner->accessibleName()));
        QCOMPARE(address(), QString("main/read_variable#1")); // it stands before the operator
        QCOMPARE(m_window->status()->stateText(), QString("Stopped on an error"));
        QCOMPARE(m_window->document()->problems().size(), size_t(1));
        for (QPushButton* const button : banner->findChildren<QPushButton*>())
            if (button->text() == "Step back") QTest::mouseClick(button, Qt::LeftButton);
        settle();
        QCOMPARE(address(), QString("main/var_handle#0"));
        QVERIFY(!banner->isVisible());
    }
    void aChangedValueBeginsATimelineThatIsSaid()
    {
        open("nan_at_613.lsir", {{"n", "1000"}});
        execute("start");
        execute("goto main/while#0@613:body/mul#5");
        auto* const banner = find<QWidget>("errorBanner");
        QVERIFY(!banner->isVisible());
        execute("set gain = 1");
        QVERIFY(banner->isVisible());
        QCOMPARE(banner->accessibleName(), QString("timeline 2 from step 5,523: set gain = 1. timeline 1 is kept"));
        QCOMPARE(stop().timeline, 2);
        for (QPushButton* const button : banner->findChildren<QPushButton*>())
            if (button->text() == "Back to timeline 1") QTest::mouseClick(button, Qt::LeftButton);
        settle();
        QCOMPARE(stop().timeline, 1);
        QVERIFY(!banner->isVisible());
        execute("run"); // a run of its own has one
        execute("step");
        QVERIFY(!banner->isVisible());
    }

private:
    GraphCanvas& canvas() { return static_cast<GraphPanel*>(m_window->area()->panel("panelGraph"))->canvas(); }
    void pictureIsShown(const QString& name)
    {
        QVERIFY(m_window->document());
        QCOMPARE(QString::fromStdString(m_window->document()->backend().name()), name);
        QCOMPARE(m_window->task(), Task::browse);
        GraphCanvas& graph = canvas();
        QVERIFY(graph.scene());
        QVERIFY(!graph.scene()->nodes.empty());
        for (size_t i = 0; i < graph.scene()->nodes.size(); ++i)
            QVERIFY(QRectF(graph.rect()).intersects(graph.camera().nodeRect(static_cast<int>(i)))); // fitted as a whole
        QVERIFY(!stop().started);
    }
};

QTEST_MAIN(WorkflowTest)
#include "workflow_test.moc"
