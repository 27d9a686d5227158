// The timeline: pyramid, scale and slow drag by themselves; the panel over a run of 48 iterations; the course of a v1 graph.
#include "tests/unit/viewer/text_backend.h"
#include "viewer/style/theme.h"
#include "viewer/timeline/loop_slider.h"
#include "viewer/timeline/run_course.h"
#include "viewer/timeline/timeline_bar.h"
#include "viewer/timeline/timeline_panel.h"

#include <QAccessible>
#include <QJsonArray>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>

namespace loopscope::viewer::testing {
namespace {

/// 48 iterations of 4 steps: less; add, mul, neg. Step 4k is the condition of iteration k.
constexpr const char* kLoop = R"(
graph main(x: f32[2]) {
  zero = const i32[] 0
  n, y = while(zero, x) cond=@cond body=@body : (i32[], f32[2])
  z = neg(y) : f32[2]
  return z
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
  turned = neg(scaled) : f32[2]
  return next, turned
}
)";

/// 3 iterations of 1 step and 4 iterations of 4.
constexpr const char* kNested = R"(
graph main(x: f32[2]) {
  zero = const i32[] 0
  n, y = while(zero, x) cond=@outer_cond body=@outer : (i32[], f32[2])
  return y
}
graph outer_cond(i: i32[], x: f32[2]) {
  limit = const i32[] 3
  go = less(i, limit) : bool[]
  return go
}
graph outer(i: i32[], x: f32[2]) {
  zero = const i32[] 0
  one = const i32[] 1
  m, y = while(zero, x) cond=@inner_cond body=@inner : (i32[], f32[2])
  next = add(i, one) : i32[]
  return next, y
}
graph inner_cond(j: i32[], x: f32[2]) {
  limit = const i32[] 4
  go = less(j, limit) : bool[]
  return go
}
graph inner(j: i32[], x: f32[2]) {
  one = const i32[] 1
  next = add(j, one) : i32[]
  turned = neg(x) : f32[2]
  back = neg(turned) : f32[2]
  return next, back
}
)";

struct Fixture {
    explicit Fixture(const char* model = kLoop)
        : backend(new TextBackend(textModel(model), {arrayOf<float>(Shape{2}, {1, 2})})),
          document(std::unique_ptr<Backend>(backend)),
          panel(makeTimelinePanel(document)),
          bar(panel->findChild<TimelineBar*>("timelineBar")),
          head(panel->headWidget())
    {
        panel->resize(1270, 76);
        panel->show();
        slider = head->findChild<LoopSlider*>("loopSlider");
    }
    QJsonObject describe() const { return bar->describe(); }
    int64_t known() const { return describe()["known"].toInt(); }
    /// A command, and then until the timeline knows `steps` steps.
    void execute(const QString& line, int64_t steps)
    {
        executeAndSettle(document, line);
        QTRY_COMPARE_WITH_TIMEOUT(known(), steps, 20000);
    }

    TextBackend* backend;
    Document document;
    std::unique_ptr<Panel> panel;
    TimelineBar* bar;
    QWidget* head;
    LoopSlider* slider = nullptr;
};

} // namespace

