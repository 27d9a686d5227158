#include "viewer/widgets/rows.h"

#include "viewer/style/icons.h"

#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int kMargin = 6;
constexpr int kIcon = 13;

int scaled(int pixels) { return pixels * Theme::instance().textPercent() / 100; }

QFont cellFont(const QModelIndex& index)
{
    const bool bold = index.data(boldRole).toBool();
    QFont font = Theme::instance().font(index.data(monoRole).toBool() ? FontUse::value : FontUse::body, bold);
    font.setItalic(index.data(italicRole).toBool());
    font.setStrikeOut(index.data(struckRole).toBool());
    return font;
}

QColor iconColor(const QModelIndex& index)
{
    const int tone = index.data(iconToneRole).toInt();
    return tone < 0 ? themed(static_cast<Family>(-1 - tone)) : toneColor(static_cast<Tone>(tone));
}

bool isCurrent(const QModelIndex& index) { return index.siblingAtColumn(0).data(currentRole).toBool(); }

/// Draws at the left of `rect` and takes what it needed from it.
void paintMarks(QPainter& painter, QRect& rect, const QModelIndex& index)
{
    if (const QVariant stripe = index.data(stripeRole); stripe.isValid()) {
        painter.fillRect(QRect(rect.left(), rect.top() + 2, 4, rect.height() - 4), themed(static_cast<Family>(stripe.toInt())));
        rect.setLeft(rect.left() + 8);
    }
    if (const QVariant mark = index.data(markRole); mark.isValid()) {
        const int width = scaled(14);
        paintBreakMark(painter, QPointF(rect.left() + 5, rect.center().y() + 0.5), static_cast<BreakMark>(mark.toInt()));
        rect.setLeft(rect.left() + width);
    }
    if (const QString icon = index.data(iconRole).toString(); !icon.isEmpty()) {
        const int size = scaled(kIcon);
        const QPixmap pixmap = iconPixmap(icon, size, iconColor(index), painter.device()->devicePixelRatioF());
        painter.drawPixmap(QPoint(rect.left(), rect.center().y() - size / 2), pixmap);
        rect.setLeft(rect.left() + size + 4);
    }
}

void paintChip(QPainter& painter, QRect& rect, const QString& text, int textWidth)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QFont font = Theme::instance().font(FontUse::small);
    const QFontMetrics metrics(font);
    const int most = std::max(24, rect.width() * 3 / 5);
    const int width = std::min(metrics.horizontalAdvance(text) + 14, most);
    const int height = std::min(rect.height() - 4, metrics.height() + 2);
    const int x = std::min(rect.left() + textWidth + 6, rect.right() - width + 1);
    const QRectF box(x + 0.5, rect.center().y() - height / 2 + 0.5, width - 1, height - 1);
    painter.setPen(themed(Token::line));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(box, box.height() / 2, box.height() / 2);
    painter.setFont(font);
    painter.setPen(themed(Token::text2));
    painter.drawText(box, Qt::AlignCenter, metrics.elidedText(text, Qt::ElideRight, width - 12));
    painter.restore();
    rect.setRight(x - 5);
}

} // namespace

QColor toneColor(Tone tone)
{
    switch (tone) {
    case Tone::text2: return themed(Token::text2);
    case Tone::text3: return themed(Token::text3);
    case Tone::accent: return themed(Token::accent);
    case Tone::err: return themed(Token::err);
    case Tone::warn: return themed(Token::warn);
    case Tone::ok: return themed(Token::ok);
    case Tone::dead: return themed(Token::dead);
    case Tone::bp: return themed(Token::bp);
    default: return themed(Token::text);
    }
}

