// A graph of f64 values that is run on lists of numbers, and gradients held against difference quotients: what the tests of gradients
// share.
#pragma once

#include "engine/exec/executor.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/model.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <utility>
#include <vector>

namespace loopscope::testing {

using Numbers = std::vector<double>;

class NumberGraph {
public:
    /// Of what a selection left of a model. Expects that it can be run.
    void open(Model model)
    {
        m_model = std::make_unique<Model>(std::move(model));
        Result<std::unique_ptr<Executor>> executor = makeExecutor(*m_model, GraphId(0));
        ASSERT_TRUE(executor.ok()) << executor.error().message();
        m_executor = std::move(executor).value();
    }
    bool isOpen() const { return m_executor != nullptr; }

    /// Output k, flat; empty if the run fails.
    Numbers run(std::vector<std::pair<Numbers, Shape>> inputs, int k)
    {
        if (!m_executor) return {};
        for (size_t i = 0; i < inputs.size(); ++i) {
            auto& [values, shape] = inputs[i];
            Tensor tensor;
            tensor.data = reinterpret_cast<std::byte*>(values.data());
            tensor.bytes = values.size() * sizeof(double);
            tensor.dtype = DType::f64;
            tensor.shape = shape;
            EXPECT_TRUE(m_executor->setInput(static_cast<int>(i), tensor).ok());
        }
        Status status = m_executor->start();
        if (status.ok()) status = m_executor->run();
        EXPECT_TRUE(status.ok()) << std::move(status).takeError().message();
        if (!m_executor->position().finished) return {};
        const Tensor& out = m_executor->output(k);
        return {out.as<double>(), out.as<double>() + out.elementCount()};
    }

private:
    std::unique_ptr<Model> m_model;
    std::unique_ptr<Executor> m_executor;
};

/// Whether gradient(a, b, side) are the slopes of value(a, b) by the elements of a (side 0) and b.
inline void expectSlopesOf(const Numbers& a, const Numbers& b, const std::function<double(const Numbers&, const Numbers&)>& value,
                           const std::function<Numbers(const Numbers&, const Numbers&, int)>& gradient)
{
    constexpr double kStep = 1e-5;
    for (const int side : {0, 1}) {
        const Numbers slopes = gradient(a, b, side);
        ASSERT_EQ(slopes.size(), side == 0 ? a.size() : b.size());
        for (size_t i = 0; i < slopes.size(); ++i) {
            Numbers high[2] = {a, b}, low[2] = {a, b};
            high[side][i] += kStep;
            low[side][i] -= kStep;
            const double slope = (value(high[0], high[1]) - value(low[0], low[1])) / (2 * kStep);
            EXPECT_NEAR(slopes[i], slope, 1e-6 * (1 + std::abs(slope))) << "operand " << side << ", element " << i; // error: h²
        }
    }
}

} // namespace loopscope::testing
