#include "viewer/timeline/timeline_bar.h"

#include "viewer/style/theme.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr int kRightMargin = 20;
constexpr int kCallsTop = 7, kCallsHeight = 10;
constexpr int kPipTop = 22, kPipHeight = 16;
constexpr int kAccessTop = 42, kAccessHeight = 15;
constexpr int kMarksTop = 59, kMarksHeight = 15;
constexpr int kMoreTop = 77, kMoreHeight = 8; ///< lanes below them, where there is room

/// Lanes grow with the text, by half of what it grows: their labels have room, and some is left for the other panels.
int grown(int pixels) { return pixels * (100 + std::max(100, Theme::instance().textPercent())) / 200; }

} // namespace

TimelineBar::TimelineBar(QWidget* parent) : QWidget(parent)
{
    setObjectName("timelineBar");
    setAccessibleName("Timeline");
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        arrange();
        update();
    });
}

void TimelineBar::setContent(TimelineContent content)
{
    m_content = std::move(content);
    double end = 1;
    if (m_content.course != nullptr) {
        end = static_cast<double>(m_content.course->knownStep());
        if (!m_content.course->endStep()) end = std::max(end * 1.12, end + 8); // what is not known yet gets a hatched end
        if (m_content.lastRun != nullptr && m_content.lastRun->endStep())
            end = std::max(end, static_cast<double>(*m_content.lastRun->endStep()));
    }
    arrange();
    m_scale.setEnd(std::max(end, static_cast<double>(m_content.cursorStep)));
    update();
}

void TimelineBar::setPreview(std::optional<int64_t> iteration)
{
    m_preview = iteration;
    update();
}

void TimelineBar::zoom(double factor)
{
    const double x = m_scale.toX(static_cast<double>(std::max<int64_t>(m_content.cursorStep, 0)));
    m_scale.zoomAt(std::clamp(x, m_scale.left(), m_scale.right()), factor);
    update();
}

void TimelineBar::fit()
{
    m_scale.fit();
    update();
}

void TimelineBar::clearRange()
{
    m_range = {0, 0};
    emit rangeChanged();
    update();
}

int TimelineBar::labelLeft() const { return Theme::instance().barHeight(74); }

void TimelineBar::arrange()
{
    const QFontMetrics metrics(Theme::instance().font(FontUse::small));
    m_lanes.clear();
    const int width = this->width();
    const bool v1 = m_content.isDataflow;
    const int left =
        v1 ? Theme::instance().barHeight(118)
           : std::clamp(std::max({metrics.horizontalAdvance(m_content.loopLabel), metrics.horizontalAdvance(m_content.valueLabel),
                                  metrics.horizontalAdvance(m_content.callsLabel)}) +
                            22,
                        64, 160);
    const auto lane = [&](Lane::Kind kind, int top, int height, const QString& label, size_t index = 0) {
        m_lanes.push_back({kind, QRect(left, top, std::max(10, width - left - kRightMargin), height), label, index});
    };
    if (v1 && m_content.course != nullptr) {
        const size_t count = m_content.course->lanes().size();
        const int room = std::max(20, height() - 18);
        const int pitch = std::clamp(count == 0 ? 13 : room / static_cast<int>(count), 5, grown(14));
        // Of more lanes than fit those that lead to the cursor are shown.
        const auto& lanes = m_content.course->lanes();
        const auto fits = static_cast<size_t>(std::max(1, room / pitch));
        const auto begun = static_cast<size_t>(std::ranges::count_if(
            lanes, [&](const CourseLane& one) { return one.events.size() > 0 && one.events.stepAt(0) <= m_content.cursorStep; }));
        const size_t first = count <= fits ? 0 : std::min(count - fits, begun + 1 > fits ? begun + 1 - fits : 0);
        for (size_t i = first; i < std::min(count, first + fits); ++i)
            lane(Lane::Kind::dataflow, 4 + static_cast<int>(i - first) * pitch, pitch - 3,
                 lanes[i].iteration < 0 ? "root" : "@" + QString::number(lanes[i].iteration), i);
    } else {
        lane(Lane::Kind::calls, grown(kCallsTop), grown(kCallsHeight), m_content.callsLabel);
        lane(Lane::Kind::iterations, grown(kPipTop), grown(kPipHeight), m_content.loopLabel);
        lane(Lane::Kind::accesses, grown(kAccessTop), grown(kAccessHeight), m_content.valueLabel);
        lane(Lane::Kind::marks, grown(kMarksTop), grown(kMarksHeight), "marks");
        // Without room of their own they lie in the gaps: the recording under the calls, jumps under the iterations.
        int top = grown(kMoreTop);
        const auto more = [&](Lane::Kind kind, int gap, const QString& label) {
            const bool fits = top + grown(kMoreHeight) <= height();
            lane(kind, fits ? top : gap, fits ? grown(kMoreHeight) : 4, fits ? label : QString());
            if (fits) top += grown(kMoreHeight) + 4;
        };
        if (m_content.recorded.first >= 0) more(Lane::Kind::recorded, grown(kCallsTop + kCallsHeight), "recorded");
        if (!m_content.jumps.empty()) more(Lane::Kind::jumps, grown(kPipTop + kPipHeight), "jumps");
    }
    m_scale.setArea(left, std::max(10, width - left - kRightMargin));
}

