// The Compare task: two pictures in step, bars between them, a table of differences, and the ways through it.
#include "tests/unit/viewer/compare/compare_fixture.h"

#include "viewer/style/theme.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/rows.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QSignalSpy>

namespace loopscope::viewer::testing {

class CompareTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    // --- measures -------------------------------------------------------------------------------------------------------------------

    void measuresAreWrittenAndJudged()
    {
        DriftFigures figures;
        figures.elements = 8;
        figures.different = 2;
        figures.cosine = 0.95;
        figures.snr = 12.25;
        figures.maxAbs = 0.5;
        QCOMPARE(metricText(Metric::cosine, measured(figures, Metric::cosine)), std::string("0.9500"));
        QCOMPARE(metricText(Metric::cosine, 0.99999999), std::string("0.999999")); // never 1 where something differs
        QCOMPARE(metricText(Metric::snr, measured(figures, Metric::snr)), std::string("12.2 dB"));
        QCOMPARE(metricText(Metric::equal, measured(figures, Metric::equal)), std::string("75.0 %"));
        QCOMPARE(metricText(Metric::equal, 0.99999), std::string("99.9 %"));
        QCOMPARE(metricText(Metric::snr, -2.3), std::string("−2.3 dB"));
        QCOMPARE(metricText(Metric::ulp, measured(figures, Metric::ulp)), std::string("–"));
        QCOMPARE(verdictOf(figures, Metric::cosine, 0.9), Verdict::within);
        QCOMPARE(verdictOf(figures, Metric::cosine, 0.98), Verdict::over);
        QCOMPARE(verdictOf(figures, Metric::cosine, 0.99), Verdict::farOver);
        QCOMPARE(verdictOf(figures, Metric::snr, 20), Verdict::farOver);
        QCOMPARE(verdictOf(figures, Metric::snr, 15), Verdict::over);
        QCOMPARE(verdictOf(figures, Metric::maxAbs, 0.5), Verdict::within);
        QCOMPARE(verdictOf(figures, Metric::maxAbs, 0.1), Verdict::farOver);
        DriftFigures worse = figures;
        worse.cosine = 0.9;
        QVERIFY(goodness(figures, Metric::cosine) > goodness(worse, Metric::cosine));
        figures.different = 0;
        QCOMPARE(verdictOf(figures, Metric::cosine, 0.99), Verdict::equal);
        figures.mismatch = "shape [2], want [3]";
        QCOMPARE(verdictOf(figures, Metric::cosine, 0), Verdict::farOver);
    }

    void aScaleHoldsTheWorstAndTheLimit()
    {
        const MetricScale cosine = scaleFor(Metric::cosine, 0.99, 0.83, 0.96);
        QCOMPARE(cosine.none, 1.0);
        QCOMPARE(cosine.most, 0.8);
        QCOMPARE(cosine.place(0.9), 0.5);
        const MetricScale distance = scaleFor(Metric::maxAbs, 0.01, 0.03, 0.1);
        QCOMPARE(distance.most, 0.2);
        QCOMPARE(distance.place(0.1), 0.5);
        QCOMPARE(distance.place(7), 1.0);
    }
    void axesFitWhatIsMeasured()
    {
        const MetricScale near = scaleFor(Metric::cosine, 0.99999, 0.9998, 0.99); // bars of a hundredth of the width say nothing
        QVERIFY(near.place(0.9998) > 0.4 && !near.holds(0.99));
        QCOMPARE(QString::fromStdString(near.text(Metric::cosine)), QString("1 to 1 − 0.0002"));
        const MetricScale decibels = scaleFor(Metric::snr, 44, 31, 20);
        QCOMPARE(decibels.none, 50.0);
        QCOMPARE(decibels.most, 10.0); // the limit is among them
        QVERIFY(decibels.place(44) > 0 && decibels.place(44) < 0.2);
        QVERIFY(decibels.holds(20));
    }

    // --- pictures -------------------------------------------------------------------------------------------------------------------

    void withoutAnotherSideThereIsAWayToOne()
    {
        Document document(std::make_unique<TextBackend>(textModel(kSideA), inputsOf(3)));
        QCOMPARE(CompareDesk::of(document).stage(), CompareDesk::Stage::none);
        std::unique_ptr<Panel> differences(makeDifferencesPanel(document));
        QVERIFY(differences->findChild<EmptyStack*>()->emptyText().startsWith("Nothing to compare with yet"));
        std::unique_ptr<Panel> pane(makeCompareBPanel(document));
        QVERIFY(pane->findChild<EmptyStack*>()->isEmpty());
        QVERIFY(!differences->command("nextFinding"));
    }

