// Catalogue entries of what takes TensorFlow's matrices apart.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kFactorsBound = ErrorBounds(withinRelative(1e-5)).because("worse by the condition of the matrix");

} // namespace

LS_DEFINE_OP(tf, Qr)
{
    OpDef def = tfDef({1, 1, 2, 2}, "input", "Orthogonal and upper triangular factors.", inferAtRunTime, kFactorsBound);
    def.differs =
        "halves are computed in f32 and rounded at the end; a column that depends on the rounding of each step may have the other sign";
    return def;
}
LS_DEFINE_OP(tf, SelfAdjointEigV2)
{
    return tfDef({1, 1, 2, 2}, "input",
                 "Eigenvalues of symmetric matrices in ascending order, and their vectors as columns; only the lower half is read.",
                 inferAtRunTime, kFactorsBound);
}
LS_DEFINE_OP(tf, Svd)
{
    return tfDef({1, 1, 3, 3}, "input", "Singular values in descending order, and the vectors of both sides as columns.", inferAtRunTime,
                 kFactorsBound);
}
LS_DEFINE_OP(tf, MatrixSolveLs)
{
    return tfDef({3, 3}, "matrix, rhs, l2_regularizer", "The x with the least square of matrix · x − rhs, and of x by l2_regularizer.",
                 inferAtRunTime, kFactorsBound);
}
