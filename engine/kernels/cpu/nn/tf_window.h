// Where the windows of TensorFlow's convolutions and pooling lie, over two or three spatial dimensions and in either order of the channels.
#pragma once

#include "engine/base/interruption.h"
#include "engine/kernels/cpu/nn/conv_window.h"
#include "engine/kernels/cpu/tf_support.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace loopscope {

/// How a tensor's dimensions are meant: NHWC, NCHW, NDHWC or NCDHW.
struct TfLayout {
    int spatial = 2;
    bool channelsFirst = false;

    int channelDim() const { return channelsFirst ? 1 : spatial + 1; }
    int spatialDim(int axis) const { return axis + (channelsFirst ? 2 : 1); }
    Shape shape(int64_t batches, std::span<const int64_t> sizes, int64_t channels) const;
    /// Elements from one channel of a pixel to the next.
    int64_t channelStep(const Shape& shape) const { return strideOf(shape, channelDim()); }
};

/// The attribute data_format. Errors: InvalidArgument on one that is none of a tensor with that many spatial dimensions.
Result<TfLayout> tfLayout(const KernelArgs& args, int spatial);

/// Sizes, steps and padding of windows, one entry for each dimension of the input.
struct TfWindowSpec {
    std::vector<int64_t> sizes, strides, dilations;
    std::string_view padding = "VALID";
    std::vector<int64_t> explicitPadding; ///< before and behind, for each dimension
};

/// From the attributes strides, dilations, padding, explicit_paddings and, for pooling, ksize; as the file has them.
TfWindowSpec tfWindowSpec(const KernelArgs& args, int rank);

/// Windows over the pixels of an input with their place in its elements and in those of the result.
class TfWindows {
public:
    /// Errors: InvalidArgument in TensorFlow's words, also where the specification is none.
    static Result<TfWindows> over(const Shape& input, const TfLayout& layout, const TfWindowSpec& spec);

    int64_t batches() const { return m_batches; }
    int64_t count() const { return m_batches * m_axes[0].output * m_axes[1].output * m_axes[2].output; }
    /// The result's shape with so many channels.
    Shape outputShape(int64_t channels) const;
    const TfLayout& layout() const { return m_layout; }

    /// Calls visit(in, out, tap) for every tap that lies inside: the element of channel 0 of a pixel of an input with `inChannels` channels
    /// and of a result with `outChannels`, and the tap counted over the whole window.
    template <typename F> void forEach(int64_t inChannels, int64_t outChannels, F&& visit) const
    {
        const int64_t inArea = m_axes[0].input * m_axes[1].input * m_axes[2].input;
        const int64_t outArea = m_axes[0].output * m_axes[1].output * m_axes[2].output;
        const bool first = m_layout.channelsFirst;
        int64_t out = 0;
        for (int64_t n = 0; n < m_batches; ++n) {
            const int64_t inBase = n * inArea * inChannels, outBase = n * outArea * outChannels;
            out = 0;
            for (int64_t z = 0; z < m_axes[0].output; ++z)
                for (int64_t y = 0; y < m_axes[1].output; ++y)
                    for (int64_t x = 0; x < m_axes[2].output; ++x, ++out) {
                        const TapRange slices = m_axes[0].taps(z), rows = m_axes[1].taps(y), columns = m_axes[2].taps(x);
                        for (int64_t kz = slices.first; kz < slices.last; ++kz)
                            for (int64_t ky = rows.first; ky < rows.last; ++ky) {
                                interruptionPoint();
                                for (int64_t kx = columns.first; kx < columns.last; ++kx) {
                                    const int64_t pixel = ((m_axes[0].origin(z) + kz * m_axes[0].dilation) * m_axes[1].input +
                                                           m_axes[1].origin(y) + ky * m_axes[1].dilation) *
                                                              m_axes[2].input +
                                                          m_axes[2].origin(x) + kx * m_axes[2].dilation;
                                    visit(inBase + pixel * (first ? 1 : inChannels), outBase + out * (first ? 1 : outChannels),
                                          (kz * m_axes[1].filter + ky) * m_axes[2].filter + kx);
                                }
                            }
                    }
        }
    }

private:
    int64_t m_batches = 0;
    TfLayout m_layout;
    std::array<PlacedAxis, 3> m_axes; ///< depth (one slice in pictures), height, width
};

/// Result `k` becomes `sums`, rounded to its dtype.
template <typename T> void tfStore(const KernelArgs& args, int k, const std::vector<double>& sums)
{
    for (size_t i = 0; i < sums.size(); ++i) args.out(k).as<T>()[i] = Element<T>::store(static_cast<typename Element<T>::Compute>(sums[i]));
}

} // namespace loopscope
