// Catalogue entries of matrices that are a few diagonals.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kTridiagonalBound = ErrorBounds(withinRelative(1e-5)).because("worse by the condition of the matrix");

} // namespace

LS_DEFINE_OP(tf, TridiagonalSolve)
{
    return tfDef({2, 2}, "diagonals [..,3,N], rhs [..,N,K]", "The x with three diagonals (upper, main, lower) · x = rhs.", inferAtRunTime,
                 kTridiagonalBound);
}
LS_DEFINE_OP(tf, TridiagonalMatMul)
{
    return tfDef({4, 4}, "superdiag, maindiag, subdiag [..,1,N], rhs [..,N,K]", "Three diagonals times a matrix.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, BandedTriangularSolve)
{
    return tfDef({2, 2}, "matrix [..,bands,N], rhs [..,N,K]", "The x with bands of a triangular matrix · x = rhs.", inferAtRunTime,
                 kTridiagonalBound);
}
