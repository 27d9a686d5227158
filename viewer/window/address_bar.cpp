#include "viewer/window/address_bar.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QStringListModel>

namespace loopscope::viewer {

namespace {

constexpr int kLeft = 28; ///< behind the icon
constexpr int kBlank = 6; ///< beside a separator

/// "main/while#1@37:body/tanh#15" at its slashes outside of quotes.
QStringList segments(const QString& address)
{
    if (address.isEmpty()) return {};
    QStringList parts(1);
    bool quoted = false;
    for (const QChar c : address) {
        if (c == QLatin1Char('"')) quoted = !quoted;
        if (c == QLatin1Char('/') && !quoted) parts.append(QString());
        else parts.back() += c;
    }
    return parts;
}

} // namespace

AddressBar::AddressBar(QWidget* parent) : QFrame(parent)
{
    setObjectName("addressBar");
    setMinimumWidth(160);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setMouseTracking(true);
    m_field = new QLineEdit(this);
    m_field->setObjectName("addressField");
    m_field->setFrame(false);
    m_field->setAccessibleName(tr("Address, step or percent to go to"));
    m_field->hide();
    m_field->installEventFilter(this);
    auto* const completer = new QCompleter(new QStringListModel(this), this);
    completer->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    m_field->setCompleter(completer);
    completer->popup()->installEventFilter(this); // while it is open, it hears the keys first
    connect(m_field, &QLineEdit::textEdited, this, [this, completer](const QString& text) {
        if (!m_completion || m_forIteration) return;
        static_cast<QStringListModel*>(completer->model())->setStringList(m_completion(text).mid(0, 50));
        completer->complete();
    });
    m_key = new QLabel(this);
    m_key->setObjectName("addressKey");
    m_key->setProperty("tone", "meta");
    const auto restyle = [this] {
        setFixedHeight(Theme::instance().barHeight(26));
        m_key->setFont(Theme::instance().font(FontUse::tiny));
        m_key->setStyleSheet(QStringLiteral("border: 1px solid %1; border-radius: 3px; padding: 0 4px;").arg(themed(Token::line).name()));
        m_field->setFont(Theme::instance().font(FontUse::value));
        m_field->setStyleSheet("border: 0; padding: 0; min-height: 0;");
        layOut();
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, restyle);
}

void AddressBar::setAddress(const QString& address, const QString& hint)
{
    m_address = address;
    m_hint = hint;
    setToolTip(address);
    setAccessibleName(address.isEmpty() ? hint : tr("Address %1").arg(address));
    layOut();
}

void AddressBar::setKey(const QString& key)
{
    m_key->setText(key);
    layOut();
}

void AddressBar::layOut()
{
    const QSize key = m_key->sizeHint();
    m_key->setGeometry(width() - key.width() - 8, (height() - key.height()) / 2, key.width(), key.height());
    m_field->setGeometry(kLeft, 2, width() - kLeft - key.width() - 16, height() - 4);
    m_crumbs.clear();
    const QFontMetrics metrics(Theme::instance().font(FontUse::value));
    const auto widthOf = [&](const QString& text) { return metrics.horizontalAdvance(text); };
    const QStringList whole = segments(m_address);
    QStringList parts = whole;
    const int separator = widthOf("/") + 2 * kBlank;
    const auto total = [&] {
        int sum = 0;
        for (const QString& part : parts) sum += widthOf(part);
        return sum + separator * static_cast<int>(parts.size() - 1);
    };
    // The key goes first, then what lies in the middle: both ends say the most. At last the beginning: what is current is the end.
    m_key->setVisible(!m_key->text().isEmpty() && (m_address.isEmpty() ? widthOf(m_hint) : total()) <= m_key->x() - kLeft - 6);
    const int room = (m_key->isHidden() ? width() - 8 : m_key->x() - 6) - kLeft;
    qsizetype dropped = 0;
    while (parts.size() > 2 && total() + (dropped > 0 ? separator + widthOf("…") : 0) > room) {
        parts.removeAt(1);
        ++dropped;
    }
    const bool endsAlone = parts.size() == 2 && total() + (dropped > 0 ? separator + widthOf("…") : 0) > room;
    if (endsAlone) {
        parts.removeFirst();
        ++dropped;
    }
    int x = kLeft;
    const auto add = [&](const QString& text, const QString& address, bool isIteration, bool isSeparator) {
        const int width = widthOf(text);
        m_crumbs.append({text, address, isIteration, isSeparator, QRect(x, 0, width, height())});
        x += width;
    };
    const auto slash = [&] {
        x += kBlank;
        add("/", {}, false, true);
        x += kBlank;
    };
    for (qsizetype i = 0; i < parts.size(); ++i) {
        if (i > 0) slash();
        if (i == (endsAlone ? 0 : 1) && dropped > 0) {
            add("…", {}, false, true);
            slash();
        }
        const QString address = QStringList(whole.mid(0, (i == 0 && !endsAlone ? 0 : i + dropped) + 1)).join('/');
        QString part = parts[i];
        const int end = kLeft + room;
        if (x + widthOf(part) > end) part = metrics.elidedText(part, Qt::ElideMiddle, std::max(20, end - x));
        const qsizetype at = part.indexOf('@'), colon = part.indexOf(':', std::max<qsizetype>(at, 0));
        if (at > 0 && colon > at) {
            add(part.left(at), address, false, false);
            add(part.mid(at, colon - at), address, true, false);
            add(part.mid(colon), address, false, false);
        } else {
            add(part, address, false, false);
        }
    }
    update();
}

QStringList AddressBar::crumbs() const
{
    QStringList texts;
    for (const Crumb& crumb : m_crumbs) texts.append(crumb.text);
    return texts;
}

void AddressBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(themed(isEditing() ? Token::accent : Token::line));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.drawPixmap(8, (height() - 14) / 2, iconPixmap("graph", 14, themed(Token::text2), devicePixelRatioF()));
    if (isEditing()) return;
    painter.setFont(Theme::instance().font(FontUse::value));
    if (m_address.isEmpty()) {
        painter.setPen(themed(Token::text3));
        const QRect room(kLeft, 0, (m_key->isHidden() ? width() - 8 : m_key->x()) - kLeft, height());
        painter.drawText(room, Qt::AlignVCenter, painter.fontMetrics().elidedText(m_hint, Qt::ElideMiddle, room.width()));
        return;
    }
    for (const Crumb& crumb : m_crumbs) {
        const bool isLast = crumb.address == m_address;
        painter.setPen(themed(crumb.isSeparator ? Token::text3 : isLast && !crumb.isIteration ? Token::text : Token::accent));
        painter.drawText(crumb.rect, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextDontClip, crumb.text);
    }
}

