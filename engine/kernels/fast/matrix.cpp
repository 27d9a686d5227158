// fully_connected of f32 (weights f32 or integers), i8, u8 and i16 with constant weights, and batch_matmul of f32 and i8.
#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/linear/fully_connected.h"
#include "engine/kernels/fast/rows.h"
#include "engine/kernels/registry.h"
#include "engine/ops/linear/batch_matmul_options.h"

#include <limits>
#include <vector>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

struct FastFullyConnectedParams {
    ActivationRange<float> range;
    OutputStage stage;
    int32_t inputZero = 0;
    int64_t units = 0, depth = 0;
    std::shared_ptr<const PackedWeights> panels;
    std::vector<int32_t> start;                  ///< of bytes that are multiplied as they are
    const int32_t* columnSums = nullptr;         ///< hybrid with bytes: of the weights
    std::vector<float> columnScales;             ///< hybrid: of each unit
    bool isAsymmetric = false, isNanLow = false; ///< hybrid
    bool roundsProducts = false;                 ///< FloatFinish
};

Status runFloats(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastFullyConnectedParams>();
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    const int64_t count = args.out(0).elementCount() / params.units;
    constexpr int64_t kFew = int64_t{1} << 16; // weights: less than what is worth asking whether others could help
    if (count == 1 && params.units * params.depth <= kFew) {
        multiplyRow(args.in(0).as<float>(), params.depth, params.panels->as<float>(), params.units,
                    {bias, params.range.min, params.range.max, false, params.roundsProducts}, args.out(0).as<float>());
        return {};
    }
    multiplyByPanels(args, args.in(0).as<float>(), count, params.depth, params.units, params.panels->as<float>(), [&](int64_t row) {
        return FloatOutput{{bias, params.range.min, params.range.max, false, params.roundsProducts},
                           args.out(0).as<float>() + row * params.units,
                           params.units,
                           params.units};
    });
    return {};
}

template <typename T> Status run8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastFullyConnectedParams>();
    const int64_t count = args.out(0).elementCount() / params.units, padded = rowDepth<int16_t>(params.depth);
    auto* const rows = reinterpret_cast<int16_t*>(args.runtime->scratch(static_cast<size_t>(count * padded) * sizeof(int16_t)));
    for (int64_t r = 0; r < count; ++r) {
        copyWidened(args.in(0).as<T>() + r * params.depth, params.depth, params.inputZero, rows + r * padded);
        if (padded > params.depth) rows[r * padded + params.depth] = 0;
    }
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    multiplyByPanels(args, static_cast<const int16_t*>(rows), count, padded, params.units, params.panels->as<int16_t>(), [&](int64_t row) {
        return StoredOutput<T>{params.stage, bias, 0, args.out(0).as<T>() + row * params.units, params.units, params.units};
    });
    return {};
}

template <typename T> Status runBytes(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastFullyConnectedParams>();
    const int64_t count = args.out(0).elementCount() / params.units, padded = rowDepth<T>(params.depth);
    const T* rows = args.in(0).as<T>();
    if (padded != params.depth) {
        auto* const longer = reinterpret_cast<T*>(args.runtime->scratch(static_cast<size_t>(count * padded)));
        for (int64_t r = 0; r < count; ++r) {
            std::copy_n(rows + r * params.depth, params.depth, longer + r * padded);
            std::fill_n(longer + r * padded + params.depth, padded - params.depth, T{0});
        }
        rows = longer;
    }
    const int32_t* const bias = args.has(2) ? args.in(2).as<int32_t>() : nullptr;
    multiplyByPanels(args, rows, count, padded, params.units, params.panels->as<int8_t>(), [&](int64_t row) {
        return ByteOutput<StoredOutput<T>>{{params.stage, bias, 0, args.out(0).as<T>() + row * params.units, params.units, params.units},
                                           params.start.data()};
    });
    return {};
}

