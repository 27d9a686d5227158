// What a picture writes over its operators beside their states: figures that are asked for, and what went wrong.
#include "viewer/canvas/graph_pane.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QRegularExpression>

#include <utility>

namespace loopscope::viewer {

/// "time" and "health" of a run that is made for it, "data" of a file that is chosen, "data FILE", "none".
bool GraphPane::changeOverlay(const QString& wanted)
{
    if (wanted == QLatin1String("none")) {
        m_canvas->cards().setOverlay(nullptr);
        return true;
    }
    if (wanted.startsWith(QLatin1String("data "))) {
        readOverlay(wanted.mid(5));
        return true;
    }
    if (wanted == QLatin1String("data")) {
        auto* const dialog = new QFileDialog(this, tr("Node data"), QString(), tr("Node data (*.json);;All files (*)"));
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setFileMode(QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, this, &GraphPane::readOverlay);
        dialog->open();
        return true;
    }
    const bool asksForTime = wanted == QLatin1String("time");
    if (!asksForTime && wanted != QLatin1String("health")) return false;
    const auto* const backend = dynamic_cast<const Measuring*>(&m_document.backend());
    if (backend == nullptr) return false;
    m_measuring.run([backend](const std::stop_token& stop) { return backend->measured(stop); },
                    [this, asksForTime](const Result<std::vector<OperatorFigure>>& figures) {
                        if (!figures.ok())
                            return m_document.report({Problem::Severity::error, figures.error().message(), {}, "run the model once"});
                        m_canvas->cards().setOverlay(
                            std::make_shared<const NodeOverlay>(asksForTime ? timeOverlay(*figures) : healthOverlay(*figures)));
                    });
    return true;
}

void GraphPane::readOverlay(const QString& path)
{
    QFile file(path);
    const QString name = QFileInfo(path).fileName();
    constexpr qint64 kMost = qint64{64} << 20;
    if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly) || file.size() > kMost)
        return m_document.report({Problem::Severity::error, "node data cannot be read: " + name.toStdString(), {}, "choose another file"});
    Result<NodeOverlay> overlay = nodeDataOverlay(file.readAll(), name, m_document.model());
    if (!overlay.ok()) return m_document.report({Problem::Severity::error, overlay.error().message(), {}, "choose another file"});
    m_canvas->cards().setOverlay(std::make_shared<const NodeOverlay>(std::move(overlay).value()));
}

/// What went wrong stands beside the operator that failed.
void GraphPane::showCallout()
{
    const StopSnapshot& stop = *m_document.stop();
    Callout callout;
    for (const StopReason& reason : stop.report.reasons) {
        if (!stop.failed || reason.cause != StopCause::error) continue;
        callout.address = staticAddress(stop.address);
        callout.title = tr("failed at step %L1").arg(static_cast<qint64>(stop.position.step));
        callout.text = QString::fromStdString(reason.text);
        if (const QString place = toText(callout.address) + QStringLiteral(": "); callout.text.startsWith(place))
            callout.text.remove(0, place.size()); // it stands beside it
        static const QRegularExpression code(QStringLiteral("^[A-Z][0-9]+: "));
        callout.text.remove(code);
    }
    m_canvas->cards().setCallout(callout);
}

} // namespace loopscope::viewer
