// Functions of one f32 as Eigen's vector code computes them, without fused multiply-add: TensorFlow's kernels and some of LiteRT's give
// these bits, which are up to 7 ulp away from the C library's. The algorithms and coefficients are those of Eigen's published
// GenericPacketMathFunctions.h, SpecialFunctionsImpl.h and BesselFunctionsImpl.h (2025); one element at a time, as every lane does.
#pragma once

#include <cstdint>

namespace loopscope::eigen {

float exp(float x);
float log(float x);
float log1p(float x);
float expm1(float x);
float sin(float x);
float cos(float x);
float asin(float x);
float acos(float x);
float atan(float x);
float atanh(float x);
float tanh(float x); ///< vectors and single elements alike
float erf(float x);  ///< vectors and single elements alike
float erfc(float x);
float logistic(float x);
float besselI0e(float x);
float besselI1e(float x);

/// The same formula as erfc, with the C library's exp: what a single element gets.
float scalarErfc(float x);
float scalarLogistic(float x);
float digamma(float x);

/// Elements that a vector of TensorFlow's build (AVX) holds: of n elements the last n mod 8 are computed one by one, with the C library.
inline constexpr int64_t kPacket = 8;

} // namespace loopscope::eigen
