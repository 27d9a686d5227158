// The Compare task beyond two alike pictures: v1 frames, folded regions, operators that belong to several, classes, what is quantized, what
// is kept, and what screen readers find.
#include "tests/unit/debug/v1_debugger.h"
#include "tests/unit/viewer/compare/compare_fixture.h"

#include "viewer/style/theme.h"

#include <QAbstractItemView>
#include <QAccessible>
#include <QAction>
#include <QSignalSpy>

namespace loopscope::viewer::testing {

/// Counts to 10 by ones, or by twos.
const std::string kFrame = "lsir 1\nmodel tf producer=1\n" + std::string(loopscope::testing::kV1Loop);

/// One operator gives two results that the other side computes one by one.
constexpr const char* kUnpacked = R"(
graph main(x: f32[2,3]) {
  a, b = unpack(x) num=2 axis=0 : (f32[3], f32[3])
  c = add(a, b) : f32[3]
  return c
}
)";
constexpr const char* kSliced = R"(
graph main(x: f32[2,3]) {
  begin = const i32[2] [0, 0]
  second = const i32[2] [1, 0]
  size = const i32[2] [1, 3]
  shape = const i32[1] [3]
  a0 = slice(x, begin, size) : f32[1,3]
  a = reshape(a0, shape) new_shape=[3] : f32[3]
  b0 = slice(x, second, size) : f32[1,3]
  b = reshape(b0, shape) new_shape=[3] : f32[3]
  c = add(a, b) : f32[3]
  return c
}
)";

constexpr const char* kScores = R"(
graph main(x: f32[1,4]) {
  w = const f32[1,4] [1.0, 1.0, 1.0, 1.0]
  scaled = mul(x, w) : f32[1,4]
  scores = softmax(scaled) beta=1.0 : f32[1,4]
  return scores
}
)";
constexpr const char* kOtherScores = R"(
graph main(x: f32[1,4]) {
  w = const f32[1,4] [1.0, 1.0, 9.0, 1.0]
  scaled = mul(x, w) : f32[1,4]
  scores = softmax(scaled) beta=1.0 : f32[1,4]
  return scores
}
)";

constexpr const char* kReal = R"(
graph main(x: f32[4]) {
  q = abs(x) : f32[4]
  y = neg(q) : f32[4]
  return y
}
)";
constexpr const char* kQuantized = R"(
graph main(x: f32[4]) {
  q = quantize(x) : u8[4] q(0.01, 0)
  y = dequantize(q) : f32[4]
  return y
}
)";

std::string byTwos()
{
    std::string text = kFrame;
    text.replace(text.find("value=i32[] 1 "), 14, "value=i32[] 2 ");
    return text;
}

class CompareWaysTest : public QObject {
    Q_OBJECT

    static int rowOf(CompareDesk& desk, const std::string& address)
    {
        const std::vector<int> rows = desk.judgement().rowsAt(address);
        return rows.empty() ? -1 : rows.front();
    }

private slots:
    void initTestCase() { Theme::instance().apply(); }

    // --- v1 -------------------------------------------------------------------------------------------------------------------------

    void framesAreComparedIterationByIteration()
    {
        const std::string there = byTwos();
        Sides sides(kFrame.c_str(), {}, there.c_str(), {});
        sides.compare();
        CompareDesk& desk = sides.desk();
        const int add = rowOf(desk, "main/foo:frame/add");
        QVERIFY(add >= 0);
        QCOMPARE(desk.judgement().figuresOf(add)->maxAbs, 5.0);
        QCOMPARE(desk.judgement().iterationsOf("main/foo"), int64_t(11)); // in the eleventh A leaves
        QCOMPARE(desk.tripLines(), QStringList("B left foo after 5 iterations, A after 10"));
        QVERIFY(sides.bar("main/foo:frame/add")["measured"].toBool());
        QVERIFY(sides.document->select("main/foo:frame/add")); // another panel
        QCOMPARE(sides.selected(), std::string("main/foo:frame/add"));
        QCOMPARE(sides.b->canvas().selection().addresses(), std::vector<std::string>{"main/foo:frame/add"});
        // The frame's head chooses the iteration on either side, for both.
        GraphCanvas& b = sides.b->canvas();
        const auto region = b.scene()->regionById.find("main/foo");
        QVERIFY(region != b.scene()->regionById.end());
        emit b.input().frameIterationChosen(region->second, 2);
        QCOMPARE(desk.judgement().iterationOf("main/foo"), std::optional<int64_t>(2));
        QCOMPARE(desk.judgement().figuresOf(add)->maxAbs, 3.0);
        const RegionState& head =
            sides.a->canvas().state().regions[static_cast<size_t>(sides.a->canvas().scene()->regionById.at("main/foo"))];
        QCOMPARE(head.iteration, std::optional<int64_t>(2));
        QCOMPARE(head.trips, std::optional<int64_t>(11));
        emit b.input().frameIterationChosen(region->second, 5);
        QVERIFY(desk.judgement().figuresOf(add) == nullptr); // dead on side B
    }

