// What the lanes of the timeline look like, and the same in words for tests.
#include "viewer/style/theme.h"
#include "viewer/timeline/timeline_bar.h"

#include <QJsonArray>
#include <QPainter>
#include <QPainterPath>

#include <array>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kLabelledPip = 24, kSinglePip = 4;
constexpr size_t kDescribedPips = 400;

/// Every how many pips one gets a number: 1, 2, 4, 8, 16, 20, 50, 100, …
int64_t labelEvery(double pitch)
{
    if (pitch >= kLabelledPip) return 1;
    for (const int64_t n : {2, 4, 8, 16})
        if (pitch * static_cast<double>(n) >= 160) return n;
    for (int64_t decade = 10;; decade *= 10)
        for (const int64_t n : {2, 5, 10})
            if (pitch * static_cast<double>(n * decade) >= 160) return n * decade;
}

void drawHatch(QPainter& painter, const QRectF& area, const QColor& color)
{
    painter.save();
    painter.setClipRect(area);
    painter.setPen(QPen(color, 1));
    painter.setRenderHint(QPainter::Antialiasing, true);
    const double phase = std::fmod(area.left() + area.bottom(), 6.0);
    for (double x = area.left() - area.height() - phase; x < area.right(); x += 6)
        painter.drawLine(QPointF(x, area.bottom()), QPointF(x + area.height(), area.top()));
    painter.restore();
}

void drawTriangle(QPainter& painter, double x, double top, bool up, const QColor& color)
{
    QPolygonF shape;
    if (up) shape << QPointF(x - 3, top + 5) << QPointF(x, top) << QPointF(x + 3, top + 5);
    else shape << QPointF(x - 3, top) << QPointF(x + 3, top) << QPointF(x, top + 5);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(shape);
}

QColor faded(QColor color, int percent)
{
    const QColor back = themed(Token::surface);
    const auto mix = [percent](int a, int b) { return (a * percent + b * (100 - percent)) / 100; };
    return {mix(color.red(), back.red()), mix(color.green(), back.green()), mix(color.blue(), back.blue())};
}

} // namespace

void TimelineBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    painter.setFont(Theme::instance().font(FontUse::small));
    const QFontMetrics metrics(painter.font());
    if (m_content.cursorStep < 0 || m_content.course == nullptr) {
        painter.setPen(themed(Token::text3));
        painter.drawText(rect(), Qt::AlignCenter, "Nothing has run.");
        return;
    }
    if (m_content.isDataflow) {
        paintDataflow(painter);
    } else {
        painter.setPen(themed(Token::text2));
        for (const Lane& lane : m_lanes) {
            const QRect label(10, lane.rect.top() - 3, lane.rect.left() - 20, lane.rect.height() + 6);
            painter.drawText(label, Qt::AlignVCenter | Qt::AlignLeft, metrics.elidedText(lane.label, Qt::ElideMiddle, label.width()));
        }
        painter.setClipRect(area().adjusted(-4, 0, 6, 0));
        for (const Lane& lane : m_lanes) {
            if (lane.kind == Lane::Kind::calls) paintCalls(painter, lane.rect);
            if (lane.kind == Lane::Kind::iterations) paintIterations(painter, lane.rect);
            if (lane.kind == Lane::Kind::accesses) paintAccesses(painter, lane.rect);
            if (lane.kind == Lane::Kind::marks) paintMarks(painter, lane.rect);
            if (lane.kind == Lane::Kind::jumps) paintJumps(painter, lane.rect);
            if (lane.kind == Lane::Kind::recorded) paintRecorded(painter, lane.rect);
        }
        paintUnknown(painter, area());
    }
    if (m_range.first < m_range.second) {
        const double a = m_scale.toX(static_cast<double>(m_range.first)), b = m_scale.toX(static_cast<double>(m_range.second));
        QColor fill = themed(Token::accent);
        fill.setAlpha(40);
        painter.fillRect(QRectF(a, 0, b - a, height()), fill);
        painter.setPen(QPen(themed(Token::accent), 1));
        painter.drawLine(QPointF(a, 0), QPointF(a, height()));
        painter.drawLine(QPointF(b, 0), QPointF(b, height()));
    }
    if (!m_content.isRecorded) paintCursor(painter);
    if (hasFocus()) {
        painter.setClipping(false);
        painter.setPen(QPen(themed(Token::accent), 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(1, 1, -2, -2));
    }
}

