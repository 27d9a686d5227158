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

} // namespace

LS_DEFINE_OP(tf, ResourceApplyGradientDescent) { return step(3, "var, alpha, delta", "var − alpha · delta."); }
LS_DEFINE_OP(tf, ApplyGradientDescent) { return reference(3, "var, alpha, delta", "var − alpha · delta; the same reference."); }
LS_DEFINE_OP(tf, ResourceApplyMomentum)
{
    return step(5, "var, accum, lr, grad, momentum", "A step along the gradient and those before it.");
}
LS_DEFINE_OP(tf, ApplyMomentum)
{
    return reference(5, "var, accum, lr, grad, momentum", "A step along the gradient and those before it; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyMomentum)
{
    return step(6, "var, accum, lr, grad, indices, momentum", "A step along the gradient and those before it, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyMomentum)
{
    return reference(6, "var, accum, lr, grad, indices, momentum",
                     "A step along the gradient and those before it, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyKerasMomentum)
{
    return step(5, "var, accum, lr, grad, momentum", "A step along the gradient and those before it, lr counted in.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyKerasMomentum)
{
    return step(6, "var, accum, lr, grad, indices, momentum",
                "A step along the gradient and those before it, lr counted in, rows that indices name.");
}
LS_DEFINE_OP(tf, ResourceApplyAdagrad) { return step(4, "var, accum, lr, grad", "A step that shrinks with the squares of gradients."); }
LS_DEFINE_OP(tf, ApplyAdagrad)
{
    return reference(4, "var, accum, lr, grad", "A step that shrinks with the squares of gradients; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyAdagrad)
{
    return step(5, "var, accum, lr, grad, indices", "A step that shrinks with the squares of gradients, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyAdagrad)
{
    return reference(5, "var, accum, lr, grad, indices",
                     "A step that shrinks with the squares of gradients, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAdagradV2)
{
    return step(5, "var, accum, lr, epsilon, grad", "A step that shrinks with the squares of gradients.");
}
LS_DEFINE_OP(tf, ApplyAdagradV2)
{
    return reference(5, "var, accum, lr, epsilon, grad", "A step that shrinks with the squares of gradients; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyAdagradV2)
{
    return step(6, "var, accum, lr, epsilon, grad, indices", "A step that shrinks with the squares of gradients, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyAdagradV2)
{
    return reference(6, "var, accum, lr, epsilon, grad, indices",
                     "A step that shrinks with the squares of gradients, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAdadelta)
{
    return step(7, "var, accum, accum_update, lr, rho, epsilon, grad", "A step by the means of squares of gradients and of steps.");
}
LS_DEFINE_OP(tf, ApplyAdadelta)
{
    return reference(7, "var, accum, accum_update, lr, rho, epsilon, grad",
                     "A step by the means of squares of gradients and of steps; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyAdadelta)
{
    return step(8, "var, accum, accum_update, lr, rho, epsilon, grad, indices",
                "A step by the means of squares of gradients and of steps, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyAdadelta)
{
    return reference(8, "var, accum, accum_update, lr, rho, epsilon, grad, indices",
                     "A step by the means of squares of gradients and of steps, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAdam)
{
    return step(10, "var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
                "A step by the means of gradients and of their squares.");
}
LS_DEFINE_OP(tf, ApplyAdam)
{
    return reference(10, "var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
                     "A step by the means of gradients and of their squares; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAdaMax)
{
    return step(9, "var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad", "A step by the mean of gradients and their largest.");
}
LS_DEFINE_OP(tf, ApplyAdaMax)
{
    return reference(9, "var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad",
                     "A step by the mean of gradients and their largest; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAdamWithAmsgrad)
{
    return step(11, "var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad",
                "A step by the means of gradients and of their squares, which never shrink.");
}
LS_DEFINE_OP(tf, ResourceApplyRMSProp)
{
    return step(8, "var, ms, mom, lr, rho, momentum, epsilon, grad", "A step by the mean of squares of gradients, with momentum.");
}
LS_DEFINE_OP(tf, ApplyRMSProp)
{
    return reference(8, "var, ms, mom, lr, rho, momentum, epsilon, grad",
                     "A step by the mean of squares of gradients, with momentum; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyRMSProp)
{
    return step(9, "var, ms, mom, lr, rho, momentum, epsilon, grad, indices",
                "A step by the mean of squares of gradients, with momentum, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyRMSProp)
{
    return reference(9, "var, ms, mom, lr, rho, momentum, epsilon, grad, indices",
                     "A step by the mean of squares of gradients, with momentum, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyCenteredRMSProp)
{
    return step(9, "var, mg, ms, mom, lr, rho, momentum, epsilon, grad", "A step by the variance of gradients, with momentum.");
}
LS_DEFINE_OP(tf, ApplyCenteredRMSProp)
{
    return reference(9, "var, mg, ms, mom, lr, rho, momentum, epsilon, grad",
                     "A step by the variance of gradients, with momentum; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyCenteredRMSProp)
{
    return step(10, "var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices",
                "A step by the variance of gradients, with momentum, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyCenteredRMSProp)
{
    return reference(10, "var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices",
                     "A step by the variance of gradients, with momentum, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAddSign)
{
    return step(7, "var, m, lr, alpha, sign_decay, beta, grad", "A step that grows where the gradient keeps its sign.");
}
LS_DEFINE_OP(tf, ApplyAddSign)
{
    return reference(7, "var, m, lr, alpha, sign_decay, beta, grad",
                     "A step that grows where the gradient keeps its sign; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyPowerSign)
{
    return step(7, "var, m, lr, logbase, sign_decay, beta, grad", "A step that grows exponentially where the gradient keeps its sign.");
}
LS_DEFINE_OP(tf, ApplyPowerSign)
{
    return reference(7, "var, m, lr, logbase, sign_decay, beta, grad",
                     "A step that grows exponentially where the gradient keeps its sign; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyProximalGradientDescent) { return step(5, "var, alpha, l1, l2, delta", "A step, then towards 0."); }
LS_DEFINE_OP(tf, ApplyProximalGradientDescent)
{
    return reference(5, "var, alpha, l1, l2, delta", "A step, then towards 0; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyProximalGradientDescent)
{
    return step(6, "var, alpha, l1, l2, grad, indices", "A step, then towards 0, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyProximalGradientDescent)
{
    return reference(6, "var, alpha, l1, l2, grad, indices", "A step, then towards 0, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyProximalAdagrad)
{
    return step(6, "var, accum, lr, l1, l2, grad", "A step that shrinks with the squares of gradients, then towards 0.");
}
LS_DEFINE_OP(tf, ApplyProximalAdagrad)
{
    return reference(6, "var, accum, lr, l1, l2, grad",
                     "A step that shrinks with the squares of gradients, then towards 0; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyProximalAdagrad)
{
    return step(7, "var, accum, lr, l1, l2, grad, indices",
                "A step that shrinks with the squares of gradients, then towards 0, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyProximalAdagrad)
{
    return reference(7, "var, accum, lr, l1, l2, grad, indices",
                     "A step that shrinks with the squares of gradients, then towards 0, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyAdagradDA)
{
    return step(8, "var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step",
                "A step from 0 by the sums of gradients and of their squares.");
}
LS_DEFINE_OP(tf, ApplyAdagradDA)
{
    return reference(8, "var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step",
                     "A step from 0 by the sums of gradients and of their squares; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyAdagradDA)
{
    return step(9, "var, gradient_accumulator, gradient_squared_accumulator, grad, indices, lr, l1, l2, global_step",
                "A step from 0 by the sums of gradients and of their squares, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyAdagradDA)
{
    return reference(9, "var, gradient_accumulator, gradient_squared_accumulator, grad, indices, lr, l1, l2, global_step",
                     "A step from 0 by the sums of gradients and of their squares, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyFtrl)
{
    return step(8, "var, accum, linear, grad, lr, l1, l2, lr_power", "The step of follow the regularized leader.");
}
LS_DEFINE_OP(tf, ApplyFtrl)
{
    return reference(8, "var, accum, linear, grad, lr, l1, l2, lr_power", "The step of follow the regularized leader; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyFtrl)
{
    return step(9, "var, accum, linear, grad, indices, lr, l1, l2, lr_power",
                "The step of follow the regularized leader, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyFtrl)
{
    return reference(9, "var, accum, linear, grad, indices, lr, l1, l2, lr_power",
                     "The step of follow the regularized leader, rows that indices name; the same reference.");
}
LS_DEFINE_OP(tf, ResourceApplyFtrlV2)
{
    return step(9, "var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power",
                "The step of follow the regularized leader, weights shrunk.");
}
LS_DEFINE_OP(tf, ApplyFtrlV2)
{
    return reference(9, "var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power",
                     "The step of follow the regularized leader, weights shrunk; the same reference.");
}
LS_DEFINE_OP(tf, ResourceSparseApplyFtrlV2)
{
    return step(10, "var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power",
                "The step of follow the regularized leader, weights shrunk, rows that indices name.");
}
LS_DEFINE_OP(tf, SparseApplyFtrlV2)
{
    return reference(10, "var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power",
                     "The step of follow the regularized leader, weights shrunk, rows that indices name; the same reference.");
}
