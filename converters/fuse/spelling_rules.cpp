// The same activations in other words: by a choice, by absolute values, by one another.
#include "converters/fuse/pattern.h"

#include <string>
#include <vector>

namespace loopscope::fusing {

namespace {

/// Each expression with each of `words` in the place of `$$`.
std::vector<std::string> spelled(const std::vector<std::string>& expressions, const std::vector<std::string>& words)
{
    std::vector<std::string> all;
    for (const std::string& expression : expressions)
        for (const std::string& word : words) {
            std::string text = expression;
            for (size_t at = text.find("$$"); at != std::string::npos; at = text.find("$$", at + word.size())) text.replace(at, 2, word);
            all.push_back(std::move(text));
        }
    return all;
}

std::string oneSlope(Site& site, const Match& match)
{
    const Numbers& slope = *site.constants().floats(match.value("$a"));
    return slope.isOne() && slope.shape.rank() <= 1 ? "" : "the slope is no scalar";
}

std::string severalSlopes(Site& site, const Match& match) { return oneSlope(site, match).empty() ? "the slope is a scalar" : ""; }

constexpr auto kReal = FusionEquality::realEqual;
constexpr auto kApproximate = FusionEquality::approximate;

Rule whereItHolds(Rule rule, std::string of, std::string relation, double limit = 0)
{
    rule.equality = kApproximate;
    rule.domainOf = std::move(of);
    rule.relation = std::move(relation);
    rule.limit = limit;
    return rule;
}

std::vector<Rule> clampsAndSlopes()
{
    const std::vector<std::string> isPositive = {"greater(x, 0)", "greater_equal(x, 0)", "less(0, x)", "less_equal(0, x)"};
    const std::vector<std::string> isNegative = {"less(x, 0)", "less_equal(x, 0)", "greater(0, x)", "greater_equal(0, x)"};
    std::vector<std::string> relu = spelled({"select($$, x, 0)", "select($$, x, zeros_like(x))"}, isPositive);
    for (std::string& text : spelled({"select($$, 0, x)", "select($$, zeros_like(x), x)"}, isNegative)) relu.push_back(std::move(text));
    std::vector<std::string> halves = spelled({"mul($$, 0.5)", "div($$, 2)"}, {"add(x, abs(x))"});
    halves.insert(halves.end(), {"neg(minimum(neg(x), 0))", "sub(x, minimum(x, 0))"});
    const std::vector<std::string> sloped = {"sub(relu(x), mul($a, relu(neg(x))))", "add(relu(x), mul($a, minimum(x, 0)))"};
    std::vector<std::string> chosen = spelled({"select($$, x, mul(x, $a))"}, isPositive);
    for (std::string& text : spelled({"select($$, mul(x, $a), x)"}, isNegative)) chosen.push_back(std::move(text));
    return {
        whereItHolds({.name = "relu-by-choice", .patterns = relu, .replacement = "relu(x)"}, "x", "is a number"),
        whereItHolds({.name = "relu-by-halves", .patterns = halves, .replacement = "relu(x)"}, "x", "is a number"),
        {.name = "leaky-relu-of-negatives",
         .equality = kReal,
         .patterns = spelled({"select($$, mul(x, $a), x)"}, isNegative),
         .replacement = "leaky_relu(x) alpha=$a",
         .condition = oneSlope,
         .domainOf = "x",
         .relation = "is finite"},
        {.name = "leaky-relu-of-two",
         .equality = kReal,
         .patterns = sloped,
         .replacement = "leaky_relu(x) alpha=$a",
         .condition = oneSlope,
         .domainOf = "x",
         .relation = "is finite"},
        {.name = "prelu-by-choice",
         .equality = kReal,
         .patterns = chosen,
         .replacement = "prelu(x, $a)",
         .condition = severalSlopes,
         .domainOf = "x",
         .relation = "is finite"},
        {.name = "prelu-of-two",
         .equality = kReal,
         .patterns = sloped,
         .replacement = "prelu(x, $a)",
         .condition = severalSlopes,
         .domainOf = "x",
         .relation = "is finite"},
    };
}

std::vector<Rule> smoothFunctions()
{
    return {
        {.name = "logistic-by-tanh",
         .equality = kReal,
         .patterns = spelled({"mul(0.5, add(1, tanh($$)))", "add(0.5, mul(0.5, tanh($$)))", "div(add(1, tanh($$)), 2)",
                              "prod(0.5, total(1, tanh($$)))", "total(0.5, prod(0.5, tanh($$)))"},
                             {"mul(x, 0.5)", "div(x, 2)"}),
         .replacement = "logistic(x)"},
        whereItHolds({.name = "logistic-by-exp",
                      .patterns = {"div(e:exp(x), add(1, e:exp(x)))", "prod(e:exp(x), inv(total(1, e:exp(x))))"},
                      .replacement = "logistic(x)"},
                     "x", "<=", 88.72),
        {.name = "tanh-by-logistic",
         .equality = kReal,
         .patterns = spelled({"sub(mul(2, logistic($$)), 1)", "add(mul(2, logistic($$)), -1)"}, {"mul(2, x)", "add(x, x)"}),
         .replacement = "tanh(x)"},
        whereItHolds({.name = "tanh-by-exp",
                      .patterns = {"div(sub(p:exp(x), q:exp(neg(x))), sum:add(p:exp(x), q:exp(neg(x))))"},
                      .replacement = "tanh(x)"},
                     "sum", "is finite"),
        {.name = "swish-by-division",
         .equality = kReal,
         .patterns = {"div(x, add(1, exp(neg(x))))", "prod(x, inv(total(1, exp(prod(-1, x)))))"},
         .replacement = "label:SWISH"},
        {.name = "hard-swish-by-hard-sigmoid",
         .equality = kReal,
         .patterns = {"prod(x, relu_0_to_1(total(0.5, prod(0.16666667, x))))"},
         .replacement = "hard_swish(x)"},
        {.name = "elu-in-two-halves",
         .equality = kReal,
         .patterns = {"add(relu(x), sub(exp(minimum(x, 0)), 1))", "add(relu(x), add(exp(minimum(x, 0)), -1))",
                      "add(relu(x), Expm1(minimum(x, 0)))", "total(-1, relu(x), exp(minimum(x, 0)))",
                      "add(relu(x), minimum(sub(exp(x), 1), 0))", "add(relu(x), minimum(add(exp(x), -1), 0))"},
         .replacement = "elu(x)"},
        {.name = "elu-by-choice",
         .equality = kReal,
         .patterns = spelled({"select(greater(x, 0), x, $$)", "select(greater_equal(x, 0), x, $$)", "select(less(x, 0), $$, x)",
                              "select(less_equal(x, 0), $$, x)"},
                             {"sub(exp(x), 1)", "add(exp(x), -1)", "Expm1(x)", "sub(exp(minimum(x, 0)), 1)", "add(exp(minimum(x, 0)), -1)",
                              "Expm1(minimum(x, 0))"}),
         .replacement = "elu(x)"},
        {.name = "gelu-by-logistic",
         .equality = kReal,
         .patterns = {"prod(x, logistic(prod(1.5957691, total(x, prod(0.044715, x, x, x)))))",
                      "prod(x, logistic(prod(1.5957691, x, total(1, prod(0.044715, x, x)))))"},
         .replacement = "gelu(x) approximate=true"},
        {.name = "softmax-of-log", .equality = kReal, .patterns = {"exp(log_softmax(x))"}, .replacement = "softmax(x) beta=1.0"},
        {.name = "squared-difference",
         .equality = kReal,
         .patterns = {"square(d:sub(?x, ?y))", "pow(d:sub(?x, ?y), 2)", "prod(sq(d:sub(?x, ?y)))"},
         .replacement = "squared_difference(?x, ?y)", // the square of more has the largest number for infinity
         .domainOf = "d",
         .relation = "within",
         .limit = 1e19},
        whereItHolds({.name = "log-of-softmax",
                      .patterns = {"log(s:softmax(x))"},
                      .replacement = "log_softmax(x)",
                      .condition = [](Site& site, const Match& match) -> std::string {
                          return attributeFloat(site.editor().op(match.op("s")).attributes, "beta", 1.0) == 1.0 ? "" : "beta is not 1";
                      }},
                     "s", ">"),
    };
}

} // namespace

std::span<const Rule> spellingRules()
{
    static const std::vector<Rule> rules = [] {
        std::vector<Rule> all = clampsAndSlopes();
        for (Rule& rule : smoothFunctions()) all.push_back(std::move(rule));
        return all;
    }();
    return rules;
}

} // namespace loopscope::fusing
