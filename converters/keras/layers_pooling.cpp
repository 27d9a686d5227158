// Pools over windows and over everything.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace loopscope::keras {

namespace {

Attribute around(std::vector<int64_t> spatial)
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
                       {{"ksize", around(window)},
                        {"padding", l.config["padding"].text("valid") == "same" ? "SAME" : "VALID"},
                        {"strides", around(strides)}});
    if (rank == 1) y = l.b.squeeze(y, {2});
    l.outputs = {y};
}

void globalPool(LayerCall& l, const char* kind, int rank)
{
    if (!l.channelsLast()) return;
    if (!l.namedTensors("mask").empty()) return l.refuse("it is called with a mask");
    std::vector<int64_t> axes(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 1);
    l.outputs = {l.b.reduce(kind, l.in(), axes, l.config["keepdims"].truth())};
}

constexpr std::array kLayers = {
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

std::span<const NamedRule> poolingLayers() { return kLayers; }

} // namespace loopscope::keras
