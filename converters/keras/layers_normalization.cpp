// Normalisations: what was learned, or what the input itself says of its mean and variance.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace loopscope::keras {

namespace {

/// Axes of a config, counted from the front; none if one does not exist.
std::vector<int> axesOf(LayerCall& l, const Json& value, int rank, int otherwise)
{
    std::vector<int> axes;
    const auto take = [&](int64_t axis) {
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) l.refuse("its axis " + std::to_string(axis) + " is not one of its input");
        else axes.push_back(static_cast<int>(axis));
    };
    if (value.isArray())
        for (const Json& item : value.items()) take(item.integer());
    else take(value.integer(otherwise));
    std::ranges::sort(axes);
    return axes;
}

/// The parameter with a 1 for each axis that it does not have.
ValueId spread(LayerCall& l, ValueId parameter, ValueId x, const std::vector<int>& axes)
{
    const int rank = l.b.rank(x);
    const bool isLast = !axes.empty() && axes.back() == rank - 1 && static_cast<int>(axes.size()) == rank - axes.front();
    if (isLast) return parameter; // broadcasting does it
    std::vector<Extent> extents(static_cast<size_t>(std::max(rank, 0)), Extent{1, {}, 0});
    for (const int axis : axes) extents[static_cast<size_t>(axis)] = l.b.same(x, axis);
    return l.b.reshape(parameter, extents);
}

/// (x − mean) / √(variance + ε) γ + β, as Keras computes it: x·inv + (β − mean·inv).
ValueId normalized(LayerCall& l, ValueId x, ValueId mean, ValueId variance, ValueId gamma, ValueId beta, double epsilon)
{
    ValueId inverse = l.b.op("Rsqrt", {l.b.add(variance, l.b.number(epsilon, variance))});
    if (gamma.valid()) inverse = l.b.mul(inverse, gamma);
    const ValueId shift = beta.valid() ? l.b.sub(beta, l.b.mul(mean, inverse)) : l.b.op("Neg", {l.b.mul(mean, inverse)});
    return l.b.add(l.b.mul(x, inverse), shift);
}

struct Moments {
    ValueId mean, variance;
};

Moments momentsOf(LayerCall& l, ValueId x, const std::vector<int64_t>& axes)
{
    const ValueId mean = l.b.reduce("Mean", x, axes, true);
    return {mean, l.b.reduce("Mean", l.b.op("SquaredDifference", {x, mean}), axes, true)};
}

void batchNormalization(LayerCall& l)
{
    const ValueId x = l.in();
    const int rank = l.b.rank(x);
    const std::vector<int> axis = axesOf(l, l.config["axis"], rank, -1);
    if (axis.size() != 1) return l.refuse("it normalises along several axes");
    const bool scale = l.config["scale"].truth(true), center = l.config["center"].truth(true);
    const double epsilon = l.config["epsilon"].number(1e-3);
    int64_t k = 0;
    ValueId gamma = scale ? l.weight(k++, "gamma") : ValueId(), beta = center ? l.weight(k++, "beta") : ValueId();
    ValueId mean = l.weight(k, "moving_mean"), variance = l.weight(k + 1, "moving_variance");
    if (rank == 4 && axis.front() == 3 && l.compute == DType::f32) {
        const auto channels = l.b.dim(mean, 0);
        const auto filled = [&](double value) {
            return l.b.numbers(std::vector<double>(static_cast<size_t>(std::max<int64_t>(channels, 0)), value), Shape{channels},
                               DType::f32);
        };
        if (channels < 0) return l.refuse("its moving mean has no size");
        if (!gamma.valid()) gamma = filled(1);
        if (!beta.valid()) beta = filled(0);
        l.outputs = {l.b.op("FusedBatchNormV3", {x, gamma, beta, mean, variance},
                            {{"epsilon", floatAttribute(static_cast<float>(epsilon))}, {"is_training", false}})};
        return;
    }
    const auto fit = [&](ValueId& value) {
        if (value.valid()) value = spread(l, value, x, axis);
    };
    for (ValueId* const value : {&gamma, &beta, &mean, &variance}) fit(*value);
    l.outputs = {normalized(l, x, mean, variance, gamma, beta, epsilon)};
}

