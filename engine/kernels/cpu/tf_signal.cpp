// Kernels of TensorFlow's transforms of signals and pictures, and of matrices with given diagonals: core/kernels/fft_ops.cc,
// adjust_hsv_gpu.cu.h, matrix_diag_op.cc.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

using namespace loopscope;

namespace {

using Complex = std::complex<double>;

/// The inverse transform of `count` values that are `stride` apart, in place and by its definition.
void inverseTransform(Complex* data, int64_t count, int64_t stride, std::vector<Complex>& line)
{
    line.resize(static_cast<size_t>(count));
    for (int64_t t = 0; t < count; ++t) {
        Complex sum = 0;
        for (int64_t f = 0; f < count; ++f) sum += data[f * stride] * std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(f * t % count) / static_cast<double>(count));
        line[static_cast<size_t>(t)] = sum / static_cast<double>(count);
    }
    for (int64_t t = 0; t < count; ++t) data[t * stride] = line[static_cast<size_t>(t)];
}

/// No transform by definition is longer: its time grows with the square.
constexpr int64_t kLongest = 1 << 14;

template <int rank> Status runInverseReal(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    const std::vector<int64_t> lengths = tfIntegers(args.in(1));
    if (in.rank() < rank) return invalidArgument("Input must have rank of at least " + std::to_string(rank) + " but got: " + toString(in));
    if (lengths.size() != static_cast<size_t>(rank)) return invalidArgument("fft_length must have shape [" + std::to_string(rank) + "]");
    Shape spectrum; // what of the input is used, along the last dimensions
    for (int d = 0; d < rank; ++d) {
        const int64_t length = lengths[static_cast<size_t>(d)];
        if (length < 0) return invalidArgument("fft_length[" + std::to_string(d) + "] must >= 0, but got: " + std::to_string(length));
        if (length > kLongest) return Error(ErrorCode::unsupported, "a transform of more than " + std::to_string(kLongest) + " values");
        spectrum.append(d + 1 == rank && length > 0 ? length / 2 + 1 : length);
        if (in[in.rank() - rank + d] < spectrum[d])
            return invalidArgument("Input dimension " + std::to_string(in.rank() - rank + d) + " must have length of at least " +
                                   std::to_string(spectrum[d]) + " but got: " + std::to_string(in[in.rank() - rank + d]));
    }
    Shape shape(in.dims().first(static_cast<size_t>(in.rank() - rank)));
    const int64_t batches = shape.elementCount();
    for (const int64_t length : lengths) shape.append(length);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const Shape signal{std::span<const int64_t>(lengths)};
    const int64_t width = signal.back();
    const int64_t half = spectrum.back();
    const int64_t inputSize = in.countOf(in.rank() - rank, in.rank());
    return forDType<TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using Real = typename T::value_type;
        std::vector<Complex> work(static_cast<size_t>(spectrum.elementCount()));
        std::vector<Complex> line;
        for (int64_t b = 0; b < batches && signal.elementCount() > 0; ++b) {
            for (int64_t i = 0; i < spectrum.elementCount(); ++i) {
                int64_t from = b * inputSize;
                for (int d = 0; d < rank; ++d) from += i / strideOf(spectrum, d) % spectrum[d] * strideOf(in, in.rank() - rank + d);
                work[static_cast<size_t>(i)] = Complex(args.in(0).as<T>()[from]);
            }
            for (int d = 0; d + 1 < rank; ++d) // complex along all dimensions but the last
                for (int64_t i = 0; i < spectrum.elementCount(); ++i)
                    if (i / strideOf(spectrum, d) % spectrum[d] == 0) inverseTransform(work.data() + i, spectrum[d], strideOf(spectrum, d), line);
            for (int64_t row = 0; row < spectrum.elementCount() / half; ++row)
                for (int64_t t = 0; t < width; ++t) { // the other half is the conjugate of this one
                    const Complex* x = work.data() + row * half;
                    double sum = x[0].real();
                    for (int64_t f = 1; f < half; ++f) {
                        const double weight = 2 * f == width ? 1 : 2;
                        sum += weight * (x[f] * std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(f * t % width) / static_cast<double>(width))).real();
                    }
                    args.out(0).as<Real>()[(b * spectrum.elementCount() / half + row) * width + t] = static_cast<Real>(sum / static_cast<double>(width));
                }
        }
        return {};
    });
}

/// Hue in sixths of a turn from 0 to 6, saturation and value.
std::array<float, 3> toHsv(float r, float g, float b)
{
    const float value = std::max({r, g, b});
    const float range = value - std::min({r, g, b});
    float hue = 0;
    if (range > 0) {
        if (r == value) hue = (g - b) / range;
        else if (g == value) hue = (b - r) / range + 2;
        else hue = (r - g) / range + 4;
        if (hue < 0) hue += 6;
    }
    return {hue, value > 0 ? range / value : 0, value};
}

