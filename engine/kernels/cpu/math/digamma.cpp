#include "engine/kernels/cpu/math/digamma.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace loopscope {

double digammaOf(double x)
{
    double sum = 0;
    if (x <= 0) {
        if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
        sum = -std::numbers::pi / std::tan(std::numbers::pi * x);
        x = 1 - x;
    }
    for (; x < 10; ++x) sum -= 1 / x;
    const double s = 1 / (x * x);
    return sum + std::log(x) - 0.5 / x -
           s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * 691.0 / 32760)))));
}

} // namespace loopscope
