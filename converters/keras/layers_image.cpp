// Pictures of another size.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>

namespace loopscope::keras {

namespace {

/// A picture resized as tf.image.resize does it: pixels are squares, their middles at a half.
ValueId resized(LayerCall& l, ValueId x, const std::vector<Extent>& size, const std::string& how)
{
    const std::string_view kind = how == "bilinear"  ? "ResizeBilinear"
                                  : how == "nearest" ? "ResizeNearestNeighbor"
                                  : how == "bicubic" ? "ResizeBicubic"
                                                     : "";
    if (kind.empty()) {
        l.refuse("its interpolation is " + how);
        return {};
    }
    return l.b.op(kind, {x, l.b.sizes(size)}, {{"half_pixel_centers", true}});
}

void resizing(LayerCall& l)
{
    if (!l.channelsLast()) return;
    for (const char* key : {"crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"})
        if (l.config[key].truth()) return l.refuse(std::string("it has ") + key);
    ValueId x = l.in();
    if (l.b.rank(x) != 4) return l.refuse("its input has rank " + std::to_string(l.b.rank(x)));
    const auto extent = [&](std::string_view key) { return Extent{std::clamp<int64_t>(l.config[key].integer(1), 1, INT32_MAX), {}, 0}; };
    const ValueId y = resized(l, x, {extent("height"), extent("width")}, l.config["interpolation"].text("bilinear"));
    l.outputs = {l.b.cast(y, l.compute)};
}

/// Every element so many times along each spatial axis.
void repeated(LayerCall& l, int rank)
{
    if (!l.channelsLast()) return;
    ValueId x = l.in();
    if (l.b.rank(x) != rank + 2) return l.refuse("its input has rank " + std::to_string(l.b.rank(x)));
    const std::vector<int64_t> times = l.perAxis("size", rank);
    const std::string how = l.config["interpolation"].text("nearest");
    if (rank == 2) {
        std::vector<Extent> size;
        for (int i = 0; i < 2; ++i) {
            Extent e = l.b.same(x, i + 1);
            e.factor = times[static_cast<size_t>(i)];
            if (!e.of.valid()) e.number *= e.factor;
            size.push_back(e);
        }
        l.outputs = {l.b.cast(resized(l, x, size, how), l.compute)};
        return;
    }
    for (int i = 0; i < rank; ++i) {
        // [.., n, ..] → [.., n, 1, ..] → [.., n, times, ..] → [.., n·times, ..]
        std::vector<int64_t> tiles(static_cast<size_t>(rank) + 3, 1);
        tiles[static_cast<size_t>(i) + 2] = times[static_cast<size_t>(i)];
        std::vector<Extent> extents;
        for (int k = 0; k < rank + 2; ++k) {
            extents.push_back(l.b.same(x, k));
            if (k != i + 1) continue;
            extents.back().factor = times[static_cast<size_t>(i)];
            if (!extents.back().of.valid()) extents.back().number *= extents.back().factor;
        }
        x = l.b.reshape(l.b.op("Tile", {l.b.expand(x, i + 2), l.b.ints(tiles)}), extents);
    }
    l.outputs = {x};
}

constexpr std::array kImageLayers = {
    NamedRule{"Resizing", resizing},
    NamedRule{"UpSampling1D", [](LayerCall& l) { repeated(l, 1); }},
    NamedRule{"UpSampling2D", [](LayerCall& l) { repeated(l, 2); }},
    NamedRule{"UpSampling3D", [](LayerCall& l) { repeated(l, 3); }},
};

} // namespace

std::span<const NamedRule> imageLayers() { return kImageLayers; }

} // namespace loopscope::keras
