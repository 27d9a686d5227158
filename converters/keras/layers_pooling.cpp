// Pools over windows and over everything.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace loopscope::keras {

namespace {

Attribute poolSizes(std::vector<int64_t> spatial)
{
    if (spatial.size() == 1) spatial.push_back(1);
    spatial.insert(spatial.begin(), 1);
    spatial.push_back(1);
    return {AttributeItems(spatial.begin(), spatial.end())};
}

void pool(LayerCall& l, const char* kind, int rank)
{
    if (!l.channelsLast()) return;
    ValueId x = l.in();
    if (l.b.rank(x) != rank + 2) return l.refuse("its input has rank " + std::to_string(l.b.rank(x)));
    const std::vector<int64_t> window = l.perAxis("pool_size", rank);
    const std::vector<int64_t> strides = l.config.has("strides") ? l.perAxis("strides", rank) : window;
    // One dimension is two, of which the second is 1.
    if (rank == 1) x = l.b.expand(x, 2);
    ValueId y = l.b.op(kind, {x},
                       {{"ksize", poolSizes(window)},
                        {"padding", l.config["padding"].text("valid") == "same" ? "SAME" : "VALID"},
                        {"strides", poolSizes(strides)}});
    if (rank == 1) y = l.b.squeeze(y, {2});
    l.outputs = {y};
}

/// The mean of the steps that count.
void maskedMean(LayerCall& l, ValueId mask)
{
    const ValueId x = l.in(), counts = l.b.expand(l.b.cast(mask, l.b.dtype(x)), 2);
    const bool keep = l.config["keepdims"].truth();
    l.outputs = {l.b.op("RealDiv", {l.b.reduce("Sum", l.b.mul(x, counts), {1}, keep), l.b.reduce("Sum", counts, {1}, keep)})};
}

void globalPool(LayerCall& l, const char* kind, int rank)
{
    if (!l.channelsLast()) return;
    if (rank == 1 && std::string_view(kind) == "Mean")
        if (const ValueId mask = l.mask(); mask.valid()) return maskedMean(l, mask);
    std::vector<int64_t> axes(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 1);
    l.outputs = {l.b.reduce(kind, l.in(), axes, l.config["keepdims"].truth())};
}

constexpr std::array kPoolingLayers = {
    NamedRule{"MaxPooling1D", [](LayerCall& l) { pool(l, "MaxPool", 1); }},
    NamedRule{"MaxPooling2D", [](LayerCall& l) { pool(l, "MaxPool", 2); }},
    NamedRule{"MaxPooling3D", [](LayerCall& l) { pool(l, "MaxPool3D", 3); }},
    NamedRule{"AveragePooling1D", [](LayerCall& l) { pool(l, "AvgPool", 1); }},
    NamedRule{"AveragePooling2D", [](LayerCall& l) { pool(l, "AvgPool", 2); }},
    NamedRule{"AveragePooling3D", [](LayerCall& l) { pool(l, "AvgPool3D", 3); }},
    NamedRule{"GlobalAveragePooling1D", [](LayerCall& l) { globalPool(l, "Mean", 1); }},
    NamedRule{"GlobalAveragePooling2D", [](LayerCall& l) { globalPool(l, "Mean", 2); }},
    NamedRule{"GlobalAveragePooling3D", [](LayerCall& l) { globalPool(l, "Mean", 3); }},
    NamedRule{"GlobalMaxPooling1D", [](LayerCall& l) { globalPool(l, "Max", 1); }},
    NamedRule{"GlobalMaxPooling2D", [](LayerCall& l) { globalPool(l, "Max", 2); }},
    NamedRule{"GlobalMaxPooling3D", [](LayerCall& l) { globalPool(l, "Max", 3); }},
};

} // namespace

std::span<const NamedRule> poolingLayers() { return kPoolingLayers; }

} // namespace loopscope::keras
