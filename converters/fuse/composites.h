// Functions that carry a mark which says what they compute (`_implements`, `api_implements`): a call of one becomes the operator of that
// name, if its operands are what that operator wants. A fusion plugs in with one line of the registry.
#pragma once

#include "converters/fuse/site.h"

#include <span>
#include <string>
#include <string_view>

namespace loopscope::fusing {

/// A call of a marked function.
struct MarkedCall {
    OperatorId op;
    const Graph* callee = nullptr;
    std::string mark;                         ///< "embedding_matmul", "lstm_b4e9…"
    const AttributeMap* attributes = nullptr; ///< of a mark that is a name with attributes
};

struct CompositeRule {
    std::string_view name;
    bool isPrefix = false;
    Outcome (*apply)(Site& site, const MarkedCall& call);
    std::string_view known = {}; ///< what other converters call it, where only their guide spells it like this
};
std::span<const CompositeRule> compositeRules();

/// Tries the operator as a call; nothing if the function has no mark.
Outcome fuseComposite(Site& site, OperatorId op);

} // namespace loopscope::fusing
