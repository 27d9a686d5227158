#include "viewer/window/panel_registry.h"

#include "viewer/canvas/graph_panel.h"
#include "viewer/canvas/raised_panel.h"
#include "viewer/compare/compare_panels.h"
#include "viewer/dataflow/dataflow_panels.h"
#include "viewer/panels/panels.h"
#include "viewer/tensor/tensor_panel.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/trace/trace_panels.h"

#include <map>

namespace loopscope::viewer {

namespace {

using Maker = Panel* (*)(Document&);

/// Of recordings only.
const std::map<QString, Maker>& traceMakers()
{
    static const std::map<QString, Maker> all = {
        {"panelRecipes", makeRecipesPanel},
        {"panelSchema", makeSchemaPanel},
        {"panelSql", makeSqlPanel},
        {"panelResult", makeResultPanel},
        {"panelPlan", makePlanPanel},
        {"panelPlot", makePlotPanel},
        {"panelRecordedValue", makeRecordedValuePanel},
    };
    return all;
}

const std::map<QString, Maker>& makers()
{
    static const std::map<QString, Maker> all = {
        {"panelListing", makeListingPanel},
        {"panelStructured", makeStructuredPanel},
        {"panelInvocations", makeInvocationsPanel},
        {"panelCallStack", makeCallStackPanel},
        {"panelBreakpoints", makeBreakpointsPanel},
        {"panelMarks", makeMarksPanel},
        {"panelWatches", makeWatchesPanel},
        {"panelVariables", makeVariablesPanel},
        {"panelConsole", makeConsolePanel},
        {"panelProblems", makeProblemsPanel},
        {"panelSearch", makeSearchPanel},
        {"panelProperties", makePropertiesPanel},
        {"panelStructure", makeStructurePanel},
        {"panelSubgraphs", makeSubgraphsPanel},
        {"panelInputs", makeInputsPanel},
        {"panelFrames", makeFramesPanel},
        {"panelTokens", makeTokensPanel},
        {"panelOperator", makeOperatorPanel},
        {"panelTensor", makeTensorPanel},
        {"panelGraph", makeGraphPanel},
        {"panelRaised", makeRaisedPanel},
        {"panelTimeline", makeTimelinePanel},
        {"panelCompareA", makeCompareAPanel},
        {"panelCompareB", makeCompareBPanel},
        {"panelCompareStrip", makeErrorStripPanel},
        {"panelDifferences", makeDifferencesPanel},
        {"panelUnmatched", makeUnmatchedPanel},
        {"panelRewrites", makeRewritesPanel},
        {"panelKernels", makeKernelsPanel},
        {"panelCompareSettings", makeCompareSettingsPanel},
        {"panelTensorDifference", makeTensorDifferencePanel},
        {"panelTensorA", makeTensorAPanel},
        {"panelTensorB", makeTensorBPanel},
    };
    return all;
}

} // namespace

Panel* makePanel(const QString& name, Document& document)
{
    if (document.backend().trace())
        if (const auto of = traceMakers().find(name); of != traceMakers().end()) return of->second(document);
    const auto found = makers().find(name);
    return found == makers().end() ? nullptr : found->second(document);
}

QStringList panelNames()
{
    QStringList names;
    for (const auto* const table : {&traceMakers(), &makers()})
        for (const auto& [name, make] : *table) names.append(name);
    return names;
}

void setWheelHabit(Panel* panel, bool zooms)
{
    if (auto* const raised = qobject_cast<RaisedPanel*>(panel)) return raised->canvas().input().setWheelZooms(zooms);
    auto* const graph = qobject_cast<GraphPanel*>(panel);
    if (!graph) return;
    graph->canvas().input().setWheelZooms(zooms);
    if (GraphCanvas* const beside = graph->calleeCanvas()) beside->input().setWheelZooms(zooms);
}

void searchIn(Panel* searchPanel, const QString& query) { searchFor(searchPanel, query); }

} // namespace loopscope::viewer