template <typename Bias> Status run16(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastFullyConnectedParams>();
    const int64_t padded = rowDepth<int16_t>(params.depth), count = args.out(0).elementCount() / params.units;
    const int16_t* rows = args.in(0).as<int16_t>();
    if (padded != params.depth) {
        auto* const longer = reinterpret_cast<int16_t*>(args.runtime->scratch(static_cast<size_t>(count * padded) * sizeof(int16_t)));
        for (int64_t r = 0; r < count; ++r) {
            std::copy_n(rows + r * params.depth, params.depth, longer + r * padded);
            longer[r * padded + params.depth] = 0;
        }
        rows = longer;
    }
    const Bias* const bias = args.has(2) ? args.in(2).as<Bias>() : nullptr;
    multiplyByPanels(args, rows, count, padded, params.units, params.panels->as<int16_t>(), [&](int64_t row) {
        WideOutput out = {params.stage, nullptr, nullptr, 0, args.out(0).as<int16_t>() + row * params.units, params.units, params.units};
        if constexpr (sizeof(Bias) == 4) out.narrowBias = bias;
        else out.bias = bias;
        return out;
    });
    return {};
}

/// Rows are quantized one by one, as the reference does it, and multiplied as bytes.
Status runHybridBytes(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastFullyConnectedParams>();
    const int64_t padded = rowDepth<int8_t>(params.depth), count = args.out(0).elementCount() / params.units;
    ScratchLayout layout;
    const size_t rowsAt = layout.add<int8_t>(count * padded), scalesAt = layout.add<float>(count);
    const size_t zerosAt = layout.add<int32_t>(count);
    const size_t wideAt = layout.add<int16_t>(params.depth * args.runtime->threads());
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    auto* const rows = reinterpret_cast<int8_t*>(scratch + rowsAt);
    auto* const scales = reinterpret_cast<float*>(scratch + scalesAt);
    auto* const zeros = reinterpret_cast<int32_t*>(scratch + zerosAt);
    shareWork(args, count, 4 * params.depth, [&](int64_t begin, int64_t end, int thread) {
        auto* const wide = reinterpret_cast<int16_t*>(scratch + wideAt) + thread * params.depth;
        for (int64_t r = begin; r < end; ++r) {
            const std::span<const float> values(args.in(0).as<float>() + r * params.depth, static_cast<size_t>(params.depth));
            const HybridInput input = params.isAsymmetric ? quantizeAsymmetric(values, wide) : quantizeSymmetric(values, wide);
            scales[r] = input.scale;
            zeros[r] = input.zero;
            copyNarrowed(wide, params.depth, rows + r * padded);
            std::fill_n(rows + r * padded + params.depth, padded - params.depth, int8_t{0});
        }
    });
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    multiplyByPanels(args, static_cast<const int8_t*>(rows), count, padded, params.units, params.panels->as<int8_t>(), [&](int64_t row) {
        return ByteOutput<HybridOutput>{{scales + row, params.columnScales.data(), false, params.isNanLow, bias, params.range,
                                         args.out(0).as<float>() + row * params.units, params.units, params.units,
                                         params.isAsymmetric ? zeros + row : nullptr, params.columnSums},
                                        params.start.data()};
    });
    return {};
}

/// Rows are quantized one by one, as the reference does it.
Status runHybrid(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastFullyConnectedParams>();
    const int64_t padded = rowDepth<int16_t>(params.depth), count = args.out(0).elementCount() / params.units;
    ScratchLayout layout;
    const size_t rowsAt = layout.add<int16_t>(count * padded), scalesAt = layout.add<float>(count);
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    auto* const rows = reinterpret_cast<int16_t*>(scratch + rowsAt);
    auto* const scales = reinterpret_cast<float*>(scratch + scalesAt);
    shareWork(args, count, 4 * params.depth, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) {
            int16_t* const row = rows + r * padded;
            const std::span<const float> values(args.in(0).as<float>() + r * params.depth, static_cast<size_t>(params.depth));
            const HybridInput input = params.isAsymmetric ? quantizeAsymmetric(values, row) : quantizeSymmetric(values, row);
            if (input.zero != 0)
                for (int64_t d = 0; d < params.depth; ++d) row[d] = static_cast<int16_t>(row[d] - input.zero);
            if (padded > params.depth) row[params.depth] = 0;
            scales[r] = input.scale;
        }
    });
    const float* const bias = args.has(2) ? args.in(2).as<float>() : nullptr;
    multiplyByPanels(args, static_cast<const int16_t*>(rows), count, padded, params.units, params.panels->as<int16_t>(), [&](int64_t row) {
        return HybridOutput{scales + row,
                            params.columnScales.data(),
                            false,
                            params.isNanLow,
                            bias,
                            params.range,
                            args.out(0).as<float>() + row * params.units,
                            params.units,
                            params.units};
    });
    return {};
}

