// Keys, theme, text and how callees open. Everything applies at once.
#pragma once

namespace loopscope::viewer {

class MainWindow;

void showSettings(MainWindow& window);

} // namespace loopscope::viewer
