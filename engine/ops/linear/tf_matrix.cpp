// Catalogue entries of TensorFlow's diagonals and bands of matrices, and of Einsum.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, Diag) { return tfDef({}, "diagonal", "Zeros with the operand on the diagonal: of [a,b] a tensor [a,b,a,b]."); }
LS_DEFINE_OP(tf, DiagPart) { return tfDef({}, "input", "The diagonal of a tensor [a,b,a,b]."); }
LS_DEFINE_OP(tf, MatrixDiag) { return tfDef({}, "diagonal", "Matrices with the given diagonal, zeros elsewhere."); }
LS_DEFINE_OP(tf, MatrixDiagV2)
{
    return tfDef({5, 5}, "diagonal, k, num_rows, num_cols, padding_value", "Matrices with the given diagonals, a constant elsewhere.");
}
LS_DEFINE_OP(tf, MatrixDiagV3)
{
    return tfDef({5, 5}, "diagonal, k, num_rows, num_cols, padding_value", "Matrices with the given diagonals, a constant elsewhere.");
}
LS_DEFINE_OP(tf, MatrixDiagPart) { return tfDef({}, "input", "The diagonals of matrices."); }
LS_DEFINE_OP(tf, MatrixDiagPartV2)
{
    return tfDef({3, 3}, "input, k, padding_value", "Some diagonals of matrices as rows of equal length.");
}
LS_DEFINE_OP(tf, MatrixDiagPartV3)
{
    return tfDef({3, 3}, "input, k, padding_value", "Some diagonals of matrices as rows of equal length.");
}
LS_DEFINE_OP(tf, MatrixSetDiag) { return tfDef({2, 2}, "input, diagonal", "Matrices with another diagonal."); }
LS_DEFINE_OP(tf, MatrixSetDiagV2) { return tfDef({3, 3}, "input, diagonal, k", "Matrices with some diagonals replaced."); }
LS_DEFINE_OP(tf, MatrixSetDiagV3) { return tfDef({3, 3}, "input, diagonal, k", "Matrices with some diagonals replaced."); }
LS_DEFINE_OP(tf, MatrixBandPart)
{
    return tfDef({3, 3}, "input, num_lower, num_upper", "Matrices with zeros outside of a band around the diagonal.");
}
LS_DEFINE_OP(tf, Einsum)
{
    return tfDef({1, -1}, "inputs…", "Sums of products of elements, as the equation says.", inferAtRunTime, withinRelative(1e-6));
}
