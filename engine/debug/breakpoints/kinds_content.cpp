// Kinds about what an operator wrote: NaN and infinities, denormals, integers that wrapped, saturation, zeros, a range. They stop after
// the write. A call writes nothing itself: it counts only where it is named.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/text.h"
#include "engine/debug/breakpoints/overflow.h"
#include "engine/exec/executor.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

namespace loopscope {

namespace {

constexpr std::string_view kNothingWritten = "nothing is written there that it could be about";

enum class Abnormal : uint8_t { nan, inf, denormal };

/// Whether the bits of a number without its sign lie in [low, high]. 16 bytes at a time: every write of a run may be looked at.
template <typename Bits> bool anyWithin(const Tensor& tensor, Bits magnitude, Bits low, Bits high)
{
    constexpr int64_t kLanes = 16 / sizeof(Bits);
    typedef Bits Lanes __attribute__((vector_size(16)));
    const Bits* bits = tensor.as<Bits>();
    const int64_t count = tensor.elementCount();
    const Bits span = static_cast<Bits>(high - low);
    int64_t i = 0;
    Lanes found = {};
    for (; i + kLanes <= count; i += kLanes) {
        Lanes v;
        std::memcpy(&v, bits + i, sizeof v);
        found |= reinterpret_cast<Lanes>(((v & magnitude) - low) <= span);
    }
    bool any = false;
    for (int64_t lane = 0; lane < kLanes; ++lane) any |= found[lane] != 0;
    for (; i < count; ++i) any |= static_cast<Bits>((bits[i] & magnitude) - low) <= span;
    return any;
}

/// `exponent` has all bits of the exponent set.
template <typename Bits> bool anyBits(const Tensor& tensor, Bits exponent, Bits sign, Abnormal what)
{
    const Bits magnitude = static_cast<Bits>(~sign);
    const Bits smallest = static_cast<Bits>(exponent & (~exponent + 1)); // of the normal numbers
    switch (what) {
    case Abnormal::nan: return anyWithin<Bits>(tensor, magnitude, static_cast<Bits>(exponent + 1), magnitude);
    case Abnormal::inf: return anyWithin<Bits>(tensor, magnitude, exponent, exponent);
    default: return anyWithin<Bits>(tensor, magnitude, 1, static_cast<Bits>(smallest - 1));
    }
}

bool hasAbnormal(const Tensor& tensor, Abnormal what)
{
    if (!tensor.data || !tensor.shape.isStatic()) return false;
    switch (tensor.dtype) {
    case DType::f32: return anyBits<uint32_t>(tensor, 0x7F800000U, 0x80000000U, what);
    case DType::f64: return anyBits<uint64_t>(tensor, 0x7FF0000000000000U, 0x8000000000000000U, what);
    case DType::f16: return anyBits<uint16_t>(tensor, 0x7C00U, 0x8000U, what);
    case DType::bf16: return anyBits<uint16_t>(tensor, 0x7F80U, 0x8000U, what);
    default: break;
    }
    if (!isFloat(tensor.dtype) && dtypeClass(tensor.dtype) != DTypeClass::complex) return false;
    const TensorStatistics statistics = computeStatistics(tensor);
    switch (what) {
    case Abnormal::nan: return statistics.nan > 0;
    case Abnormal::inf: return statistics.positiveInf + statistics.negativeInf > 0;
    default: return statistics.denormal > 0;
    }
}

/// Operators at places whose results are looked at, and named inputs of graphs when their graph is entered.
class WriteKind : public BreakKind {
public:
    WriteKind(const BreakContext& context, Places places, const std::function<bool(const Operator&, const Value&)>& wants)
        : BreakKind(context),
          m_path(places.path)
    {
        const bool isOne = places.operators.size() == 1;
        for (const PlacedOperator& placed : places.operators) {
            const Graph& graph = model().graph(placed.graph);
            const Operator& op = graph.op(placed.op);
            if (!isOne && callForm(op).kind != CallKind::none) continue;
            for (size_t k = 0; k < op.results.size(); ++k) {
                if (placed.slot >= 0 && static_cast<size_t>(placed.slot) != k) continue;
                if (!wants || wants(op, graph.value(op.results[k])))
                    add({placed.graph, placed.op, trapAfter, static_cast<int32_t>(k), ValueId()});
            }
        }
        for (const PlacedValue& placed : places.values) {
            const Value& value = model().graph(placed.graph).value(placed.value);
            if (wants && !wants(Operator(), value)) continue;
            for (const WriteSite& site : writeSitesOf(model(), placed.graph, placed.value))
                add({placed.graph, site.op, site.trap, -1, placed.value});
        }
    }
    bool met(const BreakEvent& event, const BreakSite& site) final
    {
        if (!m_path.matches(event.executor, event.frames)) return false;
        const Tensor* tensor = nullptr;
        if (site.value.valid()) tensor = event.executor.value(event.frames - 1, site.value);
        else if (static_cast<size_t>(site.slot) < event.op.results.size()) tensor = event.op.results[static_cast<size_t>(site.slot)];
        return tensor && tensor->shape.isStatic() && (tensor->data || tensor->bytes == 0) && isIt(event, site, *tensor);
    }
    int64_t onlyIteration() const override { return m_path.onlyIteration(); }
    ExpressionCost cost() const override { return m_looks ? ExpressionCost::perWrite : ExpressionCost::constant; }

protected:
    virtual bool isIt(const BreakEvent&, const BreakSite&, const Tensor&) { return true; }
    bool m_looks = true; ///< at the elements

private:
    PathFilter m_path;
};

class AnyWriteKind final : public WriteKind {
public:
    AnyWriteKind(const BreakContext& context, Places places) : WriteKind(context, std::move(places), nullptr) { m_looks = false; }
};

bool isFloatOrUnknown(const Operator&, const Value& value)
{
    return isFloat(value.type.dtype) || dtypeClass(value.type.dtype) == DTypeClass::complex || value.type.dtype == DType::unknown;
}

class AbnormalKind final : public WriteKind {
public:
    AbnormalKind(const BreakContext& context, Places places, Abnormal what, bool born)
        : WriteKind(context, std::move(places), isFloatOrUnknown),
          m_what(what),
          m_born(born)
    {
        if (what == Abnormal::nan) m_cause = StopCause::nan;
    }

protected:
    bool isIt(const BreakEvent& event, const BreakSite& site, const Tensor& tensor) override
    {
        if (!hasAbnormal(tensor, m_what)) return false;
        if (!m_born) return true;
        if (!event.isAfter || callForm(operatorAt(site)).kind != CallKind::none) return false;
        for (const ValueId input : operatorAt(site).inputs) {
            const Tensor* read = input.valid() ? event.executor.value(event.frames - 1, input) : nullptr;
            if (read && hasAbnormal(*read, m_what)) return false;
        }
        return true;
    }

private:
    Abnormal m_what;
    bool m_born;
};

class OverflowKind final : public WriteKind {
public:
    OverflowKind(const BreakContext& context, Places places) : WriteKind(context, std::move(places), wants) {}

protected:
    bool isIt(const BreakEvent& event, const BreakSite& site, const Tensor& tensor) override
    {
        if (!event.isAfter) return false;
        m_inputs.clear();
        for (const ValueId input : operatorAt(site).inputs)
            m_inputs.push_back(input.valid() ? event.executor.value(event.frames - 1, input) : nullptr);
        return hasOverflow(operatorAt(site), m_inputs, tensor);
    }

private:
    static bool wants(const Operator& op, const Value& value)
    {
        return canOverflow(op) && (isInteger(value.type.dtype) || value.type.dtype == DType::unknown) && !value.type.quantization;
    }
    std::vector<const Tensor*> m_inputs;
};

/// A number of elements, or a share of them.
struct Share {
    double bound = 0;
    bool isPercent = false, orEqual = true;
    bool holds(int64_t count, int64_t elements) const
    {
        const double value = isPercent ? (elements > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(elements) : 0)
                                       : static_cast<double>(count);
        return orEqual ? value >= bound : value > bound;
    }
};

class ShareKind final : public WriteKind {
public:
    ShareKind(const BreakContext& context, Places places, Share share, int64_t TensorStatistics::*count)
        : WriteKind(context, std::move(places), nullptr),
          m_share(share),
          m_count(count)
    {
    }

protected:
    bool isIt(const BreakEvent& event, const BreakSite&, const Tensor& tensor) override
    {
        const TensorStatistics& statistics = event.statistics.of(tensor);
        return m_share.holds(statistics.*m_count, statistics.elements);
    }

private:
    Share m_share;
    int64_t TensorStatistics::*m_count;
};

class RangeKind final : public WriteKind {
public:
    RangeKind(const BreakContext& context, Places places, double low, double high)
        : WriteKind(context, std::move(places), nullptr),
          m_low(low),
          m_high(high)
    {
    }

protected:
    bool isIt(const BreakEvent& event, const BreakSite&, const Tensor& tensor) override
    {
        const TensorStatistics& statistics = event.statistics.of(tensor);
        if (statistics.finite > 0 && (statistics.min < m_low || statistics.max > m_high)) return true;
        const bool isAbove = statistics.positiveInf > 0 && m_high < HUGE_VAL;
        return isAbove || (statistics.negativeInf > 0 && m_low > -HUGE_VAL);
    }

private:
    double m_low, m_high;
};

/// "KIND [PATTERN]": operators at the pattern, or everywhere.
Result<Places> somewhere(const BreakContext& context, FrameContext frame, std::span<const std::string> operands, std::string_view name)
{
    if (operands.size() > 1) return wrongOperands(name);
    if (operands.empty()) return allPlaces(context.target);
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    if (!places.isInvocation) return places;
    return resolvePlaces(context.target, frame, places.text + "/..."); // an invocation stands for all that happens in it
}

std::string behind(const Places& places) { return places.text.empty() ? "" : " " + places.text; }

Result<std::unique_ptr<BreakKind>> makeAbnormal(const BreakContext& context, FrameContext frame, std::span<const std::string> operands,
                                                std::string_view name, Abnormal what)
{
    const bool born = what == Abnormal::nan && !operands.empty() && operands[0] == "born";
    if (born) operands = operands.subspan(1);
    LS_TRY(Places places, somewhere(context, frame, operands, name));
    const std::string text = places.text;
    const std::string head = std::string(name) + (born ? " born" : "") + behind(places);
    return finished(std::make_unique<AbnormalKind>(context, std::move(places), what, born), head, text, kNothingWritten);
}

std::string numberText(double number)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    for (int digits = 1; digits < 17; ++digits) { // the shortest that reads back
        char shorter[32];
        std::snprintf(shorter, sizeof shorter, "%.*g", digits, number);
        if (std::strtod(shorter, nullptr) == number) return shorter;
    }
    return text;
}

Result<std::unique_ptr<BreakKind>> makeShare(const BreakContext& context, FrameContext frame, std::span<const std::string> operands,
                                             std::string_view name, int64_t TensorStatistics::*count)
{
    if (operands.size() < 2) return wrongOperands(name);
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    std::string bound;
    for (const std::string& word : operands.subspan(1)) bound += word;
    Share share;
    if (!bound.starts_with(">")) return wrongOperands(name);
    share.orEqual = bound.starts_with(">=");
    std::string_view number = std::string_view(bound).substr(share.orEqual ? 2 : 1);
    share.isPercent = number.ends_with("%");
    if (share.isPercent) number.remove_suffix(1);
    LS_TRY(share.bound, parseNumber(number, "a bound"));
    const std::string text = places.text;
    const std::string head =
        std::string(name) + " " + text + (share.orEqual ? " >= " : " > ") + numberText(share.bound) + (share.isPercent ? "%" : "");
    return finished(std::make_unique<ShareKind>(context, std::move(places), share, count), head, text, kNothingWritten);
}

} // namespace

