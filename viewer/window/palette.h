// A field over a list, in the middle of the window: every command with its key and console text, or every operator by name.
#pragma once

#include <QString>

#include <functional>

namespace loopscope {
struct Model;
}

namespace loopscope::viewer {

class MainWindow;

void showCommandPalette(MainWindow& window);
/// `chosen` gets a static address. Graphs that several operators call are listed under the first.
void showOperatorPalette(MainWindow& window, const Model& model, std::function<void(const QString& address)> chosen);

} // namespace loopscope::viewer
