#include "viewer/panels/listing_view.h"

#include "viewer/bridge/text.h"
#include "viewer/panels/listing_accessible.h"
#include "viewer/style/icons.h"

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QJsonArray>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int kBetween = 12; ///< text and value

int scaled(int pixels) { return pixels * Theme::instance().textPercent() / 100; }

void paintArrow(QPainter& painter, QPointF center)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(themed(Theme::instance().name() == ThemeName::highContrast ? Token::curText : Token::curLine));
    const double x = center.x(), y = center.y();
    painter.drawPolygon(QPolygonF({{x - 6, y - 2.5}, {x, y - 2.5}, {x, y - 6}, {x + 6.5, y}, {x, y + 6}, {x, y + 2.5}, {x - 6, y + 2.5}}));
    painter.restore();
}

QString staleText(const ListingValue& value) { return value.moment.isEmpty() ? value.text : value.moment + " " + value.text; }

} // namespace

ListingView::ListingView(QWidget* parent) : QAbstractScrollArea(parent)
{
    setObjectName("listingView");
    setAccessibleName("Listing");
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    connect(&Theme::instance(), &Theme::changed, this, [this] { restyle(); });
    restyle();
    installListingAccessibility(*this);
}

void ListingView::restyle()
{
    m_font = Theme::instance().font(FontUse::value);
    m_font.setPixelSize(std::max(8, m_font.pixelSize() + m_zoom));
    m_bold = m_font;
    m_bold.setBold(true);
    m_italic = m_font;
    m_italic.setItalic(true);
    placeBars();
    viewport()->update();
}

ListingView::Columns ListingView::columns() const
{
    Columns c;
    c.gutter = scaled(18);
    c.arrow = c.gutter + scaled(16);
    c.index = c.arrow + std::max(scaled(20), QFontMetrics(m_font).horizontalAdvance('0') * m_listing->indexWidth + 6);
    c.text = c.index + scaled(8);
    c.row = Theme::instance().rowHeight() + std::max(0, m_zoom);
    return c;
}

void ListingView::setListing(std::shared_ptr<const Listing> listing)
{
    m_listing = std::move(listing);
    m_state.values.clear();
    m_state.ran.clear();
    m_state.notes.clear();
    m_state.untaken.clear();
    m_cursor = -1;
    fold();
    verticalScrollBar()->setValue(0);
}

void ListingView::setState(ListingState state)
{
    const bool refold = state.untaken != m_state.untaken;
    m_state = std::move(state);
    if (refold) fold();
    viewport()->update();
}

void ListingView::fold()
{
    m_rows.clear();
    m_rows.reserve(m_listing->lines.size());
    const auto count = static_cast<int>(m_listing->lines.size());
    for (int line = 0; line < count; ++line) {
        m_rows.push_back(line);
        if (m_state.untaken.contains(line)) line = std::max(line, m_listing->lines[static_cast<size_t>(line)].branchEnd - 1);
    }
    placeBars();
}

void ListingView::placeBars()
{
    const int page = std::max(1, viewport()->height() / columns().row);
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(1);
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(m_rows.size()) - page));
}

int ListingView::rowAt(int y) const
{
    const int row = verticalScrollBar()->value() + y / columns().row;
    return row >= 0 && row < static_cast<int>(m_rows.size()) ? row : -1;
}

int ListingView::rowOfLine(int line) const
{
    const auto at = std::upper_bound(m_rows.begin(), m_rows.end(), line);
    return line < 0 || at == m_rows.begin() ? -1 : static_cast<int>(at - m_rows.begin()) - 1;
}

int ListingView::lineOf(const std::string& address) const
{
    const auto found = m_listing->byAddress.find(address);
    return found == m_listing->byAddress.end() ? -1 : found->second;
}

std::vector<int> ListingView::linesInSight() const
{
    const int first = verticalScrollBar()->value();
    const int count = viewport()->height() / columns().row + 2;
    const int last = std::min(static_cast<int>(m_rows.size()), first + count);
    std::vector<int> lines;
    for (int row = first; row < last; ++row) lines.push_back(m_rows[static_cast<size_t>(row)]);
    return lines;
}

