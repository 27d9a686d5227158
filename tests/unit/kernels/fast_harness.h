// Compares the kernels of the profile `fast` with the reference kernels, on operands that a test makes up.
#pragma once

#include "engine/kernels/registry.h"
#include "engine/tensor/compare.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace loopscope::testing {

inline TestTensor randomTensor(std::mt19937& random, DType dtype, const Shape& shape)
{
    TestTensor tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    const int64_t count = shape.elementCount();
    if (dtype == DType::f32) {
        std::vector<float> values;
        for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 500.0F);
        return tensorOf<float>(shape, values);
    }
    if (dtype == DType::i32) {
        std::vector<int32_t> values;
        for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(random() % 4001) - 2000);
        return tensorOf<int32_t>(shape, values);
    }
    tensor.data.resize(static_cast<size_t>(count));
    for (std::byte& byte : tensor.data) byte = static_cast<std::byte>(random());
    return tensor;
}

/// Runs both, with one and with several threads. Empty: equal as they must be; floats that are quantized later bit for bit.
inline std::string difference(const std::string& kind, const std::vector<const TestTensor*>& inputs, RunOptions options)
{
    options.profile = Profile::reference;
    const auto want = runOperator(kind, inputs, options);
    if (!want.ok()) return "reference: " + want.error().message();
    const ErrorBounds bounds = KernelRegistry::builtin().find({options.dialect, kind}, Profile::fast)->bounds;
    options.profile = Profile::fast;
    std::vector<std::byte> first;
    for (const int threads : {1, 2, 5}) {
        options.threads = threads;
        const auto got = runOperator(kind, inputs, options);
        if (!got.ok()) return "fast: " + got.error().message();
        const TestTensor &a = got->front(), &b = want->front();
        if (threads == 1) first = a.data;
        if (a.data != first) return "another result with " + std::to_string(threads) + " threads";
        if (a.dtype != DType::f32 || options.isQuantizedLater) {
            if (a.data != b.data) return "other bits than the reference's";
            continue;
        }
        const std::vector<float> x = a.values<float>(), y = b.values<float>();
        float largest = 0;
        for (const float value : y)
            if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
        const ErrorBound bound = bounds.of(DType::f32);
        for (size_t i = 0; i < x.size(); ++i) {
            const double allowed = std::max(bound.ofLargest * static_cast<double>(largest), bound.relative * std::fabs(y[i]));
            const double ulp = static_cast<double>(bound.ulp) * (std::nextafter(std::fabs(y[i]), INFINITY) - std::fabs(y[i]));
            if (!(std::fabs(static_cast<double>(x[i]) - y[i]) <= std::max(allowed, ulp)) && x[i] != y[i] &&
                !(std::isnan(x[i]) && std::isnan(y[i])))
                return "element " + std::to_string(i) + ": " + std::to_string(x[i]) + ", not " + std::to_string(y[i]);
        }
    }
    return {};
}

/// One scale and zero point that suit the dtype, or scales for each of the channels along `axis`.
inline QuantizationPtr scaleOf(DType dtype, float scale, int channels = 0, int axis = 0)
{
    if (dtype == DType::f32) return nullptr;
    if (channels == 0)
        return std::make_shared<const Quantization>(Quantization::perTensor(scale, dtype == DType::u8   ? 117
                                                                                   : dtype == DType::i8 ? -11
                                                                                                        : 0));
    Quantization each = Quantization::perTensor(scale, 0);
    each.perChannel = true;
    each.axis = axis;
    each.scales.clear();
    for (int c = 0; c < channels; ++c) each.scales.push_back(scale * (1.0F + static_cast<float>(c % 7) / 3.0F));
    each.zeroPoints.assign(each.scales.size(), 0);
    return std::make_shared<const Quantization>(each);
}

} // namespace loopscope::testing
