#include "viewer/canvas/loop_slider.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kIcon = 16;
constexpr double kTrack = 150;
constexpr double kKnob = 6;
constexpr double kLeastTrack = 64; ///< with its margins

double paceOf(const LoopHead& head, const RegionState& state, double away)
{
    if (lastIteration(state) < head.slider.width) return 1;
    return away > 120 ? 0.001 : away > 40 ? 0.1 : 1;
}

} // namespace

double shareOfKnown(const RegionState& state) { return state.trips || state.newest >= 0 ? 1 : 0.9; }

QString headName(const SceneRegion& region)
{
    const QString name = QString::fromStdString(region.name);
    return region.kind == RegionKind::frame ? QStringLiteral("frame ") + name : name;
}

int64_t lastIteration(const RegionState& state)
{
    if (state.newest >= 0) return state.newest;
    if (state.trips && *state.trips > 0) return *state.trips - 1;
    return std::max<int64_t>(0, state.iteration.value_or(0));
}

double sliderPosition(const RegionState& state, int64_t iteration)
{
    const int64_t last = lastIteration(state);
    const double end = shareOfKnown(state);
    return last == 0 ? (end == 1 ? 0 : end) : std::clamp(static_cast<double>(iteration) / static_cast<double>(last), 0.0, 1.0) * end;
}

LoopHead layOutHead(const SceneRegion& region, const Rect& box, const RegionState& state, LabelCache& labels)
{
    LoopHead head;
    head.nameX = box.x + 8 + kIcon + 6;
    const double right = box.right() - 8;
    const double top = box.center().y - 9;
    const auto width = [&](const QString& text, Face face) { return labels.width(text, face); };
    const double name =
        width(headName(region), Face::head) + (region.index.empty() ? 0 : 4 + width(QString::fromStdString(region.index), Face::head));
    head.nameRoom = std::max(0.0, std::min(name, right - head.nameX));
    double x = head.nameX + name + 10;
    if (region.kind == RegionKind::frame) {
        if (state.newest < 0 && !state.trips) return head;
        head.caption = QStringLiteral("show iteration");
        const double caption = width(head.caption, Face::name) + 8;
        const double chip = 26;
        const auto count = static_cast<double>(state.chips.size());
        if (!state.chips.empty() && x + caption + count * (chip + 2) < right) {
            head.captionX = x;
            x += caption;
            for (size_t i = 0; i < state.chips.size(); ++i) {
                head.chips.push_back({x, top, chip, 18});
                x += chip + 2;
            }
            head.note = QString::fromStdString(state.note);
            head.noteX = x + 8;
            if (head.noteX + width(head.note, Face::name) > right) head.note.clear();
            return head;
        }
        head.caption = QStringLiteral("iteration");
    } else if (region.kind != RegionKind::loop) {
        head.note = QString::fromStdString(state.note.empty() ? region.note : state.note);
        head.noteX = x;
        if (head.noteX + width(head.note, Face::name) > right) head.note.clear();
        return head;
    } else {
        head.caption = QStringLiteral("iteration");
    }

    const QString number = QString::number(std::max(state.iteration.value_or(0), lastIteration(state)));
    const double field = std::max(30.0, width(number, Face::mono) * 1.1 + 14);
    QString count = state.newest >= 0 ? QStringLiteral("of %L1 so far").arg(state.newest + 1)
                    : state.trips     ? QStringLiteral("of %L1").arg(*state.trips)
                                      : QStringLiteral("of ?");
    if (state.tripsFromEarlier) count += QStringLiteral(", last run");
    const double total = width(count, Face::name);
    // What cond gave is worth more than the word and the count of its operators.
    const bool isLoop = region.kind == RegionKind::loop;
    const auto chipFor = [&](const QString& text) {
        if (text.isEmpty()) return 0.0;
        return width(text, Face::name) + (state.condition.empty() ? 0 : 10 + width(QString::fromStdString(state.condition), Face::mono)) +
               16;
    };
    if (isLoop) head.conditionText = QString::fromStdString(region.note);
    const double caption = width(head.caption, Face::name) + 6;
    const auto fits = [&](double before) {
        return x + before + field + 6 + total + 14 + kLeastTrack + chipFor(head.conditionText) <= right;
    };
    if (isLoop && !fits(caption)) head.conditionText = head.conditionText.section(QLatin1Char(' '), 0, 0);
    if (x + caption + field > right || (isLoop && !fits(caption) && fits(0))) {
        head.caption.clear();
        if (x + field > right) return head;
    } else {
        head.captionX = x;
        x += caption;
    }
    head.field = {x, top, field, 18};
    x = head.field.right() + 6;
    if (x + total > right) return head;
    head.total = std::move(count);
    head.totalX = x;
    x += total + 14;
    // The condition keeps the right end if the slider can stay usable.
    if (const double chip = chipFor(head.conditionText); chip > 0 && right - chip - x >= kLeastTrack)
        head.condition = {right - chip, top, chip, 18};
    const double room = (head.condition.width > 0 ? head.condition.x - 14 : right - 4) - x;
    if (room > 48) head.slider = {x + kKnob, box.y + 2, std::min(kTrack, room - 2 * kKnob), box.height - 4};
    if (const double at = head.slider.right() + 14;
        state.newest >= 0 && at + width(QString::fromStdString(state.note), Face::name) <= right) {
        head.note = QString::fromStdString(state.note);
        head.noteX = at;
    }
    return head;
}

int64_t iterationAt(const LoopHead& head, const RegionState& state, double x, double away, double anchorX, int64_t anchor)
{
    const int64_t last = lastIteration(state);
    const double end = shareOfKnown(state);
    const double perPixel = static_cast<double>(std::max<int64_t>(1, last)) / (head.slider.width * end);
    const double pace = paceOf(head, state, away);
    const double wanted = pace == 1 ? (x - head.slider.x) * perPixel : static_cast<double>(anchor) + (x - anchorX) * perPixel * pace;
    const auto rounded = static_cast<int64_t>(std::llround(wanted));
    // Beyond a known end there is nothing; beyond an unknown one the run goes on.
    return std::clamp<int64_t>(rounded, 0, end == 1 ? last : last + std::max<int64_t>(1, last / 9));
}

QString sliderPace(const LoopHead& head, const RegionState& state, double away)
{
    const double pace = paceOf(head, state, away);
    return pace == 1 ? QString() : pace == 0.1 ? QStringLiteral("1/10") : QStringLiteral("1/1000");
}

} // namespace loopscope::viewer