void ListingView::scrollTo(int line)
{
    const int row = rowOfLine(line);
    if (row < 0) return;
    const int page = std::max(1, viewport()->height() / columns().row);
    const int first = verticalScrollBar()->value();
    if (row >= first + 1 && row < first + page - 1) return;
    verticalScrollBar()->setValue(row - page * 2 / 3);
}

void ListingView::setCursorLine(int line)
{
    m_cursor = line;
    if (line >= 0) {
        scrollTo(line);
        setAccessibleDescription(toText(m_listing->lines[static_cast<size_t>(line)].text()));
    }
    viewport()->update();
}

void ListingView::setFindText(const QString& wanted)
{
    m_find = wanted;
    viewport()->update();
}

int ListingView::hitCount() const
{
    if (m_find.isEmpty()) return 0;
    return static_cast<int>(std::ranges::count_if(
        m_listing->lines, [&](const ListingLine& line) { return toText(line.text()).contains(m_find, Qt::CaseInsensitive); }));
}

int ListingView::findNext(bool forward)
{
    const auto count = static_cast<int>(m_listing->lines.size());
    if (m_find.isEmpty() || count == 0) return -1;
    const int from = m_cursor < 0 ? (forward ? -1 : count) : m_cursor;
    for (int i = 1; i <= count; ++i) {
        const int line = ((from + (forward ? i : -i)) % count + count) % count;
        if (toText(m_listing->lines[static_cast<size_t>(line)].text()).contains(m_find, Qt::CaseInsensitive)) return line;
    }
    return -1;
}

/// Paints one line. Names and operands have their room first, then the value at the right, then the type.
class ListingView::RowPainter {
public:
    RowPainter(QPainter& painter, const ListingView& view, const QRect& rect, int number)
        : m_painter(painter),
          m_view(view),
          m_state(view.m_state),
          m_line(view.m_listing->lines[static_cast<size_t>(number)]),
          m_number(number),
          m_rect(rect),
          m_columns(view.columns()),
          m_body(rect.adjusted(m_columns.gutter, 0, 0, 0)),
          m_right(rect.right() - 8)
    {
        const auto value = m_state.values.find(number);
        const auto ran = m_state.ran.find(number);
        m_value = value == m_state.values.end() ? nullptr : &value->second;
        m_isOp = m_line.op.valid();
        m_isNext = m_isOp && !m_state.current.empty() && m_line.address == m_state.current;
        m_isFolded = m_state.untaken.contains(number);
        m_waits = m_isFolded || (m_state.quiet && ran != m_state.ran.end() && !ran->second && !m_isNext);
        m_failed = m_value && m_value->isError;
    }
    void paint()
    {
        paintGround();
        if (m_isOp) paintMarks();
        m_x = m_columns.text;
        m_end = paintValue();
        if (!m_view.m_find.isEmpty() && !m_isFolded) paintHits();
        paintText();
        if (m_view.hasFocus() && m_number == m_view.m_cursor) paintFocus();
    }
    /// Whether names or operands have no room.
    bool isCut() const
    {
        const int width = value().width;
        return textWidth() > m_right - m_columns.text - (width > 0 ? width + kBetween : 0);
    }

private:
    void paintGround();
    void paintMarks();
    struct ShownValue {
        QString text;
        QFont font;
        QColor color;
        int width = 0;
    };
    int textWidth() const;
    ShownValue value() const;
    int paintValue();
    void paintHits();
    void paintText();
    void paintFocus();
    /// What follows what was put before, as far as there is room.
    void put(const QString& part, const QFont& font, const QColor& color);
    bool isHighlit() const { return m_isNext && !m_failed; } ///< has the ground of the next operator

