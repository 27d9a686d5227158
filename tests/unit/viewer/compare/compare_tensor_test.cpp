// What lies between two tensors, what only one side has, the limit as it is typed, and weights that were trained apart.
#include "tests/unit/viewer/compare/compare_fixture.h"

#include "viewer/compare/tensor_difference_view.h"
#include "viewer/compare/unmatched_model.h"
#include "viewer/compare/weights_apart.h"
#include "viewer/style/theme.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QTreeView>

#include <cmath>
#include <cstring>
#include <numeric>

namespace loopscope::viewer::testing {

class CompareTensorTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    void theLargestDifferencesComeFirst()
    {
        const Array a = arrayOf<float>(Shape{2, 3}, {0, 1, 2, 3, 4, 5}), b = arrayOf<float>(Shape{2, 3}, {0, 1.5, 2, 1, 4, 5.25});
        const TensorDifference found = differenceOf(a.view(), b.view(), {});
        QVERIFY(found.present);
        QCOMPARE(found.largest.size(), size_t(3));
        QCOMPARE(found.largest[0].flat, int64_t(3));
        QCOMPARE(found.largest[1].flat, int64_t(1));
        QCOMPARE(found.low, -2.0);
        QCOMPARE(found.high, 0.5);
        QCOMPARE(std::accumulate(found.bins.begin(), found.bins.end(), int64_t(0)), int64_t(6));
        QCOMPARE(found.difference.at(1, 0).real, -2.0);
        QCOMPARE(found.notFinite, int64_t(0));
    }

    void aNaNOnOneSideIsTheLargestAndInNoBar()
    {
        const Array a = arrayOf<float>(Shape{3}, {1, NAN, NAN}), b = arrayOf<float>(Shape{3}, {2, 2, NAN});
        const TensorDifference found = differenceOf(a.view(), b.view(), {});
        QCOMPARE(found.largest.front().flat, int64_t(1));
        QCOMPARE(found.largest.size(), size_t(2)); // two NaN are the same
        QCOMPARE(found.notFinite, int64_t(1));
    }

    void aPlaneGoesThroughTheLargestDifference()
    {
        Array a = arrayOf<float>(Shape{1, 2, 2, 3}, std::vector<float>(12, 0)), b = a;
        const float one = 1;
        std::memcpy(b.bytes.data() + 5 * sizeof one, &one, sizeof one); // [0,0,1,2]
        const TensorDifference found = differenceOf(a.view(), b.view(), {});
        QCOMPARE(found.axes.fixed[3], int64_t(2)); // one channel, its rows and columns
        QCOMPARE(found.difference.rows, int64_t(2));
        QCOMPARE(found.difference.cols, int64_t(2));
        QCOMPARE(found.difference.at(0, 1).real, 1.0);
    }

    void quantizedSidesAreRealAndSayTheirEnds()
    {
        const Array a = arrayOf<float>(Shape{4}, {0, 0.5, 1, 2}), b = arrayOf<uint8_t>(Shape{4}, {10, 20, 30, 255});
        const Quantization quantization = Quantization::perTensor(0.05F, 10);
        Tensor there = b.view();
        there.quantization = &quantization;
        const TensorDifference found = differenceOf(a.view(), there, {});
        QVERIFY(found.quantizedThere && !found.quantizedHere);
        QCOMPARE(found.largest.front().flat, int64_t(3));
        QVERIFY(std::abs(found.largest.front().there - 12.25) < 1e-5);
        QCOMPARE(found.facts.front(), (std::pair<std::string, std::string>("B scale, zero", "0.05, 10")));
        QCOMPARE(found.facts[1], (std::pair<std::string, std::string>("B at 255", "25 %")));
    }

    void whatCannotBeSubtractedSaysWhy()
    {
        const Array a = arrayOf<float>(Shape{2}, {1, 2}), b = arrayOf<float>(Shape{3}, {1, 2, 3});
        const TensorDifference found = differenceOf(a.view(), b.view(), {});
        QVERIFY(!found.present);
        QCOMPARE(found.why, std::string("the shapes differ: A f32[2], B f32[3]"));
    }

