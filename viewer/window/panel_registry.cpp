#include "viewer/window/panel_registry.h"

#include "viewer/canvas/graph_panel.h"
#include "viewer/timeline/timeline_panel.h"

#include <map>

namespace loopscope::viewer {

namespace {

using Maker = Panel* (*)(Document&);

const std::map<QString, Maker>& makers()
{
    static const std::map<QString, Maker> all = {
        {"panelGraph", makeGraphPanel},
        {"panelTimeline", makeTimelinePanel},
    };
    return all;
}

} // namespace

Panel* makePanel(const QString& name, Document& document)
{
    const auto found = makers().find(name);
    return found == makers().end() ? nullptr : found->second(document);
}

void searchIn(Panel*, const QString&) {}

} // namespace loopscope::viewer