void TimelineBar::paintUnknown(QPainter& painter, const QRect& area) const
{
    if (m_content.course->endStep()) return;
    const double from = m_scale.toX(static_cast<double>(m_content.course->knownStep()));
    if (from >= m_scale.right()) return;
    const QRectF unknown(std::max(from, m_scale.left()), area.top() + 5, m_scale.right() - std::max(from, m_scale.left()),
                         area.height() - 8);
    drawHatch(painter, unknown, themed(Token::line));
}

void TimelineBar::paintCalls(QPainter& painter, const QRect& lane) const
{
    const double known = static_cast<double>(m_content.course->knownStep());
    const double cursor = static_cast<double>(m_content.cursorStep);
    // Operators of the root that are no calls, as the ground.
    painter.fillRect(QRectF(m_scale.toX(0), lane.top() + 0.5, m_scale.toX(known) - m_scale.toX(0), lane.height() - 1),
                     themed(Token::text2));
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (const CourseSpan& span : m_content.course->spans()) {
        const double first = static_cast<double>(span.first), last = span.end < 0 ? known : static_cast<double>(span.end);
        double a = m_scale.toX(first);
        double b = m_scale.toX(last);
        if (b < m_scale.left() || a > m_scale.right()) continue;
        if (b - a < 1) {
            if (span.depth > 0) continue; // the levels below are seen when there is room
            b = a + 1;
        }
        const int inset = span.depth * 2;
        if (inset * 2 >= lane.height()) continue;
        const QColor color = themed(Family::controlFlow);
        const double x = std::clamp(m_scale.toX(cursor), a, b);
        const QRectF whole(a, lane.top() + inset, b - a, lane.height() - 2 * inset);
        painter.fillRect(QRectF(whole.left(), whole.top(), x - a, whole.height()), faded(color, 72 - 12 * (span.depth % 3)));
        painter.fillRect(QRectF(x, whole.top(), b - x, whole.height()), faded(color, 32 - 6 * (span.depth % 3)));
        if (span.depth == 0 && b - a > 6) { // so that neighbours stay apart
            painter.fillRect(QRectF(a - 1, whole.top(), 1, whole.height()), themed(Token::surface));
            painter.fillRect(QRectF(b, whole.top(), 1, whole.height()), themed(Token::surface));
        }
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
}

void TimelineBar::paintIterations(QPainter& painter, const QRect& lane) const
{
    const CourseLoop* const l = loop();
    if (l == nullptr || l->iterations.empty()) return;
    const auto firstStep = static_cast<int64_t>(m_scale.first()) - 1, lastStep = static_cast<int64_t>(m_scale.last()) + 1;
    const std::vector<CourseIteration>& all = l->iterations;
    auto from = std::ranges::upper_bound(all, firstStep, {}, &CourseIteration::first);
    if (from != all.begin()) --from;
    const auto to = std::ranges::upper_bound(all, lastStep, {}, &CourseIteration::first);
    if (pipPitch() >= kSinglePip) {
        paintPips(painter, lane, static_cast<size_t>(from - all.begin()), static_cast<size_t>(to - all.begin()));
        return;
    }
    // One column a pixel: all iterations that begin under it.
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double begin = m_scale.toX(static_cast<double>(all.front().first));
    const int64_t end = all.back().end < 0 ? m_content.course->knownStep() : all.back().end;
    const double stop = m_scale.toX(static_cast<double>(end));
    for (int x = std::max(lane.left(), static_cast<int>(begin)); x <= std::min<int>(lane.right(), static_cast<int>(stop)); ++x) {
        const auto a = static_cast<int64_t>(std::floor(m_scale.toStep(x))), b = static_cast<int64_t>(std::ceil(m_scale.toStep(x + 1)));
        const bool any = l->starts.flagsIn(a, std::max(b, a + 1)) != 0 || l->indexAt(a) < all.size();
        if (any)
            painter.fillRect(QRect(x, lane.top(), 1, lane.height()),
                             a <= m_content.cursorStep ? faded(themed(Token::accent), 38) : themed(Token::sunken));
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(themed(Token::accent), 1));
    const double right = std::min(stop, m_scale.toX(static_cast<double>(m_content.cursorStep)));
    if (right > begin) {
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(begin, lane.top() + 0.5, right - begin, lane.height() - 1));
    }
    // Numbers above the columns.
    const int64_t every = labelEvery(pipPitch());
    const QRectF cursor = shownNumberBox(lane).adjusted(-2, 0, 2, 0);
    painter.setFont(Theme::instance().font(FontUse::tiny));
    const QFontMetrics metrics(painter.font());
    for (auto at = from; at != to; at += 1) {
        if (at->iteration < 0 || at->iteration % every != 0) {
            // Jumps to the next multiple: a million iterations are not walked through.
            if (at->iteration >= 0) {
                const int64_t skip = every - at->iteration % every;
                if (skip < to - at && (at + skip)->iteration == at->iteration + skip) at += skip - 1;
            }
            continue;
        }
        const double x = m_scale.toX(static_cast<double>(at->first));
        painter.setPen(themed(at->first <= m_content.cursorStep ? Token::text : Token::text3));
        const QString number = QString::number(at->iteration);
        if (x + 3 > cursor.right() || x + 3 + metrics.horizontalAdvance(number) < cursor.left())
            painter.drawText(QPointF(x + 3, lane.bottom() - lane.height() / 5), number);
        painter.fillRect(QRectF(x, lane.top(), 1, lane.height()), themed(Token::line2));
    }
    paintShownNumber(painter, lane);
}

