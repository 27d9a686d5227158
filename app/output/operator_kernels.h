// Who computes an operator: the interpreter, a kernel of the profile that was asked for, or that of another one and why.
#pragma once

#include "engine/ir/model.h"
#include "engine/kernels/selection.h"

#include <map>
#include <string>
#include <utility>

namespace loopscope::app {

class OperatorKernels {
public:
    /// By kind, which is what can be told without running. The model must outlive it.
    OperatorKernels(const Model& model, Profile wanted);
    /// What a run met knows of types and shapes, too.
    void learn(const KernelReport& ran);
    /// "fast kernel", "reference kernel (no fast kernel)", "interpreter", "no kernel".
    std::string text(GraphId graph, OperatorId op) const;

private:
    const Model& m_model;
    Profile m_wanted;
    std::map<std::pair<GraphId, OperatorId>, std::string> m_fallbacks;
};

} // namespace loopscope::app
