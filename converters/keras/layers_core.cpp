// Layers that multiply, look up and reshape.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace loopscope::keras {

namespace {

void identity(LayerCall& l) { l.outputs = {l.b.op("Identity", {l.in()})}; }

void dense(LayerCall& l)
{
    const ValueId x = l.in(), kernel = l.weight(0, "kernel");
    if (l.config.has("lora_rank") || l.config.has("quantization_config")) return l.refuse("it is quantized or has a LoRA part");
    ValueId y = l.b.rank(x) == 2 ? l.b.op("MatMul", {x, kernel}) : l.b.op("BatchMatMulV2", {x, kernel});
    if (l.config["use_bias"].truth(true))
        y = l.b.rank(x) == 2 ? l.b.op("BiasAdd", {y, l.weight(1, "bias")}) : l.b.add(y, l.weight(1, "bias"));
    l.outputs = {activate(l, l.config["activation"], y)};
}

/// "ab,bcd->acd" with a bias along some of the result's axes.
void einsumDense(LayerCall& l)
{
    const ValueId x = l.in();
    const std::string equation = l.config["equation"].text();
    ValueId y = l.b.op("Einsum", {x, l.weight(0, "kernel")}, {{"equation", equation}});
    if (l.config.has("bias_axes")) y = l.b.add(y, l.weight(1, "bias"));
    l.outputs = {activate(l, l.config["activation"], y)};
}

void embedding(LayerCall& l)
{
    ValueId ids = l.in();
    if (l.config.has("lora_rank") || l.config.has("quantization_config")) return l.refuse("it is quantized or has a LoRA part");
    if (l.b.dtype(ids) != DType::i32 && l.b.dtype(ids) != DType::i64) ids = l.b.cast(ids, DType::i32);
    l.outputs = {l.b.op("GatherV2", {l.weight(0, "embeddings"), ids, l.b.integer(0)})};
    if (!l.config["mask_zero"].truth()) return;
    const ValueId mask = l.b.op("NotEqual", {ids, l.b.number(0, ids)});
    if (mask.valid() && l.outputs.front().valid()) l.b.setMask(l.outputs.front(), mask);
}

/// Steps whose features are all the same given number do not count, and are zero.
void masking(LayerCall& l)
{
    const ValueId x = l.in();
    const ValueId isOther = l.b.op("NotEqual", {x, l.b.number(l.config["mask_value"].number(), x)});
    const ValueId kept = l.b.reduce("Any", isOther, {-1}, true);
    l.outputs = {l.b.mul(x, l.b.cast(kept, l.b.dtype(x)))};
    const ValueId mask = l.b.squeeze(kept, {-1});
    if (mask.valid() && l.outputs.front().valid()) l.b.setMask(l.outputs.front(), mask);
}

void flatten(LayerCall& l)
{
    if (!l.channelsLast()) return;
    const ValueId x = l.in();
    const int rank = l.b.rank(x);
    if (rank < 1) return l.refuse("the rank of its input is not known");
    const int64_t rest = checkedElementCount(Shape(l.b.shape(x).dims().subspan(1))).value_or(-1);
    if (rest >= 0) l.outputs = {l.b.reshape(x, {l.b.same(x, 0), {rest, {}, 0}})};
    else if (l.b.dim(x, 0) >= 0) l.outputs = {l.b.reshape(x, {l.b.same(x, 0), {-1, {}, 0}})};
    else l.outputs = {l.b.op("Reshape", {x, l.b.sizes({l.b.same(x, 0), {-1, {}, 0}})})};
}

void reshape(LayerCall& l)
{
    const ValueId x = l.in();
    std::vector<Extent> extents = {l.b.same(x, 0)};
    bool isOpen = false;
    for (const Json& dim : l.config["target_shape"].items()) {
        extents.push_back({dim.integer(-1), {}, 0});
        isOpen |= extents.back().number < 0;
    }
    // Without an open dimension of its own the batch may be it.
    l.outputs = {isOpen ? l.b.op("Reshape", {x, l.b.sizes(extents)}) : l.b.reshape(x, extents)};
}

void permute(LayerCall& l)
{
    std::vector<int64_t> order = {0};
    for (const Json& axis : l.config["dims"].items()) order.push_back(axis.integer());
    l.outputs = {l.b.transpose(l.in(), order)};
}

void repeatVector(LayerCall& l) { l.outputs = {l.b.op("Tile", {l.b.expand(l.in(), 1), l.b.ints({1, l.config["n"].integer(1), 1})})}; }

void cropping(LayerCall& l)
{
    if (!l.channelsLast()) return;
    ValueId x = l.in();
    const Json& value = l.config["cropping"];
    for (int axis = 1; axis + 1 < l.b.rank(x); ++axis) {
        const Json& entry = l.b.rank(x) == 3 ? value
                            : value.isArray() && static_cast<size_t>(axis) <= value.items().size()
                                ? value.items()[static_cast<size_t>(axis) - 1]
                                : value;
        const int64_t before = entry.isArray() && entry.items().size() == 2 ? entry.items()[0].integer() : entry.integer();
        const int64_t after = entry.isArray() && entry.items().size() == 2 ? entry.items()[1].integer() : entry.integer();
        if (before < 0 || after < 0) return l.refuse("its cropping is negative");
        if (before > 0 || after > 0) x = l.b.slice(x, axis, before, after > 0 ? std::optional(-after) : std::nullopt);
    }
    l.outputs = {x};
}

void zeroPadding(LayerCall& l)
{
    if (!l.channelsLast()) return;
    const ValueId x = l.in();
    const int rank = l.b.rank(x);
    if (rank < 3) return l.refuse("the rank of its input is not known");
    const Json& value = l.config["padding"];
    std::vector<double> pads(static_cast<size_t>(rank) * 2);
    for (int axis = 1; axis + 1 < rank; ++axis) {
        const auto at = static_cast<size_t>(axis) - 1;
        const Json& entry = rank == 3 ? value : value.isArray() && at < value.items().size() ? value.items()[at] : value;
        const bool isPair = entry.isArray() && entry.items().size() == 2;
        pads[2 * at + 2] = static_cast<double>(isPair ? entry.items()[0].integer() : entry.integer());
        pads[2 * at + 3] = static_cast<double>(isPair ? entry.items()[1].integer() : entry.integer());
    }
    l.outputs = {l.b.op("Pad", {x, l.b.numbers(pads, Shape{rank, 2}, DType::i32)})};
}

constexpr std::array kCoreLayers = {
    NamedRule{"Dense", dense},
    NamedRule{"EinsumDense", einsumDense},
    NamedRule{"Embedding", embedding},
    NamedRule{"Masking", masking},
    NamedRule{"Flatten", flatten},
    NamedRule{"Reshape", reshape},
    NamedRule{"Permute", permute},
    NamedRule{"RepeatVector", repeatVector},
    NamedRule{"Cropping1D", cropping},
    NamedRule{"Cropping2D", cropping},
    NamedRule{"Cropping3D", cropping},
    NamedRule{"ZeroPadding1D", zeroPadding},
    NamedRule{"ZeroPadding2D", zeroPadding},
    NamedRule{"ZeroPadding3D", zeroPadding},
    NamedRule{"Identity", identity},
    // What only training does.
    NamedRule{"Dropout", identity},
    NamedRule{"SpatialDropout1D", identity},
    NamedRule{"SpatialDropout2D", identity},
    NamedRule{"SpatialDropout3D", identity},
    NamedRule{"GaussianDropout", identity},
    NamedRule{"GaussianNoise", identity},
    NamedRule{"AlphaDropout", identity},
    NamedRule{"ActivityRegularization", identity},
    NamedRule{"RandomBrightness", identity},
    NamedRule{"RandomContrast", identity},
    NamedRule{"RandomFlip", identity},
    NamedRule{"RandomRotation", identity},
    NamedRule{"RandomTranslation", identity},
    NamedRule{"RandomZoom", identity},
};

} // namespace

std::span<const NamedRule> coreLayers() { return kCoreLayers; }

} // namespace loopscope::keras