/// Where the number of the iteration that is shown stands over columns; empty: none is shown.
QRectF TimelineBar::shownNumberBox(const QRect& lane) const
{
    const int64_t shown = shownIteration();
    if (shown < 0) return {};
    const CourseIteration* const previewed = m_preview ? pipOf(shown) : nullptr;
    const double x = m_scale.toX(static_cast<double>(previewed != nullptr ? previewed->first : m_content.cursorStep));
    const double width = QFontMetrics(Theme::instance().font(FontUse::tiny)).horizontalAdvance(QString::number(shown)) + 8;
    return {std::clamp(x - width / 2, m_scale.left(), m_scale.right() - width), static_cast<double>(lane.top()), width,
            static_cast<double>(lane.height())};
}

void TimelineBar::paintShownNumber(QPainter& painter, const QRect& lane) const
{
    const QRectF box = shownNumberBox(lane);
    if (box.isEmpty()) return;
    painter.setPen(Qt::NoPen);
    painter.setBrush(themed(Token::accent));
    painter.drawRoundedRect(box, 1.5, 1.5);
    painter.setFont(Theme::instance().font(FontUse::tiny));
    painter.setPen(themed(Token::onAccent));
    painter.drawText(box, Qt::AlignCenter, QString::number(shownIteration()));
}

void TimelineBar::paintPips(QPainter& painter, const QRect& lane, size_t first, size_t last) const
{
    const CourseLoop& l = *loop();
    const double pitch = pipPitch();
    const int64_t every = labelEvery(pitch), shown = shownIteration();
    const double gap = pitch >= 8 ? 1.6 : 0.6;
    int64_t lastNumber = -1;
    for (size_t i = last; i-- > first && lastNumber < 0;) lastNumber = l.iterations[i].iteration;
    const CourseIteration* const previewed = m_preview ? pipOf(shown) : nullptr;
    painter.setRenderHint(QPainter::Antialiasing, true);
    const QFont normal = Theme::instance().font(FontUse::tiny), bold = Theme::instance().font(FontUse::tiny, true);
    const QFontMetrics metrics(bold);
    for (size_t i = first; i < last; ++i) {
        const CourseIteration& it = l.iterations[i];
        if (it.iteration < 0) continue;
        const double a = m_scale.toX(static_cast<double>(it.first));
        double end = it.end < 0 ? static_cast<double>(m_content.course->knownStep()) : static_cast<double>(it.end);
        if (it.end < 0 && i > 0 && l.iterations[i - 1].end >= 0) // about as long as the one before it
            end = std::max(end, static_cast<double>(it.first + l.iterations[i - 1].end - l.iterations[i - 1].first));
        const QRectF box(a, lane.top() + 0.5, std::max(1.0, m_scale.toX(end) - a - gap), lane.height() - 1);
        const bool holdsCursor = it.iteration == shown && it.first <= m_content.cursorStep && (it.end < 0 || m_content.cursorStep < it.end);
        const bool current = m_preview ? &it == previewed : holdsCursor;
        const bool done = it.first <= m_content.cursorStep;
        painter.setPen(current || done ? QPen(themed(Token::accent), 0.8) : QPen(themed(Token::line), 0.8));
        painter.setBrush(themed(current ? Token::accent : done ? Token::accentWeak : Token::sunken));
        painter.drawRoundedRect(box, 1.5, 1.5);
        const QString text = QString::number(it.iteration);
        const double width = metrics.horizontalAdvance(text);
        const bool labelled = current || it.iteration == lastNumber ||
                              (it.iteration % every == 0 && (it.iteration + every / 3 <= lastNumber || every == 1) &&
                               (std::abs(it.iteration - shown) * pitch > width + 8 || shown < 0));
        if (!labelled || width + 2 > box.width()) {
            if (!current || width + 2 <= box.width()) continue;
        }
        painter.setFont(current ? bold : normal);
        painter.setPen(themed(current ? Token::onAccent : done ? Token::text : Token::text3));
        if (width + 2 <= box.width()) {
            painter.drawText(box, Qt::AlignCenter, text);
        } else { // a narrow pip: the number in a box of its own
            const QRectF wide(std::clamp(box.center().x() - width / 2 - 4, m_scale.left(), m_scale.right() - width - 8), lane.top() + 0.5,
                              width + 8, lane.height() - 1);
            painter.fillRect(wide, themed(Token::accent));
            painter.drawText(wide, Qt::AlignCenter, text);
        }
    }
}

