// Catalogue entries of TensorFlow's linear algebra on the last two dimensions.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kLinalgBound = ErrorBounds(withinRelative(1e-5)).because("worse by the condition of the matrix");

}

LS_DEFINE_OP(tf, MatrixInverse)
{
    return tfDef({1, 1}, "input [..,N,N]", "Inverse matrices, or their adjoints.", inferTfSame, kLinalgBound);
}
LS_DEFINE_OP(tf, MatrixDeterminant) { return tfDef({1, 1}, "input [..,N,N]", "Determinants.", inferAtRunTime, kLinalgBound); }
LS_DEFINE_OP(tf, LogMatrixDeterminant)
{
    return tfDef({1, 1, 2, 2}, "input [..,N,N]", "The sign of the determinant, and the logarithm of its magnitude.", inferAtRunTime,
                 kLinalgBound);
}
LS_DEFINE_OP(tf, Cholesky)
{
    return tfDef({1, 1}, "input [..,N,N]", "Lower triangular L with L · adjoint(L) = input; only the lower half is read.", inferTfSame,
                 kLinalgBound);
}
LS_DEFINE_OP(tf, MatrixSolve)
{
    return tfDef({2, 2}, "matrix [..,N,N], rhs [..,N,K]", "x with matrix · x = rhs, or with the adjoint of the matrix.", inferAtRunTime,
                 kLinalgBound);
}
LS_DEFINE_OP(tf, MatrixTriangularSolve)
{
    return tfDef({2, 2}, "matrix [..,N,N], rhs [..,N,K]", "x with matrix · x = rhs for triangular matrices; stacks broadcast.",
                 inferAtRunTime, kLinalgBound);
}
LS_DEFINE_OP(tf, Cross) { return tfDef({2, 2}, "a [..,3], b [..,3]", "Cross products.", inferTfSame, withinRelative(1e-6)); }
LS_DEFINE_OP(tf, Lu)
{
    return tfDef({1, 1, 2, 2}, "input", "Lower and upper triangular factors in one matrix, and the order of the rows.", inferAtRunTime,
                 kLinalgBound);
}