    void partnersStandAtTheSameHeight()
    {
        Sides sides;
        sides.compare();
        const PairedScenes& scenes = *sides.desk().scenes();
        QCOMPARE(scenes.rows.size(), size_t(7)); // main: add, mul, while, neg; less; add and mul of the body
        const auto y = [](const Scene& scene, const std::string& id) {
            return scene.nodes[static_cast<size_t>(scene.findNode(id))].rect.y;
        };
        QCOMPARE(y(*scenes.here, "main/add#0"), y(*scenes.there, "main/add#0"));
        QCOMPARE(y(*scenes.here, "main/mul#1"), y(*scenes.there, "main/mul#2")); // below the operator that only B has
        QCOMPARE(y(*scenes.here, "main/while#2:body/mul#1"), y(*scenes.there, "main/while#3:body/mul#1"));
        QCOMPARE(y(*scenes.here, "main/neg#3"), y(*scenes.there, "main/neg#4"));
        QVERIFY(y(*scenes.here, "main/mul#1") > y(*scenes.here, "main/add#0") + 40); // the gap beside it
        QCOMPARE(scenes.onlyThere, std::vector<std::string>{"main/abs#1"});
        QVERIFY(scenes.onlyHere.empty());
        QCOMPARE(scenes.here->bounds.height, scenes.there->bounds.height);
        // No row lies on another.
        for (const Scene* const scene : {scenes.here.get(), scenes.there.get()})
            for (const SceneNode& one : scene->nodes)
                for (const SceneNode& other : scene->nodes)
                    if (&one != &other) QVERIFY2(!one.rect.intersects(other.rect), (one.id + " " + other.id).c_str());
    }

    void picturesScrollAndZoomTogetherUnlessFreed()
    {
        Sides sides;
        sides.compare();
        GraphCanvas &a = sides.a->canvas(), &b = sides.b->canvas();
        QCOMPARE(a.camera().zoom(), b.camera().zoom());
        a.camera().setViewport(0.8, QPointF(3, 60));
        QCOMPARE(b.camera().zoom(), 0.8);
        QCOMPARE(b.camera().origin().y(), a.camera().origin().y());
        b.camera().setViewport(0.9, QPointF(0, 90));
        QCOMPARE(a.camera().zoom(), 0.9);
        QCOMPARE(a.camera().origin().y(), b.camera().origin().y());
        QAction* const link = sides.strip->headActions().front();
        link->setChecked(false);
        b.camera().setViewport(1, QPointF(0, 10));
        QCOMPARE(a.camera().zoom(), 0.9);
        link->setChecked(true); // B comes back to where A is
        QCOMPARE(b.camera().zoom(), 0.9);
        QCOMPARE(b.camera().origin().y(), a.camera().origin().y());
    }

    void selectingOnOneSideSelectsTheMatch()
    {
        Sides sides;
        sides.compare();
        GraphCanvas &a = sides.a->canvas(), &b = sides.b->canvas();
        const auto click = [](GraphCanvas& canvas, const char* id) {
            QTest::mouseClick(&canvas, Qt::LeftButton, {}, canvas.camera().nodeRect(canvas.scene()->findNode(id)).center().toPoint());
        };
        click(a, "main/mul#1");
        QCOMPARE(b.selection().addresses(), std::vector<std::string>{"main/mul#2"});
        QCOMPARE(sides.document->selection().address, std::string("main/mul#1"));
        QCOMPARE(sides.desk().reason(), QString("by tensor name"));
        QCOMPARE(sides.desk().drift()->rows[static_cast<size_t>(sides.desk().row())].address, std::string("main/mul#1"));
        click(b, "main/neg#4");
        QCOMPARE(a.selection().addresses(), std::vector<std::string>{"main/neg#3"});
        click(b, "main/abs#1");
        QVERIFY(a.selection().addresses().empty());
        QCOMPARE(sides.desk().row(), -1);
        QVERIFY(sides.desk().reason().isEmpty());
        sides.document->select("main/add#0"); // another panel
        QCOMPARE(b.selection().addresses(), std::vector<std::string>{"main/add#0"});
    }