/// LiteRT's hybrid kernel has activations of its own: without one infinities stay as they are.
Status setUpHybrid(const KernelSetup& setup, FastFullyConnectedParams& params)
{
    const Tensor& filter = setup.in(1);
    // Of blocks the reference reads no scales: it sees one of 0.
    const bool isBlockwise = filter.quantization && filter.quantization->kind == Quantization::Kind::blockwise;
    if (!filter.quantization ||
        (!isBlockwise && (filter.quantization->kind != Quantization::Kind::affine || filter.quantization->scales.empty())))
        return Error(ErrorCode::unsupported, "weights without a scale");
    const std::vector<float> scales = isBlockwise ? std::vector<float>{0.0F} : filter.quantization->scales;
    if (scales.size() != 1 && static_cast<int64_t>(scales.size()) != params.units)
        return Error(ErrorCode::unsupported, "scales that are not those of the units");
    for (int64_t c = 0; c < params.units; ++c)
        params.columnScales.push_back(scales.size() == 1 ? scales.front() : scales[static_cast<size_t>(c)]);
    params.isAsymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
    const std::string_view act = attributeWord(setup.attributes(), "act", "NONE");
    if (act == "TANH") return Error(ErrorCode::unsupported, "the activation TANH");
    if (act != "RELU" && act != "RELU6" && act != "RELU_N1_TO_1")
        params.range = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
    if (act == "RELU") params.range = {0.0F, std::numeric_limits<float>::infinity()};
    params.isNanLow = act == "RELU" || act == "RELU_N1_TO_1";
    return {};
}

Result<PreparedKernel> prepareFastFullyConnected(const KernelSetup& setup)
{
    const Tensor& input = setup.in(0);
    const Tensor& filter = setup.in(1);
    if (filter.data == nullptr) return Error(ErrorCode::unsupported, "weights that are computed");
    if (attributeWord(setup.attributes(), "weights_format", "DEFAULT") != "DEFAULT")
        return Error(ErrorCode::unsupported, "weights in another order");
    auto params = std::make_shared<FastFullyConnectedParams>();
    params->roundsProducts = setup.isQuantizedLater;
    params->units = filter.shape[0];
    params->depth = filter.shape[1];
    if (filter.elementCount() == 0) return Error(ErrorCode::unsupported, "weights without elements");
    const FusedActivation activation = fusedActivation(setup.attributes());
    params->range = activationRange<float>(activation);
    const bool isNarrow = filter.dtype == DType::i8 || filter.dtype == DType::i4,
               isByte = input.dtype == DType::i8 || input.dtype == DType::u8;
    PreparedKernel kernel;
    Tensor weights = filter;
    if (input.dtype == DType::f32 && filter.dtype == DType::f32) {
        kernel.run = runFloats;
    } else if (input.dtype == DType::f32 && (isNarrow || filter.dtype == DType::u8)) {
        LS_CHECK_OK(setUpHybrid(setup, *params));
        if (filter.dtype == DType::u8) weights.dtype = DType::i8; // as LiteRT reads them
        kernel.run = runHybrid;
    } else if (setup.out(0).dtype == input.dtype &&
               ((isByte && (filter.dtype == input.dtype || filter.dtype == DType::i4)) || (input.dtype == DType::i16 && isNarrow))) {
        // The reference kernel's own preparation says what is wrong with scales.
        LS_CHECK_OK(prepareFullyConnected(setup));
        LS_TRY(params->stage, makeOutputStage(input, filter, setup.out(0), params->units, activation, Scaling::real));
        params->inputZero = scaleAndZero(input).zero;
        kernel.run = input.dtype == DType::i8                          ? run8<int8_t>
                     : input.dtype == DType::u8                        ? run8<uint8_t>
                     : setup.has(2) && setup.in(2).dtype == DType::i32 ? run16<int32_t>
                                                                       : run16<int64_t>;
        if (input.dtype == DType::i16 && params->inputZero != 0) return Error(ErrorCode::unsupported, "i16 with a zero point");
    } else {
        return Error(ErrorCode::unsupported, "such weights")
            .found(std::string(dtypeName(input.dtype)) + " and " + std::string(dtypeName(filter.dtype)));
    }
    const bool hasOneScale = input.dtype != DType::f32 && filter.quantization->scales.size() == 1;
    const int32_t zero = hasOneScale ? scaleAndZero(filter).zero : 0;
    const bool isHybrid = kernel.run == runHybrid;
    if (isByte || isHybrid) { // rows that are quantized on the way are bytes
        const DType rows = isHybrid ? DType::i8 : input.dtype;
        LS_TRY(auto bytes, packedBytes(weights, 1, params->units, params->depth, zero, rows, params->inputZero));
        if (bytes) {
            params->panels = std::move(bytes->panels);
            params->start = std::move(bytes->start);
            params->columnSums = bytes->sums;
            kernel.run = isHybrid ? runHybridBytes : input.dtype == DType::i8 ? runBytes<int8_t> : runBytes<uint8_t>;
            kernel.params = std::move(params);
            return kernel;
        }
    }
    LS_TRY(params->panels, packedRows(weights, 1, params->units, params->depth, zero));
    kernel.params = std::move(params);
    return kernel;
}