void layerNormalization(LayerCall& l)
{
    const ValueId x = l.in();
    const std::vector<int> axes = axesOf(l, l.config["axis"], l.b.rank(x), -1);
    const std::vector<int64_t> along(axes.begin(), axes.end());
    const double epsilon = l.config["epsilon"].number(1e-3);
    const bool rms = l.config["rms_scaling"].truth();
    int64_t k = 0;
    ValueId gamma = l.config["scale"].truth(true) || rms ? l.weight(k++, "gamma") : ValueId();
    ValueId beta = l.config["center"].truth(true) && !rms ? l.weight(k++, "beta") : ValueId();
    if (gamma.valid()) gamma = spread(l, gamma, x, axes);
    if (beta.valid()) beta = spread(l, beta, x, axes);
    if (rms) {
        const Moments m = momentsOf(l, x, along);
        l.outputs = {l.b.mul(l.b.mul(x, l.b.op("Rsqrt", {l.b.add(m.variance, l.b.number(epsilon, x))})), gamma)};
        return;
    }
    const Moments m = momentsOf(l, x, along);
    l.outputs = {normalized(l, x, m.mean, m.variance, gamma, beta, epsilon)};
}

void rmsNormalization(LayerCall& l)
{
    const ValueId x = l.in();
    const std::vector<int> axes = axesOf(l, l.config["axis"], l.b.rank(x), -1);
    const ValueId square = l.b.reduce("Mean", l.b.op("Square", {x}), {axes.begin(), axes.end()}, true);
    const ValueId inverse = l.b.op("Rsqrt", {l.b.add(square, l.b.number(l.config["epsilon"].number(1e-6), x))});
    l.outputs = {l.b.mul(l.b.mul(x, inverse), spread(l, l.weight(0, "scale"), x, axes))};
}

/// x / √max(Σx², 1e-12)
void unitNormalization(LayerCall& l)
{
    const ValueId x = l.in();
    const std::vector<int> axes = axesOf(l, l.config["axis"], l.b.rank(x), -1);
    const ValueId sum = l.b.reduce("Sum", l.b.op("Square", {x}), {axes.begin(), axes.end()}, true);
    l.outputs = {l.b.mul(x, l.b.op("Rsqrt", {l.b.op("Maximum", {sum, l.b.number(1e-12, x)})}))};
}

/// The channels in groups, each normalised over everything but the batch.
void groupNormalization(LayerCall& l)
{
    const ValueId x = l.in();
    const int rank = l.b.rank(x);
    const std::vector<int> axis = axesOf(l, l.config["axis"], rank, -1);
    if (axis.size() != 1 || axis.front() == 0) return l.refuse("its axis is that of the batch");
    const int64_t channels = l.b.dim(x, axis.front());
    int64_t groups = l.config["groups"].integer(32);
    if (groups == -1) groups = channels;
    if (channels < 1 || groups < 1 || channels % groups != 0) return l.refuse("its channels do not make whole groups");
    std::vector<Extent> apart, whole;
    std::vector<int64_t> along;
    for (int i = 0; i < rank; ++i) {
        whole.push_back(l.b.same(x, i));
        if (i == axis.front()) {
            apart.push_back({groups, {}, 0});
            apart.push_back({channels / groups, {}, 0});
            along.push_back(i + 1);
        } else {
            apart.push_back(l.b.same(x, i));
            if (i > 0) along.push_back(i < axis.front() ? i : i + 1);
        }
    }
    const ValueId grouped = l.b.reshape(x, apart);
    const Moments m = momentsOf(l, grouped, along);
    int64_t k = 0;
    ValueId gamma = l.config["scale"].truth(true) ? l.weight(k++, "gamma") : ValueId();
    ValueId beta = l.config["center"].truth(true) ? l.weight(k++, "beta") : ValueId();
    const ValueId y = l.b.reshape(normalized(l, grouped, m.mean, m.variance, {}, {}, l.config["epsilon"].number(1e-3)), whole);
    ValueId out = gamma.valid() ? l.b.mul(y, spread(l, gamma, x, axis)) : y;
    if (beta.valid()) out = l.b.add(out, spread(l, beta, x, axis));
    l.outputs = {out};
}