void TimelineBar::paintAccesses(QPainter& painter, const QRect& lane) const
{
    if (m_content.accesses == nullptr || m_content.accesses->size() == 0) return;
    painter.setRenderHint(QPainter::Antialiasing, true);
    const EventPyramid& events = *m_content.accesses;
    const auto firstStep = static_cast<int64_t>(m_scale.first()), lastStep = static_cast<int64_t>(m_scale.last()) + 1;
    const size_t from = events.lowerBound(firstStep), to = events.lowerBound(lastStep);
    const auto color = [this](uint8_t flag, int64_t step) {
        const QColor base = flag == accessAbnormal ? themed(Token::err) : flag == accessWrite ? themed(Token::sideB) : themed(Token::text2);
        return step <= m_content.cursorStep ? base : faded(base, 45);
    };
    if (static_cast<double>(to - from) * 4 < m_scale.right() - m_scale.left()) {
        for (size_t i = from; i < to; ++i) {
            const uint8_t flags = events.flagsAt(i);
            const int64_t step = events.stepAt(i);
            const double x = m_scale.toX(static_cast<double>(step) + 0.5);
            if ((flags & accessRead) != 0) drawTriangle(painter, x, lane.top() + 9, false, color(accessRead, step));
            if ((flags & accessWrite) != 0)
                drawTriangle(painter, x, lane.top() + 1, true, color((flags & accessAbnormal) != 0 ? accessAbnormal : accessWrite, step));
        }
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (int x = lane.left(); x <= lane.right(); ++x) {
        const auto a = static_cast<int64_t>(std::floor(m_scale.toStep(x))), b = static_cast<int64_t>(std::floor(m_scale.toStep(x + 1)));
        const uint8_t flags = events.flagsIn(a, std::max(b, a + 1));
        if ((flags & accessWrite) != 0) painter.fillRect(QRect(x, lane.top() + 1, 1, 6), color(accessWrite, a));
        if ((flags & accessRead) != 0) painter.fillRect(QRect(x, lane.top() + 8, 1, 6), color(accessRead, a));
        if ((flags & accessAbnormal) != 0) painter.fillRect(QRect(x, lane.top() - 1, 1, 8), color(accessAbnormal, a));
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
}

void TimelineBar::paintMarks(QPainter& painter, const QRect& lane) const
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (const int64_t step : m_content.course->checkpoints()) {
        const double x = m_scale.toX(static_cast<double>(step));
        if (x >= m_scale.left() - 1 && x <= m_scale.right()) painter.fillRect(QRectF(x, lane.top() + 4, 1.4, 8), themed(Token::line2));
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    const QFontMetrics metrics(painter.font());
    painter.setFont(Theme::instance().font(FontUse::small));
    double textEnd = -1e9;
    for (const TimelineContent::Mark& mark : m_content.marks) {
        const double x = m_scale.toX(static_cast<double>(mark.step));
        if (x < m_scale.left() - 2 || x > m_scale.right() + 2) continue;
        const double middle = lane.center().y() + 1;
        if (mark.kind == TimelineContent::Mark::Kind::hit) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(themed(Token::bp));
            painter.drawEllipse(QPointF(x, middle), 4, 4);
        } else if (mark.kind == TimelineContent::Mark::Kind::alert) {
            drawTriangle(painter, x, middle - 4, true, themed(Token::err));
        } else {
            painter.setPen(Qt::NoPen);
            painter.setBrush(themed(Token::accent));
            QPolygonF flag;
            flag << QPointF(x, middle - 5) << QPointF(x + 7, middle - 5) << QPointF(x + 7, middle + 4) << QPointF(x + 3.5, middle + 1)
                 << QPointF(x, middle + 4);
            painter.drawPolygon(flag);
            const QString text = mark.text;
            const double width = metrics.horizontalAdvance(text);
            if (x + 11 > textEnd && x + 12 + width < m_scale.right()) {
                painter.setPen(themed(Token::text2));
                painter.drawText(QRectF(x + 11, lane.top(), width + 4, lane.height() + 2), Qt::AlignVCenter | Qt::AlignLeft, text);
                textEnd = x + 20 + width;
            }
        }
    }
}

/// Each a line with an arrow where it led.
void TimelineBar::paintJumps(QPainter& painter, const QRect& lane) const
{
    painter.setRenderHint(QPainter::Antialiasing, true);
    const double y = lane.center().y() + 0.5, reach = std::min(4.0, lane.height() / 2.0 + 1);
    for (const TimelineContent::Jump& jump : m_content.jumps) {
        const bool isNewest = &jump == &m_content.jumps.back();
        const QColor color = isNewest ? themed(Token::accent) : faded(themed(Token::text3), 60);
        const double from = std::clamp(m_scale.toX(static_cast<double>(jump.from)), m_scale.left(), m_scale.right());
        const double to = std::clamp(m_scale.toX(static_cast<double>(jump.to)), m_scale.left(), m_scale.right());
        const double way = to < from ? -1 : 1;
        painter.setPen(QPen(color, isNewest ? 1.5 : 1));
        painter.drawLine(QPointF(from, y), QPointF(to, y));
        QPolygonF head;
        head << QPointF(to, y) << QPointF(to - way * 6, y - reach) << QPointF(to - way * 6, y + reach);
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        painter.drawPolygon(head);
        painter.drawEllipse(QPointF(from, y), 1.8, 1.8);
    }
}

void TimelineBar::paintRecorded(QPainter& painter, const QRect& lane) const
{
    const double from = std::max(m_scale.toX(static_cast<double>(m_content.recorded.first)), m_scale.left());
    const double to = std::min(m_scale.toX(static_cast<double>(m_content.recorded.second)), m_scale.right());
    if (to <= from) return;
    const QRectF bar(from, lane.center().y() - 1, to - from, 3);
    painter.fillRect(bar, themed(Token::bp)); // as the record button
}

void TimelineBar::paintDataflow(QPainter& painter) const
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QFontMetrics metrics(painter.font());
    const QColor live = themed(Token::accent), dead = faded(themed(Token::dead), 55);
    painter.setPen(themed(Token::text2));
    // The loop and what the colours mean, as far as lines of this size have room beside the names of the lanes.
    const int line = std::max(16, metrics.height() + 2), dot = Theme::instance().barHeight(8);
    painter.drawText(QRect(10, 4, labelLeft() + 4, line), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(m_content.frameLabel, Qt::ElideMiddle, labelLeft() + 4));
    const std::array<std::pair<const char*, QColor>, 3> legend = {{{"live", live}, {"dead", dead}, {"inner", live}}};
    const int second = std::max(46, 10 + dot + metrics.horizontalAdvance("live") + 10);
    for (size_t i = 0; i < legend.size(); ++i) {
        const int x = i == 1 ? second : 10, y = 4 + line * (i == 2 ? 2 : 1) + 2;
        if (y + line > height() || x + dot + metrics.horizontalAdvance(legend[i].first) > labelLeft() + 8) continue;
        painter.fillRect(QRect(x, y + line / 2 - 4 + (i == 2 ? 2 : 0), 5, i == 2 ? 4 : 8), legend[i].second);
        painter.drawText(QRect(x + dot, y, labelLeft(), line), Qt::AlignVCenter | Qt::AlignLeft, legend[i].first);
    }
    painter.setFont(Theme::instance().font(FontUse::tiny));
    // Where lanes are lower than a label some go without, so that none touch.
    const int tall = QFontMetrics(painter.font()).tightBoundingRect("@0").height() + 2;
    const int pitch = m_lanes.size() > 1 ? m_lanes[1].rect.top() - m_lanes[0].rect.top() : tall;
    const size_t labelled = static_cast<size_t>(std::max(1, (tall + pitch - 1) / std::max(1, pitch)));
    for (const Lane& lane : m_lanes) {
        painter.setPen(themed(Token::text2));
        if (lane.index % labelled == 0) {
            const int high = QFontMetrics(painter.font()).height(); // the first and the last lane may be lower than half of it
            const int top = std::max(0, std::min(lane.rect.center().y() - high / 2, height() - high));
            painter.drawText(QRect(labelLeft(), top, lane.rect.left() - labelLeft() - 6, high), Qt::AlignVCenter | Qt::AlignRight,
                             lane.label);
        }
        painter.fillRect(QRect(lane.rect.left(), lane.rect.bottom() + 2, lane.rect.width(), 1), themed(Token::line));
        const EventPyramid& events = m_content.course->lanes()[lane.index].events;
        const double width = m_scale.pixelsPerStep();
        const int half = std::max(2, lane.rect.height() / 2);
        const auto column = [&](double x, double w, uint8_t flags, bool past) {
            const auto color = [past](const QColor& c) { return past ? c : faded(c, 40); };
            const double bottom = lane.rect.bottom() + 1;
            if ((flags & laneDead) != 0) painter.fillRect(QRectF(x, bottom - lane.rect.height(), w, lane.rect.height()), color(dead));
            if ((flags & laneLive) != 0) painter.fillRect(QRectF(x, bottom - lane.rect.height(), w, lane.rect.height()), color(live));
            if ((flags & laneInnerDead) != 0) painter.fillRect(QRectF(x, bottom - half, w, half), color(dead));
            if ((flags & laneInnerLive) != 0) painter.fillRect(QRectF(x, bottom - half, w, half), color(live));
        };
        if (width >= 1.2) {
            const size_t from = events.lowerBound(static_cast<int64_t>(m_scale.first())),
                         to = events.lowerBound(static_cast<int64_t>(m_scale.last()) + 1);
            for (size_t i = from; i < to; ++i)
                column(m_scale.toX(static_cast<double>(events.stepAt(i))), std::max(1.5, width * 0.8), events.flagsAt(i),
                       events.stepAt(i) < m_content.cursorStep);
        } else {
            for (int x = lane.rect.left(); x <= lane.rect.right(); ++x) {
                const auto a = static_cast<int64_t>(std::floor(m_scale.toStep(x))),
                           b = static_cast<int64_t>(std::floor(m_scale.toStep(x + 1)));
                column(x, 1, events.flagsIn(a, std::max(b, a + 1)), a < m_content.cursorStep);
            }
        }
    }
    const QRect lanes(area().left(), 4, area().width(), height() - 18);
    paintUnknown(painter, lanes);
    paintAxis(painter);
}