void paintBreakMark(QPainter& painter, QPointF center, BreakMark mark)
{
    if (mark == BreakMark::none) return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF disc(center.x() - 4.5, center.y() - 4.5, 9, 9);
    const QColor red = themed(Token::bp);
    painter.setPen(Qt::NoPen);
    switch (mark) {
    case BreakMark::disabled:
        painter.setPen(QPen(themed(Token::text3), 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(disc.adjusted(0.75, 0.75, -0.75, -0.75));
        break;
    case BreakMark::log:
        painter.setBrush(themed(Token::accent));
        painter.drawPolygon(QPolygonF(
            {{center.x(), center.y() - 5}, {center.x() + 5, center.y()}, {center.x(), center.y() + 5}, {center.x() - 5, center.y()}}));
        break;
    case BreakMark::unbound:
        painter.setBrush(themed(Token::text3));
        painter.drawEllipse(disc);
        painter.fillRect(QRectF(center.x() - 0.75, center.y() - 3, 1.5, 3.6), themed(Token::surface));
        painter.fillRect(QRectF(center.x() - 0.75, center.y() + 1.6, 1.5, 1.5), themed(Token::surface));
        break;
    default:
        painter.setBrush(red);
        painter.drawEllipse(disc);
        if (mark == BreakMark::conditional) painter.fillRect(QRectF(center.x() - 2.5, center.y() - 0.75, 5, 1.5), themed(Token::surface));
    }
    painter.restore();
}

QString breakMarkText(BreakMark mark)
{
    switch (mark) {
    case BreakMark::stop: return "breakpoint";
    case BreakMark::conditional: return "breakpoint with a condition";
    case BreakMark::log: return "log point";
    case BreakMark::disabled: return "disabled breakpoint";
    case BreakMark::unbound: return "breakpoint bound to nothing";
    default: return {};
    }
}

void RowDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    painter->save();
    painter->setClipRect(option.rect);
    QRect rect = option.rect;
    const bool current = isCurrent(index);
    const bool tree = qobject_cast<const QTreeView*>(option.widget) != nullptr && index.column() == 0 &&
                      static_cast<const QTreeView*>(option.widget)->rootIsDecorated();
    rect.setLeft(rect.left() + (tree ? 2 : kMargin));
    rect.setRight(rect.right() - kMargin);
    paintMarks(*painter, rect, index);

    const QString note = index.data(noteRole).toString();
    QRect line = rect;
    if (!note.isEmpty()) line.setBottom(rect.center().y());
    const QFont font = cellFont(index);
    const QFontMetrics metrics(font);
    const QString text = index.data(Qt::DisplayRole).toString();
    const auto alignment = static_cast<Qt::Alignment>(index.data(Qt::TextAlignmentRole).toInt());
    const bool right = alignment.testFlag(Qt::AlignRight);
    if (const QString chip = index.data(chipRole).toString(); !chip.isEmpty())
        paintChip(*painter, line, chip, metrics.horizontalAdvance(text));

    QColor color = toneColor(static_cast<Tone>(index.data(toneRole).toInt()));
    if (index.data(addressRole).isValid()) color = themed(Token::accent);
    bool quiet = false; // dead ones are struck through
    for (const Token token : {Token::text, Token::text2, Token::text3, Token::dead}) quiet = quiet || color == themed(token);
    if (current && quiet) color = themed(Token::curText);
    if (!(option.state & QStyle::State_Enabled)) color = themed(Token::text3);
    painter->setFont(font);
    painter->setPen(color);
    const Qt::TextElideMode elide = right || index.data(monoRole).toBool() ? Qt::ElideRight : Qt::ElideMiddle;
    const int flags = static_cast<int>(Qt::AlignVCenter) | static_cast<int>(right ? Qt::AlignRight : Qt::AlignLeft) | Qt::TextSingleLine;
    painter->drawText(line, flags, metrics.elidedText(text, elide, line.width()));
    if (!note.isEmpty()) {
        const QFont small = Theme::instance().font(FontUse::value);
        painter->setFont(small);
        painter->setPen(current ? themed(Token::curText) : themed(Token::text2));
        QRect below = rect;
        below.setTop(rect.center().y());
        painter->drawText(below, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine,
                          QFontMetrics(small).elidedText(note, Qt::ElideRight, below.width()));
    }
    painter->restore();
}

QSize RowDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const int row = Theme::instance().rowHeight();
    const int width = QFontMetrics(cellFont(index)).horizontalAdvance(index.data(Qt::DisplayRole).toString()) + 2 * kMargin + 24;
    static_cast<void>(option);
    return {width, index.data(noteRole).toString().isEmpty() ? row : row * 9 / 5};
}

