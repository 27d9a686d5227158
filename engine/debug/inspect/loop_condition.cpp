#include "engine/debug/inspect/loop_condition.h"

#include "engine/base/text.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/ir/flow_role.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

namespace {

constexpr size_t kLastIterations = 64; ///< that values are compared over

/// What one side of the comparison is and how it goes.
struct Side {
    std::string name;
    DType dtype = DType::unknown;
    bool isNumber = false;
    double number = 0;
    double step = 0; ///< per iteration, where it is known
    bool hasStep = false;
};

Side sideOf(const Graph& cond, ValueId id, const std::vector<Track>& tracks)
{
    Side side;
    const Value& value = cond.value(id);
    side.name = value.role == ValueRole::constant ? constantText(value) : value.id;
    side.dtype = value.type.dtype;
    if (value.role == ValueRole::constant && value.constant && value.constant->hasBytes() && value.type.shape.isStatic() &&
        value.type.shape.elementCount() == 1 && bitWidth(side.dtype) >= 8 && value.constant->size() >= byteSize(side.dtype, 1)) {
        Tensor tensor;
        tensor.dtype = side.dtype;
        tensor.data = const_cast<std::byte*>(value.constant->bytes().data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
        tensor.bytes = value.constant->size();
        side.isNumber = side.hasStep = true;
        side.number = elementAsReal(tensor, 0);
        return side;
    }
    if (value.role == ValueRole::result) { // a Const node, or one that is handed into a frame
        const Operator* op = &cond.op(value.producer);
        if (flowRole(*op) == FlowRole::enter && !op->inputs.empty() && cond.value(op->inputs[0]).role == ValueRole::result)
            op = &cond.op(cond.value(op->inputs[0]).producer);
        if (const std::optional<Tensor> tensor = constantNode(*op)) {
            side.name = numberText(*tensor, 0, false);
            side.isNumber = side.hasStep = true;
            side.number = elementAsReal(*tensor, 0);
            return side;
        }
    }
    for (const Track& track : tracks) {
        if (track.value != id || !track.isScalar || track.last.empty()) continue;
        side.isNumber = true;
        side.number = track.number;
        side.hasStep = track.isInvariant || track.last.size() >= 3;
        if (track.isInvariant) continue;
        for (size_t i = 1; i < track.last.size(); ++i) {
            const double step = track.last[i] - track.last[i - 1];
            if (i == 1) side.step = step;
            else if (step != side.step) side.hasStep = false;
        }
    }
    return side;
}

std::string countText(double number)
{
    return std::fabs(number) < 9e15 && number == std::floor(number) ? groupThousands(static_cast<int64_t>(number))
                                                                    : realNumberText(number, 7);
}

std::string extremeText(DType dtype, double number)
{
    if (!isInteger(dtype) || bitWidth(dtype) > 32) return "";
    if (number == static_cast<double>(integerMax(dtype))) return ", the largest " + std::string(dtypeName(dtype));
    if (number == static_cast<double>(integerMin(dtype)) && integerMin(dtype) != 0)
        return ", the smallest " + std::string(dtypeName(dtype));
    return "";
}

std::string mirrored(const std::string& sign)
{
    if (sign == "<") return ">";
    if (sign == "<=") return ">=";
    if (sign == ">") return "<";
    if (sign == ">=") return "<=";
    return sign;
}

/// "arg0 wraps after iteration 2,147,483,647": where an integer runs over its end.
std::string wrapText(const Side& moving, int64_t iteration)
{
    if (!isInteger(moving.dtype) || bitWidth(moving.dtype) > 32 || moving.step == 0) return "";
    const double limit = moving.step > 0 ? static_cast<double>(integerMax(moving.dtype)) : static_cast<double>(integerMin(moving.dtype));
    const double after = static_cast<double>(iteration) + std::floor((limit - moving.number) / moving.step);
    return " " + moving.name + " wraps after iteration " + countText(after) + ".";
}

/// What follows from a comparison between a number that moves and one that stays. Empty: nothing.
std::string verdict(Side moving, Side fixed, std::string sign, int64_t iteration)
{
    if (!moving.isNumber || !fixed.isNumber || !moving.hasStep || !fixed.hasStep) return "";
    if (moving.step == 0 && fixed.step != 0) {
        std::swap(moving, fixed);
        sign = mirrored(sign);
    }
    if (moving.step == 0 && fixed.step == 0) return "";
    if (fixed.step != 0) return "";
    const std::string type(dtypeName(fixed.dtype));
    if (!extremeText(fixed.dtype, fixed.number).empty()) {
        const bool isLargest = fixed.number > 0;
        if (sign == "<=" && isLargest)
            return "No " + type + " is greater than " + fixed.name + ": the loop cannot end." + wrapText(moving, iteration);
        if (sign == ">=" && !isLargest)
            return "No " + type + " is less than " + fixed.name + ": the loop cannot end." + wrapText(moving, iteration);
    }
    const double distance = fixed.number - moving.number, step = moving.step;
    double left = -1;
    if (sign == "<" && step > 0) left = std::ceil(distance / step);
    if (sign == "<=" && step > 0) left = std::floor(distance / step) + 1;
    if (sign == ">" && step < 0) left = std::ceil(distance / step);
    if (sign == ">=" && step < 0) left = std::floor(distance / step) + 1;
    if (sign == "!=") {
        const double trips = distance / step;
        if (trips >= 0 && trips == std::floor(trips)) left = trips;
        else if (isInteger(moving.dtype))
            return moving.name + " does not meet " + fixed.name + " any more: the loop goes on until it has wrapped." +
                   wrapText(moving, iteration);
        else return moving.name + " passes " + fixed.name + " without meeting it.";
    }
    if (sign == "==") return "It ends as soon as " + moving.name + " differs from " + fixed.name + ".";
    if (left >= 0)
        return "If " + moving.name + " goes on like this, the loop ends in " + countText(left) +
               (left == 1 ? " iteration, at @" : " iterations, at @") + std::to_string(iteration + static_cast<int64_t>(left)) + ".";
    return moving.name + " moves away from " + fixed.name + "." + wrapText(moving, iteration);
}

/// A line for each operand of the condition.
std::string trackText(const Track& track, const Value& value)
{
    if (!track.isScalar) return track.isInvariant ? "never changes" : "is no single number; now " + track.now;
    const std::string now = track.now + extremeText(value.type.dtype, track.number);
    if (track.isInvariant) return "never changes: " + now;
    bool same = true, linear = true;
    const double step = track.last.size() > 1 ? track.last[1] - track.last[0] : 0;
    for (size_t i = 1; i < track.last.size(); ++i) {
        same = same && track.last[i] == track.last[i - 1];
        linear = linear && track.last[i] - track.last[i - 1] == step;
    }
    if (track.last.size() < 2) return "now " + now;
    if (same) return "has not changed in the last " + std::to_string(track.last.size()) + " iterations: " + now;
    if (linear && track.last.size() > 2)
        return (step > 0 ? "grows by " : "falls by ") + countText(std::fabs(step)) + " each iteration; now " + now;
    const auto [low, high] = std::ranges::minmax_element(track.last);
    return "changes between " + countText(*low) + " and " + countText(*high) + " over the last " + std::to_string(track.last.size()) +
           " iterations; now " + now;
}

} // namespace

void Track::note(const Tensor& tensor)
{
    if (!tensor.data) return;
    isScalar = tensor.elementCount() == 1;
    now = shortValue(tensor); // it may be gone where the question is asked
    if (!isScalar) return;
    number = elementAsReal(tensor, 0);
    last.push_back(number);
    if (last.size() > kLastIterations) last.pop_front();
}

std::string shortValue(const Tensor& tensor)
{
    if (tensor.elementCount() == 1) return numberText(tensor, 0);
    const TensorStatistics s = computeStatistics(tensor);
    return "min " + realNumberText(s.min, 5) + ", max " + realNumberText(s.max, 5);
}

std::string conditionText(const std::string& expression, const Verdict& verdict, int64_t iteration)
{
    if (verdict.text.empty() || verdict.iteration != iteration) return expression;
    return expression + ": " + verdict.text + " at @" + std::to_string(iteration);
}

void addLeafLines(Explanation& answer, const Graph& graph, const std::vector<Track>& tracks)
{
    size_t width = 0;
    for (const Track& track : tracks) width = std::max(width, graph.value(track.value).id.size());
    for (const Track& track : tracks) {
        std::string name = graph.value(track.value).id;
        name.resize(width, ' ');
        answer.lines.push_back("  " + name + "  " + trackText(track, graph.value(track.value)));
    }
}

std::string comparisonVerdict(const Graph& graph, ValueId condition, const std::vector<Track>& tracks, int64_t iteration)
{
    const ComparisonText comparison = comparisonOf(graph, condition);
    if (comparison.sign.empty()) return "";
    return verdict(sideOf(graph, comparison.left, tracks), sideOf(graph, comparison.right, tracks), comparison.sign, iteration);
}

} // namespace loopscope