void TimelineBar::paintAxis(QPainter& painter) const
{
    const double span = m_scale.last() - m_scale.first();
    double every = std::pow(10.0, std::floor(std::log10(std::max(1.0, span))));
    while (span / every < 6 && every > 1) every /= 2;
    every = std::max(1.0, std::round(every));
    painter.setPen(themed(Token::text3));
    painter.setFont(Theme::instance().font(FontUse::tiny));
    for (double step = std::ceil(m_scale.first() / every) * every; step <= m_scale.last(); step += every) {
        const double x = m_scale.toX(step);
        painter.drawText(QRectF(x - 40, height() - 14, 80, 12), Qt::AlignHCenter | Qt::AlignVCenter,
                         QString::number(static_cast<qlonglong>(step)));
    }
}

void TimelineBar::paintCursor(QPainter& painter) const
{
    double step = static_cast<double>(m_content.cursorStep);
    const CourseLoop* const l = loop();
    if (m_preview)
        if (const CourseIteration* const pip = pipOf(*m_preview)) step = static_cast<double>(pip->first) + 0.5;
    const double x = std::round(m_scale.toX(step));
    if (x < m_scale.left() - 1 || x > m_scale.right() + 1) return;
    painter.setClipping(false);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const QColor color = themed(Token::curLine);
    painter.fillRect(QRectF(x - 1, 0, 2, height()), color);
    QPolygonF head;
    head << QPointF(x - 6, 0) << QPointF(x + 6, 0) << QPointF(x, 7);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(head);
    // The pip of the cursor, or its number, stays readable under the line.
    if (!m_content.isDataflow && l != nullptr) {
        for (const Lane& lane : m_lanes) {
            if (lane.kind != Lane::Kind::iterations) continue;
            if (pipPitch() < kSinglePip) {
                paintShownNumber(painter, lane.rect);
                continue;
            }
            const size_t at = l->indexAt(m_content.cursorStep);
            if (at < l->iterations.size() && l->iterations[at].iteration >= 0) {
                painter.setClipRect(area().adjusted(-4, 0, 6, 0));
                paintPips(painter, lane.rect, at, at + 1);
            }
        }
    }
}

