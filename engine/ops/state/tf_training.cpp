// Catalogue entries of the steps of TensorFlow's optimizers, on resources and on the references of TensorFlow 1.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef step(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def = tfStatefulDef({inputs, inputs, 0, 0}, operands, summary);
    def.floatBound = withinRelative(1e-6);
    return def;
}

/// One that gives the variable's reference.
OpDef reference(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def = step(inputs, operands, summary);
    def.minOutputs = def.maxOutputs = 1;
    def.infer = [](InferContext& context) -> Status {
        context.output(0).shape = Shape();
        return {};
    };
    return def;
}

constexpr std::string_view kMomentum = "var, accum, lr, grad, momentum";
constexpr std::string_view kAdam = "var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad";
constexpr std::string_view kRmsProp = "var, ms, mom, lr, rho, momentum, epsilon, grad";

} // namespace

LS_DEFINE_OP(tf, ResourceApplyGradientDescent) { return step(3, "var, alpha, delta", "var − alpha · delta."); }
LS_DEFINE_OP(tf, ApplyGradientDescent) { return reference(3, "var, alpha, delta", "var − alpha · delta; the same reference."); }
LS_DEFINE_OP(tf, ResourceApplyMomentum) { return step(5, kMomentum, "A step along the gradient and those before it."); }
LS_DEFINE_OP(tf, ApplyMomentum) { return reference(5, kMomentum, "A step along the gradient and those before it."); }
LS_DEFINE_OP(tf, ResourceApplyKerasMomentum) { return step(5, kMomentum, "A step along the gradient and those before it, lr counted in."); }
LS_DEFINE_OP(tf, ResourceApplyAdagrad) { return step(4, "var, accum, lr, grad", "A step that shrinks with the squares of gradients."); }
LS_DEFINE_OP(tf, ApplyAdagrad) { return reference(4, "var, accum, lr, grad", "A step that shrinks with the squares of gradients."); }
LS_DEFINE_OP(tf, ResourceApplyAdagradV2)
{
    return step(5, "var, accum, lr, epsilon, grad", "A step that shrinks with the squares of gradients.");
}
LS_DEFINE_OP(tf, ResourceApplyAdadelta)
{
    return step(7, "var, accum, accum_update, lr, rho, epsilon, grad", "A step by the means of squares of gradients and of steps.");
}
LS_DEFINE_OP(tf, ResourceApplyAdam) { return step(10, kAdam, "A step by the means of gradients and of their squares."); }
LS_DEFINE_OP(tf, ApplyAdam) { return reference(10, kAdam, "A step by the means of gradients and of their squares."); }
LS_DEFINE_OP(tf, ResourceApplyRMSProp) { return step(8, kRmsProp, "A step by the mean of squares of gradients, with momentum."); }
LS_DEFINE_OP(tf, ApplyRMSProp) { return reference(8, kRmsProp, "A step by the mean of squares of gradients, with momentum."); }
LS_DEFINE_OP(tf, ResourceApplyCenteredRMSProp)
{
    return step(9, "var, mg, ms, mom, lr, rho, momentum, epsilon, grad", "A step by the variance of gradients, with momentum.");
}
