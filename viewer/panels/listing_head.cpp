#include "viewer/panels/listing_head.h"

#include <QPainter>

namespace loopscope::viewer {

ListingHead::ListingHead(QWidget* parent) : QWidget(parent) { setAccessibleName("Graph in view"); }

void ListingHead::setTexts(const QString& address, const QString& signature, const QString& counts)
{
    m_address = address;
    m_signature = signature;
    m_counts = counts;
    setToolTip(address + "\n" + signature + "\n" + counts);
    setAccessibleDescription(address + ", " + counts);
    update();
}

void ListingHead::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::raised));
    painter.fillRect(QRect(0, height() - 1, width(), 1), themed(Token::line));
    const QFont font = Theme::instance().font(FontUse::value);
    const QFontMetrics metrics(font);
    painter.setFont(font);
    const QRect inner = rect().adjusted(8, 0, -8, -1);
    const int countsWidth = metrics.horizontalAdvance(m_counts);
    painter.setPen(themed(Token::text2));
    painter.drawText(inner, Qt::AlignVCenter | Qt::AlignRight, m_counts);
    const int room = inner.width() - countsWidth - 16;
    const QString address = metrics.elidedText(m_address, Qt::ElideMiddle, room);
    painter.setPen(themed(Token::accent));
    painter.drawText(inner, Qt::AlignVCenter | Qt::AlignLeft, address);
    const int used = metrics.horizontalAdvance(address) + metrics.horizontalAdvance("  ");
    if (used < room - 24) {
        painter.setPen(themed(Token::text2));
        painter.drawText(inner.adjusted(used, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                         metrics.elidedText(m_signature, Qt::ElideRight, room - used));
    }
}

} // namespace loopscope::viewer
