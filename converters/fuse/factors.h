// Products and sums as what they are made of, whatever the order and the operators they are written with: x / √y, x · rsqrt(y) and
// (1 / √y) · x have the same factors; 3 + x and x − (−3) the same terms.
#pragma once

#include "converters/fuse/site.h"

#include <vector>

namespace loopscope::fusing {

/// A value to the power of half of `halves`: 2 the value, 4 its square, −2 its inverse, 1 its root.
struct Factor {
    ValueId value;
    int halves = 2;
};

struct Factors {
    double scale = 1; ///< constants of one number
    std::vector<Factor> factors;
    std::vector<OperatorId> ops; ///< outer ones first
};

struct Terms {
    double constant = 0;
    std::vector<ValueId> constants; ///< that make it up
    std::vector<Factors> terms;     ///< each with its own scale
    std::vector<OperatorId> ops;
};

/// What is inside stays whole where somebody else reads it, and when there are `wanted` factors (the powers of one value counted) or terms.
Factors factorsOf(Site& site, OperatorId root, int wanted);
Terms termsOf(Site& site, OperatorId root, int wanted);

/// Whether `op` can be the outermost of a product, or of a sum.
bool isProductKind(const Operator& op);
bool isSumKind(const Operator& op);

} // namespace loopscope::fusing