QRect TimelineBar::area() const
{
    const int left = static_cast<int>(m_scale.left());
    return {left, 0, static_cast<int>(m_scale.right()) - left, height()};
}

const TimelineBar::Lane* TimelineBar::laneAt(const QPoint& at) const
{
    const Lane* found = nullptr; // the last one: what lies in a gap lies over its neighbours
    for (const Lane& lane : m_lanes)
        if (at.y() >= lane.rect.top() - (found ? 0 : 2) && at.y() <= lane.rect.bottom() + (lane.rect.height() < 5 ? 0 : 2)) found = &lane;
    return found;
}

const CourseLoop* TimelineBar::loop() const
{
    if (m_content.course == nullptr || m_content.loop < 0 || static_cast<size_t>(m_content.loop) >= m_content.course->loops().size())
        return nullptr;
    return &m_content.course->loops()[static_cast<size_t>(m_content.loop)];
}

int64_t TimelineBar::cursorIteration() const
{
    const CourseLoop* const l = loop();
    if (l == nullptr || m_content.cursorStep < 0) return -1;
    const size_t at = l->indexAt(m_content.cursorStep);
    return at < l->iterations.size() ? l->iterations[at].iteration : -1;
}

int64_t TimelineBar::shownIteration() const { return m_preview ? *m_preview : cursorIteration(); }

const CourseIteration* TimelineBar::pipAt(double x) const
{
    const CourseLoop* const l = loop();
    if (l == nullptr || l->iterations.empty()) return nullptr;
    const auto step = static_cast<int64_t>(m_scale.toStep(x));
    const auto after = std::ranges::upper_bound(l->iterations, step, {}, &CourseIteration::first);
    auto at = after == l->iterations.begin() ? after : std::prev(after);
    while (at->iteration < 0 && at != l->iterations.begin()) --at;
    return &*at;
}

size_t TimelineBar::cursorPip() const
{
    const size_t at = loop()->indexAt(m_content.cursorStep);
    return at < loop()->iterations.size() ? at : 0;
}

bool TimelineBar::isElsewhere(const CourseIteration& pip) const { return pip.caller != loop()->iterations[cursorPip()].caller; }

const CourseIteration* TimelineBar::pipOf(int64_t iteration) const
{
    const CourseLoop* const l = loop();
    if (l == nullptr || l->iterations.empty()) return nullptr;
    // Those of one execution follow each other; the last may be a condition that was false, which has no number.
    size_t from = cursorPip();
    if (l->iterations[from].iteration < 0 && from > 0) --from;
    const int64_t at = static_cast<int64_t>(from) + iteration - l->iterations[from].iteration;
    if (at < 0 || at >= static_cast<int64_t>(l->iterations.size())) return nullptr;
    const CourseIteration& found = l->iterations[static_cast<size_t>(at)];
    return found.iteration == iteration && !isElsewhere(found) ? &found : nullptr;
}

