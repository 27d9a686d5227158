// Composites of StableHLO that become an operator of TFLite with something around it: channels that stand elsewhere, padding that counts,
// windows that reach over the edge.
#include "converters/fuse/stablehlo.h"

#include <algorithm>
#include <array>

namespace loopscope::fusing {

namespace {

constexpr std::array<int32_t, 4> kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

Shape reordered(const Shape& shape, const std::array<int32_t, 4>& order)
{
    return Shape{shape[order[0]], shape[order[1]], shape[order[2]], shape[order[3]]};
}

/// An operator in front of the composite.
ValueId insertBefore(Site& site, const Composite& composite, OperatorDraft draft, const char* what)
{
    draft.name = site.nameOf(composite.op) + what;
    return site.editor().op(site.editor().insert(std::move(draft), composite.op, InsertPoint::before(composite.op))).results[0];
}

ValueId row(Site& site, const Composite& composite, const char* what, std::span<const int32_t> values)
{
    return site.constant(site.nameOf(composite.op) + what, Shape{static_cast<int64_t>(values.size())}, values, composite.op);
}

ValueId channelsLast(Site& site, const Composite& composite, ValueId x)
{
    OperatorDraft draft;
    draft.kind = {"tfl", "transpose"};
    draft.inputs = {x, row(site, composite, "/to_last", kToLast)};
    draft.results = {TensorType(DType::f32, reordered(site.typeOf(x).shape, kToLast))};
    return insertBefore(site, composite, std::move(draft), "/channels_last");
}

/// The composite itself: what puts channels back.
void channelsFirst(Site& site, const Composite& composite, ValueId x, OperatorDraft& draft)
{
    draft.kind.name = "transpose";
    draft.inputs = {x, row(site, composite, "/to_first", kToFirst)};
}

std::string unfitPicture(const Site& site, const Composite& composite, ValueId x)
{
    const TensorType &from = site.typeOf(x), &to = site.typeOf(composite.results[0]);
    const bool isKnown = from.shape.isStatic() && to.shape.isStatic() && from.shape.rank() == 4 && to.shape.rank() == 4;
    return isKnown && from.dtype == DType::f32 ? "" : "it is no picture of f32 of known size";
}

/// How many cells of a window lie in [0, end), of those before `most` that count.
struct WindowAxis {
    int64_t size = 0, stride = 1, padding = 0, extent = 0, results = 0;

