// Sessions and settings: what comes back, what is asked before, what stays of other versions, and that nothing runs unasked.
#include "driven_window.h"
#include "viewer/scene/view_state.h"
#include "viewer/trace/trace_desk.h"
#include "viewer/window/banner.h"

#include <QFile>
#include <QJsonArray>

using namespace loopscope;
using namespace loopscope::viewer;

class SessionTest : public QObject, public viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void aLookLeavesNothingBehind()
    {
        open("collatz.lsir");
        m_window->document()->select("main/while#0");
        settle();
        restart();
        QCOMPARE(sessionFile(), QString());
    }

    void everythingOfASessionComesBack()
    {
        work();
        const ViewState before = m_window->document()->view();
        restart();
        open("collatz.lsir");
        QVERIFY(stop().breakpoints.empty());
        Banner& banner = *find<Banner>("errorBanner");
        QVERIFY(banner.isVisible());
        QCOMPARE(banner.text(), QString("Restore view and 2 breakpoints, 1 mark, 1 watch, 1 pinned tensor"));
        choose("Restore");
        QVERIFY(!banner.isVisible());
        QVERIFY(!stop().started); // nothing runs unasked
        QCOMPARE(stop().breakpoints.size(), size_t(2));
        QCOMPARE(QString::fromStdString(stop().breakpoints[0].condition), QString("n > 100"));
        const ViewState& view = m_window->document()->view();
        QVERIFY(view.showAttributes);
        QVERIFY(view.inlined == before.inlined);
        QVERIFY(view.expanded == before.expanded);
        QCOMPARE(QString::fromStdString(m_window->document()->backend().inputs()[0].source), QString("27"));
        QCOMPARE(viewer::testing::rowsOf(find<QTreeView>("watchTable")).value(0).section(" |", 0, 0), QString("n * 2"));
        QCOMPARE(m_window->area()->panel("panelTensor")->state()["pins"].toArray().at(0).toString(), QString("main/while#0:body/add#3:0"));
        QCOMPARE(stop().marks.size(), size_t(1));
        execute("start");
        trigger("gotoBookmark.1");
        QCOMPARE(address(), QString("main/while#0@36:body/if#2"));
    }

    void aFileThatChangesIsNoticed()
    {
        const QString path = m_folder->path() + "/mine.lsir";
        QVERIFY(QFile::copy("samples/text/collatz.lsir", path));
        open(path);
        const auto banner = [this]() -> Banner& { return m_window->banner(); };
        QVERIFY(!banner().isVisible());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        const QByteArray text = file.readAll();
        QVERIFY(text.contains("count"));
        file.seek(0);
        file.resize(0);
        file.write(QByteArray(text).replace("count", "tally"));
        file.close();
        QTRY_COMPARE(banner().text(), QString("mine.lsir has changed on disk"));
        QVERIFY(banner().isVisible());
        QVERIFY(!textOf(m_window->document()->model()).contains("tally"));
        choose("Reload");
        settle();
        QVERIFY(textOf(m_window->document()->model()).contains("tally"));
        QVERIFY(!banner().isVisible());
        QVERIFY(QFile::remove(path));
        QTRY_COMPARE(banner().text(), QString("mine.lsir is no longer on disk"));
    }

    void itRunsToTheOldPlaceOnlyWhenAsked()
    {
        work();
        restart();
        open("collatz.lsir");
        choose("Restore and run there");
        QCOMPARE(address(), QString("main/while#0@36:body/if#2"));
        QCOMPARE(stop().breakpoints.size(), size_t(2));
    }

    void whatIsNotRestoredStays()
    {
        work();
        const QJsonObject before = readJson(sessionFile());
        restart();
        open("collatz.lsir", {{"x", "6"}});
        trigger("stepInto");
        restart();
        const QJsonObject after = readJson(sessionFile());
        QCOMPARE(after["breakpoints"], before["breakpoints"]);
        QCOMPARE(after["marks"], before["marks"]);
        QCOMPARE(after["inputs"].toObject()["x"].toString(), QString("6"));
        open("collatz.lsir");
        QVERIFY(find<Banner>("errorBanner")->text().contains("2 breakpoints"));
    }

    void forgottenIsForgotten()
    {
        work();
        restart();
        open("collatz.lsir");
        find<QAction>("forgetModel")->trigger();
        QCOMPARE(sessionFile(), QString());
        restart();
        QCOMPARE(sessionFile(), QString());
        open("collatz.lsir");
        QVERIFY(!find<Banner>("errorBanner")->isVisible());
    }

    void whatIsDeletedDoesNotComeBack()
    {
        work();
        execute("delete");
        restart();
        open("collatz.lsir");
        QVERIFY(!find<Banner>("errorBanner")->text().contains("breakpoint"));
    }

    void aSessionIsSavedBeforeARun()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break iter while#0 37");
        QCOMPARE(sessionFile(), QString()); // the second is not over
        m_window->run("run");
        QVERIFY(!sessionFile().isEmpty());
        QCOMPARE(readJson(sessionFile())["breakpoints"].toArray().size(), 1);
        settle();
    }

    void closingDuringWorkKeepsBreakpoints()
    {
        open("count.lsir", {{"n", "1000000000"}});
        execute("break type no_such_type disabled");
        execute("break iter while#0 999999999");
        m_window->run("run");
        QTest::qWait(50);
        QVERIFY(m_window->document()->bridge().busy());
        m_window->close();
        QVERIFY(!m_window->document());
        bool kept = false;
        for (const QJsonValue& line : readJson(sessionFile())["breakpoints"].toArray())
            kept = kept || line.toString().contains("999999999");
        QVERIFY(kept);
        QCOMPARE(readJson(sessionFile())["inputs"].toObject()["n"].toString(), QString("1000000000"));
    }

    void whatIsReloadedIsNotOfferedAgain()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break iter while#0 37");
        trigger("reload");
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        QVERIFY(!find<Banner>("errorBanner")->isVisible());
    }

    void whatWasSetRightBeforeALongRunIsKept()
    {
        open("count.lsir", {{"n", "1000000000"}});
        m_window->document()->execute("break iter while#0 999999998");
        m_window->document()->execute("run"); // begins before the window has heard of the breakpoint
        QTest::qWait(50);
        QVERIFY(m_window->document()->bridge().busy());
        m_window->close();
        bool kept = false;
        for (const QJsonValue& line : readJson(sessionFile())["breakpoints"].toArray())
            kept = kept || line.toString().contains("999999998");
        QVERIFY(kept);
    }

    void closingEndsAQueryWithoutALimit()
    {
        const QString path = m_folder->path() + "/run.lstrace";
        open("collatz.lsir", {{"x", "27"}});
        execute("record on " + path);
        execute("run");
        execute("record off");
        open(path);
        TraceDesk& desk = TraceDesk::of(*m_window->document());
        desk.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", {}, 0);
        QTest::qWait(50);
        QVERIFY(desk.busy());
        m_window->close();
        QVERIFY(!m_window->document());
    }

    void aSessionFileOpensLikeAModel()
    {
        QVERIFY(QFile::copy("samples/text/collatz.lsir", m_folder->path() + "/model.lsir"));
        open(m_folder->path() + "/model.lsir", {{"x", "27"}});
        execute("break iter while#0 37");
        QVERIFY(m_window->run("saveSession"));
        answerDialog(m_folder->path() + "/mine.lssession");
        QTRY_VERIFY(QFile::exists(m_folder->path() + "/mine.lssession"));
        // The folder may have gone elsewhere since.
        QVERIFY(QDir().mkdir(m_folder->path() + "/moved"));
        QVERIFY(QFile::rename(m_folder->path() + "/model.lsir", m_folder->path() + "/moved/model.lsir"));
        QVERIFY(QFile::rename(m_folder->path() + "/mine.lssession", m_folder->path() + "/moved/mine.lssession"));
        restart();
        open(m_folder->path() + "/moved/mine.lssession");
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        trigger("run");
        QCOMPARE(address(), QString("main/while#0@37:cond/not_equal#0"));
    }

    void breakpointsThatDoNotFitComeBackDisabled()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break main/while#0:body/if#2");
        restart();
        QJsonObject session = readJson(sessionFile());
        session["breakpoints"] = QJsonArray{"break main/while#0:body/if#2", "break main/while#0:body/mul#26"};
        QVERIFY(writeJson(sessionFile(), session));
        open("collatz.lsir");
        choose("Restore");
        QCOMPARE(stop().breakpoints.size(), size_t(2));
        QVERIFY(stop().breakpoints[0].enabled);
        QVERIFY(!stop().breakpoints[1].enabled);
        QVERIFY(!stop().breakpoints[1].problem.empty());
    }

    void sessionsOfLaterVersionsKeepWhatIsUnknown()
    {
        open("collatz.lsir", {{"x", "27"}});
        trigger("stepInto");
        restart();
        QJsonObject session = readJson(sessionFile());
        QVERIFY(!session.isEmpty());
        session["fromTheFuture"] = 7;
        session["version"] = 9;
        QVERIFY(writeJson(sessionFile(), session));
        open("collatz.lsir");
        choose("Restore");
        QCOMPARE(reason(), QString("session of version 9 read; 1 unknown entry kept unchanged"));
        trigger("stepInto");
        restart();
        QCOMPARE(readJson(sessionFile())["fromTheFuture"].toInt(), 7);
        QCOMPARE(readJson(sessionFile())["version"].toInt(), 9);
    }

    void sessionsOfTheFirstVersionAreRead()
    {
        open("collatz.lsir", {{"x", "27"}});
        trigger("stepInto");
        restart();
        const QJsonObject old{{"version", 1},
                              {"path", "x"},
                              {"view", QJsonObject{{"root", "main"}, {"showAttributes", true}}},
                              {"breakpoints", QJsonArray{"break iter while#0 3"}},
                              {"marks", QJsonArray{QJsonObject{{"name", "m"}, {"step", 7}}}}};
        QVERIFY(writeJson(sessionFile(), old));
        open("collatz.lsir");
        choose("Restore");
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        QVERIFY(stop().marks.empty()); // they had no ticks
        QVERIFY(m_window->document()->view().showAttributes);
    }

    void aDamagedSessionIsNoObstacle()
    {
        open("collatz.lsir", {{"x", "27"}});
        trigger("stepInto");
        restart();
        QFile file(sessionFile());
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{ \"version\": 2, \"view\"");
        file.close();
        open("collatz.lsir");
        QVERIFY(!find<Banner>("errorBanner")->isVisible());
        QVERIFY2(reason().contains("at byte 22; it begins anew, the file is kept as "), qPrintable(reason()));
        QFile kept(m_folder->path() + "/sessions/" + QDir(m_folder->path() + "/sessions").entryList({"*.damaged"}).value(0));
        QVERIFY(kept.open(QIODevice::ReadOnly));
        QCOMPARE(kept.readAll(), QByteArray("{ \"version\": 2, \"view\""));
    }

    void nothingIsWrittenHalf()
    {
        const QString path = m_folder->path() + "/settings.json";
        m_window->settings().set("dense", true);
        m_window->settings().flush();
        const QStringList files = QDir(m_folder->path()).entryList(QDir::Files);
        QCOMPARE(files, QStringList{"settings.json"}); // no file beside it is left
        QVERIFY(!writeJson(m_folder->path() + "/settings.json/no/folder.json", {{"a", 1}}));
        QVERIFY(readJson(path)["dense"].toBool());
    }

    void oldAndBrokenSettingsLoad()
    {
        const QString path = m_folder->path() + "/settings.json";
        m_window.reset();
        QVERIFY(writeJson(path, {{"version", 1}, {"theme", 1}, {"unheardOf", "kept"}}));
        start();
        QCOMPARE(reason(), QString("settings of version 1 read; 1 unknown entry kept unchanged"));
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
        QVERIFY2(reason().contains("settings cannot be read"), qPrintable(reason()));
        QVERIFY(QFile::exists(path + ".damaged"));
    }

    void modesOfTheTensorViewerAreRememberedByDtypeAndRank()
    {
        const QString path = m_folder->path() + "/settings.json";
        m_window.reset();
        QVERIFY(writeJson(path, {{"version", 2}, {"tensorModes", QJsonObject{{"f99 7", QJsonObject{{"modes", "later"}}}}}}));
        start();
        QVERIFY2(!reason().contains("unknown"), qPrintable(reason()));
        const auto shown = [&](const char* value) {
            m_window->document()->select(value);
            settle();
            QJsonObject tensor;
            QMetaObject::invokeMethod(m_window->area()->panel("panelTensor"), "describe", Q_RETURN_ARG(QJsonObject, tensor));
            return tensor["modes"].toArray();
        };
        open("conv_classifier.lsir", {{"image", "@7"}});
        QCOMPARE(shown("main/bias"), QJsonArray{"table"});
        QVERIFY(m_window->area()->panel("panelTensor")->command("mode histogram"));
        QCOMPARE(shown("main/weights"), QJsonArray{"table"}); // of another rank
        QCOMPARE(shown("main/bias"), QJsonArray{"histogram"});
        restart();
        open("conv_classifier.lsir", {{"image", "@7"}});
        QCOMPARE(shown("main/bias"), QJsonArray{"histogram"});
        QCOMPARE(shown("main/weights"), QJsonArray{"table"});
        QCOMPARE(readJson(path)["tensorModes"].toObject()["f99 7"].toObject()["modes"].toString(), QString("later")); // of a later version
    }

    void theWindowComesBackWhereItWas()
    {
        m_window->resize(1100, 700);
        QTest::qWait(20);
        restart();
        QCOMPARE(m_window->size(), QSize(1100, 700));
    }

