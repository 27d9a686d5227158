// A stop as a person reads it, at most twelve lines: reasons and place, operators around, what changed, displays.
#pragma once

#include "app/terminal/ink.h"
#include "app/terminal/operator_lines.h"
#include "app/terminal/stop_view.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// `width`: columns of the terminal, 0: lines are not cut. Lines are ended.
std::string stopText(const StopView& view, OperatorLines& lines, const Ink& ink, int width);

/// One operator's line: mark, number, text, type, value. Columns are as wide as the widest of the lines.
struct OperatorRow {
    bool next = false;
    int32_t number = 0;
    OperatorLine line;
    OperatorValues values;
};
std::string operatorRows(const std::vector<OperatorRow>& rows, const Ink& ink, int width);

/// The middle of a text that is too long for `width` columns becomes "…".
std::string cutMiddle(const std::string& text, size_t width);

} // namespace loopscope::app