    QPainter& m_painter;
    const ListingView& m_view;
    const ListingState& m_state;
    const ListingLine& m_line;
    const int m_number;
    const QRect m_rect;
    const Columns m_columns;
    const QRect m_body; ///< right of the gutter
    const int m_right;
    const ListingValue* m_value;
    bool m_isOp, m_isNext, m_isFolded, m_waits, m_failed;
    int m_x = 0, m_end = 0; ///< of the text
};

void ListingView::RowPainter::paintGround()
{
    const bool selected = m_isOp && m_line.address == m_state.selected;
    if (m_failed) m_painter.fillRect(m_body, themed(Token::errWeak));
    else if (m_isNext) m_painter.fillRect(m_body, themed(Token::cur));
    else if (selected) m_painter.fillRect(m_body, themed(Token::accentWeak));
    if (selected && (m_isNext || m_failed))
        m_painter.fillRect(QRect(m_columns.gutter, m_rect.top(), 3, m_rect.height()), themed(Token::accent));
}

/// Breakpoint or error, arrow, number and family of an operator.
void ListingView::RowPainter::paintMarks()
{
    const Columns& c = m_columns;
    const double middle = m_rect.center().y() + 0.5;
    if (const auto mark = m_state.marks.find(m_line.address); mark != m_state.marks.end())
        paintBreakMark(m_painter, {c.gutter / 2.0, middle}, mark->second);
    else if (m_failed)
        m_painter.drawPixmap(QPointF(c.gutter / 2.0 - 6.5, middle - 6.5),
                             iconPixmap("error", 13, themed(Token::err), m_view.devicePixelRatioF()));
    if (m_isNext) paintArrow(m_painter, {(c.gutter + c.arrow) / 2.0, middle});
    else if (m_line.address == m_state.last) {
        m_painter.save();
        m_painter.setRenderHint(QPainter::Antialiasing);
        m_painter.setPen(Qt::NoPen);
        m_painter.setBrush(themed(Token::accent));
        m_painter.drawEllipse(QPointF((c.gutter + c.arrow) / 2.0, middle), 2.5, 2.5);
        m_painter.restore();
    }
    m_painter.setFont(m_view.m_font);
    m_painter.setPen(isHighlit() ? themed(Token::curText) : themed(Token::text3));
    m_painter.drawText(QRect(c.arrow, m_rect.top(), c.index - c.arrow, m_rect.height()), Qt::AlignVCenter | Qt::AlignRight,
                       QString::number(m_line.op.index));
    m_painter.setOpacity(m_waits ? 0.45 : 1);
    m_painter.fillRect(QRect(c.index + scaled(2), m_rect.top() + 3, 3, m_rect.height() - 6), themed(m_line.family));
    m_painter.setOpacity(1);
}

/// Of what names the line: without its type.
int ListingView::RowPainter::textWidth() const
{
    const QFontMetrics plain(m_view.m_font), bold(m_view.m_bold);
    return plain.horizontalAdvance(toText(m_line.before)) + bold.horizontalAdvance(toText(m_line.kind)) +
           plain.horizontalAdvance(toText(m_line.after));
}

/// What stands at the right. Beside the text, if it has room there; else it is cut, but never to less than one number.
ListingView::RowPainter::ShownValue ListingView::RowPainter::value() const
{
    ShownValue shown{{}, m_view.m_font, themed(Token::text)};
    if (m_value) {
        const bool isStale = !m_value->moment.isEmpty();
        shown.text = staleText(*m_value);
        if (isStale || m_value->isChanged) shown.font = isStale ? m_view.m_italic : m_view.m_bold;
        shown.color = m_failed || m_value->isAbnormal ? themed(Token::err) : isStale ? themed(Token::text3) : themed(Token::text);
    }
    if (isHighlit()) shown = {"next", m_view.m_font, themed(Token::curText)};
    const QFontMetrics metrics(shown.font);
    const int all = m_right - m_columns.text, number = metrics.horizontalAdvance(QStringLiteral("\u22120.1234\u2026"));
    const int least = m_failed ? all * 7 / 10 : std::min(all * 9 / 20, number);
    shown.text = metrics.elidedText(shown.text, Qt::ElideRight, std::max(all - textWidth() - kBetween, least));
    shown.width = shown.text.isEmpty() ? 0 : metrics.horizontalAdvance(shown.text);
    return shown;
}