private:
    /// Breakpoints, a mark, a watch, a pinned tensor, a changed view, and a place in the middle of the run.
    void work()
    {
        open("collatz.lsir", {{"x", "27"}});
        execute("break main/while#0:body/if#2 if n > 100");
        execute("break iter while#0 37");
        execute("start");
        execute("goto while#0@36:body/if#2");
        execute("mark here");
        execute("display n * 2");
        m_window->document()->select("main/while#0:body/add#3");
        settle();
        QVERIFY(m_window->area()->panel("panelTensor")->command("pin"));
        ViewState view = m_window->document()->view();
        view.inlined.insert("main/while#0:body/if#2");
        view.showAttributes = true;
        m_window->document()->setView(view);
        settle();
    }
    static QString textOf(const Model& model)
    {
        QStringList names;
        for (const Graph& graph : model.graphs)
            for (const Value& value : graph.values) names.append(QString::fromStdString(std::string(value.id)));
        return names.join(' ');
    }
    void choose(const char* text)
    {
        for (QPushButton* const button : find<Banner>("errorBanner")->findChildren<QPushButton*>())
            if (button->text() == text) {
                QTest::mouseClick(button, Qt::LeftButton);
                return settle();
            }
        QFAIL(text);
    }
};

QTEST_MAIN(SessionTest)
#include "session_test.moc"