    void aFoldedFrameIsOneRow()
    {
        const std::string there = byTwos();
        Sides sides(kFrame.c_str(), {}, there.c_str(), {});
        sides.compare();
        sides.desk().setFolded(CompareSide::there, "main/foo", true);
        QTRY_VERIFY(!sides.desk().isBusy() && sides.a->canvas().scene()->findNode("main/foo") >= 0);
        QVERIFY(sides.b->canvas().scene()->findNode("main/foo") >= 0);
        QCOMPARE(sides.desk().scenes()->rowsHere.at("main/foo").size(), size_t(1));
        QVERIFY(sides.desk().scenes()->onlyHere.empty());
        QVERIFY(sides.bar("main/foo")["measured"].toBool()); // the worst of everything in it
        sides.desk().unfoldAll();
        QTRY_VERIFY(!sides.desk().isBusy() && sides.a->canvas().scene()->regionById.contains("main/foo"));
    }

    void theFirstDifferenceIsTheFirstInTime()
    {
        const std::string there = byTwos();
        Sides sides(kFrame.c_str(), {}, there.c_str(), {});
        sides.compare();
        sides.desk().judgement().setMetric(Metric::maxAbs);
        sides.desk().judgement().setLimit(2.5);
        // merge comes first, but is beyond 2.5 one iteration after what it gets from add.
        QVERIFY(rowOf(sides.desk(), "main/foo:frame/merge") < rowOf(sides.desk(), "main/foo:frame/add"));
        QCOMPARE(sides.desk().judgement().firstOver(), rowOf(sides.desk(), "main/foo:frame/add"));
        QVERIFY(sides.desk().goToDifference(1));
        QCOMPARE(sides.selected(), std::string("main/foo:frame/add"));
        QVERIFY(sides.desk().goToDifference(1));
        QCOMPARE(sides.selected(), std::string("main/foo:frame/next"));
        sides.desk().selectAt(CompareSide::here, "main/zero"); // equal: from there on
        QVERIFY(sides.desk().goToDifference(1));
        QCOMPARE(sides.selected(), std::string("main/foo:frame/add"));
        QVERIFY(!sides.desk().goToDifference(-1));
    }

    // --- folding --------------------------------------------------------------------------------------------------------------------

    void regionsFoldOnBothSidesTogether()
    {
        Sides sides;
        sides.compare();
        CompareDesk& desk = sides.desk();
        desk.judgement().setMetric(Metric::maxAbs);
        const double inside = desk.judgement().figuresOf(rowOf(desk, "main/while#2:body/mul#1"))->maxAbs;
        sides.b->canvas().selection().select({"main/while#3:body/mul#1"});
        QVERIFY(sides.b->canvas().commands().perform("collapse"));
        const auto isFolded = [&](ComparePane& pane, const char* site) {
            return pane.canvas().scene()->findNode(site) >= 0 &&
                   pane.canvas().scene()->nodes[static_cast<size_t>(pane.canvas().scene()->findNode(site))].id == site;
        };
        QTRY_VERIFY(!desk.isBusy() && isFolded(*sides.a, "main/while#2") && isFolded(*sides.b, "main/while#3"));
        const auto y = [](const GraphCanvas& canvas, const char* id) {
            return canvas.scene()->nodes[static_cast<size_t>(canvas.scene()->findNode(id))].rect.y;
        };
        QCOMPARE(y(sides.a->canvas(), "main/neg#3"), y(sides.b->canvas(), "main/neg#4"));
        QCOMPARE(sides.bar("main/while#2")["value"].toString(),
                 QString::fromStdString(
                     metricText(Metric::maxAbs, std::max(inside, desk.judgement().figuresOf(rowOf(desk, "main/while#2"))->maxAbs))));
        // What is in it is selected with it.
        for (int row = 0; row < desk.judgement().comparedRows(); ++row)
            if (desk.drift()->rows[static_cast<size_t>(row)].address == "main/while#2:body/mul#1") desk.selectRow(row);
        QCOMPARE(sides.a->canvas().selection().addresses(), std::vector<std::string>{"main/while#2"});
        QCOMPARE(sides.b->canvas().selection().addresses(), std::vector<std::string>{"main/while#3"});
        // Opened on this side, on both.
        QVERIFY(sides.a->canvas().commands().perform("inlineCallee"));
        QTRY_VERIFY(!desk.isBusy() && sides.a->canvas().scene()->regionById.contains("main/while#2") &&
                    sides.b->canvas().scene()->regionById.contains("main/while#3"));
    }

