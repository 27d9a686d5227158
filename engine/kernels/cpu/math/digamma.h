// The derivative of log Γ in f64.
#pragma once

namespace loopscope {

/// ψ(x): moved to x ≥ 10 by ψ(x) = ψ(x + 1) − 1/x, then the asymptotic series; reflected below 0 (core/kernels/cwise_op_digamma.cc; the
/// series is that of Abramowitz and Stegun, 6.3.18). NaN at 0, −1, −2, …
double digammaOf(double x);

} // namespace loopscope
