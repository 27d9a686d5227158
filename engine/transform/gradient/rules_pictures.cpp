// Gradients of what is done with the pixels of pictures [batch, height, width, channels]: sizes changed, windows taken apart, places of
// maxima, responses normalised. TensorFlow has operators for most of them; here they are products of matrices and sums by number.
#include "engine/transform/gradient/gradient_rules.h"

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

Grad einsum(Case& c, Grad a, Grad b, const char* equation)
{
    return c.nodes.node("Einsum", {a, b}, {{"N", int64_t{2}}, {"equation", equation}});
}

Grad scalar(Case& c, Grad list) { return reshape(c, list, c.nodes.integers({})); }

/// How much of each pixel of a line is in each of the resized line: lines of `from` pixels with a single 1 as a picture, resized.
Grad resizeWeights(Case& c, Grad from, Grad to)
{
    const DType dtype = c.nodes.dtype(c.dy[0]);
    const int32_t one[] = {1};
    const Grad unit = call(c, "MatrixDiag", c.nodes.node("Fill", {from, c.nodes.number(1, dtype)}));
    const Grad dims[] = {c.nodes.integers(one), from, from, c.nodes.integers(one)}, table[] = {to, from}, size[] = {to, from};
    const Grad resized = c.nodes.node(c.op.kind.name, {reshape(c, unit, joined(c, dims)), joined(c, size)},
                                      attributesOf(c, {"align_corners", "half_pixel_centers"}));
    return reshape(c, resized, joined(c, table));
}

void resizeRule(Case& c) // lines and columns are resized each by a matrix of weights
{
    const auto side = [&](Grad of, int32_t dim) { return part(c, shapeOf(c, of), c.nodes.integer(dim), 1); };
    const Grad rows = einsum(c, c.dy[0], resizeWeights(c, side(c.x[0], 1), side(c.y[0], 1)), "bijc,ih->bhjc");
    const Grad both = einsum(c, rows, resizeWeights(c, side(c.x[0], 2), side(c.y[0], 2)), "bhjc,jw->bhwc");
    c.give(castTo(c, both, c.dtype()));
}

/// Sums over the channels at most `depth_radius` away.
Grad sumOfNeighbours(Case& c, Grad v)
{
    const auto radius = static_cast<int32_t>(attributeInt(c.op.attributes, "depth_radius", 5));
    const Grad shape = shapeOf(c, c.x[0]), channels = part(c, shape, c.nodes.integer(3), 1);
    const Grad sides[] = {channels, channels};
    const Grad ones = c.nodes.node("Fill", {joined(c, sides), number(c, 1)});
    const Grad band = c.nodes.node("MatrixBandPart", {ones, c.nodes.integer(radius), c.nodes.integer(radius)});
    const int32_t all[] = {-1};
    const Grad table[] = {c.nodes.integers(all), channels};
    const Grad sums = c.nodes.node("MatMul", {reshape(c, v, joined(c, table)), band}, {{"transpose_a", false}, {"transpose_b", false}});
    return reshape(c, sums, shape);
}

void responseNormRule(Case& c) // y = x · s^−β of s = bias + α Σ x²: dx = dy · s^−β − 2αβ · x · Σ dy · y / s
{
    const double alpha = attributeFloat(c.op.attributes, "alpha", 1), beta = attributeFloat(c.op.attributes, "beta", 0.5);
    const Grad x = c.x[0], s = attributeFloat(c.op.attributes, "bias", 1) + alpha * sumOfNeighbours(c, square(c, x));
    const Grad own = c.dy[0] * c.nodes.node("Pow", {s, number(c, -beta)});
    c.give(own - 2 * alpha * beta * (x * sumOfNeighbours(c, c.dy[0] * c.y[0] / s)));
}

/// The places are in the picture, or with include_batch_in_index in all pictures.
void argmaxPoolRule(Case& c)
{
    const Grad shape = shapeOf(c, c.x[0]), size = sizeOf(c, c.x[0]), zero = c.nodes.integer(0);
    Grad places = castTo(c, c.y[1], DType::i32);
    if (!attributeBool(c.op.attributes, "include_batch_in_index", false)) {
        const Grad batches = part(c, shape, zero, 1), count = scalar(c, batches);
        const int32_t all[] = {-1};
        const Grad table[] = {batches, c.nodes.integers(all)};
        const Grad first = range(c, zero, count) * c.nodes.node("FloorDiv", {size, count});
        places = reshape(c, places, joined(c, table)) + expandDims(c, first, 1);
    }
    c.give(reshape(c, sumRows(c, flat(c, c.dy[0]), flat(c, places), size), shape));
}

void patchesRule(Case& c) // the same patches of a picture of numbers say where each element came from; what lies outside gets −1
{
    const Grad shape = shapeOf(c, c.x[0]), one = c.nodes.integer(1);
    const Grad batches = part(c, shape, c.nodes.integer(0), 1), sides = part(c, shape, one, 2),
               channels = part(c, shape, c.nodes.integer(3), 1);
    const int32_t zero[] = {0}, single[] = {1}, all[] = {-1}, order[] = {1, 0, 2};
    const Grad pixels = c.nodes.node("Prod", {sides, c.nodes.integers(zero)}, {{"keep_dims", false}});
    const Grad picture[] = {c.nodes.integers(single), sides, c.nodes.integers(single)};
    const Grad numbers = c.nodes.node("ExtractImagePatches", {reshape(c, range(c, one, pixels + one), joined(c, picture))},
                                      attributesOf(c, {"ksizes", "strides", "rates", "padding"}));
    const Grad table[] = {batches, c.nodes.integers(all), channels};
    const auto exchanged = [&](Grad v) { return c.nodes.node("Transpose", {v, c.nodes.integers(order)}); };
    const Grad values = exchanged(reshape(c, c.dy[0], joined(c, table)));
    c.give(reshape(c, exchanged(sumRows(c, values, flat(c, numbers) - one, pixels)), shape));
}

constexpr NamedGradientRule kPicturesRules[] = {
    {"ResizeBilinear", kGraphsOnly, resizeRule},        {"ResizeBicubic", kGraphsOnly, resizeRule},
    {"ResizeNearestNeighbor", kGraphsOnly, resizeRule}, {"LRN", kGraphsOnly, responseNormRule},
    {"MaxPoolWithArgmax", kGraphsOnly, argmaxPoolRule}, {"ExtractImagePatches", kGraphsOnly, patchesRule},
};

} // namespace

std::span<const NamedGradientRule> gradientRulesOfPictures() { return kPicturesRules; }

} // namespace loopscope
