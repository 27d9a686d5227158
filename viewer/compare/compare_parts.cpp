#include "viewer/compare/compare_parts.h"

#include "engine/observe/address_names.h"

#include <QAction>

namespace loopscope::viewer {

QString placeText(const std::string& address) { return toText(loopscope::placeText(address)); }

QString tensorText(const Model& model, const DriftRow& row)
{
    const Graph& graph = model.graph(row.graph);
    const Value& value = graph.value(graph.op(row.op).results[static_cast<size_t>(row.slot)]);
    QString name = toText(value.displayName()).section(';', 0, 0);
    // "…/Conv2d_13_pointwise/Relu6" says more than its long way there.
    const QStringList parts = name.split('/', Qt::SkipEmptyParts);
    if (parts.size() > 2) name = parts[parts.size() - 2] + '/' + parts.back();
    return name;
}

void chooseOther(QWidget* asking)
{
    if (QAction* const action = asking->window()->findChild<QAction*>("action.compare")) action->trigger();
}

bool showStage(EmptyStack& stack, CompareDesk& desk, QWidget* window)
{
    if (desk.stage() != CompareDesk::Stage::ready && !desk.problem().isEmpty()) {
        stack.showEmpty(QObject::tr("A and B cannot be compared: %1").arg(desk.problem()),
                        {{QObject::tr("Choose another file"), [window] { chooseOther(window); }}});
        return true;
    }
    switch (desk.stage()) {
    case CompareDesk::Stage::none:
        stack.showEmpty(QObject::tr("Nothing to compare with yet: another model file, or a recording of a run."),
                        {{QObject::tr("Compare with a file"), [window] { chooseOther(window); }},
                         {QObject::tr("Before and after fusing"), [&desk] { emit desk.fusedSideWanted(toText(fusedSideText({})), 0); }}});
        return true;
    case CompareDesk::Stage::notRun:
        stack.showEmpty(QObject::tr("A and B were not compared with these inputs yet."),
                        {{QObject::tr("Run both and compare"), [&desk] { desk.compare(); }}});
        return true;
    case CompareDesk::Stage::ready: break;
    }
    return false;
}

} // namespace loopscope::viewer
