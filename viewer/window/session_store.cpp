#include "viewer/window/session_store.h"

#include "viewer/bridge/document.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/window/settings.h"

#include <QJsonArray>

namespace loopscope::viewer {

namespace {

constexpr int kVersion = 1;

QJsonArray arrayOf(const std::set<std::string>& texts)
{
    QJsonArray array;
    for (const std::string& text : texts) array.append(QString::fromStdString(text));
    return array;
}

std::set<std::string> textsOf(const QJsonValue& value)
{
    std::set<std::string> texts;
    for (const QJsonValue& each : value.toArray()) texts.insert(each.toString().toStdString());
    return texts;
}

} // namespace

QJsonObject viewToJson(const ViewState& view)
{
    return {{"root", QString::fromStdString(view.root)},
            {"inlined", arrayOf(view.inlined)},
            {"expanded", arrayOf(view.expanded)},
            {"condOpen", arrayOf(view.condOpen)},
            {"groupByNames", view.groupByNames},
            {"allExpanded", view.allExpanded},
            {"showConstants", view.showConstants},
            {"showAttributes", view.showAttributes},
            {"showNames", view.showNames},
            {"leftToRight", view.leftToRight}};
}

ViewState viewFromJson(const QJsonObject& object)
{
    ViewState view;
    view.root = object["root"].toString(QString::fromStdString(view.root)).toStdString();
    view.inlined = textsOf(object["inlined"]);
    view.expanded = textsOf(object["expanded"]);
    view.condOpen = textsOf(object["condOpen"]);
    view.groupByNames = object["groupByNames"].toBool(view.groupByNames);
    view.allExpanded = object["allExpanded"].toBool();
    view.showConstants = object["showConstants"].toBool();
    view.showAttributes = object["showAttributes"].toBool();
    view.showNames = object["showNames"].toBool();
    view.leftToRight = object["leftToRight"].toBool();
    return view;
}

SessionStore::SessionStore(const QString& folder, QObject* parent) : QObject(parent), m_folder(folder)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(1000);
    connect(&m_timer, &QTimer::timeout, this, &SessionStore::save);
}

QString SessionStore::pathOf(const std::string& contentHash) const
{
    if (m_folder.isEmpty() || contentHash.empty()) return {};
    return m_folder + "/" + QString::fromStdString(contentHash) + ".json";
}

void SessionStore::attach(Document& document, PanelArea& area)
{
    detach();
    m_document = &document;
    m_area = &area;
    m_before = readJson(pathOf(document.backend().contentHash()));
    connect(&document, &Document::viewChanged, this, &SessionStore::changed);
    connect(&document, &Document::stopChanged, this, [this] {
        if (!m_document) return;
        m_document->bridge().ask(
            this, "save", [](Debugger& debugger) { return debugger.breakpoints().save(); },
            [this](const std::string& text) {
                const QString lines = QString::fromStdString(text);
                if (lines == m_breakpoints) return;
                m_breakpoints = lines;
                changed();
            });
    });
}

void SessionStore::detach()
{
    if (m_document) disconnect(m_document, nullptr, this, nullptr);
    m_document = nullptr;
    m_area = nullptr;
    m_breakpoints.clear();
    m_before = {};
    m_dirty = false;
    m_timer.stop();
}

void SessionStore::changed()
{
    m_dirty = true;
    m_timer.start();
}

QJsonObject SessionStore::find(const std::string& contentHash) const
{
    const QJsonObject session = readJson(pathOf(contentHash));
    const bool known = session["version"].toInt() >= 1 && (session.contains("breakpoints") || session.contains("view"));
    return known ? session : QJsonObject();
}

QJsonObject SessionStore::now() const
{
    if (!m_document) return {};
    QJsonObject session = m_before;
    session["version"] = std::max(kVersion, m_before["version"].toInt());
    session["path"] = QString::fromStdString(m_document->backend().path());
    session["name"] = QString::fromStdString(m_document->backend().name());
    session["view"] = viewToJson(m_document->view());
    session["address"] = QString::fromStdString(m_document->stop()->address);
    session["breakpoints"] = QJsonArray::fromStringList(m_breakpoints.split('\n', Qt::SkipEmptyParts));
    QJsonArray marks;
    for (const Mark& mark : m_document->stop()->marks)
        marks.append(QJsonObject{{"name", QString::fromStdString(mark.name)},
                                 {"text", QString::fromStdString(mark.text)},
                                 {"address", QString::fromStdString(mark.address)},
                                 {"step", static_cast<qint64>(mark.step)}});
    if (m_document->stop()->started) session["marks"] = marks;
    if (!m_document->bridge().busy()) {
        QJsonObject inputs;
        for (const InputPort& port : m_document->backend().inputs())
            if (!port.source.empty()) inputs[QString::fromStdString(port.name)] = QString::fromStdString(port.source);
        session["inputs"] = inputs;
    }
    QJsonObject panels = m_before["panels"].toObject();
    if (m_area)
        for (const Panel* const panel : m_area->findChildren<Panel*>())
            if (const QJsonObject state = panel->state(); !state.isEmpty()) panels[panel->objectName()] = state;
    if (!panels.isEmpty()) session["panels"] = panels;
    return session;
}

void SessionStore::save()
{
    m_timer.stop();
    // A look at a file leaves nothing behind; what was set or run does.
    if (!m_document || (!m_dirty && !m_document->stop()->started)) return;
    const QString path = pathOf(m_document->backend().contentHash());
    if (path.isEmpty()) return;
    writeJson(path, now());
    m_dirty = false;
}

bool SessionStore::saveTo(const QString& path) const { return m_document && writeJson(path, now()); }

void SessionStore::restore(Document& document, PanelArea& area, const QJsonObject& session)
{
    const QJsonObject inputs = session["inputs"].toObject();
    if (!document.bridge().busy())
        for (const QString& name : inputs.keys()) document.backend().setInput(name.toStdString(), inputs[name].toString().toStdString());
    if (session.contains("view")) {
        const ViewState view = viewFromJson(session["view"].toObject());
        if (document.model().findGraph(view.root.substr(0, view.root.find('/'))).valid()) document.setView(view);
    }
    for (const QJsonValue& line : session["breakpoints"].toArray()) document.execute(line.toString());
    const QJsonObject panels = session["panels"].toObject();
    for (const QString& name : panels.keys())
        if (Panel* const panel = area.panel(name)) panel->setState(panels[name].toObject());
}

} // namespace loopscope::viewer
