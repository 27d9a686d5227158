// What the panels share about addresses and breakpoints.
#pragma once

#include "engine/observe/address_names.h"
#include "viewer/bridge/document.h"
#include "viewer/bridge/text.h"
#include "viewer/widgets/rows.h"

#include <QString>

#include <string>

namespace loopscope::viewer {

BreakMark breakMarkOf(const BreakpointRow& row);
/// Whether a breakpoint sits on an operator; patterns (".../mul#0") sit wherever they match. Addresses are static.
bool sitsOn(const BreakpointRow& row, const std::string& address);
/// Sets one before the operator, or removes those that sit on it.
void toggleBreakpoint(Document& document, const std::string& address);

/// Of an invocation (invocationOf()), its graph: v1 frames lie in the graph that opens them ("main" of "main/outer:frame/inner:frame").
std::string graphAddressOf(const std::string& invocation);

/// The index into the stack of the frame that the document looks at; −1: there is none.
int frameInView(const Document& document);
/// "1,350 steps", "1 step".
QString counted(qint64 count, const QString& noun);

} // namespace loopscope::viewer
