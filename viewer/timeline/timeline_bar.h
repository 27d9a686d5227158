// The painted lanes of the timeline: calls, iterations, accesses of a value, marks; of v1 graphs one lane per iteration.
#pragma once

#include "viewer/timeline/run_course.h"
#include "viewer/timeline/time_scale.h"

#include <QJsonObject>
#include <QPixmap>
#include <QWidget>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

class QPainter;

namespace loopscope::viewer {

enum AccessFlag : uint8_t { accessWrite = 1, accessRead = 2, accessAbnormal = 4 };

/// What the bar draws beside the course itself. The pointers stay valid until the next setContent.
struct TimelineContent {
    const RunCourse* course = nullptr;
    const RunCourse* lastRun = nullptr;     ///< known only from an earlier run; may be null
    const EventPyramid* accesses = nullptr; ///< AccessFlag
    int loop = -1;                          ///< index into course->loops(), −1: none
    QString callsLabel, loopLabel, valueLabel;
    std::function<QString(const CourseSpan&)> nameOf; ///< of a span, for tooltips; empty: they have none
    struct Mark {
        int64_t step = 0;
        enum class Kind : uint8_t { bookmark, hit, alert } kind = Kind::bookmark;
        QString text;
    };
    std::vector<Mark> marks; ///< in order of steps
    struct Jump {
        int64_t from = 0, to = 0;
        bool operator==(const Jump&) const = default;
    };
    std::vector<Jump> jumps;                        ///< over what had run already, the newest last
    std::pair<int64_t, int64_t> recorded = {-1, 0}; ///< steps that a recording holds, or is being given; −1: none does
    int64_t cursorStep = -1;                        ///< −1: nothing has run
    bool isRecorded = false;                        ///< all of it is known from a recording, no moment is the present one
    bool isDataflow = false;
    QString frameLabel; ///< v1: "frame while"
};

class TimelineBar : public QWidget {
    Q_OBJECT
public:
    explicit TimelineBar(QWidget* parent = nullptr);

    void setContent(TimelineContent content);
    const TimelineContent& content() const { return m_content; }
    /// While scrubbing: the iteration that the pointer is at. none: the cursor's.
    void setPreview(std::optional<int64_t> iteration);
    void zoom(double factor);
    void fit();
    /// The selected range in steps; first == last: none.
    std::pair<int64_t, int64_t> range() const { return m_range; }
    void clearRange();
    const TimeScale& scale() const { return m_scale; }
    int64_t cursorIteration() const; ///< of the loop shown; −1: none
    /// "iteration 37 of 48, step 1,055".
    QString valueText() const;
    /// Lanes with their rectangles, pips in view, cursor, range, scale.
    Q_INVOKABLE QJsonObject describe() const;
    QSize sizeHint() const override { return {800, 76}; }
    QSize minimumSizeHint() const override { return {160, 72}; }

    /// What lies under a point.
    struct Place {
        enum class Lane : uint8_t { none, calls, iterations, accesses, marks, dataflow, jumps, recorded } lane = Lane::none;
        int64_t step = -1;       ///< that a click there goes to
        int64_t iteration = -1;  ///< of the loop that is shown
        bool isAbnormal = false; ///< a write of NaN or an infinity, or an alert
    };
    Place placeAt(const QPoint& at) const;

signals:
    void menuRequested(const QPoint& at); ///< in the bar's pixels
    void iterationPressed(qint64 iteration);
    void iterationDragged(qint64 iteration, int slowness);
    void iterationReleased(qint64 iteration);
    void iterationWheeled(int by);
    void stepChosen(qint64 step);
    void rangeChanged();
    /// Dragged into the part that has not run yet.
    void beyondEndChosen();

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void leaveEvent(QEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    bool event(QEvent*) override;

private:
    enum class Grip : uint8_t { none, press, pan, range, scrub };
    struct Lane {
        enum class Kind : uint8_t { calls, iterations, accesses, marks, dataflow, jumps, recorded } kind;
        QRect rect; ///< of its contents, right of the labels
        QString label;
        size_t index = 0; ///< dataflow: of the course's lanes
    };
    void arrange();
    const Lane* laneAt(const QPoint& at) const;
    const CourseIteration* pipAt(double x) const;            ///< null: none is known
    const CourseIteration* pipOf(int64_t iteration) const;   ///< in the execution of the loop that the cursor stands in
    bool isElsewhere(const CourseIteration& pip) const;      ///< in another one: numbers of iterations do not reach it
    const TimelineContent::Jump* jumpAt(int64_t step) const; ///< null: none
    size_t cursorPip() const;                                ///< outside of the loop its first one
    int64_t shownIteration() const;
    const CourseLoop* loop() const;
    double pipPitch() const; ///< pixels of an average iteration
    void paintCalls(QPainter& painter, const QRect& lane) const;
    void paintIterations(QPainter& painter, const QRect& lane) const;
    QRectF shownNumberBox(const QRect& lane) const;
    void paintShownNumber(QPainter& painter, const QRect& lane) const;
    void paintPips(QPainter& painter, const QRect& lane, size_t first, size_t last) const;
    void paintAccesses(QPainter& painter, const QRect& lane) const;
    void paintMarks(QPainter& painter, const QRect& lane) const;
    void paintJumps(QPainter& painter, const QRect& lane) const;
    void paintRecorded(QPainter& painter, const QRect& lane) const;
    void paintDataflow(QPainter& painter) const;
    int labelLeft() const; ///< of the names of a dataflow run's lanes: what the colours mean stands at their left
    void paintAxis(QPainter& painter) const;
    void paintCursor(QPainter& painter) const;
    void paintUnknown(QPainter& painter, const QRect& area) const;
    QRect area() const;
    QString tooltipAt(const QPoint& at) const;

    TimelineContent m_content;
    TimeScale m_scale;
    std::vector<Lane> m_lanes;
    Grip m_grip = Grip::none;
    QPoint m_pressed, m_last;
    SlowDrag m_drag;
    int64_t m_dragged = -1;
    std::optional<int64_t> m_preview;
    std::pair<int64_t, int64_t> m_range{0, 0};
};

} // namespace loopscope::viewer
