// The text panels over a debugger: what they show, what they send, and that their models keep the rules of Qt's models.
#include "tests/scratch.h"
#include "tests/unit/viewer/panels/panel_views.h"
#include "viewer/dataflow/dataflow_panels.h"
#include "viewer/panels/common.h"
#include "viewer/panels/input_source.h"
#include "viewer/panels/listing_view.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/value_table.h"
#include "viewer/widgets/parts.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>

namespace loopscope::viewer {

namespace {

using Factory = Panel* (*)(Document&);

const std::vector<Factory> kFactories = {
    makeListingPanel,   makeStructuredPanel, makeInvocationsPanel, makeCallStackPanel, makeBreakpointsPanel, makeMarksPanel,
    makeWatchesPanel,   makeVariablesPanel,  makeConsolePanel,     makeProblemsPanel,  makeSearchPanel,      makePropertiesPanel,
    makeStructurePanel, makeSubgraphsPanel,  makeInputsPanel,      makeFramesPanel,    makeTokensPanel,      makeOperatorPanel};

} // namespace

class PanelsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    void modelsKeepTheRules()
    {
        for (const auto& [file, input] :
             {std::pair("samples/text/collatz.lsir", "x=27"), std::pair("samples/text/nested_loops.lsir", "rows=3"),
              std::pair("samples/text/v1_collatz.lsir", "n=6")}) {
            std::vector<std::string> inputs = {input};
            if (inputs.front() == "rows=3") inputs.emplace_back("columns=4");
            const auto document = openFile(file, inputs);
            std::vector<std::unique_ptr<Panel>> panels;
            std::vector<std::unique_ptr<QAbstractItemModelTester>> testers;
            for (const Factory make : kFactories) {
                panels.push_back(shown(make(*document)));
                for (const RowView* view : panels.back()->findChildren<RowView*>())
                    testers.push_back(
                        std::make_unique<QAbstractItemModelTester>(view->model(), QAbstractItemModelTester::FailureReportingMode::QtTest));
            }
            QVERIFY(testers.size() >= 15);
            execute(*document, "start");
            execute(*document, "break nan");
            for (int i = 0; i < 6; ++i) execute(*document, "step");
            document->report({Problem::Severity::warning, "a text", document->stop()->address, "an advice"});
            for (RowView* view : panels[2]->findChildren<RowView*>()) view->expandAll();
            document->select(document->stop()->address);
            execute(*document, "continue");
            execute(*document, "delete");
            document->clearSelection();
            document->clearProblems();
        }
    }

