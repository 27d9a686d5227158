// The commands of the window with their keys: what menus, tool bar, palette and key sheet show. Forward keys are those of VS Code; Alt and
// the same key goes back.
#include "viewer/window/key_table.h"

#include <array>

namespace loopscope::viewer {

namespace {

constexpr auto kRows = std::to_array<KeyRow>({
    {"global", "F5", "c", "run", "Continue", "continue"},
    {"global", "F6", "Pause", "pause", "Pause", "(Ctrl-C)"},
    {"global", "Shift+F5", "", "stop", "Stop", ""},
    {"global", "Ctrl+Shift+F5", "", "restart", "Restart", "run"},
    {"global", "F10", "n", "stepOver", "Step over", "next"},
    {"global", "F11", "s", "stepInto", "Step into", "step"},
    {"global", "Shift+F11", "o", "stepOut", "Step out", "finish"},
    {"global", "Ctrl+F10", "u", "runToCursor", "Run to cursor", "until ADDR"},
    {"global", "Alt+F5", "Shift+C", "reverseRun", "Continue backwards", "reverse-continue"},
    {"global", "Alt+F10", "Shift+N", "backOver", "Step back over", "reverse-next"},
    {"global", "Alt+F11", "Shift+S", "backInto", "Step back into", "reverse-step"},
    {"global", "Alt+Shift+F11", "Shift+O", "backOut", "Step back out", "reverse-finish"},
    {"global", "Alt+Shift+F10", "Shift+U", "backToCursor", "Run back to cursor", "goto ADDR"},
    {"global", "Ctrl+PgDown", "i", "nextIteration", "Next iteration", "iter +1"},
    {"global", "Ctrl+PgUp", "Shift+I", "previousIteration", "Previous iteration", "iter -1"},
    {"global", "Ctrl+I", "", "gotoIteration", "Go to iteration", "iter N"},
    {"global", "F9", "b", "toggleBreakpoint", "Toggle breakpoint", "break ADDR"},
    {"global", "Ctrl+F9", "e", "enableBreakpoint", "Enable or disable breakpoint", "enable N"},
    {"global", "Alt+F9", "Shift+B", "editBreakpoint", "Edit breakpoint", "condition N EXPR"},
    {"global", "Ctrl+Shift+F9", "", "deleteBreakpoints", "Delete all breakpoints", "delete"},
    {"global", "Shift+F9", "", "watchExpression", "Watch selection", "display EXPR"},
    {"global", "F8", "", "nextFinding", "Next difference or problem", ""},
    {"global", "Shift+F8", "", "previousFinding", "Previous difference or problem", ""},
    {"global", "Ctrl+Alt+N", "", "nextNaN", "Next NaN or Inf", "tbreak nan; continue"},
    {"global", "Ctrl+Alt+Shift+N", "", "previousNaN", "Previous NaN or Inf", "tbreak nan; reverse-continue"},
    {"global", "Ctrl+B", "", "bookmark", "Bookmark here", "mark NAME"},
    {"global", "Ctrl+1..Ctrl+0", "", "gotoBookmark", "Go to bookmark 1 to 10", "goto NAME"},
    {"global", "Alt+Left", "", "back", "Back in history", "back"},
    {"global", "Alt+Right", "", "forward", "Forward in history", "forward"},
    {"global", "Ctrl+G", "", "gotoAddress", "Go to address, step, percent", "goto ADDR"},
    {"global", "Ctrl+F", "", "find", "Find everywhere", ""},
    {"global", "F3", "", "findNext", "Next hit", ""},
    {"global", "Shift+F3", "", "findPrevious", "Previous hit", ""},
    {"global", "Ctrl+P", "", "quickOpen", "Go to operator by name", "goto ADDR"},
    {"global", "Ctrl+Shift+P", "", "palette", "Command palette", ""},
    {"global", "F1", "", "keySheet", "Keys and help", "help"},
    {"global", "Ctrl+O", "", "open", "Open model", ""},
    {"global", "Ctrl+Shift+O", "", "openRecording", "Open recording", ""},
    {"global", "Ctrl+Shift+D", "", "compare", "Compare two models or runs", ""},
    {"global", "Ctrl+S", "", "saveSession", "Save session", "save PATH"},
    {"global", "Ctrl+R", "", "reload", "Reload file", ""},
    {"global", "Ctrl+W", "", "closeTab", "Close the file", ""},
    {"global", "Ctrl+F6", "", "nextFile", "Next open file", ""},
    {"global", "Ctrl+Shift+F6", "", "previousFile", "Previous open file", ""},
    {"global", "Ctrl+Tab", "", "nextTab", "Next tab", ""},
    {"global", "Ctrl+Shift+Tab", "", "previousTab", "Previous tab", ""},
    {"global", "Ctrl+Q", "", "quit", "Quit", "quit"},
    {"global", "Ctrl+,", "", "settings", "Settings", "set option"},
    {"global", "Ctrl+Shift+E", "", "exportGraph", "Export graph", "export-graph"},
    {"global", "Ctrl+Alt+R", "", "record", "Start or stop recording", "record on|off"},
    {"global", "Ctrl+Shift+C", "", "copyAddress", "Copy address", ""},
    {"global", "Ctrl+`", "", "console", "Console", ""},
    {"global", "Alt+1..Alt+0", "", "focusPanel", "Focus panel 1 to 10", ""},
    {"global", "Ctrl+Shift+1..Ctrl+Shift+4", "", "task", "Browse, Debug, Compare, Trace", ""},
    {"global", "Escape", "", "cancel", "Cancel the running work, else close the popup, else clear selection", "(Ctrl-C)"},
    {"graph", "Return", "", "drillIn", "Open the callee here", ""},
    {"graph", "Shift+Return", "", "inlineCallee", "Open the callee inline", ""},
    {"graph", "Ctrl+Shift+Return", "", "splitCallee", "Open the callee beside", ""},
    {"graph", "Ctrl+Return", "", "properties", "Properties", ""},
    {"graph", "Backspace", "", "up", "Up to the caller", "up"},
    {"graph", "Up Down Left Right", "", "walk", "Along edges; between siblings", ""},
    {"graph", "Tab", "", "nextNode", "Next node in listing order", ""},
    {"graph", "Shift+Tab", "", "previousNode", "Previous node in listing order", ""},
    {"graph", "[", "", "producer", "To the producer", ""},
    {"graph", "]", "", "consumer", "To the consumer, again for the next one", ""},
    {"graph", "+", "", "expand", "Expand group", ""},
    {"graph", "-", "", "collapse", "Collapse group", ""},
    {"graph", "*", "", "expandAll", "Expand all below", ""},
    {"graph", "Space", "", "fit", "Fit", ""},
    {"graph", "Shift+Space", "", "fitSelection", "Fit selection", ""},
    {"graph", "Ctrl++", "", "zoomIn", "Zoom in", ""},
    {"graph", "Ctrl+-", "", "zoomOut", "Zoom out", ""},
    {"graph", "Ctrl+Alt+0", "", "actualSize", "100 percent", ""},
    {"graph", "Ctrl+D", "", "attributes", "Show attributes", ""},
    {"graph", "Ctrl+U", "", "names", "Show tensor names", ""},
    {"graph", "Ctrl+K", "", "orientation", "Top-down or left-right", ""},
    {"graph", "m", "", "minimap", "Minimap", ""},
    {"graph", "t", "", "traceUp", "Light everything upstream, again downstream, again off", ""},
    {"graph", "a", "", "toggleAB", "Show side A or B in place", ""},
    {"graph", ",", "", "previousWrite", "Previous write of the selected tensor", "lastwrite -g V"},
    {"graph", ".", "", "nextWrite", "Next write of the selected tensor", "nextwrite -g V"},
    {"graph", "Ctrl+C", "", "copyName", "Copy name", ""},
    {"listing", "Return", "", "drillIn", "Open the callee here", ""},
    {"listing", "Space", "", "inspect", "Show in graph and tensor", ""},
    {"listing", "[", "", "producer", "To the producer", ""},
    {"listing", "]", "", "consumer", "To the consumer", ""},
    {"listing", ",", "", "previousWrite", "Previous write", "lastwrite -g V"},
    {"listing", ".", "", "nextWrite", "Next write", "nextwrite -g V"},
    {"listing", "Backspace", "", "up", "Up to the caller", ""},
    {"listing", "Ctrl+C", "", "copyName", "Copy line", ""},
    {"tensor", "Up Down Left Right", "", "moveCell", "Move the cell cursor", ""},
    {"tensor", "PgUp PgDown", "", "slice", "Previous or next slice of the outer axis", ""},
    {"tensor", "1..7", "", "mode", "Table, heat map, image, histogram, plot, statistics, quantization", ""},
    {"tensor", "Ctrl+J", "", "gotoElement", "Go to element", "print V[i,j]"},
    {"tensor", "h", "", "elementHistory", "Who wrote this element", "lastchange V[i,j]"},
    {"tensor", "r", "", "fitRange", "Fit the colour range", ""},
    {"tensor", "p", "", "pin", "Pin", ""},
    {"tensor", "d", "", "difference", "Difference to run, model, iteration", ""},
    {"tensor", ",", "", "previousWrite", "Previous write", "lastwrite -g V"},
    {"tensor", ".", "", "nextWrite", "Next write", "nextwrite -g V"},
    {"tensor", "Ctrl+E", "", "exportTensor", "Export npy or csv", ""},
    {"tensor", "Ctrl+C", "", "copyCells", "Copy cells", ""},
    {"timeline", "Left", "", "stepBack", "One step back", "reverse-step"},
    {"timeline", "Right", "", "step", "One step", "step"},
    {"timeline", "PgUp", "", "iterationBack", "One iteration back", ""},
    {"timeline", "PgDown", "", "iterationForward", "One iteration", ""},
    {"timeline", "Home", "", "first", "First step", ""},
    {"timeline", "End", "", "last", "Last known step", ""},
    {"timeline", "+", "", "zoomIn", "Zoom in", ""},
    {"timeline", "-", "", "zoomOut", "Zoom out", ""},
    {"timeline", "Space", "", "fit", "Fit", ""},
    {"timeline", "0..9", "", "typeIteration", "Type an iteration, Return goes there", ""},
    {"sql", "Ctrl+Return", "", "runQuery", "Run the query", ""},
    {"sql", "Ctrl+Shift+S", "", "saveRecipe", "Save as recipe", ""},
});

} // namespace

std::span<const KeyRow> keyTable() { return kRows; }

const KeyRow* findKeyRow(const QString& command, const QString& context)
{
    for (const KeyRow& row : kRows)
        if (command == QLatin1String(row.command) && context == QLatin1String(row.context)) return &row;
    return nullptr;
}

QStringList keysOf(const QString& text)
{
    // "Ctrl+1..Ctrl+0", "1..7": the digits in between, 0 after 9.
    const qsizetype range = text.indexOf(QLatin1String(".."));
    if (range > 0) {
        const QString first = text.left(range), last = text.mid(range + 2), stem = first.chopped(1);
        QStringList keys;
        for (int digit = first.right(1).toInt();; digit = (digit + 1) % 10) {
            keys.append(stem + QString::number(digit));
            if (digit == last.right(1).toInt() || keys.size() == 10) break;
        }
        return keys;
    }
    return text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
}

} // namespace loopscope::viewer
