// The real window, driven as a person drives it: opening, running, stepping, broken files, sessions, keys, themes, closing during work.
#include "app/desktop/screenshot.h"
#include "app/desktop/terminal_backend.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/panel_strip.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/banner.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"
#include "viewer/window/session_store.h"
#include "viewer/window/status_line.h"

#include <QAction>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeView>

#include <map>
#include <set>

using namespace loopscope;
using namespace loopscope::viewer;

class WindowTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
        qputenv("LOOPSCOPE_SAMPLES", QDir::currentPath().toUtf8() + "/samples/text");
        Theme::instance().apply();
    }
    void init() { m_folder = std::make_unique<QTemporaryDir>(); start(); }
    void cleanup()
    {
        m_window.reset();
        m_services.reset();
        m_folder.reset();
        Theme::instance().set(ThemeName::light);
        Theme::instance().setDense(false);
        Theme::instance().setTextPercent(100);
    }

    // --- the table of keys ----------------------------------------------------------------------------------------------------------

    void noKeyTwiceInAContext()
    {
        std::map<QString, std::set<QString>> used;
        std::set<QString> global;
        for (const KeyRow& row : keyTable()) {
            const QString context(row.context);
            QStringList keys = keysOf(row.key);
            // Single letters work in graph and listing, the rest everywhere.
            const QString second(row.second);
            if (context == "global" && !second.isEmpty() && second.size() > 1 && !second.startsWith("Shift+")) keys.append(second);
            for (const QString& key : keys) {
                QVERIFY2(used[context].insert(key).second, qPrintable(context + " " + key));
                QVERIFY2(!QKeySequence(key).isEmpty(), qPrintable(key));
                if (context == "global") global.insert(key);
            }
        }
        for (const auto& [context, keys] : used)
            if (context != "global")
                for (const QString& key : keys) QVERIFY2(!global.contains(key), qPrintable(context + " " + key));
        for (const char* const context : {"graph", "listing"})
            for (const KeyRow& row : keyTable())
                if (QLatin1String(row.context) == QLatin1String("global") && *row.second)
                    QVERIFY2(!used[context].contains(row.second), row.second);
        QCOMPARE(keyTable().size(), size_t(112));
    }

    void everyGlobalCommandDoesSomething()
    {
        open("collatz.lsir");
        for (const KeyRow& row : keyTable()) {
            if (QLatin1String(row.context) != QLatin1String("global")) continue;
            QVERIFY2(m_window->action(row.command), row.command);
            QCOMPARE(m_window->action(row.command)->objectName(), QString("action.") + row.command);
        }
        for (const char* const command : {"stepOver", "runToCursor", "bookmark", "find", "gotoAddress", "gotoIteration", "copyAddress", "task.2"})
            QVERIFY2(m_window->run(command), command);
        QVERIFY(!m_window->run("noSuchCommand"));
    }

    void keysAreRebound()
    {
        QString clash;
        QVERIFY(!m_window->rebind("stepOver", "F11", &clash));
        QCOMPARE(clash, QString("Step into"));
        QVERIFY(m_window->rebind("stepOver", "F12", &clash));
        QCOMPARE(m_window->keyOf("stepOver"), QString("F12"));
        restart();
        QCOMPARE(m_window->keyOf("stepOver"), QString("F12"));
        QVERIFY(m_window->rebind("stepOver", "F10"));
    }

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

    void breakpointRunStepAndBack()
    {
        open("collatz.lsir", {"x=27"});
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
        open("collatz.lsir", {"x=27"});
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
        open("nan_at_7.lsir", {"n=10"});
        trigger("nextNaN");
        QVERIFY(stop().report.has(StopCause::nan) || stop().report.has(StopCause::breakpoint));
        QVERIFY(m_window->addressBar()->address().contains("@7"));
    }

    void longWorkShowsProgressAndIsCancelledByEscape()
    {
        open("count.lsir", {"n=1000000000"});
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
        open("count.lsir", {"n=1000000000"});
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
    }

    // --- files ----------------------------------------------------------------------------------------------------------------------

    void brokenFilesGetAPage()
    {
        const QString path = m_folder->path() + "/broken.tflite";
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray("\x1c\0\0\0TFL3", 8) + QByteArray(64, '\xff'));
        file.close();
        QSignalSpy failed(m_window.get(), &MainWindow::openFailed);
        m_window->open(path);
        settle();
        QCOMPARE(failed.count(), 1);
        QVERIFY(m_window->findChild<QWidget*>("filePage")->isVisible());
        QVERIFY(!m_window->document());
        open("collatz.lsir");
        QVERIFY(m_window->document());
        m_window->open(m_folder->path() + "/missing.tflite");
        settle();
        QVERIFY(m_window->findChild<QWidget*>("filePage")->isVisible());
    }

    void ofTwoFilesTheLaterOneStays()
    {
        m_window->open("samples/text/collatz.lsir");
        m_window->open("samples/text/sum_loop.lsir");
        settle();
        QCOMPARE(QString::fromStdString(m_window->document()->backend().name()), QString("sum_loop.lsir"));
    }

    void sessionsRestoreBreakpointsAndView()
    {
        open("collatz.lsir", {"x=27"});
        m_window->document()->execute("break main/while#0:body/if#2 if n > 100");
        m_window->document()->execute("break iter while#0 37");
        settle();
        ViewState view = m_window->document()->view();
        view.inlined.insert("main/while#0");
        view.showAttributes = true;
        m_window->document()->setView(view);
        restart();
        open("collatz.lsir");
        QVERIFY(stop().breakpoints.empty());
        auto* const banner = m_window->findChild<Banner*>("errorBanner");
        QVERIFY(banner->isVisible());
        QCOMPARE(banner->text(), QString("Restore view and 2 breakpoints"));
        QTest::mouseClick(banner->findChild<QPushButton*>(), Qt::LeftButton);
        settle();
        QCOMPARE(stop().breakpoints.size(), size_t(2));
        QCOMPARE(QString::fromStdString(stop().breakpoints[0].condition), QString("n > 100"));
        QVERIFY(m_window->document()->view().showAttributes);
        QCOMPARE(QString::fromStdString(m_window->document()->backend().inputs()[0].source), QString("27"));
    }

    void sessionsOfLaterVersionsKeepWhatIsUnknown()
    {
        open("collatz.lsir", {"x=27"});
        trigger("stepInto");
        restart();
        const QString path = m_folder->path() + "/sessions/" + hash() + ".json";
        QJsonObject session = readJson(path);
        QVERIFY(!session.isEmpty());
        session["fromTheFuture"] = 7;
        session["version"] = 9;
        QVERIFY(writeJson(path, session));
        open("collatz.lsir", {"x=27"});
        trigger("stepInto");
        restart();
        QCOMPARE(readJson(path)["fromTheFuture"].toInt(), 7);
        QCOMPARE(readJson(path)["version"].toInt(), 9);
    }

    void oldAndBrokenSettingsLoad()
    {
        const QString path = m_folder->path() + "/settings.json";
        m_window.reset();
        QVERIFY(writeJson(path, {{"version", 1}, {"theme", 1}, {"unheardOf", "kept"}}));
        start();
        QCOMPARE(Theme::instance().name(), ThemeName::dark);
        m_window->setTheme("contrast");
        restart();
        QCOMPARE(Theme::instance().name(), ThemeName::highContrast);
        QCOMPARE(readJson(path)["unheardOf"].toString(), QString("kept"));
        m_window.reset();
        QFile broken(path);
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("{ not json");
        broken.close();
        start();
        QVERIFY(m_window->isVisible());
    }

    // --- tasks and looks ------------------------------------------------------------------------------------------------------------

    void tasksRememberTheirArrangement()
    {
        open("collatz.lsir", {"x=27"});
        m_window->run("task.2");
        m_window->area()->move("panelBreakpoints", Side::down);
        const QJsonObject moved = m_window->area()->arrangement();
        m_window->run("task.1");
        QVERIFY(m_window->area()->arrangement() != moved);
        m_window->run("task.2");
        QTest::qWait(20);
        QCOMPARE(m_window->area()->arrangement()["parts"], moved["parts"]);
        restart();
        open("collatz.lsir", {"x=27"});
        m_window->run("task.2");
        QTest::qWait(20);
        QCOMPARE(m_window->area()->arrangement()["split"], moved["split"]);
    }

    void nothingOverlapsOrIsCut_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("percent");
        QTest::newRow("1280x800") << QSize(1280, 800) << 100;
        QTest::newRow("smallest") << QSize(960, 600) << 100;
        QTest::newRow("1920x1080") << QSize(1920, 1080) << 100;
        QTest::newRow("text 150 %") << QSize(1280, 800) << 150;
    }
    void nothingOverlapsOrIsCut()
    {
        QFETCH(QSize, size);
        QFETCH(int, percent);
        m_window->resize(size);
        Theme::instance().setTextPercent(percent);
        open("collatz.lsir", {"x=27"});
        for (int task = 0; task < kTaskCount; ++task) {
            m_window->setTask(static_cast<Task>(task));
            settle();
            QCOMPARE(m_window->size(), size);
            QList<QWidget*> bars = m_window->findChild<QWidget*>("toolbarRun")->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly);
            bars.erase(std::remove_if(bars.begin(), bars.end(), [](QWidget* widget) { return !widget->isVisible(); }), bars.end());
            for (QWidget* const a : bars) {
                QVERIFY2(a->parentWidget()->rect().contains(a->geometry()),
                         qPrintable(QString("%1 at %2, %3 wide, %4 high").arg(a->objectName()).arg(a->x()).arg(a->width()).arg(a->height())));
                for (QWidget* const b : bars)
                    if (a != b) QVERIFY2(!a->geometry().intersects(b->geometry()), qPrintable(a->objectName() + " " + b->objectName()));
            }
            for (QToolButton* const button : m_window->findChild<QWidget*>("toolbarRun")->findChildren<QToolButton*>())
                if (!button->text().isEmpty() && button->toolButtonStyle() != Qt::ToolButtonIconOnly && button->icon().isNull())
                    QVERIFY2(button->fontMetrics().horizontalAdvance(button->text()) <= button->width(), qPrintable(button->text()));
            for (const PanelStrip* const strip : m_window->area()->strips())
                QVERIFY(m_window->area()->rect().contains(QRect(strip->mapTo(m_window->area(), QPoint(0, 0)), strip->size())));
        }
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
    }

    void thePaletteRunsCommands()
    {
        open("collatz.lsir", {"x=27"});
        m_window->run("palette");
        auto* const field = m_window->findChild<QLineEdit*>("paletteField");
        QVERIFY(field);
        field->setText("step into");
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QVERIFY(stop().started);
        m_window->run("quickOpen");
        QTRY_VERIFY(m_window->findChild<QTreeView*>("paletteList"));
        m_window->findChild<QLineEdit*>("paletteField")->setText("floor_div");
        QTest::keyClick(m_window->findChild<QLineEdit*>("paletteField"), Qt::Key_Return);
        settle();
        QVERIFY(QString::fromStdString(m_window->document()->selection().address).endsWith("then/floor_div#0"));
    }

    void sizesOfPictures()
    {
        QCOMPARE(app::parseWindowSize("1280x800@2").value().ratio, 2.0);
        QCOMPARE(app::parseWindowSize("1600x900").value().width, 1600);
        for (const char* const wrong : {"", "1280", "1280x", "x800", "1280x800@", "1280x800@9", "100x100", "1280x800 "})
            QVERIFY2(!app::parseWindowSize(wrong).ok(), wrong);
    }

