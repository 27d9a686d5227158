#include "viewer/widgets/closing_tabs.h"

#include "viewer/style/theme.h"

#include <QMouseEvent>
#include <QPainter>

namespace loopscope::viewer {

void ClosingTabs::paintEvent(QPaintEvent* event)
{
    QTabBar::paintEvent(event);
    const int end = count() > 0 ? tabRect(count() - 1).right() + 1 : 0;
    QPainter(this).fillRect(end, height() - 1, width() - end, 1, themed(Token::line));
}

void ClosingTabs::mouseReleaseEvent(QMouseEvent* event)
{
    const int at = tabAt(event->pos());
    if (event->button() == Qt::MiddleButton && at >= 0 && closing) closing(at);
    else QTabBar::mouseReleaseEvent(event);
}

} // namespace loopscope::viewer