    // --- what belongs together --------------------------------------------------------------------------------------------------------

    void severalPartnersAreSelectedTogether()
    {
        const std::vector<Array> inputs = {arrayOf<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6})};
        Sides sides(kUnpacked, inputs, kSliced, inputs);
        sides.compare();
        sides.desk().selectAt(CompareSide::here, "main/unpack#0");
        QCOMPARE(sides.desk().selected(CompareSide::there), (std::vector<std::string>{"main/reshape#1", "main/reshape#3"}));
        sides.desk().selectAt(CompareSide::there, "main/reshape#3"); // the others come with it
        QCOMPARE(sides.desk().selected(CompareSide::here), std::vector<std::string>{"main/unpack#0"});
        QCOMPARE(sides.desk().selected(CompareSide::there), (std::vector<std::string>{"main/reshape#3", "main/reshape#1"}));
        QCOMPARE(sides.b->canvas().selection().addresses().size(), size_t(2));
    }

    // --- head of the differences --------------------------------------------------------------------------------------------------------

    void theTopClassOfEachSideIsSaid()
    {
        const std::vector<Array> inputs = {arrayOf<float>(Shape{1, 4}, {0.1F, 0.9F, 0.4F, 0.2F})};
        Sides sides(kScores, inputs, kOtherScores, inputs);
        sides.backend->labels =
            std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"cat", "dog", "bird"}); // after the background
        sides.compare();
        QTRY_VERIFY(sides.desk().topClasses().has_value());
        const TopClasses& top = *sides.desk().topClasses();
        QCOMPARE(top.classes, int64_t(4));
        QCOMPARE(top.here, int64_t(1));
        QCOMPARE(top.there, int64_t(2));
        QCOMPARE(top.labelHere, std::string("cat"));
        QCOMPARE(top.labelThere, std::string("dog"));
        QVERIFY(sides.differences->findChild<QWidget*>("compareClasses")->isVisible());
        QVERIFY(sides.differences->findChild<QLabel*>("compareNotes")->text().contains("top class: A cat, B dog"));
    }

    void nothingLikeScoresHasNoTopClass()
    {
        Sides sides;
        sides.compare();
        QVERIFY(!sides.desk().topClasses());
        QVERIFY(!sides.differences->findChild<QWidget*>("compareClasses")->isVisible());
    }

    void whatIsCutOffIsCounted()
    {
        const std::vector<Array> inputs = {arrayOf<float>(Shape{4}, {0, 1, 2.55F, 9})};
        Sides sides(kReal, inputs, kQuantized, inputs);
        sides.compare();
        const int row = rowOf(sides.desk(), "main/abs#0");
        const DriftFigures& figures = *sides.desk().judgement().figuresOf(row);
        QCOMPARE(figures.quantized, int64_t(4));
        QCOMPARE(figures.clipped, int64_t(2)); // 2.55 and 9; 0 is no end
        DifferencesModel model(sides.desk());
        QVERIFY(model.hasClipped());
        QCOMPARE(model.headerData(DifferencesModel::kClipped, Qt::Horizontal, Qt::DisplayRole).toString(), QString("255s"));
        model.sort(DifferencesModel::kClipped, Qt::AscendingOrder); // the worst first
        QCOMPARE(model.data(model.index(0, DifferencesModel::kClipped), Qt::DisplayRole).toString(), QString("50.0 %"));
        QCOMPARE(model.data(model.index(0, DifferencesModel::kNumber), Qt::DisplayRole).toInt(), 0);
    }

    // --- both tensors -----------------------------------------------------------------------------------------------------------------

    void bothTensorsStandInTheOrdinaryViewer()
    {
        Sides sides;
        sides.compare();
        std::unique_ptr<Panel> a(makeTensorAPanel(*sides.document)), b(makeTensorBPanel(*sides.document));
        const auto table = [&](Panel& panel) {
            QStringList cells;
            const auto* const view = panel.findChild<QAbstractItemView*>("tensorTable");
            for (int column = 0; column < view->model()->columnCount(); ++column)
                for (int row = 0; row < view->model()->rowCount(); ++row) cells.append(view->model()->index(row, column).data().toString());
            return cells.join(' ');
        };
        const auto select = [&](const std::string& address) {
            sides.desk().selectAt(CompareSide::here, address);
            QTRY_VERIFY(sides.document->bridge().settled());
            QTest::qWait(10);
        };
        select("main/mul#1"); // (x + 1) · 1, and · 1.5 in the third element of B
        QCOMPARE(table(*a), QString("2 3 4 5"));
        QCOMPARE(table(*b), QString("2 3 6 5"));
        sides.desk().setPinned(true);
        select("main/neg#3");
        QCOMPARE(table(*b), QString("2 3 6 5")); // kept
        sides.desk().setPinned(false);
        QTRY_COMPARE(table(*a), QString("−16 −24 −32 −40"));
        QCOMPARE(sides.document->stop()->tick, int64_t(0)); // the run stands where it stood
    }

    // --- kept -------------------------------------------------------------------------------------------------------------------------

    void measureAndLimitsAreKept()
    {
        QJsonObject kept;
        {
            Sides sides;
            sides.compare();
            QSignalSpy changed(&sides.desk().judgement(), &Judgement::chosen);
            sides.desk().judgement().setMetric(Metric::snr);
            sides.desk().judgement().setLimit(33);
            QCOMPARE(changed.size(), 2);
            kept = sides.desk().judgement().choice();
        }
        Sides sides;
        sides.desk().judgement().restoreChoice(kept);
        sides.compare();
        QCOMPARE(sides.desk().judgement().metric(), Metric::snr);
        QCOMPARE(sides.desk().judgement().limit(), 33.0);
    }

    void placesAreKeptAsFarAsTheyAreThere()
    {
        Sides sides;
        sides.a->setState({{"iterations", QJsonObject{{"main/while#2", 1}, {"main/while#9", 4}}}});
        sides.compare();
        QCOMPARE(sides.desk().judgement().iterationOf("main/while#2"), std::optional<int64_t>(1));
        QCOMPARE(sides.desk().judgement().iterationOf("main/while#9"), std::optional<int64_t>());
        QCOMPARE(sides.a->state(), (QJsonObject{{"iterations", QJsonObject{{"main/while#2", 1}}}}));
    }

    void sidesAskToBeSwapped()
    {
        Sides sides;
        QSignalSpy asked(&sides.desk(), &CompareDesk::swapRequested);
        QAction* const swap = sides.b->headActions().front();
        QCOMPARE(swap->objectName(), QString("compareSwap"));
        QVERIFY(swap->isEnabled());
        swap->trigger();
        QCOMPARE(asked.size(), 1);
    }

    // --- screen readers -----------------------------------------------------------------------------------------------------------------

    void rowsOfTheStripAreReadOut()
    {
        Sides sides;
        sides.compare();
        sides.desk().judgement().setMetric(Metric::maxAbs);
        sides.desk().judgement().setLimit(0.5);
        QAccessible::setActive(true);
        QAccessibleInterface* const strip = QAccessible::queryAccessibleInterface(&sides.bars());
        QVERIFY(strip);
        QCOMPARE(strip->childCount(), 7);
        QCOMPARE(strip->child(0)->text(QAccessible::Name), QString("add 0, equal"));
        QCOMPARE(strip->child(1)->text(QAccessible::Name), QString("mul 1, max |Δ| 2.00, far over the limit"));
        QCOMPARE(strip->indexOfChild(strip->child(1)), 1);
        const QRect box = strip->child(1)->rect();
        QCOMPARE(strip->childAt(box.center().x(), box.center().y()), strip->child(1));
        auto* const action = static_cast<QAccessibleActionInterface*>(strip->child(1)->interface_cast(QAccessible::ActionInterface));
        action->doAction(QAccessibleActionInterface::pressAction());
        QCOMPARE(sides.selected(), std::string("main/mul#1"));
        QVERIFY(strip->child(1)->state().selected);
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::CompareWaysTest)
#include "compare_ways_test.moc"
