#include "engine/kernels/cpu/nn/tf_window.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr int64_t kLargest = int64_t{1} << 30; ///< of an attribute that counts elements along a dimension

Status checkList(const std::vector<int64_t>& list, int rank, std::string_view name)
{
    const bool fits = static_cast<int>(list.size()) == rank && std::ranges::all_of(list, [](int64_t n) { return n >= 1 && n <= kLargest; });
    if (fits) return {};
    return invalidArgument("Sliding window " + std::string(name) + " field must specify " + std::to_string(rank) + " dimensions, each > 0");
}

/// TensorFlow's SAME puts the odd element of the padding behind (core/framework/kernel_shape_util.cc).
Result<PlacedAxis> placeAxis(const TfWindowSpec& spec, size_t dim, int64_t input)
{
    PlacedAxis axis;
    axis.input = input;
    axis.filter = spec.sizes[dim];
    axis.stride = spec.strides[dim];
    axis.dilation = spec.dilations[dim];
    const int64_t reach = (axis.filter - 1) * axis.dilation + 1;
    if (spec.padding == "SAME") {
        axis.output = (input + axis.stride - 1) / axis.stride;
        axis.padding = std::max<int64_t>((axis.output - 1) * axis.stride + reach - input, 0) / 2;
        return axis;
    }
    int64_t both = 0;
    if (spec.padding == "EXPLICIT") {
        axis.padding = spec.explicitPadding[2 * dim];
        both = axis.padding + spec.explicitPadding[2 * dim + 1];
    }
    axis.output = (input + both - reach + axis.stride) / axis.stride; // rounded towards 0, so that a window a little too large gives none
    if (axis.output < 0)
        return invalidArgument("Computed output size would be negative: " + std::to_string(axis.output) +
                               " [input_size: " + std::to_string(input) + ", effective_filter_size: " + std::to_string(reach) +
                               ", stride: " + std::to_string(axis.stride) + "]");
    return axis;
}

} // namespace

Shape TfLayout::shape(int64_t batches, std::span<const int64_t> sizes, int64_t channels) const
{
    Shape shape({batches});
    if (channelsFirst) shape.append(channels);
    for (const int64_t size : sizes) shape.append(size);
    if (!channelsFirst) shape.append(channels);
    return shape;
}

Result<TfLayout> tfLayout(const KernelArgs& args, int spatial)
{
    const std::string_view last = spatial == 2 ? "NHWC" : "NDHWC", first = spatial == 2 ? "NCHW" : "NCDHW";
    const std::string_view format = attributeString(attributesOf(args), "data_format", last);
    if (format != last && format != first) return invalidArgument("Invalid data format: " + std::string(format));
    return TfLayout{spatial, format == first};
}

TfWindowSpec tfWindowSpec(const KernelArgs& args, int rank)
{
    const AttributeList& attributes = attributesOf(args);
    TfWindowSpec spec;
    spec.sizes = attributeInts(attributes, "ksize");
    spec.strides = attributeInts(attributes, "strides");
    spec.dilations = attributeInts(attributes, "dilations");
    if (spec.dilations.empty()) spec.dilations.assign(static_cast<size_t>(rank), 1);
    spec.padding = attributeString(attributes, "padding", "VALID");
    if (spec.padding == "EXPLICIT") spec.explicitPadding = attributeInts(attributes, "explicit_paddings");
    return spec;
}

Result<TfWindows> TfWindows::over(const Shape& input, const TfLayout& layout, const TfWindowSpec& spec)
{
    const int rank = layout.spatial + 2;
    if (input.rank() != rank) return invalidArgument("input must be " + std::to_string(rank) + "-dimensional: " + toString(input));
    LS_CHECK_OK(checkList(spec.sizes, rank, "ksize"));
    LS_CHECK_OK(checkList(spec.strides, rank, "strides"));
    LS_CHECK_OK(checkList(spec.dilations, rank, "dilations"));
    if (spec.padding == "EXPLICIT" && (static_cast<int>(spec.explicitPadding.size()) != 2 * rank ||
                                       std::ranges::any_of(spec.explicitPadding, [](int64_t n) { return n < 0 || n > kLargest; })))
        return invalidArgument("explicit_paddings attribute must contain " + std::to_string(2 * rank) + " values that are >= 0");
    for (const int dim : {0, layout.channelDim()}) {
        const auto at = static_cast<size_t>(dim);
        if (spec.sizes[at] == 1 && spec.strides[at] == 1) continue;
        return tfError(TfCode::unimplemented,
                       std::string("Windows are not yet supported on the ") + (dim == 0 ? "batch" : "depth") + " dimension.");
    }
    TfWindows windows;
    windows.m_batches = input[0];
    windows.m_layout = layout;
    windows.m_axes[0].input = windows.m_axes[0].output = 1;
    for (int axis = 0; axis < layout.spatial; ++axis) {
        const int dim = layout.spatialDim(axis);
        LS_TRY(windows.m_axes[static_cast<size_t>(axis + 3 - layout.spatial)], placeAxis(spec, static_cast<size_t>(dim), input[dim]));
    }
    return windows;
}

Shape TfWindows::outputShape(int64_t channels) const
{
    const int64_t sizes[] = {m_axes[0].output, m_axes[1].output, m_axes[2].output};
    return m_layout.shape(m_batches, std::span(sizes).last(static_cast<size_t>(m_layout.spatial)), channels);
}

} // namespace loopscope