/// Returns where the text ends.
int ListingView::RowPainter::paintValue()
{
    const ShownValue shown = value();
    if (shown.width == 0) return m_right;
    m_painter.setFont(shown.font);
    m_painter.setPen(shown.color);
    m_painter.drawText(QRect(m_right - shown.width, m_rect.top(), shown.width + 1, m_rect.height()), Qt::AlignVCenter | Qt::AlignLeft,
                       shown.text);
    return m_right - shown.width - kBetween;
}

/// Where the text that is searched for stands.
void ListingView::RowPainter::paintHits()
{
    const QFontMetrics metrics(m_view.m_font);
    const QString whole = toText(m_line.text());
    const QString& wanted = m_view.m_find;
    const int width = metrics.horizontalAdvance(wanted);
    for (qsizetype at = whole.indexOf(wanted, 0, Qt::CaseInsensitive); at >= 0;
         at = whole.indexOf(wanted, at + wanted.size(), Qt::CaseInsensitive)) {
        const int from = m_columns.text + metrics.horizontalAdvance(whole.left(at));
        m_painter.fillRect(QRect(from, m_rect.top() + 2, width, m_rect.height() - 4), themed(Token::warnWeak));
        m_painter.setPen(themed(Token::warn));
        m_painter.drawRect(QRect(from, m_rect.top() + 2, width, m_rect.height() - 5));
    }
}

void ListingView::RowPainter::put(const QString& part, const QFont& font, const QColor& color)
{
    if (part.isEmpty() || m_x >= m_end) return;
    const QFontMetrics metrics(font);
    m_painter.setFont(font);
    m_painter.setPen(color);
    const QString fit = metrics.elidedText(part, Qt::ElideRight, m_end - m_x);
    m_painter.drawText(QRect(m_x, m_rect.top(), m_end - m_x + 2, m_rect.height()), Qt::AlignVCenter | Qt::AlignLeft, fit);
    m_x += metrics.horizontalAdvance(fit);
}

void ListingView::RowPainter::paintText()
{
    QColor ink = m_waits ? themed(Token::text3) : m_isOp ? themed(Token::text) : themed(Token::text2);
    if (isHighlit()) ink = themed(Token::curText);
    QString after = toText(m_line.after);
    if (m_isFolded) {
        const QString role = after.trimmed().section(' ', 0, 0);
        after = QString(m_line.indent, ' ') + QString("%1: %2 ops, untaken").arg(role).arg(m_line.operators);
    }
    put(toText(m_line.before), m_view.m_font, ink);
    put(toText(m_line.kind), m_view.m_bold, ink);
    put(after, m_view.m_font, ink);
    if (const auto note = m_state.notes.find(m_number); note != m_state.notes.end())
        put("  " + note->second, m_view.m_bold, m_isNext ? ink : themed(Token::accent));
    if (!m_line.type.empty()) put("  " + toText(m_line.type), m_view.m_font, isHighlit() ? ink : themed(Token::text3));
}

void ListingView::RowPainter::paintFocus()
{
    m_painter.setPen(QPen(themed(Token::text), 1, Qt::DotLine));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRect(m_body.adjusted(0, 0, -1, -1));
}

void ListingView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const Columns c = columns();
    const int width = viewport()->width();
    painter.fillRect(viewport()->rect(), themed(Token::surface));
    painter.fillRect(QRect(0, 0, c.gutter, viewport()->height()), themed(Token::sunken));
    int y = 0;
    for (const int line : linesInSight()) {
        RowPainter(painter, *this, QRect(0, y, width, c.row), line).paint();
        y += c.row;
    }
}