struct FastBatchMatmulParams {
    bool adjX = false, adjY = false;
    OutputStage stage; ///< i8
    int32_t zeroX = 0, zeroY = 0;
    bool roundsProducts = false; ///< FloatFinish
};

/// First element of the matrix of `operand` that product `batch` of `out` reads: batch dimensions are repeated.
int64_t matrixOffset(const Shape& operand, const Shape& out, int64_t batch)
{
    int64_t offset = 0, stride = operand[operand.rank() - 1] * operand[operand.rank() - 2];
    const int shift = out.rank() - operand.rank();
    for (int axis = out.rank() - 3; axis >= std::max(shift, 0); --axis) {
        const int64_t index = batch % out[axis];
        batch /= out[axis];
        if (operand[axis - shift] != 1) offset += index * stride;
        stride *= operand[axis - shift];
    }
    return offset;
}

/// to[c] = Σ row[d] · y[d · stride + c], in the order of d.
LS_VECTORISED void multiplyRowByRows(const float* row, int64_t depth, const float* y, int64_t stride, int64_t columns, float* to)
{
    for (int64_t c = 0; c < columns; ++c) to[c] = 0;
    for (int64_t d = 0; d < depth; ++d, y += stride) {
        const float x = row[d];
        for (int64_t c = 0; c < columns; ++c) to[c] += x * y[c];
    }
}

/// to[c] = Σ row[d] · y[c · depth + d], in sixteen sums that are added at the end.
LS_VECTORISED void multiplyRowByColumns(const float* row, int64_t depth, const float* y, int64_t columns, float* to)
{
    constexpr int64_t kLanes = 16;
    const int64_t whole = depth / kLanes * kLanes;
    for (int64_t c = 0; c < columns; ++c, y += depth) {
        float lanes[kLanes] = {};
        for (int64_t d = 0; d < whole; d += kLanes)
            for (int64_t l = 0; l < kLanes; ++l) lanes[l] += row[d + l] * y[d + l];
        for (int64_t width = kLanes / 2; width > 0; width /= 2)
            for (int64_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
        float sum = lanes[0];
        for (int64_t d = whole; d < depth; ++d) sum += row[d] * y[d];
        to[c] = sum;
    }
}

/// Matrices x of so few rows are multiplied by y as it is: it would not pay to pack it.
constexpr int64_t kFewRows = 3;

Status runFewRows(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastBatchMatmulParams>();
    const Shape &x = args.in(0).shape, &y = args.in(1).shape, &out = args.out(0).shape;
    const int64_t count = out[out.rank() - 2], columns = out[out.rank() - 1], depth = x[x.rank() - 1];
    constexpr int64_t kTogether = 256; // columns
    const int64_t pieces = (columns + kTogether - 1) / kTogether;
    shareWork(args, out.countOf(0, out.rank() - 2) * pieces, kTogether * depth * count, [&](int64_t begin, int64_t end, int) {
        for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t batch = piece / pieces, column = piece % pieces * kTogether, some = std::min(kTogether, columns - column);
            const float* const left = args.in(0).as<float>() + matrixOffset(x, out, batch);
            const float* const right = args.in(1).as<float>() + matrixOffset(y, out, batch);
            for (int64_t r = 0; r < count; ++r) {
                float* const to = args.out(0).as<float>() + (batch * count + r) * columns + column;
                if (params.adjY) multiplyRowByColumns(left + r * depth, depth, right + column * depth, some, to);
                else multiplyRowByRows(left + r * depth, depth, right + column, columns, some, to);
            }
        }
    });
    return {};
}

