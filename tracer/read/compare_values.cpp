#include "tracer/read/compare_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loopscope {

ValueDistance compareElements(StoredValue& a, const Quantization* qa, StoredValue& b, const Quantization* qb, const Tolerance& tolerance)
{
    Tensor ta = a.tensor(), tb = b.tensor();
    ta.quantization = qa;
    tb.quantization = qb;
    const Comparison c = compareTensors(ta, tb, tolerance, true);
    ValueDistance d;
    d.isWithin = c.equal;
    if (!c.mismatch.empty()) return d;
    d.maxAbs = c.maxAbs;
    d.maxRel = c.maxRel;
    d.cosine = c.cosine;
    if (c.maxUlp) d.ulp = static_cast<double>(*c.maxUlp);
    if (c.worst >= 0) {
        d.a = c.got;
        d.b = c.want;
        d.at = elementIndexText(a.shape, c.worst);
    }
    return d;
}

ValueDistance compareStatistics(const ViewedWrite& a, const ViewedWrite& b, const Tolerance& tolerance)
{
    ValueDistance d;
    d.fromStatistics = true;
    d.maxAbs = 0;
    if (a.lo == b.lo && a.hi == b.hi && a.mean == b.mean && a.std == b.std && a.zeros == b.zeros) return d;
    d.isWithin = tolerance.close.has_value();
    const auto compare = [&](std::optional<double> x, std::optional<double> y) {
        if (x == y) return;
        // A number on one side only: the other holds nothing but NaN and infinities.
        const double difference = x && y ? std::fabs(*x - *y) : std::numeric_limits<double>::infinity();
        if (!d.a || difference > *d.maxAbs) {
            d.maxAbs = difference;
            d.a = x;
            d.b = y;
        }
        if (tolerance.close && !(difference <= tolerance.close->atol + tolerance.close->rtol * std::fabs(y.value_or(0))))
            d.isWithin = false;
    };
    compare(realOf(a.lo), realOf(b.lo));
    compare(a.hi, b.hi);
    compare(a.mean, b.mean);
    return d;
}

} // namespace loopscope
