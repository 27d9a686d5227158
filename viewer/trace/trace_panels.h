// The panels of the Trace task: recipes, schema, SQL, its result, how that was found, its plot, the recorded value of the selected row.
#pragma once

#include "viewer/widgets/panel.h"

namespace loopscope::viewer {

Panel* makeRecipesPanel(Document& document);
Panel* makeSchemaPanel(Document& document);
Panel* makeSqlPanel(Document& document);
Panel* makeResultPanel(Document& document);
Panel* makePlanPanel(Document& document);
Panel* makePlotPanel(Document& document);
Panel* makeRecordedValuePanel(Document& document);

} // namespace loopscope::viewer
