#include "viewer/window/settings.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QSaveFile>

namespace loopscope::viewer {

namespace {

constexpr int kVersion = 2;
constexpr int kRecent = 20;
constexpr const char* kKnown[] = {"version", "task",       "arrangements", "theme",      "dense",       "textPercent", "keys",
                                  "recent",  "openCallee", "geometry",     "wheelZooms", "tensorModes", "compare",     "openFiles"};

} // namespace

QString versionNote(const QString& what, const QJsonObject& object, int current, std::span<const char* const> known)
{
    const int version = object["version"].toInt(1);
    const auto isKnown = [&](const QString& key) {
        return std::any_of(known.begin(), known.end(), [&](const char* name) { return key == QLatin1String(name); });
    };
    const QStringList keys = object.keys();
    const auto unknown = std::count_if(keys.begin(), keys.end(), [&](const QString& key) { return !isKnown(key); });
    if (version == current && unknown == 0) return {};
    QString note = QObject::tr("%1 of version %2 read").arg(what).arg(version);
    if (unknown > 0)
        note +=
            QObject::tr("; %1 unknown %2 kept unchanged").arg(unknown).arg(unknown == 1 ? QObject::tr("entry") : QObject::tr("entries"));
    return note;
}

bool writeJson(const QString& path, const QJsonObject& object)
{
    QDir().mkpath(QFileInfo(path).absolutePath());
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    file.write(QJsonDocument(object).toJson());
    return file.commit();
}

QJsonObject readJson(const QString& path, QString* damage)
{
    if (path.isEmpty()) return {};
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    QJsonParseError problem;
    const QJsonDocument document = QJsonDocument::fromJson(file.readAll(), &problem);
    if (damage && problem.error != QJsonParseError::NoError)
        *damage = QObject::tr("%1 at byte %2").arg(problem.errorString()).arg(problem.offset);
    else if (damage && !document.isObject()) *damage = QObject::tr("a JSON list");
    return document.object();
}

QJsonObject readOwnJson(const QString& path, QString* damage)
{
    const QJsonObject object = readJson(path, damage);
    if (damage->isEmpty()) return object;
    const QString kept = path + QStringLiteral(".damaged");
    QFile::remove(kept);
    QFile::copy(path, kept);
    return object;
}

Settings::Settings(const QString& path, QObject* parent) : QObject(parent), m_path(path)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(1000);
    connect(&m_timer, &QTimer::timeout, this, &Settings::flush);
    if (path.isEmpty()) return;
    QString damage;
    m_values = readOwnJson(path, &damage);
    if (!damage.isEmpty())
        m_note = tr("settings cannot be read: %1; they begin anew, the file is kept as %2.damaged").arg(damage, QFileInfo(path).fileName());
    if (m_values.isEmpty()) return;
    const int version = m_values["version"].toInt(1);
    // Version 1 wrote the theme as a number.
    if (version < 2 && m_values["theme"].isDouble())
        m_values["theme"] = QStringList{"light", "dark", "contrast", "system"}.value(m_values["theme"].toInt(), "system");
    m_note = versionNote(tr("settings"), m_values, kVersion, kKnown);
}

QString calleeName(OpenCallee how)
{
    switch (how) {
    case OpenCallee::drillIn: return QStringLiteral("drillIn");
    case OpenCallee::split: return QStringLiteral("split");
    case OpenCallee::inlineHere: break;
    }
    return QStringLiteral("inline");
}

OpenCallee calleeNamed(const QString& name)
{
    for (const OpenCallee how : {OpenCallee::drillIn, OpenCallee::split})
        if (name == calleeName(how)) return how;
    return OpenCallee::inlineHere;
}

Settings::~Settings()
{
    if (m_timer.isActive()) flush();
}

void Settings::set(const QString& key, const QJsonValue& value)
{
    if (m_values[key] == value) return;
    m_values[key] = value;
    m_timer.start();
}

void Settings::flush()
{
    m_timer.stop();
    if (m_path.isEmpty() || m_values.isEmpty()) return;
    m_values["version"] = std::max(kVersion, m_values["version"].toInt());
    writeJson(m_path, m_values);
}

void Settings::addRecent(const QString& path, const QString& name, const QString& note)
{
    QJsonArray recent;
    recent.append(QJsonObject{{"path", path}, {"name", name}, {"note", note}, {"time", QDateTime::currentSecsSinceEpoch()}});
    for (const QJsonValue& other : m_values["recent"].toArray())
        if (other.toObject()["path"] != path && recent.size() < kRecent) recent.append(other);
    set("recent", recent);
}

} // namespace loopscope::viewer
