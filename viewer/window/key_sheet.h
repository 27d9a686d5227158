// Every key on one page, by context (F1).
#pragma once

namespace loopscope::viewer {

class MainWindow;

void showKeySheet(MainWindow& window);

} // namespace loopscope::viewer
