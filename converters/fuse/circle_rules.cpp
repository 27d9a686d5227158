// Norms that Circle has operators for and TFLite has not.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

/// The axes of a reduction that keeps its dimensions. Empty: they are `wanted`, or count from behind to them.
std::string axesAre(Site& site, const Match& match, std::string_view name, const std::vector<int64_t>& wanted)
{
    const OperatorId id = match.op(name);
    const Operator& op = site.editor().op(id);
    std::optional<std::vector<int64_t>> axes = site.constants().integers(op.inputs.at(1));
    const Shape& shape = site.typeOf(op.inputs[0]).shape;
    if (!axes || !shape.hasRank()) return site.described(id) + " is not over constant axes of a tensor of known rank";
    for (int64_t& axis : *axes) axis = axis < 0 ? axis : axis - shape.rank();
    if (*axes != wanted) return site.described(id) + " is over other axes";
    return attributeBool(op.attributes, "keep_dims", false) ? "" : site.described(id) + " does not keep the dimensions";
}

/// As many numbers as channels, along the last dimension.
std::string isRow(Site& site, const Match& match, std::string_view name)
{
    const Numbers& numbers = *site.constants().floats(match.value(name));
    const Shape& shape = site.typeOf(match.value("x")).shape;
    const bool fits = shape.hasRank() && numbers.shape.rank() == 1 && numbers.shape[0] == shape.back();
    return fits ? "" : "'" + site.editor().value(match.value(name)).id + "' is not one number for each channel";
}

std::string isScalar(Site& site, const Match& match)
{
    return site.constants().floats(match.value("$e"))->isOne() ? "" : "the epsilon is no scalar";
}

std::string rmsNorm(Site& site, const Match& match)
{
    std::string reason = axesAre(site, match, "mean", {-1});
    if (reason.empty()) reason = isScalar(site, match);
    return reason.empty() ? isRow(site, match, "$g") : reason;
}

std::string plainRmsNorm(Site& site, const Match& match)
{
    if (site.typeOf(match.value("x")).dynamicShape().back() < 0) return "the number of channels is not known";
    const std::string reason = axesAre(site, match, "mean", {-1});
    return reason.empty() ? isScalar(site, match) : reason;
}

/// A factor behind a norm goes into the norm's own.
Outcome scaledNorm(Site& site, OperatorId root)
{
    const Operator product = site.editor().op(root);
    if (product.inputs.size() != 2 || activationOf(product) != "NONE") return Outcome::nothing();
    for (const size_t side : {1, 0}) {
        std::vector<OperatorId> ops;
        const OperatorId inner = site.producer(product.inputs[1 - side], &ops);
        if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "rms_norm") continue;
        const Operator norm = site.editor().op(inner);
        const Numbers *const factor = site.constants().floats(product.inputs[side]), *const own = site.constants().floats(norm.inputs[1]);
        const auto declined = [](std::string reason) { return Outcome::declined("RMS_NORM", std::move(reason)); };
        if (factor == nullptr || own == nullptr) return declined("the other operand is no constant");
        const auto factors = perChannel(*factor, static_cast<int64_t>(own->values.size()), site.shapeOf(norm.inputs[0]).rank());
        if (!factors) return declined("the constant is no scalar and not one number for each channel");
        ops.insert(ops.begin(), inner);
        ops.push_back(root);
        if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
        std::vector<float> both = own->values;
        for (size_t c = 0; c < both.size(); ++c) both[c] *= (*factors)[c];
        OperatorDraft draft;
        draft.kind = norm.kind;
        draft.attributes = norm.attributes;
        draft.inputs = norm.inputs;
        draft.inputs[1] =
            site.constant(site.nameOf(root) + "/gamma", Shape{static_cast<int64_t>(both.size())}, std::span<const float>(both), root);
        draft.results = {site.typeOf(product.results[0])};
        return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
    }
    return Outcome::nothing();
}

std::string instanceNorm(Site& site, const Match& match)
{
    const Shape& shape = site.typeOf(match.value("x")).shape;
    if (!shape.hasRank() || shape.rank() != 4) return "not of rank 4";
    std::string reason = isScalar(site, match);
    for (const char* const mean : {"mean", "variance"})
        if (reason.empty()) reason = axesAre(site, match, mean, {-3, -2});
    for (const char* const row : {"$g", "$o"})
        if (reason.empty()) reason = isRow(site, match, row);
    return reason;
}

/// Half of the last dimension of x, from `begin` on.
std::string isHalf(Site& site, const Match& match, std::string_view name, int64_t begin)
{
    const OperatorId id = match.op(name);
    const Operator& op = site.editor().op(id);
    const Shape &whole = site.typeOf(match.value("x")).shape, &part = site.typeOf(op.results[0]).shape;
    const auto begins = site.constants().integers(op.inputs[1]);
    bool fits = whole.isStatic() && part.isStatic() && part.rank() == whole.rank() && begins &&
                static_cast<int>(begins->size()) == whole.rank() && begins->back() == begin && part.back() * 2 == whole.back();
    for (int d = 0; fits && d + 1 < whole.rank(); ++d) fits = part[d] == whole[d];
    if (fits && op.inputs.size() > 3) { // a strided slice
        const auto strides = site.constants().integers(op.inputs[3]);
        fits = strides && std::ranges::all_of(*strides, [](int64_t stride) { return stride == 1; }) &&
               attributeInt(op.attributes, "shrink_axis_mask", 0) == 0 && attributeInt(op.attributes, "new_axis_mask", 0) == 0 &&
               attributeInt(op.attributes, "ellipsis_mask", 0) == 0 &&
               (attributeInt(op.attributes, "begin_mask", 0) >> (whole.rank() - 1) & 1) == 0;
    }
    return fits ? "" : site.described(id) + " is not half of the last dimension";
}

