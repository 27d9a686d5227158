// Rules, and the form in which most are written: an expression to look for, and the operator that computes it. `mul(x, relu6(add(x, 3)))`
// names operators of both dialects, values (the same name is the same value), constants by their number (within 1 ulp), `$c` any constant
// of floats, `?i` any value; operands of commutative operators may stand in either order; `e:exp(x)` names an operator for conditions.
// `prod(0.5, x, inv(y))` is a product however it is written (MUL, DIV, NEG, POW, …): its numbers together are the constant, `sq`, `inv`,
// `root` and `invroot` are powers, a name that comes twice a square. `total(1, x, prod(-1, y))` is a sum in the same way.
#pragma once

#include "converters/fuse/site.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::fusing {

/// One way in which an expression lies in a graph.
struct Match {
    std::vector<std::pair<std::string, ValueId>> values;
    std::vector<std::pair<std::string, OperatorId>> named;
    std::vector<OperatorId> ops; ///< inner ones first, the root last
    std::vector<std::string> violations;
    std::vector<std::string> loose; ///< constants that are only near, with FusionOptions::nearness

    ValueId value(std::string_view name) const;
    OperatorId op(std::string_view name) const;
};

/// Empty: the condition holds; else what does not.
using Condition = std::string (*)(Site& site, const Match& match);

struct Rule {
    std::string name;
    FusionEquality equality = FusionEquality::realEqual;
    std::vector<std::string> patterns = {}; ///< expressions that mean the same
    /// `gelu(x) approximate=true`; `x` alone: the value itself; `label:SWISH`: only told. The other way it is an expression of several
    /// operators: reductions have an axis and keep their dimensions, `@alpha` is an attribute of what was matched.
    std::string replacement = {};
    Condition condition = nullptr;       ///< beyond what the expressions say
    std::vector<std::string> roots = {}; ///< a rule in code: the operators at which it begins
    Outcome (*apply)(Site& site, OperatorId root) = nullptr;
    bool isLate = false; ///< only when no other rule finds anything: what it makes hides what they look for
    /// Where an approximate rule is equal: a name of the patterns (an operator's: its result), a relation and a number.
    std::string domainOf = {}, relation = {};
    double limit = 0;
    bool isOfCircle = false; ///< TFLite has no such operator
    bool isModest = false;   ///< only where no other rule began to match: why that did not go on is told
};

/// Each file of rules has one; fuse.cpp lists them.
std::span<const Rule> compoundRules();
std::span<const Rule> elementRules();
std::span<const Rule> spellingRules();
std::span<const Rule> logSumRules();
std::span<const Rule> einsumRules();
std::span<const Rule> circleRules();
std::span<const Rule> affineRules();
std::span<const Rule> beforeRules();
std::span<const Rule> quantizedRules();
std::span<const Rule> activationRules();
std::span<const Rule> paddingRules();
std::span<const Rule> movementRules();
std::span<const Rule> reorderRules();
std::span<const Rule> movedElementRules();
std::span<const Rule> broadcastRules();
std::span<const Rule> choiceRules();
std::span<const Rule> selectionRules();
std::span<const Rule> oneHotRules();
std::span<const Rule> productRules();
std::span<const Rule> recurrentRules();
std::span<const Rule> rnnRules();
std::span<const Rule> binaryCodeRules();
std::span<const Rule> attentionRules();
std::span<const Rule> nameRules();
std::span<const Rule> stablehloRules();
std::span<const Rule> cropRules();
std::span<const Rule> preactivationRules();
std::span<const Rule> circleSubstitutes();
std::span<const Rule> unfuseRules(); ///< the other way; only with FusionOptions::isReverse
std::span<const Rule> unfuseRecurrentRules();

/// Why the reduction that a pattern names `name` is not over the last dimension alone, or does not keep it; empty: it is so.
std::string lastAxis(Site& site, const Match& match, std::string_view name, bool keepsDims);

/// Expressions for the largest x, or 0 where that is infinite.
const std::vector<std::string>& finiteMaxima();

/// The operators at which a pattern may begin.
std::vector<std::string> rootsOf(const Rule& rule);
/// Tries the rule at one operator.
Outcome applyRule(const Rule& rule, Site& site, OperatorId root);

} // namespace loopscope::fusing
