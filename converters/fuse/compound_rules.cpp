// Functions that TensorFlow programs write out and TFLite has an operator for.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <cmath>

namespace loopscope::fusing {

std::string lastAxis(Site& site, const Match& match, std::string_view name, bool keepsDims)
{
    const OperatorId id = match.op(name);
    const Operator& op = site.editor().op(id);
    const std::optional<std::vector<int64_t>> axes = site.constants().integers(op.inputs[1]);
    if (!axes || axes->size() != 1) return site.described(id) + " is not over one constant axis";
    const Shape& shape = site.editor().value(site.behindIdentities(op.inputs[0])).type.shape;
    const Shape& source = site.editor().value(site.behindIdentities(match.value("x"))).type.shape;
    const int rank = shape.hasRank() ? shape.rank() : source.hasRank() ? source.rank() : -1;
    if ((*axes)[0] != -1 && (rank < 0 || (*axes)[0] != rank - 1))
        return site.described(id) + " is over axis " + std::to_string((*axes)[0]) + ", not the last one";
    if (keepsDims && !attributeBool(op.attributes, "keep_dims", false))
        return site.described(id) + " does not keep the dimension: it broadcasts along another axis";
    return "";
}

namespace {

std::string softmaxCondition(Site& site, const Match& match)
{
    std::string reason = lastAxis(site, match, "sum", true);
    if (reason.empty() && match.op("max").valid()) reason = lastAxis(site, match, "max", true);
    return reason;
}

std::string normCondition(Site& site, const Match& match)
{
    std::string reason = lastAxis(site, match, "sum", true);
    if (!reason.empty() || !match.value("$e").valid()) return reason;
    const Numbers& epsilon = *site.constants().floats(match.value("$e"));
    if (!epsilon.isOne() || !(epsilon.values[0] >= 0 && epsilon.values[0] <= 1.0001e-12F))
        return "epsilon " + std::to_string(epsilon.values[0]) + " would be lost: the operator's own is 1e-12 of the squares";
    return "";
}

/// What is added or compared behind the root: the operator divides by 1e-6 at least.
std::string rootCondition(Site& site, const Match& match)
{
    std::string reason = lastAxis(site, match, "sum", true);
    if (!reason.empty()) return reason;
    const Numbers& epsilon = *site.constants().floats(match.value("$e"));
    if (!epsilon.isOne() || !(epsilon.values[0] >= 0 && epsilon.values[0] <= 1.0001e-6F))
        return "epsilon " + std::to_string(epsilon.values[0]) + " would be lost: the operator's own is 1e-6 of the norm";
    return "";
}

/// What the inverse of the norm is held below: the operator divides by 1e-6 at least.
std::string inverseCondition(Site& site, const Match& match)
{
    std::string reason = lastAxis(site, match, "sum", true);
    if (!reason.empty()) return reason;
    const Numbers& most = *site.constants().floats(match.value("$e"));
    if (!most.isOne() || !(most.values[0] >= 0.9999e6F))
        return "norms below " + std::to_string(1 / most.values[0]) + " would be lost: the operator's own limit is 1e-6";
    return "";
}

std::string slopeCondition(Site& site, const Match& match)
{
    const Numbers& slope = *site.constants().floats(match.value("$a"));
    if (!slope.isSplat() || slope.shape.rank() > 1 || !slope.isOne()) return "the slope is no scalar";
    return std::abs(slope.values[0]) < 1 ? "" : "slope " + std::to_string(slope.values[0]) + " is not below 1";
}

std::string scalarSlope(Site& site, const Match& match)
{
    const Numbers& slope = *site.constants().floats(match.value("$a"));
    return slope.isOne() && slope.shape.rank() <= 1 ? "" : "the slope is no scalar";
}

/// Whether factors before and behind the place can go into weights.
std::string isBetweenProducts(Site& site, const Match& match)
{
    const auto takes = [&](OperatorId op) {
        const std::optional<Affine> affine = readAffine(site, op);
        return affine && affine->refused.empty() && !affine->weights.values.empty() && !affine->isFakeQuantized;
    };
    const OperatorId before = site.producer(match.value("x"));
    if (!before.valid() || !takes(before) || activationOf(site.editor().op(before)) != "NONE")
        return "no product stands before it that takes a factor in";
    const std::span<const ValueUse> uses = site.editor().uses(site.editor().op(match.ops.back()).results[0]);
    if (uses.size() != 1 || uses[0].kind != ValueUse::Kind::operand || !takes(uses[0].op))
        return "no product stands behind it that takes a factor in";
    for (const ValueUse& use : site.editor().uses(match.value("x")))
        if (use.kind != ValueUse::Kind::operand || std::ranges::find(match.ops, use.op) == match.ops.end())
            return site.described(before) + " has another reader";
    return "";
}

constexpr auto kReal = FusionEquality::realEqual;
constexpr auto kExact = FusionEquality::exact;
constexpr auto kApproximate = FusionEquality::approximate;

/// A rule that is equal where a value of its patterns lies so.
Rule onDomain(Rule rule, std::string of, std::string relation, double limit = 0)
{
    rule.domainOf = std::move(of);
    rule.relation = std::move(relation);
    rule.limit = limit;
    return rule;
}

/// A hard swish of which inner results go through the steps of a scale and back, as networks are trained for integers.
std::vector<std::string> roundedHardSwishes()
{
    std::vector<std::string> patterns;
    for (const std::string last : {"mul($, 0.16666667)", "div($, 6)"})
        for (const std::string rounded :
             {"r:FakeQuantWithMinMaxVars($, ?a, ?b)", "r:FakeQuantWithMinMaxArgs($)", "r:fake_quant($)", "r:dequantize(quantize($))"}) {
            const auto put = [](std::string around, const std::string& what) { return around.replace(around.find('$'), 1, what); };
            const std::string clamp = "relu6(add(x, 3))";
            patterns.push_back(put(last, "mul(x, " + put(rounded, clamp) + ")"));
            patterns.push_back(put(last, put(rounded, "mul(x, " + clamp + ")")));
            patterns.push_back(put(last, put(rounded, "mul(x, " + put(rounded.substr(2), clamp) + ")")));
        }
    return patterns;
}

std::vector<std::string> softmaxes()
{
    std::vector<std::string> patterns = {
        "div(exp(sub(x, max:reduce_max(x, ?axis))), sum:sum(exp(sub(x, reduce_max(x, ?axis))), ?axis))",
        "mul(exp(sub(x, max:reduce_max(x, ?axis))), div(1, sum:sum(exp(sub(x, reduce_max(x, ?axis))), ?axis)))",
        "prod(exp(sub(x, max:reduce_max(x, ?axis))), inv(sum:sum(exp(sub(x, reduce_max(x, ?axis))), ?axis)))"};
    for (const std::string& most : finiteMaxima())
        patterns.push_back("div(e:exp(sub(x, " + most + ")), sum:sum(e:exp(sub(x, " + most + ")), ?axis))");
    return patterns;
}

std::string roundedCondition(Site& site, const Match& match)
{
    return site.described(match.op("r")) + " rounds to the steps of a scale on the way, which the operator does not";
}

std::string shiftedCondition(Site& site, const Match& match)
{
    if (attributeFloat(site.editor().op(match.op("softmax")).attributes, "beta", 1.0) != 1.0) return "beta is not 1";
    return lastAxis(site, match, "max", true);
}

} // namespace

std::span<const Rule> compoundRules()
{
    static const std::vector<Rule> rules = {
        {"hard-swish-rounded", kApproximate, roundedHardSwishes(), "hard_swish(x)", roundedCondition},
        {"hard-swish",
         kReal,
         {"mul(mul(x, relu6(add(x, 3))), 0.16666667)", "mul(x, mul(relu6(add(x, 3)), 0.16666667))",
          "mul(mul(x, 0.16666667), relu6(add(x, 3)))", "mul(div(x, 6), relu6(add(x, 3)))", "div(mul(x, relu6(add(x, 3))), 6)",
          "mul(x, div(relu6(add(x, 3)), 6))", "prod(0.16666667, x, relu6(total(3, x)))"},
         "hard_swish(x)"},
        {"gelu-erf",
         kReal,
         {"prod(0.5, x, total(1, erf(prod(0.70710677, x))))", "prod(x, total(0.5, prod(0.5, erf(prod(0.70710677, x)))))",
          "prod(0.5, x, erfc(prod(-0.70710677, x)))"},
         "gelu(x) approximate=false"},
        {"gelu-tanh",
         kReal,
         {"prod(0.5, x, total(1, tanh(prod(0.7978846, total(x, prod(0.044715, x, x, x))))))",
          "prod(0.5, x, total(1, tanh(prod(0.7978846, x, total(1, prod(0.044715, x, x))))))",
          "prod(0.5, x, total(1, tanh(total(prod(0.7978846, x), prod(0.035677407, x, x, x)))))",
          "prod(x, total(0.5, prod(0.5, tanh(prod(0.7978846, total(x, prod(0.044715, x, x, x)))))))",
          "prod(x, total(0.5, prod(0.5, tanh(prod(0.7978846, x, total(1, prod(0.044715, x, x)))))))"},
         "gelu(x) approximate=true"},
        {"softmax", kReal, softmaxes(), "softmax(x) beta=1.0", softmaxCondition},
        {.name = "softmax-unshifted", // exp of more than this overflows
         .equality = kApproximate,
         .patterns = {"div(e:exp(x), sum:sum(e:exp(x), ?axis))", "mul(e:exp(x), div(1, sum:sum(e:exp(x), ?axis)))",
                      "prod(e:exp(x), inv(sum:sum(e:exp(x), ?axis)))"},
         .replacement = "softmax(x) beta=1.0",
         .condition = softmaxCondition,
         .domainOf = "x",
         .relation = "<=",
         .limit = 88.72},
        {"softmax-shifted", // which it does itself
         kReal,
         {"softmax:softmax(sub(x, max:reduce_max(x, ?axis)))"},
         "softmax(x) beta=1.0",
         shiftedCondition},
        onDomain({"log-softmax", // a difference has the largest number for infinity
                  kReal,
                  {"sub(sub(x, max:reduce_max(x, ?axis)), log(sum:sum(exp(sub(x, reduce_max(x, ?axis))), ?axis)))"},
                  "log_softmax(x)",
                  softmaxCondition},
                 "x", "is finite"),
        onDomain({"l2-norm",
                  kApproximate,
                  {"mul(x, rsqrt(sum:sum(mul(x, x), ?axis)))", "mul(x, rsqrt(sum:sum(square(x), ?axis)))",
                   "mul(x, rsqrt(maximum(sum:sum(square(x), ?axis), $e)))", "mul(x, rsqrt(maximum(sum:sum(mul(x, x), ?axis), $e)))",
                   "mul(x, rsqrt(add(sum:sum(square(x), ?axis), $e)))", "mul(x, rsqrt(add(sum:sum(mul(x, x), ?axis), $e)))",
                   "div(x, sqrt(sum:sum(square(x), ?axis)))", "div(x, sqrt(sum:sum(mul(x, x), ?axis)))",
                   "div(x, sqrt(maximum(sum:sum(square(x), ?axis), $e)))", "div(x, sqrt(add(sum:sum(square(x), ?axis), $e)))",
                   "div(x, sqrt(maximum(sum:sum(mul(x, x), ?axis), $e)))", "div(x, sqrt(add(sum:sum(mul(x, x), ?axis), $e)))",
                   "prod(x, invroot(sum:sum(prod(x, x), ?axis)))", "prod(x, invroot(total($e, sum:sum(prod(x, x), ?axis))))",
                   "prod(x, invroot(maximum(sum:sum(prod(x, x), ?axis), $e)))"},
                  "l2_normalization(x)",
                  normCondition},
                 "sum", ">", 1e-12),
        onDomain({"l2-norm-behind-the-root",
                  kApproximate,
                  {"div(x, maximum(sqrt(sum:sum(square(x), ?axis)), $e))", "div(x, maximum(sqrt(sum:sum(mul(x, x), ?axis)), $e))",
                   "prod(x, inv(maximum(sqrt(sum:sum(prod(x, x), ?axis)), $e)))"},
                  "l2_normalization(x)",
                  rootCondition},
                 "sum", ">", 1e-12),
        onDomain({"l2-norm-by-a-limited-inverse",
                  kApproximate,
                  {"mul(x, minimum(rsqrt(sum:sum(square(x), ?axis)), $e))", "mul(x, minimum(rsqrt(sum:sum(mul(x, x), ?axis)), $e))",
                   "prod(x, minimum(rsqrt(sum:sum(prod(x, x), ?axis)), $e))"},
                  "l2_normalization(x)",
                  inverseCondition},
                 "sum", ">", 1e-12),
        onDomain({"l2-norm-beside-the-root", // what is added is 1e-5 of such a norm
                  kApproximate,
                  {"div(x, add(sqrt(sum:sum(square(x), ?axis)), $e))", "div(x, add(sqrt(sum:sum(mul(x, x), ?axis)), $e))",
                   "prod(x, inv(total($e, root_of:sqrt(sum:sum(prod(x, x), ?axis)))))"},
                  "l2_normalization(x)",
                  rootCondition},
                 "sum", ">", 0.01),
    };
    return rules;
}

std::span<const Rule> elementRules()
{
    static const std::vector<Rule> rules = {
        {"logistic", kReal, {"div(1, add(1, exp(neg(x))))", "prod(1, inv(total(1, exp(prod(-1, x)))))"}, "logistic(x)"},
        onDomain({"rsqrt", kApproximate, {"div(1, sqrt(x))"}, "rsqrt(x)"}, "x", ">"), // a division has the largest number for infinity
        {"elu",
         kReal,
         {"select(greater(x, 0), x, sub(exp(select(greater(x, 0), ?zero, x)), 1))", "select(greater(x, 0), x, sub(exp(x), 1))"},
         "elu(x)",
         [](Site& site, const Match& match) -> std::string {
             const ValueId zero = match.value("?zero");
             const Numbers* const numbers = zero.valid() ? site.constants().floats(zero) : nullptr;
             if (!zero.valid() || (numbers != nullptr && numbers->isSplat() && numbers->values[0] == 0)) return "";
             const OperatorId producer = site.producer(zero);
             if (producer.valid() && site.editor().op(producer).kind.name == "ZerosLike") return "";
             return "the branch that is not taken is not 0";
         }},
        onDomain({"leaky-relu-max", kExact, {"maximum(mul(x, $a), x)"}, "leaky_relu(x) alpha=$a", slopeCondition}, "x", "is finite"),
        onDomain({"leaky-relu-select",
                  kReal,
                  {"select(greater_equal(x, 0), x, mul(x, $a))", "select(greater(x, 0), x, mul(x, $a))"},
                  "leaky_relu(x) alpha=$a",
                  scalarSlope},
                 "x", "is finite"),
        onDomain({"prelu", kReal, {"add(relu(x), mul($a, relu(neg(x))))"}, "prelu(x, -$a)"}, "x", "is finite"),
        onDomain({"prelu-of-absolute", // as other converters write it
                  kReal,
                  {"add(relu(x), mul(mul($a, sub(x, abs(x))), 0.5))", "add(relu(x), mul($a, mul(sub(x, abs(x)), 0.5)))"},
                  "prelu(x, $a)"},
                 "x", "is finite"),
        onDomain({"pow-half", kApproximate, {"pow(x, 0.5)"}, "sqrt(x)"}, "x", ">"),
        onDomain({"pow-minus-half", kApproximate, {"pow(x, -0.5)"}, "rsqrt(x)"}, "x", ">"),
        {"pow-two", kReal, {"pow(x, 2)"}, "square(x)"},
        {"pow-one", kExact, {"pow(x, 1)"}, "x"},
        {"squared-difference-relu", kExact, {"relu(squared_difference(x, y))"}, "squared_difference(x, y)"},
        onDomain({"relu6-written-out",
                  kApproximate,
                  {"minimum(relu(x), 6)", "relu(minimum(x, 6))", "minimum(maximum(x, 0), 6)", "maximum(minimum(x, 6), 0)"},
                  "relu6(x)"},
                 "x", "is a number"),
        onDomain({"relu-n1-to-1", kApproximate, {"minimum(maximum(x, -1), 1)", "maximum(minimum(x, 1), -1)"}, "relu_n1_to_1(x)"}, "x",
                 "is a number"),
        onDomain({"relu-0-to-1",
                  kApproximate,
                  {"minimum(maximum(x, 0), 1)", "maximum(minimum(x, 1), 0)", "minimum(relu(x), 1)", "relu(minimum(x, 1))"},
                  "relu_0_to_1(x)"},
                 "x", "is a number"),
        onDomain({"maximum-zero", kApproximate, {"maximum(x, 0)"}, "relu(x)", nullptr, {}, nullptr, true}, "x", "is a number"),
        onDomain({"maximum-of-nothing", kApproximate, {"maximum(x, -inf)"}, "x"}, "x", "is a number"), // JAX begins a softmax so
        onDomain({"relu-of-mask", kApproximate, {"mul(x, cast(greater(x, 0)))"}, "relu(x)"}, "x", "is finite"),
        onDomain({"mul-one", kExact, {"mul(x, 1)", "div(x, 1)"}, "x"}, "x", "is finite"), // a product has the largest number for infinity
        {"add-zero", kReal, {"add(x, 0)", "sub(x, 0)", "add(x, zeros_like(x))"}, "x"},    // −0 + 0 is 0
        {"gelu-of-scaled", // between products into which converters have put the factors, and rules for products put them again
         kApproximate,
         {"mul(x, add(1, erf(x)))"},
         "mul(1.4142135, gelu(mul(1.4142135, x)))",
         isBetweenProducts},
        {"swish", kReal, {"mul(x, logistic(x))"}, "label:SWISH"},
    };
    return rules;
}

} // namespace loopscope::fusing
