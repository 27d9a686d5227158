// Backpropagation through one graph: which values depend on what is differentiated by, and what each operator's rule hands back, summed.
// How calls are differentiated is its owner's business: SymbolicGradient asks for functions (function_gradient.h), whole models get
// backward functions (model_gradient.h).
#pragma once

#include "engine/base/result.h"
#include "engine/transform/gradient/gradient_rules.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Whether values of the type have a gradient: real and complex numbers, lists of them, and variables; what is not known may have one.
bool hasGradient(DType dtype);

/// What a backward pass asks where no rule helps.
class CallGradients {
public:
    CallGradients() = default;
    CallGradients(const CallGradients&) = delete;
    CallGradients& operator=(const CallGradients&) = delete;
    virtual ~CallGradients() = default;
    virtual GradientRule ruleOf(std::string_view kind) const { return findGradientRule(kind); }
    /// GradientCase::arraySource.
    virtual std::string arraySource() const { return "gradients"; }
    /// Which results of an operator depend on the operands that `reached` names.
    virtual std::vector<bool> reachedResults(const Operator& op, const std::vector<bool>& reached) = 0;
    /// Fills `dx` of an operator without a rule. Gradients of results that nothing came for are invalid.
    virtual Status differentiate(GradientCase& c) = 0;
};

class BackwardPass {
public:
    BackwardPass(GraphEditor& editor, CallGradients& calls);

    GradientNodes& nodes() { return m_nodes; }
    /// What the names of new nodes begin with: "gradients", or "gradients_1" if there are some.
    const std::string& prefix() const { return m_prefix; }

    /// The value is differentiated by.
    void depend(ValueId value) { reach(value); }
    /// A gradient that comes from outside.
    void seed(ValueId value, GradientValue gradient) { m_gradients[index(value)].push_back(gradient); }
    /// From the last operator to the first. Errors: those of CallGradients.
    Status run();

    bool isReached(ValueId value) const { return value.valid() && index(value) < m_reached.size() && m_reached[index(value)]; }
    /// The sum of what has come together for a value; invalid if nothing has.
    GradientValue gradientOf(ValueId value);
    /// Zeros like the value; of a variable: like what it holds.
    GradientValue zerosFor(ValueId value, DType dtype);

private:
    static size_t index(ValueId value) { return static_cast<size_t>(value.index); }
    void reach(ValueId value);
    std::vector<OperatorId> topologicalOrder() const;
    void spread(const std::vector<OperatorId>& order);
    Status goThrough(OperatorId id);

    GraphEditor& m_editor;
    CallGradients& m_calls;
    GradientNodes m_nodes;
    std::string m_prefix;
    std::vector<std::vector<GradientValue>> m_gradients; ///< for each value that there was in the beginning what has come for it
    std::vector<bool> m_reached;                         ///< values that depend on what is differentiated by
};

} // namespace loopscope