double TimelineBar::pipPitch() const
{
    const CourseLoop* const l = loop();
    if (l == nullptr || l->iterations.empty()) return 0;
    const double steps = static_cast<double>(m_content.course->knownStep() - l->iterations.front().first);
    return std::max(1.0, steps / static_cast<double>(l->iterations.size())) * m_scale.pixelsPerStep();
}

QString TimelineBar::valueText() const
{
    if (m_content.cursorStep < 0) return "nothing has run";
    const QLocale locale(QLocale::English);
    const QString step = "step " + locale.toString(static_cast<qlonglong>(m_content.cursorStep));
    const int64_t iteration = shownIteration();
    const CourseLoop* const l = loop();
    if (iteration < 0 || l == nullptr) return step;
    int64_t count = 0;
    for (auto at = l->iterations.rbegin(); at != l->iterations.rend() && count == 0; ++at) count = at->iteration + 1;
    return "iteration " + locale.toString(static_cast<qlonglong>(iteration)) + " of " + locale.toString(static_cast<qlonglong>(count)) +
           ", " + step;
}

void TimelineBar::resizeEvent(QResizeEvent*) { arrange(); }

void TimelineBar::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    setFocus(Qt::MouseFocusReason);
    m_pressed = m_last = event->pos();
    const Lane* const lane = laneAt(event->pos());
    if ((event->modifiers() & Qt::ShiftModifier) != 0) {
        m_grip = Grip::range;
        const auto step = static_cast<int64_t>(m_scale.toStep(event->pos().x()));
        m_range = {step, step};
    } else if (const CourseIteration* const pip = pipAt(event->pos().x()); event->button() == Qt::LeftButton && lane != nullptr &&
                                                                           lane->kind == Lane::Kind::iterations && pip != nullptr &&
                                                                           !isElsewhere(*pip) && event->pos().x() >= m_scale.left()) {
        m_grip = Grip::scrub;
        m_dragged = pip->iteration;
        m_drag.begin(event->pos().x(), m_dragged);
        setPreview(m_dragged);
        emit iterationPressed(m_dragged);
    } else {
        m_grip = Grip::press;
    }
    update();
}

void TimelineBar::mouseMoveEvent(QMouseEvent* event)
{
    const QPoint at = event->pos();
    switch (m_grip) {
    case Grip::none: return;
    case Grip::press:
        if ((at - m_pressed).manhattanLength() < 4) return;
        m_grip = Grip::pan;
        setCursor(Qt::ClosedHandCursor);
        [[fallthrough]];
    case Grip::pan: m_scale.pan(at.x() - m_last.x()); break;
    case Grip::range: {
        const auto a = static_cast<int64_t>(m_scale.toStep(std::min(m_pressed.x(), at.x())));
        const auto b = static_cast<int64_t>(std::ceil(m_scale.toStep(std::max(m_pressed.x(), at.x()))));
        m_range = {std::max<int64_t>(a, 0), std::max<int64_t>(b, 0)};
        emit rangeChanged();
        break;
    }
    case Grip::scrub: {
        const Lane* lane = nullptr;
        for (const Lane& l : m_lanes)
            if (l.kind == Lane::Kind::iterations) lane = &l;
        const double pitch = pipPitch();
        const double distance = std::abs(at.y() - (lane != nullptr ? lane->rect.center().y() : at.y()));
        const double perPixel = pitch > 0 ? 1 / pitch : 1;
        if (SlowDrag::slowness(distance, perPixel) == 1 && perPixel <= 1) { // as many pixels as iterations: it is where the pointer is
            if (const CourseIteration* const pip = pipAt(at.x()); pip != nullptr && !isElsewhere(*pip)) m_dragged = pip->iteration;
            m_drag.begin(at.x(), m_dragged);
        } else {
            const CourseLoop* const l = loop();
            m_dragged = m_drag.moveTo(at.x(), distance, perPixel, l != nullptr ? static_cast<int64_t>(l->iterations.size()) : 0);
        }
        setPreview(m_dragged);
        emit iterationDragged(m_dragged, SlowDrag::slowness(distance, perPixel));
        break;
    }
    }
    m_last = at;
    update();
}

