// How calls, branches and loops of TensorFlow models are differentiated: each becomes one that hands out what a second one, the backward
// one, takes (model_gradient.h).
#pragma once

#include "engine/transform/gradient/call_split.h"

#include <string>
#include <utility>
#include <vector>

namespace loopscope {

class FunctionalGradients : public CallGradients {
public:
    FunctionalGradients(Model& model, std::vector<std::string> recompute, bool stacks);

    std::string arraySource() const override { return m_arraySource; }
    std::vector<bool> reachedResults(const Operator& op, const std::vector<bool>& reached) override;
    Status differentiate(GradientCase& c) override;

private:
    Status refuse(const GradientCase& c) const;
    Status callRegistered(GradientCase& c, GraphId gradient);
    /// If, Case and calls; a call is a branch that is always taken.
    Status differentiateBranches(GradientCase& c);
    Status differentiateLoop(GradientCase& c);
    GraphId registeredGradient(const Operator& op) const;
    GraphId add(Graph graph);

    Model& m_model;
    std::vector<std::string> m_recompute;
    bool m_stacks;
    std::string m_arraySource; ///< of no gradient that the model holds already
    int m_depth = 0;
};

} // namespace loopscope
