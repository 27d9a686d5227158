#include "engine/ir/flow_role.h"

#include <string_view>
#include <unordered_map>

namespace loopscope {

FlowRole flowRole(const Operator& op)
{
    static const std::unordered_map<std::string_view, FlowRole> kRoles = {
        {"Switch", FlowRole::choice},
        {"RefSwitch", FlowRole::choice},
        {"_SwitchN", FlowRole::manyChoice},
        {"Merge", FlowRole::merge},
        {"RefMerge", FlowRole::merge},
        {"_XlaMerge", FlowRole::merge},
        {"Enter", FlowRole::enter},
        {"RefEnter", FlowRole::enter},
        {"Exit", FlowRole::exit},
        {"RefExit", FlowRole::exit},
        {"NextIteration", FlowRole::nextIteration},
        {"RefNextIteration", FlowRole::nextIteration},
        {"LoopCond", FlowRole::loopCondition},
        {"ControlTrigger", FlowRole::controlTrigger},
    };
    if (op.kind.dialect != "tf") return FlowRole::none;
    const auto found = kRoles.find(op.kind.name);
    return found == kRoles.end() ? FlowRole::none : found->second;
}

} // namespace loopscope
