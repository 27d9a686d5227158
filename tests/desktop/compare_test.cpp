// The Compare task in the whole window: choosing the other file, the same input on both sides, F8, Return, pictures without a screen.
#include "app/desktop/screenshot.h"
#include "tests/desktop/driven_window.h"

#include "viewer/compare/compare_desk.h"

#include <QFile>

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
        QCOMPARE(desk.judgement().comparedRows(), int64_t(3));
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

    /// The key for the next difference compares first where that was not done yet, and puts no empty panel in the place of a side.
    void theNextDifferenceIsLookedForByComparing()
    {
        app::Arguments arguments; // as `loopscope gui layers_int8.lsir --against layers_float.lsir`
        arguments.set("input", {"x=[1,-0.5,0.8,0.3]"});
        arguments.set("against", {"samples/text/layers_float.lsir"});
        m_window.reset();
        m_services = std::make_unique<app::DesktopServices>(arguments);
        m_window = std::make_unique<MainWindow>(*m_services, MainWindow::Folders{m_folder->path() + "/settings.json", m_folder->path()});
        m_window->show();
        open("layers_int8.lsir");
        m_window->setTask(Task::compare);
        settle();
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QCOMPARE(static_cast<int>(desk.stage()), static_cast<int>(CompareDesk::Stage::notRun));
        trigger("nextFinding");
        QCOMPARE(static_cast<int>(desk.stage()), static_cast<int>(CompareDesk::Stage::ready));
        restart();
        open("collatz.lsir", {{"x", "27"}});
        m_window->compareWith("samples/text/collatz.lsir");
        settle();
        trigger("nextFinding");
        QVERIFY(!m_window->area()->isOpen("panelProblems"));
        QVERIFY(m_window->area()->panel("panelCompareA")->isVisible());
    }

    void missingInputsAreFilledAndSaid()
    {
        open("layers_int8.lsir");
        m_window->compareWith("samples/text/layers_float.lsir");
        settle();
        QCOMPARE(m_window->document()->backend().inputs().front().source, std::string("@7"));
        QVERIFY(CompareDesk::of(*m_window->document()).drift() != nullptr);
    }

    void theModelIsHeldAgainstOtherKernels()
    {
        open("quantized_layer.lsir", {{"x", "@1"}});
        QVERIFY(m_window->run("compareKernels.xnnpack"));
        settle();
        QCOMPARE(m_window->task(), Task::compare);
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY2(desk.drift() != nullptr, qPrintable(desk.problem()));
        QCOMPARE(desk.judgement().comparedRows(), int64_t(3));
        QCOMPARE(desk.nameOf(CompareSide::here), QString("quantized_layer.lsir"));
        QCOMPARE(desk.nameOf(CompareSide::there), QString("quantized_layer.lsir on xnnpack kernels"));
        QVERIFY2(m_window->windowTitle().startsWith("quantized_layer.lsir against xnnpack kernels"), qPrintable(m_window->windowTitle()));
        QVERIFY(!desk.canSwap());
        QVERIFY(m_window->area()->panel("panelCompareA")->isVisible()); // not the graph, whose tab lies beside it
        QCOMPARE(m_window->document()->backend().inputs().front().source, std::string("@1"));
    }

    /// What `diff --against-profile` says (tests/cli/profiles.transcript), by the same code.
    void operatorsAreRankedBetweenKernels()
    {
        open("tests/cli/rounding.lsir", {{"x", "@2"}});
        QVERIFY(m_window->run("compareKernels.xnnpack"));
        settle();
        const QString why =
            "xnnpack's fully_connected: requantized by a float scale, rounded once and to even: the reference rounds twice in "
            "fixed point; 1 step at channel 2";
        const auto* const notes = find<QLabel>("compareNotes");
        QVERIFY(notes && notes->isVisible());
        QVERIFY2(notes->text().contains("main/fully_connected#1:0: " + why), qPrintable(notes->text()));
        enter("panelKernels");
        const auto* const first = find<QLabel>("kernelsFirst");
        QVERIFY(first && first->isVisible());
        QVERIFY2(first->text().startsWith("first difference: main/fully_connected#1:0   "), qPrintable(first->text()));
        QVERIFY(first->text().contains(why));
        const auto* const table = find<QTreeView>("kernelTable");
        QCOMPARE(table->model()->rowCount(), 1);
        const auto cell = [&](int column) { return table->model()->index(0, column).data().toString(); };
        QCOMPARE(cell(0), QString("main/fully_connected#1"));
        QCOMPARE(cell(1), QString("0.150"));
        QCOMPARE(cell(2), QString("3 of 6"));
        QCOMPARE(cell(3), QString("1 step at channel 2"));
        find<QTreeView>("kernelTable")->setCurrentIndex(table->model()->index(0, 0));
        settle();
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QCOMPARE(desk.selected(CompareSide::here), std::vector<std::string>{"main/fully_connected#1"});
        QVERIFY(find<QLabel>("kernelsReason")->isVisible());
        // Narrow, and with large text, names stay; the lines above the pictures grow with it.
        m_window->resize(960, 600);
        Theme::instance().setTextPercent(150);
        settle();
        QVERIFY2(table->columnWidth(0) >= 100, qPrintable(QString::number(table->columnWidth(0))));
        QVERIFY(table->isColumnHidden(3));
        QVERIFY(find<QWidget>("compareName")->height() > QFontMetrics(Theme::instance().font(FontUse::body)).height());
    }

    void aReloadKeepsTheOtherSide()
    {
        m_window->openSample(2); // by cosine similarity
        settle();
        trigger("reload");
        const Reference* const other = CompareDesk::of(*m_window->document()).reference();
        QVERIFY(other != nullptr);
        QVERIFY(other->tolerance().cosine.has_value());
        QCOMPARE(m_window->task(), Task::compare);
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
        QVERIFY(m_window->document() != nullptr); // what was open stays open
        auto* const banner = find("errorBanner");
        QVERIFY(banner && banner->isVisible());
        QStringList words;
        for (const QLabel* const label : banner->findChildren<QLabel*>()) words.append(label->text());
        QVERIFY2(words.join(' ').contains("no_such_file.lsir"), qPrintable(words.join(' ')));
    }

    void filesWithNothingInCommonSaySoWhereTheWorkIs()
    {
        QFile other(m_folder->path() + "/other.lsir");
        QVERIFY(other.open(QIODevice::WriteOnly));
        other.write("graph main() {\n  c = const f32[2] [1.0, 2.0]\n  z = neg(c) : f32[2]\n  return z\n}\n");
        other.close();
        open("newton.lsir", {{"x", "2"}});
        m_window->compareWith(other.fileName());
        settle();
        QVERIFY(m_window->document() != nullptr);
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY(desk.drift() == nullptr);
        QVERIFY2(desk.problem().contains("pairs"), qPrintable(desk.problem()));
        QVERIFY(find("panelDifferences")->findChild<EmptyStack*>()->emptyText().startsWith("A and B cannot be compared: "));
    }

    void twoRecordingsAreComparedWithoutTheirModel()
    {
        open("collatz.lsir", {{"x", "6"}});
        for (const char* const name : {"six", "seven"}) {
            if (name == std::string("seven")) m_window->document()->backend().setInput("x", "7");
            execute("record on " + m_folder->path() + "/" + name + ".lstrace values");
            execute("run");
            execute("record off");
        }
        open(m_folder->path() + "/six.lstrace");
        m_window->compareWith(m_folder->path() + "/seven.lstrace");
        settle();
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY2(desk.drift() != nullptr, qPrintable(desk.problem()));
        QCOMPARE(desk.tripLines(), QStringList("B left while#0 after 16 iterations, A after 8"));
        QCOMPARE(m_window->task(), Task::compare);
        // The other side may be the model: it runs on what was recorded.
        m_window->compareWith(QDir::currentPath() + "/samples/text/collatz.lsir");
        settle();
        QVERIFY2(CompareDesk::of(*m_window->document()).drift() != nullptr, qPrintable(CompareDesk::of(*m_window->document()).problem()));
        QCOMPARE(CompareDesk::of(*m_window->document()).judgement().differentRows(), int64_t(0));
    }

    void sidesAreSwapped()
    {
        open("layers_int8.lsir", {{"x", "[1,-0.5,0.8,0.3]"}});
        m_window->compareWith("samples/text/layers_float.lsir");
        settle();
        const double before = CompareDesk::of(*m_window->document()).drift()->rows[1].maxAbs;
        auto* const swap = m_window->findChild<QAction*>("compareSwap");
        QVERIFY(swap && swap->isEnabled());
        swap->trigger();
        settle();
        QCOMPARE(QString::fromStdString(m_window->document()->backend().name()), QString("layers_float.lsir"));
        const CompareDesk& desk = CompareDesk::of(*m_window->document());
        QCOMPARE(desk.nameOf(CompareSide::there), QString("layers_int8.lsir"));
        QVERIFY(desk.drift() != nullptr);
        QCOMPARE(desk.drift()->rows[1].maxAbs, before);
        QCOMPARE(m_window->windowTitle(), QString("layers_float.lsir against layers_int8.lsir · Loopscope"));
    }

    void measureAndLimitAreRememberedByTheProgram()
    {
        open("layers_int8.lsir", {{"x", "[1,-0.5,0.8,0.3]"}});
        m_window->compareWith("samples/text/layers_float.lsir");
        settle();
        CompareDesk& desk = CompareDesk::of(*m_window->document());
        desk.judgement().setMetric(Metric::snr);
        desk.judgement().setLimit(21);
        restart();
        open("layers_int8.lsir", {{"x", "[1,-0.5,0.8,0.3]"}});
        m_window->compareWith("samples/text/layers_float.lsir");
        settle();
        QCOMPARE(CompareDesk::of(*m_window->document()).judgement().metric(), Metric::snr);
        QCOMPARE(CompareDesk::of(*m_window->document()).judgement().limit(), 21.0);
    }
};

QTEST_MAIN(CompareWindowTest)
#include "compare_test.moc"