Result<std::unique_ptr<BreakKind>> makeNan(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeAbnormal(context, frame, operands, "nan", Abnormal::nan);
}

Result<std::unique_ptr<BreakKind>> makeInf(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeAbnormal(context, frame, operands, "inf", Abnormal::inf);
}

Result<std::unique_ptr<BreakKind>> makeDenormal(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeAbnormal(context, frame, operands, "denormal", Abnormal::denormal);
}

Result<std::unique_ptr<BreakKind>> makeOverflow(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    LS_TRY(Places places, somewhere(context, frame, operands, "overflow"));
    const std::string text = places.text;
    const std::string head = "overflow" + behind(places);
    return finished(std::make_unique<OverflowKind>(context, std::move(places)), head, text, kNothingWritten);
}

Result<std::unique_ptr<BreakKind>> makeSaturated(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeShare(context, frame, operands, "saturated", &TensorStatistics::saturated);
}

Result<std::unique_ptr<BreakKind>> makeZeros(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    return makeShare(context, frame, operands, "zeros", &TensorStatistics::zeros);
}

Result<std::unique_ptr<BreakKind>> makeWrite(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("write");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const std::string text = places.text;
    return finished(std::make_unique<AnyWriteKind>(context, std::move(places)), "write " + text, text, kNothingWritten);
}

Result<std::unique_ptr<BreakKind>> makeRange(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() != 3) return wrongOperands("range");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    LS_TRY(const double low, parseNumber(operands[1], "the lower bound"));
    LS_TRY(const double high, parseNumber(operands[2], "the upper bound"));
    if (low > high) return Error(ErrorCode::usage, "the lower bound lies above the upper one").found(operands[1] + " and " + operands[2]);
    const std::string text = places.text;
    const std::string head = "range " + text + " " + numberText(low) + " " + numberText(high);
    return finished(std::make_unique<RangeKind>(context, std::move(places), low, high), head, text, kNothingWritten);
}

} // namespace loopscope
