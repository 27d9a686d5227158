// What the panels of the Compare task do alike: an empty page for each stage, colours of verdicts.
#pragma once

#include "viewer/bridge/text.h"
#include "viewer/compare/compare_desk.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/rows.h"

#include <QColor>

#include <string>

namespace loopscope::viewer {

inline QColor verdictColor(Verdict verdict)
{
    switch (verdict) {
    case Verdict::over: return themed(Token::sideB);
    case Verdict::farOver: return themed(Token::err);
    default: return themed(Token::ok);
    }
}
/// The word beside the colour, for tooltips and screen readers.
inline const char* verdictText(Verdict verdict)
{
    switch (verdict) {
    case Verdict::equal: return "equal";
    case Verdict::within: return "within the limit";
    case Verdict::over: return "over the limit";
    case Verdict::farOver: return "far over the limit";
    }
    return "";
}

/// "conv_2d#26", "add#14 in while#1:body".
QString placeText(const std::string& address);
/// What the tensor of a row is called: the end of its name in the file, or its id.
QString tensorText(const Model& model, const DriftRow& row);

/// Asks the window for another file to compare with.
void chooseOther(QWidget* asking);
/// Shows why there is nothing to see and what can be done. False: there is something.
bool showStage(EmptyStack& stack, CompareDesk& desk, QWidget* window);

} // namespace loopscope::viewer
