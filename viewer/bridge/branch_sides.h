// Which side each branch operator took: a fact of the invocation that it ran in, which pictures of any moment show. On the engine's thread.
#pragma once

#include "engine/api/inspector.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::viewer {

/// By canonical address of the operator, "main/while#0@37:body/if#2": the number of its callee, 0 then, 1 else.
using BranchSides = std::map<std::string, int>;

/// The number of the callee that a branch operator took, where `value` reads its operands; none: it is no branch, or what steers is not
/// there.
std::optional<int> sideTaken(const Operator& op, const std::function<const Tensor*(ValueId)>& value);

/// The branch operators of each graph, found once.
class BranchSites {
public:
    const std::vector<OperatorId>& of(const Model& model, GraphId graph);

private:
    std::map<int32_t, std::vector<OperatorId>> m_known;
};

/// Of the frames that are open, what has returned in them.
BranchSides sidesOfStack(const Inspector& inspector, BranchSites& sites);

/// Of an invocation that has ended, canonical, which is searched for about 30 ms.
BranchSides sidesOfEnded(const Inspector& inspector, const std::string& invocation);

/// The callee of a branch operator that `side` means, by its role: "then"; empty: there is none.
std::string roleOfSide(const Operator& op, int side);

} // namespace loopscope::viewer
