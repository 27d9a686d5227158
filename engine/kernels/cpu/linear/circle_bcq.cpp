// CPU kernels of Circle's operators on weights in binary codes (engine/ops/binary_codes.h): the weights become floats once, when the kernel
// is prepared.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/ops/binary_codes.h"

#include <algorithm>
#include <memory>

using namespace loopscope;

namespace {

/// weights[r, h] = Σ over codes of scale · sign.
Result<std::vector<float>> denseWeights(const KernelSetup& setup, BinaryOperands operands, int64_t width)
{
    for (const int i : {operands.scales, operands.binary, operands.clusters})
        if (!setup.has(i) || setup.in(i).data == nullptr || !setup.in(i).shape.isStatic())
            return Error(ErrorCode::unsupported, "operand " + std::to_string(i) + " is computed while running").expected("a constant");
    const Tensor& table = setup.in(operands.clusters);
    std::vector<int64_t> numbers(table.as<int32_t>(), table.as<int32_t>() + table.elementCount());
    const auto* scale = setup.in(operands.scales).as<float>();
    const auto* words = setup.in(operands.binary).as<uint32_t>();
    const int64_t rowWords = setup.in(operands.binary).shape[1];
    std::vector<float> weights;
    for (const BinaryCluster& cluster : binaryClusters(numbers))
        for (int64_t r = 0; r < cluster.rows; ++r) {
            const size_t start = weights.size();
            weights.resize(start + static_cast<size_t>(width), 0.0F);
            for (int64_t code = 0; code < cluster.codes; ++code, ++scale, words += rowWords)
                for (int64_t h = 0; h < width; ++h)
                    weights[start + static_cast<size_t>(h)] += (words[h / 32] >> (h % 32) & 1U) != 0 ? *scale : -*scale;
        }
    return weights;
}

struct BcqFullyConnectedParams {
    ActivationRange<float> range;
    std::vector<float> weights; ///< [O,H]
};

Status runBcqFullyConnected(const KernelArgs& args)
{
    const auto& params = args.paramsAs<BcqFullyConnectedParams>();
    const int64_t depth = args.in(0).shape[0];
    const int64_t columns = args.in(0).shape[1];
    const int64_t rows = args.out(0).shape[0];
    const float* bias = args.has(3) ? args.in(3).as<float>() : nullptr;
    auto* panels = reinterpret_cast<float*>(args.runtime->scratch(static_cast<size_t>(panelFloats(columns, depth)) * sizeof(float)));
    packPanels(args.in(0).as<float>(), columns, depth, 1, columns, panels); // columns of the input are what the weight rows meet
    const ProductRun run = {0, 0, depth};
    const int64_t tiles = (rows + kTilePositions - 1) / kTilePositions;
    shareWork(args, tiles, kTilePositions * columns * depth, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin * kTilePositions; r < std::min(end * kTilePositions, rows); r += kTilePositions) {
            FloatTile tile = {};
            tile.input = params.weights.data();
            tile.count = static_cast<int>(std::min<int64_t>(kTilePositions, rows - r));
            for (int p = 0; p < tile.count; ++p) {
                tile.positions[p] = (r + p) * depth;
                tile.sums[p] = args.out(0).as<float>() + (r + p) * columns;
            }
            multiplyTile(tile, {&run, 1}, panels, columns, depth);
            for (int p = 0; p < tile.count; ++p)
                for (int64_t c = 0; c < columns; ++c)
                    tile.sums[p][c] = clampTo(tile.sums[p][c] + (bias ? bias[r + p] : 0.0F), params.range);
        }
    });
    return {};
}

Result<PreparedKernel> prepareBcqFullyConnected(const KernelSetup& setup)
{
    auto params = std::make_shared<BcqFullyConnectedParams>();
    params->range = activationRange<float>(fusedActivation(setup.attributes()));
    LS_TRY(params->weights, denseWeights(setup, {1, 2, 4}, attributeInt(setup.attributes(), "weights_hidden_size", 0)));
    return PreparedKernel{runBcqFullyConnected, std::move(params)};
}

struct BcqGatherParams {
    std::vector<float> weights; ///< [rows,width]
    int64_t rows = 0, width = 0;
    bool columns = false;
};

Status runBcqGather(const KernelArgs& args)
{
    const auto& params = args.paramsAs<BcqGatherParams>();
    const int64_t count = args.in(2).elementCount();
    const auto* indices = args.in(2).as<int32_t>();
    auto* out = args.out(0).as<float>();
    const int64_t size = params.columns ? params.width : params.rows;
    for (int64_t i = 0; i < count; ++i)
        if (indices[i] < 0 || indices[i] >= size)
            return kernelError(7, "index " + std::to_string(i))
                .found(std::to_string(indices[i]))
                .expected("0 to " + std::to_string(size - 1));
    if (!params.columns) {
        for (int64_t i = 0; i < count; ++i)
            std::copy_n(params.weights.data() + indices[i] * params.width, params.width, out + i * params.width);
        return {};
    }
    for (int64_t r = 0; r < params.rows; ++r)
        for (int64_t i = 0; i < count; ++i) out[r * count + i] = params.weights[static_cast<size_t>(r * params.width + indices[i])];
    return {};
}

Result<PreparedKernel> prepareBcqGather(const KernelSetup& setup)
{
    auto params = std::make_shared<BcqGatherParams>();
    params->width = attributeInt(setup.attributes(), "input_hidden_size", 0);
    params->columns = attributeInt(setup.attributes(), "axis", 0) == 1;
    LS_TRY(params->weights, denseWeights(setup, {0, 1, 3}, params->width));
    params->rows = params->width > 0 ? static_cast<int64_t>(params->weights.size()) / params->width : 0;
    return PreparedKernel{runBcqGather, std::move(params)};
}

} // namespace

LS_DEFINE_KERNELS(circle, bcq_fully_connected)
{
    registry.add({"circle", "bcq_fully_connected", Profile::reference, prepareBcqFullyConnected, "f32"});
}

LS_DEFINE_KERNELS(circle, bcq_gather) { registry.add({"circle", "bcq_gather", Profile::reference, prepareBcqGather, "f32"}); }
