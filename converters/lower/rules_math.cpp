// Arithmetic and movement of elements whose operands or attributes stand elsewhere in TFLite, or that several of its operators make up.
#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::lowering {

namespace {

Status isOperand(GraphLowering& l)
{
    for (int k = 0; k < static_cast<int>(l.op().results.size()); ++k) l.bind(k, l.input(k));
    return {};
}

/// Of real numbers.
Status conjugate(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    return dtype == DType::c64 || dtype == DType::c128 ? noForm("complex numbers") : isOperand(l);
}

Status concat(GraphLowering& l)
{
    std::vector<ValueId> inputs = l.inputs();
    const auto axis = l.integers(inputs.back());
    if (!axis) return noForm("its axis is computed");
    inputs.pop_back();
    return l.finish("concatenation", std::move(inputs), {{"axis", axis->front()}});
}

Status gather(GraphLowering& l)
{
    const auto axis = l.inputCount() > 2 ? l.integers(l.input(2)) : std::vector<int64_t>{0};
    if (!axis) return noForm("its axis is computed");
    AttributeList attributes = {{"axis", axis->front()}};
    if (const int64_t batch = attributeInt(l.op().attributes, "batch_dims", 0); batch != 0) attributes.push_back({"batch_dims", batch});
    return l.finish("gather", {l.input(0), l.input(1)}, std::move(attributes));
}

Status addN(GraphLowering& l)
{
    if (l.inputCount() == 1) return isOperand(l);
    return l.inputCount() == 2 ? l.finish("add", l.inputs()) : l.finish("add_n", l.inputs());
}

/// LiteRT packs no bool: those get a dimension more each, and are joined along it.
Status pack(GraphLowering& l)
{
    const int64_t axis = attributeInt(l.op().attributes, "axis", 0);
    if (l.type(l.input(0)).dtype != DType::boolean)
        return l.finish("pack", l.inputs(), {{"axis", axis}, {"values_count", static_cast<int64_t>(l.inputCount())}});
    std::vector<ValueId> rows;
    for (const ValueId input : l.inputs()) {
        LS_TRY(const ValueId row, l.emit("expand_dims", {input, l.integerConstant(DType::i32, std::array{axis}, true)}));
        rows.push_back(row);
    }
    return l.finish("concatenation", std::move(rows), {{"axis", axis}});
}

/// LiteRT takes no texts apart: each is gathered.
Status unpack(GraphLowering& l)
{
    const int64_t axis = attributeInt(l.op().attributes, "axis", 0);
    if (l.type(l.input(0)).dtype != DType::string)
        return l.finish("unpack", {l.input(0)}, {{"axis", axis}, {"num", static_cast<int64_t>(l.op().results.size())}});
    for (int k = 0; k < static_cast<int>(l.op().results.size()); ++k) {
        LS_TRY(const ValueId item, l.emit("gather", {l.input(0), number(l, k)}, {{"axis", axis}}, DType::string));
        l.bind(k, item);
    }
    return {};
}

/// TFLite squares floats only.
Status square(GraphLowering& l)
{
    if (isFloat(l.type(l.input(0)).dtype)) return l.finish("square", l.inputs());
    return l.finish("mul", {l.input(0), l.input(0)});
}

/// The shape (i32) with ones before it, as many as it has fewer than `length` (i32[1]) dimensions.
Result<ValueId> filledUp(GraphLowering& l, ValueId shape, ValueId length)
{
    LS_TRY(const ValueId own, l.shapeOf(shape));
    LS_TRY(const ValueId missing, l.emit("sub", {length, own}, {}, DType::i32));
    LS_TRY(const ValueId ones, l.emit("fill", {missing, l.integerConstant(DType::i32, std::array<int64_t, 1>{1}, true)}, {}, DType::i32));
    return l.emit("concatenation", {ones, shape}, {{"axis", int64_t{0}}}, DType::i32);
}

/// Over which dimensions the gradient of each operand has to be summed up: those where its shape, filled up with ones, is 1.
Status broadcastGradientArgs(GraphLowering& l)
{
    constexpr std::array<int64_t, 1> kFlat = {-1}, kOne = {1};
    std::array<ValueId, 2> shapes;
    for (size_t k = 0; k < 2; ++k) {
        LS_TRY(shapes[k], l.asInt32(l.input(static_cast<int>(k))));
    }
    const Shape &a = l.type(shapes[0]).shape, &b = l.type(shapes[1]).shape;
    const auto isOpen = [&](ValueId id) {
        return l.type(id).signature.has_value() || l.type(id).shape.rank() != 1 || l.type(id).shape[0] < 0;
    };
    if (isOpen(shapes[0]) || isOpen(shapes[1])) {
        LS_TRY(const ValueId first, l.shapeOf(shapes[0]));
        LS_TRY(const ValueId second, l.shapeOf(shapes[1]));
        LS_TRY(const ValueId length, l.emit("maximum", {first, second}, {}, DType::i32));
        for (ValueId& shape : shapes) {
            LS_TRY(shape, filledUp(l, shape, length));
        }
    } else if (a[0] != b[0]) {
        const int64_t missing = a[0] < b[0] ? b[0] - a[0] : a[0] - b[0];
        ValueId& shorter = shapes[a[0] < b[0] ? 0 : 1];
        const ValueId ones = l.integerConstant(DType::i32, std::vector<int64_t>(static_cast<size_t>(missing), 1));
        LS_TRY(shorter, l.emit("concatenation", {ones, shorter}, {{"axis", int64_t{0}}}, DType::i32));
    }
    for (int k = 0; k < 2; ++k) {
        const ValueId shape = shapes[static_cast<size_t>(k)];
        LS_TRY(const ValueId isOne, l.emit("equal", {shape, l.integerConstant(DType::i32, kOne, true)}, {}, DType::boolean));
        LS_TRY(const ValueId places, l.emit("where", {isOne}, {}, DType::i64));
        LS_TRY(const ValueId flat, l.emit("reshape", {places, l.integerConstant(DType::i32, kFlat)}, {}, DType::i64));
        LS_TRY(const ValueId dims, l.emit("cast", {flat}, {}, l.declared(k).dtype));
        l.bind(k, dims);
    }
    return {};
}

Status mirrorPad(GraphLowering& l)
{
    LS_TRY(const ValueId paddings, l.asInt32(l.input(1)));
    return l.finish("mirror_pad", {l.input(0), paddings}, {{"mode", wordOf(l.op(), "mode")}});
}

Status size(GraphLowering& l)
{
    LS_TRY(ValueId shape, l.shapeOf(l.input(0)));
    if (l.declared(0).dtype == DType::i64) {
        LS_TRY(shape, l.emit("cast", {shape}, {}, DType::i64));
    }
    constexpr std::array<int64_t, 1> kFirst = {0};
    return l.finish("reduce_prod", {shape, l.integerConstant(DType::i32, kFirst)});
}

Status shapeN(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    for (int k = 0; k < l.inputCount(); ++k) {
        LS_TRY(const ValueId shape, l.emit("shape", {l.input(k)}, {{"out_type", dtype}}, dtype));
        l.bind(k, shape);
    }
    return {};
}

Status reciprocal(GraphLowering& l) { return l.finish("div", {l.realConstant(l.declared(0).dtype, 1), l.input(0)}); }

Status log1p(GraphLowering& l)
{
    LS_TRY(const ValueId sum, l.emit("add", {l.input(0), l.realConstant(l.declared(0).dtype, 1)}));
    return l.finish("log", {sum});
}

Status expm1(GraphLowering& l)
{
    LS_TRY(const ValueId power, l.emit("exp", {l.input(0)}));
    return l.finish("sub", {power, l.realConstant(l.declared(0).dtype, 1)});
}

Status softplus(GraphLowering& l)
{
    LS_TRY(const ValueId power, l.emit("exp", {l.input(0)}));
    LS_TRY(const ValueId sum, l.emit("add", {power, l.realConstant(l.declared(0).dtype, 1)}));
    return l.finish("log", {sum});
}

Status tan(GraphLowering& l)
{
    LS_TRY(const ValueId sin, l.emit("sin", {l.input(0)}));
    LS_TRY(const ValueId cos, l.emit("cos", {l.input(0)}));
    return l.finish("div", {sin, cos});
}

Status isNan(GraphLowering& l) { return l.finish("not_equal", {l.input(0), l.input(0)}); }

/// x − x is 0 for numbers and NaN for all else.
Status isFinite(GraphLowering& l)
{
    LS_TRY(const ValueId zero, l.emit("sub", {l.input(0), l.input(0)}));
    return l.finish("equal", {zero, zero});
}

Status logicalXor(GraphLowering& l) { return l.finish("not_equal", l.inputs()); }

Status onesLike(GraphLowering& l)
{
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    return l.finish("fill", {shape, l.realConstant(l.declared(0).dtype, 1)});
}

Status empty(GraphLowering& l)
{
    LS_TRY(const ValueId shape, l.asInt32(l.input(0)));
    return l.finish("fill", {shape, l.realConstant(l.declared(0).dtype, 0)});
}

Status invertPermutation(GraphLowering& l)
{
    const ValueId zero = l.integerConstant(DType::i32, std::array<int64_t, 1>{0}, true),
                  one = l.integerConstant(DType::i32, std::array<int64_t, 1>{1}, true);
    LS_TRY(const ValueId numbers, l.asInt32(l.input(0)));
    LS_TRY(const ValueId shape, l.shapeOf(numbers));
    LS_TRY(const ValueId count, l.emit("reduce_prod", {shape, l.integerConstant(DType::i32, std::array<int64_t, 1>{0})}));
    LS_TRY(const ValueId range, l.emit("range", {zero, count, one}, {}, DType::i32));
    LS_TRY(const ValueId indices, l.emit("expand_dims", {numbers, l.integerConstant(DType::i32, std::array<int64_t, 1>{1}, true)}));
    if (l.declared(0).dtype == DType::i32) return l.finish("scatter_nd", {indices, range, shape});
    LS_TRY(const ValueId inverse, l.emit("scatter_nd", {indices, range, shape}));
    return l.finish("cast", {inverse});
}

/// Σx² / 2
Status l2Loss(GraphLowering& l)
{
    LS_TRY(const ValueId square, l.emit("square", {l.input(0)}));
    LS_TRY(const ValueId flat, l.emit("reshape", {square, l.integerConstant(DType::i32, std::array<int64_t, 1>{-1})}));
    LS_TRY(const ValueId sum, l.emit("sum", {flat, l.integerConstant(DType::i32, std::array<int64_t, 1>{0})}));
    return l.finish("mul", {sum, l.realConstant(l.declared(0).dtype, 0.5)});
}

// Gradients as TensorFlow writes them: y, dy → dx.

Status tanhGrad(GraphLowering& l)
{
    LS_TRY(const ValueId square, l.emit("mul", {l.input(0), l.input(0)}));
    LS_TRY(const ValueId slope, l.emit("sub", {l.realConstant(l.declared(0).dtype, 1), square}));
    return l.finish("mul", {l.input(1), slope});
}

Status sigmoidGrad(GraphLowering& l)
{
    LS_TRY(const ValueId scaled, l.emit("mul", {l.input(1), l.input(0)}));
    LS_TRY(const ValueId rest, l.emit("sub", {l.realConstant(l.declared(0).dtype, 1), l.input(0)}));
    return l.finish("mul", {scaled, rest});
}

Status reluGrad(GraphLowering& l)
{
    LS_TRY(const ValueId isPositive, l.emit("greater", {l.input(1), l.realConstant(l.declared(0).dtype, 0)}));
    LS_TRY(const ValueId zeros, l.emit("zeros_like", {l.input(0)}));
    return l.finish("select_v2", {isPositive, l.input(0), zeros});
}

/// y, dy → dx: dy / (2 y)
Status sqrtGrad(GraphLowering& l)
{
    LS_TRY(const ValueId half, l.emit("mul", {l.input(1), l.realConstant(l.declared(0).dtype, 0.5)}));
    return l.finish("div", {half, l.input(0)});
}

/// y, dy → dx: −dy · y³ / 2
Status rsqrtGrad(GraphLowering& l)
{
    LS_TRY(const ValueId square, l.emit("mul", {l.input(0), l.input(0)}));
    LS_TRY(const ValueId cube, l.emit("mul", {square, l.input(0)}));
    LS_TRY(const ValueId half, l.emit("mul", {cube, l.realConstant(l.declared(0).dtype, -0.5)}));
    return l.finish("mul", {l.input(1), half});
}

/// y, dy → dx: −dy · y²
Status reciprocalGrad(GraphLowering& l)
{
    LS_TRY(const ValueId square, l.emit("mul", {l.input(0), l.input(0)}));
    LS_TRY(const ValueId slope, l.emit("neg", {square}));
    return l.finish("mul", {l.input(1), slope});
}

/// The operand on the diagonal of a tensor of twice its dimensions.
Status diag(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    LS_TRY(const ValueId flat, l.emit("reshape", {l.input(0), numbers(l, {-1})}, {}, dtype));
    LS_TRY(const ValueId length, l.shapeOf(flat));
    LS_TRY(const ValueId order, countingTo(l, length));
    LS_TRY(const ValueId column, l.emit("expand_dims", {order, number(l, 1)}, {}, DType::i32));
    LS_TRY(const ValueId isIt, l.emit("equal", {column, order}, {}, DType::boolean));
    LS_TRY(const ValueId matrix, l.emit("select_v2", {isIt, flat, l.realConstant(dtype, 0)}, {}, dtype));
    LS_TRY(const ValueId own, l.shapeOf(l.input(0)));
    LS_TRY(const ValueId twice, joined(l, own, own));
    return l.finish("reshape", {matrix, twice});
}

/// y[i] = Π of x[j] over the j that count for i: a table of both, in which the others are 1.
Status cumprod(GraphLowering& l)
{
    const Shape shape = l.type(l.input(0)).dynamicShape();
    const auto given = l.integers(l.input(1));
    if (!given || given->size() != 1 || !shape.hasRank()) return noForm("its axis is computed, or of an operand of unknown rank");
    const int64_t axis = given->front() < 0 ? given->front() + shape.rank() : given->front();
    if (axis < 0 || axis >= shape.rank()) return noForm("axis " + std::to_string(given->front()));
    const bool isReverse = attributeBool(l.op().attributes, "reverse", false),
               leavesOut = attributeBool(l.op().attributes, "exclusive", false);
    LS_TRY(const ValueId dims, l.shapeOf(l.input(0)));
    LS_TRY(const ValueId length, part(l, dims, axis, 1));
    LS_TRY(const ValueId order, countingTo(l, length));
    LS_TRY(const ValueId column, l.emit("expand_dims", {order, number(l, 1)}, {}, DType::i32));
    const std::string_view kind = isReverse ? (leavesOut ? "less" : "less_equal") : (leavesOut ? "greater" : "greater_equal");
    LS_TRY(ValueId counts, l.emit(kind, {column, order}, {}, DType::boolean));
    std::vector<int64_t> behind(static_cast<size_t>(shape.rank() - axis - 1), 1);
    LS_TRY(const ValueId square, joined(l, length, length));
    LS_TRY(const ValueId whole, joined(l, square, l.integerConstant(DType::i32, behind)));
    LS_TRY(counts, l.emit("reshape", {counts, whole}, {}, DType::boolean));
    LS_TRY(const ValueId lines, l.emit("expand_dims", {l.input(0), number(l, axis)}));
    LS_TRY(const ValueId table, l.emit("select_v2", {counts, lines, l.realConstant(l.declared(0).dtype, 1)}));
    return l.finish("reduce_prod", {table, numbers(l, {axis + 1})});
}

/// features, labels (one number for each class) → −Σ labels · log p, and p − labels
Status crossEntropy(GraphLowering& l, ValueId labels)
{
    LS_TRY(const ValueId logarithms, l.emit("log_softmax", {l.input(0)}));
    LS_TRY(const ValueId products, l.emit("mul", {labels, logarithms}));
    LS_TRY(const ValueId sum, l.emit("sum", {products, numbers(l, {-1})}));
    LS_TRY(const ValueId loss, l.emit("neg", {sum}));
    LS_TRY(const ValueId shares, l.emit("softmax", {l.input(0)}, {{"beta", 1.0}}));
    LS_TRY(const ValueId slope, l.emit("sub", {shares, labels}));
    l.bind(0, loss);
    l.bind(1, slope);
    return {};
}

Status denseCrossEntropy(GraphLowering& l) { return crossEntropy(l, l.input(1)); }

/// The same of labels that are numbers of classes.
Status sparseCrossEntropy(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    LS_TRY(const ValueId dims, l.shapeOf(l.input(0)));
    LS_TRY(const ValueId classes, part(l, dims, 1, 1));
    LS_TRY(const ValueId depth, asScalar(l, classes));
    LS_TRY(const ValueId places, l.asInt32(l.input(1)));
    LS_TRY(const ValueId labels,
           l.emit("one_hot", {places, depth, l.realConstant(dtype, 1), l.realConstant(dtype, 0)}, {{"axis", int64_t{-1}}}, dtype));
    return crossEntropy(l, labels);
}

/// Every bit turned round: those that −1, or the largest number, has.
Status invert(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    const double ones =
        (dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32) ? -1 : static_cast<double>((uint64_t{1} << bitWidth(dtype)) - 1);
    if (bitWidth(dtype) > 32) return noForm("bits of " + std::string(dtypeName(dtype)));
    return l.finish("bitwise_xor", {l.input(0), l.realConstant(dtype, ones)});
}

/// The operand with its last two dimensions swapped, if they are.
Result<ValueId> asFactor(GraphLowering& l, ValueId id, bool isSwapped)
{
    if (!isSwapped) return id;
    const Shape& shape = l.type(id).shape;
    if (!shape.hasRank() || shape.rank() < 2) return noForm("an operand of unknown rank");
    std::vector<int64_t> order(static_cast<size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 2], order.back());
    return l.emit("transpose", {id, l.integerConstant(DType::i32, order)}, {}, l.type(id).dtype);
}