    void marksAreWornOnBothSides()
    {
        Sides sides;
        sides.compare();
        sides.desk().judgement().setMetric(Metric::maxAbs);
        sides.desk().judgement().setLimit(0.5);
        QVERIFY(sides.states(*sides.a, "main/add#0").filter("compare").isEmpty());
        QVERIFY(!sides.states(*sides.a, "main/mul#1").filter("over", Qt::CaseInsensitive).isEmpty());
        QVERIFY(!sides.states(*sides.b, "main/mul#2").filter("over", Qt::CaseInsensitive).isEmpty());
        QVERIFY(!sides.states(*sides.b, "main/abs#1").filter("only", Qt::CaseInsensitive).isEmpty());
    }

    void theOtherSideInPlace()
    {
        Sides sides;
        sides.compare();
        sides.a->canvas().camera().setViewport(0.9, QPointF(0, 40));
        const Scene* const own = sides.a->canvas().scene();
        const QPointF origin = sides.a->canvas().camera().origin();
        QVERIFY(sides.a->command("toggleAB"));
        QCOMPARE(sides.a->canvas().scene(), sides.b->canvas().scene());
        QCOMPARE(sides.a->canvas().camera().origin(), origin);
        QVERIFY(sides.a->command("toggleAB"));
        QCOMPARE(sides.a->canvas().scene(), own);
    }

    // --- the strip ------------------------------------------------------------------------------------------------------------------

    void barsStandBesideTheirRows()
    {
        Sides sides;
        sides.compare();
        GraphCanvas& a = sides.a->canvas();
        const QJsonArray box = sides.bar("main/mul#1")["box"].toArray();
        const double canvasTop = a.mapTo(sides.window.get(), QPoint()).y(), stripTop = sides.bars().mapTo(sides.window.get(), QPoint()).y();
        const QRectF node = a.camera().nodeRect(a.scene()->findNode("main/mul#1"));
        QCOMPARE(stripTop + box[1].toDouble(), canvasTop + node.y());
        QCOMPARE(sides.bar("main/add#0")["verdict"].toString(), QString("equal"));
        QVERIFY(sides.bar("main/mul#1")["first"].toBool());
        const double before = box[1].toDouble();
        a.camera().setViewport(a.camera().zoom(), a.camera().origin() + QPointF(0, 20));
        QCOMPARE(sides.bar("main/mul#1")["box"].toArray()[1].toDouble(), before - 20);
    }

    void aClickOnABarGoesThere()
    {
        Sides sides;
        sides.compare();
        const QJsonArray box = sides.bar("main/neg#3")["box"].toArray();
        QTest::mouseClick(&sides.bars(), Qt::LeftButton, {}, QPoint(20, static_cast<int>(box[1].toDouble() + box[3].toDouble() / 2)));
        QCOMPARE(sides.selected(), std::string("main/neg#3"));
        QCOMPARE(sides.b->canvas().selection().addresses(), std::vector<std::string>{"main/neg#4"});
    }

    // --- the table and the ways through it ---------------------------------------------------------------------------------------------

