// Kernels of the steps of TensorFlow's optimizers: core/kernels/training_ops.cc. Each step is calculated in f64 and rounded once.
#include "engine/kernels/cpu/state/tf_variables.h"
#include "engine/tensor/statistics.h"

#include <array>
#include <cmath>

using namespace loopscope;

namespace {

constexpr int kMostOperands = 11;

/// One element of the variables of a step, and what the step is made of.
struct Step {
    std::array<double, 4> v = {};             ///< the variable, then its slots, in the order of the operands
    std::array<double, kMostOperands> s = {}; ///< operands that are scalars, by their position
    double gradient = 0;
    bool nesterov = false, updatesSlots = true, linearByRate = false;
};

struct Optimizer {
    int variables;
    int gradient; ///< its position
    void (*step)(Step& e);
};

constexpr Optimizer kGradientDescent = {1, 2, [](Step& e) { e.v[0] -= e.s[1] * e.gradient; }};

/// var, accum; lr 2, momentum 4.
constexpr Optimizer kMomentum = {2, 3, [](Step& e) {
                                     e.v[1] = e.v[1] * e.s[4] + e.gradient;
                                     e.v[0] -= e.nesterov ? e.gradient * e.s[2] + e.v[1] * e.s[4] * e.s[2] : e.v[1] * e.s[2];
                                 }};
constexpr Optimizer kKerasMomentum = {2, 3, [](Step& e) {
                                          e.v[1] = e.v[1] * e.s[4] - e.gradient * e.s[2];
                                          e.v[0] += e.nesterov ? e.v[1] * e.s[4] - e.gradient * e.s[2] : e.v[1];
                                      }};

/// var, accum; lr 2, epsilon 3 in the second version.
constexpr Optimizer kAdagrad = {2, 3, [](Step& e) {
                                    if (e.updatesSlots) e.v[1] += e.gradient * e.gradient;
                                    e.v[0] -= e.s[2] * e.gradient / std::sqrt(e.v[1]);
                                }};
constexpr Optimizer kAdagradV2 = {2, 4, [](Step& e) {
                                      if (e.updatesSlots) e.v[1] += e.gradient * e.gradient;
                                      e.v[0] -= e.s[2] * e.gradient / (std::sqrt(e.v[1]) + e.s[3]);
                                  }};

/// var, accum, accum_update; lr 3, rho 4, epsilon 5.
constexpr Optimizer kAdadelta = {3, 6, [](Step& e) {
                                     e.v[1] = e.v[1] * e.s[4] + e.gradient * e.gradient * (1 - e.s[4]);
                                     const double update = std::sqrt(e.v[2] + e.s[5]) / std::sqrt(e.v[1] + e.s[5]) * e.gradient;
                                     e.v[0] -= update * e.s[3];
                                     e.v[2] = e.v[2] * e.s[4] + update * update * (1 - e.s[4]);
                                 }};

/// var, m, v; beta1_power 3, beta2_power 4, lr 5, beta1 6, beta2 7, epsilon 8.
constexpr Optimizer kAdam = {3, 9, [](Step& e) {
                                 const double rate = e.s[5] * std::sqrt(1 - e.s[4]) / (1 - e.s[3]);
                                 e.v[1] += (e.gradient - e.v[1]) * (1 - e.s[6]);
                                 e.v[2] += (e.gradient * e.gradient - e.v[2]) * (1 - e.s[7]);
                                 const double direction = e.nesterov ? e.gradient * (1 - e.s[6]) + e.s[6] * e.v[1] : e.v[1];
                                 e.v[0] -= direction * rate / (std::sqrt(e.v[2]) + e.s[8]);
                             }};

/// var, ms, mom; lr 3, rho 4, momentum 5, epsilon 6.
constexpr Optimizer kRmsProp = {3, 7, [](Step& e) {
                                    e.v[1] += (e.gradient * e.gradient - e.v[1]) * (1 - e.s[4]);
                                    e.v[2] = e.v[2] * e.s[5] + e.s[3] * e.gradient / std::sqrt(e.v[1] + e.s[6]);
                                    e.v[0] -= e.v[2];
                                }};

/// var, mg, ms, mom; lr 4, rho 5, momentum 6, epsilon 7.
constexpr Optimizer kCenteredRmsProp = {4, 8, [](Step& e) {
                                            e.v[2] += (e.gradient * e.gradient - e.v[2]) * (1 - e.s[5]);
                                            e.v[1] += (e.gradient - e.v[1]) * (1 - e.s[5]);
                                            e.v[3] = e.v[3] * e.s[6] + e.s[4] * e.gradient / std::sqrt(e.v[2] - e.v[1] * e.v[1] + e.s[7]);
                                            e.v[0] -= e.v[3];
                                        }};

/// var, m, v; beta1_power 3, lr 4, beta1 5, beta2 6, epsilon 7.
constexpr Optimizer kAdaMax = {3, 8, [](Step& e) {
                                   e.v[1] += (e.gradient - e.v[1]) * (1 - e.s[5]);
                                   e.v[2] = std::max(e.s[6] * e.v[2], std::abs(e.gradient));
                                   e.v[0] -= e.s[4] / (1 - e.s[3]) * (e.v[1] / (e.v[2] + e.s[7]));
                               }};

/// var, m, v, vhat; beta1_power 4, beta2_power 5, lr 6, beta1 7, beta2 8, epsilon 9.
constexpr Optimizer kAmsgrad = {4, 10, [](Step& e) {
                                    const double rate = e.s[6] * std::sqrt(1 - e.s[5]) / (1 - e.s[4]);
                                    e.v[1] += (e.gradient - e.v[1]) * (1 - e.s[7]);
                                    e.v[2] += (e.gradient * e.gradient - e.v[2]) * (1 - e.s[8]);
                                    e.v[3] = std::max(e.v[3], e.v[2]);
                                    e.v[0] -= e.v[1] * rate / (std::sqrt(e.v[3]) + e.s[9]);
                                }};

double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/// var, m; lr 2, alpha 3 (logbase), sign_decay 4, beta 5.
constexpr Optimizer kAddSign = {2, 6, [](Step& e) {
                                    e.v[1] = e.v[1] * e.s[5] + e.gradient * (1 - e.s[5]);
                                    e.v[0] -= e.s[2] * (e.s[3] + e.s[4] * signOf(e.gradient) * signOf(e.v[1])) * e.gradient;
                                }};
constexpr Optimizer kPowerSign = {2, 6, [](Step& e) {
                                      e.v[1] = e.v[1] * e.s[5] + e.gradient * (1 - e.s[5]);
                                      e.v[0] -= e.s[2] * std::exp(e.s[3] * e.s[4] * signOf(e.gradient) * signOf(e.v[1])) * e.gradient;
                                  }};

/// Towards 0 by `l1`, where that is positive, and then by the factor.
double shrunk(double x, double l1, double factor) { return (l1 > 0 ? signOf(x) * std::max(std::abs(x) - l1, 0.0) : x) / factor; }

/// var; alpha 1, l1 2, l2 3.
constexpr Optimizer kProximalDescent = {
    1, 4, [](Step& e) { e.v[0] = shrunk(e.v[0] - e.s[1] * e.gradient, e.s[1] * e.s[2], 1 + e.s[3] * e.s[1]); }};
/// var, accum; lr 2, l1 3, l2 4.
constexpr Optimizer kProximalAdagrad = {2, 5, [](Step& e) {
                                            e.v[1] += e.gradient * e.gradient;
                                            const double rate = e.s[2] / std::sqrt(e.v[1]);
                                            e.v[0] = shrunk(e.v[0] - e.gradient * rate, rate * e.s[3], 1 + e.s[4] * rate);
                                        }};
/// var, gradient_accumulator, gradient_squared_accumulator; lr 4, l1 5, l2 6, global_step 7.
constexpr Optimizer kAdagradDA = {3, 3, [](Step& e) {
                                      e.v[1] += e.gradient;
                                      e.v[2] += e.gradient * e.gradient;
                                      const double towards = shrunk(e.v[1], e.s[5] * e.s[7], 1);
                                      e.v[0] = -e.s[4] * towards / (e.s[6] * e.s[7] * e.s[4] + std::sqrt(e.v[2]));
                                  }};

/// var, accum, linear; what follows the gradient are lr, l1, l2, in the second version a shrinkage, and the power of lr.
void followLeader(Step& e, double shrinkage, double power)
{
    const double lr = e.s[4], l1 = e.s[5], l2 = e.s[6], sum = e.v[1] + e.gradient * e.gradient;
    const double gradient = e.gradient + 2 * shrinkage * e.v[0], now = std::pow(sum, -power), grown = now - std::pow(e.v[1], -power);
    const double scale = e.linearByRate ? lr : 1, by = e.linearByRate ? 1 : lr; // of `linear`, and what the powers are divided by
    e.v[2] += gradient * scale - grown / by * e.v[0];
    const double bound = l1 * scale;
    e.v[0] = std::abs(e.v[2]) > bound ? (signOf(e.v[2]) * bound - e.v[2]) / (now / by + 2 * l2 * scale) : 0;
    e.v[1] = sum;
}
constexpr Optimizer kFtrl = {3, 3, [](Step& e) { followLeader(e, 0, e.s[7]); }};
constexpr Optimizer kFtrlV2 = {3, 3, [](Step& e) { followLeader(e, e.s[7], e.s[8]); }};

/// Rows of the variables that the operand behind the gradient of a sparse step names. Errors: InvalidArgument.
Result<std::vector<int64_t>> rowsOfStep(const KernelArgs& args, int gradient, const Shape& variable)
{
    std::vector<int64_t> rows = tfIntegers(args.in(gradient + 1));
    Shape wanted = variable;
    if (variable.rank() < 1) return invalidArgument("var must be at least 1 dimensional");
    wanted[0] = static_cast<int64_t>(rows.size());
    if (!(wanted == args.in(gradient).shape))
        return invalidArgument("var and grad must match in all but dimension 0, where grad has as many as indices: expected " +
                               toString(wanted) + ", got " + toString(args.in(gradient).shape));
    for (size_t i = 0; i < rows.size(); ++i)
        if (rows[i] < 0 || rows[i] >= variable[0])
            return invalidArgument("Index " + std::to_string(rows[i]) + " at offset " + std::to_string(i) + " in indices is out of range");
    return rows;
}

Status runOptimizer(const KernelArgs& args, const Optimizer& optimizer, bool isSparse)
{
    std::array<Variable*, 4> variables = {};
    const Tensor& gradient = args.in(optimizer.gradient);
    for (int i = 0; i < optimizer.variables; ++i) {
        LS_TRY(Variable* const variable, tfAssignedVariable(args, i));
        const Shape& wanted = isSparse ? (i > 0 ? variables[0]->shape : variable->shape) : gradient.shape;
        if (variable->dtype != gradient.dtype || !(variable->shape == wanted))
            return invalidArgument("var and grad do not have the same shape" + toString(variable->shape) + " " + toString(wanted));
        variables[static_cast<size_t>(i)] = variable;
    }
    std::vector<int64_t> rows;
    if (isSparse) {
        LS_TRY(rows, rowsOfStep(args, optimizer.gradient, variables[0]->shape));
    }
    Step step;
    step.nesterov = attributeBool(attributesOf(args), "use_nesterov", false);
    step.updatesSlots = attributeBool(attributesOf(args), "update_slots", true);
    step.linearByRate = attributeBool(attributesOf(args), "multiply_linear_by_lr", false);
    for (int i = optimizer.variables; i < args.inputCount; ++i) {
        if (i == optimizer.gradient || (isSparse && i == optimizer.gradient + 1)) continue;
        if (args.in(i).elementCount() != 1)
            return invalidArgument("lr and what goes with it must be scalars: " + toString(args.in(i).shape));
        step.s[static_cast<size_t>(isSparse && i > optimizer.gradient ? i - 1 : i)] = elementAsReal(args.in(i), 0);
    }
    LS_CHECK_OK(forDType<TfFloats>(gradient.dtype, [&]<typename T>() -> Status {
        const int64_t each = isSparse ? strideOf(variables[0]->shape, 0) : 1;
        for (int64_t at = 0, count = gradient.elementCount(); at < count; ++at) {
            const int64_t to = isSparse ? rows[static_cast<size_t>(at / each)] * each + at % each : at;
            const auto element = [&](size_t i) -> T& { return reinterpret_cast<T*>(variables[i]->bytes.data())[to]; };
            step.gradient = Element<T>::load(gradient.as<T>()[at]);
            for (size_t i = 0; i < static_cast<size_t>(optimizer.variables); ++i) step.v[i] = Element<T>::load(element(i));
            optimizer.step(step);
            for (size_t i = 0; i < static_cast<size_t>(optimizer.variables); ++i)
                element(i) = Element<T>::store(static_cast<typename Element<T>::Compute>(step.v[i]));
        }
        return {};
    }));
    for (int i = 0; i < optimizer.variables; ++i) tfTellWritten(args, *variables[static_cast<size_t>(i)]);
    return tfHandOn(args);
}

template <const Optimizer& optimizer> Status runStep(const KernelArgs& args) { return runOptimizer(args, optimizer, false); }
template <const Optimizer& optimizer> Status runSparseStep(const KernelArgs& args) { return runOptimizer(args, optimizer, true); }

} // namespace

