// CPU kernel of the custom operator DenseImageWarp.
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

/// Between which two rows or columns a point lies, and how far from the first.
struct WarpPlace {
    int64_t first = 0;
    float part = 0;

    WarpPlace(float point, int64_t size)
    {
        const auto last = static_cast<float>(size - 2);
        const float below = std::floor(point);
        first = static_cast<int64_t>(std::min(std::max(0.0F, below), last)); // a NaN is 0
        part = std::min(std::max(0.0F, point - static_cast<float>(first)), 1.0F);
    }
};

Status runImageWarp(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const int64_t height = shape[1], width = shape[2], channels = shape[3];
    const float* const image = args.in(0).as<float>();
    const float* const flow = args.in(1).as<float>();
    float* const out = args.out(0).as<float>();
    shareWork(args, shape[0] * height, width * channels, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t y = row % height;
            const float* const picture = image + (row - y) * width * channels;
            for (int64_t x = 0; x < width; ++x) {
                const float* const step = flow + (row * width + x) * 2;
                const WarpPlace down(static_cast<float>(y) - step[0], height), across(static_cast<float>(x) - step[1], width);
                const float* const top = picture + (down.first * width + across.first) * channels;
                const float* const bottom = top + width * channels;
                for (int64_t c = 0; c < channels; ++c) {
                    const float above = across.part * (top[c + channels] - top[c]) + top[c];
                    const float below = across.part * (bottom[c + channels] - bottom[c]) + bottom[c];
                    out[(row * width + x) * channels + c] = down.part * (below - above) + above;
                }
            }
        }
    });
    return {};
}

Result<PreparedKernel> prepareImageWarp(const KernelSetup&) { return PreparedKernel{runImageWarp, nullptr}; }

} // namespace

LS_DEFINE_KERNELS(custom, DenseImageWarp) { registry.add({"custom", "DenseImageWarp", Profile::reference, prepareImageWarp, "f32"}); }