/// Each piece of work packs some columns of one matrix y and multiplies all rows of x by them.
Status runBatchMatmul(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastBatchMatmulParams>();
    const Shape &x = args.in(0).shape, &y = args.in(1).shape, &out = args.out(0).shape;
    const int64_t count = out[out.rank() - 2], columns = out[out.rank() - 1], depth = x[x.rank() - (params.adjX ? 2 : 1)];
    if (!params.adjX && count <= kFewRows && !(params.adjY && params.roundsProducts)) return runFewRows(args);
    const int64_t batches = out.countOf(0, out.rank() - 2), all = panelsOf(columns), pieces = (all + kPanelsTogether - 1) / kPanelsTogether;
    const int64_t panelFloats = std::min(all, kPanelsTogether) * kTileColumns * depth, turnedFloats = params.adjX ? count * depth : 0;
    ScratchLayout each;
    const size_t panelsAt = each.add<float>(panelFloats + 16), turnedAt = each.add<float>(turnedFloats);
    const ThreadScratch scratch = takeScratch(*args.runtime, {}, each);
    float* const to = args.out(0).as<float>();
    FloatFinish finish;
    finish.roundsProducts = params.roundsProducts;
    shareWork(args, batches * pieces, kPanelsTogether * kTileColumns * depth * count, [&](int64_t begin, int64_t end, int thread) {
        float* const panels = scratch.of<float>(thread, panelsAt);
        float* const turned = scratch.of<float>(thread, turnedAt);
        const float* rows[kMostRows];
        for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t batch = piece / pieces, firstPanel = piece % pieces * kPanelsTogether;
            const int64_t column = firstPanel * kTileColumns, some = std::min(kPanelsTogether, all - firstPanel);
            const float* const right = args.in(1).as<float>() + matrixOffset(y, out, batch);
            const float* left = args.in(0).as<float>() + matrixOffset(x, out, batch);
            packPanels(right + column * (params.adjY ? depth : 1), std::min(columns - column, some * kTileColumns), depth,
                       params.adjY ? depth : 1, params.adjY ? 1 : columns, panels);
            if (params.adjX) {
                for (int64_t k = 0; k < depth; ++k)
                    for (int64_t i = 0; i < count; ++i) turned[i * depth + k] = left[k * count + i];
                left = turned;
            }
            for (int64_t first = 0; first < count; first += kMostRows) {
                const int64_t together = std::min(kMostRows, count - first);
                for (int64_t r = 0; r < together; ++r) rows[r] = left + (first + r) * depth;
                multiplyRows(rows, together, depth, static_cast<const float*>(panels), 0, some,
                             FloatOutput{finish, to + (batch * count + first) * columns + column, columns, columns - column});
            }
        }
    });
    return {};
}