/// The numbers of a list in lists, in their order.
void numbersOf(const Json& value, std::vector<double>& list, int depth = 0)
{
    if (value.isNumber()) list.push_back(value.number());
    if (depth < 16)
        for (const Json& item : value.items()) numbersOf(item, list, depth + 1);
}

/// Mean or variance of Normalization: of the config, else a variable.
std::vector<double> learned(LayerCall& l, std::string_view key, int64_t k)
{
    std::vector<double> list;
    const Json& given = l.config[key];
    numbersOf(given["class_name"].isText() ? given["config"]["value"] : given, list);
    if (!list.empty()) return list;
    const std::optional<TensorAttribute> stored = l.stored(k);
    if (!stored) return {};
    const size_t count = stored->data->bytes().size() / sizeof(float);
    if (stored->type.dtype != DType::f32) l.refuse("its statistics are no f32");
    else
        for (size_t i = 0; i < count; ++i) {
            float value = 0;
            std::memcpy(&value, stored->data->bytes().data() + i * sizeof value, sizeof value);
            list.push_back(value);
        }
    return list;
}

/// (x − mean) / max(√variance, ε)
void normalization(LayerCall& l)
{
    ValueId x = l.in();
    if (!isFloat(l.b.dtype(x))) x = l.b.cast(x, l.compute);
    const int rank = l.b.rank(x);
    const Json& axis = l.config["axis"];
    const std::vector<int> axes = axis.isNull() ? std::vector<int>() : axesOf(l, axis, rank, -1);
    const std::vector<double> mean = learned(l, "mean", 0), variance = learned(l, "variance", 1);
    Shape shape = Shape::ofRank(std::max(rank, 0), 1);
    for (const int a : axes) shape[a] = l.b.dim(x, a);
    if (mean.size() == 1 && variance.size() == 1) shape = Shape();
    const auto count = checkedElementCount(shape);
    if (!count || static_cast<size_t>(*count) != mean.size() || mean.size() != variance.size())
        return l.refuse("its mean has " + std::to_string(mean.size()) + " elements, where its input has " + toString(shape));
    std::vector<double> deviation;
    for (const double v : variance) deviation.push_back(std::max<double>(std::sqrt(static_cast<float>(v)), 1e-7));
    const ValueId m = l.b.numbers(mean, shape, l.compute), d = l.b.numbers(deviation, shape, l.compute);
    l.outputs = {l.config["invert"].truth() ? l.b.add(m, l.b.mul(x, d)) : l.b.op("RealDiv", {l.b.sub(x, m), d})};
}

/// Scale and offset, each a number or one for each channel.
void rescaling(LayerCall& l)
{
    ValueId x = l.in();
    if (!isFloat(l.b.dtype(x))) x = l.b.cast(x, l.compute);
    const auto factor = [&](std::string_view key, double otherwise) {
        std::vector<double> list;
        numbersOf(l.config[key], list);
        if (list.empty()) list.push_back(otherwise);
        const bool isOne = !l.config[key].isArray();
        return l.b.numbers(list, isOne ? Shape() : Shape{static_cast<int64_t>(list.size())}, l.compute);
    };
    l.outputs = {l.b.add(l.b.mul(x, factor("scale", 1)), factor("offset", 0))};
}

/// ConvNeXt's: x·γ
void layerScale(LayerCall& l) { l.outputs = {l.b.mul(l.in(), l.weight(0, "gamma"))}; }

constexpr std::array kNormalizationLayers = {
    NamedRule{"BatchNormalization", batchNormalization},
    NamedRule{"LayerNormalization", layerNormalization},
    NamedRule{"RMSNormalization", rmsNormalization},
    NamedRule{"UnitNormalization", unitNormalization},
    NamedRule{"GroupNormalization", groupNormalization},
    NamedRule{"Normalization", normalization},
    NamedRule{"Rescaling", rescaling},
    NamedRule{"LayerScale", layerScale},
};

} // namespace

std::span<const NamedRule> normalizationLayers() { return kNormalizationLayers; }

} // namespace loopscope::keras