void TimelineBar::mouseReleaseEvent(QMouseEvent* event)
{
    const Grip grip = m_grip;
    m_grip = Grip::none;
    unsetCursor();
    if (grip == Grip::scrub) {
        setPreview(std::nullopt);
        const bool beyond = m_content.course != nullptr && !m_content.course->endStep() &&
                            m_scale.toStep(event->pos().x()) > static_cast<double>(m_content.course->knownStep());
        if (beyond) emit beyondEndChosen();
        else emit iterationReleased(m_dragged);
    } else if (grip == Grip::press && event->pos().x() >= m_scale.left() && m_content.course != nullptr) {
        emit stepChosen(placeAt(event->pos()).step);
    } else if (grip == Grip::range && m_range.first == m_range.second) {
        clearRange();
    }
    update();
}

/// The newest that passes over a step.
const TimelineContent::Jump* TimelineBar::jumpAt(int64_t step) const
{
    const auto found = std::find_if(m_content.jumps.rbegin(), m_content.jumps.rend(), [step](const TimelineContent::Jump& jump) {
        return step >= std::min(jump.from, jump.to) && step <= std::max(jump.from, jump.to);
    });
    return found == m_content.jumps.rend() ? nullptr : &*found;
}

TimelineBar::Place TimelineBar::placeAt(const QPoint& at) const
{
    Place place;
    if (m_content.course == nullptr || at.x() < m_scale.left()) return place;
    place.step = static_cast<int64_t>(m_scale.toStep(at.x()));
    const auto reach = static_cast<int64_t>(6 / m_scale.pixelsPerStep()) + 1;
    const Lane* const lane = laneAt(at);
    switch (lane == nullptr ? Lane::Kind::calls : lane->kind) {
    case Lane::Kind::accesses:
        place.lane = Place::Lane::accesses;
        if (m_content.accesses == nullptr) break;
        if (const size_t near = m_content.accesses->nearest(place.step, accessWrite | accessRead, reach);
            near < m_content.accesses->size()) {
            place.step = m_content.accesses->stepAt(near);
            place.isAbnormal = (m_content.accesses->flagsAt(near) & accessAbnormal) != 0;
        }
        break;
    case Lane::Kind::marks: {
        place.lane = Place::Lane::marks;
        const int64_t wanted = place.step;
        for (const TimelineContent::Mark& mark : m_content.marks) {
            if (std::abs(mark.step - wanted) > reach) continue;
            place.step = mark.step;
            place.isAbnormal = mark.kind == TimelineContent::Mark::Kind::alert;
        }
        break;
    }
    case Lane::Kind::iterations:
        place.lane = Place::Lane::iterations;
        if (const CourseIteration* const pip = pipAt(at.x()); pip != nullptr) {
            place.step = pip->first;
            if (!isElsewhere(*pip)) place.iteration = pip->iteration;
        }
        break;
    case Lane::Kind::calls: place.lane = lane == nullptr ? Place::Lane::none : Place::Lane::calls; break;
    case Lane::Kind::dataflow: place.lane = Place::Lane::dataflow; break;
    case Lane::Kind::recorded: place.lane = Place::Lane::recorded; break;
    case Lane::Kind::jumps:
        place.lane = Place::Lane::jumps;
        if (const TimelineContent::Jump* const jump = jumpAt(place.step)) // to its nearer end
            place.step = std::abs(jump->from - place.step) < std::abs(jump->to - place.step) ? jump->from : jump->to;
        break;
    }
    place.step = std::clamp<int64_t>(place.step, 0, m_content.course->knownStep());
    return place;
}