    void theTableObeysItsContract()
    {
        Sides sides;
        DifferencesModel model(sides.desk());
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        sides.compare();
        QVERIFY(model.rowCount() > 3);
        const int differing = model.rowCount();
        model.setAllShown(true);
        QVERIFY(model.rowCount() > differing);
        model.setAllShown(false);
        model.sort(1, Qt::AscendingOrder);
        for (int row = 1; row < model.rowCount(); ++row)
            QVERIFY(sides.desk().judgement().figuresOf(model.driftRow(row - 1))->maxAbs >=
                    sides.desk().judgement().figuresOf(model.driftRow(row))->maxAbs);
        model.sort(DifferencesModel::kTensor, Qt::AscendingOrder);
        for (int row = 1; row < model.rowCount(); ++row) QVERIFY(model.driftRow(row - 1) < model.driftRow(row));
        sides.desk().judgement().setMetric(Metric::snr);
        sides.desk().judgement().setIteration("main/while#2", 0);
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QString("max |Δ|"));
    }

    void f8WalksTheDifferencesInOrderOfExecution()
    {
        Sides sides;
        sides.compare();
        sides.desk().judgement().setMetric(Metric::maxAbs);
        sides.desk().judgement().setLimit(0.1);
        std::vector<std::string> seen;
        for (int i = 0; i < 10 && sides.desk().goToDifference(1); ++i) seen.push_back(sides.selected());
        QCOMPARE(seen, (std::vector<std::string>{"main/mul#1", "main/while#2:body/mul#1", "main/while#2", "main/neg#3"}));
        QVERIFY(sides.differences->command("nextFinding")); // at the last it stays
        QCOMPARE(sides.selected(), std::string("main/neg#3"));
        QVERIFY(sides.differences->command("previousFinding"));
        QCOMPARE(sides.selected(), std::string("main/while#2"));
    }

    void nextWorseGoesBySize()
    {
        Sides sides;
        sides.compare();
        sides.desk().judgement().setMetric(Metric::maxAbs);
        QVERIFY(sides.desk().goToWorse());
        QCOMPARE(sides.desk().row(), sides.desk().judgement().worst());
        QVERIFY(sides.desk().goToWorse()); // from the worst it begins with the least
        const double least = sides.desk().judgement().figuresOf(sides.desk().row())->maxAbs;
        QVERIFY(sides.desk().goToWorse());
        QVERIFY(sides.desk().judgement().figuresOf(sides.desk().row())->maxAbs >= least);
    }

    void aRowOfTheTableSelectsBothSides()
    {
        Sides sides;
        sides.compare();
        auto* const table = sides.differences->findChild<RowView*>("differenceTable");
        QVERIFY(table != nullptr);
        table->setCurrentIndex(table->model()->index(0, 0));
        QCOMPARE(sides.selected(), std::string("main/mul#1"));
        QCOMPARE(sides.b->canvas().selection().addresses(), std::vector<std::string>{"main/mul#2"});
        emit table->chosen(table->model()->index(0, 0)); // Return: the run goes there
        QTRY_COMPARE(QString::fromStdString(sides.backend->lines.back()), QString("goto step:1"));
    }

    void equalRunsSaySo()
    {
        Sides sides(3, 3, kSideA);
        sides.compare();
        QCOMPARE(sides.desk().judgement().differentRows(), int64_t(0));
        QCOMPARE(sides.desk().judgement().firstOver(), -1);
        QVERIFY(!sides.desk().goToDifference(1));
        bool said = false;
        for (const EmptyStack* const stack : sides.differences->findChildren<EmptyStack*>())
            said |= stack->emptyText().startsWith("Equal in all");
        QVERIFY(said);
    }

    // --- loops ----------------------------------------------------------------------------------------------------------------------

    void loopsAreComparedIterationByIteration()
    {
        Sides sides;
        sides.compare();
        CompareDesk& desk = sides.desk();
        desk.judgement().setMetric(Metric::maxAbs);
        const int row = desk.judgement().rowsAt("main/while#2:body/mul#1").front();
        QCOMPARE(desk.judgement().iterationsOf("main/while#2"), int64_t(4)); // the condition is asked once more
        const double all = desk.judgement().figuresOf(row)->maxAbs;
        desk.judgement().setIteration("main/while#2", 0);
        const double first = desk.judgement().figuresOf(row)->maxAbs;
        QVERIFY(first < all);
        desk.judgement().setIteration("main/while#2", 2);
        QCOMPARE(desk.judgement().figuresOf(row)->maxAbs, all); // the last is the worst
        QVERIFY(desk.judgement().stepOf(row) > 0);
        desk.judgement().setIteration("main/while#2", 3); // only the condition runs there
        QVERIFY(desk.judgement().figuresOf(row) == nullptr);
        QVERIFY(!sides.bar("main/while#2:body/mul#1")["measured"].toBool());
        QVERIFY(!sides.states(*sides.a, "main/while#2:body/mul#1").filter("not", Qt::CaseInsensitive).isEmpty());
        QVERIFY(desk.judgement().figuresOf(desk.judgement().rowsAt("main/mul#1").front()) != nullptr); // outside nothing changes
        QCOMPARE(desk.judgement().iterationLines(), QStringList("while#2: iteration 3 of 4"));
        auto* const chip = sides.differences->findChild<Chip*>("compareAllIterations");
        QVERIFY(chip->isVisible());
        QTest::mouseClick(chip, Qt::LeftButton);
        QVERIFY(!chip->isVisible());
        QCOMPARE(desk.judgement().figuresOf(row)->maxAbs, all);
    }

    void unlikeNumbersOfIterationsAreReported()
    {
        Sides sides(2, 5);
        sides.compare();
        QCOMPARE(sides.desk().tripLines(), QStringList("B left while#2 after 5 iterations, A after 2"));
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::CompareTest)
#include "compare_test.moc"
