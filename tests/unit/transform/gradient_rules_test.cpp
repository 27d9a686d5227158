// One test for all rules: for each operator that has a gradient rule a graph of that operator alone is differentiated, and the gradient is
// held against difference quotients. An operator with a rule and without a line here fails the test.
#include "converters/lsir/lsir.h"
#include "engine/transform/gradient/gradient_rules.h"
#include "engine/transform/gradient/model_gradient.h"
#include "engine/transform/run_selection.h"
#include "tests/unit/transform/number_graph.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace loopscope::testing {
namespace {

/// `nodes` compute r of the placeholders a and b (f64); `KIND` stands for the operator.
struct RuleCase {
    const char* kinds; ///< apart by blanks
    Shape a, b;
    const char* nodes;
    double low = 0.2, high = 0.9; ///< range of the elements of a
};

// clang-format off
const char* const kUnary = "  r0 = KIND(a) T=f64 : f64\n  r = Mul(r0, b) T=f64 : f64";
const char* const kBinary = "  r = KIND(a, b) T=f64 : f64";
/// As operator of (a, constant i32 list c) with c as given.
#define LS_LIST(values, count) "  c = Const() dtype=i32 value=i32[" count "] [" values "] : i32\n"
#define LS_NUMBER(name, value) "  " name " = Const() dtype=i32 value=i32[] " value " : i32\n"
#define LS_EMPTY_LIST LS_NUMBER("m", "-1") "  e = EmptyTensorList(m, m) element_dtype=f64 shape_type=i32 : variant\n"

const RuleCase kCases[] = {
    {"Identity Snapshot EnsureShape CheckNumerics Abs Neg Inv Reciprocal Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh "
     "Asinh Atanh Erf Erfc Erfinv Ndtri Lgamma Digamma BesselI0 BesselI0e BesselI1 BesselI1e Sigmoid Sign Relu Relu6 LeakyRelu Elu Selu Softplus Softsign "
     "Softmax LogSoftmax Cast PlaceholderWithDefault", Shape({2, 3}), Shape({3}), kUnary},
    {"Acosh", Shape({2}), Shape({2}), kUnary, 1.2, 2},
    {"Add AddV2 Sub Mul Div RealDiv DivNoNan MulNoNan SquaredDifference Pow Maximum Minimum Atan2 Xdivy Xlogy Xlog1py Mod FloorMod TruncateMod", Shape({2, 3}), Shape({3}), kBinary},
    {"NextAfter", Shape({3}), Shape({3}), "  n = Neg(b) T=f64 : f64\n  r = NextAfter(a, n) T=f64 : f64"},
    {"Polygamma Zeta", Shape({2}), Shape({2}), "  two = Const() dtype=f64 value=f64[] 2.0 : f64\n  r0 = KIND(two, a) T=f64 : f64\n  r = Mul(r0, b) T=f64 : f64"},
    {"Betainc", Shape({2}), Shape({2}), "  two = Const() dtype=f64 value=f64[] 2.0 : f64\n  r0 = Betainc(two, two, a) T=f64 : f64\n  r = Mul(r0, b) T=f64 : f64"},
    {"Igamma Igammac", Shape({2}), Shape({2}), "  two = Const() dtype=f64 value=f64[] 2.0 : f64\n  r0 = KIND(two, a) T=f64 : f64\n  r = Mul(r0, b) T=f64 : f64"},
    {"TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad ReluGrad Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad", Shape({2, 3}), Shape({2, 3}), kBinary},
    {"EluGrad SeluGrad", Shape({2, 3}), Shape({2, 3}), "  n = Neg(b) T=f64 : f64\n  r = KIND(a, n) T=f64 : f64"},
    {"IdentityN", Shape({2}), Shape({3}), "  i = IdentityN(a, b) T=[f64, f64] : (f64, f64)\n  r1 = Square(i) T=f64 : f64\n  z = Const() dtype=i32 value=i32[1] [0] : i32\n  r2 = Sum(r1, z) T=f64 Tidx=i32 keep_dims=false : f64\n  r = Mul(r2, i:1) T=f64 : f64"},
    {"AddN AccumulateNV2", Shape({2}), Shape({2}), "  s = Square(a) T=f64 : f64\n  r = KIND(a, s, b) N=3 T=f64 shape=shape[2] : f64"},
    {"Select", Shape({2}), Shape({2}), "  p = Const() dtype=bool value=bool[2] [true, false] : bool\n  r = Select(p, a, b) T=f64 : f64"},
    {"SelectV2", Shape({2, 2}), Shape({2}), "  p = Const() dtype=bool value=bool[2] [true, false] : bool\n  r = SelectV2(p, a, b) T=f64 : f64"},
    {"Complex Real Imag Conj", Shape({2}), Shape({2}), "  c = Complex(a, b) T=f64 Tout=c128 : c128\n  j = Conj(c) T=c128 : c128\n  p = Mul(c, c) T=c128 : c128\n  q = Mul(p, j) T=c128 : c128\n  re = Real(q) T=c128 Tout=f64 : f64\n  im = Imag(q) T=c128 Tout=f64 : f64\n  r = Mul(re, im) T=f64 : f64"},
    {"ComplexAbs Angle", Shape({2}), Shape({2}), "  c = Complex(a, b) T=f64 Tout=c128 : c128\n  r = KIND(c) T=c128 Tout=f64 : f64"},
    {"FFT IFFT", Shape({4}), Shape({4}), "  c = Complex(a, b) T=f64 Tout=c128 : c128\n  f = KIND(c) Tcomplex=c128 : c128\n  q = Mul(f, f) T=c128 : c128\n  r = Real(q) T=c128 Tout=f64 : f64"},
    {"FFT2D IFFT2D", Shape({2, 2}), Shape({2, 2}), "  c = Complex(a, b) T=f64 Tout=c128 : c128\n  f = KIND(c) Tcomplex=c128 : c128\n  q = Mul(f, f) T=c128 : c128\n  r = Real(q) T=c128 Tout=f64 : f64"},
    {"FFT3D IFFT3D", Shape({2, 1, 2}), Shape({2, 1, 2}), "  c = Complex(a, b) T=f64 Tout=c128 : c128\n  f = KIND(c) Tcomplex=c128 : c128\n  q = Mul(f, f) T=c128 : c128\n  r = Real(q) T=c128 Tout=f64 : f64"},
    {"RFFT", Shape({4}), Shape(), LS_LIST("4", "1") "  f = RFFT(a, c) Tcomplex=c128 Treal=f64 : c128\n  q = Mul(f, f) T=c128 : c128\n  y = Real(q) T=c128 Tout=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"RFFT", Shape({2, 5}), Shape(), LS_LIST("5", "1") "  f = RFFT(a, c) Tcomplex=c128 Treal=f64 : c128\n  q = Mul(f, f) T=c128 : c128\n  y = Real(q) T=c128 Tout=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"RFFT", Shape({4}), Shape(), LS_LIST("3", "1") "  f = RFFT(a, c) Tcomplex=c128 Treal=f64 : c128\n  q = Mul(f, f) T=c128 : c128\n  y = Real(q) T=c128 Tout=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"RFFT2D", Shape({2, 4}), Shape(), LS_LIST("2, 4", "2") "  f = RFFT2D(a, c) Tcomplex=c128 Treal=f64 : c128\n  q = Mul(f, f) T=c128 : c128\n  y = Real(q) T=c128 Tout=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"RFFT3D", Shape({2, 1, 4}), Shape(), LS_LIST("2, 1, 4", "3") "  f = RFFT3D(a, c) Tcomplex=c128 Treal=f64 : c128\n  q = Mul(f, f) T=c128 : c128\n  y = Real(q) T=c128 Tout=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"IRFFT", Shape({3}), Shape({3}), "  z = Complex(a, b) T=f64 Tout=c128 : c128\n" LS_LIST("4", "1") "  y = IRFFT(z, c) Tcomplex=c128 Treal=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"IRFFT", Shape({2, 3}), Shape({2, 3}), "  z = Complex(a, b) T=f64 Tout=c128 : c128\n" LS_LIST("5", "1") "  y = IRFFT(z, c) Tcomplex=c128 Treal=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"IRFFT", Shape({4}), Shape({4}), "  z = Complex(a, b) T=f64 Tout=c128 : c128\n" LS_LIST("6", "1") "  y = IRFFT(z, c) Tcomplex=c128 Treal=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"IRFFT", Shape({4}), Shape({4}), "  z = Complex(a, b) T=f64 Tout=c128 : c128\n" LS_LIST("3", "1") "  y = IRFFT(z, c) Tcomplex=c128 Treal=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"IRFFT2D", Shape({2, 3}), Shape({2, 3}), "  z = Complex(a, b) T=f64 Tout=c128 : c128\n" LS_LIST("2, 4", "2") "  y = IRFFT2D(z, c) Tcomplex=c128 Treal=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"IRFFT3D", Shape({2, 1, 3}), Shape({2, 1, 3}), "  z = Complex(a, b) T=f64 Tout=c128 : c128\n" LS_LIST("2, 1, 4", "3") "  y = IRFFT3D(z, c) Tcomplex=c128 Treal=f64 : f64\n  r = Square(y) T=f64 : f64"},

    {"Sum Mean Max Min Prod EuclideanNorm", Shape({2, 3}), Shape({3}), LS_LIST("-1", "1") "  y = Mul(a, b) T=f64 : f64\n  r = KIND(y, c) T=f64 Tidx=i32 keep_dims=false : f64"},
    {"Cumsum Cumprod CumulativeLogsumexp", Shape({2, 3}), Shape({2, 3}), LS_NUMBER("c", "1") "  y = KIND(a, c) T=f64 Tidx=i32 exclusive=false reverse=true : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"L2Loss", Shape({4}), Shape(), "  y = L2Loss(a) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"SegmentSum SegmentMean SegmentMax SegmentMin SegmentProd", Shape({4, 2}), Shape({2}), LS_LIST("0, 0, 1, 1", "4") "  y = KIND(a, c) T=f64 Tindices=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd", Shape({4, 2}), Shape({2}), LS_LIST("1, -1, 0, 1", "4") LS_NUMBER("n", "2") "  y = KIND(a, c, n) T=f64 Tindices=i32 Tnumsegments=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"SegmentProd", Shape({4, 2}), Shape({2}), LS_LIST("0, 1, 1, 2", "4") "  k = Const() dtype=f64 value=f64[4,2] [0.0, 1.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0] : f64\n  z = AddV2(a, k) T=f64 : f64\n" "  y = SegmentProd(z, c) T=f64 Tindices=i32 : f64\n  r = Mul(y, b) T=f64 : f64", 0, 0},
    {"UnsortedSegmentProd", Shape({4, 2}), Shape({2}), LS_LIST("1, 2, 2, -1", "4") LS_NUMBER("n", "3") "  k = Const() dtype=f64 value=f64[4,2] [0.0, 1.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0] : f64\n  z = AddV2(a, k) T=f64 : f64\n" "  y = UnsortedSegmentProd(z, c, n) T=f64 Tindices=i32 Tnumsegments=i32 : f64\n  r = Mul(y, b) T=f64 : f64", 0, 0},

    {"MatMul", Shape({2, 3}), Shape({3, 2}), "  r = MatMul(a, b) T=f64 transpose_a=false transpose_b=false : f64"},
    {"BatchMatMul BatchMatMulV2", Shape({2, 2, 3}), Shape({2, 3, 2}), "  r = KIND(a, b) T=f64 adj_x=false adj_y=false : f64"},
    {"BatchMatMulV3", Shape({2, 2, 3}), Shape({3, 2}), "  r = BatchMatMulV3(a, b) Ta=f64 Tb=f64 Tout=f64 adj_x=false adj_y=false : f64"},
    {"Einsum", Shape({2, 3}), Shape({3, 2}), "  r = Einsum(a, b) N=2 T=f64 equation=\"ij,jk->ki\" : f64"},
    {"Einsum", Shape({2, 2}), Shape({2, 3}), "  r = Einsum(a, b) N=2 T=f64 equation=\"ii,jk->k\" : f64"},
    {"Einsum", Shape({2, 3}), Shape({4, 3}), "  r = Einsum(a, b) N=2 T=f64 equation=\"ij,kj->k\" : f64"},
    {"Einsum", Shape({2, 2, 3}), Shape({3, 2}), "  r = Einsum(a, b) N=2 T=f64 equation=\"...ij,jk->...ik\" : f64"},
    {"Einsum", Shape({2, 1, 2, 3}), Shape({2, 3, 2}), "  r = Einsum(a, b) N=2 T=f64 equation=\"...ij,...jk->...ki\" : f64"},
    {"Einsum", Shape({2, 2}), Shape(), "  y = Einsum(a) N=1 T=f64 equation=\"ii->\" : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"Einsum", Shape({2, 2}), Shape({2}), "  y = Einsum(a) N=1 T=f64 equation=\"ii->i\" : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"Einsum", Shape({2, 3}), Shape({3}), "  y = Einsum(a) N=1 T=f64 equation=\"ij->j\" : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"Einsum", Shape({2, 2, 3}), Shape({2}), "  y = Einsum(a) N=1 T=f64 equation=\"...ij->...\" : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"Cross", Shape({2, 3}), Shape({2, 3}), kBinary},
    {"MatrixInverse", Shape({2, 2}), Shape({2, 2}), "  one = Const() dtype=f64 value=f64[2,2] [2.0, 0.0, 0.0, 3.0] : f64\n  m = AddV2(a, one) T=f64 : f64\n  y = MatrixInverse(m) T=f64 adjoint=false : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MatrixDeterminant", Shape({2, 2}), Shape(), "  one = Const() dtype=f64 value=f64[2,2] [2.0, 0.0, 0.0, 3.0] : f64\n  m = AddV2(a, one) T=f64 : f64\n  y = MatrixDeterminant(m) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"LogMatrixDeterminant", Shape({2, 2}), Shape(), "  one = Const() dtype=f64 value=f64[2,2] [2.0, 0.0, 0.0, 3.0] : f64\n  m = AddV2(a, one) T=f64 : f64\n  y = LogMatrixDeterminant(m) T=f64 : (f64, f64)\n  r = Mul(y:1, b) T=f64 : f64"},
    {"Cholesky", Shape({2, 2}), Shape({2, 2}), "  one = Const() dtype=f64 value=f64[2,2] [2.0, 0.0, 0.0, 3.0] : f64\n  q = MatMul(a, a) T=f64 transpose_a=false transpose_b=true : f64\n  m = AddV2(q, one) T=f64 : f64\n  y = Cholesky(m) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MatrixSolve", Shape({2, 2}), Shape({2, 2}), "  one = Const() dtype=f64 value=f64[2,2] [2.0, 0.0, 0.0, 3.0] : f64\n  m = AddV2(a, one) T=f64 : f64\n  r = MatrixSolve(m, b) T=f64 adjoint=false : f64"},
    {"MatrixTriangularSolve", Shape({2, 2}), Shape({2, 2}), "  one = Const() dtype=f64 value=f64[2,2] [2.0, 0.0, 0.0, 3.0] : f64\n  m = AddV2(a, one) T=f64 : f64\n  r = MatrixTriangularSolve(m, b) T=f64 adjoint=false lower=true : f64"},

    {"Reshape", Shape({2, 3}), Shape({2}), LS_LIST("3, 2", "2") "  y = Reshape(a, c) T=f64 Tshape=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Squeeze", Shape({2, 1}), Shape({2}), "  y = Squeeze(a) T=f64 squeeze_dims=[1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"ExpandDims", Shape({2}), Shape({2}), LS_NUMBER("c", "1") "  y = ExpandDims(a, c) T=f64 Tdim=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Transpose ConjugateTranspose", Shape({2, 3}), Shape({2}), LS_LIST("1, 0", "2") "  y = KIND(a, c) T=f64 Tperm=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Pack Unpack", Shape({2}), Shape({2}), "  p = Pack(a, b) N=2 T=f64 axis=1 : f64\n  u = Unpack(p) T=f64 axis=0 num=2 : (f64, f64)\n  r = Mul(u, u:1) T=f64 : f64"},
    {"Concat", Shape({2}), Shape({3}), LS_NUMBER("c", "0") "  y = Concat(c, a, b) N=2 T=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"ConcatV2", Shape({2}), Shape({3}), LS_NUMBER("c", "0") "  y = ConcatV2(a, b, c) N=2 T=f64 Tidx=i32 : f64\n  r = Square(y) T=f64 : f64"},
    {"Split", Shape({4}), Shape({2}), LS_NUMBER("c", "0") "  y = Split(c, a) T=f64 num_split=2 : (f64, f64)\n  q = Mul(y, y:1) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"SplitV", Shape({4}), Shape({1}), LS_LIST("1, 3", "2") LS_NUMBER("d", "0") "  y = SplitV(a, c, d) T=f64 Tlen=i32 num_split=2 : (f64, f64)\n  q = Mul(y, y:1) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"Slice", Shape({4}), Shape({2}), LS_LIST("1", "1") "  d = Const() dtype=i32 value=i32[1] [2] : i32\n  y = Slice(a, c, d) T=f64 Index=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"StridedSlice", Shape({4}), Shape({2}), LS_LIST("0", "1") "  d = Const() dtype=i32 value=i32[1] [4] : i32\n  e = Const() dtype=i32 value=i32[1] [2] : i32\n  y = StridedSlice(a, c, d, e) T=f64 Index=i32 begin_mask=0 ellipsis_mask=0 end_mask=0 new_axis_mask=0 shrink_axis_mask=0 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"StridedSliceGrad", Shape({2}), Shape({4}), LS_LIST("0", "1") "  n = Const() dtype=i32 value=i32[1] [4] : i32\n  e = Const() dtype=i32 value=i32[1] [2] : i32\n  y = StridedSliceGrad(n, c, n, e, a) T=f64 Index=i32 begin_mask=0 ellipsis_mask=0 end_mask=0 new_axis_mask=0 shrink_axis_mask=0 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"TensorStridedSliceUpdate", Shape({4}), Shape({2}), LS_LIST("0", "1") "  n = Const() dtype=i32 value=i32[1] [4] : i32\n  e = Const() dtype=i32 value=i32[1] [2] : i32\n  y = TensorStridedSliceUpdate(a, c, n, e, b) T=f64 Index=i32 begin_mask=0 ellipsis_mask=0 end_mask=0 new_axis_mask=0 shrink_axis_mask=0 : f64\n  r = Square(y) T=f64 : f64"},
    {"Reverse", Shape({3}), Shape({3}), "  c = Const() dtype=bool value=bool[1] [true] : bool\n  y = Reverse(a, c) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"ReverseV2", Shape({3}), Shape({3}), LS_LIST("0", "1") "  y = ReverseV2(a, c) T=f64 Tidx=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"ReverseSequence", Shape({2, 3}), Shape({3}), "  c = Const() dtype=i32 value=i32[2] [2, 3] : i32\n  y = ReverseSequence(a, c) T=f64 Tlen=i32 batch_dim=0 seq_dim=1 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Roll", Shape({3}), Shape({3}), LS_LIST("1", "1") "  d = Const() dtype=i32 value=i32[1] [0] : i32\n  y = Roll(a, c, d) T=f64 Taxis=i32 Tshift=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Fill", Shape(), Shape({3}), LS_LIST("3", "1") "  y = Fill(c, a) T=f64 index_type=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"BroadcastTo", Shape({1, 2}), Shape({2}), LS_LIST("3, 2", "2") "  y = BroadcastTo(a, c) T=f64 Tidx=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Tile", Shape({2}), Shape({4}), LS_LIST("2", "1") "  y = Tile(a, c) T=f64 Tmultiples=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Pad", Shape({2}), Shape({5}), "  c = Const() dtype=i32 value=i32[1,2] [1, 2] : i32\n  y = Pad(a, c) T=f64 Tpaddings=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"PadV2", Shape({2}), Shape(), "  c = Const() dtype=i32 value=i32[1,2] [1, 2] : i32\n  y = PadV2(a, c, b) T=f64 Tpaddings=i32 : f64\n  r = Square(y) T=f64 : f64"},
    {"MirrorPad", Shape({3}), Shape({5}), "  c = Const() dtype=i32 value=i32[1,2] [1, 1] : i32\n  y = MirrorPad(a, c) T=f64 Tpaddings=i32 mode=\"REFLECT\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MirrorPadGrad", Shape({5}), Shape({3}), "  c = Const() dtype=i32 value=i32[1,2] [1, 1] : i32\n  y = MirrorPadGrad(a, c) T=f64 Tpaddings=i32 mode=\"REFLECT\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Gather", Shape({3, 2}), Shape({2}), LS_LIST("2, 0, 2", "3") "  y = Gather(a, c) Tindices=i32 Tparams=f64 validate_indices=true : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"GatherV2", Shape({2, 3, 2}), Shape({2}), LS_LIST("2, 0, 2", "3") LS_NUMBER("d", "1") "  y = GatherV2(a, c, d) Taxis=i32 Tindices=i32 Tparams=f64 batch_dims=0 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"GatherV2", Shape({2, 3, 2}), Shape({2}), "  c = Const() dtype=i32 value=i32[2,2] [2, 0, 1, 1] : i32\n" LS_NUMBER("d", "1") "  y = GatherV2(a, c, d) Taxis=i32 Tindices=i32 Tparams=f64 batch_dims=1 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"GatherV2", Shape({2, 2, 3}), Shape({2}), "  c = Const() dtype=i32 value=i32[2,2] [2, 0, 1, 1] : i32\n" LS_NUMBER("d", "-1") "  y = GatherV2(a, c, d) Taxis=i32 Tindices=i32 Tparams=f64 batch_dims=-1 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"GatherV2", Shape({2, 2, 3}), Shape({2, 2}), "  c = Const() dtype=i32 value=i32[2,2] [2, 0, 1, 1] : i32\n" LS_NUMBER("d", "2") "  y = GatherV2(a, c, d) Taxis=i32 Tindices=i32 Tparams=f64 batch_dims=2 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"GatherNd", Shape({3, 2}), Shape({2}), "  c = Const() dtype=i32 value=i32[2,2] [2, 0, 0, 1] : i32\n  y = GatherNd(a, c) Tindices=i32 Tparams=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"ScatterNd", Shape({2}), Shape({3}), "  c = Const() dtype=i32 value=i32[2,1] [2, 0] : i32\n  n = Const() dtype=i32 value=i32[1] [3] : i32\n  y = ScatterNd(c, a, n) T=f64 Tindices=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"TensorScatterUpdate TensorScatterAdd TensorScatterSub", Shape({3}), Shape({2}), "  c = Const() dtype=i32 value=i32[2,1] [2, 0] : i32\n  y = KIND(a, c, b) T=f64 Tindices=i32 : f64\n  r = Square(y) T=f64 : f64"},
    {"TensorScatterMax TensorScatterMin", Shape({3}), Shape({2}), "  c = Const() dtype=i32 value=i32[2,1] [2, 0] : i32\n  y = KIND(a, c, b) T=f64 Tindices=i32 : f64\n  r = Square(y) T=f64 : f64"},
    {"DynamicStitch ParallelDynamicStitch", Shape({2}), Shape({1}), LS_LIST("2, 0", "2") "  d = Const() dtype=i32 value=i32[1] [1] : i32\n  y = KIND(c, d, a, b) N=2 T=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"DynamicPartition", Shape({4}), Shape(), LS_LIST("1, 0, 1, 1", "4") "  y = DynamicPartition(a, c) T=f64 num_partitions=2 : (f64, f64)\n  q = Mul(y, y:1) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"TopKV2", Shape({2, 3}), Shape({2}), LS_NUMBER("c", "2") "  y = TopKV2(a, c) T=f64 sorted=true : (f64, i32)\n  r = Mul(y, b) T=f64 : f64"},
    {"SparseToDense", Shape({2}), Shape(), "  c = Const() dtype=i32 value=i32[2,1] [0, 2] : i32\n  n = Const() dtype=i32 value=i32[1] [4] : i32\n  y = SparseToDense(c, n, a, b) T=f64 Tindices=i32 validate_indices=true : f64\n  r = Square(y) T=f64 : f64"},
    {"SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", Shape({3, 2}), Shape({2}), LS_LIST("2, 0, 2", "3") "  d = Const() dtype=i32 value=i32[3] [0, 0, 1] : i32\n  y = KIND(a, c, d) T=f64 Tidx=i32 Tsegmentids=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"SparseTensorDenseMatMul", Shape({2}), Shape({3, 2}), "  i = Const() dtype=i64 value=i64[2,2] [0, 1, 1, 2] : i64\n  s = Const() dtype=i64 value=i64[2] [2, 3] : i64\n  r = SparseTensorDenseMatMul(i, a, s, b) T=f64 Tindices=i64 adjoint_a=false adjoint_b=false : f64"},
    {"SparseTensorDenseMatMul", Shape({2}), Shape({4, 2}), "  i = Const() dtype=i64 value=i64[2,2] [0, 1, 1, 2] : i64\n  s = Const() dtype=i64 value=i64[2] [2, 3] : i64\n  r = SparseTensorDenseMatMul(i, a, s, b) T=f64 Tindices=i64 adjoint_a=true adjoint_b=true : f64"},
    {"SparseReorder", Shape({2}), Shape({2}), "  i = Const() dtype=i64 value=i64[2,2] [1, 2, 0, 1] : i64\n  s = Const() dtype=i64 value=i64[2] [2, 3] : i64\n  y = SparseReorder(i, a, s) T=f64 : (i64, f64)\n  r = Mul(y:1, b) T=f64 : f64"},
    {"SparseReduceSum", Shape({2}), Shape({2}), "  i = Const() dtype=i64 value=i64[2,2] [0, 1, 1, 2] : i64\n  s = Const() dtype=i64 value=i64[2] [2, 3] : i64\n" LS_LIST("-1", "1") "  y = SparseReduceSum(i, a, s, c) T=f64 keep_dims=false : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"SpaceToBatch", Shape({1, 2, 2, 1}), Shape({1}), "  c = Const() dtype=i32 value=i32[2,2] [0, 0, 0, 0] : i32\n  y = SpaceToBatch(a, c) T=f64 Tpaddings=i32 block_size=2 : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"BatchToSpace", Shape({4, 1, 1, 1}), Shape({1}), "  c = Const() dtype=i32 value=i32[2,2] [0, 0, 0, 0] : i32\n  y = BatchToSpace(a, c) T=f64 Tidx=i32 block_size=2 : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"SpaceToBatchND", Shape({1, 3, 1}), Shape({1}), "  n = Const() dtype=i32 value=i32[1] [2] : i32\n  c = Const() dtype=i32 value=i32[1,2] [0, 1] : i32\n  y = SpaceToBatchND(a, n, c) T=f64 Tblock_shape=i32 Tpaddings=i32 : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"BatchToSpaceND", Shape({2, 2, 1}), Shape({1}), "  n = Const() dtype=i32 value=i32[1] [2] : i32\n  c = Const() dtype=i32 value=i32[1,2] [0, 1] : i32\n  y = BatchToSpaceND(a, n, c) T=f64 Tblock_shape=i32 Tcrops=i32 : f64\n  q = Square(y) T=f64 : f64\n  r = Mul(q, b) T=f64 : f64"},
    {"SpaceToDepth", Shape({1, 2, 2, 1}), Shape({4}), "  y = SpaceToDepth(a) T=f64 block_size=2 data_format=\"NHWC\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"DepthToSpace", Shape({1, 1, 1, 4}), Shape({2, 1}), "  y = DepthToSpace(a) T=f64 block_size=2 data_format=\"NHWC\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"Diag MatrixDiag", Shape({2}), Shape({2}), "  y = KIND(a) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"DiagPart MatrixDiagPart", Shape({2, 2}), Shape({2}), "  y = KIND(a) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MatrixDiagV2 MatrixDiagV3", Shape({2}), Shape({2}), LS_NUMBER("k", "0") LS_NUMBER("n", "2") "  z = Const() dtype=f64 value=f64[] 0.0 : f64\n  y = KIND(a, k, n, n, z) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MatrixDiagPartV2 MatrixDiagPartV3", Shape({2, 2}), Shape({2}), LS_NUMBER("k", "0") "  z = Const() dtype=f64 value=f64[] 0.0 : f64\n  y = KIND(a, k, z) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MatrixSetDiag", Shape({2, 2}), Shape({2}), "  y = MatrixSetDiag(a, b) T=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"MatrixSetDiagV2 MatrixSetDiagV3", Shape({2, 2}), Shape({2}), LS_NUMBER("k", "0") "  y = KIND(a, b, k) T=f64 : f64\n  r = Square(y) T=f64 : f64"},
    {"MatrixBandPart", Shape({2, 2}), Shape({2}), LS_NUMBER("k", "0") LS_NUMBER("n", "-1") "  y = MatrixBandPart(a, k, n) T=f64 Tindex=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},

    {"BiasAdd", Shape({2, 3}), Shape({3}), "  y = BiasAdd(a, b) T=f64 data_format=\"NHWC\" : f64\n  r = Square(y) T=f64 : f64"},
    {"ResizeNearestNeighbor", Shape({1, 2, 3, 1}), Shape({1}), LS_LIST("3, 4", "2") "  y = ResizeNearestNeighbor(a, c) T=f64 align_corners=false half_pixel_centers=true : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"ExtractImagePatches", Shape({2, 3, 3, 2}), Shape({8}), "  y = ExtractImagePatches(a) T=f64 ksizes=[1, 2, 2, 1] padding=\"SAME\" rates=[1, 1, 1, 1] strides=[1, 2, 1, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"BiasAddGrad", Shape({2, 3}), Shape({3}), "  y = BiasAddGrad(a) T=f64 data_format=\"NHWC\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"SoftmaxCrossEntropyWithLogits", Shape({2, 3}), Shape({2, 3}), "  p = Softmax(b) T=f64 : f64\n  y = SoftmaxCrossEntropyWithLogits(a, p) T=f64 : (f64, f64)\n  r = Square(y) T=f64 : f64"},
    {"SparseSoftmaxCrossEntropyWithLogits", Shape({2, 3}), Shape({2}), LS_LIST("2, 0", "2") "  y = SparseSoftmaxCrossEntropyWithLogits(a, c) T=f64 Tlabels=i32 : (f64, f64)\n  r = Mul(y, b) T=f64 : f64"},
    {"Conv2D DepthwiseConv2dNative", Shape({1, 3, 3, 1}), Shape({2, 2, 1, 2}), "  r = KIND(a, b) T=f64 data_format=\"NHWC\" dilations=[1, 1, 1, 1] explicit_paddings=[] padding=\"SAME\" strides=[1, 1, 1, 1] use_cudnn_on_gpu=true : f64"},
    {"Conv3D", Shape({1, 2, 2, 2, 1}), Shape({2, 2, 2, 1, 1}), "  r = Conv3D(a, b) T=f64 data_format=\"NDHWC\" dilations=[1, 1, 1, 1, 1] padding=\"SAME\" strides=[1, 1, 1, 1, 1] : f64"},
    {"Conv2DBackpropInput DepthwiseConv2dNativeBackpropInput", Shape({2, 2, 1, 1}), Shape({1, 3, 3, 1}), LS_LIST("1, 3, 3, 1", "4") "  r = KIND(c, a, b) T=f64 data_format=\"NHWC\" dilations=[1, 1, 1, 1] explicit_paddings=[] padding=\"SAME\" strides=[1, 1, 1, 1] use_cudnn_on_gpu=true : f64"},
    {"Conv2DBackpropFilter DepthwiseConv2dNativeBackpropFilter", Shape({1, 3, 3, 1}), Shape({1, 3, 3, 1}), LS_LIST("2, 2, 1, 1", "4") "  r = KIND(a, c, b) T=f64 data_format=\"NHWC\" dilations=[1, 1, 1, 1] explicit_paddings=[] padding=\"SAME\" strides=[1, 1, 1, 1] use_cudnn_on_gpu=true : f64"},
    {"Conv3DBackpropInputV2", Shape({2, 2, 2, 1, 1}), Shape({1, 2, 2, 2, 1}), LS_LIST("1, 2, 2, 2, 1", "5") "  r = Conv3DBackpropInputV2(c, a, b) T=f64 Tshape=i32 data_format=\"NDHWC\" dilations=[1, 1, 1, 1, 1] padding=\"SAME\" strides=[1, 1, 1, 1, 1] : f64"},
    {"Conv3DBackpropFilterV2", Shape({1, 2, 2, 2, 1}), Shape({1, 2, 2, 2, 1}), LS_LIST("2, 2, 2, 1, 1", "5") "  r = Conv3DBackpropFilterV2(a, c, b) T=f64 data_format=\"NDHWC\" dilations=[1, 1, 1, 1, 1] padding=\"SAME\" strides=[1, 1, 1, 1, 1] : f64"},
    {"MaxPool", Shape({1, 4, 4, 1}), Shape({1}), "  y = MaxPool(a) T=f64 data_format=\"NHWC\" explicit_paddings=[] ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MaxPoolV2", Shape({1, 4, 4, 1}), Shape({1}), LS_LIST("1, 2, 2, 1", "4") "  y = MaxPoolV2(a, c, c) T=f64 data_format=\"NHWC\" padding=\"VALID\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MaxPoolWithArgmax", Shape({2, 4, 4, 1}), Shape({1}), "  y = MaxPoolWithArgmax(a) T=f64 Targmax=i64 include_batch_in_index=false ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : (f64, i64)\n  r = Mul(y, b) T=f64 : f64"},
    {"MaxPoolWithArgmax", Shape({2, 4, 4, 1}), Shape({1}), "  y = MaxPoolWithArgmax(a) T=f64 Targmax=i64 include_batch_in_index=true ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : (f64, i64)\n  r = Mul(y, b) T=f64 : f64"},
    {"MaxPoolGradGrad", Shape({1, 2, 2, 1}), Shape({1}), "  k = Const() dtype=f64 value=f64[1,2,2,1] [1.0, 4.0, 3.0, 2.0] : f64\n  m = Const() dtype=f64 value=f64[1,1,1,1] 4.0 : f64\n  y = MaxPoolGradGrad(k, m, a) T=f64 data_format=\"NHWC\" ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"MaxPoolGradV2", Shape({1, 1, 1, 1}), Shape({2, 1}), LS_LIST("1, 2, 2, 1", "4") "  k = Const() dtype=f64 value=f64[1,2,2,1] [1.0, 4.0, 3.0, 2.0] : f64\n  m = Const() dtype=f64 value=f64[1,1,1,1] 4.0 : f64\n  y = MaxPoolGradV2(k, m, a, c, c) T=f64 data_format=\"NHWC\" padding=\"VALID\" : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"AvgPool", Shape({1, 4, 4, 1}), Shape({1}), "  y = AvgPool(a) T=f64 data_format=\"NHWC\" ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"AvgPoolGrad", Shape({1, 2, 2, 1}), Shape({1}), LS_LIST("1, 4, 4, 1", "4") "  y = AvgPoolGrad(c, a) T=f64 data_format=\"NHWC\" ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"AvgPool3D", Shape({1, 2, 2, 2, 1}), Shape({1}), "  y = KIND(a) T=f64 data_format=\"NDHWC\" ksize=[1, 2, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 2, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"AvgPool3DGrad", Shape({1, 1, 1, 1, 1}), Shape({1}), LS_LIST("1, 2, 2, 2, 1", "5") "  y = AvgPool3DGrad(c, a) T=f64 data_format=\"NDHWC\" ksize=[1, 2, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 2, 1] : f64\n  r = Mul(y, b) T=f64 : f64"},

    {"ReadVariableOp", Shape({2}), Shape({2}), "  r = Mul(a, b) T=f64 : f64"}, // variables: tests/passes/gradient.ltest
    {"TensorListPushBack TensorListPopBack", Shape({2}), Shape({2}), LS_EMPTY_LIST "  l = TensorListPushBack(e, a) element_dtype=f64 : variant\n  k = TensorListPushBack(l, b) element_dtype=f64 : variant\n  p = TensorListPopBack(k, m) element_dtype=f64 : (variant, f64)\n  q = TensorListPopBack(p, m) element_dtype=f64 : (variant, f64)\n  r = Mul(p:1, q:1) T=f64 : f64"},
    {"TensorListFromTensor TensorListGetItem TensorListSetItem TensorListStack", Shape({2, 2}), Shape({2}), "  s = Const() dtype=i32 value=i32[1] [2] : i32\n  l = TensorListFromTensor(a, s) element_dtype=f64 shape_type=i32 : variant\n" LS_NUMBER("o", "0") "  g = TensorListGetItem(l, o, s) element_dtype=f64 : f64\n  m = Mul(g, b) T=f64 : f64\n  k = TensorListSetItem(l, o, m) element_dtype=f64 : variant\n  y = TensorListStack(k, s) element_dtype=f64 num_elements=-1 : f64\n  r = Square(y) T=f64 : f64"},
    {"TensorListGather TensorListScatterV2", Shape({2, 2}), Shape({2}), "  s = Const() dtype=i32 value=i32[1] [2] : i32\n" LS_LIST("1, 0", "2") LS_NUMBER("n", "2") "  l = TensorListScatterV2(a, c, s, n) element_dtype=f64 shape_type=i32 : variant\n  y = TensorListGather(l, c, s) element_dtype=f64 : f64\n  r = Mul(y, b) T=f64 : f64"},
    {"TensorListScatterIntoExistingList", Shape({2, 2}), Shape({1, 2}), "  s = Const() dtype=i32 value=i32[1] [2] : i32\n" LS_LIST("1", "1") "  l = TensorListFromTensor(a, s) element_dtype=f64 shape_type=i32 : variant\n  k = TensorListScatterIntoExistingList(l, b, c) element_dtype=f64 : variant\n  y = TensorListStack(k, s) element_dtype=f64 num_elements=-1 : f64\n  r = Square(y) T=f64 : f64"},
};

/// Rules that this form does not fit, and where they are tested.
const std::set<std::string_view> kElsewhere = {
    "Print",                                                                 // writes
    "ResizeBilinear", "ResizeBicubic", "LRN",                                // f32: tests/passes/gradient.ltest
    "PreventGradient",                                                       // refuses
    "RefIdentity",                                                           // references: v1 graphs only
    "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",                    // steps: their gradient is not the slope
    "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
    "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "MaxPool3D",                // f32
    "MaxPoolGrad",                                                           // piecewise constant in what it compares
    "ResourceGather", "ResourceGatherNd",                                    // tests/passes/gradient.ltest
    "TensorListScatter", "TensorListConcat", "TensorListConcatV2", "TensorListSplit", "TensorListResize", "OptionalFromValue", "OptionalGetValue",
    "TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3", "TensorArrayGradV3",
};
// clang-format on

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    return text;
}

/// Attributes that single operators need beside T.
std::string operatorText(const std::string& kind, const char* nodes)
{
    std::string text = replaced(nodes, "KIND", kind);
    const auto with = [&](const char* more) { text = replaced(text, "= " + kind + "(a) T=f64", "= " + kind + "(a) " + more); };
    if (kind == "Cast") with("DstT=f64 SrcT=f64 Truncate=false");
    if (kind == "LeakyRelu" || kind == "LeakyReluGrad") text = replaced(text, "T=f64 : f64\n", "T=f64 alpha=0.2 : f64\n");
    if (kind == "EnsureShape") with("T=f64 shape=shape[2,3]");
    if (kind == "CheckNumerics") with("T=f64 message=\"m\"");
    if (kind == "PlaceholderWithDefault") with("dtype=f64 shape=shape[2,3]");
    return text;
}

std::vector<double> elements(const Shape& shape, double low, double high)
{
    std::vector<double> values;
    const int64_t n = shape.elementCount();
    for (int64_t i = 0; i < n; ++i) values.push_back(low + (high - low) * (static_cast<double>(i * 7 % 11) + 0.37) / 11.0);
    return values;
}

/// The operator alone, its sum and the gradients by a and b as outputs 0, 1, 2.
void openRule(NumberGraph& opened, const std::string& kind, const RuleCase& rule)
{
    const auto placeholder = [](const char* name, const Shape& shape) {
        return std::string("  ") + name + " = Placeholder() dtype=f64 shape=shape" + toString(shape) + " : f64" + toString(shape) + "\n";
    };
    const std::string text = "model tf\ngraph main {\n" + placeholder("a", rule.a) + placeholder("b", rule.b) +
                             operatorText(kind, rule.nodes) + "\n  all = Identity(r) T=f64 : f64\n}\n";
    Result<Model> model = modelFromText(text, kind);
    ASSERT_TRUE(model.ok()) << model.error().message() << "\n" << text;
    const Graph& graph = model->graph(GraphId(0));
    const GradientRequest request{GraphId(0), {graph.findValue("all")}, {graph.findValue("a"), graph.findValue("b")}, {}};
    Result<ModelGradient> made = addGradients(*model, request);
    ASSERT_TRUE(made.ok()) << made.error().message();
    Result<Model> selected = selectForRun(*model, GraphId(0), {{"a", "b"}, {"all", "gradients/a", "gradients/b"}, {}});
    ASSERT_TRUE(selected.ok()) << selected.error().message();
    opened.open(std::move(*selected));
}

double sumOf(const std::vector<double>& values)
{
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
}

void expectSlopes(const std::string& kind, const RuleCase& rule)
{
    SCOPED_TRACE(kind);
    NumberGraph graph;
    openRule(graph, kind, rule);
    if (!graph.isOpen()) return;
    const auto run = [&](const Numbers& a, const Numbers& b, int k) { return graph.run({{a, rule.a}, {b, rule.b}}, k); };
    expectSlopesOf(
        elements(rule.a, rule.low, rule.high), elements(rule.b, 0.55, 0.25),
        [&](const Numbers& a, const Numbers& b) { return sumOf(run(a, b, 0)); },
        [&](const Numbers& a, const Numbers& b, int side) { return run(a, b, 1 + side); });
}

TEST(GradientRules, areTheSlopes)
{
    std::set<std::string, std::less<>> tested(kElsewhere.begin(), kElsewhere.end());
    for (const RuleCase& rule : kCases) {
        const std::string kinds = rule.kinds;
        for (size_t at = 0; at < kinds.size();) {
            const size_t end = std::min(kinds.find(' ', at), kinds.size());
            const std::string kind = kinds.substr(at, end - at);
            EXPECT_NE(findGradientRule(kind), nullptr) << kind;
            tested.insert(kind);
            expectSlopes(kind, rule);
            at = end + 1;
        }
    }
    for (const std::string_view kind : operatorsWithGradientRules())
        EXPECT_TRUE(tested.contains(kind)) << kind << " has a rule and no test";
}

} // namespace
} // namespace loopscope::testing
