// Catalogue entries of eigenvalues, square roots and logarithms of matrices.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kEigenBound = ErrorBounds(withinRelative(1e-5)).because("worse by the condition of the matrix");

} // namespace

LS_DEFINE_OP(tf, Eig)
{
    OpDef def = tfDef({1, 1, 2, 2}, "input",
                      "Eigenvalues of square matrices from the smallest, and their vectors as columns of length 1; complex numbers.",
                      inferAtRunTime, kEigenBound);
    def.differs = "values are in order of their size, and the phase of a vector is free; TensorFlow's order is that of its solver";
    return def;
}
LS_DEFINE_OP(tf, MatrixSquareRoot) { return tfDef({}, "input", "The matrix whose square is the operand.", inferAtRunTime, kEigenBound); }
LS_DEFINE_OP(tf, MatrixLogarithm)
{
    return tfDef({}, "input", "The matrix whose exponential is the operand.", inferAtRunTime, kEigenBound);
}
