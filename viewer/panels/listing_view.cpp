#include "viewer/panels/listing_view.h"

#include "viewer/style/icons.h"

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

int scaled(int pixels) { return pixels * Theme::instance().textPercent() / 100; }

QString text(const std::string& utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }

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
        setAccessibleDescription(text(m_listing->lines[static_cast<size_t>(line)].text()));
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
        m_listing->lines, [&](const ListingLine& line) { return text(line.text()).contains(m_find, Qt::CaseInsensitive); }));
}

int ListingView::findNext(bool forward)
{
    const auto count = static_cast<int>(m_listing->lines.size());
    if (m_find.isEmpty() || count == 0) return -1;
    const int from = m_cursor < 0 ? (forward ? -1 : count) : m_cursor;
    for (int i = 1; i <= count; ++i) {
        const int line = ((from + (forward ? i : -i)) % count + count) % count;
        if (text(m_listing->lines[static_cast<size_t>(line)].text()).contains(m_find, Qt::CaseInsensitive)) return line;
    }
    return -1;
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
        paintRow(painter, QRect(0, y, width, c.row), line);
        y += c.row;
    }
}

void ListingView::paintRow(QPainter& painter, const QRect& rect, int number) const
{
    const ListingLine& line = m_listing->lines[static_cast<size_t>(number)];
    const Columns c = columns();
    const bool isOp = line.op.valid();
    const bool current = isOp && !m_state.current.empty() && line.address == m_state.current;
    const bool selected = isOp && line.address == m_state.selected;
    const bool folded = m_state.untaken.contains(number);
    const auto value = m_state.values.find(number);
    const auto ran = m_state.ran.find(number);
    const bool waits = folded || (m_state.quiet && ran != m_state.ran.end() && !ran->second && !current);
    const bool failed = value != m_state.values.end() && value->second.isError;
    const QRect body = rect.adjusted(c.gutter, 0, 0, 0);
    if (failed) painter.fillRect(body, themed(Token::errWeak));
    else if (current) painter.fillRect(body, themed(Token::cur));
    else if (selected) painter.fillRect(body, themed(Token::accentWeak));
    if (selected && (current || failed)) painter.fillRect(QRect(c.gutter, rect.top(), 3, rect.height()), themed(Token::accent));

    const double middle = rect.center().y() + 0.5;
    if (isOp) {
        if (const auto mark = m_state.marks.find(line.address); mark != m_state.marks.end())
            paintBreakMark(painter, {c.gutter / 2.0, middle}, mark->second);
        else if (failed)
            painter.drawPixmap(QPointF(c.gutter / 2.0 - 6.5, middle - 6.5),
                               iconPixmap("error", 13, themed(Token::err), devicePixelRatioF()));
        if (current) paintArrow(painter, {(c.gutter + c.arrow) / 2.0, middle});
        else if (line.address == m_state.last) {
            painter.save();
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setPen(Qt::NoPen);
            painter.setBrush(themed(Token::accent));
            painter.drawEllipse(QPointF((c.gutter + c.arrow) / 2.0, middle), 2.5, 2.5);
            painter.restore();
        }
        painter.setFont(m_font);
        painter.setPen(current && !failed ? themed(Token::curText) : themed(Token::text3));
        painter.drawText(QRect(c.arrow, rect.top(), c.index - c.arrow, rect.height()), Qt::AlignVCenter | Qt::AlignRight,
                         QString::number(line.op.index));
        painter.setOpacity(waits ? 0.45 : 1);
        painter.fillRect(QRect(c.index + scaled(2), rect.top() + 3, 3, rect.height() - 6), themed(line.family));
        painter.setOpacity(1);
    }

    // The value first: what is left belongs to the text.
    QString shown;
    bool italic = false, bold = false;
    QColor valueColor = themed(Token::text);
    if (value != m_state.values.end()) {
        shown = staleText(value->second);
        italic = !value->second.moment.isEmpty();
        bold = value->second.isChanged;
        valueColor = failed || value->second.isAbnormal ? themed(Token::err) : italic ? themed(Token::text3) : themed(Token::text);
    }
    if (current && !failed) {
        shown = "next";
        italic = bold = false;
    }
    const QFont& valueFont = italic ? m_italic : bold ? m_bold : m_font;
    const int right = rect.right() - 8;
    const int most = (right - c.text) * (failed ? 7 : 9) / (failed ? 10 : 20);
    if (!shown.isEmpty()) shown = QFontMetrics(valueFont).elidedText(shown, Qt::ElideRight, most);
    const int valueWidth = shown.isEmpty() ? 0 : QFontMetrics(valueFont).horizontalAdvance(shown);
    if (!shown.isEmpty()) {
        painter.setFont(valueFont);
        painter.setPen(current && !failed ? themed(Token::curText) : valueColor);
        painter.drawText(QRect(right - valueWidth, rect.top(), valueWidth + 1, rect.height()), Qt::AlignVCenter | Qt::AlignLeft, shown);
    }

    const QFontMetrics metrics(m_font), boldMetrics(m_bold);
    QColor ink = waits ? themed(Token::text3) : isOp ? themed(Token::text) : themed(Token::text2);
    if (current && !failed) ink = themed(Token::curText);
    int x = c.text;
    const int end = right - (valueWidth > 0 ? valueWidth + 12 : 0);
    const auto put = [&](const QString& part, const QFont& font, const QFontMetrics& of, const QColor& color) {
        if (part.isEmpty() || x >= end) return;
        painter.setFont(font);
        painter.setPen(color);
        const QString fit = of.elidedText(part, Qt::ElideRight, end - x);
        painter.drawText(QRect(x, rect.top(), end - x + 2, rect.height()), Qt::AlignVCenter | Qt::AlignLeft, fit);
        x += of.horizontalAdvance(fit);
    };
    QString after = text(line.after);
    if (folded) {
        const QString role = after.trimmed().section(' ', 0, 0);
        after = QString(line.indent, ' ') + QString("%1: %2 ops, untaken").arg(role).arg(line.operators);
    }
    if (!m_find.isEmpty()) {
        const QString whole = text(line.text());
        for (qsizetype at = whole.indexOf(m_find, 0, Qt::CaseInsensitive); at >= 0 && !folded;
             at = whole.indexOf(m_find, at + m_find.size(), Qt::CaseInsensitive)) {
            const int from = c.text + metrics.horizontalAdvance(whole.left(at));
            painter.fillRect(QRect(from, rect.top() + 2, metrics.horizontalAdvance(m_find), rect.height() - 4), themed(Token::warnWeak));
            painter.setPen(themed(Token::warn));
            painter.drawRect(QRect(from, rect.top() + 2, metrics.horizontalAdvance(m_find), rect.height() - 5));
        }
    }
    put(text(line.before), m_font, metrics, ink);
    put(text(line.kind), m_bold, boldMetrics, ink);
    put(after, m_font, metrics, ink);
    if (const auto note = m_state.notes.find(number); note != m_state.notes.end())
        put("  " + note->second, m_bold, boldMetrics, current ? ink : themed(Token::accent));
    if (!line.type.empty()) put("  " + text(line.type), m_font, metrics, current && !failed ? ink : themed(Token::text3));

    if (hasFocus() && number == m_cursor) {
        painter.setPen(QPen(themed(Token::text), 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(body.adjusted(0, 0, -1, -1));
    }
}

void ListingView::resizeEvent(QResizeEvent*)
{
    placeBars();
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
        menu->addAction("Copy address", this, [address = text(at.address)] { QApplication::clipboard()->setText(address); });
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
        QString tip = text(line.text()).trimmed() + (line.type.empty() ? QString() : "   " + text(line.type));
        if (line.op.valid()) {
            const std::string_view family = familyName(line.family);
            tip += QString("\n%1 · %2").arg(text(line.address), QString::fromUtf8(family.data(), static_cast<qsizetype>(family.size())));
            if (const auto mark = m_state.marks.find(line.address); mark != m_state.marks.end()) tip += " · " + breakMarkText(mark->second);
        }
        if (const auto value = m_state.values.find(number); value != m_state.values.end()) tip += "\n" + staleText(value->second);
        QToolTip::showText(help->globalPos(), tip, viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
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
                        {"text", text(line.text())},
                        {"type", text(line.type)},
                        {"address", text(line.address)}};
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