void ListingView::resizeEvent(QResizeEvent* event)
{
    // What was in sight stays there, also where the view had no size of its own yet when its line was chosen.
    const int first = verticalScrollBar()->value(), row = rowOfLine(m_cursor), page = event->oldSize().height() / columns().row;
    const bool wasSeen = m_cursor >= 0 && (page < 1 || (row >= first && row < first + page));
    placeBars();
    if (wasSeen) scrollTo(m_cursor);
    emit sightChanged();
}

void ListingView::scrollContentsBy(int, int)
{
    viewport()->update();
    emit sightChanged();
}

void ListingView::mousePressEvent(QMouseEvent* event)
{
    const int row = rowAt(static_cast<int>(event->position().y()));
    if (row < 0 || event->button() != Qt::LeftButton) return;
    const int line = m_rows[static_cast<size_t>(row)];
    if (event->position().x() < columns().gutter) {
        emit gutterClicked(line);
        return;
    }
    setCursorLine(line);
    emit lineActivated(line);
}

void ListingView::mouseDoubleClickEvent(QMouseEvent* event)
{
    const int row = rowAt(static_cast<int>(event->position().y()));
    if (row < 0) return;
    if (event->position().x() < columns().gutter) emit gutterClicked(m_rows[static_cast<size_t>(row)]);
    else emit lineOpened(m_rows[static_cast<size_t>(row)]);
}

void ListingView::moveCursor(int rows)
{
    if (m_rows.empty()) return;
    const int row = std::clamp(std::max(0, rowOfLine(m_cursor)) + rows, 0, static_cast<int>(m_rows.size()) - 1);
    setCursorLine(m_rows[static_cast<size_t>(row)]);
    emit lineActivated(m_cursor);
}

void ListingView::keyPressEvent(QKeyEvent* event)
{
    const int page = std::max(1, viewport()->height() / columns().row - 1);
    if (event->matches(QKeySequence::Copy)) return emit commandKey("copyName");
    if (event->modifiers() != Qt::NoModifier && event->modifiers() != Qt::KeypadModifier) return QAbstractScrollArea::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Up: return moveCursor(-1);
    case Qt::Key_Down: return moveCursor(1);
    case Qt::Key_PageUp: return moveCursor(-page);
    case Qt::Key_PageDown: return moveCursor(page);
    case Qt::Key_Home: return moveCursor(-static_cast<int>(m_rows.size()));
    case Qt::Key_End: return moveCursor(static_cast<int>(m_rows.size()));
    case Qt::Key_Return:
    case Qt::Key_Enter: return emit commandKey("drillIn");
    case Qt::Key_Space: return emit commandKey("inspect");
    case Qt::Key_BracketLeft: return emit commandKey("producer");
    case Qt::Key_BracketRight: return emit commandKey("consumer");
    case Qt::Key_Comma: return emit commandKey("previousWrite");
    case Qt::Key_Period: return emit commandKey("nextWrite");
    case Qt::Key_Backspace: return emit commandKey("up");
    default: QAbstractScrollArea::keyPressEvent(event);
    }
}

void ListingView::wheelEvent(QWheelEvent* event)
{
    if (!event->modifiers().testFlag(Qt::ControlModifier)) return QAbstractScrollArea::wheelEvent(event);
    m_zoom = std::clamp(m_zoom + (event->angleDelta().y() > 0 ? 1 : -1), -3, 12);
    restyle();
    emit sightChanged();
}

void ListingView::contextMenuEvent(QContextMenuEvent* event)
{
    const int row = event->reason() == QContextMenuEvent::Keyboard ? rowOfLine(m_cursor) : rowAt(event->pos().y());
    if (row < 0) return;
    const int line = m_rows[static_cast<size_t>(row)];
    setCursorLine(line);
    emit lineActivated(line);
    auto* const menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const ListingLine& at = m_listing->lines[static_cast<size_t>(line)];
    menu->addAction("Copy line", this, [this] { emit commandKey("copyName"); });
    if (at.op.valid()) {
        menu->addAction("Copy address", this, [address = toText(at.address)] { QApplication::clipboard()->setText(address); });
        menu->addAction(m_state.marks.contains(at.address) ? "Remove breakpoint" : "Break here", this,
                        [this, line] { emit gutterClicked(line); });
        if (at.isCall) menu->addAction("Open the callee", this, [this] { emit commandKey("drillIn"); });
        menu->addAction("Show in the graph", this, [this] { emit commandKey("inspect"); });
        menu->addAction("To the producer", this, [this] { emit commandKey("producer"); });
        menu->addAction("To the consumer", this, [this] { emit commandKey("consumer"); });
    }
    menu->popup(event->globalPos());
}