/// TFLite multiplies no matrices of integers: there the products are summed up, Σ a[…, m, k, 1] · b[…, 1, k, n].
Status matMul(GraphLowering& l)
{
    const bool isPlain = l.op().kind.name == "MatMul";
    const bool swapsA = attributeBool(l.op().attributes, isPlain ? "transpose_a" : "adj_x", false);
    const bool swapsB = attributeBool(l.op().attributes, isPlain ? "transpose_b" : "adj_y", false);
    const DType dtype = l.type(l.input(0)).dtype;
    if ((dtype != DType::i32 && dtype != DType::i64) || l.type(l.input(1)).dtype != dtype)
        return l.finish("batch_matmul", l.inputs(), {{"adj_x", swapsA}, {"adj_y", swapsB}});
    LS_TRY(const ValueId a, asFactor(l, l.input(0), swapsA));
    LS_TRY(const ValueId b, asFactor(l, l.input(1), swapsB));
    LS_TRY(const ValueId rows, l.emit("expand_dims", {a, number(l, -1)}, {}, dtype));
    LS_TRY(const ValueId columns, l.emit("expand_dims", {b, number(l, -3)}, {}, dtype));
    LS_TRY(const ValueId products, l.emit("mul", {rows, columns}, {}, dtype));
    return l.finish("sum", {products, numbers(l, {-2})});
}

