// loopscope-gui: the desktop application. Takes the arguments of `loopscope gui`; with --screenshot it draws one window without a screen.
#include "app/commands/commands.h"
#include "app/desktop/screenshot.h"
#include "app/desktop/terminal_backend.h"
#include "app/output/console.h"
#include "app/wiring/command_line.h"
#include "app/wiring/memory_option.h"
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

/// Qt tells of a display that cannot be used in many lines, and aborts. Installed while the application is made.
void tellMessage(QtMsgType type, const QMessageLogContext&, const QString&)
{
    if (type != QtFatalMsg) return; // what it tried on the way
    const char* const wayland = std::getenv("WAYLAND_DISPLAY");
    const char* const display = wayland != nullptr && *wayland != 0 ? wayland : std::getenv("DISPLAY");
    const std::string tried = display != nullptr && *display != 0 ? "'" + std::string(display) + "'" : "none";
    std::_Exit(
        fail(Error(ErrorCode::device, "no display can be used").found(tried).expected("DISPLAY, WAYLAND_DISPLAY or --screenshot FILE")));
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<std::string> words(argv + 1, argv + argc);
    Result<app::Arguments> parsed = app::parseArguments(*app::findCommand("gui"), words);
    if (!parsed.ok()) return fail(parsed.error());
    const app::Arguments arguments = std::move(*parsed);
    if (arguments.has("help")) {
        app::Console console(stdout, stderr);
        console.page(app::commandHelp(*app::findCommand("gui")));
        return 0;
    }
    if (Status status = app::applyMemory(arguments); !status.ok()) return fail(std::move(status).takeError());
    Result<app::WindowSize> size = app::parseWindowSize(arguments.text("size", "1280x800"));
    if (!size.ok()) return fail(size.error());
    const bool draws = arguments.has("screenshot");
    if (draws) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
        qputenv("QT_SCALE_FACTOR", QByteArray::number(size->ratio));
    }
    qInstallMessageHandler(tellMessage);
    QApplication application(argc, argv);
    qInstallMessageHandler(nullptr);
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
