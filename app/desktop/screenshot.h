// --screenshot: one window in a state that the command line describes, drawn into a file without a screen.
#pragma once

#include "app/wiring/command_line.h"
#include "engine/base/result.h"

#include <functional>
#include <string_view>

namespace loopscope::viewer {
class MainWindow;
}

namespace loopscope::app {

struct WindowSize {
    int width = 1280, height = 800;
    double ratio = 1; ///< device pixels to a logical one
};
/// "1280x800", "1280x800@2". Errors: usage.
Result<WindowSize> parseWindowSize(std::string_view text);

/// Opens the model or recording that is named; a second name is what its runs are compared with.
void openNamed(viewer::MainWindow& window, const Arguments& arguments, std::function<void()> then = {});
/// --task, --exec and --goto on the open document; lines of the debugger are queued. Errors: usage, of the first --exec that names what is
/// not there; those behind it are not carried out.
Status showState(viewer::MainWindow& window, const Arguments& arguments);

/// Opens what is named, waits until nothing moves any more, and writes the picture. The exit code: not 0 where something could not be
/// opened or carried out, which standard error then says.
int drawWindow(viewer::MainWindow& window, const Arguments& arguments);

} // namespace loopscope::app