QWidget* RowDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QWidget* editor = QStyledItemDelegate::createEditor(parent, option, index);
    if (auto* field = qobject_cast<QLineEdit*>(editor)) {
        field->setFrame(false);
        field->setFont(Theme::instance().font(FontUse::value));
    }
    return editor;
}

void followRowHeight(QTableView& table)
{
    const auto grow = [&table] { table.verticalHeader()->setDefaultSectionSize(Theme::instance().rowHeight()); };
    grow();
    QObject::connect(&Theme::instance(), &Theme::changed, &table, grow);
}

bool holdsTypedText(const QWidget* editor)
{
    const auto* const field = qobject_cast<const QLineEdit*>(editor);
    return field != nullptr && field->isModified();
}

void RowDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const
{
    if (!holdsTypedText(editor)) QStyledItemDelegate::setEditorData(editor, index);
}

void RowDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const
{
    editor->setGeometry(option.rect);
}

RowHeader::RowHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent)
{
    setSectionsClickable(false);
    setHighlightSections(false);
    setMinimumSectionSize(24);
}

QSize RowHeader::sizeHint() const { return {QHeaderView::sizeHint().width(), scaled(20)}; }

void RowHeader::paintEvent(QPaintEvent* event)
{
    QPainter painter(viewport());
    painter.fillRect(rect(), themed(Token::raised));
    painter.fillRect(QRect(0, height() - 1, width(), 1), themed(Token::line));
    painter.end();
    QHeaderView::paintEvent(event);
}

void RowHeader::paintSection(QPainter* painter, const QRect& rect, int logicalIndex) const
{
    painter->save();
    painter->fillRect(rect, themed(Token::raised));
    painter->fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), themed(Token::line));
    const QFont font = Theme::instance().font(FontUse::small);
    painter->setFont(font);
    painter->setPen(themed(Token::text2));
    const QString text = model()->headerData(logicalIndex, Qt::Horizontal).toString();
    const auto alignment = static_cast<Qt::Alignment>(model()->headerData(logicalIndex, Qt::Horizontal, Qt::TextAlignmentRole).toInt());
    const QRect inner = rect.adjusted(kMargin, 0, -kMargin, -1);
    painter->drawText(
        inner, static_cast<int>(Qt::AlignVCenter) | static_cast<int>(alignment.testFlag(Qt::AlignRight) ? Qt::AlignRight : Qt::AlignLeft),
        QFontMetrics(font).elidedText(text, Qt::ElideRight, inner.width()));
    painter->restore();
}

RowView::RowView(const QString& objectName, const QString& accessibleName, QWidget* parent) : QTreeView(parent)
{
    setObjectName(objectName);
    setAccessibleName(accessibleName);
    setFrameShape(QFrame::NoFrame);
    setItemDelegate(new RowDelegate(this));
    setHeader(new RowHeader(this));
    setUniformRowHeights(true);
    setAllColumnsShowFocus(true);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setExpandsOnDoubleClick(false);
    setMouseTracking(true);
    setTree(false);
    connect(&Theme::instance(), &Theme::changed, this, [this] { restyle(); });
    restyle();
}

void RowView::setTree(bool isTree)
{
    m_tree = isTree;
    setRootIsDecorated(isTree);
    setItemsExpandable(isTree);
    restyle();
}

void RowView::restyle()
{
    setFont(Theme::instance().font(FontUse::body));
    setIndentation(m_tree ? scaled(12) : 0);
    QPalette colors = palette();
    colors.setColor(QPalette::Base, themed(Token::surface));
    colors.setColor(QPalette::Text, themed(Token::text));
    colors.setColor(QPalette::Window, themed(Token::surface));
    setPalette(colors);
    placeColumns();
    doItemsLayout();
    viewport()->update();
    header()->updateGeometry();
    header()->viewport()->update();
}

void RowView::setColumnWidths(std::vector<int> widths, double mostShare)
{
    m_mostShare = mostShare;
    m_widths = std::move(widths);
    placeColumns();
}

void RowView::hideFiguresBelow(int width)
{
    m_leastWidth = width;
    placeColumns();
}

void RowView::setSharedColumn(int column)
{
    m_shared = column;
    placeColumns();
}

