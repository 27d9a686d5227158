// CPU kernels of batch_matmul: f32, hybrid (f32 times i8), i8 and i16.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/ops/linear/batch_matmul_options.h"

#include <algorithm>
#include <memory>

using namespace loopscope;

namespace {

struct BatchMatmulParams {
    bool adjX = false, adjY = false;
    bool asymmetric = false; ///< hybrid: asymmetric_quantize_inputs
    OutputStage stage;
    int32_t zeroX = 0, zeroY = 0;
    std::vector<float> scales; ///< hybrid: of y
};

/// The matrices of a call. Batch dimensions broadcast: `offsets(b)` are the places of the b-th product's matrices.
struct Sizes {
    const Shape& x;
    const Shape& y;
    const Shape& out;
    int64_t rows, columns, depth, batches;

    Sizes(const KernelArgs& args, const BatchMatmulParams& params) : x(args.in(0).shape), y(args.in(1).shape), out(args.out(0).shape)
    {
        rows = out[out.rank() - 2];
        columns = out[out.rank() - 1];
        depth = x[x.rank() - (params.adjX ? 2 : 1)];
        batches = out.countOf(0, out.rank() - 2);
    }
    /// First element of the matrix of `operand` that product `batch` reads.
    int64_t matrixOffset(const Shape& operand, int64_t batch) const
    {
        int64_t offset = 0;
        int64_t stride = operand[operand.rank() - 1] * operand[operand.rank() - 2];
        const int shift = out.rank() - operand.rank();
        for (int axis = out.rank() - 3; axis >= 0; --axis) {
            const int64_t index = batch % out[axis];
            batch /= out[axis];
            if (axis < shift) continue;
            if (operand[axis - shift] != 1) offset += index * stride;
            stride *= operand[axis - shift];
        }
        return offset;
    }
};

Status runF32(const KernelArgs& args)
{
    const auto& params = args.paramsAs<BatchMatmulParams>();
    const Sizes s(args, params);
    ScratchLayout layout;
    const size_t panelsAt = layout.add<float>(panelFloats(s.columns, s.depth));
    const size_t leftAt = layout.add<float>(params.adjX ? s.rows * s.depth : 0);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* panels = reinterpret_cast<float*>(scratch + panelsAt);
    auto* left = reinterpret_cast<float*>(scratch + leftAt);
    const ProductRun run = {0, 0, s.depth};
    int64_t packedFrom = -1;
    for (int64_t b = 0; b < s.batches; ++b) {
        const int64_t yAt = s.matrixOffset(s.y, b);
        const float* y = args.in(1).as<float>() + yAt;
        if (yAt != packedFrom) packPanels(y, s.columns, s.depth, params.adjY ? s.depth : 1, params.adjY ? 1 : s.columns, panels);
        packedFrom = yAt;
        const float* x = args.in(0).as<float>() + s.matrixOffset(s.x, b);
        if (params.adjX) {
            for (int64_t i = 0; i < s.rows; ++i)
                for (int64_t k = 0; k < s.depth; ++k) left[i * s.depth + k] = x[k * s.rows + i];
            x = left;
        }
        float* out = args.out(0).as<float>() + b * s.rows * s.columns;
        const int64_t tiles = (s.rows + kTilePositions - 1) / kTilePositions;
        shareWork(args, tiles, kTilePositions * s.columns * s.depth, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin * kTilePositions; i < std::min(end * kTilePositions, s.rows); i += kTilePositions) {
                FloatTile tile = {};
                tile.input = x;
                tile.count = static_cast<int>(std::min<int64_t>(kTilePositions, s.rows - i));
                for (int p = 0; p < tile.count; ++p) {
                    tile.positions[p] = (i + p) * s.depth;
                    tile.sums[p] = out + (i + p) * s.columns;
                }
                multiplyTile(tile, {&run, 1}, panels, s.columns, s.depth);
            }
        });
    }
    return {};
}

/// 16-bit copies of the matrices of one product: a row of x for each thread, and the columns of y, each padded to whole steps.
struct IntegerScratch {
    size_t row, weights, sums;
    ScratchLayout layout;

    IntegerScratch(const Sizes& s, int threads)
    {
        row = layout.add<int16_t>(paddedDepth(s.depth) * threads);
        weights = layout.add<int16_t>(paddedRows(s.columns) * paddedDepth(s.depth));
        sums = layout.add<int64_t>(paddedRows(s.columns) * threads);
    }
};

template <typename T> void packColumns(const T* y, const Sizes& s, bool adjoint, int32_t zero, int16_t* weights)
{
    const int64_t stride = paddedDepth(s.depth);
    std::fill(weights, weights + paddedRows(s.columns) * stride, int16_t{0});
    for (int64_t j = 0; j < s.columns; ++j)
        for (int64_t k = 0; k < s.depth; ++k)
            weights[j * stride + k] = static_cast<int16_t>(y[adjoint ? j * s.depth + k : k * s.columns + j] - zero);
}

