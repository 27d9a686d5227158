// The table of commands and keys. Contexts: "global", or the panel that has the focus: "graph", "listing", "tensor", "timeline", "sql".
#pragma once

#include <QString>
#include <QStringList>

#include <span>

namespace loopscope::viewer {

struct KeyRow {
    const char* context;
    const char* key;     ///< "Ctrl+PgDown"; "Ctrl+1..Ctrl+0" and "Up Down Left Right" stand for several
    const char* second;  ///< another key, in graph and listing if it is a letter; empty: none
    const char* command; ///< "stepOver": the action is `action.stepOver`
    const char* label;   ///< "Step over"
    const char* console; ///< what the console shows for it; empty: nothing
};

std::span<const KeyRow> keyTable();
/// Null if there is none.
const KeyRow* findKeyRow(const QString& command, const QString& context = QStringLiteral("global"));
/// The single keys of a cell of the table.
QStringList keysOf(const QString& text);

} // namespace loopscope::viewer
