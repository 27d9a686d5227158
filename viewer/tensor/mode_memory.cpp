#include "viewer/tensor/mode_memory.h"

#include <QJsonArray>

namespace loopscope::viewer {

namespace {

QString keyOf(DType dtype, int rank, bool inLoop)
{
    const std::string_view name = dtypeName(dtype);
    return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size())) + ' ' + QString::number(rank) + (inLoop ? " loop" : "");
}

} // namespace

std::optional<RememberedModes> ModeMemory::find(DType dtype, int rank, bool inLoop) const
{
    const QJsonObject entry = m_entries[keyOf(dtype, rank, inLoop)].toObject();
    if (entry.isEmpty()) return std::nullopt;
    RememberedModes found;
    for (const QJsonValue& mode : entry["modes"].toArray()) found.modes.append(mode.toString());
    found.overIterations = entry["iterations"].toBool();
    return found;
}

bool ModeMemory::remember(DType dtype, int rank, bool inLoop, const RememberedModes& modes)
{
    const QString key = keyOf(dtype, rank, inLoop);
    QJsonObject entry = m_entries[key].toObject();
    entry["modes"] = QJsonArray::fromStringList(modes.modes);
    if (modes.overIterations) entry["iterations"] = true;
    else entry.remove("iterations");
    if (m_entries[key] == entry) return false;
    m_entries[key] = entry;
    return true;
}

} // namespace loopscope::viewer