void RowView::setModel(QAbstractItemModel* model)
{
    QTreeView::setModel(model);
    header()->setStretchLastSection(false);
    placeColumns();
}

void RowView::placeColumns()
{
    if (model() == nullptr || header()->count() == 0) return;
    int used = 0;
    const int columns = header()->count();
    for (int column = 1; m_leastWidth > 0 && column < columns; ++column)
        header()->setSectionHidden(column, viewport()->width() < scaled(m_leastWidth));
    for (int column = 1; column < columns; ++column) {
        if (header()->isSectionHidden(column)) continue;
        const int wanted = static_cast<size_t>(column) <= m_widths.size() ? scaled(m_widths[static_cast<size_t>(column) - 1]) : scaled(80);
        const int most = std::max(24, static_cast<int>(viewport()->width() * m_mostShare) / (columns - 1));
        const int width = columns == 2 || m_mostShare < kUsualShare ? std::min(wanted, most) : wanted;
        header()->resizeSection(column, width);
        used += width;
    }
    if (m_shared > 0 && m_shared < columns) return shareColumns(used - header()->sectionSize(m_shared));
    header()->resizeSection(0, std::max(60, viewport()->width() - used));
}

/// `others`: what the columns beside the two take that share the rest.
void RowView::shareColumns(int others)
{
    const int least = scaled(200), narrow = scaled(44);
    for (int column = 1; column < header()->count() && viewport()->width() - others < least; ++column) {
        const int width = header()->sectionSize(column), taken = std::min(width - narrow, least - viewport()->width() + others);
        if (column == m_shared || header()->isSectionHidden(column) || width < scaled(100) || taken <= 0) continue;
        header()->resizeSection(column, width - taken);
        others -= taken;
    }
    const int rest = std::max(viewport()->width() - others, scaled(120)),
              first = std::min(std::max(rest * 2 / 5, scaled(110)), scaled(280));
    header()->resizeSection(0, first);
    header()->resizeSection(m_shared, rest - first);
}

void RowView::resizeEvent(QResizeEvent* event)
{
    placeColumns();
    QTreeView::resizeEvent(event);
}

void RowView::drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const QModelIndex first = index.siblingAtColumn(0);
    const bool selected = selectionModel() != nullptr && selectionModel()->isSelected(first);
    QRect row = option.rect;
    row.setLeft(0);
    row.setRight(viewport()->width());
    QColor ground = themed(Token::surface);
    if (const QVariant fill = first.data(fillRole); fill.isValid()) ground = themed(static_cast<Token>(fill.toInt()));
    if (first.data(sectionRole).toBool()) ground = themed(Token::raised);
    if (selected) ground = themed(Token::accentWeak);
    if (first.data(currentRole).toBool()) ground = themed(Token::cur);
    painter->fillRect(row, ground);
    if (first.data(sectionRole).toBool()) {
        painter->fillRect(QRect(0, row.top(), row.width(), 1), themed(Token::line));
        painter->fillRect(QRect(0, row.bottom(), row.width(), 1), themed(Token::line));
    }
    if (selected && first.data(currentRole).toBool()) painter->fillRect(QRect(0, row.top(), 3, row.height()), themed(Token::accent));
    QStyleOptionViewItem plain = option;
    plain.state &= ~QStyle::State_Selected;
    plain.palette.setColor(QPalette::Highlight, Qt::transparent);
    plain.backgroundBrush = Qt::NoBrush;
    for (int column = 0; column < header()->count(); ++column) {
        if (header()->isSectionHidden(column)) continue;
        QRect cell(columnViewportPosition(column), option.rect.top(), columnWidth(column), option.rect.height());
        if (column == 0) {
            const int indent = m_tree ? indentation() *
                                            [&] {
                                                int depth = 1;
                                                for (QModelIndex up = first.parent(); up.isValid() && up != rootIndex(); up = up.parent())
                                                    ++depth;
                                                return depth;
                                            }()
                                      : 0;
            if (m_tree) drawBranches(painter, QRect(cell.left(), cell.top(), indent, cell.height()), first);
            cell.setLeft(cell.left() + indent);
        }
        // A text runs on over cells that have none.
        for (int next = column + 1; next < header()->count() && index.siblingAtColumn(next).data().toString().isEmpty(); ++next) {
            const auto alignment = static_cast<Qt::Alignment>(index.siblingAtColumn(column).data(Qt::TextAlignmentRole).toInt());
            if (alignment.testFlag(Qt::AlignRight)) break;
            cell.setRight(cell.right() + columnWidth(next));
        }
        // In trees, names take what numbers at the right leave of their column.
        if (m_tree && column == 0 && header()->count() == 2) {
            const QModelIndex next = index.siblingAtColumn(1);
            const auto alignment = static_cast<Qt::Alignment>(next.data(Qt::TextAlignmentRole).toInt());
            const QString text = next.data().toString();
            const int written = QFontMetrics(Theme::instance().font(FontUse::value)).horizontalAdvance(text) + 24;
            if (!text.isEmpty() && alignment.testFlag(Qt::AlignRight)) cell.setRight(cell.right() + std::max(0, columnWidth(1) - written));
        }
        plain.rect = cell;
        itemDelegateForIndex(index)->paint(painter, plain, index.siblingAtColumn(column));
    }
    if (hasFocus() && currentIndex().isValid() && currentIndex().siblingAtColumn(0) == first) {
        painter->save();
        painter->setPen(QPen(themed(Token::text), 1, Qt::DotLine));
        painter->drawRect(row.adjusted(0, 0, -1, -1));
        painter->restore();
    }
}

