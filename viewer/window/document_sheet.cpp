#include "viewer/window/document_sheet.h"

#include "viewer/bridge/text.h"
#include "viewer/window/panel_registry.h"

#include <QApplication>
#include <QFileInfo>
#include <QVBoxLayout>

#include <string>
#include <utility>

namespace loopscope::viewer {

DocumentSheet::DocumentSheet(std::unique_ptr<Backend> backend, const QString& sessions, RunNotices::Ways ways)
    : m_sessions(sessions),
      m_document(std::make_unique<Document>(std::move(backend))),
      m_banner(new Banner(this)),
      m_notices(*m_banner, std::move(ways))
{
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_banner);
    m_area = new PanelArea([document = m_document.get()](const QString& name) { return makePanel(name, *document); }, this);
    column->addWidget(m_area, 1);
    for (const char* const listener : {"panelConsole", "panelWatches"}) m_area->panel(listener); // they hear commands from the beginning
    connect(m_banner, &Banner::left, this, [this] {
        if (m_area->isOpen("panelGraph")) m_area->show("panelGraph", true);
    });
    connect(m_area, &PanelArea::arrangementChanged, this, [this] { arrangementTouched = true; });
    connect(&m_document->bridge(), &DebugBridge::console, this, [this](const ConsoleEvent& event) {
        if (event.kind == ConsoleEvent::Kind::echo) lastLine = toText(event.text).trimmed();
    });
    connect(&m_watch, &FileWatch::changed, this, [this](const QString& file, bool exists) { m_notices.fileChanged(file, exists); });
    if (!m_document->backend().isReplay()) m_watch.follow(path()); // a recording that is written on is no other one
}

DocumentSheet::~DocumentSheet()
{
    m_sessions.close();
    delete std::exchange(m_area, nullptr);
    disconnect(m_document.get(), nullptr, this, nullptr);
    disconnect(&m_document->bridge(), nullptr, this, nullptr);
}

QString DocumentSheet::path() const { return QFileInfo(toText(m_document->backend().path())).absoluteFilePath(); }

QString DocumentSheet::label() const
{
    const QString name = toText(m_document->backend().name());
    const std::string& other = m_document->stop()->compared.path;
    if (other.starts_with(kFusedSide)) return tr("%1, before and after fusing").arg(name);
    if (other.starts_with(kKernelsSide)) return tr("%1 against %2 kernels").arg(name, toText(other.substr(kKernelsSide.size())));
    return other.empty() ? name : tr("%1 against %2").arg(name, QFileInfo(toText(fileOfSide(other))).fileName());
}

void DocumentSheet::leave()
{
    QWidget* const focus = QApplication::focusWidget();
    m_focus = focus && isAncestorOf(focus) ? focus : nullptr;
    m_area->showWindows(false);
}

void DocumentSheet::enter()
{
    m_area->showWindows(true);
    if (QWidget* const focus = std::exchange(m_focus, {})) focus->setFocus(Qt::OtherFocusReason);
}

} // namespace loopscope::viewer
