// The Compare task in the whole window: choosing the other file, the same input on both sides, F8, Return, pictures without a screen.
#include "app/desktop/screenshot.h"
#include "tests/desktop/driven_window.h"

#include "viewer/compare/compare_desk.h"

using namespace loopscope;
using namespace loopscope::viewer;

class CompareWindowTest : public QObject, viewer::testing::DrivenWindow {
    Q_OBJECT
private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void chosenByKeyComparedOnTheSameInput()
    {
        open("layers_int8.lsir", {{"x", "[1,-0.5,0.8,0.3]"}});
        m_window->run("compare");
        answerDialog(QDir::currentPath() + "/samples/text/layers_float.lsir");
        QCOMPARE(m_window->task(), Task::compare);
        QCOMPARE(m_window->document()->backend().inputs().front().source, std::string("[1,-0.5,0.8,0.3]"));
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QCOMPARE(desk.comparedRows(), int64_t(3));
        QVERIFY(desk.scenes() != nullptr);
        // As `debug --against` tells it (docs/quantization_debugging.md).
        QVERIFY(std::abs(desk.drift()->rows[1].cosine - 0.926684) < 1e-6);
        QCOMPARE(stop().tick, int64_t(0)); // the run stands where it began
        trigger("nextFinding");
        QCOMPARE(selected(), QString("main/fully_connected#1"));
        trigger("nextFinding");
        QCOMPARE(selected(), QString("main/fully_connected#2"));
        trigger("previousFinding");
        QCOMPARE(selected(), QString("main/fully_connected#1"));
        auto* const table = find<QTreeView>("differenceTable");
        enter("panelDifferences");
        QTest::keyClick(table, Qt::Key_Return);
        settle();
        QCOMPARE(stop().position.step, int64_t(1)); // before it runs
    }

    void missingInputsAreFilledAndSaid()
    {
        open("layers_int8.lsir");
        m_window->compareWith("samples/text/layers_float.lsir");
        settle();
        QCOMPARE(m_window->document()->backend().inputs().front().source, std::string("@7"));
        QVERIFY(CompareDesk::of(*m_window->document()).drift() != nullptr);
    }

    void aRecordingIsAnotherSide()
    {
        open("collatz.lsir", {{"x", "6"}});
        execute("record on " + m_folder->path() + "/six.lstrace values");
        execute("run");
        execute("record off");
        open("collatz.lsir", {{"x", "27"}});
        m_window->compareWith(m_folder->path() + "/six.lstrace");
        settle();
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY(desk.drift() != nullptr);
        QCOMPARE(desk.tripLines(), QStringList("B left while#0 after 8 iterations, A after 111"));
        QVERIFY(desk.scenes() != nullptr && desk.scenes()->onlyHere.empty());
    }

    void aFileThatDoesNotFitIsSaid()
    {
        open("layers_int8.lsir", {{"x", "@7"}});
        m_window->compareWith("samples/text/no_such_file.lsir");
        settle();
        QVERIFY(m_window->document() == nullptr); // the page about the file
    }
};

QTEST_MAIN(CompareWindowTest)
#include "compare_test.moc"