bool ListingView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int row = rowAt(help->pos().y());
        if (row < 0) {
            QToolTip::hideText();
            return true;
        }
        const int number = m_rows[static_cast<size_t>(row)];
        const ListingLine& line = m_listing->lines[static_cast<size_t>(number)];
        QString tip = toText(line.text()).trimmed() + (line.type.empty() ? QString() : "   " + toText(line.type));
        if (line.op.valid()) {
            const std::string_view family = familyName(line.family);
            tip += QString("\n%1 · %2").arg(toText(line.address), QString::fromUtf8(family.data(), static_cast<qsizetype>(family.size())));
            if (const auto mark = m_state.marks.find(line.address); mark != m_state.marks.end()) tip += " · " + breakMarkText(mark->second);
        }
        if (const auto value = m_state.values.find(number); value != m_state.values.end()) tip += "\n" + staleText(value->second);
        QToolTip::showText(help->globalPos(), tip, viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

QString ListingView::spokenLine(int number) const
{
    const ListingLine& line = m_listing->lines[static_cast<size_t>(number)];
    QStringList words = {toText(line.text()).trimmed()};
    if (!line.type.empty()) words.append(toText(line.type));
    if (const auto value = m_state.values.find(number); value != m_state.values.end()) words.append(staleText(value->second));
    if (const auto note = m_state.notes.find(number); note != m_state.notes.end()) words.append(note->second);
    if (m_state.untaken.contains(number)) words.append("untaken");
    if (line.op.valid() && line.address == m_state.current) words.append("next to run");
    if (const auto mark = m_state.marks.find(line.address); line.op.valid() && mark != m_state.marks.end())
        words.append(breakMarkText(mark->second));
    return words.join(", ");
}

QRect ListingView::lineRect(int inSight) const
{
    const int height = columns().row;
    return {0, inSight * height, viewport()->width(), height};
}

QJsonObject ListingView::describe() const
{
    QJsonArray rows;
    int y = 0;
    const int height = columns().row;
    for (const int number : linesInSight()) {
        const ListingLine& line = m_listing->lines[static_cast<size_t>(number)];
        QJsonObject row{{"y", y},
                        {"height", height},
                        {"line", number},
                        {"text", toText(line.text())},
                        {"type", toText(line.type)},
                        {"address", toText(line.address)}};
        QPainter none; // nothing is painted
        if (RowPainter(none, *this, QRect(0, y, viewport()->width(), height), number).isCut()) row["cut"] = true;
        if (line.op.valid()) row["index"] = line.op.index;
        if (line.op.valid() && line.address == m_state.current) row["state"] = "next";
        if (line.op.valid() && line.address == m_state.selected) row["selected"] = true;
        if (m_state.untaken.contains(number)) row["state"] = "untaken";
        if (const auto value = m_state.values.find(number); value != m_state.values.end()) {
            row["value"] = staleText(value->second);
            if (!value->second.moment.isEmpty()) row["stale"] = true;
            if (value->second.isChanged) row["changed"] = true;
        }
        if (const auto note = m_state.notes.find(number); note != m_state.notes.end()) row["note"] = note->second;
        if (const auto mark = m_state.marks.find(line.address); line.op.valid() && mark != m_state.marks.end())
            row["mark"] = breakMarkText(mark->second);
        rows.append(row);
        y += height;
    }
    return {{"rows", rows}, {"lines", static_cast<int>(m_listing->lines.size())}, {"first", verticalScrollBar()->value()}};
}

} // namespace loopscope::viewer
