#include "app/desktop/screenshot.h"

#include "app/output/console.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/text.h"
#include "engine/observe/address_resolution.h"
#include "viewer/style/theme.h"
#include "viewer/window/main_window.h"
#include "viewer/window/panel_registry.h"
#include "viewer/window/status_line.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QPixmap>
#include <QThread>

#include <charconv>

namespace loopscope::app {

namespace {

constexpr int kQuietMs = 150; ///< without work before the picture is taken
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

/// A wrong --exec, with the names that are near where there are any.
Error refused(const std::string& what, std::string_view name = {}, const QStringList& names = {})
{
    std::vector<std::string> candidates;
    for (const QString& each : names) candidates.push_back(each.toStdString());
    return Error(ErrorCode::usage, what).at("option '--exec'").nearest(nearestNames(name, candidates));
}

Status doAction(viewer::MainWindow& window, const QString& command)
{
    if (window.run(command)) return {};
    // Keys of a panel are commands of it alone; the graph has further ones.
    for (const char* const name : {"panelGraph", "panelListing", "panelTensor", "panelTimeline", "panelSql"})
        if (viewer::Panel* const panel = window.area() ? window.area()->panel(name) : nullptr; panel && panel->command(command)) return {};
    const QStringList known = window.commands();
    const std::string name = command.toStdString();
    if (known.contains(command)) return refused("action '" + name + "' does not apply here");
    return refused("no action '" + name + "'", name, known);
}

Status showPanel(viewer::MainWindow& window, const QString& name, const QString& command)
{
    const std::string text = name.toStdString();
    if (!window.area()->show(name, false)) {
        const QStringList known = viewer::panelNames();
        return known.contains(name) ? refused("panel '" + text + "' is not for this file")
                                    : refused("no panel '" + text + "'", text, known);
    }
    if (command.isEmpty() || window.area()->panel(name)->command(command)) return {};
    return refused("panel '" + text + "' has no command '" + command.toStdString() + "'");
}

/// One of --exec: a command of the window ("action.stepOver"), a selection ("select ADDRESS"), a panel, perhaps with a command for it
/// ("panel panelTensor mode heat"), the size of text ("text 200"), or a line of the debugger, whose errors come later, through its bridge.
Status carryOut(viewer::MainWindow& window, const QString& line)
{
    // Commands of the window are about what those before have brought.
    if (line.startsWith("action.") || line.startsWith("select ") || line.startsWith("panel ") || line.startsWith("text "))
        waitUntilQuiet(window);
    if (line.startsWith("action.")) return doAction(window, line.mid(7));
    if (line.startsWith("text ")) { // of View, Text size
        const int percent = line.mid(5).toInt();
        if (percent < 80 || percent > 200) return refused("text size '" + line.mid(5).toStdString() + "' is not in 80 to 200");
        viewer::Theme::instance().setTextPercent(percent);
        return {};
    }
    if (!window.document()) return {}; // what could not be opened has been said
    if (line.startsWith("panel ")) return showPanel(window, line.section(' ', 1, 1), line.section(' ', 2));
    if (!line.startsWith("select ")) {
        window.document()->execute(line);
        return {};
    }
    const std::string address = line.mid(7).toStdString();
    if (window.document()->select(address)) {
        window.document()->reveal(viewer::staticAddress(address));
        return {};
    }
    const Result<Address> parsed = parseAddress(address);
    if (!parsed.ok()) return parsed.error().copy();
    const Result<ResolvedAddress> place = resolveAddress(window.document()->model(), *parsed);
    return place.ok() ? refused("'" + address + "' is no operator or value") : place.error().copy();
}

/// Inputs by name, of which a picture without a run would say nothing.
Status checkInputs(viewer::MainWindow& window, const Arguments& arguments)
{
    for (const char* const option : {"input", "feed"})
        for (const std::string& typed : arguments.all(option)) {
            LS_TRY(const InputOption input, splitInputOption(typed));
            if (input.name.empty() || input.name == "all") continue;
            const std::string source = typed.substr(typed.find('=', typed.starts_with('"') ? typed.find('"', 1) : 0) + 1);
            const Result<Array> bound = window.document()->backend().previewInput(input.name, source);
            if (!bound.ok()) return bound.error().copy();
        }
    return {};
}

} // namespace

Result<WindowSize> parseWindowSize(std::string_view text)
{
    WindowSize size;
    const auto fail = [&] {
        return Error(ErrorCode::usage, "option '--size'").found("'" + std::string(text) + "'").expected("WxH or WxH@2, from 960x600");
    };
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
    window.open(
        textOf(names.front()),
        [&window, compares, then = std::move(then)] {
            if (compares) window.compare();
            if (then) then();
        },
        compares ? textOf(names[1]) : QString());
}

Status showState(viewer::MainWindow& window, const Arguments& arguments)
{
    if (!window.document()) { // of a file that cannot be opened a part can be shown
        for (const std::string& line : arguments.all("exec"))
            if (line.starts_with("action.")) LS_CHECK_OK(carryOut(window, textOf(line)));
        return {};
    }
    if (const int task = viewer::taskOf(textOf(arguments.text("task"))); task >= 0) window.setTask(static_cast<viewer::Task>(task));
    const QString place = textOf(arguments.text("goto"));
    bool runs = place.contains('@') || !arguments.all("input").empty();
    for (const std::string& line : arguments.all("exec")) {
        if (line.starts_with("run") || line.starts_with("start")) runs = false; // it begins by itself
        LS_CHECK_OK(carryOut(window, textOf(line)));
    }
    if (place.isEmpty()) return {};
    if (window.document()->backend().isReplay()) runs = true;
    if (runs) window.document()->perform(request::Begin{{}, false});
    const bool later = runs || !arguments.all("exec").empty();
    if (later) window.document()->execute("goto " + place);
    else return carryOut(window, "select " + place);
    return {};
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
    const auto refuse = [&](const Error& error) {
        console.error(error);
        code = static_cast<int>(error.code());
    };
    if (arguments.positionals.empty()) {
        for (const std::string& line : arguments.all("exec"))
            if (Status status = carryOut(window, textOf(line)); !status.ok()) refuse(std::move(status).takeError());
    } else {
        openNamed(window, arguments);
        quiet = waitUntilQuiet(window);
        if (window.document() && arguments.all("exec").empty() && !arguments.has("goto"))
            if (Status status = checkInputs(window, arguments); !status.ok()) refuse(std::move(status).takeError());
        if (window.document())
            QObject::connect(&window.document()->bridge(), &viewer::DebugBridge::refused, &window,
                             [&](const QString& line, const QString& text) {
                                 refuse(Error(ErrorCode::usage, text.toStdString()).at("'" + line.toStdString() + "'"));
                             });
        if (Status status = showState(window, arguments); !status.ok()) refuse(std::move(status).takeError());
    }
    quiet = waitUntilQuiet(window) && quiet;
    // Commands that look at the state after the run, in turn.
    if (const int task = viewer::taskOf(textOf(arguments.text("task")));
        task >= 0 && window.document() && window.task() != static_cast<viewer::Task>(task)) {
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
