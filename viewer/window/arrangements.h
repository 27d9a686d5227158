// Which panels a task shows and where (docs/desktop.md, "Arrangements"): sizes for 1280×800, the rest follows from what stretches.
#pragma once

#include <QJsonObject>
#include <QString>
#include <QStringList>

namespace loopscope::viewer {

enum class Task : uint8_t { browse, debug, compare, trace };

inline constexpr int kTaskCount = 4;
QString taskName(Task task); ///< "Browse"
/// As taskName, in any case; −1: none.
int taskOf(const QString& name);
/// `dataflow`: of TensorFlow 1 graphs, where debugging shows frames and tokens. Wide windows have further columns.
QJsonObject drawnArrangement(Task task, bool dataflow, int windowWidth);
/// Under which name the settings keep what was moved.
QString arrangementKey(Task task, bool dataflow);
/// As its user has moved things, of what the settings keep, or as it is drawn.
QJsonObject arrangementFor(Task task, bool dataflow, const QJsonObject& kept, int windowWidth);
/// Object names in the order of Alt+1…0.
QStringList focusOrder(bool dataflow);

} // namespace loopscope::viewer