void AddressBar::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || m_address.isEmpty()) return;
    for (const Crumb& crumb : m_crumbs) {
        if (crumb.isSeparator || !crumb.rect.contains(event->pos())) continue;
        if (crumb.isIteration) editIteration();
        else emit crumbClicked(crumb.address);
        return;
    }
    edit();
}

void AddressBar::mouseMoveEvent(QMouseEvent* event)
{
    bool over = false;
    for (const Crumb& crumb : m_crumbs) over = over || (!crumb.isSeparator && crumb.rect.contains(event->pos()));
    setCursor(over ? Qt::PointingHandCursor : Qt::IBeamCursor);
}

void AddressBar::resizeEvent(QResizeEvent*) { layOut(); }

bool AddressBar::isEditing() const { return !m_field->isHidden(); }

void AddressBar::edit(const QString& text)
{
    m_forIteration = false;
    m_field->setPlaceholderText(tr("address, step:N, N%, mark"));
    m_field->setText(text.isEmpty() ? m_address : text);
    if (QWidget* const before = QApplication::focusWidget(); before != m_field) m_before = before;
    m_field->show();
    m_field->selectAll();
    m_field->setFocus(Qt::ShortcutFocusReason);
    update();
}

void AddressBar::editIteration()
{
    edit();
    m_forIteration = true;
    m_field->setPlaceholderText(tr("iteration number, +1, -1, last"));
    m_field->clear();
}

void AddressBar::stopEditing()
{
    if (!isEditing()) return;
    if (m_field->completer()) m_field->completer()->popup()->hide();
    m_field->hide();
    update();
}

/// The keyboard goes back to where it was, not on to the next field.
void AddressBar::leave()
{
    if (m_before && m_before->isVisible()) m_before->setFocus(Qt::OtherFocusReason);
    stopEditing();
}

bool AddressBar::eventFilter(QObject* watched, QEvent* event)
{
    if (m_field->completer() && watched == m_field->completer()->popup() && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key(); // the field holds what is chosen there, too
        return (key == Qt::Key_Return || key == Qt::Key_Enter) && eventFilter(m_field, event);
    }
    if (watched == m_field && event->type() == QEvent::FocusOut && !m_field->completer()->popup()->isVisible()) stopEditing();
    if (watched == m_field && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape) {
            leave();
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            const QString text = m_field->text().trimmed();
            const bool iteration = m_forIteration;
            leave();
            if (text.isEmpty()) return true;
            if (iteration) emit iterationRequested(text);
            else emit gotoRequested(text);
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

} // namespace loopscope::viewer
