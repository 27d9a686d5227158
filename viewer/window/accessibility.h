// What the window as a whole owes to people who do not see it or do not use a mouse: the order in which Tab goes through the panels, and a
// status that is read out when it changes.
#pragma once

#include <QStringList>

namespace loopscope::viewer {

class Document;
class PanelArea;

/// Tab goes through the panels in the order of Alt+1 … Alt+0, then through the others; inside of a panel as it was.
void orderFocus(PanelArea& area, const QStringList& panels);

/// "Stopped. Breakpoint 1 on if#2. if 2, iteration 37." What a screen reader says at a stop; `state` as the status line has it.
QString spokenStatus(const QString& state, const QString& reason, const Document* document);

/// Makes widgets of the class StatusLine status bars for screen readers, which read their name when it changes.
void installStatusReader();

} // namespace loopscope::viewer
