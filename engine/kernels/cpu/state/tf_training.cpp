// Kernels of the steps of TensorFlow's optimizers: core/kernels/training_ops.cc. Each step is calculated in f64 and rounded once.
#include "engine/kernels/cpu/state/tf_variables.h"

#include <array>
#include <cmath>

using namespace loopscope;

namespace {

constexpr int kMostOperands = 10;

/// One element of the variables of a step, and what the step is made of.
struct Step {
    std::array<double, 4> v = {};             ///< the variable, then its slots, in the order of the operands
    std::array<double, kMostOperands> s = {}; ///< operands that are scalars, by their position
    double gradient = 0;
    bool nesterov = false, updatesSlots = true;
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

template <const Optimizer& optimizer> Status runStep(const KernelArgs& args)
{
    std::array<Variable*, 4> variables = {};
    const Tensor& gradient = args.in(optimizer.gradient);
    for (int i = 0; i < optimizer.variables; ++i) {
        LS_TRY(Variable* const variable, tfAssignedVariable(args, i));
        if (variable->dtype != gradient.dtype || !(variable->shape == gradient.shape))
            return invalidArgument("var and grad do not have the same shape" + toString(variable->shape) + " " + toString(gradient.shape));
        variables[static_cast<size_t>(i)] = variable;
    }
    for (int i = optimizer.variables; i < args.inputCount; ++i)
        if (i != optimizer.gradient && args.in(i).elementCount() != 1)
            return invalidArgument("lr and what goes with it must be scalars: " + toString(args.in(i).shape));
    LS_CHECK_OK(forDType<TfFloats>(gradient.dtype, [&]<typename T>() -> Status {
        Step step;
        step.nesterov = attributeBool(attributesOf(args), "use_nesterov", false);
        step.updatesSlots = attributeBool(attributesOf(args), "update_slots", true);
        for (int i = optimizer.variables; i < args.inputCount; ++i)
            if (i != optimizer.gradient) step.s[static_cast<size_t>(i)] = Element<T>::load(*args.in(i).as<T>());
        for (int64_t at = 0, count = gradient.elementCount(); at < count; ++at) {
            const auto element = [&](size_t i) -> T& { return reinterpret_cast<T*>(variables[i]->bytes.data())[at]; };
            step.gradient = Element<T>::load(gradient.as<T>()[at]);
            for (size_t i = 0; i < optimizer.variables; ++i) step.v[i] = Element<T>::load(element(i));
            optimizer.step(step);
            for (size_t i = 0; i < optimizer.variables; ++i)
                element(i) = Element<T>::store(static_cast<typename Element<T>::Compute>(step.v[i]));
        }
        return {};
    }));
    for (int i = 0; i < optimizer.variables; ++i) tfTellWritten(args, *variables[static_cast<size_t>(i)]);
    return tfHandOn(args);
}

constexpr std::string_view kFloats = "f32 f64 f16 bf16";

} // namespace

LS_TF_KERNEL(ResourceApplyGradientDescent, runStep<kGradientDescent>, kFloats)
LS_TF_KERNEL(ApplyGradientDescent, runStep<kGradientDescent>, kFloats)
LS_TF_KERNEL(ResourceApplyMomentum, runStep<kMomentum>, kFloats)
LS_TF_KERNEL(ApplyMomentum, runStep<kMomentum>, kFloats)
LS_TF_KERNEL(ResourceApplyKerasMomentum, runStep<kKerasMomentum>, kFloats)
LS_TF_KERNEL(ResourceApplyAdagrad, runStep<kAdagrad>, kFloats)
LS_TF_KERNEL(ApplyAdagrad, runStep<kAdagrad>, kFloats)
LS_TF_KERNEL(ResourceApplyAdagradV2, runStep<kAdagradV2>, kFloats)
LS_TF_KERNEL(ResourceApplyAdadelta, runStep<kAdadelta>, kFloats)
LS_TF_KERNEL(ResourceApplyAdam, runStep<kAdam>, kFloats)
LS_TF_KERNEL(ApplyAdam, runStep<kAdam>, kFloats)
LS_TF_KERNEL(ResourceApplyRMSProp, runStep<kRmsProp>, kFloats)
LS_TF_KERNEL(ApplyRMSProp, runStep<kRmsProp>, kFloats)
LS_TF_KERNEL(ResourceApplyCenteredRMSProp, runStep<kCenteredRmsProp>, kFloats)