/// Whether row and column are no further apart than `most`, below 0: however far. `distance`: of each place.
Result<ValueId> isNear(GraphLowering& l, ValueId distance, ValueId most)
{
    LS_TRY(const ValueId limit, l.asInt32(most));
    LS_TRY(const ValueId isIn, l.emit("less_equal", {distance, limit}, {}, DType::boolean));
    LS_TRY(const ValueId isAny, l.emit("less", {limit, number(l, 0)}, {}, DType::boolean));
    return l.emit("logical_or", {isIn, isAny}, {}, DType::boolean);
}

/// What lies near the diagonal, and zeros.
Status bandPart(GraphLowering& l)
{
    const ValueId x = l.input(0);
    const Shape shape = l.type(x).dynamicShape();
    if (!shape.hasRank() || shape.rank() < 2) return noForm("an operand of unknown rank");
    LS_TRY(const ValueId dims, l.shapeOf(x));
    LS_TRY(const ValueId rows, part(l, dims, shape.rank() - 2, 1));
    LS_TRY(const ValueId columns, part(l, dims, shape.rank() - 1, 1));
    LS_TRY(const ValueId down, countingTo(l, rows));
    LS_TRY(const ValueId row, l.emit("expand_dims", {down, number(l, 1)}, {}, DType::i32));
    LS_TRY(const ValueId column, countingTo(l, columns));
    LS_TRY(const ValueId below, l.emit("sub", {row, column}, {}, DType::i32));
    LS_TRY(const ValueId above, l.emit("sub", {column, row}, {}, DType::i32));
    LS_TRY(const ValueId isBelow, isNear(l, below, l.input(1)));
    LS_TRY(const ValueId isAbove, isNear(l, above, l.input(2)));
    LS_TRY(const ValueId isIn, l.emit("logical_and", {isBelow, isAbove}, {}, DType::boolean));
    return l.finish("select_v2", {isIn, x, l.realConstant(l.declared(0).dtype, 0)});
}

