// The panels of the Trace task over a recording of 48 iterations.
#include "tests/unit/viewer/text_backend.h"
#include "tracer/record/recorder.h"
#include "viewer/timeline/recorded_course.h"
#include "viewer/timeline/run_course.h"
#include "viewer/timeline/timeline_bar.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/trace/result_panels.h"
#include "viewer/trace/trace_desk.h"
#include "viewer/trace/trace_panels.h"

#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

#include <cmath>

namespace loopscope::viewer::testing {
namespace {

constexpr const char* kLoop = R"(
graph main(x: f32[2]) {
  zero = const i32[] 0
  n, y = while(zero, x) cond=@cond body=@body : (i32[], f32[2])
  return y
}
graph cond(i: i32[], x: f32[2]) {
  limit = const i32[] 48
  go = less(i, limit) : bool[]
  return go
}
graph body(i: i32[], x: f32[2]) {
  one = const i32[] 1
  half = const f32[] 0.5
  next = add(i, one) : i32[]
  scaled = mul(x, half) : f32[2]
  return next, scaled
}
)";

std::string record(const QString& path)
{
    const Model model = textModel(kLoop);
    RecorderOptions options;
    options.path = path.toStdString();
    options.level = TraceLevel::all;
    options.iterations = IterationSet();
    auto recorder = TraceRecorder::create(model, options);
    if (!recorder.ok()) qFatal("%s", recorder.error().message().c_str());
    auto executor = makeExecutor(model, GraphId(0));
    const Array input = arrayOf<float>(Shape{2}, {1, 2});
    (*executor)->setObserver(recorder->get());
    if (!(*executor)->setInput(0, input.view()).ok() || !(*executor)->start().ok() || !(*executor)->run().ok() ||
        !(*recorder)->finish().ok())
        qFatal("no run");
    return options.path;
}

struct Fixture {
    Fixture() : path(record(folder.filePath("run.lstrace"))), reader(std::move(TraceReader::open(path)).value())
    {
        auto made = std::make_unique<TextBackend>(textModel(kLoop), std::vector<Array>{arrayOf<float>(Shape{2}, {1, 2})});
        made->reader = reader.get();
        backend = made.get();
        document = std::make_unique<Document>(std::move(made));
        for (auto* make :
             {makeRecipesPanel, makeSqlPanel, makeResultPanel, makePlotPanel, makeRecordedValuePanel, makeSchemaPanel, makePlanPanel})
            panels.emplace_back(make(*document));
        for (const auto& panel : panels) {
            panel->resize(560, 260);
            panel->show();
        }
        QTRY_VERIFY_WITH_TIMEOUT(panels[1]->settled(), 20000); // what it begins with
    }
    TraceDesk& desk() { return TraceDesk::of(*document); }
    void run(const QString& sql, const QueryParameters& parameters = {}, double seconds = 5)
    {
        desk().run(sql, parameters, seconds);
        QTRY_VERIFY_WITH_TIMEOUT(!desk().busy(), 20000);
    }
    template <typename T> T* find(const char* name)
    {
        for (const auto& panel : panels)
            if (T* const found = panel->findChild<T*>(name)) return found;
        return nullptr;
    }

    QTemporaryDir folder;
    std::string path;
    std::unique_ptr<TraceReader> reader;
    TextBackend* backend = nullptr;
    std::unique_ptr<Document> document;
    std::vector<std::unique_ptr<Panel>> panels;
};

} // namespace

