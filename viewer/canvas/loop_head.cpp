#include "viewer/canvas/loop_head.h"

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

/// Fills a head from the left, and gives up from the right what does not fit.
class HeadLayout {
public:
    HeadLayout(const SceneRegion& region, const Rect& box, const RegionState& state, LabelCache& labels)
        : m_region(region),
          m_box(box),
          m_state(state),
          m_labels(labels),
          m_right(box.right() - 8),
          m_top(box.center().y - 9)
    {
    }
    LoopHead laidOut()
    {
        placeName();
        if (m_region.kind == RegionKind::loop) placeControls();
        else if (m_region.kind != RegionKind::frame) {
            placeNote(m_state.note.empty() ? m_region.note : m_state.note, m_x);
            placeWhy();
        } else if ((m_state.newest >= 0 || m_state.trips) && !placeChips()) placeControls();
        return std::move(m_head);
    }

private:
    static constexpr double kChip = 26;
    double width(const QString& text, Face face) { return m_labels.width(text, face); }
    double width(const std::string& text, Face face) { return width(QString::fromStdString(text), face); }
    void placeName();
    void placeNote(const std::string& note, double x);
    void placeWhy();
    bool placeChips();
    void placeControls();
    bool placeField(double total);
    void placeSlider();
    double conditionWidth(const QString& text);
    QString total() const;

    const SceneRegion& m_region;
    const Rect m_box;
    const RegionState& m_state;
    LabelCache& m_labels;
    const double m_right, m_top;
    LoopHead m_head;
    double m_x = 0; ///< where the next part stands
};

void HeadLayout::placeName()
{
    m_head.nameX = m_box.x + 8 + kIcon + 6;
    const double name = width(headName(m_region), Face::head) + (m_region.index.empty() ? 0 : 4 + width(m_region.index, Face::head));
    m_head.nameRoom = std::max(0.0, std::min(name, m_right - m_head.nameX));
    m_x = m_head.nameX + name + 10;
}

void HeadLayout::placeNote(const std::string& note, double x)
{
    m_head.note = QString::fromStdString(note);
    m_head.noteX = x;
    if (x + width(m_head.note, Face::name) > m_right) m_head.note.clear();
}

/// Behind what is said of a side of a branch that was decided.
void HeadLayout::placeWhy()
{
    const bool isDecided = m_region.kind == RegionKind::branch && !m_region.role.empty() && !m_region.site.empty() && !m_state.note.empty();
    if (!isDecided) return;
    // Where the word has no room, the line style says the same; the question stays.
    const double x = m_head.note.isEmpty() ? m_x : m_head.noteX + width(m_head.note, Face::name) + 6;
    for (const char* const word : {"why?", "?"}) {
        const QString text = QLatin1String(word);
        const Rect chip{x, m_top + 1, width(text, Face::name) + 10, 16};
        if (chip.right() > m_right + 6) continue;
        m_head.why = chip;
        m_head.whyText = text;
        return;
    }
}

/// One chip for each iteration that a frame can show. False: there is no room for them, or none.
bool HeadLayout::placeChips()
{
    const QString caption = QStringLiteral("show iteration");
    const double captionWidth = width(caption, Face::name) + 8;
    const auto count = static_cast<double>(m_state.chips.size());
    if (m_state.chips.empty() || m_x + captionWidth + count * (kChip + 2) >= m_right) return false;
    m_head.caption = caption;
    m_head.captionX = m_x;
    m_x += captionWidth;
    for (size_t i = 0; i < m_state.chips.size(); ++i) {
        m_head.chips.push_back({m_x, m_top, kChip, 18});
        m_x += kChip + 2;
    }
    placeNote(m_state.note, m_x + 8);
    return true;
}

/// How many iterations there are.
QString HeadLayout::total() const
{
    QString count = m_state.newest >= 0 ? QStringLiteral("of %L1 so far").arg(m_state.newest + 1)
                    : m_state.trips     ? QStringLiteral("of %L1").arg(*m_state.trips)
                                        : QStringLiteral("of ?");
    if (m_state.tripsFromEarlier) count += QStringLiteral(", last run");
    return count;
}

double HeadLayout::conditionWidth(const QString& text)
{
    if (text.isEmpty()) return 0;
    return width(text, Face::name) + (m_state.condition.empty() ? 0 : 10 + width(m_state.condition, Face::mono)) + 16;
}

/// The number's field with its caption, if there is room for that. False: there is not even room for the field.
bool HeadLayout::placeField(double total)
{
    const QString number = QString::number(std::max(m_state.iteration.value_or(0), lastIteration(m_state)));
    const double field = std::max(30.0, width(number, Face::mono) * 1.1 + 14);
    const double caption = width(m_head.caption, Face::name) + 6;
    const auto fits = [&](double before) {
        return m_x + before + field + 6 + total + 14 + kLeastTrack + conditionWidth(m_head.conditionText) <= m_right;
    };
    // What cond gave is worth more than the word and the count of its operators.
    const bool isLoop = m_region.kind == RegionKind::loop;
    if (isLoop) m_head.conditionText = QString::fromStdString(m_region.note);
    if (isLoop && !fits(caption)) m_head.conditionText = m_head.conditionText.section(QLatin1Char(' '), 0, 0);
    if (m_x + caption + field > m_right || (isLoop && !fits(caption) && fits(0))) {
        m_head.caption.clear();
        if (m_x + field > m_right) return false;
    } else {
        m_head.captionX = m_x;
        m_x += caption;
    }
    m_head.field = {m_x, m_top, field, 18};
    m_x = m_head.field.right() + 6;
    return true;
}

/// The condition keeps the right end if the slider can stay usable.
void HeadLayout::placeSlider()
{
    if (const double chip = conditionWidth(m_head.conditionText); chip > 0 && m_right - chip - m_x >= kLeastTrack)
        m_head.condition = {m_right - chip, m_top, chip, 18};
    const double room = (m_head.condition.width > 0 ? m_head.condition.x - 14 : m_right - 4) - m_x;
    if (room > 48) m_head.slider = {m_x + kKnob, m_box.y + 2, std::min(kTrack, room - 2 * kKnob), m_box.height - 4};
}

void HeadLayout::placeControls()
{
    m_head.caption = QStringLiteral("iteration");
    QString count = total();
    const double countWidth = width(count, Face::name);
    if (!placeField(countWidth) || m_x + countWidth > m_right) return;
    m_head.total = std::move(count);
    m_head.totalX = m_x;
    m_x += countWidth + 14;
    placeSlider();
    if (const double at = m_head.slider.right() + 14; m_state.newest >= 0 && at + width(m_state.note, Face::name) <= m_right) {
        m_head.note = QString::fromStdString(m_state.note);
        m_head.noteX = at;
    }
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
    return HeadLayout(region, box, state, labels).laidOut();
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
