// Kernels of TensorFlow's Fourier transforms: core/kernels/fft_ops.cc. All are calculated in f64.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/signal/fourier.h"
#include "engine/kernels/cpu/tf_support.h"

#include <bit>
#include <cmath>
#include <numbers>

using namespace loopscope;

namespace {

using Complex = std::complex<double>;

/// No transform by definition is longer: its time grows with the square. Powers of two are transformed fast.
constexpr int64_t kLongest = 1 << 14;

/// Transforms of one length, in either direction. The inverse divides by the length.
class Transform {
public:
    Transform(int64_t count, bool inverse) : m_count(count), m_inverse(inverse), m_line(static_cast<size_t>(count))
    {
        m_fast = count > 1 && std::has_single_bit(static_cast<uint64_t>(count));
        m_roots.resize(static_cast<size_t>(m_fast ? count / 2 : count));
        if (m_fast) fourierRoots(m_roots.data(), count);
        for (int64_t k = 0; k < count && !m_fast; ++k)
            m_roots[static_cast<size_t>(k)] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count));
    }

    /// `count` values that are `stride` apart, in place.
    void run(Complex* data, int64_t stride)
    {
        // The inverse is the conjugate of the transform of the conjugate.
        for (int64_t t = 0; t < m_count; ++t) at(t) = m_inverse ? std::conj(data[t * stride]) : data[t * stride];
        if (m_fast) {
            fourierTransform(m_line.data(), m_count, m_roots.data());
        } else {
            const std::vector<Complex> signal = m_line;
            for (int64_t f = 0; f < m_count; ++f) {
                interruptionPoint();
                Complex sum = 0;
                for (int64_t t = 0; t < m_count; ++t) sum += signal[static_cast<size_t>(t)] * m_roots[static_cast<size_t>(f * t % m_count)];
                at(f) = sum;
            }
        }
        for (int64_t t = 0; t < m_count; ++t) data[t * stride] = m_inverse ? std::conj(at(t)) / static_cast<double>(m_count) : at(t);
    }

private:
    Complex& at(int64_t t) { return m_line[static_cast<size_t>(t)]; }

    int64_t m_count;
    bool m_inverse, m_fast = false;
    std::vector<Complex> m_roots, m_line;
};

/// Along dimension d of an array of that shape.
void transformAlong(std::vector<Complex>& data, const Shape& shape, int d, bool inverse)
{
    Transform transform(shape[d], inverse);
    const int64_t stride = strideOf(shape, d);
    LoopPace pace;
    for (int64_t i = 0; i < shape.elementCount(); ++i) {
        pace.did(1);
        if (i / stride % shape[d] == 0) transform.run(data.data() + i, stride);
    }
}

Status checkLength(int64_t length)
{
    if (length <= kLongest || std::has_single_bit(static_cast<uint64_t>(length))) return {};
    return Error(ErrorCode::unsupported,
                 "a transform of " + std::to_string(length) + " values: beyond " + std::to_string(kLongest) + " only powers of two");
}

Status checkRank(const Shape& in, int rank)
{
    if (in.rank() >= rank) return {};
    return invalidArgument("Input must have rank of at least " + std::to_string(rank) + " but got: " + toString(in));
}

/// The last `rank` dimensions of a complex tensor.
template <int rank, bool inverse> Status runComplex(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_CHECK_OK(checkRank(in, rank));
    for (int d = in.rank() - rank; d < in.rank(); ++d) LS_CHECK_OK(checkLength(in[d]));
    LS_CHECK_OK(tfAllocate(args, 0, in));
    return forDType<TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<Complex> work(args.in(0).as<T>(), args.in(0).as<T>() + in.elementCount());
        for (int d = in.rank() - rank; d < in.rank(); ++d) transformAlong(work, in, d, inverse);
        for (size_t i = 0; i < work.size(); ++i) args.out(0).as<T>()[i] = static_cast<T>(work[i]);
        return {};
    });
}

/// The operand fft_length. Errors: InvalidArgument.
Result<Shape> lengthsOf(const KernelArgs& args, int rank)
{
    const std::vector<int64_t> lengths = tfIntegers(args.in(1));
    if (args.in(1).shape.rank() != 1 || lengths.size() != static_cast<size_t>(rank))
        return invalidArgument("fft_length must have shape [" + std::to_string(rank) + "]");
    for (size_t d = 0; d < lengths.size(); ++d) {
        if (lengths[d] < 0)
            return invalidArgument("fft_length[" + std::to_string(d) + "] must >= 0, but got: " + std::to_string(lengths[d]));
        LS_CHECK_OK(checkLength(lengths[d]));
    }
    return Shape(std::span<const int64_t>(lengths));
}

/// Dimension `d` of the input holds what is used of it.
Status checkReach(const Shape& in, int d, int64_t used)
{
    if (in[d] >= used) return {};
    return invalidArgument("Input dimension " + std::to_string(d) + " must have length of at least " + std::to_string(used) +
                           " but got: " + std::to_string(in[d]));
}

