// Products in their plainest form: by the inverse of a constant instead of a division, FULLY_CONNECTED without reshapes around it, and
// instead of BATCH_MATMUL where one matrix is constant; means of means.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <cmath>

namespace loopscope::fusing {

namespace {

/// x / c is x · (1 / c), but for a rounding.
Outcome inverseOfConstant(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.inputs.size() != 2 || site.typeOf(op.results[0]).dtype != DType::f32) return Outcome::nothing();
    const Numbers* const divisor = site.constants().floats(op.inputs[1]);
    if (divisor == nullptr || site.constants().floats(op.inputs[0]) != nullptr) return Outcome::nothing();
    Numbers inverse = *divisor;
    for (float& number : inverse.values) {
        if (number == 0) return Outcome::declined("MUL", "division by 0");
        number = 1.0F / number;
        if (!std::isnormal(number)) return Outcome::declined("MUL", "the inverse of a constant is no ordinary number");
    }
    OperatorDraft draft;
    draft.kind = site.isTensorFlow() ? Kind{"tf", "Mul"} : Kind{"tfl", "mul"};
    draft.attributes = op.attributes;
    draft.inputs = {op.inputs[0],
                    site.constant(site.nameOf(root) + "/inverse", inverse.shape, std::span<const float>(inverse.values), root)};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

bool isPlain(const Operator& op)
{
    const std::string_view format = attributeWord(op.attributes, "weights_format", "DEFAULT");
    return op.kind.dialect == "tfl" && op.inputs.size() >= 2 && format == "DEFAULT";
}

bool hasBias(const Operator& op) { return op.inputs.size() > 2 && op.inputs[2].valid(); }

/// A matrix of one column: every number times a row.
Outcome productOfOne(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (!isPlain(op) || hasBias(op)) return Outcome::nothing();
    const Numbers* const weights = site.constants().floats(op.inputs[1]);
    const Shape x = site.shapeOf(op.inputs[0]);
    if (weights == nullptr || weights->shape.rank() != 2 || weights->shape[1] != 1 || !x.hasRank() || x.rank() == 0)
        return Outcome::nothing();
    if (x.back() != 1) return Outcome::declined("MUL", "the operand has several numbers in a row");
    if (x.rank() != 2 && !attributeBool(op.attributes, "keep_num_dims", false))
        return Outcome::declined("MUL", "the result is no longer a matrix");
    const std::vector<float> row = weights->values;
    OperatorDraft draft;
    draft.kind = {"tfl", "mul"};
    draft.attributes = {{"act", Word{std::string(activationOf(op))}}};
    draft.inputs = {op.inputs[0],
                    site.constant(site.nameOf(root) + "/row", Shape{static_cast<int64_t>(row.size())}, std::span<const float>(row), root)};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

/// A product of matrices, the second of which is one constant matrix.
Outcome productWithConstant(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.inputs.size() != 2 || site.typeOf(op.results[0]).dtype != DType::f32) return Outcome::nothing();
    const Numbers* const matrix = site.constants().floats(op.inputs[1]);
    if (matrix == nullptr || matrix->shape.rank() < 2) return Outcome::nothing();
    if (matrix->shape.rank() != 2) return Outcome::declined("FULLY_CONNECTED", "there are several constant matrices");
    if (attributeBool(op.attributes, "adj_x", false)) return Outcome::declined("FULLY_CONNECTED", "the first operand is transposed");
    const Shape x = site.shapeOf(op.inputs[0]);
    if (!x.hasRank() || x.rank() < 2) return Outcome::nothing();
    static constexpr int kSwap[] = {1, 0};
    const Numbers weights = attributeBool(op.attributes, "adj_y", false) ? *matrix : transposed(*matrix, kSwap);
    OperatorDraft draft;
    draft.kind = {"tfl", "fully_connected"};
    if (x.rank() > 2) draft.attributes = {{"keep_num_dims", true}};
    draft.inputs = {op.inputs[0],
                    site.constant(site.nameOf(root) + "/weights", weights.shape, std::span<const float>(weights.values), root), ValueId()};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

/// The sum of two products of one operand is the product with the sum of both weights.
Outcome sumOfProducts(Site& site, OperatorId root)
{
    const Operator& op = site.editor().op(root);
    if (op.inputs.size() != 2 || activationOf(op) != "NONE") return Outcome::nothing();
    std::vector<OperatorId> ops;
    const OperatorId first = site.producer(op.inputs[0], &ops), second = site.producer(op.inputs[1], &ops);
    if (!first.valid() || !second.valid() || first == second) return Outcome::nothing();
    std::optional<Affine> sum = readAffine(site, first);
    std::optional<Affine> added = readAffine(site, second);
    if (!sum || !added || sum->kind != "fully_connected" || added->kind != sum->kind || sum->inputs != added->inputs)
        return Outcome::nothing();
    const auto declined = [](std::string reason) { return Outcome::declined("FULLY_CONNECTED", std::move(reason)); };
    for (const Affine* affine : {&sum.value(), &added.value()}) {
        if (!affine->refused.empty()) return declined(affine->refused);
        if (affine->weights.values.empty()) return declined("the weights are no constants");
        if (affine->activation() != "NONE")
            return declined(site.described(affine->op) + " has " + affine->activation() + " before the sum");
        if (affine->isFakeQuantized) return declined("the weights are quantized, each with a scale of its own");
    }
    if (sum->weights.shape != added->weights.shape) return declined("the products are of different shapes");
    if (sum->attributes != added->attributes) return declined("the products have different attributes");
    ops.insert(ops.begin(), {first, second});
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    for (size_t k = 0; k < sum->weights.values.size(); ++k) sum->weights.values[k] += added->weights.values[k];
    for (size_t c = 0; c < sum->bias.size() && c < added->bias.size(); ++c) sum->bias[c] += added->bias[c];
    sum->hasBias = sum->hasBias || added->hasBias;
    sum->isChanged = true;
    return Outcome::made(writeAffine(site, *sum, std::move(ops), {}));
}

/// The operator makes rows of what it gets by itself.
Outcome rowsBeforeProduct(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (!isPlain(op) || attributeBool(op.attributes, "keep_num_dims", false)) return Outcome::nothing();
    const OperatorId inner = site.producer(op.inputs[0]);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "reshape") return Outcome::nothing();
    const ValueId source = site.editor().op(inner).inputs[0];
    const Shape from = site.shapeOf(source), to = site.shapeOf(op.inputs[0]);
    if (!from.isStatic() || !to.isStatic() || from.rank() < 2 || to.rank() < 1) return Outcome::nothing();
    if (from.back() != to.back()) return Outcome::declined("FULLY_CONNECTED", site.described(inner) + " makes other rows");
    const OperatorId ops[] = {inner, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined("FULLY_CONNECTED", *reason);
    OperatorDraft draft;
    draft.kind = op.kind;
    draft.attributes = op.attributes;
    draft.inputs = op.inputs;
    draft.inputs[0] = source;
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({inner, root}, std::move(draft), {}));
}

/// Dimensions that are put back behind the product it can keep.
Outcome dimensionsBehindProduct(Site& site, OperatorId root)
{
    const Operator reshape = site.editor().op(root);
    if (site.isTensorFlow() || reshape.inputs.empty()) return Outcome::nothing();
    const OperatorId inner = site.producer(reshape.inputs[0]);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "fully_connected") return Outcome::nothing();
    const Operator op = site.editor().op(inner);
    if (!isPlain(op) || attributeBool(op.attributes, "keep_num_dims", false)) return Outcome::nothing();
    Shape wanted = site.shapeOf(op.inputs[0]);
    const Shape to = site.shapeOf(reshape.results[0]), rows = site.shapeOf(op.results[0]), weights = site.shapeOf(op.inputs[1]);
    if (!wanted.isStatic() || !to.isStatic() || !rows.isStatic() || !weights.isStatic() || wanted.rank() < 3 || weights.rank() != 2)
        return Outcome::nothing();
    if (wanted.back() != weights[1] || rows.rank() == 0) return Outcome::nothing();
    wanted[wanted.rank() - 1] = rows.back();
    if (to != wanted) return Outcome::declined("FULLY_CONNECTED (dimensions kept)", "the reshape does more than to put dimensions back");
    const TensorType &is = site.typeOf(reshape.results[0]), &was = site.typeOf(op.results[0]);
    if (!sameQuantization(is.quantization, was.quantization)) return Outcome::nothing();
    const OperatorId ops[] = {inner, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root))
        return Outcome::declined("FULLY_CONNECTED (dimensions kept)", *reason);
    OperatorDraft draft;
    draft.kind = op.kind;
    draft.attributes = op.attributes;
    setAttribute(draft.attributes, "keep_num_dims", true);
    draft.inputs = op.inputs;
    draft.results = {is};
    return Outcome::made(site.fuse({inner, root}, std::move(draft), {}));
}