class TimelineTest : public QObject {
    Q_OBJECT
private slots:
    void pyramidAnswersForAnyRange()
    {
        EventPyramid pyramid;
        std::vector<std::pair<int64_t, uint8_t>> all;
        uint32_t random = 1;
        for (int64_t step = 0, i = 0; i < 3000; ++i) {
            random = random * 1664525 + 1013904223;
            step += random >> 29;
            const auto flags = static_cast<uint8_t>(i % 997 == 0 ? 4 : 1);
            all.emplace_back(step, flags);
            pyramid.add(step, flags);
        }
        for (int64_t first = 0; first < all.back().first; first += 37)
            for (const int64_t width : {1, 2, 15, 300, 5000}) {
                uint8_t wanted = 0;
                size_t count = 0;
                for (const auto& [step, flags] : all)
                    if (step >= first && step < first + width) {
                        wanted |= flags;
                        ++count;
                    }
                QCOMPARE(pyramid.flagsIn(first, first + width), wanted);
                QCOMPARE(pyramid.countIn(first, first + width), count);
            }
    }
    void oneEventAmongAMillionIsSeen()
    {
        EventPyramid pyramid;
        for (int64_t i = 0; i < 1'000'000; ++i) pyramid.add(i, i == 618'433 ? 2 : 1);
        int columns = 0;
        for (int64_t x = 0; x < 1000; ++x) columns += (pyramid.flagsIn(x * 1000, (x + 1) * 1000) & 2) != 0;
        QCOMPARE(columns, 1);
    }
    void eventsMayComeLate()
    {
        EventPyramid pyramid;
        for (const int64_t step : {10, 20, 5, 15}) pyramid.add(step, static_cast<uint8_t>(step));
        QCOMPARE(pyramid.stepAt(0), 5);
        QCOMPARE(pyramid.flagsIn(5, 16), uint8_t{5 | 10 | 15});
        QCOMPARE(pyramid.nearest(13, 0xff, 5), size_t{2});
        QCOMPARE(pyramid.nearest(100, 0xff, 5), pyramid.size());
    }
    void scaleZoomsAtThePointer()
    {
        TimeScale scale;
        scale.setArea(100, 1000);
        scale.setEnd(5000);
        const double step = scale.toStep(400);
        scale.zoomAt(400, 8);
        QCOMPARE(scale.toStep(400), step);
        QVERIFY(!scale.isFitted());
        scale.pan(1e9);
        QCOMPARE(scale.first(), 0.0);
        scale.fit();
        QCOMPARE(scale.toX(5000), 1100.0);
        scale.setEnd(6000); // what was fitted stays fitted
        QVERIFY(scale.isFitted());
    }
    void dragIsSlowAwayFromTheBar()
    {
        QCOMPARE(SlowDrag::slowness(200, 0.5), 1);
        QCOMPARE(SlowDrag::slowness(39, 1000), 1);
        QCOMPARE(SlowDrag::slowness(41, 1000), 10);
        QCOMPARE(SlowDrag::slowness(121, 1000), 1000);
        SlowDrag drag;
        drag.begin(0, 500'000);
        QCOMPARE(drag.moveTo(1, 0, 1000, 1'000'000), 501'000);
        QCOMPARE(drag.moveTo(2, 50, 1000, 1'000'000), 501'100);
        QCOMPARE(drag.moveTo(3, 500, 1000, 1'000'000), 501'101);
        QCOMPARE(drag.moveTo(-10'000, 0, 1000, 1'000'000), 0);
    }

    void nothingHasRun()
    {
        const Fixture f;
        QCOMPARE(f.bar->valueText(), QString("nothing has run"));
        QVERIFY(!f.bar->grab().isNull());
    }
    void showsTheIterationsThatRan()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("goto main/while#0@37:body/mul#1", 37 * 4 + 2);
        const QJsonObject told = f.describe();
        QCOMPARE(told["loop"].toObject()["label"].toString(), QString("while#0"));
        const QJsonArray pips = told["loop"].toObject()["pips"].toArray();
        QCOMPARE(pips.size(), 38);
        QCOMPARE(pips[36].toObject()["state"].toString(), QString("known"));
        QCOMPARE(pips[37].toObject()["state"].toString(), QString("current"));
        QCOMPARE(told["complete"].toBool(), false);
        QCOMPARE(f.bar->valueText(), QString("iteration 37 of 38, step 150"));
        QCOMPARE(f.head->findChild<QLineEdit*>("iterationField")->text(), QString("37"));

        f.execute("end", 195);
        f.execute("goto main/while#0@37:body/mul#1", 195);
        const QJsonArray all = f.describe()["loop"].toObject()["pips"].toArray();
        QCOMPARE(all.size(), 48);
        QCOMPARE(all[38].toObject()["state"].toString(), QString("lastRun"));
        QVERIFY(f.describe()["complete"].toBool());
        QCOMPARE(f.slider->count(), 48);
        QCOMPARE(f.slider->position(), 37);
    }
    void showsAccessesOfTheSelection()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("end", 195);
        QVERIFY(f.document.select("main/while#0:body/mul#1"));
        QTRY_COMPARE(f.describe()["accesses"].toArray().size(), 96); // 48 written, 48 read by neg
        const QJsonArray first = f.describe()["accesses"].toArray()[0].toArray();
        QCOMPARE(first[0].toInt(), 2); // less, add, mul
        QCOMPARE(first[1].toInt(), int{accessWrite});
        QCOMPARE(f.describe()["lanes"].toArray()[2].toObject()["label"].toString(), QString("scaled"));
    }
    void pressAndReleaseGoThere()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("end", 195);
        f.execute("goto main/while#0@37:body/mul#1", 195);
        const QJsonObject pip = f.describe()["loop"].toObject()["pips"].toArray()[12].toObject();
        const QPoint at(static_cast<int>(pip["x"].toDouble()) + 5, 30);
        f.backend->lines.clear();
        QTest::mousePress(f.bar, Qt::LeftButton, {}, at);
        QTRY_COMPARE(f.document.stop()->stack.back().info.iteration, 12);
        QTest::mouseMove(f.bar, at + QPoint(100, 0));
        QVERIFY(f.document.preview().has_value()); // shown at once, without a command
        const int64_t dragged = *f.document.preview();
        QVERIFY(dragged > 12);
        QTest::mouseRelease(f.bar, Qt::LeftButton, {}, at + QPoint(100, 0));
        QTRY_COMPARE(f.document.stop()->stack.back().info.iteration, dragged);
        QVERIFY(!f.document.preview().has_value());
        QCOMPARE(f.backend->lines.size(), size_t{2});
        QCOMPARE(f.backend->lines[0], std::string("iter 12"));
    }
    void theSlidersPreviewEndsWithTheDrag()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("end", 195);
        f.execute("goto main/while#0@37:body/mul#1", 195);
        emit f.slider->dragged(20, 1);
        QCOMPARE(f.bar->valueText(), QString("iteration 20 of 48, step 150"));
        emit f.slider->released(20);
        QTRY_COMPARE(f.document.stop()->stack.back().info.iteration, 20);
        QVERIFY(f.panel->command("iterationForward"));
        QTRY_VERIFY(f.bar->valueText().startsWith("iteration 21 of 48"));
        emit f.slider->dragged(47, 1);
        emit f.slider->beyondEndChosen();
        QVERIFY(!f.document.preview());
        QVERIFY(!f.bar->valueText().startsWith("iteration 47"));
    }
    void aPipOfAnotherExecutionIsGoneToByItsStep()
    {
        Fixture f(kNested);
        executeAndSettle(f.document, "start");
        executeAndSettle(f.document, "end");
        executeAndSettle(f.document, "goto main/while#0@0:body/while#0@2:body/neg#1");
        QTRY_COMPARE(f.describe()["loop"].toObject()["pips"].toArray().size(), 12);
        const QJsonObject pip = f.describe()["loop"].toObject()["pips"].toArray()[9].toObject();
        QCOMPARE(pip["iteration"].toInt(), 1);
        QTest::mouseClick(f.bar, Qt::LeftButton, {}, QPoint(static_cast<int>(pip["x"].toDouble()) + 4, 30));
        QTRY_COMPARE(f.document.stop()->stack[1].info.iteration, 2);
        QCOMPARE(f.document.stop()->stack.back().info.iteration, 1);
        QVERIFY(!f.document.preview());
    }
    void theHeadFollowsTheSizeOfText()
    {
        const Fixture f;
        Theme::instance().setTextPercent(150);
        for (const QLabel* const label : f.head->findChildren<QLabel*>())
            QVERIFY2(label->font().pixelSize() == Theme::instance().font(FontUse::small).pixelSize() ||
                         label->font().pixelSize() == Theme::instance().font(FontUse::value).pixelSize(),
                     qPrintable(label->text()));
        const int size = f.head->findChild<QLineEdit*>("iterationField")->font().pixelSize();
        Theme::instance().setTextPercent(100);
        QVERIFY(size > f.head->findChild<QLineEdit*>("iterationField")->font().pixelSize());
    }
    void keysAndTypedNumbersMove()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("end", 195);
        f.execute("goto main/while#0@37:body/mul#1", 195);
        QVERIFY(f.panel->command("iterationBack"));
        QTRY_COMPARE(f.document.stop()->stack.back().info.iteration, 36);
        auto* field = f.head->findChild<QLineEdit*>("iterationField");
        field->setText("5");
        QTest::keyClick(field, Qt::Key_Return);
        QTRY_COMPARE(f.document.stop()->stack.back().info.iteration, 5);
        QVERIFY(f.panel->command("first"));
        QTRY_COMPARE(f.document.stop()->position.step, 0);
        QVERIFY(!f.panel->command("noSuchThing"));
    }
    void nothingIsExecutedAgainWhileNobodyLooks()
    {
        Fixture f;
        f.panel->hide();
        f.execute("start", 0);
        f.execute("end", 0);
        QVERIFY(f.document.stop()->finished);
        f.panel->show();
        QTRY_COMPARE(f.known(), 195);
    }
    void shiftDragSelectsARange()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("end", 195);
        QTest::mousePress(f.bar, Qt::LeftButton, Qt::ShiftModifier, {300, 50});
        QTest::mouseMove(f.bar, {700, 50});
        QTest::mouseRelease(f.bar, Qt::LeftButton, Qt::ShiftModifier, {700, 50});
        QVERIFY(f.bar->range().first < f.bar->range().second);
        QVERIFY(f.head->findChildren<QLabel*>().last()->text().contains("iterations"));
    }
    void aScreenReaderHearsASlider()
    {
        Fixture f;
        f.execute("start", 0);
        f.execute("goto main/while#0@7:body/mul#1", 30);
        QAccessibleInterface* const bar = QAccessible::queryAccessibleInterface(f.bar);
        QVERIFY(bar != nullptr);
        QCOMPARE(bar->role(), QAccessible::Slider);
        QCOMPARE(bar->text(QAccessible::Value), QString("iteration 7 of 8, step 30"));
        QVERIFY(bar->valueInterface() != nullptr);
        QCOMPARE(bar->valueInterface()->currentValue().toInt(), 7);
    }
    void ofManyLanesThoseAtTheCursorAreShown()
    {
        RunSurvey survey; // 60 iterations of a frame, two nodes each
        SurveyedInvocation root;
        root.id = 1;
        root.graph = GraphId(0);
        survey.invocations.push_back(root);
        for (int i = 0; i < 60; ++i) {
            SurveyedInvocation frame = root;
            frame.id = static_cast<InvocationId>(2 + i);
            frame.parent = 1;
            frame.role = CallRole::frame;
            frame.iteration = i;
            frame.firstStep = i * 2;
            survey.invocations.push_back(frame);
            for (int node = 0; node < 2; ++node) survey.operators.push_back({i * 2 + node, frame.id, GraphId(0), OperatorId(node), false});
        }
        survey.toTick = 120;
        survey.toStep = 120;
        survey.reachedEnd = true;
        RunCourse course;
        course.add(survey);
        TimelineBar bar;
        bar.resize(900, 110);
        const auto labels = [&](int64_t step) {
            TimelineContent content;
            content.course = &course;
            content.isDataflow = true;
            content.cursorStep = step;
            bar.setContent(std::move(content));
            QStringList names;
            for (const QJsonValue& lane : bar.describe()["lanes"].toArray()) names << lane.toObject()["label"].toString();
            return names;
        };
        QVERIFY(labels(0).contains("@0"));
        QVERIFY(!labels(0).contains("@40"));
        QVERIFY(labels(80).contains("@40"));
        QVERIFY(!labels(80).contains("@0"));
        QVERIFY(labels(119).contains("@59"));
        QCOMPARE(labels(0).size(), labels(119).size());
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::TimelineTest)
#include "timeline_test.moc"
