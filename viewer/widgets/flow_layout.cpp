#include "viewer/widgets/flow_layout.h"

#include <algorithm>

namespace loopscope::viewer {

QSize FlowLayout::minimumSize() const
{
    QSize widest;
    for (const QLayoutItem* const item : m_items) widest = widest.expandedTo(item->sizeHint());
    return widest.grownBy(contentsMargins());
}

int FlowLayout::place(const QRect& whole, bool moves) const
{
    const QRect rect = whole.marginsRemoved(contentsMargins());
    int x = rect.x(), y = rect.y(), line = 0;
    for (QLayoutItem* const item : m_items) {
        if (item->isEmpty()) continue;
        const QSize size = item->sizeHint();
        if (x > rect.x() && x + size.width() > rect.x() + rect.width()) {
            x = rect.x();
            y += line + m_gap;
            line = 0;
        }
        if (moves) item->setGeometry(QRect(QPoint(x, y), size));
        x += size.width() + m_gap;
        line = std::max(line, size.height());
    }
    return y + line - rect.y() + whole.height() - rect.height();
}

} // namespace loopscope::viewer