/// x is X, y is Y; sums are 64 bits wide for i16 x. `store(row of the result, sums)` finishes a row, from any thread.
template <typename X, typename Y, typename Sum, typename Store> void multiplyIntegers(const KernelArgs& args, const Sizes& s, Store store)
{
    const auto& params = args.paramsAs<BatchMatmulParams>();
    const IntegerScratch parts(s, args.runtime->threads());
    std::byte* scratch = args.runtime->scratch(parts.layout.bytes());
    auto* weights = reinterpret_cast<int16_t*>(scratch + parts.weights);
    const int64_t stride = paddedDepth(s.depth);
    for (int64_t b = 0; b < s.batches; ++b) {
        packColumns(args.in(1).as<Y>() + s.matrixOffset(s.y, b), s, params.adjY, params.zeroY, weights);
        const X* x = args.in(0).as<X>() + s.matrixOffset(s.x, b);
        shareWork(args, s.rows, s.columns * s.depth, [&](int64_t begin, int64_t end, int thread) {
            int16_t* row = reinterpret_cast<int16_t*>(scratch + parts.row) + thread * stride;
            Sum* sums = reinterpret_cast<Sum*>(reinterpret_cast<int64_t*>(scratch + parts.sums) + thread * paddedRows(s.columns));
            std::fill(row, row + stride, int16_t{0});
            for (int64_t i = begin; i < end; ++i) {
                for (int64_t k = 0; k < s.depth; ++k)
                    row[k] = static_cast<int16_t>(x[params.adjX ? k * s.rows + i : i * s.depth + k] - params.zeroX);
                if constexpr (sizeof(Sum) == 4) {
                    dotRows(row, weights, s.columns, stride, stride, sums, false);
                } else if constexpr (sizeof(Y) == 1) {
                    dotRows64(row, weights, s.columns, stride, stride, sums, false);
                } else {
                    for (int64_t j = 0; j < s.columns; ++j) {
                        uint64_t sum = 0;
                        for (int64_t k = 0; k < s.depth; ++k)
                            sum += static_cast<uint64_t>(int64_t{row[k]} * int64_t{weights[j * stride + k]});
                        sums[j] = static_cast<Sum>(sum);
                    }
                }
                store(b * s.rows + i, sums);
            }
        });
    }
}

Status runI8(const KernelArgs& args)
{
    const Sizes s(args, args.paramsAs<BatchMatmulParams>());
    const OutputStage& stage = args.paramsAs<BatchMatmulParams>().stage;
    multiplyIntegers<int8_t, int8_t, int32_t>(args, s, [&](int64_t row, const int32_t* sums) {
        int8_t* out = args.out(0).as<int8_t>() + row * s.columns;
        for (int64_t j = 0; j < s.columns; ++j) out[j] = static_cast<int8_t>(stage.apply(sums[j], 0));
    });
    return {};
}

/// i8 operands, i32 result: the bare sums of products of stored numbers.
Status runI8ToI32(const KernelArgs& args)
{
    const Sizes s(args, args.paramsAs<BatchMatmulParams>());
    multiplyIntegers<int8_t, int8_t, int32_t>(
        args, s, [&](int64_t row, const int32_t* sums) { std::copy(sums, sums + s.columns, args.out(0).as<int32_t>() + row * s.columns); });
    return {};
}

template <typename Y> Status runI16(const KernelArgs& args)
{
    const Sizes s(args, args.paramsAs<BatchMatmulParams>());
    const OutputStage& stage = args.paramsAs<BatchMatmulParams>().stage;
    multiplyIntegers<int16_t, Y, int64_t>(args, s, [&](int64_t row, const int64_t* sums) {
        int16_t* out = args.out(0).as<int16_t>() + row * s.columns;
        for (int64_t j = 0; j < s.columns; ++j) out[j] = static_cast<int16_t>(stage.apply64(sums[j], 0));
    });
    return {};
}