/// The mean of means over other dimensions is the mean over all.
Outcome meanOfMeans(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    std::vector<OperatorId> ops;
    if (outer.inputs.size() != 2) return Outcome::nothing();
    const OperatorId middle = site.producer(outer.inputs[0], &ops);
    if (!middle.valid() || neutralKind(site.editor().op(middle).kind) != "mean") return Outcome::nothing();
    const Operator inner = site.editor().op(middle);
    const bool keeps = attributeBool(outer.attributes, "keep_dims", false);
    if (keeps != attributeBool(inner.attributes, "keep_dims", false))
        return Outcome::declined("MEAN", "one of both keeps its dimensions, the other does not");
    const Shape shape = site.shapeOf(inner.inputs[0]);
    const auto a = site.constants().integers(inner.inputs.at(1)), b = site.constants().integers(outer.inputs[1]);
    if (!a || !b || !shape.hasRank() || site.typeOf(outer.results[0]).dtype != DType::f32) return Outcome::nothing();
    std::vector<bool> isMean(static_cast<size_t>(shape.rank()), false);
    const auto take = [&](std::span<const int64_t> axes, bool isOfWhole) {
        std::vector<size_t> left; // dimensions of the operand, by their place in what is left
        for (size_t d = 0; d < isMean.size(); ++d)
            if (isOfWhole || !isMean[d]) left.push_back(d);
        for (int64_t axis : axes) {
            if (axis < 0) axis += static_cast<int64_t>(left.size());
            if (axis < 0 || axis >= static_cast<int64_t>(left.size())) return false;
            isMean[left[static_cast<size_t>(axis)]] = true;
        }
        return true;
    };
    if (!take(*a, true) || !take(*b, keeps)) return Outcome::nothing();
    std::vector<int32_t> both;
    for (size_t d = 0; d < isMean.size(); ++d)
        if (isMean[d]) both.push_back(static_cast<int32_t>(d));
    ops.insert(ops.begin(), middle);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined("MEAN", *reason);
    OperatorDraft draft;
    draft.kind = {"tfl", "mean"};
    draft.attributes = {{"keep_dims", keeps}};
    draft.inputs = {inner.inputs[0], site.constant(site.nameOf(root) + "/axes", Shape{static_cast<int64_t>(both.size())},
                                                   std::span<const int32_t>(both), root)};
    draft.results = {site.typeOf(outer.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// What is reduced need not be brought into another order first, where the dimensions that are left stand in the old one.
Outcome reductionOfTransposed(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    std::vector<OperatorId> ops;
    if (outer.inputs.size() != 2) return Outcome::nothing();
    const OperatorId before = site.producer(outer.inputs[0], &ops);
    if (!before.valid() || neutralKind(site.editor().op(before).kind) != "transpose") return Outcome::nothing();
    const Operator transpose = site.editor().op(before);
    const auto order = site.constants().integers(transpose.inputs.at(1)), axes = site.constants().integers(outer.inputs[1]);
    if (!order || !axes || site.typeOf(outer.results[0]).dtype != DType::f32) return Outcome::nothing();
    const std::string kind(neutralKind(outer.kind));
    const std::string name = upperCase(kind);
    const bool keeps = attributeBool(outer.attributes, "keep_dims", false);
    std::vector<bool> isReduced(order->size(), false);
    std::vector<int32_t> moved;
    for (int64_t axis : *axes) {
        if (axis < 0) axis += static_cast<int64_t>(order->size());
        if (axis < 0 || axis >= static_cast<int64_t>(order->size())) return Outcome::nothing();
        if (!isReduced[static_cast<size_t>(axis)]) moved.push_back(static_cast<int32_t>((*order)[static_cast<size_t>(axis)]));
        isReduced[static_cast<size_t>(axis)] = true;
    }
    int64_t last = -1;
    for (size_t d = 0; d < order->size(); ++d) {
        if (isReduced[d]) continue;
        if (keeps ? (*order)[d] != static_cast<int64_t>(d) : (*order)[d] < last)
            return Outcome::declined(name, "the dimensions that are left are in another order");
        last = (*order)[d];
    }
    std::ranges::sort(moved);
    ops.insert(ops.begin(), before);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(name, *reason);
    OperatorDraft draft;
    draft.kind = {"tfl", kind};
    draft.attributes = {{"keep_dims", keeps}};
    draft.inputs = {transpose.inputs[0], site.constant(site.nameOf(root) + "/axes", Shape{static_cast<int64_t>(moved.size())},
                                                       std::span<const int32_t>(moved), root)};
    draft.results = {site.typeOf(outer.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

} // namespace

std::span<const Rule> productRules()
{
    constexpr auto kReal = FusionEquality::realEqual;
    constexpr auto kExact = FusionEquality::exact;
    static const std::vector<Rule> rules = {
        {.name = "inverse-of-constant", .equality = kReal, .roots = {"div"}, .apply = inverseOfConstant, .isLate = true, .isModest = true},
        {.name = "product-of-one", .equality = kReal, .roots = {"fully_connected"}, .apply = productOfOne, .isLate = true},
        {.name = "product-with-constant", .equality = kReal, .roots = {"batch_matmul"}, .apply = productWithConstant},
        {.name = "rows-before-product", .equality = kExact, .roots = {"fully_connected"}, .apply = rowsBeforeProduct},
        {.name = "dimensions-behind-product", .equality = kExact, .roots = {"reshape"}, .apply = dimensionsBehindProduct},
        {.name = "sum-of-products", .equality = kReal, .roots = {"add"}, .apply = sumOfProducts},
        {.name = "reduction-of-transposed",
         .equality = kReal,
         .roots = {"mean", "sum", "reduce_max", "reduce_min"},
         .apply = reductionOfTransposed},
        {.name = "mean-of-means", .equality = kReal, .roots = {"mean"}, .apply = meanOfMeans},
    };
    return rules;
}

} // namespace loopscope::fusing