    int64_t begin(int64_t k) const { return k * stride - padding; }
    int64_t counted(int64_t k, bool countsPadding) const
    {
        const int64_t end = std::min(begin(k) + size, extent + padding);
        return countsPadding ? end - begin(k) : std::min(end, extent) - std::max<int64_t>(begin(k), 0);
    }
    /// Cells behind the last one that a window covers.
    int64_t behind() const { return std::max<int64_t>(begin(results - 1) + size - extent, 0); }
};

} // namespace

std::string lowerResize(Site& site, const Composite& composite, OperatorDraft& draft)
{
    const bool isBilinear = composite.name == "odml.upsample_bilinear2d";
    const ValueId x = composite.inputs.front();
    if (std::string reason = unfitPicture(site, composite, x); !reason.empty()) return reason;
    const bool isFirst = composite.truth("is_nchw_op", false);
    const Shape to = isFirst ? reordered(site.typeOf(composite.results[0]).shape, kToLast) : site.typeOf(composite.results[0]).shape;
    const std::vector<int64_t> size = composite.integers("size");
    if (size.size() == 2 && (size[0] != to[1] || size[1] != to[2])) return "its size is not that of its result";
    const std::array<int32_t, 2> sizes = {static_cast<int32_t>(to[1]), static_cast<int32_t>(to[2])};
    const bool aligns = isBilinear && composite.truth("align_corners", false);
    OperatorDraft resize;
    resize.kind = {"tfl", isBilinear ? "resize_bilinear" : "resize_nearest_neighbor"};
    resize.attributes = {{"align_corners", aligns}, {"half_pixel_centers", !aligns}};
    resize.inputs = {isFirst ? channelsLast(site, composite, x) : x, row(site, composite, "/size", sizes)};
    if (!isFirst) {
        draft.kind = resize.kind;
        draft.attributes = resize.attributes;
        draft.inputs = resize.inputs;
        return "";
    }
    resize.results = {TensorType(DType::f32, to)};
    channelsFirst(site, composite, insertBefore(site, composite, std::move(resize), "/resized"), draft);
    return "";
}

std::string lowerAveragePool(Site& site, const Composite& composite, OperatorDraft& draft)
{
    const ValueId x = composite.inputs.front();
    if (std::string reason = unfitPicture(site, composite, x); !reason.empty()) return reason;
    const Shape from = reordered(site.typeOf(x).shape, kToLast), to = reordered(site.typeOf(composite.results[0]).shape, kToLast);
    const auto both = [&](const char* key, std::vector<int64_t> otherwise) {
        std::vector<int64_t> found = composite.integers(key);
        if (found.size() == 1) found.push_back(found[0]);
        return found.size() == 2 ? found : otherwise;
    };
    const std::vector<int64_t> size = both("kernel_size", {}), strides = both("stride", size), padding = both("padding", {0, 0});
    if (size.size() != 2) return "its window has no size";
    constexpr int64_t kMost = int64_t{1} << 20; // more is a mistake, or a trap
    for (const int64_t number : {size[0], size[1], strides[0], strides[1]})
        if (number < 1 || number > kMost) return "its window has no size";
    for (const int64_t number : {padding[0], padding[1]})
        if (number < 0 || number > kMost) return "its padding is " + std::to_string(number);
    if (to[1] > kMost || to[2] > kMost || to[1] * to[2] > kMost) return "its result is too large to say what counts where";
    const bool countsPadding = composite.truth("count_include_pad", true);
    const int64_t divisor = composite.integer("divisor_override", 0);
    const WindowAxis high{size[0], strides[0], padding[0], from[1], to[1]}, wide{size[1], strides[1], padding[1], from[2], to[2]};
    std::vector<float> factors;
    bool isPlain = true;
    for (int64_t y = 0; y < to[1]; ++y)
        for (int64_t z = 0; z < to[2]; ++z) {
            const int64_t cells = divisor != 0 ? divisor : high.counted(y, countsPadding) * wide.counted(z, countsPadding);
            if (cells <= 0) return "a window lies outside";
            isPlain = isPlain && cells == size[0] * size[1];
            factors.push_back(static_cast<float>(size[0] * size[1]) / static_cast<float>(cells));
        }
    ValueId picture = channelsLast(site, composite, x);
    if (padding[0] > 0 || padding[1] > 0 || high.behind() > 0 || wide.behind() > 0) {
        const auto narrow = [](int64_t number) { return static_cast<int32_t>(number); };
        const std::array<int32_t, 8> amounts = {0, 0, narrow(padding[0]), narrow(high.behind()), narrow(padding[1]), narrow(wide.behind()),
                                                0, 0};
        OperatorDraft pad;
        pad.kind = {"tfl", "pad"};
        pad.inputs = {picture,
                      site.constant(site.nameOf(composite.op) + "/paddings", Shape{4, 2}, std::span<const int32_t>(amounts), composite.op)};
        pad.results = {
            TensorType(DType::f32, Shape{from[0], from[1] + padding[0] + high.behind(), from[2] + padding[1] + wide.behind(), from[3]})};
        picture = insertBefore(site, composite, std::move(pad), "/padded");
    }
    OperatorDraft pool;
    pool.kind = {"tfl", "average_pool_2d"};
    pool.attributes = {{"filter_height", size[0]},
                       {"filter_width", size[1]},
                       {"padding", Word{"VALID"}},
                       {"stride_h", strides[0]},
                       {"stride_w", strides[1]}};
    pool.inputs = {picture};
    pool.results = {TensorType(DType::f32, to)};
    ValueId pooled = insertBefore(site, composite, std::move(pool), "/pooled");
    if (!isPlain) { // as many as count, instead of all
        OperatorDraft scale;
        scale.kind = {"tfl", "mul"};
        scale.inputs = {pooled, site.constant(site.nameOf(composite.op) + "/factors", Shape{1, to[1], to[2], 1},
                                              std::span<const float>(factors), composite.op)};
        scale.results = {TensorType(DType::f32, to)};
        pooled = insertBefore(site, composite, std::move(scale), "/counted");
    }
    channelsFirst(site, composite, pooled, draft);
    return "";
}

std::string lowerRandom(Site& site, const Composite& composite, OperatorDraft& draft)
{
    const TensorType& shape = site.typeOf(composite.inputs.back());
    if (shape.dtype != DType::i32 || !shape.shape.hasRank() || shape.shape.rank() != 1) return "its shape is no vector of i32";
    draft.kind.name = composite.name.substr(composite.name.find('.') + 1);
    draft.attributes = {{"seed", composite.integer("seed", 0)}, {"seed2", composite.integer("seed2", 0)}};
    draft.inputs = {composite.inputs.back()};
    return "";
}

std::string lowerMean(Site& site, const Composite& composite, OperatorDraft& draft)
{
    draft.kind.name = "mean";
    draft.attributes = {{"keep_dims", composite.truth("keep_dims", composite.truth("keepdim", false))}};
    draft.inputs = composite.inputs;
    if (composite.inputs.size() == 2) return "";
    std::vector<int64_t> axes = composite.integers("axis");
    if (axes.empty() && composite.find("axis") != nullptr) axes.push_back(composite.integer("axis", 0));
    if (composite.inputs.size() != 1 || axes.empty()) return "it has no axes";
    const std::vector<int32_t> numbers(axes.begin(), axes.end());
    draft.inputs.push_back(row(site, composite, "/axes", numbers));
    return "";
}

std::string lowerMirrorPad(Site& site, const Composite& composite, OperatorDraft& draft)
{
    std::string mode = upperCase(composite.text("mode"));
    if (mode.empty()) mode = "REFLECT";
    if (mode != "REFLECT" && mode != "SYMMETRIC") return "mode is '" + mode + "', neither REFLECT nor SYMMETRIC";
    draft.kind.name = "mirror_pad";
    draft.attributes = {{"mode", Word{mode}}};
    draft.inputs = composite.inputs;
    if (composite.inputs.size() == 2) return "";
    const std::vector<int64_t> paddings = composite.integers("paddings");
    const Shape& shape = site.typeOf(composite.inputs.front()).shape;
    if (!shape.hasRank() || static_cast<int>(paddings.size()) != 2 * shape.rank()) return "it has not two paddings for each dimension";
    const std::vector<int32_t> numbers(paddings.begin(), paddings.end());
    draft.inputs.push_back(
        site.constant(site.nameOf(composite.op) + "/paddings", Shape{shape.rank(), 2}, std::span<const int32_t>(numbers), composite.op));
    return "";
}

std::string lowerMovement(Site&, const Composite& composite, OperatorDraft& draft)
{
    if (composite.inputs.size() != 3) return "it has " + std::to_string(composite.inputs.size()) + " operands, not 3";
    draft.kind.name = composite.name.substr(composite.name.find('.') + 1); // slice, dynamic_update_slice
    draft.inputs = composite.inputs;
    return "";
}

std::string lowerCacheUpdate(Site& site, const Composite& composite, OperatorDraft& draft)
{
    if (composite.inputs.size() != 5) return "it has " + std::to_string(composite.inputs.size()) + " operands, not 5";
    int64_t count = 0, own = 0;
    for (const OperatorId id : site.editor().order()) { // each layer has one
        const Operator& op = site.editor().op(id);
        const bool isLowered = op.kind.dialect == "custom" && op.kind.name == composite.name;
        if (!isLowered && attributeString(op.attributes, "name", "") != composite.name) continue;
        if (id == composite.op) own = count;
        ++count;
    }
    AttributeMap options;
    if (composite.attributes != nullptr)
        for (const auto& [key, value] : *composite.attributes)
            if (value.as<int64_t>() != nullptr || value.as<double>() != nullptr || value.as<std::string>() != nullptr)
                options.emplace_back(key, value);
    options.emplace_back("layer_index", own);
    options.emplace_back("num_layers", count);
    draft.kind = {"custom", composite.name};
    draft.attributes = {{"options", std::move(options)}};
    draft.inputs = {composite.inputs.begin() + 2, composite.inputs.end()}; // the runtime holds the cache itself
    return "";
}

} // namespace loopscope::fusing
