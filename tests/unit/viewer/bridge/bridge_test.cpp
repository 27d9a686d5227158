// Commands, questions, cancelling and selection between a window's thread and the engine, on real models and without a window.
#include "app/desktop/terminal_backend.h"
#include "viewer/bridge/document.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

using namespace loopscope;
using namespace loopscope::viewer;

namespace {

std::unique_ptr<Backend> backendOf(const char* model, std::vector<std::string> inputs)
{
    app::Arguments arguments;
    arguments.positionals = {std::string("samples/text/") + model};
    arguments.set("input", std::move(inputs));
    Result<std::unique_ptr<Backend>> opened = app::TerminalBackend::open(arguments);
    return opened.ok() ? std::move(*opened) : nullptr;
}

bool wait(Document& document)
{
    return QTest::qWaitFor([&] { return document.bridge().settled(); }, 20000);
}

} // namespace

class BridgeTest : public QObject {
    Q_OBJECT
private slots:
    void commandsAreEchoedAndMoveTheRun()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        std::vector<ConsoleEvent> events;
        connect(&document.bridge(), &DebugBridge::console, this, [&](const ConsoleEvent& event) { events.push_back(event); });
        QVERIFY(!document.stop()->started);
        document.execute("break iter while#0 37");
        document.execute("run");
        QVERIFY(document.bridge().busy());
        QVERIFY(wait(document));
        const StopSnapshot& stop = *document.stop();
        QVERIFY(stop.started);
        QCOMPARE(stop.stack.size(), size_t(2));
        QCOMPARE(QString::fromStdString(stop.stack.back().address), QString("main/while#0@37:cond"));
        QCOMPARE(stop.breakpoints.size(), size_t(1));
        QCOMPARE(stop.breakpoints[0].hits, int64_t(1));
        QVERIFY(stop.report.has(StopCause::breakpoint));
        QCOMPARE(events.front().kind, ConsoleEvent::Kind::echo);
        QCOMPARE(QString::fromStdString(events.front().text), QString("break iter while#0 37\n"));
    }

    void aNewerLineWithTheSameTagReplacesOneThatWaits()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        document.execute("start");
        QVERIFY(wait(document));
        QStringList echoed;
        connect(&document.bridge(), &DebugBridge::console, this, [&](const ConsoleEvent& event) {
            if (event.kind == ConsoleEvent::Kind::echo) echoed.append(QString::fromStdString(event.text).trimmed());
        });
        // The first may have begun; of those behind it only the newest is left.
        document.perform(request::GoToEnd{}, "first");
        for (int i = 1; i <= 50; ++i) document.perform(request::GoToStep{i}, "drag");
        QVERIFY(wait(document));
        const int64_t reached = document.stop()->tick;
        document.execute("goto step:50");
        QVERIFY(wait(document));
        QCOMPARE(document.stop()->tick, reached);
        QVERIFY2(echoed.size() < 52, qPrintable(QString::number(echoed.size())));
    }

    void longWorkIsCancelledAndTheRunGoesOnFromThere()
    {
        Document document(backendOf("count.lsir", {"n=1000000000"}));
        QSignalSpy progress(&document.bridge(), &DebugBridge::progress);
        document.execute("run");
        QVERIFY(QTest::qWaitFor([&] { return progress.count() >= 2; }, 20000));
        document.bridge().cancel();
        QVERIFY(wait(document));
        QVERIFY(document.stop()->report.has(StopCause::cancelled));
        QVERIFY(document.stop()->tick > 0);
        const int64_t tick = document.stop()->tick;
        document.execute("step");
        QVERIFY(wait(document));
        QCOMPARE(document.stop()->tick, tick + 1);
    }

    void whatIsCancelledBeforeItBeginsIsOver()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        QSignalSpy busy(&document.bridge(), &DebugBridge::busyChanged);
        for (int i = 0; i < 100; ++i) { // mostly the bridge's thread has not woken up yet
            document.execute("start");
            document.bridge().cancel();
            QVERIFY(wait(document));
            QVERIFY(!busy.isEmpty() && !busy.last().at(0).toBool());
        }
        document.execute("start");
        document.execute("step");
        QVERIFY(wait(document));
        QCOMPARE(document.stop()->tick, int64_t(1));
    }

    void closingDuringARunEnds()
    {
        QElapsedTimer timer;
        {
            Document document(backendOf("count.lsir", {"n=1000000000"}));
            document.execute("run");
            QTest::qWait(50);
            timer.start();
        }
        QVERIFY2(timer.elapsed() < 10000, qPrintable(QString::number(timer.elapsed())));
    }

    void ofQuestionsWithOneTagTheNewestIsAnswered()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        QList<int> answers;
        for (int i = 0; i < 20; ++i)
            document.bridge().ask(
                this, "tag", [i](Inspector&) { return i; }, [&](int answer) { answers.append(answer); });
        QVERIFY(wait(document));
        QCOMPARE(answers, QList<int>{19});
        {
            QObject gone;
            document.bridge().ask(
                &gone, "", [](Inspector&) { return 1; }, [&](int answer) { answers.append(answer); });
        }
        QVERIFY(wait(document));
        QCOMPARE(answers, QList<int>{19});
    }

    void aRefusedCommandMovesNothing()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        QSignalSpy refused(&document.bridge(), &DebugBridge::refused);
        document.execute("goto nowhere#9");
        QVERIFY(wait(document));
        QCOMPARE(refused.count(), 1);
        QVERIFY(!document.stop()->started);
        QVERIFY(!refused.at(0).at(1).toString().startsWith("error"));
    }

    void missingInputsAreRefused()
    {
        Document document(backendOf("collatz.lsir", {}));
        QSignalSpy refused(&document.bridge(), &DebugBridge::refused);
        QCOMPARE(document.backend().inputs().size(), size_t(1));
        QVERIFY(document.backend().inputs()[0].source.empty());
        document.execute("run");
        QVERIFY(wait(document));
        QCOMPARE(refused.count(), 1);
        document.backend().setInput("x", "[1,2]");
        QVERIFY(!document.backend().inputs()[0].problem.empty());
        document.backend().setInput("x", "27");
        QVERIFY(document.backend().inputs()[0].problem.empty());
        document.execute("run");
        QVERIFY(wait(document));
        QVERIFY(document.stop()->finished);
    }

    void selectionFollowsTheIteration()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        QVERIFY(document.select("main/while#0:body/if#2"));
        QCOMPARE(QString::fromStdString(document.selection().address), QString("main/while#0:body/if#2"));
        QVERIFY(document.selection().value.valid());
        document.execute("start");
        document.execute("goto main/while#0@3:body/equal#1");
        QVERIFY(wait(document));
        QCOMPARE(QString::fromStdString(document.selection().address), QString("main/while#0@3:body/if#2"));
        document.execute("iter +1");
        QVERIFY(wait(document));
        QCOMPARE(QString::fromStdString(document.selection().address), QString("main/while#0@4:body/if#2"));
        QVERIFY(!document.select("main/while#9:body/if#2"));
        QVERIFY(!document.select("not an address at all"));
    }

    void whatRunsIsInThePicture()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        document.execute("start");
        document.execute("goto main/while#0@0:body/if#2:else/mul#0");
        QVERIFY(wait(document));
        QVERIFY(document.view().inlined.contains("main/while#0"));
        QVERIFY(document.view().inlined.contains("main/while#0:body/if#2"));
    }

    void v1GraphsShowTokens()
    {
        Document document(backendOf("v1_collatz.lsir", {"n=6"}));
        document.execute("start");
        document.execute("step 12");
        QVERIFY(wait(document));
        QVERIFY(document.stop()->isDataflow);
        QVERIFY(!document.stop()->ready.empty());
        QVERIFY(!document.stop()->frames.empty());
    }

    void breakpointsSayWhereTheyAre()
    {
        Document document(backendOf("collatz.lsir", {"x=27"}));
        document.execute("break main/while#0:body/if#2 if n > 100 hits %8");
        document.execute("break iter while#0 37");
        QVERIFY(wait(document));
        const std::vector<BreakpointRow>& rows = document.stop()->breakpoints;
        QCOMPARE(rows.size(), size_t(2));
        QCOMPARE(QString::fromStdString(rows[0].where), QString("if#2 in while#0:body"));
        QCOMPARE(QString::fromStdString(rows[0].address), QString("main/while#0:body/if#2"));
        QCOMPARE(QString::fromStdString(rows[0].condition), QString("n > 100, every 8"));
        QVERIFY(rows[1].where.find("37") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(BridgeTest)
#include "bridge_test.moc"
