// Colours, which TFLite computes with element-wise operators: the last dimension has the channels.
#include "converters/lower/graph_lowering.h"

#include <array>
#include <cstring>

namespace loopscope::lowering {

namespace {

ValueId colours(GraphLowering& l, std::array<float, 3> values)
{
    return l.constant(TensorType(DType::f32, Shape{3}), std::make_shared<Constant>(Bytes::copyOf(values.data(), sizeof values)));
}

ValueId real(GraphLowering& l, double value) { return l.realConstant(DType::f32, value); }

/// Channels of the last dimension.
Result<ValueId> channels(GraphLowering& l, ValueId image, std::initializer_list<int64_t> wanted)
{
    return l.emit("gather", {image, numbers(l, wanted)}, {{"axis", int64_t{-1}}}, DType::f32);
}

Result<ValueId> clamped(GraphLowering& l, ValueId value)
{
    LS_TRY(const ValueId above, l.emit("maximum", {value, real(l, 0)}));
    return l.emit("minimum", {above, real(l, 1)});
}

struct Hsv {
    ValueId hue, saturation, value; ///< each with a last dimension of 1
};

/// Hue: what the largest channel's neighbours differ by, over the range of all three, in sixths of a circle.
Result<Hsv> toHsv(GraphLowering& l, ValueId image)
{
    Hsv hsv;
    const ValueId last = l.integerConstant(DType::i32, std::array<int64_t, 1>{-1});
    LS_TRY(hsv.value, l.emit("reduce_max", {image, last}, {{"keep_dims", true}}));
    LS_TRY(const ValueId least, l.emit("reduce_min", {image, last}, {{"keep_dims", true}}));
    LS_TRY(const ValueId range, l.emit("sub", {hsv.value, least}));
    LS_TRY(const ValueId isLit, l.emit("greater", {hsv.value, real(l, 0)}, {}, DType::boolean));
    LS_TRY(const ValueId divisor, l.emit("select_v2", {isLit, hsv.value, real(l, 1)}));
    LS_TRY(const ValueId quotient, l.emit("div", {range, divisor}));
    LS_TRY(hsv.saturation, l.emit("select_v2", {isLit, quotient, real(l, 0)}));
    LS_TRY(const ValueId isColoured, l.emit("greater", {range, real(l, 0)}, {}, DType::boolean));
    LS_TRY(const ValueId sixth, l.emit("mul", {range, real(l, 6)}));
    LS_TRY(const ValueId scale, l.emit("select_v2", {isColoured, sixth, real(l, 1)}));
    LS_TRY(const ValueId next, channels(l, image, {1, 2, 0}));
    LS_TRY(const ValueId after, channels(l, image, {2, 0, 1}));
    LS_TRY(const ValueId difference, l.emit("sub", {next, after}));
    LS_TRY(const ValueId part, l.emit("div", {difference, scale}));
    LS_TRY(const ValueId all, l.emit("add", {part, colours(l, {0, 1.0F / 3, 2.0F / 3})}));
    LS_TRY(const ValueId which, l.emit("arg_max", {image, number(l, -1)}, {{"output_type", DType::i32}}, DType::i32));
    LS_TRY(const ValueId isWhich, l.emit("one_hot", {which, number(l, 3), real(l, 1), real(l, 0)}, {{"axis", int64_t{-1}}}, DType::f32));
    LS_TRY(const ValueId own, l.emit("mul", {all, isWhich}));
    LS_TRY(const ValueId hue, l.emit("sum", {own, last}, {{"keep_dims", true}}));
    LS_TRY(const ValueId isBelow, l.emit("less", {hue, real(l, 0)}, {}, DType::boolean));
    LS_TRY(const ValueId turned, l.emit("add", {hue, real(l, 1)}));
    LS_TRY(const ValueId positive, l.emit("select_v2", {isBelow, turned, hue}));
    LS_TRY(hsv.hue, l.emit("select_v2", {isColoured, positive, real(l, 0)}));
    return hsv;
}

/// (1 − s + s · d) · v, where d falls from 1 to 0 with the distance from each channel's hue.
Result<ValueId> toRgb(GraphLowering& l, const Hsv& hsv)
{
    LS_TRY(const ValueId six, l.emit("mul", {hsv.hue, real(l, 6)}));
    LS_TRY(const ValueId away, l.emit("sub", {six, colours(l, {3, 2, 4})}));
    LS_TRY(const ValueId distance, l.emit("abs", {away}));
    LS_TRY(const ValueId turned, l.emit("mul", {distance, colours(l, {1, -1, -1})}));
    LS_TRY(const ValueId moved, l.emit("add", {turned, colours(l, {-1, 2, 2})}));
    LS_TRY(const ValueId share, clamped(l, moved));
    LS_TRY(const ValueId coloured, l.emit("mul", {hsv.saturation, share}));
    LS_TRY(const ValueId grey, l.emit("sub", {real(l, 1), hsv.saturation}));
    LS_TRY(const ValueId sum, l.emit("add", {grey, coloured}));
    return l.emit("mul", {sum, hsv.value});
}

Status bound(GraphLowering& l, ValueId value)
{
    l.bind(0, value);
    return {};
}

Status isReal(GraphLowering& l)
{
    return l.type(l.input(0)).dtype == DType::f32 ? Status() : noForm("an image of " + std::string(dtypeName(l.type(l.input(0)).dtype)));
}

Status adjustSaturation(GraphLowering& l)
{
    LS_CHECK_OK(isReal(l));
    LS_TRY(Hsv hsv, toHsv(l, l.input(0)));
    LS_TRY(const ValueId scaled, l.emit("mul", {hsv.saturation, l.input(1)}));
    LS_TRY(hsv.saturation, clamped(l, scaled));
    LS_TRY(const ValueId image, toRgb(l, hsv));
    return bound(l, image);
}

Status adjustHue(GraphLowering& l)
{
    LS_CHECK_OK(isReal(l));
    LS_TRY(Hsv hsv, toHsv(l, l.input(0)));
    LS_TRY(const ValueId moved, l.emit("add", {hsv.hue, l.input(1)}));
    LS_TRY(hsv.hue, l.emit("floor_mod", {moved, real(l, 1)}));
    LS_TRY(const ValueId image, toRgb(l, hsv));
    return bound(l, image);
}

/// (x − mean) · factor + mean, the mean of each channel.
Status adjustContrast(GraphLowering& l)
{
    LS_CHECK_OK(isReal(l));
    LS_TRY(const ValueId mean, l.emit("mean", {l.input(0), numbers(l, {-3, -2})}, {{"keep_dims", true}}));
    LS_TRY(const ValueId centred, l.emit("sub", {l.input(0), mean}));
    LS_TRY(const ValueId scaled, l.emit("mul", {centred, l.input(1)}));
    LS_TRY(const ValueId image, l.emit("add", {scaled, mean}));
    return bound(l, image);
}

Status rgbToHsv(GraphLowering& l)
{
    LS_CHECK_OK(isReal(l));
    LS_TRY(const Hsv hsv, toHsv(l, l.input(0)));
    LS_TRY(const ValueId image, l.emit("concatenation", {hsv.hue, hsv.saturation, hsv.value}, {{"axis", int64_t{-1}}}));
    return bound(l, image);
}

Status hsvToRgb(GraphLowering& l)
{
    LS_CHECK_OK(isReal(l));
    Hsv hsv;
    LS_TRY(hsv.hue, channels(l, l.input(0), {0}));
    LS_TRY(hsv.saturation, channels(l, l.input(0), {1}));
    LS_TRY(hsv.value, channels(l, l.input(0), {2}));
    LS_TRY(const ValueId image, toRgb(l, hsv));
    return bound(l, image);
}

constexpr NamedRule kImageRules[] = {
    {"AdjustContrastv2", adjustContrast},
    {"AdjustHue", adjustHue},
    {"AdjustSaturation", adjustSaturation},
    {"HSVToRGB", hsvToRgb},
    {"RGBToHSV", rgbToHsv},
};

} // namespace

std::span<const NamedRule> imageRules() { return kImageRules; }

} // namespace loopscope::lowering