void RowView::drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const
{
    if (!m_tree || !model()->hasChildren(index)) return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(themed(Token::text2));
    const QPointF c(rect.right() - indentation() / 2.0 + 1, rect.center().y() + 0.5);
    if (isExpanded(index)) painter->drawPolygon(QPolygonF({{c.x() - 3.5, c.y() - 2}, {c.x() + 3.5, c.y() - 2}, {c.x(), c.y() + 2.5}}));
    else painter->drawPolygon(QPolygonF({{c.x() - 2, c.y() - 3.5}, {c.x() - 2, c.y() + 3.5}, {c.x() + 2.5, c.y()}}));
    painter->restore();
}

QString RowView::selectedText() const
{
    QStringList lines;
    if (selectionModel() == nullptr) return {};
    for (const QModelIndex& index : selectionModel()->selectedRows()) {
        QStringList cells;
        for (int column = 0; column < model()->columnCount(index.parent()); ++column) {
            cells << index.siblingAtColumn(column).data().toString();
            if (const QString chip = index.siblingAtColumn(column).data(chipRole).toString(); !chip.isEmpty()) cells << chip;
        }
        lines << cells.join('\t').replace(QChar(0x2212), '-');
    }
    return lines.join('\n');
}

void RowView::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy)) {
        if (const QString text = selectedText(); !text.isEmpty()) QApplication::clipboard()->setText(text);
        return;
    }
    if (state() != EditingState && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) &&
        event->modifiers() == Qt::NoModifier) {
        if (currentIndex().isValid()) emit chosen(currentIndex());
        return;
    }
    const bool plain = (event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)) == 0;
    if (plain && state() != EditingState && event->text().size() == 1 && event->text().front().isDigit()) {
        emit typed(event->text(), currentIndex());
        return;
    }
    QTreeView::keyPressEvent(event);
}

bool RowView::isLinkAt(QPoint position) const
{
    const QModelIndex index = indexAt(position);
    return index.isValid() && index.data(addressRole).isValid();
}

void RowView::mouseReleaseEvent(QMouseEvent* event)
{
    QTreeView::mouseReleaseEvent(event);
    if (event->button() == Qt::LeftButton && isLinkAt(event->pos())) emit linkClicked(indexAt(event->pos()).data(addressRole).toString());
}

void RowView::mouseMoveEvent(QMouseEvent* event)
{
    viewport()->setCursor(isLinkAt(event->pos()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
    QTreeView::mouseMoveEvent(event);
}

void RowView::mouseDoubleClickEvent(QMouseEvent* event)
{
    QTreeView::mouseDoubleClickEvent(event);
    if (const QModelIndex index = indexAt(event->pos()); index.isValid() && event->button() == Qt::LeftButton && state() != EditingState)
        emit chosen(index);
}

} // namespace loopscope::viewer
