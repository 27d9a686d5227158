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

/// The middle of a picture; of one that is smaller its middle of the same form, resized.
void centerCrop(LayerCall& l)
{
    if (!l.channelsLast()) return;
    ValueId x = l.b.cast(l.in(), l.compute);
    const int rank = l.b.rank(x), first = rank - 3;
    if (rank != 3 && rank != 4) return l.refuse("its input has rank " + std::to_string(rank));
    const int64_t height = std::clamp<int64_t>(l.config["height"].integer(1), 1, INT32_MAX);
    const int64_t width = std::clamp<int64_t>(l.config["width"].integer(1), 1, INT32_MAX);
    const int64_t rows = l.b.dim(x, first), columns = l.b.dim(x, first + 1);
    if (rows < 0 || columns < 0) return l.refuse("its pictures have no known size");
    const auto cut = [&](int64_t tall, int64_t wide) {
        const int64_t top = (rows - tall) / 2, left = (columns - wide) / 2;
        x = l.b.slice(l.b.slice(x, first, top, top + tall), first + 1, left, left + wide);
    };
    if (rows >= height && columns >= width) {
        cut(height, width);
    } else {
        const auto part = [](int64_t along, int64_t by, int64_t of, int64_t most) {
            return std::max<int64_t>(
                std::min(most, static_cast<int64_t>(static_cast<double>(along) * static_cast<double>(by) / static_cast<double>(of))), 1);
        };
        cut(part(columns, height, width, rows), part(rows, width, height, columns));
        if (rank == 3) x = l.b.expand(x, 0);
        x = resized(l, x, {{height, {}, 0}, {width, {}, 0}}, "bilinear");
        if (rank == 3) x = l.b.squeeze(x, {0});
    }
    l.outputs = {x};
}

constexpr std::array kImageLayers = {
    NamedRule{"Resizing", resizing},
    NamedRule{"CenterCrop", centerCrop},
    NamedRule{"UpSampling1D", [](LayerCall& l) { repeated(l, 1); }},
    NamedRule{"UpSampling2D", [](LayerCall& l) { repeated(l, 2); }},
    NamedRule{"UpSampling3D", [](LayerCall& l) { repeated(l, 3); }},
};

} // namespace

std::span<const NamedRule> imageLayers() { return kImageLayers; }

} // namespace loopscope::keras
