// Products of matrices: fully connected layers, batches of products, and convolutions, whose rows are windows of an image.
#include "engine/kernels/vulkan/quantized.h"
#include "engine/ops/window.h"

#include <algorithm>
#include <cstring>

namespace loopscope::vulkan {

namespace {

/// The push constants of matmul.comp.
struct ProductParameters {
    uint32_t m = 0, n = 0, k = 0, stepA = 0, stepB = 0;
    uint32_t low = 0, high = 0;
    uint32_t zeroA = 0, zeroB = 0, zeroOut = 0, least = 0, most = 0;
    uint32_t inHeight = 0, inWidth = 0, channels = 1, outHeight = 1, outWidth = 1, filterWidth = 1;
    uint32_t strides = 0, dilations = 0, paddingY = 0, paddingX = 0;
    uint32_t tilesN = 1;
};

struct Product {
    Place a, b, bias;
    bool hasBias = false, columnsOfB = true, hasWindows = false, transposedA = false, isPacked = false;
    uint32_t batches = 1;
    uint32_t stage = 0; ///< 0 none, 1 fixed point, 2 real factors
    std::vector<uint32_t> stages;
    ProductParameters p;
};

constexpr uint32_t kMostTiles = 65'535; ///< along a dimension

/// What a workgroup of a GPU computes: `rows` × `columns` an invocation, 16 of those along a row; its invocations are divided into slices,
/// each of which does a part of the depth that is in shared memory at a time.
struct Tile {
    uint32_t rows = 1, columns = 1, slices = 1, depth = 16;
    uint32_t height() const { return 16 / slices * rows; }
};

uint32_t tilesAlong(uint32_t size, uint32_t tile) { return (size + tile - 1) / tile; }

/// The largest tile of which there are enough for a GPU: large ones read less, many keep all of it busy.
Tile sharedTile(const ProductParameters& p, uint32_t batches)
{
    constexpr uint64_t kEnough = 96;
    constexpr Tile kTiles[] = {{8, 8, 1, 16}, {4, 4, 1, 32}, {4, 4, 2, 32}, {4, 2, 2, 32}, {4, 2, 4, 64}};
    if (p.m <= 2) return {1, 1, 16, 64};
    const auto fits = [](uint32_t tile, uint32_t size) { return 4 * size >= 3 * tile; }; // little of it is wasted
    for (const Tile& tile : kTiles)
        if (fits(16 * tile.columns, p.n) && fits(tile.height(), p.m) &&
            uint64_t{tilesAlong(p.n, 16 * tile.columns)} * tilesAlong(p.m, tile.height()) * batches >= kEnough)
            return tile;
    return std::end(kTiles)[-1];
}

/// Rows of signed bytes become rows of words, which a GPU multiplies in fours. What the zero point of A takes away is known beforehand and
/// goes to the bias; the weights have none.
void pack(PlanBuilder& builder, const Tensor& a, const Tensor& b, int bias, Product& product)
{
    const DeviceInfo& device = builder.device();
    ProductParameters& p = product.p;
    const bool areBytes = a.dtype == DType::i8 && b.dtype == DType::i8 && b.data && p.zeroB == 0;
    const bool isBiasKnown = !product.hasBias || builder.setup().in(bias).data;
    if (!areBytes || !isBiasKnown || product.hasWindows || p.k % 16 != 0) return;
    if (device.isSoftware() || !device.hasPackedProducts || !device.hasDoubles) return;
    std::vector<uint32_t> corrected(p.n);
    for (size_t c = 0; c < corrected.size(); ++c) {
        uint32_t sum = 0;
        for (size_t k = 0; k < p.k; ++k) sum += static_cast<uint32_t>(static_cast<int32_t>(b.as<int8_t>()[c * p.k + k]));
        corrected[c] = 0U - p.zeroA * sum;
        if (product.hasBias) corrected[c] += static_cast<uint32_t>(builder.setup().in(bias).as<int32_t>()[c]);
    }
    product.bias = builder.constant(std::span<const uint32_t>(corrected));
    product.hasBias = product.isPacked = true;
    p.k /= 4;
}

Result<PreparedKernel> plannedProduct(PlanBuilder builder, const Tensor& a, const Tensor& b, Product product)
{
    const std::optional<Code> storeA = storeOf(a.dtype), storeB = storeOf(b.dtype), out = storeOf(builder.setup().out(0).dtype);
    if (!storeA || !storeB || !out) return wrongDtypes(builder.setup());
    ProductParameters& p = product.p;
    if (p.k > kMostTrips) return unsupported("sums of more than 60000 products");
    const bool isReal = isFloat(a.dtype), isShared = !builder.device().isSoftware();
    Tile tile = isShared ? sharedTile(p, product.batches) : Tile{p.m == 1 ? 1U : 8U, p.n == 1 ? 1U : 8U, 1, 4};
    if (product.isPacked && tile.rows == 8) tile.depth = 8; // words of four
    const auto [rows, columns, slices, depth] = tile;
    const bool isPlain = *storeA == storeF32 && *storeB == storeF32 && !product.transposedA;
    const bool hasFours = product.hasWindows ? p.channels % 4 == 0 : p.k % 4 == 0; // of A, side by side
    const bool readsFours =
        product.isPacked || (isReal && (isShared || columns >= 4) && isPlain && hasFours && (product.columnsOfB || p.n % 4 == 0));
    std::array<uint32_t, 3> groups = {0, 1, product.batches};
    if (isShared) {
        groups[0] = tilesAlong(p.n, 16 * columns);
        groups[1] = tilesAlong(p.m, tile.height());
    } else {
        p.tilesN = (p.n + columns - 1) / columns;
        groups[0] = (p.tilesN * ((p.m + rows - 1) / rows) + 255) / 256;
    }
    if (std::ranges::any_of(groups, [](uint32_t g) { return g > kMostTiles; })) return unsupported("more tiles than a dispatch has");
    std::vector<uint32_t> push(sizeof(p) / 4);
    std::memcpy(push.data(), &p, sizeof(p));
    const Place stage = product.stages.empty() ? product.a : builder.constant(std::span<const uint32_t>(product.stages));
    LS_CHECK_OK(builder.add(product.isPacked     ? Shader::matmulPacked
                            : product.stage == 2 ? Shader::matmulDouble
                                                 : Shader::matmul,
                            {isReal ? inFloat : inInt, *storeA, *storeB, *out, isShared ? 1U : 0U, rows, columns,
                             product.columnsOfB ? 1U : 0U, product.hasWindows ? 1U : 0U, product.hasBias ? 1U : 0U, product.stage,
                             product.transposedA ? 1U : 0U, readsFours ? 1U : 0U, slices, depth},
                            {product.a, product.b, product.hasBias ? product.bias : product.a, PlanBuilder::out(0), stage}, std::move(push),
                            groups));
    return builder.done();
}

/// What dtypes mean for sums, scales and bounds. Errors: unsupported.
Status scaleBy(const KernelSetup& setup, int input, int filter, int bias, int64_t channels, bool isReal, Product& product)
{
    const Tensor &a = setup.in(input), &b = setup.in(filter), &result = setup.out(0);
    product.hasBias = setup.has(bias);
    if (a.dtype == DType::f32 && b.dtype == DType::f32 && result.dtype == DType::f32) {
        const RealRange range = realRange(setup.attributes());
        product.p.low = bitsOf(range.low);
        product.p.high = bitsOf(range.high);
        return {};
    }
    const bool isByte = (a.dtype == DType::i8 || a.dtype == DType::u8) && b.dtype == a.dtype && result.dtype == a.dtype;
    if (!isByte || (product.hasBias && setup.in(bias).dtype != DType::i32)) return wrongDtypes(setup);
    const bool isLegacy = a.dtype == DType::u8 && !isReal;
    if (product.hasBias && (isReal || isLegacy) && !hasScaleOfBias(a, b, setup.in(bias), result))
        return unsupported("another scale of the bias");
    LS_TRY(product.stages, stageOf(a, b, result, channels, isLegacy, isReal));
    LS_TRY(const StoredRange range, storedRange(setup.attributes(), result));
    product.stage = isReal ? 2 : 1;
    product.p.zeroA = zeroOf(a);
    product.p.zeroB = isLegacy || (isReal && b.quantization->scales.size() == 1) ? zeroOf(b) : 0;
    product.p.zeroOut = zeroOf(result);
    product.p.least = static_cast<uint32_t>(range.least);
    product.p.most = static_cast<uint32_t>(range.most);
    return {};
}

} // namespace

Result<PreparedKernel> planFullyConnected(const KernelSetup& setup, const KernelLine&)
{
    if (attributeWord(setup.attributes(), "weights_format", "DEFAULT") != "DEFAULT") return unsupported("shuffled weights");
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    const Shape& filter = setup.in(1).shape;
    Product product;
    LS_CHECK_OK(scaleBy(setup, 0, 1, 2, filter[0], setup.in(0).dtype != DType::f32, product));
    if (product.stage == 2 && !builder.device().hasDoubles) return unsupported("a device without 64-bit floats");
    product.a = builder.in(0);
    product.b = builder.in(1);
    if (product.hasBias) product.bias = builder.in(2);
    product.p.n = static_cast<uint32_t>(filter[0]);
    product.p.k = static_cast<uint32_t>(filter[1]);
    if (product.p.n == 0) return builder.done();
    product.p.m = static_cast<uint32_t>(setup.out(0).elementCount() / filter[0]);
    pack(builder, setup.in(0), setup.in(1), 2, product);
    return plannedProduct(std::move(builder), setup.in(0), setup.in(1), std::move(product));
}

Result<PreparedKernel> planBatchMatmul(const KernelSetup& setup, const KernelLine&)
{
    const Tensor &x = setup.in(0), &y = setup.in(1), &out = setup.out(0);
    if (x.dtype != DType::f32 || y.dtype != DType::f32 || out.dtype != DType::f32) return wrongDtypes(setup);
    const auto flag = [&](const char* name, const char* other) {
        return attributeBool(setup.attributes(), name, attributeBool(setup.attributes(), other, false));
    };
    const bool adjX = flag("adj_x", "adjoint_lhs"), adjY = flag("adj_y", "adjoint_rhs");
    const int rank = out.shape.rank();
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Product product;
    ProductParameters& p = product.p;
    p.m = static_cast<uint32_t>(out.shape[rank - 2]);
    p.n = static_cast<uint32_t>(out.shape[rank - 1]);
    p.k = static_cast<uint32_t>(x.shape[x.shape.rank() - (adjX ? 2 : 1)]);
    product.batches = static_cast<uint32_t>(out.shape.countOf(0, rank - 2));
    const auto batchesOf = [](const Shape& shape) { return shape.countOf(0, shape.rank() - 2); };
    for (const Tensor* const t : {&x, &y})
        if (batchesOf(t->shape) != 1 && batchesOf(t->shape) != product.batches) return unsupported("batches of which some are repeated");
    p.stepA = batchesOf(x.shape) == 1 ? 0 : p.m * p.k;
    p.stepB = batchesOf(y.shape) == 1 ? 0 : p.n * p.k;
    p.low = bitsOf(-std::numeric_limits<float>::infinity());
    p.high = bitsOf(std::numeric_limits<float>::infinity());
    product.columnsOfB = adjY;
    product.transposedA = adjX;
    product.a = builder.in(0);
    product.b = builder.in(1);
    return plannedProduct(std::move(builder), x, y, std::move(product));
}

Result<PreparedKernel> planConvolution(const KernelSetup& setup, const KernelLine&)
{
    const Shape &in = setup.in(0).shape, &filter = setup.in(1).shape, &out = setup.out(0).shape;
    if (in.rank() != 4 || in[3] != filter[3]) return unsupported("a convolution in groups");
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Product product;
    LS_CHECK_OK(scaleBy(setup, 0, 1, 2, filter[0], false, product));
    product.a = builder.in(0);
    product.b = builder.in(1);
    if (product.hasBias) product.bias = builder.in(2);
    const WindowAxis y = windowAxis(setup.attributes(), 'h', in[1], filter[1]), x = windowAxis(setup.attributes(), 'w', in[2], filter[2]);
    ProductParameters& p = product.p;
    p.m = static_cast<uint32_t>(out[0] * out[1] * out[2]);
    p.n = static_cast<uint32_t>(filter[0]);
    p.k = static_cast<uint32_t>(filter[1] * filter[2] * filter[3]);
    product.hasWindows = filter[1] != 1 || filter[2] != 1 || y.stride != 1 || x.stride != 1;
    p.inHeight = static_cast<uint32_t>(in[1]);
    p.inWidth = static_cast<uint32_t>(in[2]);
    p.channels = static_cast<uint32_t>(in[3]);
    p.outHeight = static_cast<uint32_t>(out[1]);
    p.outWidth = static_cast<uint32_t>(out[2]);
    p.filterWidth = static_cast<uint32_t>(filter[2]);
    if (std::max({y.stride, x.stride, y.dilation, x.dilation}) > 65'535) return unsupported("steps of more than 65535");
    p.strides = static_cast<uint32_t>(y.stride | x.stride << 16);
    p.dilations = static_cast<uint32_t>(y.dilation | x.dilation << 16);
    p.paddingY = static_cast<uint32_t>(y.paddingBefore(out[1]));
    p.paddingX = static_cast<uint32_t>(x.paddingBefore(out[2]));
    pack(builder, setup.in(0), setup.in(1), 2, product);
    return plannedProduct(std::move(builder), setup.in(0), setup.in(1), std::move(product));
}

} // namespace loopscope::vulkan
