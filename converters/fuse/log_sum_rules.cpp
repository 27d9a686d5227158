// Softmax and its logarithm by way of log Σ exp(x), which libraries have as a function of its own. What they take away first is the
// maximum, or 0 where that is infinite.
#include "converters/fuse/cells.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <string>
#include <vector>

namespace loopscope::fusing {

namespace {

/// An expression with each way to write the number that is taken away in the place of `$$`.
std::vector<std::string> shifted(const std::string& expression, bool takesPlain = true)
{
    std::vector<std::string> shifts = finiteMaxima();
    if (takesPlain) shifts.insert(shifts.begin(), "max:reduce_max(x, ?axis)");
    std::vector<std::string> all;
    for (const std::string& shift : shifts) {
        std::string text = expression;
        for (size_t at = text.find("$$"); at != std::string::npos; at = text.find("$$", at + shift.size())) text.replace(at, 2, shift);
        all.push_back(std::move(text));
    }
    return all;
}

/// Whether an operator puts a last dimension of size 1 behind the others, as `x[…, None]` does.
bool addsDimension(Site& site, const Operator& op, const Shape& shape)
{
    if (cellKind(op) != "strided_slice") return true;
    const auto strides = op.inputs.size() > 3 ? site.constants().integers(op.inputs[3]) : std::nullopt;
    const int64_t others = (int64_t{1} << (shape.rank() - 1)) - 1;
    const auto takesAll = [&](const char* mask) { return (attributeInt(op.attributes, mask, 0) & others) == others; };
    return strides && std::ranges::all_of(*strides, [](int64_t stride) { return stride == 1; }) && takesAll("begin_mask") &&
           takesAll("end_mask") && attributeInt(op.attributes, "new_axis_mask", 0) == others + 1 &&
           attributeInt(op.attributes, "ellipsis_mask", 0) == 0 && attributeInt(op.attributes, "shrink_axis_mask", 0) == 0;
}

/// That both reductions are over the last dimension, which comes back by itself or by a reshape.
std::string overLast(Site& site, const Match& match)
{
    const OperatorId back = match.op("back");
    std::string reason = lastAxis(site, match, "sum", !back.valid());
    if (reason.empty() && match.op("max").valid()) reason = lastAxis(site, match, "max", true);
    if (!reason.empty() || !back.valid()) return reason;
    Shape wanted = site.shapeOf(match.value("x"));
    if (!wanted.hasRank() || wanted.rank() == 0) return "the shape is not known";
    wanted[wanted.rank() - 1] = 1;
    const Operator& op = site.editor().op(back);
    const bool isBack = site.shapeOf(op.results[0]) == wanted && addsDimension(site, op, wanted);
    return isBack ? "" : site.described(back) + " does not put the last dimension back";
}

} // namespace

const std::vector<std::string>& finiteMaxima()
{
    static const std::string most = "max:reduce_max(x, ?axis)", again = "reduce_max(x, ?axis)";
    static const std::vector<std::string> all = {
        "select(IsFinite(" + most + "), " + again + ", 0)", "select(IsFinite(" + most + "), " + again + ", zeros_like(" + again + "))",
        "select(equal(sub(" + most + ", " + again + "), 0), " + again + ", 0)", // as it is lowered for TFLite
    };
    return all;
}

std::span<const Rule> logSumRules()
{
    static const std::vector<Rule> rules = [] {
        std::vector<std::string> whole = shifted("sub(x, add(log(sum:sum(exp(sub(x, $$)), ?axis)), $$))");
        std::vector<std::string> plain = {"sub(x, log(sum:sum(exp(x), ?axis)))"};
        for (const auto& [name, rest] :
             {std::pair("reshape(", ", ?t))"), std::pair("expand_dims(", ", ?t))"), std::pair("StridedSlice(", ", ?t, ?u, ?v))")}) {
            const std::string back = std::string("sub(x, back:") + name;
            // TensorFlow's reduce_logsumexp gives what was taken away the shape of the logarithm, which it may ask for.
            for (const char* const shape : {"?s", "Shape(log(sum(exp(sub(x, $$)), ?axis)))", "shape(log(sum(exp(sub(x, $$)), ?axis)))"})
                for (std::string& text : shifted(back + "add(log(sum:sum(exp(sub(x, $$)), ?axis)), reshape($$, " + shape + "))" + rest))
                    whole.push_back(std::move(text));
            plain.push_back(back + "log(sum:sum(exp(x), ?axis))" + rest);
        }
        for (std::string& text : shifted("sub(sub(x, $$), log(sum:sum(exp(sub(x, $$)), ?axis)))", false)) whole.push_back(std::move(text));
        std::vector<Rule> all = {
            {.name = "log-softmax-by-log-sum",
             .patterns = std::move(whole),
             .replacement = "log_softmax(x)",
             .condition = overLast,
             .domainOf = "x",
             .relation = "is finite"},
            {.name = "log-softmax-unshifted", // exp of more overflows, of less is 0
             .equality = FusionEquality::approximate,
             .patterns = std::move(plain),
             .replacement = "log_softmax(x)",
             .condition = overLast,
             .domainOf = "x",
             .relation = "within",
             .limit = 87},
        };
        return all;
    }();
    return rules;
}

} // namespace loopscope::fusing