std::string rope(Site& site, const Match& match)
{
    const Shape& shape = site.typeOf(match.value("x")).shape;
    if (!shape.isStatic() || shape.rank() != 4 || shape[3] % 2 != 0) return "not of rank 4 with an even number of channels";
    for (const char* const name : {"?sin", "?cos"}) {
        const Shape& own = site.typeOf(match.value(name)).shape;
        if (!own.isStatic() || own.elementCount() != shape[3] || own.back() != shape[3])
            return "'" + site.editor().value(match.value(name)).id + "' is not one number for each channel";
    }
    const int64_t axis = attributeInt(site.editor().op(match.op("both")).attributes, "axis", 0);
    if (axis != 3 && axis != -1) return site.described(match.op("both")) + " is along another axis";
    std::string reason = isHalf(site, match, "second", shape[3] / 2);
    return reason.empty() ? isHalf(site, match, "first", 0) : reason;
}

Rule ofCircle(Rule rule)
{
    rule.isOfCircle = true;
    return rule;
}

} // namespace

std::span<const Rule> circleRules()
{
    constexpr auto kReal = FusionEquality::realEqual;
    static const std::vector<Rule> rules = {
        ofCircle(
            {"rms-norm",
             kReal,
             {"mul(mul(x, rsqrt(add(mean:mean(mul(x, x), ?a), $e))), $g)", "mul(mul(x, rsqrt(add(mean:mean(square(x), ?a), $e))), $g)",
              "mul(div(x, sqrt(add(mean:mean(mul(x, x), ?a), $e))), $g)", "mul(div(x, sqrt(add(mean:mean(square(x), ?a), $e))), $g)",
              "mul(x, mul(rsqrt(add(mean:mean(square(x), ?a), $e)), $g))", "mul(mul(x, pow(add(mean:mean(square(x), ?a), $e), -0.5)), $g)"},
             "circle.rms_norm(x, $g) epsilon=$e",
             rmsNorm}),
        {.name = "rms-norm-plain", // late: where a factor follows, the rule above takes that in
         .equality = kReal,
         .patterns = {"mul(x, rsqrt(add(mean:mean(mul(x, x), ?a), $e)))", "mul(x, rsqrt(add(mean:mean(square(x), ?a), $e)))",
                      "div(x, sqrt(add(mean:mean(mul(x, x), ?a), $e)))", "div(x, sqrt(add(mean:mean(square(x), ?a), $e)))",
                      "mul(x, pow(add(mean:mean(square(x), ?a), $e), -0.5))"},
         .replacement = "circle.rms_norm(x, ones) epsilon=$e",
         .condition = plainRmsNorm,
         .isLate = true,
         .isOfCircle = true},
        {.name = "rms-norm-scaled", .equality = kReal, .roots = {"mul"}, .apply = scaledNorm, .isOfCircle = true},
        ofCircle(
            {"instance-norm",
             kReal,
             {"add(mul(mul(sub(x, mean:mean(x, ?a)), rsqrt(add(variance:mean(squared_difference(x, mean(x, ?a)), ?b), $e))), $g), $o)",
              "add(mul(div(sub(x, mean:mean(x, ?a)), sqrt(add(variance:mean(squared_difference(x, mean(x, ?a)), ?b), $e))), $g), $o)",
              "add(mul(mul(sub(x, mean:mean(x, ?a)), rsqrt(add(variance:mean(square(sub(x, mean(x, ?a))), ?b), $e))), $g), $o)",
              "add(mul(x, mul(rsqrt(add(variance:mean(squared_difference(x, mean:mean(x, ?a)), ?b), $e)), $g)), sub($o, mul(mean(x, ?a), "
              "mul(rsqrt(add(mean(squared_difference(x, mean(x, ?a)), ?b), $e)), $g))))"},
             "circle.instance_norm(x, $g, $o) epsilon=$e",
             instanceNorm}),
        ofCircle(
            {"rope",
             kReal,
             {"add(mul(x, ?cos), mul(both:concatenation(neg(second:slice(x, ?a, ?b)), first:slice(x, ?c, ?d)), ?sin))",
              "add(mul(x, ?cos), mul(both:concatenation(neg(second:strided_slice(x, ?a, ?b, ?s)), first:strided_slice(x, ?c, ?d, ?t)), "
              "?sin))"},
             "circle.rope(x, ?sin, ?cos) mode=GPT_NEOX",
             rope}),
    };
    return rules;
}

} // namespace loopscope::fusing