    void theSelectedRowIsShownAtItsWorstWrite()
    {
        Sides sides;
        std::unique_ptr<Panel> panel(makeTensorDifferencePanel(*sides.document));
        panel->resize(1260, 190);
        panel->show();
        sides.compare();
        sides.desk().selectAt(CompareSide::here, "main/while#2:body/mul#1");
        auto* const view = panel->findChild<TensorDifferenceView*>("tensorDifference");
        QTRY_VERIFY(view->difference() != nullptr);
        // After three rounds: 2·2·2 against 2.125³, and 1.5 times that where B scaled more.
        const LargeDifference& worst = view->difference()->largest.front();
        QCOMPARE(worst.flat, int64_t(2));
        QCOMPARE(worst.here, 4.0 * 8);
        QVERIFY(std::abs(worst.there - 4 * 1.5 * std::pow(2.125, 3)) < 1e-4);
        // A press on the second of the list marks it in the planes.
        const QJsonObject seen = view->describe();
        const QJsonArray list = seen["list"].toArray();
        const double rowHeight = seen["rowHeight"].toDouble() + 3;
        QTest::mouseClick(view, Qt::LeftButton, {}, QPoint(int(list[0].toDouble()) + 4, int(list[1].toDouble() + 1.5 * rowHeight)));
        QCOMPARE(view->marked(), view->difference()->largest[1].flat);
        // The first iteration alone.
        sides.desk().judgement().setIteration("main/while#2", 0);
        QTRY_COMPARE(view->difference()->largest.front().here, 4.0 * 2);
        panel.reset();
    }

    void unmatchedOperatorsAreListedAndSelected()
    {
        Sides sides;
        UnmatchedModel model(sides.desk());
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        std::unique_ptr<Panel> panel(makeUnmatchedPanel(*sides.document));
        sides.compare();
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.index(0, 0).data().toString(), QString("abs#1"));
        QCOMPARE(model.index(0, 1).data().toString(), QString("B"));
        QCOMPARE(panel->title(), QString("Unmatched 1"));
        auto* const table = panel->findChild<QTreeView*>("unmatchedTable");
        table->setCurrentIndex(table->model()->index(0, 0));
        QCOMPARE(sides.b->canvas().selection().addresses(), std::vector<std::string>{"main/abs#1"});
        QVERIFY(sides.a->canvas().selection().addresses().empty());
        panel.reset();
    }

    void aTypedLimitHoldsOrSaysWhyNot()
    {
        Sides sides;
        std::unique_ptr<Panel> panel(makeCompareSettingsPanel(*sides.document));
        sides.compare();
        sides.desk().judgement().setMetric(Metric::cosine);
        auto* const field = panel->findChild<QLineEdit*>("compareLimit");
        const auto enter = [&](const char* text) {
            field->setText(text);
            emit field->editingFinished();
        };
        enter("0.5");
        QCOMPARE(sides.desk().judgement().limit(), 0.5);
        auto* const problem = panel->findChild<QLabel*>("compareLimitProblem");
        QCOMPARE(problem->text(), QString());
        enter("2");
        QCOMPARE(sides.desk().judgement().limit(), 0.5);
        QCOMPARE(problem->text(), QString("expected 0 to 1"));
        enter("much");
        QCOMPARE(sides.desk().judgement().limit(), 0.5);
        QCOMPARE(problem->text(), QString("not a number"));
        sides.desk().judgement().setMetric(Metric::maxAbs); // each measure has a limit of its own
        QCOMPARE(sides.desk().judgement().limit(), usualLimit(Metric::maxAbs));
        enter("-1");
        QCOMPARE(sides.desk().judgement().limit(), usualLimit(Metric::maxAbs));
        QCOMPARE(problem->text(), QString("expected 0 or more"));
        sides.desk().judgement().setMetric(Metric::cosine);
        QCOMPARE(field->text(), QString("0.5"));
        panel.reset();
    }

    void weightsTrainedApartAreSaid()
    {
        const char* const text = R"(
graph main(x: f32[16]) {
  w = const f32[16] [W]
  y = mul(x, w) : f32[16]
  return y
}
)";
        const auto with = [&](const char* weights) {
            QString filled(text);
            return textModel(filled.replace("[W]", weights).toUtf8().constData());
        };
        const Model a = with("[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]");
        const Model close = with("[1.1, 2.0, 3.0, 4.0, 5.0, 6.1, 7.0, 8.0, 1.0, 2.0, 3.0, 4.2, 5.0, 6.0, 7.0, 8.0]");
        const Model apart = with("[1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]");
        const auto compared = [&](const Model& b) {
            return compareWeights({&a, GraphId(0)}, {&b, GraphId(0)}, ValuePairing::create(a, GraphId(0), b, GraphId(0)));
        };
        QCOMPARE(compared(close).pairs, int64_t(1));
        QVERIFY(weightsText(compared(close)).empty());
        QCOMPARE(compared(apart).apart, int64_t(1));
        QVERIFY(weightsText(compared(apart)).starts_with("the two files hold other weights"));
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::CompareTensorTest)
#include "compare_tensor_test.moc"
