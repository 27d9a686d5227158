// The real window: its first minutes, the address bar, long work, broken files, tasks, themes and sizes.
#include "app/desktop/screenshot.h"
#include "driven_window.h"
#include "engine/base/swapped_bytes.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QElapsedTimer>
#include <QFile>

using namespace loopscope;
using namespace loopscope::viewer;

class WindowTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    // --- the first three minutes ----------------------------------------------------------------------------------------------------

    void aNewcomerSeesALoopRunInThreeClicks()
    {
        auto* const button = m_window->findChild<QPushButton*>("sampleCard0");
        QVERIFY(button);
        QVERIFY(m_window->rect().contains(QRect(button->mapTo(m_window.get(), QPoint(0, 0)), button->size())));
        QTest::mouseClick(button, Qt::LeftButton);
        settle();
        QCOMPARE(m_window->task(), Task::debug);
        QVERIFY(m_window->addressBar()->address().startsWith("main/while#0@0:body"));
        QCOMPARE(stop().stack.back().knownTrips.value_or(0), int64_t(111));
        QVERIFY(m_window->run("nextIteration"));
        settle();
        QVERIFY(m_window->addressBar()->address().contains("@1:body"));
    }

    void everySampleOpens()
    {
        for (int i = 0; i < 4; ++i) {
            m_window->openSample(i);
            settle();
            QVERIFY(m_window->document());
            for (const Problem& problem : m_window->document()->problems())
                QVERIFY2(problem.severity != Problem::Severity::error, problem.text.c_str());
        }
    }

    // --- debugging ------------------------------------------------------------------------------------------------------------------

    void whereKeptValuesLieIsSaid()
    {
        const QString path = m_folder->filePath("stack.lsir");
        QFile file(path);
        QVERIFY(file.open(QFile::WriteOnly));
        file.write("lsir 1\nmodel tf\ngraph main {\n  any = Const() dtype=i32 value=i32[] -1 : i32[]\n"
                   "  dims = Const() dtype=i32 value=i32[1] [2097152] : i32[1]\n  half = Const() dtype=f32 value=f32[] 0.5 : f32[]\n"
                   "  stack = StackV2(any) elem_type=f32 stack_name=\"s\" : resource\n"
                   "  p0 = Fill(dims, half) T=f32 index_type=i32 : f32[2097152]\n"); // 8 MiB
        for (int k = 1; k <= 7; ++k)
            file.write(QString("  p%1 = StackPushV2(stack, p%2) T=f32 swap_memory=true : f32[2097152]\n").arg(k).arg(k - 1).toUtf8());
        file.write("  return p7=p7\n}\n");
        file.close();
        auto* const kept = m_window->findChild<QLabel*>("statusKept");
        QVERIFY(kept && kept->isHidden());
        setSwapping(1, "/var/tmp"); // 32 MiB stay in memory
        open(path);
        trigger("run");
        QVERIFY2(!kept->isHidden() && kept->text().startsWith("kept ") && kept->text().contains(", on disk "), qPrintable(kept->text()));
        m_window.reset(); // and what it keeps
        setSwapping(0, "");
    }

    void breakpointRunStepAndBack()
    {
        open("collatz.lsir", {{"x", "27"}});
        QCOMPARE(m_window->task(), Task::browse);
        QVERIFY(m_window->document()->select("main/while#0:body/if#2"));
        trigger("toggleBreakpoint");
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        trigger("run");
        QCOMPARE(m_window->task(), Task::debug);
        QCOMPARE(m_window->addressBar()->address(), QString("main/while#0@0:body/if#2"));
        QVERIFY(m_window->findChild<QLabel*>("statusReason")->text().startsWith("breakpoint 1 on if#2"));
        QCOMPARE(m_window->status()->stateText(), QString("Stopped"));
        const int64_t tick = stop().tick;
        trigger("stepInto");
        QVERIFY(m_window->addressBar()->address().contains("if#2:else"));
        trigger("backInto");
        QCOMPARE(stop().tick, tick);
        trigger("run");
        QVERIFY(m_window->addressBar()->address().contains("@1:body"));
        trigger("reverseRun");
        QVERIFY(m_window->addressBar()->address().contains("@0:body"));
        trigger("toggleBreakpoint");
        QVERIFY(stop().breakpoints.empty());
        trigger("run");
        QCOMPARE(m_window->status()->stateText(), QString("Finished"));
        QVERIFY(!m_window->action("stepOver")->isEnabled());
        QVERIFY(m_window->action("reverseRun")->isEnabled());
    }

    void addressAndIterationFields()
    {
        open("collatz.lsir", {{"x", "27"}});
        trigger("stepInto");
        m_window->run("gotoAddress");
        auto* const field = m_window->findChild<QLineEdit*>("addressField");
        QVERIFY(field->isVisible());
        field->setText("while#0@36:body/if#2");
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QCOMPARE(m_window->addressBar()->address(), QString("main/while#0@36:body/if#2"));
        QCOMPARE(m_window->addressBar()->crumbs().join(""), QString("main/while#0@36:body/if#2"));
        m_window->run("gotoIteration");
        field->setText("3");
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QCOMPARE(m_window->addressBar()->address(), QString("main/while#0@3:body/if#2"));
        trigger("back");
        QCOMPARE(m_window->addressBar()->address(), QString("main/while#0@36:body/if#2"));
        m_window->area()->show("panelListing", true); // typed in full, with what could complete it shown below
        QWidget* const before = QApplication::focusWidget();
        m_window->run("gotoAddress");
        QTest::keyClicks(field, "main/while#0@5:body/add#3");
        QVERIFY(field->completer()->popup()->isVisible());
        QTest::keyClick(field->completer()->popup(), Qt::Key_Return);
        settle();
        QCOMPARE(m_window->addressBar()->address(), QString("main/while#0@5:body/add#3"));
        QVERIFY(!field->completer()->popup()->isVisible());
        QVERIFY(before && QApplication::focusWidget() == before); // not the next field
        trigger("back");
        m_window->run("gotoAddress");
        field->setText("nowhere");
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QCOMPARE(m_window->document()->problems().size(), size_t(1));
        QCOMPARE(m_window->addressBar()->address(), QString("main/while#0@36:body/if#2"));
    }

    void missingInputsAreAskedForInThePanel()
    {
        open("collatz.lsir");
        trigger("run");
        QVERIFY(!stop().started);
        if (m_window->area()->panel("panelInputs")) QVERIFY(m_window->area()->isOpen("panelInputs"));
    }

    void theFirstNaNIsFoundByOneKey()
    {
        open("nan_at_7.lsir", {{"n", "10"}});
        trigger("nextNaN");
        QVERIFY(stop().report.has(StopCause::nan) || stop().report.has(StopCause::breakpoint));
        QVERIFY(m_window->addressBar()->address().contains("@7"));
        execute("delete");
        execute("run");
        QVERIFY(stop().finished);
        trigger("nextNaN"); // at the end of a run it is the first one of the next
        QVERIFY(!stop().finished);
        QVERIFY(m_window->addressBar()->address().contains("@7"));
    }

    void withoutInputsNoBreakpointIsLeftBehind()
    {
        open("nan_at_7.lsir");
        trigger("nextNaN");
        QVERIFY(!stop().started);
        QVERIFY(stop().breakpoints.empty());
        QVERIFY(m_window->area()->isOpen("panelInputs"));
    }

    void editingABreakpointThatNobodyCanSetWaitsForNothing()
    {
        open("collatz.lsir", {{"x", "27"}});
        trigger("run");
        m_window->document()->clearSelection();
        m_window->run("editBreakpoint"); // the run is over and nothing is selected
        enter("panelGraph");
        trigger("backInto");
        QCOMPARE(m_window->area()->focusPanel()->objectName(), QString("panelGraph"));
    }

    void longWorkShowsProgressAndIsCancelledByEscape()
    {
        open("count.lsir", {{"n", "1000000000"}});
        m_window->run("run");
        auto* const progress = m_window->findChild<QLabel*>("statusProgress");
        QTRY_VERIFY_WITH_TIMEOUT(progress->isVisible(), 20000);
        QVERIFY(m_window->findChild<QPushButton*>("statusCancel")->isVisible());
        QVERIFY(m_window->action("pause")->isEnabled());
        m_window->action("cancel")->trigger();
        settle();
        QVERIFY(!progress->isVisible());
        QVERIFY(stop().report.has(StopCause::cancelled));
    }

    void closingDuringWorkNeverHangs()
    {
        open("count.lsir", {{"n", "1000000000"}});
        m_window->document()->execute("break type add");
        settle();
        QTest::qWait(50);
        m_window->document()->execute("delete 1");
        m_window->run("run");
        QTest::qWait(50);
        QElapsedTimer timer;
        timer.start();
        m_window->close();
        QVERIFY2(timer.elapsed() < 10000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(!m_window->document());
        Theme::instance().set(ThemeName::dark); // the status line paints itself anew
        QCOMPARE(m_window->status()->stateText(), QString("Ready"));
    }

    // --- files ----------------------------------------------------------------------------------------------------------------------

    void brokenFilesGetAPage()
    {
        const QString path = m_folder->path() + "/broken.tflite";
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray("\x1c\0\0\0TFL3", 8) + QByteArray(64, '\xff'));
        file.close();
        QStringList failed;
        connect(m_window.get(), &MainWindow::openFailed, this,
                [&](const Error& error) { failed.append(QString::fromStdString(error.message())); });
        m_window->open(path);
        settle();
        QCOMPARE(failed.size(), 1);
        QVERIFY(failed.first().contains("broken.tflite"));
        QVERIFY(m_window->findChild<QWidget*>("filePage")->isVisible());
        QVERIFY(!m_window->document());
        // It says what is left, and tries again.
        const auto texts = [&] {
            QStringList all;
            for (const QLabel* const label : m_window->findChild<QWidget*>("filePage")->findChildren<QLabel*>()) all.append(label->text());
            return all.join('\n');
        };
        QVERIFY2(texts().contains("Table of contents"), qPrintable(texts()));
        QVERIFY(m_services->runCommand({"convert", "samples/text/collatz.lsir", "-o", path.toStdString(), "--force"}).ok());
        file.open(QIODevice::ReadWrite);
        const QByteArray whole = file.readAll();
        file.resize(whole.size() - 40);
        file.close();
        trigger("reload");
        QVERIFY2(texts().contains("broken.tflite cannot be read to the end"), qPrintable(texts()));
        QVERIFY2(texts().contains("Subgraphs"), qPrintable(texts()));
        file.open(QIODevice::WriteOnly);
        file.write(whole);
        file.close();
        trigger("reload");
        QVERIFY(m_window->document());
        m_window->open("docs/desktop.md");
        settle();
        QVERIFY2(texts().contains("desktop.md is not a model"), qPrintable(texts()));
        QVERIFY(find<QWidget>("fileParts")->isHidden());
        open("collatz.lsir");
        QVERIFY(m_window->document());
        m_window->open(m_folder->path() + "/missing.tflite");
        settle();
        QVERIFY(m_window->findChild<QWidget*>("filePage")->isVisible());
    }

    void openingRunsNothing()
    {
        for (const char* const model : {"collatz.lsir", "v1_collatz.lsir", "conv_classifier.lsir"}) {
            open(model);
            m_window->setTask(Task::debug); // where the timeline asks what ran
            settle();
            QVERIFY2(!*m_window->document()->backend().session().ask([](Inspector& inspector) { return inspector.position().started; }),
                     model);
            QVERIFY2(!stop().started, model);
        }
    }

    void ofTwoFilesTheLaterOneStays()
    {
        m_window->open("samples/text/collatz.lsir");
        m_window->open("samples/text/sum_loop.lsir");
        settle();
        QCOMPARE(QString::fromStdString(m_window->document()->backend().name()), QString("sum_loop.lsir"));
    }

    // --- tasks and looks ------------------------------------------------------------------------------------------------------------

    void tasksRememberTheirArrangement()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("task.2");
        m_window->area()->move("panelBreakpoints", Side::down);
        const QJsonObject moved = m_window->area()->arrangement();
        m_window->run("task.1");
        QVERIFY(m_window->area()->arrangement() != moved);
        m_window->run("task.2");
        QTest::qWait(20);
        QCOMPARE(m_window->area()->arrangement()["parts"], moved["parts"]);
        restart();
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("task.2");
        QTest::qWait(20);
        QCOMPARE(m_window->area()->arrangement()["split"], moved["split"]);
    }

    void aWindowThatGrowsKeepsWhatWasMoved()
    {
        open("collatz.lsir", {{"x", "27"}});
        m_window->run("task.2");
        m_window->area()->close("panelStructured");
        m_window->resize(1700, 900); // wide enough for another column
        QTest::qWait(20);
        QVERIFY(!m_window->area()->isOpen("panelStructured"));
    }

    void aWindowThatShrinksKeepsTheGraphWide()
    {
        m_window->resize(1440, 900);
        open("collatz.lsir", {{"x", "27"}});
        for (const char* const task : {"task.1", "task.2"}) {
            m_window->resize(1440, 900);
            m_window->run(task);
            m_window->resize(960, 600);
            settle();
            const int graph = m_window->area()->panel("panelGraph")->width();
            QVERIFY2(graph >= 476, qPrintable(QString("%1 in %2").arg(graph).arg(task))); // 480 with its borders
        }
        m_window->resize(1440, 900);
        settle();
        QCOMPARE(m_window->area()->panel("panelListing")->parentWidget()->width() > 400, true); // and back
    }

    void barsHaveTheSizesOfTheDrawing()
    {
        QCOMPARE(m_window->findChild<QWidget*>("menuBar")->height(), 24);
        QCOMPARE(m_window->findChild<QWidget*>("toolbarRun")->geometry(), QRect(0, 0, 1280, 36));
        QCOMPARE(m_window->status()->height(), 22);
        open("collatz.lsir");
        QCOMPARE(m_window->area()->mapTo(m_window.get(), QPoint(0, 0)), QPoint(0, 60));
        QCOMPARE(m_window->area()->size(), QSize(1280, 718));
    }

    void themesChangeLive()
    {
        open("collatz.lsir");
        for (const char* const theme : {"dark", "contrast", "light", "system"}) {
            m_window->setTheme(theme);
            settle();
            const QImage picture = m_window->grab().toImage();
            QCOMPARE(picture.pixelColor(2, 90), themed(Token::window)); // the gap beside the panels
        }
    }

    void theAddressIsElidedInTheMiddle()
    {
        AddressBar bar;
        bar.resize(300, 26);
        bar.setAddress("main/while/while_context@3:frame/while/inner@4:frame/while/cond/sub");
        QCOMPARE(bar.crumbs().first(), QString("main"));
        QVERIFY(bar.crumbs().contains("…"));
        QVERIFY(bar.crumbs().last().endsWith("sub"));
        QCOMPARE(bar.address(), QString("main/while/while_context@3:frame/while/inner@4:frame/while/cond/sub"));
        // Of very little room what is current has all.
        Theme::instance().setTextPercent(200);
        bar.resize(160, 52);
        bar.setAddress("main/while#0@37:body/add#3");
        QCOMPARE(bar.crumbs().join(" "), QString("… / add#3"));
    }

    void sizesOfPictures()
    {
        QCOMPARE(app::parseWindowSize("1280x800@2").value().ratio, 2.0);
        QCOMPARE(app::parseWindowSize("1600x900").value().width, 1600);
        for (const char* const wrong : {"", "1280", "1280x", "x800", "1280x800@", "1280x800@9", "100x100", "1280x800 "})
            QVERIFY2(!app::parseWindowSize(wrong).ok(), wrong);
    }
};

QTEST_MAIN(WindowTest)
#include "window_test.moc"