/// f32 rows of x are quantized one by one. The zero point's share is taken off in float, as LiteRT's reference does.
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<BatchMatmulParams>();
    const Sizes s(args, params);
    const IntegerScratch parts(s, args.runtime->threads());
    ScratchLayout layout = parts.layout;
    const size_t leftAt = layout.add<float>(s.depth * args.runtime->threads());
    const size_t totalsAt = layout.add<int32_t>(s.columns);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    auto* weights = reinterpret_cast<int16_t*>(scratch + parts.weights);
    auto* totals = reinterpret_cast<int32_t*>(scratch + totalsAt); // Σ of each column of y
    const int64_t stride = paddedDepth(s.depth);
    for (int64_t b = 0; b < s.batches; ++b) {
        packColumns(args.in(1).as<int8_t>() + s.matrixOffset(s.y, b), s, params.adjY, 0, weights);
        for (int64_t j = 0; j < s.columns; ++j) {
            uint32_t total = 0;
            for (int64_t k = 0; k < s.depth; ++k) total += static_cast<uint32_t>(weights[j * stride + k]);
            totals[j] = static_cast<int32_t>(total);
        }
        const float* x = args.in(0).as<float>() + s.matrixOffset(s.x, b);
        shareWork(args, s.rows, s.columns * s.depth, [&](int64_t begin, int64_t end, int thread) {
            int16_t* row = reinterpret_cast<int16_t*>(scratch + parts.row) + thread * stride;
            int32_t* sums = reinterpret_cast<int32_t*>(reinterpret_cast<int64_t*>(scratch + parts.sums) + thread * paddedRows(s.columns));
            float* left = reinterpret_cast<float*>(scratch + leftAt) + thread * s.depth;
            std::fill(row, row + stride, int16_t{0});
            for (int64_t i = begin; i < end; ++i) {
                for (int64_t k = 0; k < s.depth; ++k) left[k] = x[params.adjX ? k * s.rows + i : i * s.depth + k];
                const std::span<const float> values(left, static_cast<size_t>(s.depth));
                const HybridInput input = params.asymmetric ? quantizeAsymmetric(values, row) : quantizeSymmetric(values, row);
                dotRows(row, weights, s.columns, stride, stride, sums, false);
                float* out = args.out(0).as<float>() + (b * s.rows + i) * s.columns;
                for (int64_t j = 0; j < s.columns; ++j) {
                    const float offset = static_cast<float>(totals[j]) * static_cast<float>(input.zero);
                    const auto total =
                        static_cast<int32_t>(std::clamp(static_cast<float>(sums[j]) - offset, -2147483648.0F, 2147483520.0F));
                    const float scale =
                        input.scale * (params.scales.size() == 1 ? params.scales.front() : params.scales[static_cast<size_t>(j)]);
                    out[j] = 0.0F + scale * static_cast<float>(total);
                }
            }
        });
    }
    return {};
}

Result<PreparedKernel> prepareBatchMatmul(const KernelSetup& setup)
{
    const Tensor& x = setup.in(0);
    const Tensor& y = setup.in(1);
    auto params = std::make_shared<BatchMatmulParams>();
    params->adjX = isAdjoint(setup.attributes(), "adj_x");
    params->adjY = isAdjoint(setup.attributes(), "adj_y");
    PreparedKernel kernel;
    if (x.dtype == DType::f32 && y.dtype == DType::f32) {
        kernel.run = runF32;
    } else if (x.dtype == DType::f32) {
        kernel.run = runHybrid;
        if (!y.quantization || y.quantization->scales.empty()) return Error(ErrorCode::unsupported, "y has no scale");
        params->scales = y.quantization->scales;
        params->asymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
        const auto scales = static_cast<int64_t>(params->scales.size());
        const int64_t columns = y.shape[y.shape.rank() - (params->adjY ? 2 : 1)];
        if (scales != 1 && scales != columns)
            return Error(ErrorCode::unsupported, "wrong number of scales of y")
                .found(std::to_string(scales))
                .expected("1 or " + std::to_string(columns));
    } else if (x.dtype == DType::i8 && setup.out(0).dtype == DType::i32) {
        kernel.run = runI8ToI32;
    } else {
        // LiteRT reads one scale and zero point of y. Where there are several it sees 0 (Interpreter's legacy parameters): every product
        // counts as nothing, and the result is its zero point.
        const Quantization none = Quantization::perTensor(0.0F, 0);
        Tensor single = y;
        if (y.quantization && y.quantization->scales.size() > 1) single.quantization = &none;
        LS_TRY(params->stage, makeOutputStage(x, single, setup.out(0), 1, FusedActivation::none, Scaling::floatProduct));
        params->zeroX = scaleAndZero(x).zero;
        params->zeroY = scaleAndZero(single).zero;
        if (x.dtype == DType::i16 && (params->zeroX != 0 || params->zeroY != 0 || params->stage.zero != 0))
            return Error(ErrorCode::unsupported, "i16 operands with a zero point").expected("0");
        kernel.run = x.dtype == DType::i8 ? runI8 : y.dtype == DType::i8 ? runI16<int8_t> : runI16<int16_t>;
    }
    kernel.params = std::move(params);
    return kernel;
}

} // namespace

LS_DEFINE_KERNELS(tfl, batch_matmul) { registry.add({"tfl", "batch_matmul", Profile::reference, prepareBatchMatmul, "f32 i8 i16"}); }

LS_DEFINE_KERNELS(custom, BatchMatMulV2)
{
    registry.add({"custom", "BatchMatMulV2", Profile::reference, prepareBatchMatmul, "f32 i8 i16"});
}