/// Half the spectrum of real signals that are cut to the lengths asked for.
template <int rank> Status runReal(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_CHECK_OK(checkRank(in, rank));
    LS_TRY(const Shape signal, lengthsOf(args, rank));
    for (int d = 0; d < rank; ++d) LS_CHECK_OK(checkReach(in, in.rank() - rank + d, signal[d]));
    Shape shape(in.dims().first(static_cast<size_t>(in.rank() - rank)));
    const int64_t batches = shape.elementCount();
    for (int d = 0; d < rank; ++d) shape.append(d + 1 == rank && signal[d] > 0 ? signal[d] / 2 + 1 : signal[d]);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t half = shape.back(), width = signal.back();
    const int64_t size = in.countOf(in.rank() - rank, in.rank());
    return forDType<TypeList<float, double>>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<Complex> work(static_cast<size_t>(signal.elementCount()));
        for (int64_t b = 0; b < batches && !work.empty(); ++b) {
            for (int64_t i = 0; i < signal.elementCount(); ++i) {
                int64_t from = b * size;
                for (int d = 0; d < rank; ++d) from += i / strideOf(signal, d) % signal[d] * strideOf(in, in.rank() - rank + d);
                work[static_cast<size_t>(i)] = Complex(args.in(0).as<T>()[from]);
            }
            for (int d = 0; d < rank; ++d) transformAlong(work, signal, d, false);
            const int64_t rows = signal.elementCount() / width;
            for (int64_t row = 0; row < rows; ++row)
                for (int64_t f = 0; f < half; ++f)
                    args.out(0).as<std::complex<T>>()[(b * rows + row) * half + f] =
                        static_cast<std::complex<T>>(work[static_cast<size_t>(row * width + f)]);
        }
        return {};
    });
}

/// Real signals of half a spectrum.
template <int rank> Status runInverseReal(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_CHECK_OK(checkRank(in, rank));
    LS_TRY(const Shape signal, lengthsOf(args, rank));
    Shape spectrum; // what of the input is used, along the last dimensions
    for (int d = 0; d < rank; ++d) {
        spectrum.append(d + 1 == rank && signal[d] > 0 ? signal[d] / 2 + 1 : signal[d]);
        LS_CHECK_OK(checkReach(in, in.rank() - rank + d, spectrum[d]));
    }
    Shape shape(in.dims().first(static_cast<size_t>(in.rank() - rank)));
    const int64_t batches = shape.elementCount();
    for (const int64_t length : signal.dims()) shape.append(length);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t width = signal.back();
    const int64_t half = spectrum.back();
    const int64_t inputSize = in.countOf(in.rank() - rank, in.rank());
    return forDType<TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using Real = typename T::value_type;
        std::vector<Complex> work(static_cast<size_t>(spectrum.elementCount())), line(static_cast<size_t>(width));
        Transform transform(width, true);
        for (int64_t b = 0; b < batches && signal.elementCount() > 0; ++b) {
            for (int64_t i = 0; i < spectrum.elementCount(); ++i) {
                int64_t from = b * inputSize;
                for (int d = 0; d < rank; ++d) from += i / strideOf(spectrum, d) % spectrum[d] * strideOf(in, in.rank() - rank + d);
                work[static_cast<size_t>(i)] = Complex(args.in(0).as<T>()[from]);
            }
            for (int d = 0; d + 1 < rank; ++d) transformAlong(work, spectrum, d, true); // complex along all dimensions but the last
            const int64_t rows = spectrum.elementCount() / half;
            for (int64_t row = 0; row < rows; ++row) {
                const Complex* x = work.data() + row * half;
                for (int64_t f = 0; f < width; ++f) // the other half is the conjugate of this one; what is its own conjugate is real
                    line[static_cast<size_t>(f)] = 2 * f == width || f == 0 ? x[f].real() : f < half ? x[f] : std::conj(x[width - f]);
                transform.run(line.data(), 1);
                for (int64_t t = 0; t < width; ++t)
                    args.out(0).as<Real>()[(b * rows + row) * width + t] = static_cast<Real>(line[static_cast<size_t>(t)].real());
            }
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(FFT, (runComplex<1, false>), "c64 c128")
LS_TF_KERNEL(FFT2D, (runComplex<2, false>), "c64 c128")
LS_TF_KERNEL(FFT3D, (runComplex<3, false>), "c64 c128")
LS_TF_KERNEL(IFFT, (runComplex<1, true>), "c64 c128")
LS_TF_KERNEL(IFFT2D, (runComplex<2, true>), "c64 c128")
LS_TF_KERNEL(IFFT3D, (runComplex<3, true>), "c64 c128")
LS_TF_KERNEL(RFFT, runReal<1>, "f32 f64")
LS_TF_KERNEL(RFFT2D, runReal<2>, "f32 f64")
LS_TF_KERNEL(RFFT3D, runReal<3>, "f32 f64")
LS_TF_KERNEL(IRFFT, runInverseReal<1>, "c64 c128")
LS_TF_KERNEL(IRFFT2D, runInverseReal<2>, "c64 c128")
LS_TF_KERNEL(IRFFT3D, runInverseReal<3>, "c64 c128")