/// The same for 8-bit integers, whose numbers become pairs of 16-bit ones.
Status runBatchMatmul8(const KernelArgs& args)
{
    const auto& params = args.paramsAs<FastBatchMatmulParams>();
    const Shape &x = args.in(0).shape, &y = args.in(1).shape, &out = args.out(0).shape;
    const int64_t count = out[out.rank() - 2], columns = out[out.rank() - 1], depth = x[x.rank() - (params.adjX ? 2 : 1)];
    const int64_t padded = rowDepth<int16_t>(depth), batches = out.countOf(0, out.rank() - 2);
    const int64_t all = panelsOf(columns), pieces = (all + kPanelsTogether - 1) / kPanelsTogether,
                  panelsTogether = std::min(all, kPanelsTogether);
    ScratchLayout each;
    const size_t panelsAt = each.add<int16_t>(panelsTogether * kTileColumns * padded), rowsAt = each.add<int16_t>(kMostRows * padded);
    const ThreadScratch scratch = takeScratch(*args.runtime, {}, each);
    shareWork(args, batches * pieces, kPanelsTogether * kTileColumns * depth * count, [&](int64_t begin, int64_t end, int thread) {
        int16_t* const panels = scratch.of<int16_t>(thread, panelsAt);
        int16_t* const wide = scratch.of<int16_t>(thread, rowsAt);
        const int16_t* rows[kMostRows];
        for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t batch = piece / pieces, firstPanel = piece % pieces * kPanelsTogether, column = firstPanel * kTileColumns;
            const int64_t some = std::min(kPanelsTogether, all - firstPanel), own = std::min(columns - column, some * kTileColumns);
            const int8_t* const right = args.in(1).as<int8_t>() + matrixOffset(y, out, batch) + column * (params.adjY ? depth : 1);
            const int8_t* const left = args.in(0).as<int8_t>() + matrixOffset(x, out, batch);
            const int64_t columnStep = params.adjY ? depth : 1, depthStep = params.adjY ? 1 : columns;
            std::fill_n(panels, some * kTileColumns * padded, int16_t{0});
            for (int64_t d = 0; d < depth; ++d)
                for (int64_t c = 0; c < own; ++c)
                    panels[c / kTileColumns * kTileColumns * padded + d / 2 * 2 * kTileColumns + c % kTileColumns * 2 + d % 2] =
                        static_cast<int16_t>(right[c * columnStep + d * depthStep] - params.zeroY);
            for (int64_t first = 0; first < count; first += kMostRows) {
                const int64_t together = std::min(kMostRows, count - first);
                for (int64_t r = 0; r < together; ++r) {
                    int16_t* const row = wide + r * padded;
                    const int64_t i = first + r;
                    for (int64_t d = 0; d < depth; ++d)
                        row[d] = static_cast<int16_t>(left[params.adjX ? d * count + i : i * depth + d] - params.zeroX);
                    if (padded > depth) row[depth] = 0;
                    rows[r] = row;
                }
                multiplyRows(rows, together, padded, static_cast<const int16_t*>(panels), 0, some,
                             StoredOutput<int8_t>{params.stage, nullptr, 0,
                                                  args.out(0).as<int8_t>() + (batch * count + first) * columns + column, columns, own});
            }
        }
    });
    return {};
}

Result<PreparedKernel> prepareFastBatchMatmul(const KernelSetup& setup)
{
    const Tensor &x = setup.in(0), &y = setup.in(1);
    auto params = std::make_shared<FastBatchMatmulParams>();
    params->adjX = isAdjoint(setup.attributes(), "adj_x");
    params->adjY = isAdjoint(setup.attributes(), "adj_y");
    params->roundsProducts = setup.isQuantizedLater;
    if (x.dtype == DType::f32 && y.dtype == DType::f32) return PreparedKernel{runBatchMatmul, std::move(params)};
    if (x.dtype != DType::i8 || y.dtype != DType::i8 || setup.out(0).dtype != DType::i8)
        return Error(ErrorCode::unsupported, "f32 and i8 only")
            .found(std::string(dtypeName(x.dtype)) + " and " + std::string(dtypeName(y.dtype)));
    if (!isQuantized(y)) return Error(ErrorCode::unsupported, "a scale for each channel");
    // Every column of a piece has the same factor.
    LS_TRY(params->stage,
           makeOutputStage(x, y, setup.out(0), kPanelsTogether * kTileColumns, FusedActivation::none, Scaling::floatProduct));
    params->zeroX = scaleAndZero(x).zero;
    params->zeroY = scaleAndZero(y).zero;
    return PreparedKernel{runBatchMatmul8, std::move(params)};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, fully_connected)
{
    registry.add({"tfl", "fully_connected", Profile::fast, prepareFastFullyConnected, "f32 i8 u8 i16", kProductBound, true});
}
LS_DEFINE_PROFILE_KERNELS(fast, tfl, batch_matmul)
{
    registry.add({"tfl", "batch_matmul", Profile::fast, prepareFastBatchMatmul, "f32 i8", kProductBound, true});
}
