// Operators that make values from little: fill, range.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"
#include "engine/ops/number_range.h"
#include "engine/tensor/half.h"

#include <cmath>

using namespace loopscope;

namespace loopscope {
namespace {

int64_t integerScalar(const Tensor& t)
{
    switch (t.dtype) {
    case DType::i8: return *t.as<int8_t>();
    case DType::i16: return *t.as<int16_t>();
    case DType::i32: return *t.as<int32_t>();
    default: return *t.as<int64_t>();
    }
}

/// `value` rounded to the precision of `dtype`.
float roundTo(DType dtype, float value)
{
    if (dtype == DType::f16) return f16ToFloat(floatToF16(value));
    if (dtype == DType::bf16) return bf16ToFloat(floatToBf16(value));
    return value;
}

Error badStep(std::string start, std::string limit, std::string delta)
{
    return InferContext::violated(2, "step")
        .found(std::move(delta))
        .expected("one that leads from " + std::move(start) + " to " + std::move(limit));
}

} // namespace

float realScalar(const Tensor& t)
{
    switch (t.dtype) {
    case DType::f16: return f16ToFloat(*t.as<uint16_t>());
    case DType::bf16: return bf16ToFloat(*t.as<uint16_t>());
    case DType::i8:
    case DType::i16: {
        const auto zero = static_cast<int32_t>(t.quantization ? t.quantization->zeroPoint() : 0);
        return static_cast<float>(static_cast<double>(t.quantization ? t.quantization->scale() : 1.0F) *
                                  (static_cast<double>(integerScalar(t)) - zero));
    }
    default: return *t.as<float>();
    }
}

Result<int64_t> rangeCount(const Tensor& start, const Tensor& limit, const Tensor& delta)
{
    const DType dtype = start.dtype;
    const bool narrow = dtype == DType::i8 || dtype == DType::i16;
    const bool quantized = narrow && start.quantization && start.quantization->kind == Quantization::Kind::affine;
    if (isInteger(dtype) && !quantized) {
        const int64_t first = integerScalar(start);
        const int64_t last = integerScalar(limit);
        const int64_t step = integerScalar(delta);
        if (step == 0 || (step > 0 ? first > last : first < last))
            return badStep(std::to_string(first), std::to_string(last), std::to_string(step));
        // Unsigned: the distance of two i64 needs all 64 bits.
        const auto ufirst = static_cast<uint64_t>(first);
        const auto ulast = static_cast<uint64_t>(last);
        const uint64_t distance = step > 0 ? ulast - ufirst : ufirst - ulast;
        const uint64_t pace = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
        const uint64_t count = distance / pace + (distance % pace != 0 ? 1 : 0);
        if (count > INT32_MAX)
            return InferContext::violated(2, "the range has too many numbers").found(std::to_string(count)).expected("less than 2^31");
        return static_cast<int64_t>(count);
    }
    const float first = realScalar(start);
    const float last = realScalar(limit);
    const float step = realScalar(delta);
    if (!(step > 0 ? first <= last : step < 0 && first >= last))
        return badStep(std::to_string(first), std::to_string(last), std::to_string(step));
    float count = 0;
    if (quantized)
        count = (std::abs(last - first) + std::abs(step) - 1) / std::abs(step); // LiteRT counts quantized ranges as if they were integers
    else count = std::ceil(std::abs(roundTo(dtype, roundTo(dtype, last - first) / step)));
    if (!(count < 2147483648.0F))
        return InferContext::violated(2, "the range has too many numbers").found(std::to_string(count)).expected("less than 2^31");
    return static_cast<int64_t>(count);
}

} // namespace loopscope

namespace {

Status inferFill(InferContext& c)
{
    LS_TRY(Shape out, shapeFromOperand(c, 0, 1));
    if (c.input(1).shape.isStatic() && checkedElementCount(c.input(1).shape) != 1)
        return InferContext::violated(2, "elements of the value " + toString(c.input(1).shape)).expected("1");
    c.setOutput(0, c.input(1).dtype, std::move(out));
    return {};
}

Status inferRange(InferContext& c)
{
    const DType dtype = c.input(0).dtype;
    for (int i = 0; i < 3; ++i) {
        LS_CHECK_OK(requireSameType(c, 0, i, 1));
        if (c.input(i).shape.hasRank() && c.input(i).shape.rank() != 0)
            return InferContext::violated(1, "rank of " + describeOperand(c, i))
                .found(std::to_string(c.input(i).shape.rank()))
                .expected("0");
    }
    switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: break;
    case DType::unknown: c.setOutput(0, dtype, Shape{kUnknownDim}); return {};
    default: return InferContext::violated(1, "dtype").found(std::string(dtypeName(dtype))).expected("f16, bf16, f32, i8, i16, i32 or i64");
    }
    int64_t count = kUnknownDim;
    if (c.dataKnown(0) && c.dataKnown(1) && c.dataKnown(2)) {
        LS_TRY(count, rangeCount(c.input(0), c.input(1), c.input(2)));
    }
    c.setOutput(0, dtype, Shape{count});
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, fill)
{
    // C1: dims is a vector of dimensions, none negative. C2: there is one value.
    return movementDef<inferFill>(2, "dims [rank], value []", "A tensor of the given shape, all elements the value.",
                                  "LiteRT kernels/fill.cc");
}

LS_DEFINE_OP(tfl, range)
{
    // C1: three single numbers of one dtype. C2: the step is not 0 and leads to the limit.
    OpDef def = movementDef<inferRange>(3, "start [], limit [], delta []", "The numbers from start to before limit in steps of delta.",
                                        "LiteRT kernels/range.cc");
    def.floatBound = kExact; // added up step by step, as the reference does
    return def;
}
