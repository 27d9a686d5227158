// The text panels of the window. Each function makes one for a document; the caller owns it and gives it a parent.
#pragma once

#include "viewer/widgets/panel.h"

namespace loopscope::viewer {

Panel* makeListingPanel(Document& document);     ///< panelListing: the graph in view, one line an operator
Panel* makeStructuredPanel(Document& document);  ///< panelStructured: the model as a short program, callees in line
Panel* makeInvocationsPanel(Document& document); ///< panelInvocations: call site → iterations → operators
Panel* makeCallStackPanel(Document& document);   ///< panelCallStack
Panel* makeBreakpointsPanel(Document& document); ///< panelBreakpoints
Panel* makeMarksPanel(Document& document);       ///< panelMarks
Panel* makeWatchesPanel(Document& document);     ///< panelWatches
Panel* makeVariablesPanel(Document& document);   ///< panelVariables
Panel* makeConsolePanel(Document& document);     ///< panelConsole
Panel* makeProblemsPanel(Document& document);    ///< panelProblems
Panel* makeSearchPanel(Document& document);      ///< panelSearch
Panel* makePropertiesPanel(Document& document);  ///< panelProperties
Panel* makeStructurePanel(Document& document);   ///< panelStructure: operators by groups of names
Panel* makeSubgraphsPanel(Document& document);   ///< panelSubgraphs
Panel* makeInputsPanel(Document& document);      ///< panelInputs

/// Types a query into a search panel and shows its hits: what the find field of the toolbar does.
void searchFor(Panel* searchPanel, const QString& query);
/// While somebody types: hits are shown, and nothing is selected.
void searchWhileTyping(Panel* searchPanel, const QString& query);

} // namespace loopscope::viewer
