// What can be asked about a value and done to it, wherever it is shown: one menu for tables, the tensor viewer and lists.
#pragma once

#include "viewer/bridge/document.h"

#include <QString>

#include <functional>

class QMenu;
class QWidget;

namespace loopscope::viewer {

/// A value as the debugger names it at the present stop.
struct AskedValue {
    QString expression;        ///< "add_1", "{main/while#1:body/add#14:0}"
    QString text;              ///< what is shown of it, for the clipboard
    bool isAbnormal = false;   ///< holds a NaN or an infinity
    bool isPlace = true;       ///< names a value that is written; false: an expression over several
    std::function<void()> set; ///< begins to edit it; empty: it cannot be set here
};

/// Set, Watch, Break when…, Who wrote, Why, Copy. `asking`: in whose window the answers of the debugger come to the front.
void fillValueMenu(QMenu& menu, Document& document, QWidget& asking, const AskedValue& value);
/// The same of a value wherever it stands; what it is set to is asked for. Nothing is added where the selection has no value.
void fillPlaceMenu(QMenu& menu, Document& document, QWidget& asking, const Selection& place, bool isAbnormal = false);
/// Performs a question of the debugger and brings the console to the front, where its answer stands.
void askDebugger(Document& document, QWidget& asking, const QString& line);

} // namespace loopscope::viewer