QJsonObject TimelineBar::describe() const
{
    const auto rectangle = [](const QRect& r) { return QJsonArray{r.x(), r.y(), r.width(), r.height()}; };
    QJsonObject out;
    QJsonArray lanes;
    const std::array<const char*, 7> kinds = {"calls", "iterations", "accesses", "marks", "dataflow", "jumps", "recorded"};
    for (const Lane& lane : m_lanes) {
        QJsonObject row{{"kind", kinds[static_cast<size_t>(lane.kind)]}, {"label", lane.label}, {"rect", rectangle(lane.rect)}};
        if (lane.kind == Lane::Kind::dataflow) {
            QJsonArray events;
            const EventPyramid& all = m_content.course->lanes()[lane.index].events;
            for (size_t i = 0; i < std::min(all.size(), kDescribedPips); ++i)
                events.append(QJsonArray{static_cast<qint64>(all.stepAt(i)), all.flagsAt(i)});
            row["events"] = events;
        }
        lanes.append(row);
    }
    out["lanes"] = lanes;
    QJsonArray jumps;
    for (const TimelineContent::Jump& jump : m_content.jumps)
        jumps.append(QJsonArray{static_cast<qint64>(jump.from), static_cast<qint64>(jump.to)});
    if (!jumps.isEmpty()) out["jumps"] = jumps;
    if (m_content.recorded.first >= 0)
        out["recorded"] = QJsonArray{static_cast<qint64>(m_content.recorded.first), static_cast<qint64>(m_content.recorded.second)};
    out["cursor"] = QJsonObject{{"step", static_cast<qint64>(m_content.cursorStep)},
                                {"x", m_scale.toX(static_cast<double>(m_content.cursorStep))},
                                {"iteration", static_cast<qint64>(cursorIteration())}};
    out["steps"] = QJsonArray{m_scale.first(), m_scale.last()};
    out["range"] = QJsonArray{static_cast<qint64>(m_range.first), static_cast<qint64>(m_range.second)};
    out["value"] = valueText();
    if (const CourseLoop* const l = loop()) {
        QJsonArray pips;
        const bool single = pipPitch() >= kSinglePip;
        for (const CourseIteration& it : l->iterations) {
            if (pips.size() >= static_cast<qsizetype>(kDescribedPips)) break;
            if (it.iteration < 0) continue;
            pips.append(QJsonObject{{"iteration", static_cast<qint64>(it.iteration)},
                                    {"x", m_scale.toX(static_cast<double>(it.first))},
                                    {"state", it.first > m_content.cursorStep     ? "lastRun"
                                              : it.iteration == cursorIteration() ? "current"
                                                                                  : "known"}});
        }
        out["loop"] = QJsonObject{
            {"label", m_content.loopLabel}, {"iterations", static_cast<qint64>(l->iterations.size())}, {"single", single}, {"pips", pips}};
    }
    if (m_content.accesses != nullptr) {
        QJsonArray accesses;
        for (size_t i = 0; i < std::min(m_content.accesses->size(), kDescribedPips); ++i)
            accesses.append(QJsonArray{static_cast<qint64>(m_content.accesses->stepAt(i)), m_content.accesses->flagsAt(i)});
        out["accesses"] = accesses;
    }
    QJsonArray marks;
    for (const TimelineContent::Mark& mark : m_content.marks)
        marks.append(QJsonArray{static_cast<qint64>(mark.step), static_cast<int>(mark.kind), mark.text});
    out["marks"] = marks;
    if (m_content.course != nullptr) {
        out["checkpoints"] = static_cast<qint64>(m_content.course->checkpoints().size());
        out["known"] = static_cast<qint64>(m_content.course->knownStep());
        out["complete"] = m_content.course->endStep().has_value();
    }
    return out;
}

} // namespace loopscope::viewer