class TraceTest : public QObject {
    Q_OBJECT
private slots:
    void parametersAreFoundOutsideOfTextAndComments()
    {
        QCOMPARE(parametersOf("SELECT :a, ':b', \":c\" -- :d\nFROM x WHERE y = :run AND z = :a"), (QStringList{"a", "run"}));
        QCOMPARE(parametersOf("SELECT 'open :x"), QStringList());
    }
    void csvQuotesWhatNeedsIt()
    {
        QueryResult result;
        result.columns = {"a", "b"};
        result.rows = {{SqlValue(int64_t{1}), SqlValue(std::string("x,\"y\""))}, {SqlValue(std::monostate()), SqlValue(0.5)}};
        QCOMPARE(csvOf(result, {1, 0}), QByteArray("a,b\n,0.5\n1,\"x,\"\"y\"\"\"\n"));
    }
    void everyRecipeHasATopic()
    {
        for (const Recipe& recipe : traceRecipes()) QVERIFY2(!recipe.topic().empty(), std::string(recipe.name).c_str());
    }
    void recipesFilterAsOneTypes()
    {
        Fixture f;
        auto* list = f.find<QListWidget>("recipeList");
        QCOMPARE(list->count(), static_cast<int>(traceRecipes().size() + recipeTopics().size()));
        QCOMPARE(list->item(0)->text(), QString("Control flow"));
        QVERIFY(!list->item(0)->flags().testFlag(Qt::ItemIsSelectable));
        f.find<QLineEdit>("recipeFilter")->setText("largest-jump");
        QCOMPARE(list->count(), 2);
        QCOMPARE(list->item(0)->text(), QString("Values"));
        f.find<QLineEdit>("recipeFilter")->setText("no such question");
        QCOMPARE(list->count(), 0);
    }
    void aRecipeFillsTheEditorAndItsParameters()
    {
        Fixture f;
        f.document->select("main/while#0:body/mul#1");
        f.find<QLineEdit>("recipeFilter")->setText("loop-trips");
        emit f.find<QListWidget>("recipeList")->itemActivated(f.find<QListWidget>("recipeList")->item(1));
        auto* editor = f.find<QPlainTextEdit>("sqlEditor");
        QVERIFY(editor->toPlainText().contains("SELECT"));
        QCOMPARE(f.panels[1]->title(), QString("loop-trips"));
        QTRY_VERIFY(f.find<QTableView>("resultTable")->model()->rowCount() > 0);
        editor->appendPlainText(" ");
        QCOMPARE(f.panels[1]->title(), QString("loop-trips, edited"));
    }
    void anEditedQueryBecomesARecipeOfOnesOwn()
    {
        Fixture f;
        auto* editor = f.find<QPlainTextEdit>("sqlEditor");
        editor->setPlainText("SELECT count(*) AS n FROM event WHERE id >= :from");
        f.find<QLineEdit>("parameter.from")->setText("3");
        QTest::mouseClick(f.find<QPushButton>("sqlKeep"), Qt::LeftButton);
        auto* name = f.find<QLineEdit>("sqlKeepName");
        QVERIFY(name->isVisible());
        name->setText("first-nan"); // taken
        QTest::keyClick(name, Qt::Key_Return);
        QVERIFY(f.desk().ownRecipes().empty());
        QVERIFY(f.find<QLabel>("sqlMessage")->text().contains("first-nan is a recipe of the program"));
        QTest::mouseClick(f.find<QPushButton>("sqlKeep"), Qt::LeftButton);
        name->setText("events from");
        QTest::keyClick(name, Qt::Key_Return);
        QCOMPARE(f.desk().ownRecipes(),
                 (std::vector<OwnRecipe>{{"events-from", "SELECT count(*) AS n FROM event WHERE id >= :from", "from=3"}}));
        QCOMPARE(f.panels[1]->title(), QString("events-from"));
        auto* list = f.find<QListWidget>("recipeList");
        QCOMPARE(list->item(0)->text(), QString("Own"));
        const QJsonObject state = f.panels[0]->state();
        Fixture again; // a later session
        again.panels[0]->setState(state);
        QCOMPARE(again.desk().ownRecipes(), f.desk().ownRecipes());
        emit again.find<QListWidget>("recipeList")->itemActivated(again.find<QListWidget>("recipeList")->item(1));
        QCOMPARE(again.find<QLineEdit>("parameter.from")->text(), QString("3"));
        list->setCurrentRow(1);
        QTest::keyClick(list, Qt::Key_Delete);
        QVERIFY(f.desk().ownRecipes().empty());
        QCOMPARE(list->item(0)->text(), QString("Control flow"));
    }
    void thePlanIsATree()
    {
        Fixture f;
        auto* tree = f.find<QTreeWidget>("planTree");
        f.run("SELECT count(*) FROM (SELECT id FROM event UNION ALL SELECT id FROM op)");
        QVERIFY(tree->topLevelItemCount() > 0);
        const QList<QTreeWidgetItem*> scans = tree->findItems("SCAN", Qt::MatchStartsWith | Qt::MatchRecursive);
        QVERIFY(!scans.isEmpty());
        f.run("nonsense");
        QCOMPARE(tree->topLevelItemCount(), 0);
    }
    void theSchemaListsTablesAndColumns()
    {
        Fixture f;
        auto* tree = f.find<QTreeWidget>("schemaTree");
        QTRY_VERIFY(tree->topLevelItemCount() > 10);
        const QList<QTreeWidgetItem*> loops = tree->findItems("loops", Qt::MatchExactly);
        QCOMPARE(loops.size(), 1);
        QCOMPARE(loops.front()->child(0)->text(0), QString("run"));
    }
    void aNewerQueryTakesThePlaceOfASlowOne()
    {
        Fixture f;
        f.desk().run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", {}, 0);
        f.run("SELECT 7");
        QCOMPARE(f.desk().answer()->problem, QString());
        QCOMPARE(std::get<int64_t>(f.desk().answer()->result.rows[0][0]), int64_t{7});
    }
    void resultsAreSortedAndLinked()
    {
        Fixture f;
        f.run("SELECT iteration, step, mean FROM writes WHERE op_id = :op AND slot = 0", {{"op", "main/while#0/mul#1"}});
        QCOMPARE(f.desk().answer()->problem, QString());
        auto* table = f.find<QTableView>("resultTable");
        QAbstractItemModelTester tester(table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(table->model()->rowCount(), 48);
        QCOMPARE(table->model()->index(0, 2).data().toString(), QString("0.75")); // of 0.5 and 1
        table->model()->sort(0, Qt::DescendingOrder);
        QCOMPARE(table->model()->index(0, 0).data().toString(), QString("47"));
        QCOMPARE(f.desk().linkOf(3, 1).command, QString("goto step:11")); // less, add, mul in each iteration
        QCOMPARE(f.desk().linkOf(3, 0).address, QString("main/while#0@3:body/mul#1"));
        QVERIFY(f.desk().linkOf(3, 2).command.isEmpty());
        auto* plot = f.find<ResultPlot>("resultPlot");
        QCOMPARE(plot->describe()["x"].toString(), QString("iteration"));
        QCOMPARE(plot->describe()["ys"].toArray(), (QJsonArray{"mean"})); // steps name moments
        f.desk().selectRow(5);
        QCOMPARE(plot->describe()["selected"].toInt(), 5);
        const QString csv = f.folder.filePath("r.csv");
        QString problem = "not called";
        QMetaObject::invokeMethod(f.panels[2].get(), "exportTo", Q_RETURN_ARG(QString, problem), Q_ARG(QString, csv));
        QCOMPARE(problem, QString());
        QFile file(csv);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readLine(), QByteArray("iteration,step,mean\n"));
        QVERIFY(file.readLine().startsWith("47,"));
    }
    void onlyReadingIsAllowed()
    {
        Fixture f;
        f.run("-- all of them\ndelete FROM event");
        QCOMPARE(f.desk().answer()->problem, QString("this pane reads only: \"delete\" is not allowed"));
        f.run("WITH one AS (SELECT 1) DELETE FROM event");
        QVERIFY(f.desk().answer()->problem.contains("only reading is allowed"));
        QVERIFY(f.find<QLabel>("sqlMessage")->isVisibleTo(f.panels[1].get()));
        f.run("SELECT count(*) FROM event");
        QCOMPARE(std::get<int64_t>(f.desk().answer()->result.rows[0][0]), int64_t{48 * 3 + 2});
    }
    void aSlowQueryStopsAndMayGoOn()
    {
        Fixture f;
        const QString endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        f.run(endless, {}, 0.05);
        QVERIFY(f.desk().answer()->timedOut);
        QCOMPARE(f.desk().answer()->problem, QString("stopped after 0.05 s, 0 rows read"));
        QVERIFY(f.find<QPushButton>("sqlLonger")->isVisibleTo(f.panels[1].get()));
        f.desk().run(endless, {}, 0); // let it run, until it is cancelled
        QVERIFY(f.desk().busy());
        f.desk().cancel();
        QTRY_VERIFY_WITH_TIMEOUT(!f.desk().busy(), 20000);
        QVERIFY(!f.desk().answer()->timedOut);
        QVERIFY(!f.desk().answer()->problem.isEmpty());
    }
    void rowsReadBeforeTheLimitStay()
    {
        Fixture f;
        f.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 4", {}, 0.05);
        QVERIFY(f.desk().answer()->timedOut);
        QCOMPARE(f.find<QTableView>("resultTable")->model()->rowCount(), 3);
        QCOMPARE(f.desk().answer()->problem, QString("stopped after 0.05 s, 3 rows read"));
    }
    void aRecordingOpensWithAResultAndAPlot()
    {
        Fixture f;
        QCOMPARE(f.panels[1]->title(), QString("value-per-iteration"));
        QCOMPARE(f.find<QLineEdit>("parameter.op")->text(), QString("main/while#0/mul#1")); // not the counter
        QCOMPARE(f.find<QListWidget>("recipeList")->currentItem()->data(Qt::UserRole).toString(), QString("value-per-iteration"));
        QCOMPARE(f.find<QTableView>("resultTable")->model()->rowCount(), 48);
        QCOMPARE(f.find<QTableView>("resultTable")->currentIndex().row(), 0);
        QCOMPARE(f.find<ResultPlot>("resultPlot")->describe()["ys"].toArray(), (QJsonArray{"min", "max", "mean"}));
        QVERIFY(f.panels[1]->state().isEmpty()); // nobody has chosen it
    }
    void aPlotOfWholeNumbersHasNoFractions()
    {
        Fixture f;
        auto* plot = f.find<ResultPlot>("resultPlot");
        f.run("SELECT 27 AS iteration, 3 AS hits");
        QCOMPARE(plot->describe()["xTicks"].toArray(), (QJsonArray{27}));
        for (const QJsonValue& tick : plot->describe()["yTicks"].toArray()) QCOMPARE(tick.toDouble(), std::floor(tick.toDouble()));
        f.run("SELECT 0 AS iteration, 0.5 AS mean UNION ALL SELECT 2, 0.75");
        QCOMPARE(plot->describe()["xTicks"].toArray(), (QJsonArray{0, 1, 2}));
    }
    void thePlotsMenuIsForItsAnswerOnly()
    {
        Fixture f;
        auto* plot = f.find<ResultPlot>("resultPlot");
        const auto action = [&](const QString& text) -> QAction* {
            QTest::mouseClick(f.find<QToolButton>("plotColumns"), Qt::LeftButton);
            for (QAction* const each : f.panels[3]->findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly).last()->actions())
                if (each->text() == text) return each;
            return nullptr;
        };
        action("Points")->trigger();
        QCOMPARE(plot->describe()["shape"].toString(), QString("Points"));
        QVERIFY(f.panels[3]->state()["plots"].toObject().contains("iteration min max mean std"));
        QAction* const late = action("Bars");
        f.run("SELECT 1 AS one, 2 AS two");
        late->trigger();
        QCOMPARE(plot->describe()["shape"].toString(), QString("Points"));
        for (QMenu* const menu : f.panels[3]->findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly)) menu->close();
    }
    void theQueryAndThePlotAreRemembered()
    {
        Fixture f;
        auto* editor = f.find<QPlainTextEdit>("sqlEditor");
        editor->setPlainText("SELECT iteration, mean, std FROM writes WHERE op_id = :op AND slot = 0 AND iteration < :n");
        f.find<QLineEdit>("parameter.n")->setText("7");
        f.panels[1]->command("runQuery");
        QTRY_VERIFY(f.panels[1]->settled());
        f.panels[3]->setState(
            {{"plots", QJsonObject{{"iteration mean std", QJsonObject{{"x", "mean"}, {"ys", QJsonArray{"std"}}, {"shape", "Points"}}}}}});
        const QJsonObject query = f.panels[1]->state(), plot = f.panels[3]->state();
        Fixture later;
        later.panels[1]->setState(query);
        later.panels[3]->setState(plot);
        QTRY_VERIFY(later.panels[1]->settled());
        QCOMPARE(later.find<QPlainTextEdit>("sqlEditor")->toPlainText(), editor->toPlainText());
        QCOMPARE(later.panels[1]->title(), QString("value-per-iteration, edited"));
        QCOMPARE(later.find<QTableView>("resultTable")->model()->rowCount(), 7);
        const QJsonObject drawn = later.find<ResultPlot>("resultPlot")->describe();
        QCOMPARE(drawn["x"].toString(), QString("mean"));
        QCOMPARE(drawn["ys"].toArray(), (QJsonArray{"std"}));
        QCOMPARE(drawn["shape"].toString(), QString("Points"));
        later.run("SELECT iteration, mean FROM writes"); // other columns
        QCOMPARE(later.find<ResultPlot>("resultPlot")->describe()["x"].toString(), QString("iteration"));
        QCOMPARE(later.panels[3]->state(), plot);
    }
    void severalQueriesStandInTabs()
    {
        Fixture f;
        auto* const editor = f.find<QPlainTextEdit>("sqlEditor");
        auto* const tabs = f.find<QTabBar>("queryTabs");
        QTRY_VERIFY(f.panels[1]->settled());
        QCOMPARE(tabs->count(), 1);
        const QString first = editor->toPlainText();
        QVERIFY(tabs->parentWidget()->isHidden()); // one query needs no tabs
        f.find<QAction>("queryTabAdd")->trigger();
        QCOMPARE(tabs->count(), 2);
        QCOMPARE(tabs->currentIndex(), 1);
        editor->setPlainText("SELECT 7 AS seven");
        f.panels[1]->command("runQuery");
        QTRY_VERIFY(f.panels[1]->settled());
        QCOMPARE(f.find<QTableView>("resultTable")->model()->rowCount(), 1);
        tabs->setCurrentIndex(0);
        QTRY_VERIFY(f.panels[1]->settled());
        QCOMPARE(editor->toPlainText(), first);
        tabs->setCurrentIndex(1);
        QCOMPARE(editor->toPlainText(), QString("SELECT 7 AS seven"));
        // They are remembered, and one can be closed.
        const QJsonObject kept = f.panels[1]->state();
        Fixture later;
        later.panels[1]->setState(kept);
        QTRY_VERIFY(later.panels[1]->settled());
        auto* const restored = later.find<QTabBar>("queryTabs");
        QCOMPARE(restored->count(), 2);
        QCOMPARE(later.find<QPlainTextEdit>("sqlEditor")->toPlainText(), QString("SELECT 7 AS seven"));
        emit restored->tabCloseRequested(1);
        QCOMPARE(restored->count(), 1);
        QCOMPARE(later.find<QPlainTextEdit>("sqlEditor")->toPlainText(), first);
    }
    void theCourseOfARecordingNeedsNoReplay()
    {
        Fixture f;
        const RunSurvey survey = recordedSurvey(f.document->model(), f.path);
        QVERIFY(survey.reachedEnd);
        RunCourse course;
        course.add(survey);
        QCOMPARE(course.endStep(), std::optional<int64_t>(48 * 3 + 2));
        QCOMPARE(course.loops().size(), size_t{1});
        const CourseLoop& loop = course.loops().front();
        QCOMPARE(loop.iterations.size(), size_t{49}); // the last held nothing but its condition
        QCOMPARE(loop.iterations[5].first, int64_t{15});
        QCOMPARE(loop.iterations[5].end, int64_t{18});
        QCOMPARE(loop.iterations.back().iteration, int64_t{-1});
        QVERIFY(recordedSurvey(f.document->model(), "/no/such/file").invocations.empty());
    }
    void theTimelineOfARecordingIsThereAtOnce()
    {
        Fixture f;
        const std::unique_ptr<Panel> timeline(makeTimelinePanel(*f.document));
        timeline->resize(900, 100);
        timeline->show();
        QTRY_VERIFY(timeline->settled());
        auto* bar = timeline->findChild<TimelineBar*>();
        QVERIFY(bar->content().isRecorded);
        QVERIFY(!f.document->stop()->started);
        emit bar->stepChosen(17);
        QTRY_COMPARE(f.document->stop()->position.step, int64_t{17});
        QTRY_VERIFY(!bar->content().isRecorded);
        QCOMPARE(bar->content().course->loops().front().iterations.size(), size_t{49}); // all of it stays in sight
    }
    void linksBeginTheReplay()
    {
        Fixture f;
        f.desk().goTo(request::GoToStep{7});
        QTRY_COMPARE(f.document->stop()->position.step, int64_t{7});
        QCOMPARE(f.backend->lines, (std::vector<std::string>{"start", "goto step:7"}));
    }
    void theSelectedRowsValueIsRead()
    {
        Fixture f;
        f.run("SELECT iteration, mean FROM writes WHERE op_id = :op AND slot = 0 ORDER BY iteration", {{"op", "main/while#0/mul#1"}});
        f.desk().selectRow(3);
        auto* table = f.find<QTableWidget>("recordedValue");
        QTRY_COMPARE(f.find<QLabel>("recordedAddress")->text(), QString("main/while#0@3:body/mul#1:0"));
        QTRY_COMPARE(table->rowCount(), 2);
        QTRY_COMPARE(table->item(0, 1)->text(), QString("0.125"));
        QCOMPARE(table->item(0, 2)->text(), QString("0.0625"));
        QCOMPARE(table->item(1, 3)->text(), QString("-0.125"));
    }
    void withoutARecordingItSaysSo()
    {
        Document document(std::make_unique<TextBackend>(textModel(kLoop), std::vector<Array>{arrayOf<float>(Shape{2}, {1, 2})}));
        const std::unique_ptr<Panel> panel(makeSqlPanel(document));
        QVERIFY(!panel->findChild<QPushButton*>("sqlRun")->isEnabled());
        QCOMPARE(panel->findChild<QLabel*>("sqlMessage")->text(), QString("no recording is open"));
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::TraceTest)
#include "trace_test.moc"