LS_TF_KERNEL(ResourceApplyGradientDescent, runStep<kGradientDescent>, kTfFloats)
LS_TF_KERNEL(ApplyGradientDescent, runStep<kGradientDescent>, kTfFloats)
LS_TF_KERNEL(ResourceApplyMomentum, runStep<kMomentum>, kTfFloats)
LS_TF_KERNEL(ApplyMomentum, runStep<kMomentum>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyMomentum, runSparseStep<kMomentum>, kTfFloats)
LS_TF_KERNEL(SparseApplyMomentum, runSparseStep<kMomentum>, kTfFloats)
LS_TF_KERNEL(ResourceApplyKerasMomentum, runStep<kKerasMomentum>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyKerasMomentum, runSparseStep<kKerasMomentum>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdagrad, runStep<kAdagrad>, kTfFloats)
LS_TF_KERNEL(ApplyAdagrad, runStep<kAdagrad>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyAdagrad, runSparseStep<kAdagrad>, kTfFloats)
LS_TF_KERNEL(SparseApplyAdagrad, runSparseStep<kAdagrad>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdagradV2, runStep<kAdagradV2>, kTfFloats)
LS_TF_KERNEL(ApplyAdagradV2, runStep<kAdagradV2>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyAdagradV2, runSparseStep<kAdagradV2>, kTfFloats)
LS_TF_KERNEL(SparseApplyAdagradV2, runSparseStep<kAdagradV2>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdadelta, runStep<kAdadelta>, kTfFloats)
LS_TF_KERNEL(ApplyAdadelta, runStep<kAdadelta>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyAdadelta, runSparseStep<kAdadelta>, kTfFloats)
LS_TF_KERNEL(SparseApplyAdadelta, runSparseStep<kAdadelta>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdam, runStep<kAdam>, kTfFloats)
LS_TF_KERNEL(ApplyAdam, runStep<kAdam>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdaMax, runStep<kAdaMax>, kTfFloats)
LS_TF_KERNEL(ApplyAdaMax, runStep<kAdaMax>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdamWithAmsgrad, runStep<kAmsgrad>, kTfFloats)
LS_TF_KERNEL(ResourceApplyRMSProp, runStep<kRmsProp>, kTfFloats)
LS_TF_KERNEL(ApplyRMSProp, runStep<kRmsProp>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyRMSProp, runSparseStep<kRmsProp>, kTfFloats)
LS_TF_KERNEL(SparseApplyRMSProp, runSparseStep<kRmsProp>, kTfFloats)
LS_TF_KERNEL(ResourceApplyCenteredRMSProp, runStep<kCenteredRmsProp>, kTfFloats)
LS_TF_KERNEL(ApplyCenteredRMSProp, runStep<kCenteredRmsProp>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyCenteredRMSProp, runSparseStep<kCenteredRmsProp>, kTfFloats)
LS_TF_KERNEL(SparseApplyCenteredRMSProp, runSparseStep<kCenteredRmsProp>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAddSign, runStep<kAddSign>, kTfFloats)
LS_TF_KERNEL(ApplyAddSign, runStep<kAddSign>, kTfFloats)
LS_TF_KERNEL(ResourceApplyPowerSign, runStep<kPowerSign>, kTfFloats)
LS_TF_KERNEL(ApplyPowerSign, runStep<kPowerSign>, kTfFloats)
LS_TF_KERNEL(ResourceApplyProximalGradientDescent, runStep<kProximalDescent>, kTfFloats)
LS_TF_KERNEL(ApplyProximalGradientDescent, runStep<kProximalDescent>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyProximalGradientDescent, runSparseStep<kProximalDescent>, kTfFloats)
LS_TF_KERNEL(SparseApplyProximalGradientDescent, runSparseStep<kProximalDescent>, kTfFloats)
LS_TF_KERNEL(ResourceApplyProximalAdagrad, runStep<kProximalAdagrad>, kTfFloats)
LS_TF_KERNEL(ApplyProximalAdagrad, runStep<kProximalAdagrad>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyProximalAdagrad, runSparseStep<kProximalAdagrad>, kTfFloats)
LS_TF_KERNEL(SparseApplyProximalAdagrad, runSparseStep<kProximalAdagrad>, kTfFloats)
LS_TF_KERNEL(ResourceApplyAdagradDA, runStep<kAdagradDA>, kTfFloats)
LS_TF_KERNEL(ApplyAdagradDA, runStep<kAdagradDA>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyAdagradDA, runSparseStep<kAdagradDA>, kTfFloats)
LS_TF_KERNEL(SparseApplyAdagradDA, runSparseStep<kAdagradDA>, kTfFloats)
LS_TF_KERNEL(ResourceApplyFtrl, runStep<kFtrl>, kTfFloats)
LS_TF_KERNEL(ApplyFtrl, runStep<kFtrl>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyFtrl, runSparseStep<kFtrl>, kTfFloats)
LS_TF_KERNEL(SparseApplyFtrl, runSparseStep<kFtrl>, kTfFloats)
LS_TF_KERNEL(ResourceApplyFtrlV2, runStep<kFtrlV2>, kTfFloats)
LS_TF_KERNEL(ApplyFtrlV2, runStep<kFtrlV2>, kTfFloats)
LS_TF_KERNEL(ResourceSparseApplyFtrlV2, runSparseStep<kFtrlV2>, kTfFloats)
LS_TF_KERNEL(SparseApplyFtrlV2, runSparseStep<kFtrlV2>, kTfFloats)
