#include "app/check/ltest_slopes.h"

#include "app/check/ltest_values.h"
#include "app/wiring/pass_context.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "app/wiring/tf_target.h"
#include "engine/api/inputs/run_target.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope::app {

namespace {

constexpr double kStep = 1e-5;
constexpr double kBound = 1e-6; ///< of one and of the slope: the error of a quotient is step²

/// The graph at some inputs.
class Sampler {
public:
    Sampler(Executor& executor, ModelSession& session, BoundInputs inputs)
        : m_executor(executor),
          m_session(session),
          m_inputs(std::move(inputs))
    {
    }

    /// The sum of all elements of output 0, where element `at` of an input is `by` larger.
    Result<double> sum(size_t input, int64_t at, double by)
    {
        double* const element = reinterpret_cast<double*>(m_inputs.inputs[input].arrays.front().bytes.data()) + at;
        const double before = *element;
        *element = before + by;
        Status status = m_session.run(m_executor, m_inputs, 0, nullptr, 0);
        *element = before;
        LS_CHECK_OK(std::move(status));
        double sum = 0;
        const Tensor& of = m_executor.output(0);
        for (int64_t i = 0, n = of.elementCount(); i < n; ++i) sum += of.as<double>()[i];
        return sum;
    }

    /// Output `k` at the inputs themselves.
    Result<Array> output(int k)
    {
        LS_CHECK_OK(m_session.run(m_executor, m_inputs, 0, nullptr, 0));
        const Tensor& tensor = m_executor.output(k);
        return Array{tensor.dtype, tensor.shape, std::vector<std::byte>(tensor.data, tensor.data + tensor.bytes)};
    }

    const Array& input(size_t i) const { return m_inputs.inputs[i].arrays.front(); }

private:
    Executor& m_executor;
    ModelSession& m_session;
    BoundInputs m_inputs;
};

Result<std::string> compareWith(Sampler& sampler, const std::string& name, size_t input, const Array& gradient)
{
    const Tensor slopes = gradient.view();
    const Array& x = sampler.input(input);
    if (slopes.dtype != DType::f64 || !(slopes.shape == x.shape))
        return "the gradient by " + name + ": got " + shortType(slopes) + ", want " + shortType(x.view());
    for (int64_t i = 0, n = slopes.elementCount(); i < n; ++i) {
        LS_TRY(const double above, sampler.sum(input, i, kStep));
        LS_TRY(const double below, sampler.sum(input, i, -kStep));
        const double slope = (above - below) / (2 * kStep);
        if (std::abs(slopes.as<double>()[i] - slope) <= kBound * (1 + std::abs(slope))) continue;
        return "the gradient by " + name + " at " + elementIndexText(slopes.shape, i) + ": got " + elementText(slopes, i) +
               ", the slope is " + std::to_string(slope);
    }
    return std::string();
}

} // namespace

Result<std::string> whyNoSlopes(const Model& model, const LtestSection& pass, const LtestSection& section)
{
    const std::vector<std::string> by = namesIn({pass.value("wrt")});
    RunSelection selection;
    selection.feeds = assignedNames(section);
    selection.fetches = {pass.value("of")};
    for (const std::string& name : by) selection.fetches.push_back("gradients/" + name);
    LS_TRY(RunTarget target, selectTarget(model, ""));
    ModelSession session(model, {});
    LS_TRY(Executor* const executor, session.enter(target.graph, selection, target));
    LS_TRY(BoundInputs inputs, readInputs(section, target, 0));
    Sampler sampler(*executor, session, std::move(inputs));
    for (size_t k = 0; k < by.size(); ++k) {
        const auto port = std::ranges::find(target.inputs, by[k], &Port::name);
        if (port == target.inputs.end()) return Error(ErrorCode::usage, "'== slopes' does not feed '" + by[k] + "'");
        const auto input = static_cast<size_t>(port - target.inputs.begin());
        LS_TRY(const Array gradient, sampler.output(static_cast<int>(k) + 1));
        if (sampler.input(input).dtype != DType::f64 || executor->output(0).dtype != DType::f64)
            return Error(ErrorCode::usage, "'== slopes' is for f64 alone").at(by[k]);
        LS_TRY(std::string why, compareWith(sampler, by[k], input, gradient));
        if (!why.empty()) return why;
    }
    return std::string();
}

} // namespace loopscope::app
