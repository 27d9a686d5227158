// loopscope-gui: the desktop application. Takes the arguments of `loopscope gui`; with --screenshot it draws one window without a screen.
#include "app/commands/commands.h"
#include "app/desktop/screenshot.h"
#include "app/desktop/terminal_backend.h"
#include "app/output/console.h"
#include "viewer/style/theme.h"
#include "viewer/window/main_window.h"

#include <QApplication>
#include <QStandardPaths>

#include <cstdlib>
#include <vector>

namespace {

using namespace loopscope;

int fail(const Error& error)
{
    app::Console console(stdout, stderr);
    console.error(error);
    return static_cast<int>(error.code());
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<std::string> words(argv + 1, argv + argc);
    Result<app::Arguments> parsed = app::parseArguments(*app::findCommand("gui"), words);
    if (!parsed.ok()) return fail(parsed.error());
    const app::Arguments arguments = std::move(*parsed);
    Result<app::WindowSize> size = app::parseWindowSize(arguments.text("size", "1280x800"));
    if (!size.ok()) return fail(size.error());
    const bool draws = arguments.has("screenshot");
    if (draws) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
        qputenv("QT_SCALE_FACTOR", QByteArray::number(size->ratio));
    }
    QApplication application(argc, argv);
    QApplication::setApplicationName("loopscope");
    QApplication::setApplicationDisplayName("Loopscope");
    QApplication::setDesktopFileName("loopscope");

    viewer::MainWindow::Folders folders;
    if (!draws) {
        folders.settings = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + "/loopscope/desktop.json";
        folders.sessions = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + "/loopscope/sessions";
    }
    app::DesktopServices services(arguments);
    viewer::Theme::instance().apply();
    int code = 0;
    {
        viewer::MainWindow window(services, folders);
        window.resize(size->width, size->height);
        if (arguments.has("theme")) window.setTheme(QString::fromStdString(arguments.text("theme")));
        else if (draws) window.setTheme("light");
        if (draws) {
            code = app::drawWindow(window, arguments);
        } else {
            window.show();
            if (!arguments.positionals.empty())
                app::openNamed(window, arguments, [&] {
                    Status status = app::showState(window, arguments);
                    if (status.ok()) return;
                    const Error error = std::move(status).takeError();
                    window.say(QString::fromStdString(error.message()));
                    fail(error);
                });
            code = QApplication::exec();
        }
        // A file that is still being read belongs to a thread that nobody waits for.
        if (window.isOpening()) std::_Exit(code);
    }
    return code;
}
