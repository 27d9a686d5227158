#include "viewer/widgets/parts.h"

#include "viewer/style/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollArea>
#include <QStyle>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

int scaled(int pixels) { return pixels * Theme::instance().textPercent() / 100; }

void paintFocus(QPainter& painter, const QRectF& box, double radius)
{
    painter.setPen(QPen(themed(Token::text), 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(box.adjusted(2, 2, -2, -2), radius, radius);
}

} // namespace

EmptyStack::EmptyStack(QWidget* content, QWidget* parent) : QStackedWidget(parent)
{
    addWidget(content);
    m_page = new QWidget(this);
    auto* column = new QVBoxLayout(m_page);
    column->setContentsMargins(12, 12, 12, 12);
    column->setSpacing(8);
    m_text = new QLabel(m_page);
    m_text->setObjectName("emptyText");
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_buttons = new QWidget(m_page);
    auto* buttons = new QVBoxLayout(m_buttons);
    buttons->setContentsMargins(0, 0, 0, 0);
    buttons->setSpacing(4);
    column->addWidget(m_text);
    column->addWidget(m_buttons);
    column->addStretch(1);
    m_page->setObjectName("emptyPage");
    m_page->setAttribute(Qt::WA_StyledBackground);
    // What does not fit a small panel can be scrolled to.
    auto* area = new QScrollArea(this);
    area->setObjectName("emptyArea");
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(m_page);
    setMinimumSize(48, 32);
    addWidget(area);
    connect(&Theme::instance(), &Theme::changed, this, [this] { restyle(); });
    restyle();
}

void EmptyStack::restyle()
{
    m_page->setStyleSheet(QString("#emptyPage { background: %1; }").arg(themed(Token::surface).name()));
    m_text->setFont(Theme::instance().font(FontUse::body));
    m_text->setStyleSheet(QString("color: %1; background: transparent;").arg(themed(Token::text3).name()));
}

void EmptyStack::showContent() { setCurrentIndex(0); }

QString EmptyStack::emptyText() const { return isEmpty() ? m_text->text() : QString(); }

void EmptyStack::showEmpty(const QString& text, std::vector<Offer> offers)
{
    m_text->setText(text);
    for (auto& [name, button] : m_offers) delete button;
    m_offers.clear();
    for (Offer& offer : offers) {
        auto* button = new OfferButton(offer.text, false, m_buttons);
        m_buttons->layout()->addWidget(button);
        static_cast<QVBoxLayout*>(m_buttons->layout())->setAlignment(button, Qt::AlignLeft);
        connect(button, &QAbstractButton::clicked, this, [run = std::move(offer.run)] { run(); });
        m_offers.emplace_back(offer.text, button);
    }
    setCurrentIndex(1);
}

QSize ElidedLabel::minimumSizeHint() const
{
    const QSize whole = QLabel::minimumSizeHint();
    return {std::min(whole.width(), fontMetrics().averageCharWidth() * 12), whole.height()};
}

void ElidedLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const QString shown = fontMetrics().elidedText(text(), Qt::ElideMiddle, contentsRect().width());
    setToolTip(shown == text() ? QString() : text());
    style()->drawItemText(&painter, contentsRect(), static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft), palette(), isEnabled(), shown,
                          foregroundRole());
}

Chip::Chip(const QString& text, QWidget* parent) : QAbstractButton(parent)
{
    setText(text);
    setAccessibleName(text);
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::TabFocus);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        updateGeometry();
        update();
    });
}

QSize Chip::sizeHint() const
{
    const QFontMetrics metrics(Theme::instance().font(FontUse::small));
    return {metrics.horizontalAdvance(text()) + 16, scaled(Theme::instance().dense() ? 16 : 18) + 2};
}

void Chip::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(0.5, 1.5, -0.5, -1.5);
    painter.setPen(isChecked() ? themed(Token::accent) : themed(Token::line2));
    painter.setBrush(isChecked() ? themed(Token::accentWeak) : underMouse() ? themed(Token::hover) : themed(Token::surface));
    painter.drawRoundedRect(box, box.height() / 2, box.height() / 2);
    painter.setFont(Theme::instance().font(FontUse::small));
    painter.setPen(!isEnabled() ? themed(Token::text3) : isChecked() ? themed(Token::accent) : themed(Token::text2));
    painter.drawText(box, Qt::AlignCenter, text());
    if (hasFocus()) paintFocus(painter, box, box.height() / 2 - 2);
}

OfferButton::OfferButton(const QString& text, bool primary, QWidget* parent) : QAbstractButton(parent), m_primary(primary)
{
    setText(text);
    setAccessibleName(text);
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        updateGeometry();
        update();
    });
}

QSize OfferButton::minimumSizeHint() const { return {std::min(sizeHint().width(), 60), sizeHint().height()}; }

void OfferButton::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return click();
    QAbstractButton::keyPressEvent(event);
}

QSize OfferButton::sizeHint() const
{
    const QFontMetrics metrics(Theme::instance().font(FontUse::body));
    return {metrics.horizontalAdvance(text()) + 24, scaled(26)};
}

void OfferButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    const bool filled = m_primary && isEnabled();
    painter.setPen(filled ? themed(Token::accent) : isEnabled() ? themed(Token::line2) : themed(Token::line));
    painter.setBrush(filled ? themed(Token::accent) : underMouse() && isEnabled() ? themed(Token::hover) : themed(Token::surface));
    painter.drawRoundedRect(box, 4, 4);
    painter.setFont(Theme::instance().font(FontUse::body));
    painter.setPen(filled ? themed(Token::onAccent) : isEnabled() ? themed(Token::text) : themed(Token::text3));
    painter.drawText(box, Qt::AlignCenter, painter.fontMetrics().elidedText(text(), Qt::ElideRight, static_cast<int>(box.width()) - 10));
    if (hasFocus()) paintFocus(painter, box, 3);
}

} // namespace loopscope::viewer