/// By the menu key it is about the present step.
void TimelineBar::contextMenuEvent(QContextMenuEvent* event)
{
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const double here = m_scale.toX(static_cast<double>(std::max<int64_t>(m_content.cursorStep, 0)));
    const QPoint at = byKey ? QPoint(static_cast<int>(std::clamp(here, m_scale.left(), m_scale.right())), height() / 3) : event->pos();
    event->accept();
    emit menuRequested(at);
}

void TimelineBar::wheelEvent(QWheelEvent* event)
{
    const Lane* const lane = laneAt(event->position().toPoint());
    const double turns = (event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x()) / 120.0;
    if (event->angleDelta().x() != 0 && event->angleDelta().y() == 0 && (event->modifiers() & Qt::ShiftModifier) == 0) {
        m_scale.pan(turns * 60);
    } else if (lane != nullptr && lane->kind == Lane::Kind::iterations && loop() != nullptr &&
               (event->modifiers() & Qt::ControlModifier) == 0) {
        const int by = turns > 0 ? 1 : -1;
        emit iterationWheeled((event->modifiers() & Qt::ShiftModifier) != 0 ? by * 10 : by);
    } else {
        m_scale.zoomAt(event->position().x(), std::pow(1.25, turns));
    }
    event->accept();
    update();
}

void TimelineBar::leaveEvent(QEvent*) { update(); }

QString TimelineBar::tooltipAt(const QPoint& at) const
{
    const Lane* const lane = laneAt(at);
    if (lane == nullptr || m_content.course == nullptr || at.x() < m_scale.left()) return {};
    const QLocale locale(QLocale::English);
    const auto number = [&](int64_t n) { return locale.toString(static_cast<qlonglong>(n)); };
    const auto step = static_cast<int64_t>(m_scale.toStep(at.x()));
    const auto reach = static_cast<int64_t>(6 / m_scale.pixelsPerStep()) + 1;
    switch (lane->kind) {
    case Lane::Kind::calls:
        for (size_t i = m_content.course->spans().size(); i-- > 0;) {
            const CourseSpan& span = m_content.course->spans()[i];
            if (m_content.nameOf && span.first <= step && (span.end < 0 || step < span.end))
                return m_content.nameOf(span) + ", steps " + number(span.first) + " to " + (span.end < 0 ? "…" : number(span.end - 1));
        }
        break;
    case Lane::Kind::iterations: {
        const CourseLoop* const l = loop();
        if (l == nullptr) break;
        const size_t index = l->indexAt(step);
        if (index >= l->iterations.size() || l->iterations[index].iteration < 0) break;
        const CourseIteration& it = l->iterations[index];
        return m_content.loopLabel + " @" + QString::number(it.iteration) + ", steps " + number(it.first) + " to " +
               (it.end < 0 ? "…" : number(it.end - 1));
    }
    case Lane::Kind::accesses: {
        if (m_content.accesses == nullptr) break;
        const size_t near = m_content.accesses->nearest(step, accessWrite | accessRead, reach);
        if (near >= m_content.accesses->size()) break;
        const uint8_t flags = m_content.accesses->flagsAt(near);
        return m_content.valueLabel + ((flags & accessWrite) != 0 ? " is written" : " is read") + " at step " +
               number(m_content.accesses->stepAt(near)) + ((flags & accessAbnormal) != 0 ? ", holds NaN or Inf" : "");
    }
    case Lane::Kind::marks:
        for (const TimelineContent::Mark& mark : m_content.marks)
            if (std::abs(mark.step - step) <= reach) return mark.text + ", step " + number(mark.step);
        break;
    case Lane::Kind::dataflow: return lane->label + ", step " + number(step);
    case Lane::Kind::recorded: return "recorded: steps " + number(m_content.recorded.first) + " to " + number(m_content.recorded.second);
    case Lane::Kind::jumps:
        if (const TimelineContent::Jump* const jump = jumpAt(step))
            return "jump from step " + number(jump->from) + " to step " + number(jump->to);
        break;
    }
    return {};
}

bool TimelineBar::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QToolTip::showText(help->globalPos(), tooltipAt(help->pos()), this);
        return true;
    }
    return QWidget::event(event);
}

} // namespace loopscope::viewer
