// What an operator without a kernel gives, asked for where the run stands before it: a constant, a seed, a file or a recording. Then the
// run goes on.
#pragma once

#include "viewer/bridge/document.h"

class QWidget;

namespace loopscope::viewer {

/// Whether `place` is an operator that has no kernel, in a run that has begun.
bool canGiveOutput(Document& document, const Selection& place);
/// Asks for its results, one after the other; `asking` is the window's part that the question stands in.
void giveOutput(Document& document, QWidget& asking, const Selection& place, size_t slot = 0);

} // namespace loopscope::viewer