private:
    void start(std::vector<std::string> inputs = {})
    {
        app::Arguments arguments;
        if (!inputs.empty()) arguments.set("input", std::move(inputs));
        m_services = std::make_unique<app::DesktopServices>(arguments);
        m_window = std::make_unique<MainWindow>(*m_services, MainWindow::Folders{m_folder->path() + "/settings.json", m_folder->path() + "/sessions"});
        m_window->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
    }
    void restart()
    {
        m_window->close();
        m_window.reset();
        start();
    }
    void settle()
    {
        QVERIFY(QTest::qWaitFor([&] { return m_window->settled(); }, 30000));
        QTest::qWait(30);
        QVERIFY(QTest::qWaitFor([&] { return m_window->settled(); }, 30000));
    }
    void open(const char* model, std::vector<std::string> inputs = {})
    {
        m_window->open(QString("samples/text/") + model);
        settle();
        QVERIFY2(m_window->document(), model);
        for (const std::string& input : inputs) {
            const size_t equals = input.find('=');
            m_window->document()->backend().setInput(input.substr(0, equals), input.substr(equals + 1));
        }
    }
    void trigger(const char* command)
    {
        QVERIFY2(m_window->action(command)->isEnabled(), command);
        m_window->action(command)->trigger();
        settle();
    }
    const StopSnapshot& stop() const { return *m_window->document()->stop(); }
    QString hash()
    {
        const QStringList files = QDir(m_folder->path() + "/sessions").entryList({"*.json"});
        return files.isEmpty() ? QString() : files.front().chopped(5);
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<app::DesktopServices> m_services;
    std::unique_ptr<MainWindow> m_window;
};

QTEST_MAIN(WindowTest)
#include "window_test.moc"
