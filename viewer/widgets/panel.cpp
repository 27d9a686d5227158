#include "viewer/widgets/panel.h"

namespace loopscope::viewer {

void Panel::setTitle(const QString& title)
{
    if (title == m_title) return;
    m_title = title;
    setAccessibleName(title);
    emit titleChanged(title);
}

} // namespace loopscope::viewer