    void listingShowsTheStop()
    {
        const auto document = collatz();
        const auto panel = shown(makeListingPanel(*document), {560, 300});
        auto* view = panel->findChild<ListingView*>("listingView");
        QVERIFY(view != nullptr);
        QCOMPARE(rowAt(*view, "main/while#0")["text"].toString(), QString("n, steps = while(x, 0)"));
        execute(*document, "break main/while#0@37/if#2");
        execute(*document, "run");
        const QString body = "main/while#0:body/";
        QTRY_COMPARE(rowAt(*view, body + "if#2")["state"].toString(), QString("next"));
        QTRY_COMPARE(rowAt(*view, body + "floor_mod#0")["value"].toString(), QString("1"));
        QTRY_COMPARE(rowAt(*view, body + "equal#1")["value"].toString(), QString("false"));
        // What has not run in this iteration is of the one before, and says so.
        QTRY_COMPARE(rowAt(*view, body + "add#3")["value"].toString(), QString("@36 37"));
        QVERIFY(rowAt(*view, body + "add#3")["stale"].toBool());
        QVERIFY(!rowAt(*view, body + "equal#1").contains("stale"));
        QCOMPARE(rowAt(*view, body + "if#2")["mark"].toString(), QString("breakpoint"));
        // A click into the gutter sets a breakpoint, another one removes it.
        const QJsonObject row = rowAt(*view, body + "add#3");
        const QPoint gutter(6, row["y"].toInt() + row["height"].toInt() / 2);
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, gutter);
        QTRY_COMPARE(rowAt(*view, body + "add#3")["mark"].toString(), QString("breakpoint"));
        QCOMPARE(document->stop()->breakpoints.size(), size_t{2});
        QTRY_VERIFY(!document->bridge().busy());
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, gutter);
        QTRY_VERIFY(!rowAt(*view, body + "add#3").contains("mark"));
        // Selecting works in both directions.
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, QPoint(200, row["y"].toInt() + 4));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/add#3"));
        document->select("main/while#0:body/equal#1");
        QVERIFY(rowAt(*view, body + "equal#1")["selected"].toBool());
        // A changed value is marked for one stop.
        execute(*document, "iter +1");
        QTRY_COMPARE(rowAt(*view, body + "floor_mod#0")["value"].toString(), QString("0"));
        QVERIFY(rowAt(*view, body + "floor_mod#0")["changed"].toBool());
        grab(*panel, "listing");
        // Up to the caller, and into the callee again.
        QVERIFY(panel->command("up"));
        QVERIFY(!rowAt(*view, "main/while#0").isEmpty());
        view->setCursorLine(view->lineOf("main/while#0"));
        QVERIFY(panel->command("drillIn"));
        QVERIFY(!rowAt(*view, body + "add#3").isEmpty());
    }

    void listingSearchesItsLines()
    {
        const auto document = collatz();
        const auto panel = shown(makeStructuredPanel(*document), {560, 400});
        auto* view = panel->findChild<ListingView*>("structuredView");
        QTRY_VERIFY(!view->listing().lines.empty());
        QVERIFY(panel->command("find"));
        panel->findChild<QLineEdit*>("listingFind")->setText("FLOOR_");
        QCOMPARE(view->hitCount(), 2);
        QVERIFY(panel->command("findNext"));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/floor_mod#0"));
        QVERIFY(panel->command("findNext"));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/if#2:then/floor_div#0"));
    }

    void structuredFoldsWhatWasNotTaken()
    {
        const auto document = collatz();
        const auto panel = shown(makeStructuredPanel(*document), {620, 460});
        auto* view = panel->findChild<ListingView*>("structuredView");
        execute(*document, "break main/while#0@37:body/if#2:else/add#1");
        execute(*document, "run");
        QTRY_COMPARE(rowAt(*view, "main/while#0:body/if#2:else/add#1")["state"].toString(), QString("next"));
        QTRY_COMPARE(rowAt(*view, "main/while#0")["note"].toString(), QString("@37 of ?"));
        QTRY_VERIFY(rowAt(*view, "main/while#0:body/if#2:then/floor_div#0").isEmpty());
        bool folded = false;
        for (const QJsonValue& row : view->describe()["rows"].toArray()) folded = folded || row.toObject()["state"].toString() == "untaken";
        QVERIFY(folded);
        grab(*panel, "structured");
    }

    void listingOfManyLinesFormatsOnlyThoseInSight()
    {
        std::string text = "graph main(x: f32[2]) {\n";
        for (int i = 0; i < 100000; ++i)
            text += "  v" + std::to_string(i) + " = add(" + (i == 0 ? "x" : "v" + std::to_string(i - 1)) + ", x) : f32[2]\n";
        text += "  return v99999\n}\n";
        const ScratchFolder folder;
        const std::string path = folder.path("panels.lsir");
        {
            FILE* file = std::fopen(path.c_str(), "w");
            std::fputs(text.c_str(), file);
            std::fclose(file);
        }
        const auto document = openFile(path, {"x=1"});
        const auto panel = shown(makeListingPanel(*document), {560, 300});
        auto* view = panel->findChild<ListingView*>("listingView");
        QTRY_VERIFY_WITH_TIMEOUT(view->listing().lines.size() > 100000, 60000);
        view->scrollTo(90000);
        QVERIFY(view->linesInSight().size() < 30);
        QElapsedTimer timer;
        timer.start();
        for (int i = 0; i < 20; ++i) {
            view->scrollTo(i * 4999);
            view->repaint();
        }
        qInfo("100,000 lines: %.1f ms a frame", static_cast<double>(timer.nsecsElapsed()) / 20e6);
        document->select("main/add#77777");
        QCOMPARE(view->cursorLine(), view->lineOf("main/add#77777"));
        const auto search = shown(makeSearchPanel(*document));
        timer.restart();
        searchFor(search.get(), "v9999");
        QTRY_COMPARE_WITH_TIMEOUT(search->findChild<QLabel*>("searchCount")->text(), QString("11 of 100000 operators"), 60000);
    }

    void invocationsFoldIterations()
    {
        const auto document = openFile("samples/text/nan_at_613.lsir", {"n=1000"});
        const auto panel = shown(makeInvocationsPanel(*document), {260, 420});
        auto* view = panel->findChild<RowView*>("invocationTree");
        QCOMPARE(panel->findChild<EmptyStack*>()->emptyText(), QString("No run yet."));
        execute(*document, "run");
        execute(*document, "goto main/while#0@613:body/mul#5");
        QTRY_VERIFY(rowsOf(*view).join("\n").contains("<="));
        const QStringList rows = rowsOf(*view);
        QVERIFY2(rows.size() < 40, qPrintable(rows.join("\n")));
        QVERIFY2(rows.contains("main|9,002 steps"), qPrintable(rows.join("\n")));
        QVERIFY2(rows.contains("  while#0|1,000 iterations"), qPrintable(rows.join("\n")));
        QVERIFY2(rows.contains("    @0..611|612 iterations"), qPrintable(rows.join("\n")));
        QVERIFY2(rows.contains("    @614..999|386, last run"), qPrintable(rows.join("\n")));
        QVERIFY2(rows.contains("        mul#5|next <="), qPrintable(rows.join("\n")));
        grab(*panel, "invocations");
        // A range opens into parts of a hundred, then of ten.
        QModelIndex loop = view->model()->index(0, 0, view->model()->index(0, 0));
        const QModelIndex range = view->model()->index(0, 0, loop);
        QCOMPARE(range.data().toString(), QString("@0..611"));
        QCOMPARE(view->model()->rowCount(range), 7);
        QCOMPARE(view->model()->index(1, 0, range).data().toString(), QString("@100..199"));
        // Return goes there; a number on the loop goes to that iteration.
        view->setCurrentIndex(view->model()->index(1, 0, loop));
        QTest::keyClick(view, Qt::Key_Return);
        QTRY_COMPARE(QString::fromStdString(document->stop()->address).section('/', 1, 1), QString("while#0@612:body"));
        QTRY_VERIFY(!document->bridge().busy());
        QTest::qWait(50);
        QTest::keyClick(view, Qt::Key_7);
        auto* field = panel->findChild<QLineEdit*>("invocationIteration");
        QCOMPARE(field->text(), QString("7"));
        QTest::keyClick(field, Qt::Key_Return);
        QTRY_COMPARE(QString::fromStdString(document->stop()->address).section('/', 1, 1), QString("while#0@7:body"));
    }

    void callStackChoosesTheFrame()
    {
        const auto document = collatz();
        const auto panel = shown(makeCallStackPanel(*document));
        const auto listing = shown(makeListingPanel(*document), {500, 200});
        execute(*document, "break main/while#0@37:body/if#2:else/add#1");
        execute(*document, "run");
        auto* view = panel->findChild<RowView*>("callStackTable");
        const QStringList rows = rowsOf(*view);
        QVERIFY2(rows.size() == 3, qPrintable(rows.join("\n")));
        QCOMPARE(rows[2], QString("0  main (main)|while#0"));
        view->setCurrentIndex(view->model()->index(2, 0));
        QCOMPARE(document->frame(), 0);
        QVERIFY(!rowAt(*listing->findChild<ListingView*>(), "main/while#0").isEmpty());
        grab(*panel, "call_stack");
    }

    void breakpointsAreEditedInTheirRows()
    {
        const auto document = collatz();
        const auto panel = shown(makeBreakpointsPanel(*document), {300, 160});
        QCOMPARE(panel->findChild<EmptyStack*>()->emptyText(), QString("No breakpoints."));
        const auto buttons = panel->findChildren<OfferButton*>();
        QCOMPARE(buttons.size(), 1); // integers hold no NaN
        QCOMPARE(buttons[0]->text(), QString("Break at each loop exit"));
        QTest::mouseClick(buttons[0], Qt::LeftButton);
        QTRY_COMPARE(modelOf(*panel, "breakpointTable")->rowCount(), 1);
        execute(*document, "break main/while#0:body/if#2");
        QAbstractItemModel* model = modelOf(*panel, "breakpointTable");
        QCOMPARE(model->rowCount(), 2);
        QVERIFY(model->setData(model->index(1, 0), "iter == 37", Qt::EditRole));
        QTRY_COMPARE(model->index(1, 0).data(chipRole).toString(), QString("iter == 37"));
        QTRY_VERIFY(!document->bridge().busy());
        QCOMPARE(model->index(1, 0).data(markRole).toInt(), static_cast<int>(BreakMark::conditional));
        // What is wrong with a condition is said under the table, with its column.
        QVERIFY(model->setData(model->index(1, 0), "itr == 37", Qt::EditRole));
        auto* error = panel->findChild<QLabel*>("breakpointError");
        QTRY_VERIFY2(error->text().contains("itr"), qPrintable(error->text()));
        QCOMPARE(model->index(1, 0).data(Qt::EditRole).toString(), QString("iter == 37"));
        QVERIFY(model->setData(model->index(0, 0), Qt::Unchecked, Qt::CheckStateRole));
        QTRY_COMPARE(model->index(0, 0).data(chipRole).toString(), QString("disabled"));
        QVERIFY(!error->isVisible()); // of another command
        execute(*document, "run");
        QTRY_COMPARE(model->index(1, 1).data().toString(), QString("1"));
        grab(*panel, "breakpoints");
        auto* view = panel->findChild<RowView*>("breakpointTable");
        view->setCurrentIndex(model->index(0, 0));
        QTest::keyClick(view, Qt::Key_Delete);
        QTRY_COMPARE(model->rowCount(), 1);
    }

    void watchesSayWhatIsWrong()
    {
        const auto document = collatz();
        const auto panel = shown(makeWatchesPanel(*document), {260, 160});
        QCOMPARE(panel->findChild<EmptyStack*>()->emptyText(), QString("Type an expression, for example max(abs(add_1))."));
        auto* field = panel->findChild<QLineEdit*>("watchField");
        for (const char* text : {"iter", "n * 2", "nn + 1"}) {
            field->setText(text);
            QTest::keyClick(field, Qt::Key_Return);
        }
        execute(*document, "break main/while#0@37/if#2");
        execute(*document, "run");
        QAbstractItemModel* model = modelOf(*panel, "watchTable");
        QTRY_COMPARE(model->index(0, 1).data().toString(), QString("37"));
        QCOMPARE(model->index(1, 1).data().toString(), QString("1186"));
        QVERIFY2(model->index(2, 1).data().toString().startsWith("1:1: "), qPrintable(model->index(2, 1).data().toString()));
        QCOMPARE(model->index(2, 1).data(toneRole).toInt(), static_cast<int>(Tone::err));
        QCOMPARE(panel->state()["watches"].toArray(), QJsonArray({"iter", "n * 2", "nn + 1"})); // sessions keep them
        // `display` in the console is a watch, too.
        execute(*document, "display count");
        QTRY_COMPARE(model->rowCount(), 4);
        grab(*panel, "watches");
    }

    void variablesAreThoseOfTheFrame()
    {
        const auto document = collatz();
        const auto panel = shown(makeVariablesPanel(*document), {260, 200});
        execute(*document, "break main/while#0@37/if#2");
        execute(*document, "run");
        QAbstractItemModel* model = modelOf(*panel, "variableTable");
        QTRY_VERIFY(model->rowCount() >= 6);
        const QStringList rows = rowsOf(*panel->findChild<RowView*>("variableTable"));
        QCOMPARE(rows[0], QString("Loop variables|"));
        QCOMPARE(rows[1], QString("n  i32[]|593"));
        QCOMPARE(rows[3], QString("Results|"));
        QCOMPARE(rows[4], QString("even  bool[]|false"));
        document->setFrame(0);
        QTRY_COMPARE(rowsOf(*panel->findChild<RowView*>("variableTable"))[0], QString("Inputs|"));
        grab(*panel, "variables");
    }

    void consoleEchoesAndLinks()
    {
        const auto document = collatz();
        const auto panel = shown(makeConsolePanel(*document), {480, 160});
        auto* log = panel->findChild<QTextBrowser*>("consoleLog");
        auto* input = panel->findChild<QLineEdit*>("consoleInput");
        input->setText("break main/while#0@37/if#2");
        QTest::keyClick(input, Qt::Key_Return);
        QTRY_VERIFY(log->toPlainText().contains("breakpoint 1 at main/while#0@37:body/if#2"));
        execute(*document, "run");
        QTRY_VERIFY(log->toPlainText().contains(QString(QChar(0x203A)) + " run"));
        QVERIFY(log->toHtml().contains("href=\"main/while%230@37:body/if%232\"") ||
                log->toHtml().contains("href=\"main/while%230%4037:body/if%232\""));
        emit log->anchorClicked(QUrl("main/while%230@37:body/if%232"));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/if#2"));
        // History and completion.
        QTest::keyClick(input, Qt::Key_Up);
        QCOMPARE(input->text(), QString("break main/while#0@37/if#2"));
        QTest::keyClick(input, Qt::Key_Down);
        QCOMPARE(input->text(), QString());
        input->setText("lastw");
        QTest::keyClick(input, Qt::Key_Tab);
        QCOMPARE(input->text(), QString("lastwrite "));
        grab(*panel, "console");
    }

    void problemsAreWalked()
    {
        const auto document = collatz();
        const auto panel = shown(makeProblemsPanel(*document), {900, 120});
        QCOMPARE(panel->findChild<EmptyStack*>()->emptyText(), QString("No problems."));
        document->report({Problem::Severity::error, "while#0: body takes 1 value and returns 2", "main/while#0",
                          "the rest of the file is shown; run stops here"});
        document->report({Problem::Severity::warning, "if#2: condition is i32, bool is expected", "main/while#0:body/if#2",
                          "run stops with an error at this operator"});
        document->report({Problem::Severity::notice, "breakpoint 3 was set on mul#26, the file has 25 operators there", "collatz.lsir",
                          "kept, disabled; edit or delete it"});
        QCOMPARE(panel->title(), QString("Problems 3"));
        QVERIFY(panel->command("nextFinding"));
        QCOMPARE(document->selection().address, std::string("main/while#0"));
        QVERIFY(panel->command("nextFinding"));
        QCOMPARE(document->selection().address, std::string("main/while#0:body/if#2"));
        QVERIFY(panel->command("previousFinding"));
        QCOMPARE(document->selection().address, std::string("main/while#0"));
        grab(*panel, "problems");
    }

    void searchFindsAndSuggests()
    {
        const auto document = collatz();
        const auto panel = shown(makeSearchPanel(*document), {240, 380});
        searchFor(panel.get(), "op:floor");
        auto* count = panel->findChild<QLabel*>("searchCount");
        QTRY_COMPARE(count->text(), QString("2 of 9 operators"));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/floor_mod#0"));
        QVERIFY(panel->command("findNext"));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/if#2:then/floor_div#0"));
        grab(*panel, "search");
        searchFor(panel.get(), "floor_mood");
        QTRY_COMPARE(panel->findChild<EmptyStack*>()->emptyText(),
                     QString("No operator, tensor or attribute matches \"floor_mood\". Nearest: floor_mod."));
        // Return waits for no later query, and what is found for a query that is gone is not shown.
        panel->findChild<QLineEdit*>("searchField")->setText("op:floor");
        QTRY_COMPARE(count->text(), QString("2 of 9 operators"));
        QCOMPARE(staticAddress(document->selection().address), std::string("main/while#0:body/if#2:then/floor_div#0"));
        searchFor(panel.get(), "op:mul");
        searchFor(panel.get(), "");
        QTest::qWait(100);
        QCOMPARE(modelOf(*panel, "searchResults")->rowCount(), 0);
        searchFor(panel.get(), "/floor(/");
        QTRY_COMPARE(panel->findChild<EmptyStack*>()->emptyText(), QString("1:1: not a regular expression: /floor(/"));
    }

    void propertiesTellEverything()
    {
        const auto document = openFile("samples/text/layers_int8.lsir", {});
        const auto panel = shown(makePropertiesPanel(*document), {324, 460});
        QAbstractItemModel* model = modelOf(*panel, "propertyTable");
        QVERIFY(rowsOf(*panel->findChild<RowView*>("propertyTable")).join("\n").contains("operators|"));
        const Graph& main = document->model().graphs.front();
        size_t with = 0;
        for (size_t o = 0; o < main.operators.size(); ++o)
            if (main.operators[o].inputs.size() > 1) with = o;
        Selection selection;
        selection.graph = GraphId(0);
        selection.op = OperatorId(static_cast<int64_t>(with));
        selection.address = "main/" + std::string(main.operators[with].kind.name) + "#" + std::to_string(with);
        document->select(selection);
        const QString all = rowsOf(*panel->findChild<RowView*>("propertyTable")).join("\n");
        QVERIFY2(all.contains("Inputs|"), qPrintable(all));
        QVERIFY2(all.contains("Quantization|"), qPrintable(all));
        QVERIFY2(all.contains("breakpoints|none, F9 to add"), qPrintable(all));
        QVERIFY(model->rowCount() > 8);
        grab(*panel, "properties");
    }

    void inputsSayWhyTheRunCannotBegin()
    {
        const auto document = openFile("samples/text/collatz.lsir", {});
        const auto panel = shown(makeInputsPanel(*document), {420, 160});
        auto* run = panel->findChild<OfferButton*>("inputsRun");
        auto* reason = panel->findChild<QLabel*>("inputsReason");
        QVERIFY(!run->isEnabled());
        QCOMPARE(reason->text(), QString("x is not given"));
        auto* source = panel->findChild<QLineEdit*>("inputSource.x");
        source->setText("[1,2]");
        emit source->editingFinished();
        QVERIFY(!run->isEnabled());
        QTRY_VERIFY2(reason->text().startsWith("x: "), qPrintable(reason->text()));
        QTRY_COMPARE(panel->findChild<QComboBox*>("inputKind.x")->currentText(), QString("table"));
        grab(*panel, "inputs");
        QTest::mouseClick(panel->findChild<OfferButton*>("inputsFill"), Qt::LeftButton);
        QTRY_VERIFY(run->isEnabled());
        source->setText("27");
        emit source->editingFinished();
        QTRY_VERIFY(run->isEnabled());
        QTest::mouseClick(run, Qt::LeftButton);
        QTRY_VERIFY(document->stop()->finished);
        QCOMPARE(document->stop()->position.step, int64_t{709});
    }

    void inputsFollowWhatIsGivenElsewhere()
    {
        const auto document = openFile("samples/text/collatz.lsir", {});
        const auto panel = shown(makeInputsPanel(*document), {420, 160});
        QStringList echoed;
        connect(&document->bridge(), &DebugBridge::console, this, [&](const ConsoleEvent& event) {
            if (event.kind == ConsoleEvent::Kind::echo) echoed << QString::fromStdString(event.text).trimmed();
        });
        execute(*document, "input x=5");
        auto* source = panel->findChild<QLineEdit*>("inputSource.x");
        QTRY_COMPARE(source->text(), QString("5"));
        QTRY_COMPARE(panel->findChild<QLabel*>("inputPreview.x")->text(), QString("i32[]  5"));
        source->setText("6");
        emit source->editingFinished();
        QTRY_COMPARE(echoed.size(), 2);
        QVERIFY2(echoed.back().endsWith("input x=6"), qPrintable(echoed.back()));
        // Another shape than is declared is no error, but not what the model says either.
        source->setText("6:[2]");
        emit source->editingFinished();
        QTRY_COMPARE(panel->findChild<QLabel*>("inputPreview.x")->text(), QString("i32[2]  6 6 · resized from []"));
    }

    void inputsAreTypedIntoATable()
    {
        const auto document = openFile("samples/text/nan_at_613.lsir", {});
        const auto panel = shown(makeInputsPanel(*document), {420, 300});
        const std::string name = document->backend().inputs().front().name;
        auto* source = panel->findChild<QLineEdit*>("inputSource." + toText(name));
        source->setText("3");
        emit source->editingFinished();
        auto* run = panel->findChild<OfferButton*>("inputsRun");
        QTRY_VERIFY(run->isEnabled());
        panel->findChild<QToolButton*>("inputEdit." + toText(name))->setChecked(true);
        auto* table = panel->findChild<QTableView*>("inputTable." + toText(name));
        QTRY_VERIFY(table->isVisible());
        QAbstractItemModelTester tester(table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const QModelIndex cell = table->model()->index(0, 0);
        QCOMPARE(cell.data().toString(), QString("3"));
        QVERIFY(table->model()->setData(cell, "8"));
        QTRY_COMPARE(source->text(), QString("8"));
        QTRY_COMPARE(table->model()->index(0, 0).data().toString(), QString("8"));
    }

    void inputSourcesComeApartAndTogether()
    {
        using Kind = InputSource::Kind;
        for (const auto& [text, kind] : {std::pair("@7[-1,1]:[2,3]", Kind::seed), std::pair("/a/b.npy:cast", Kind::file),
                                         std::pair("cat.png[-1,1]:nchw:fit", Kind::file), std::pair("[[1,2],[3,4]]", Kind::table),
                                         std::pair("@last; x[0,3]=nan; x[1,1]=2", Kind::lastRun), std::pair("0.5:[4]", Kind::constant),
                                         std::pair("\"a;b:[2]\"", Kind::constant), std::pair("", Kind::none)}) {
            const InputSource source = inputSourceOf(text);
            QCOMPARE(static_cast<int>(source.kind), static_cast<int>(kind));
            QCOMPARE(textOf(source), QString(text));
        }
        const InputSource picture = inputSourceOf("cat.png[-1,1]:fit:nchw:[1,2]");
        QVERIFY(!picture.isPicture()); // a shape belongs before the words
        QVERIFY(inputSourceOf("cat.png[0,1]").isPicture());
        QCOMPARE(inputSourceOf("cat.png[0,1]").range, QString("0,1"));
        QCOMPARE(textOf(inputSourceOf("cat.JPEG[-1,1]:fit")), QString("cat.JPEG[-1,1]:fit"));
        QVERIFY(inputSourceOf("cat.JPEG[-1,1]:fit").isPicture());
    }

    void literalsKeepWhatFits()
    {
        Array array;
        array.dtype = DType::i32;
        array.shape = Shape{2, 2};
        for (const int32_t v : {1, -2, 3, 4})
            array.bytes.insert(array.bytes.end(), reinterpret_cast<const std::byte*>(&v), reinterpret_cast<const std::byte*>(&v) + 4);
        QCOMPARE(literalOf(array, array.shape), QString("[[1,-2],[3,4]]"));
        QCOMPARE(literalOf(array, array.shape, 1, "7"), QString("[[1,7],[3,4]]"));
        QCOMPARE(literalOf(array, Shape{3, 1}), QString("[[1],[3],[0]]"));
    }

    void structureShowsTheGraph()
    {
        const auto document = collatz();
        const auto panel = shown(makeStructurePanel(*document), {240, 260});
        auto* view = panel->findChild<RowView*>("structureTree");
        QCOMPARE(rowsOf(*view), QStringList({"main|1 op", "  while#0|"}));
        const auto graphs = shown(makeSubgraphsPanel(*document), {240, 260});
        auto* list = graphs->findChild<RowView*>("subgraphTable");
        QCOMPARE(list->model()->rowCount(), 5);
        list->setCurrentIndex(list->model()->index(2, 0));
        QTest::keyClick(list, Qt::Key_Return); // perhaps before the way there is known
        QTRY_COMPARE(document->view().root, std::string("main/while#0:body"));
        QVERIFY(rowsOf(*view).contains("  if#2|"));
        document->select("main/while#0:body/add#3");
        QCOMPARE(view->currentIndex().data().toString(), QString("add#3"));
        grab(*panel, "structure");
    }

    void framesAndTokensOfAVersionOneGraph()
    {
        const auto document = openFile("samples/text/v1_collatz.lsir", {"n=6"});
        const auto frames = shown(makeFramesPanel(*document), {240, 300});
        const auto tokens = shown(makeTokensPanel(*document), {336, 300});
        const auto node = shown(makeOperatorPanel(*document), {336, 160});
        execute(*document, "start");
        for (int i = 0; i < 40; ++i) document->execute("step");
        QTRY_VERIFY_WITH_TIMEOUT(!document->bridge().busy(), 30000);
        QTest::qWait(50);
        const QStringList rows = rowsOf(*frames->findChild<RowView*>("frameTree"));
        QVERIFY2(rows.size() > 3, qPrintable(rows.join("\n")));
        QCOMPARE(rows[0], QString("main|root frame"));
        QVERIFY2(rows.join("\n").contains("  collatz|"), qPrintable(rows.join("\n")));
        QVERIFY2(rows.join("\n").contains("|next <="), qPrintable(rows.join("\n")));
        const QStringList ready = rowsOf(*tokens->findChild<RowView*>("tokenTable"));
        QVERIFY2(ready[0].startsWith("Ready set, "), qPrintable(ready.join("\n")));
        QVERIFY2(ready[1].startsWith("1  ") && ready[1].endsWith(" <="), qPrintable(ready.join("\n")));
        QVERIFY2(ready.join("\n").contains(" of 2"), qPrintable(ready.join("\n")));
        QVERIFY(node->findChild<RowView*>("operatorTable")->model()->rowCount() > 0);
        grab(*frames, "frames");
        grab(*tokens, "tokens");
        grab(*node, "operator");
        execute(*document, "continue");
        QTRY_COMPARE(tokens->findChild<EmptyStack*>()->emptyText(), QString("No token is in flight: the graph has finished."));
    }

    void theOperatorInViewIsTheLastOneSelected()
    {
        const auto document = collatz();
        const auto node = shown(makeOperatorPanel(*document), {336, 160});
        execute(*document, "start");
        document->select("main/while#0");            // its values are asked for
        document->select("main/while#0:body/add#3"); // no frame holds it yet: shown at once
        const QStringList rows = rowsOf(*node->findChild<RowView*>("operatorTable"));
        QVERIFY(!rows.isEmpty());
        QTest::qWait(100);
        QCOMPARE(rowsOf(*node->findChild<RowView*>("operatorTable")), rows);
        document->clearSelection();
        execute(*document, "continue");
        QCOMPARE(node->title(), QString("Operator"));
    }

    void readyNodesTakeAnotherOrder()
    {
        const auto document = openFile("samples/text/v1_collatz.lsir", {"n=6"});
        const auto tokens = shown(makeTokensPanel(*document), {336, 300});
        execute(*document, "start");
        auto* seeded = tokens->findChild<Chip*>("orderSeed");
        QTRY_VERIFY(tokens->findChild<Chip*>("orderArrival")->isChecked());
        QTest::mouseClick(seeded, Qt::LeftButton);
        QTRY_COMPARE(document->stop()->scheduleSeed, uint64_t{7});
        QTRY_VERIFY(seeded->isChecked());
        QCOMPARE(seeded->text(), QString("seed 7, next 8"));
        bool isOther = false; // than the one that arrived first
        for (int i = 0; i < 60; ++i) {
            execute(*document, "step");
            const auto stop = document->stop();
            if (stop->ready.empty()) break;
            QCOMPARE(stop->ready.front().address, stop->address); // what is marked as next is what runs
            const QStringList rows = rowsOf(*tokens->findChild<RowView*>("tokenTable"));
            QVERIFY2(rows[1].startsWith("1  ") && rows[1].endsWith(" <="), qPrintable(rows.join("\n")));
            isOther = isOther || (rows.size() > 2 && rows[2].startsWith("·  "));
        }
        QVERIFY(isOther);
        QTest::mouseClick(tokens->findChild<Chip*>("orderArrival"), Qt::LeftButton);
        QTRY_COMPARE(document->stop()->scheduleSeed, uint64_t{0});
    }
};

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::PanelsTest)
#include "panels_test.moc"
