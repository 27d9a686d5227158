// CPU kernels of MediaPipe's operators on landmarks (MediaPipe util/tflite/operations, second versions).
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/ops/image/landmark_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

using namespace loopscope;

namespace {

using PlaneMatrix = std::array<float, 16>; ///< by rows

PlaneMatrix product(const PlaneMatrix& a, const PlaneMatrix& b)
{
    PlaneMatrix out = {};
    for (size_t row = 0; row < 4; ++row)
        for (size_t column = 0; column < 4; ++column) {
            float sum = 0;
            for (size_t k = 0; k < 4; ++k) sum += a[row * 4 + k] * b[k * 4 + column];
            out[row * 4 + column] = sum;
        }
    return out;
}

/// Turned by the angle in the plane, enlarged, or moved: the parts of every matrix here.
PlaneMatrix turned(float angle)
{
    const float c = std::cos(angle), s = std::sin(angle);
    return {c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
}
PlaneMatrix enlarged(float x, float y) { return {x, 0, 0, 0, 0, y, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}; }
PlaneMatrix moved(float x, float y) { return {1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, 0, 0, 0, 0, 1}; }

struct Spot {
    float x = 0, y = 0;
};

/// The first two rows of a matrix on (x, y, 0, 1).
struct Plane {
    std::array<float, 4> x = {}, y = {};

    explicit Plane(const float* matrix)
    {
        std::copy_n(matrix, 4, x.begin());
        std::copy_n(matrix + 4, 4, y.begin());
    }
    Spot at(float px, float py) const { return {x[0] * px + x[1] * py + x[2] * 0.0F + x[3], y[0] * px + y[1] * py + y[2] * 0.0F + y[3]}; }
};

/// Moved to the middle of the box around the landmarks, turned back, scaled to the part's pixels and moved by half the part.
Status runToMatrix(const KernelArgs& args)
{
    const auto& crop = args.paramsAs<LandmarkCrop>();
    if (crop.largestPlace() >= args.in(0).shape[1])
        return kernelError(2, "place " + std::to_string(crop.largestPlace()) + " of " + std::to_string(args.in(0).shape[1]) + " landmarks");
    const auto* const landmarks = args.in(0).as<float>();
    const auto landmark = [&](int64_t place) { return Spot{landmarks[place * 3], landmarks[place * 3 + 1]}; };
    const Spot left = landmark(crop.left), right = landmark(crop.right);
    const float angle = crop.rotation - std::atan2(right.y - left.y, right.x - left.x);
    const float c = std::cos(angle), s = std::sin(angle);
    Spot least, most;
    for (size_t i = 0; i < crop.places.size(); ++i) {
        const Spot p = landmark(crop.places[i]);
        const Spot turned = {c * p.x + -s * p.y, s * p.x + c * p.y};
        if (i == 0) least = most = turned;
        if (most.x < turned.x) most.x = turned.x;
        if (most.y < turned.y) most.y = turned.y;
        if (least.x > turned.x) least.x = turned.x;
        if (least.y > turned.y) least.y = turned.y;
    }
    const float width = most.x - least.x, height = most.y - least.y;
    const Spot middle = {(least.x + most.x) / 2, (least.y + most.y) / 2};
    const float backC = std::cos(-angle), backS = std::sin(-angle);
    const PlaneMatrix toMiddle = moved(backC * middle.x + -backS * middle.y, backS * middle.x + backC * middle.y);
    const auto pixelsX = static_cast<float>(crop.width), pixelsY = static_cast<float>(crop.height);
    const PlaneMatrix scaled = enlarged(crop.scaleX * width / pixelsX, crop.scaleY * height / pixelsY);
    const PlaneMatrix out = product(product(product(toMiddle, turned(-angle)), scaled), moved(-pixelsX / 2, -pixelsY / 2));
    std::ranges::copy(out, args.out(0).as<float>());
    return {};
}

Status runTransform(const KernelArgs& args)
{
    const Plane plane(args.in(1).as<float>());
    const int64_t depth = args.in(0).shape[2];
    const auto* const in = args.in(0).as<float>();
    auto* const out = args.out(0).as<float>();
    for (int64_t i = 0; i < args.in(0).elementCount(); i += depth) {
        const Spot p = plane.at(in[i], in[i + 1]);
        const float height = depth == 3 ? in[i + 2] : 0;
        out[i] = p.x;
        out[i + 1] = p.y;
        if (depth == 3) out[i + 2] = height;
    }
    return {};
}

/// Pixels are taken at their middles; what lies outside of the picture by less than a pixel is outside.
Status runBilinear(const KernelArgs& args)
{
    Plane plane(args.in(1).as<float>());
    for (std::array<float, 4>* const row : {&plane.x, &plane.y})
        (*row)[3] = static_cast<float>((*row)[3] + ((*row)[0] * 0.5 + (*row)[1] * 0.5 - 0.5));
    const Shape &in = args.in(0).shape, &shape = args.out(0).shape;
    const int64_t depth = in[3];
    const auto* const picture = args.in(0).as<float>();
    auto* out = args.out(0).as<float>();
    for (int64_t pixel = 0; pixel < shape[1] * shape[2]; ++pixel, out += depth) {
        const int64_t row = pixel / shape[2], column = pixel % shape[2];
        const Spot p = plane.at(static_cast<float>(column), static_cast<float>(row));
        const bool isInside = p.x >= 0 && p.y >= 0 && p.x <= static_cast<float>(in[2] - 1) && p.y <= static_cast<float>(in[1] - 1);
        if (!isInside) { // or not a number
            std::fill_n(out, depth, 0.0F);
            continue;
        }
        const auto x = static_cast<int64_t>(p.x), y = static_cast<int64_t>(p.y);
        const float right = p.x - std::floor(p.x), lower = p.y - std::floor(p.y);
        for (int64_t c = 0; c < depth; ++c) {
            const auto read = [&](int64_t dy, int64_t dx) {
                return y + dy < in[1] && x + dx < in[2] ? picture[((y + dy) * in[2] + x + dx) * depth + c] : 0.0F;
            };
            const auto above = static_cast<float>((1.0 - right) * read(0, 0) + right * read(0, 1));
            const auto below = static_cast<float>((1.0 - right) * read(1, 0) + right * read(1, 1));
            out[c] = static_cast<float>(lower * below + (1.0 - lower) * above);
        }
    }
    return {};
}

Status checkFloats(const KernelSetup& setup)
{
    for (const Tensor* const input : setup.inputs)
        if (input && input->dtype != DType::f32) return unsupportedDtypes(setup);
    return {};
}

template <KernelFunction run> Result<PreparedKernel> prepareFloats(const KernelSetup& setup)
{
    LS_CHECK_OK(checkFloats(setup));
    return PreparedKernel{run, nullptr};
}

Result<PreparedKernel> prepareToMatrix(const KernelSetup& setup)
{
    LS_CHECK_OK(checkFloats(setup));
    auto crop = LandmarkCrop::from(setup.attributes());
    if (!crop) return Error(ErrorCode::unsupported, "options of a part around landmarks").expected("places, scales and size");
    return PreparedKernel{runToMatrix, std::make_shared<const LandmarkCrop>(std::move(*crop))};
}

} // namespace

LS_DEFINE_KERNELS(custom, Landmarks2TransformMatrix)
{
    registry.add({"custom", "Landmarks2TransformMatrix", Profile::reference, prepareToMatrix, "f32"});
}

LS_DEFINE_KERNELS(custom, TransformLandmarks)
{
    registry.add({"custom", "TransformLandmarks", Profile::reference, prepareFloats<runTransform>, "f32"});
}

LS_DEFINE_KERNELS(custom, TransformTensorBilinear)
{
    registry.add({"custom", "TransformTensorBilinear", Profile::reference, prepareFloats<runBilinear>, "f32"});
}
