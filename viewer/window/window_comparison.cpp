#include "viewer/window/window_comparison.h"

#include "viewer/bridge/text.h"
#include "viewer/window/banner.h"
#include "viewer/window/main_window.h"
#include "viewer/window/status_line.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr const char* kCompareInput = "@7"; ///< of a comparison that was given none

QString tr(const char* text) { return MainWindow::tr(text); }

} // namespace

Document& WindowComparison::document() const { return *m_window.document(); }

/// Inputs belong to the engine thread while it works.
bool WindowComparison::isRunning()
{
    const bool runs = document().bridge().busy();
    if (runs) m_window.status()->say(tr("the model runs: pause it to compare"));
    return runs;
}

void WindowComparison::with(const QString& other, int rewrite)
{
    if (!m_window.document()) return m_window.open(other);
    if (isRunning()) return;
    const std::vector<InputPort> inputs = document().backend().inputs();
    m_window.open(
        toText(document().backend().path()),
        [this, inputs, rewrite] {
            for (const InputPort& port : inputs)
                if (!port.source.empty() && !port.source.starts_with("@last")) // there has been no run of the document that is opened now
                    document().backend().setInput(port.name, port.source);
            run();
            const std::shared_ptr<const FusedSide> side = document().backend().fused();
            if (!side || (rewrite < 0 && !side->file.empty())) return; // of two files the differences come first
            if (m_window.area()->show("panelRewrites", true) && rewrite >= 0)
                m_window.panelCommand("panelRewrites", QStringLiteral("row %1").arg(rewrite));
        },
        other);
}

void WindowComparison::swapSides()
{
    const ComparedRun& compared = document().stop()->compared;
    if (compared.path.empty() || !compared.reference || !compared.reference->model() || isRunning()) return;
    m_window.open(
        toText(fileOfSide(compared.path)),
        [this, inputs = document().backend().inputs()] {
            // By name, else by position, as the other side was fed.
            const std::vector<InputPort> ports = document().backend().inputs();
            for (size_t i = 0; i < inputs.size(); ++i) {
                if (inputs[i].source.empty() || inputs[i].source.starts_with("@last")) continue;
                const auto named = std::ranges::find(ports, inputs[i].name, &InputPort::name);
                if (named == ports.end() && i >= ports.size()) continue;
                document().backend().setInput(named != ports.end() ? named->name : ports[i].name, inputs[i].source);
            }
            run();
        },
        toText(document().backend().path()));
}

/// What is open stays open.
void WindowComparison::refuse(const Error& error)
{
    document().report({Problem::Severity::error, error.message(), {}, {}});
    m_window.banner().show(Banner::Kind::error, tr("cannot be compared: %1").arg(toText(error.message())), QString(),
                           {{tr("Choose another file"), [this] { m_window.run("compare"); }}});
}

void WindowComparison::run()
{
    if (!m_window.document()) return;
    bool filled = false;
    for (const InputPort& port : document().backend().inputs()) {
        if (document().stop()->started || !port.source.empty()) continue;
        document().backend().setInput(port.name, kCompareInput);
        filled = true;
    }
    m_window.setTask(Task::compare);
    m_window.area()->show("panelCompareA", true); // not the whole graph, in which the keyboard was
    m_window.panelCommand("panelDifferences", "compare");
    if (filled) m_window.status()->say(tr("A and B run on the same input, filled with seed %1").arg(QLatin1String(kCompareInput + 1)));
}

} // namespace loopscope::viewer
