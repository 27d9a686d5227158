// How the elements of a tensor are spread, counted on the engine's thread. No widgets.
#pragma once

#include "engine/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace loopscope::viewer {

inline constexpr int64_t kMostSampled = 1'048'576;

struct Histogram {
    double low = 0, high = 0;
    bool exact = false; ///< one bar for each stored value, in order: integers from `low` on, or `values`
    bool clips = false; ///< quantized: at the first and the last bar values were cut off
    std::vector<int64_t> bins;
    std::vector<double> values; ///< of 8-bit floats: what each bar stands for; NaN last. Empty: integers
    int64_t nan = 0, positiveInf = 0, negativeInf = 0, denormal = 0;
    int64_t looked = 0, total = 0; ///< elements
};

/// What is counted: all elements, or of a sparse constant those that are stored.
struct Counted {
    const Tensor& tensor;
    const std::vector<int64_t>* places = nullptr; ///< flat indices; null: all

    int64_t count() const { return places != nullptr ? static_cast<int64_t>(places->size()) : tensor.elementCount(); }
    int64_t at(int64_t i) const { return places != nullptr ? (*places)[static_cast<size_t>(i)] : i; }
};

/// Exact bars where an element has at most 256 values (integers of up to 8 bits, of quantized values the stored ones, bool, 8-bit floats)
/// and for lengths of strings that lie that near, else 64 bins; of complex numbers the magnitude. Looks at most at `most` elements, spread
/// evenly.
Histogram histogramOf(const Counted& counted, int64_t most = kMostSampled);
inline Histogram histogramOf(const Tensor& tensor, int64_t most = kMostSampled) { return histogramOf(Counted{tensor}, most); }

/// A histogram of all elements, however many, made in parts.
struct HistogramScan {
    Histogram histogram;
    int64_t next = 0;    ///< element
    bool counts = false; ///< the range is known, bins are being filled
    bool done = false;
    double share() const; ///< of the work, 0 … 1
};
/// The next part: at most `elements` of them.
HistogramScan continueScan(HistogramScan scan, const Counted& counted, int64_t elements);

} // namespace loopscope::viewer
