// The whole window against its goals, in software rendering: how long its thread was away from its event loop while a person works, and how
// wide the graph is in a narrow window. Run with QT_QPA_PLATFORM=offscreen, from the root of the tree.
#include "app/desktop/terminal_backend.h"
#include "report.h"
#include "viewer/style/theme.h"
#include "viewer/window/main_window.h"

#include <QAction>
#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTimer>

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <string>

namespace loopscope::viewer {

namespace {

class Bench {
public:
    Bench()
        : m_services(app::Arguments()),
          m_window(m_services, MainWindow::Folders{m_folder.path() + "/settings.json", m_folder.path() + "/sessions"})
    {
        m_window.resize(1440, 900);
        m_window.show();
        QObject::connect(&m_tick, &QTimer::timeout, [this] {
            m_longest = std::max(m_longest, static_cast<double>(m_away.nsecsElapsed()) / 1e6);
            m_longestWork = std::max(m_longestWork, work() - m_worked);
            m_away.start();
            m_worked = work();
        });
        wait();
    }

    MainWindow& window() { return m_window; }
    QString folder() const { return m_folder.path(); }

    /// Until what was begun is done and drawn; prints the longest time between two turns of the event loop, and the most that the thread
    /// itself computed between two, which other programs on the machine do not lengthen.
    void measure(const char* name, const std::function<void()>& begin)
    {
        m_longest = m_longestWork = 0;
        m_away.start();
        m_worked = work();
        m_tick.start(0);
        begin();
        wait();
        m_tick.stop();
        bench::report((std::string("window.away_") + name).c_str(), m_longest, "ms", 50);
        bench::report((std::string("window.turn_") + name).c_str(), m_longestWork, "ms", 50);
    }
    void open(const QString& path, const std::string& input, const std::string& source)
    {
        m_window.open(path);
        wait();
        if (!m_window.document()) qFatal("%s cannot be opened", qPrintable(path));
        m_window.document()->backend().setInput(input, source);
    }
    void execute(const char* line)
    {
        measure(QByteArray(line).split(' ').front().constData(), [&] { m_window.document()->execute(line); });
    }
    void trigger(const char* command)
    {
        measure(command, [&] { m_window.action(command)->trigger(); });
    }

private:
    /// What this thread has computed so far, in milliseconds.
    static double work()
    {
        timespec spent = {};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
        return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
    }
    void wait()
    {
        QElapsedTimer quiet; // drawn, too
        quiet.start();
        while (quiet.elapsed() < 150) {
            QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
            if (!m_window.settled()) quiet.start();
        }
    }

    QTemporaryDir m_folder;
    app::DesktopServices m_services;
    MainWindow m_window;
    QTimer m_tick;
    QElapsedTimer m_away;
    double m_longest = 0, m_longestWork = 0, m_worked = 0;
};

void write(const QString& path, const std::string& text)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), static_cast<qint64>(text.size())) < 0) qFatal("cannot write");
}

/// `operators` in a row, as large models are.
std::string row(int operators)
{
    std::string text = "graph main(x: f32[4]) {\n";
    for (int n = 0; n < operators; ++n)
        text += "  v" + std::to_string(n) + " = neg(" + (n == 0 ? "x" : "v" + std::to_string(n - 1)) + ")\n";
    return text + "  return v" + std::to_string(operators - 1) + "\n}\n";
}

int measure()
{
    Bench bench;
    MainWindow& window = bench.window();
    bench.measure("open_collatz", [&] { window.open("samples/text/collatz.lsir"); });
    window.document()->backend().setInput("x", "27");
    bench.trigger("run");
    bench.execute("goto while#0@37:body/add#3");
    bench.trigger("stepOver");
    bench.trigger("backOver");
    bench.trigger("nextIteration");
    for (const Task task : {Task::browse, Task::debug}) {
        window.setTask(task);
        window.resize(960, 600);
        bench.measure("resize", [] {});
        const Panel* const graph = window.area()->panel("panelGraph");
        bench::reportRate(task == Task::browse ? "window.graph_at_960_browse" : "window.graph_at_960_debug", graph->width(), "px", 480);
        window.resize(1440, 900);
    }

    bench.open("samples/text/nan_at_613.lsir", "n", "1000000");
    bench.measure("long_run", [&] { window.action("run")->trigger(); });
    bench.execute("goto while#0@500000:body/mul#5");

    write(bench.folder() + "/seeds.lsir", "graph main(x: f32[4096,4096]) {\n  y = neg(x)\n  return y\n}\n");
    bench.open(bench.folder() + "/seeds.lsir", "x", "[0]");
    bench.measure("seeds", [&] { window.document()->execute("input x=@7"); });
    bench.measure("large_tensor", [&] { window.action("run")->trigger(); });
    bench.measure("look_at_large", [&] { window.document()->select("main/neg#0"); });

    write(bench.folder() + "/row.lsir", row(10000));
    bench.measure("open_10k", [&] { window.open(bench.folder() + "/row.lsir"); });
    window.document()->backend().setInput("x", "@1");
    bench.measure("run_10k", [&] { window.action("run")->trigger(); });
    bench.measure("goto_10k", [&] { window.document()->execute("goto main/neg#5000"); });
    return 0;
}

} // namespace

} // namespace loopscope::viewer

int main(int argc, char** argv)
{
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication app(argc, argv);
    loopscope::viewer::Theme::instance().apply();
    return loopscope::viewer::measure();
}
