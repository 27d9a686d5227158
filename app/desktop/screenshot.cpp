#include "app/desktop/screenshot.h"

#include "app/wiring/console.h"
#include "viewer/window/main_window.h"
#include "viewer/window/status_line.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QPixmap>
#include <QThread>

#include <charconv>

namespace loopscope::app {

namespace {

constexpr int kQuietMs = 150;        ///< without work before the picture is taken
constexpr int kLongestMs = 120'000;

QString textOf(const std::string& text) { return QString::fromStdString(text); }

/// What the picture shows, in a line: "main/while#0@613:body/mul#5, step 5523: NaN (gain)"; empty before a run.
std::string stateLine(viewer::MainWindow& window)
{
    if (!window.document() || !window.document()->stop()->started) return {};
    const viewer::StopSnapshot& stop = *window.document()->stop();
    const std::string where = (stop.finished ? "finished" : stop.address) + ", step " + std::to_string(stop.position.step);
    std::string reason = viewer::stopReasonText(*window.document()).toStdString();
    for (const StopReason& each : stop.report.reasons)
        if (each.cause == StopCause::error) reason = viewer::failureText(QString::fromStdString(each.text)).toStdString();
    return reason.empty() || reason.starts_with("step ") ? where + "\n" : where + ": " + reason + "\n";
}

/// Lets the window work until it is quiet. False: it never was.
bool waitUntilQuiet(viewer::MainWindow& window)
{
    QElapsedTimer whole, quiet;
    whole.start();
    quiet.start();
    while (quiet.elapsed() < kQuietMs) {
        QApplication::processEvents(QEventLoop::AllEvents, 20);
        QThread::msleep(2);
        if (!window.settled()) quiet.restart();
        if (whole.elapsed() > kLongestMs) return false;
    }
    return true;
}

/// One of --exec: a command of the window ("action.stepOver"), a selection ("select ADDRESS"), a panel, perhaps with a command for it
/// ("panel panelTensor mode heat"), or a line of the debugger.
void carryOut(viewer::MainWindow& window, const QString& line)
{
    // Commands of the window are about what those before have brought.
    if (line.startsWith("action.") || line.startsWith("select ") || line.startsWith("panel ")) waitUntilQuiet(window);
    if (line.startsWith("action.")) {
        viewer::Panel* const graph = window.area() ? window.area()->panel("panelGraph") : nullptr;
        if (!window.run(line.mid(7)) && graph) graph->command(line.mid(7)); // keys of the graph are its panel's
    } else if (line.startsWith("panel ")) {
        const QString name = line.section(' ', 1, 1), command = line.section(' ', 2);
        window.area()->show(name, false);
        if (viewer::Panel* const panel = window.area()->panel(name); panel && !command.isEmpty()) panel->command(command);
    } else if (line.startsWith("select ") && window.document()) {
        const std::string address = line.mid(7).toStdString();
        if (window.document()->select(address)) window.document()->reveal(viewer::staticAddress(address));
    } else if (window.document()) {
        window.document()->execute(line);
    }
}

} // namespace

Result<WindowSize> parseWindowSize(std::string_view text)
{
    WindowSize size;
    const auto fail = [&] { return Error(ErrorCode::usage, "option '--size'").found("'" + std::string(text) + "'").expected("WxH or WxH@2, from 960x600"); };
    const char* at = text.data();
    const char* const end = at + text.size();
    auto read = std::from_chars(at, end, size.width);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != 'x') return fail();
    read = std::from_chars(read.ptr + 1, end, size.height);
    if (read.ec != std::errc()) return fail();
    if (read.ptr != end) {
        if (*read.ptr != '@') return fail();
        read = std::from_chars(read.ptr + 1, end, size.ratio);
        if (read.ec != std::errc() || read.ptr != end || size.ratio < 1 || size.ratio > 4) return fail();
    }
    if (size.width < 960 || size.height < 600 || size.width > 8192 || size.height > 8192) return fail();
    return size;
}

void openNamed(viewer::MainWindow& window, const Arguments& arguments, std::function<void()> then)
{
    const std::vector<std::string>& names = arguments.positionals;
    const bool compares = names.size() > 1;
    window.open(textOf(names.front()), [&window, compares, then = std::move(then)] {
        if (compares) window.compare();
        if (then) then();
    }, compares ? textOf(names[1]) : QString());
}

void showState(viewer::MainWindow& window, const Arguments& arguments)
{
    if (!window.document()) return;
    if (const int task = viewer::taskOf(textOf(arguments.text("task"))); task >= 0) window.setTask(static_cast<viewer::Task>(task));
    const QString place = textOf(arguments.text("goto"));
    bool runs = place.contains('@') || !arguments.all("input").empty();
    for (const std::string& line : arguments.all("exec")) {
        if (line.starts_with("run") || line.starts_with("start")) runs = false; // it begins by itself
        carryOut(window, textOf(line));
    }
    if (place.isEmpty()) return;
    if (window.document()->backend().isReplay()) runs = true;
    if (runs) window.document()->execute("start");
    const bool later = runs || !arguments.all("exec").empty();
    if (later) window.document()->execute("goto " + place);
    else carryOut(window, "select " + place);
}

int drawWindow(viewer::MainWindow& window, const Arguments& arguments)
{
    Console console(stdout, stderr);
    window.show();
    int code = 0;
    QObject::connect(&window, &viewer::MainWindow::openFailed, [&](const Error& error) {
        console.error(error); // the picture shows it, too
        code = static_cast<int>(error.code());
    });
    bool quiet = true;
    if (!arguments.positionals.empty()) {
        openNamed(window, arguments);
        quiet = waitUntilQuiet(window);
        showState(window, arguments);
    }
    quiet = waitUntilQuiet(window) && quiet;
    // Commands that look at the state after the run, in turn.
    if (const int task = viewer::taskOf(textOf(arguments.text("task"))); task >= 0 && window.document() && window.task() != static_cast<viewer::Task>(task)) {
        window.setTask(static_cast<viewer::Task>(task));
        quiet = waitUntilQuiet(window) && quiet;
    }
    if (!quiet) {
        console.error(Error(ErrorCode::internal, "the window did not come to rest within 120 s"));
        return static_cast<int>(ErrorCode::internal);
    }
    const std::string path = arguments.text("screenshot");
    const QPixmap picture = window.grab();
    if (!picture.save(textOf(path), "PNG")) {
        console.error(Error(ErrorCode::cannotWrite, "cannot be written as PNG").at(path));
        return static_cast<int>(ErrorCode::cannotWrite);
    }
    console.print(stateLine(window));
    window.close();
    return code;
}

} // namespace loopscope::app