std::array<float, 3> toRgb(float hue, float saturation, float value)
{
    const float chroma = saturation * value;
    const float least = value - chroma;
    const auto channel = [&](float offset) { // how much of the range this colour has at that hue
        float h = std::fmod(hue + offset, 6.0F);
        if (h < 0) h += 6;
        return least + chroma * std::clamp(std::min(h, 4 - h), 0.0F, 1.0F);
    };
    return {channel(2), channel(0), channel(4)};
}

template <bool turnsHue> Status runAdjust(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 3 || shape.back() != 3) return invalidArgument("input must have 3 channels but instead has shape " + toString(shape));
    if (args.in(1).elementCount() != 1) return invalidArgument("delta must be scalar: " + toString(args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const float amount = *args.in(1).as<float>();
    return forDType<TypeList<float, Half>>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* in = args.in(0).as<T>();
        T* out = args.out(0).as<T>();
        for (int64_t i = 0, n = shape.elementCount(); i < n; i += 3) {
            std::array<float, 3> hsv = toHsv(Element<T>::load(in[i]), Element<T>::load(in[i + 1]), Element<T>::load(in[i + 2]));
            if (turnsHue) hsv[0] += amount * 6;
            else hsv[1] = std::clamp(hsv[1] * amount, 0.0F, 1.0F);
            const std::array<float, 3> rgb = toRgb(hsv[0], hsv[1], hsv[2]);
            for (int64_t c = 0; c < 3; ++c) out[i + c] = Element<T>::store(rgb[static_cast<size_t>(c)]);
        }
        return {};
    });
}

Status runMatrixDiag(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    if (in.rank() < 1) return invalidArgument("diagonal must be at least 1-dim, received shape: []");
    const std::vector<int64_t> band = tfIntegers(args.in(1));
    if (band.empty() || band.size() > 2) return invalidArgument("diag_index must have one or two elements, received " + std::to_string(band.size()) + " elements.");
    const int64_t low = band[0];
    const int64_t high = band.back();
    if (low > high) return invalidArgument("lower_diag_index must not be larger than upper_diag_index: " + std::to_string(low) + " > " + std::to_string(high));
    const int64_t diagonals = high - low + 1;
    const bool stacked = diagonals > 1;
    if (stacked && (in.rank() < 2 || in[in.rank() - 2] != diagonals))
        return invalidArgument("The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range.");
    const int64_t longest = in.back();
    const int64_t leastRows = longest - std::min<int64_t>(high, 0);
    const int64_t leastColumns = longest + std::max<int64_t>(low, 0);
    LS_TRY(int64_t rows, tfInteger(args, 2, "num_rows"));
    LS_TRY(int64_t columns, tfInteger(args, 3, "num_cols"));
    if (rows == -1 && columns == -1) rows = columns = std::max(leastRows, leastColumns);
    else if (rows == -1) rows = leastRows;
    else if (columns == -1) columns = leastColumns;
    if (rows < leastRows || columns < leastColumns || (rows != leastRows && columns != leastColumns))
        return invalidArgument("The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
    Shape shape(in.dims().first(static_cast<size_t>(in.rank() - (stacked ? 2 : 1))));
    const int64_t batches = shape.elementCount();
    shape.append(rows);
    shape.append(columns);
    const std::string_view align = attributeString(attributesOf(args), "align", "RIGHT_LEFT");
    const bool superLeft = align.starts_with("LEFT");
    const bool subLeft = align.ends_with("LEFT");
    LS_TRY(const TfSource diagonal, TfSource::of(args.in(0)));
    LS_TRY(const TfSource padding, TfSource::of(args.in(4)));
    if (args.in(4).elementCount() != 1) return invalidArgument("padding_value must be a scalar");
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) {
                const int64_t d = c - r;
                const std::byte* from = padding.at(0);
                if (d >= low && d <= high) {
                    const int64_t length = std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
                    const bool left = (d >= 0 && superLeft) || (d <= 0 && subLeft);
                    const int64_t at = std::min(r, c) + (left ? 0 : longest - length);
                    from = diagonal.at((b * diagonals + high - d) * longest + at);
                }
                std::memcpy(out.at((b * rows + r) * columns + c), from, static_cast<size_t>(padding.size()));
            }
    return out.finish();
}

} // namespace

LS_TF_KERNEL(IRFFT, runInverseReal<1>, "c64 c128")
LS_TF_KERNEL(IRFFT2D, runInverseReal<2>, "c64 c128")
LS_TF_KERNEL(IRFFT3D, runInverseReal<3>, "c64 c128")
LS_TF_KERNEL(AdjustHue, runAdjust<true>, "f32 f16")
LS_TF_KERNEL(AdjustSaturation, runAdjust<false>, "f32 f16")
LS_TF_KERNEL(MatrixDiagV3, runMatrixDiag, kAllDTypes)