constexpr NamedRule kMathRules[] = {
    {"AddN", addN},
    {"BatchMatMul", matMul},
    {"BatchMatMulV2", matMul},
    {"BatchMatMulV3", matMul},
    {"BroadcastGradientArgs", broadcastGradientArgs},
    {"CheckNumerics", isOperand},
    {"ConcatV2", concat},
    {"Conj", conjugate},
    {"Cumprod", cumprod},
    {"Diag", diag},
    {"Empty", empty},
    {"EnsureShape", isOperand},
    {"Expm1", expm1},
    {"Gather", gather},
    {"GatherV2", gather},
    {"Identity", isOperand},
    {"IdentityN", isOperand},
    {"Inv", reciprocal},
    {"InvGrad", reciprocalGrad},
    {"Invert", invert},
    {"InvertPermutation", invertPermutation},
    {"IsFinite", isFinite},
    {"IsNan", isNan},
    {"L2Loss", l2Loss},
    {"Log1p", log1p},
    {"LogicalXor", logicalXor},
    {"MatMul", matMul},
    {"MatrixBandPart", bandPart},
    {"MirrorPad", mirrorPad},
    {"OnesLike", onesLike},
    {"Pack", pack},
    {"PlaceholderWithDefault", isOperand},
    {"PreventGradient", isOperand},
    {"Reciprocal", reciprocal},
    {"ReciprocalGrad", reciprocalGrad},
    {"ReluGrad", reluGrad},
    {"RsqrtGrad", rsqrtGrad},
    {"ShapeN", shapeN},
    {"SigmoidGrad", sigmoidGrad},
    {"Size", size},
    {"Snapshot", isOperand},
    {"SoftmaxCrossEntropyWithLogits", denseCrossEntropy},
    {"Softplus", softplus},
    {"SparseSoftmaxCrossEntropyWithLogits", sparseCrossEntropy},
    {"SqrtGrad", sqrtGrad},
    {"Square", square},
    {"StopGradient", isOperand},
    {"Tan", tan},
    {"TanhGrad", tanhGrad},
    {"Unpack", unpack},
};

} // namespace

std::span<const NamedRule> mathRules() { return kMathRules; }

} // namespace loopscope::lowering
