// Every key on one page, by context (F1).
#pragma once

#include <QString>

namespace loopscope::viewer {

class MainWindow;

void showKeySheet(MainWindow& window);
/// "Everywhere", "Graph", "SQL pane".
QString keyContextTitle(const QString& context);

} // namespace loopscope::viewer
