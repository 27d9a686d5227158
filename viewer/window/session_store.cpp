#include "viewer/window/session_store.h"

#include "engine/observe/address_names.h"
#include "viewer/bridge/document.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/window/settings.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>

#include <chrono>
#include <future>

namespace loopscope::viewer {

namespace {

constexpr int kVersion = 2;
constexpr auto kClosing = std::chrono::seconds(1); ///< that the window may wait for what runs to stop
constexpr const char* kKnown[] = {"version", "path", "name", "view", "address", "breakpoints", "marks", "inputs", "panels"};

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

QJsonArray marksToJson(const std::vector<Mark>& marks)
{
    QJsonArray all;
    for (const Mark& mark : marks)
        if (mark.timeline == 1) // the others are of values that somebody changed
            all.append(QJsonObject{{"name", QString::fromStdString(mark.name)},
                                   {"text", QString::fromStdString(mark.text)},
                                   {"address", QString::fromStdString(mark.address)},
                                   {"tick", static_cast<qint64>(mark.tick)},
                                   {"step", static_cast<qint64>(mark.step)}});
    return all;
}

std::vector<Mark> marksFromJson(const QJsonArray& array)
{
    std::vector<Mark> marks;
    for (const QJsonValue& each : array) {
        const QJsonObject object = each.toObject();
        if (!object["tick"].isDouble()) continue; // version 1 had no ticks
        marks.push_back({object["name"].toString().toStdString(), object["text"].toString().toStdString(), 1, object["tick"].toInteger(),
                         object["address"].toString().toStdString(), object["step"].toInteger()});
    }
    return marks;
}

QString counted(qsizetype count, const QString& one, const QString& many)
{
    return count == 1 ? QStringLiteral("1 ") + one : QString::number(count) + ' ' + many;
}

} // namespace

QString sessionContents(const QJsonObject& session)
{
    QStringList parts;
    const auto add = [&](const QJsonValue& array, const QString& one, const QString& many) {
        if (const qsizetype count = array.toArray().size(); count > 0) parts.append(counted(count, one, many));
    };
    QJsonArray breakpoints; // a line each, and those of their commands
    for (const QJsonValue& line : session["breakpoints"].toArray())
        if (const QString text = line.toString(); !text.startsWith(' ') && text != "commands" && text != "end") breakpoints.append(line);
    add(breakpoints, QObject::tr("breakpoint"), QObject::tr("breakpoints"));
    add(session["marks"], QObject::tr("mark"), QObject::tr("marks"));
    const QJsonObject panels = session["panels"].toObject();
    add(panels["panelWatches"].toObject()["watches"], QObject::tr("watch"), QObject::tr("watches"));
    add(panels["panelTensor"].toObject()["pins"], QObject::tr("pinned tensor"), QObject::tr("pinned tensors"));
    return parts.join(QStringLiteral(", "));
}

QString sessionNote(const QJsonObject& session) { return versionNote(QObject::tr("session"), session, kVersion, kKnown); }

QString sessionModel(const QString& file, const QJsonObject& session)
{
    const QString named = session["path"].toString(), beside = QFileInfo(file).absolutePath() + '/' + QFileInfo(named).fileName();
    return !QFileInfo::exists(named) && QFileInfo::exists(beside) ? beside : named;
}

QJsonObject viewToJson(const ViewState& view)
{
    return {{"root", QString::fromStdString(view.root)},
            {"inlined", arrayOf(view.inlined)},
            {"expanded", arrayOf(view.expanded)},
            {"condOpen", arrayOf(view.condOpen)},
            {"folded", arrayOf(view.folded)},
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
    view.folded = textsOf(object["folded"]);
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

void SessionStore::attach(Document& document, PanelArea& area)
{
    detach();
    m_document = &document;
    m_area = &area;
    const std::string hash = document.backend().contentHash();
    if (!m_folder.isEmpty() && !hash.empty()) m_path = m_folder + "/" + QString::fromStdString(hash) + ".json";
    QString damage;
    m_before = m_offered = readOwnJson(m_path, &damage);
    m_damage = damage.isEmpty() ? QString()
                                : tr("what was remembered of this model cannot be read: %1; it begins anew, the file is kept as %2.damaged")
                                      .arg(damage, QFileInfo(m_path).fileName());
    if (m_before["version"].toInt() < 1) m_offered = {};
    connect(&document, &Document::viewChanged, this, &SessionStore::changed);
    connect(&document, &Document::stopChanged, this, &SessionStore::noteState);
    connect(&document.bridge(), &DebugBridge::busyChanged, this, [this](bool busy) {
        if (busy && m_timer.isActive()) save();
    });
    connect(&area, &PanelArea::stateChanged, this, &SessionStore::changed);
    noteState();
    m_saved = now();
}

void SessionStore::detach()
{
    if (m_document) {
        disconnect(m_document, nullptr, this, nullptr);
        disconnect(&m_document->bridge(), nullptr, this, nullptr);
    }
    if (m_area) disconnect(m_area, nullptr, this, nullptr);
    m_document = nullptr;
    m_area = nullptr;
    m_path.clear();
    m_damage.clear();
    m_breakpoints.clear();
    m_before = m_offered = m_saved = m_inputs = {};
    m_timer.stop();
}

/// Inputs can be asked for only while nothing runs.
void SessionStore::noteInputs()
{
    if (m_document->bridge().busy()) return;
    m_inputs = {};
    for (const InputPort& port : m_document->backend().inputs())
        if (!port.source.empty()) m_inputs[QString::fromStdString(port.name)] = QString::fromStdString(port.source);
}

void SessionStore::noteState()
{
    if (!m_document) return;
    changed();
    noteInputs();
    m_document->bridge().ask(
        this, "save", [](Inspector& inspector) { return inspector.savedBreakpoints(); },
        [this](const std::string& text) {
            m_breakpoints = QString::fromStdString(text);
            changed();
        });
}

QJsonObject SessionStore::now() const
{
    if (!m_document) return {};
    const StopSnapshot& stop = *m_document->stop();
    QJsonObject session = m_before;
    const auto set = [&](const QString& name, const auto& value) {
        if (!value.isEmpty() || !m_offered.contains(name)) session[name] = value;
    };
    session["version"] = std::max(kVersion, m_before["version"].toInt());
    session["path"] = QFileInfo(QString::fromStdString(m_document->backend().path())).absoluteFilePath();
    session["name"] = QString::fromStdString(m_document->backend().name());
    session["view"] = viewToJson(m_document->view());
    set("address", stop.started ? QString::fromStdString(stop.address) : QString());
    set("breakpoints", QJsonArray::fromStringList(m_breakpoints.split('\n', Qt::SkipEmptyParts)));
    set("marks", marksToJson(stop.marks));
    set("inputs", m_inputs);
    QJsonObject panels = m_before["panels"].toObject();
    if (m_area)
        for (const Panel* const panel : m_area->panels()) {
            const QJsonObject state = panel->state();
            if (!state.isEmpty()) panels[panel->objectName()] = state;
            else if (m_offered.isEmpty()) panels.remove(panel->objectName());
        }
    set("panels", panels);
    return session;
}

void SessionStore::save()
{
    m_timer.stop();
    if (!m_document || m_path.isEmpty()) return;
    noteInputs();
    const QJsonObject session = now();
    if (session == m_saved) return;
    if (writeJson(m_path, session)) m_saved = session;
}

/// What was set right before something long began has no answer yet: what runs is cancelled, and the engine asked once more.
void SessionStore::close()
{
    if (!m_document) return;
    if (DebugBridge& bridge = m_document->bridge(); bridge.busy() && !m_path.isEmpty()) {
        bridge.cancel();
        auto saved = std::make_shared<std::promise<std::string>>();
        std::future<std::string> answer = saved->get_future();
        bridge.backend().session().post("", [saved](Inspector& inspector) { saved->set_value(inspector.savedBreakpoints()); });
        if (answer.wait_for(kClosing) == std::future_status::ready) m_breakpoints = QString::fromStdString(answer.get());
    }
    save();
    detach();
}

bool SessionStore::saveTo(const QString& path) const { return m_document && writeJson(path, now()); }

void SessionStore::restore(const QJsonObject& session)
{
    if (!m_document) return;
    m_offered = {};
    for (const QString& name : session.keys())
        if (!m_before.contains(name)) m_before[name] = session[name];
    const QJsonObject inputs = session["inputs"].toObject();
    if (!m_document->bridge().busy())
        for (const QString& name : inputs.keys()) m_document->backend().setInput(name.toStdString(), inputs[name].toString().toStdString());
    if (session.contains("view")) {
        const ViewState view = viewFromJson(session["view"].toObject());
        if (m_document->model().findGraph(rootOf(view.root)).valid()) m_document->setView(view);
    }
    QStringList lines;
    for (const QJsonValue& line : session["breakpoints"].toArray()) lines.append(line.toString());
    m_document->bridge().change(
        [text = lines.join('\n').toStdString(), marks = marksFromJson(session["marks"].toArray())](DebugSession& debugged) {
            static_cast<void>(debugged.loadBreakpoints(text).ok()); // what does not fit comes back disabled, with its reason
            static_cast<void>(debugged.keepMarks(marks).ok());
        });
    const QJsonObject panels = session["panels"].toObject();
    for (const QString& name : panels.keys())
        if (Panel* const panel = m_area->panel(name)) panel->setState(panels[name].toObject());
}

void SessionStore::forget()
{
    if (!m_path.isEmpty()) QFile::remove(m_path);
    m_before = m_offered = {};
    m_timer.stop();
    m_saved = now();
}

} // namespace loopscope::viewer
