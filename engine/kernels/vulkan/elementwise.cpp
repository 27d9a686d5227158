// Element-wise kernels: functions of one, two or three operands with broadcasting. What has 8- or 16-bit elements (quantized ones above
// all) becomes a table that the reference kernel fills while it is prepared: its bits, whatever the arithmetic.
#include "engine/kernels/vulkan/families.h"

#include <algorithm>
#include <cfloat>
#include <cstring>

namespace loopscope::vulkan {

namespace {

constexpr int kMostDims = 6;
constexpr int kOperands = 3;

/// The push constants of elementwise.comp.
struct ElementwiseParameters {
    uint32_t count = 0, rank = 0;
    uint32_t dims[kMostDims] = {};
    uint32_t steps[kOperands][kMostDims] = {};
    uint32_t low = 0, high = 0, extra = 0;

    std::vector<uint32_t> words() const
    {
        std::vector<uint32_t> all(sizeof(*this) / 4);
        std::memcpy(all.data(), this, sizeof(*this));
        return all;
    }
};

/// Dimensions innermost first, with the step of each operand (0 where it is repeated); neighbours that can be one are one.
struct Broadcast {
    std::vector<int64_t> dims;
    std::vector<std::array<int64_t, kOperands>> steps;
};

Broadcast broadcastOf(const Shape& result, std::span<const Shape> operands)
{
    Broadcast all;
    std::array<int64_t, kOperands> width = {1, 1, 1};
    for (int d = 0; d < result.rank(); ++d) {
        const int64_t size = result[result.rank() - 1 - d];
        std::array<int64_t, kOperands> step = {};
        for (size_t k = 0; k < operands.size(); ++k) {
            const Shape& shape = operands[k];
            const int64_t own = d < shape.rank() ? shape[shape.rank() - 1 - d] : 1;
            step[k] = own == 1 ? 0 : width[k];
            width[k] *= own;
        }
        if (size == 1) continue;
        if (!all.dims.empty()) {
            bool joins = true;
            for (size_t k = 0; k < operands.size(); ++k) joins = joins && step[k] == all.steps.back()[k] * all.dims.back();
            if (joins) {
                all.dims.back() *= size;
                continue;
            }
        }
        all.dims.push_back(size);
        all.steps.push_back(step);
    }
    return all;
}

/// What a dispatch of elementwise.comp needs beside its buffers.
struct Elementwise {
    Code op = opCopy, in = inFloat;
    std::array<Code, kOperands> stores = {storeF32, storeF32, storeF32};
    Code out = storeF32;
    bool clamps = false;
    float low = 0, high = 0, extra = 0;
    std::array<int32_t, 3> quantization = {}; ///< of opQuantize: zero point, least, most
};

Result<PreparedKernel> planned(PlanBuilder builder, const Elementwise& e, std::span<const Shape> shapes, std::vector<Place> places)
{
    const Tensor& result = builder.setup().out(0);
    ElementwiseParameters p;
    p.count = static_cast<uint32_t>(result.elementCount());
    const Broadcast broadcast = broadcastOf(result.shape, shapes);
    if (broadcast.dims.size() > kMostDims) return unsupported("broadcasting along more than 6 dimensions");
    bool isStrided = false;
    for (size_t k = 0; k < shapes.size(); ++k) isStrided = isStrided || shapes[k].elementCount() != result.elementCount();
    p.rank = static_cast<uint32_t>(broadcast.dims.size());
    for (size_t d = 0; d < broadcast.dims.size(); ++d) {
        p.dims[d] = static_cast<uint32_t>(broadcast.dims[d]);
        for (size_t k = 0; k < kOperands; ++k) p.steps[k][d] = static_cast<uint32_t>(broadcast.steps[d][k]);
    }
    p.low = bitsOf(e.low);
    p.high = bitsOf(e.high);
    p.extra = bitsOf(e.extra);
    if (e.op == opQuantize)
        for (size_t i = 0; i < 3; ++i) p.steps[0][i] = static_cast<uint32_t>(e.quantization[i]);
    while (places.size() < kOperands) places.push_back(places[0]);
    places.push_back(PlanBuilder::out(0));
    const bool isPlain = !isStrided && e.in == inFloat && e.op < opEqual && e.op != opQuantize && e.out == storeF32 &&
                         std::ranges::all_of(e.stores, [](Code store) { return store == storeF32; });
    LS_CHECK_OK(builder.addElements(
        Shader::elementwise,
        {e.op, e.in, e.stores[0], e.stores[1], e.stores[2], e.out, isStrided ? 1U : 0U, e.clamps ? 1U : 0U, isPlain ? 1U : 0U},
        std::move(places), p.words(), isPlain ? (result.elementCount() + 3) / 4 : result.elementCount()));
    return builder.done();
}

Code classOf(DType dtype)
{
    if (isFloat(dtype)) return inFloat;
    return dtype == DType::i64 || dtype == DType::u32 ? inLong : inInt;
}

/// The bounds of a fused activation in f32. TFLite's arithmetic clamps infinities, too.
void clampBy(Elementwise& e, const AttributeList& attributes, DType dtype)
{
    std::string_view word = attributeWord(attributes, "act", "");
    if (word.empty()) word = attributeWord(attributes, "fused_activation_function", "NONE");
    const bool isReal = isFloat(dtype);
    const float most = dtype == DType::f16 ? 65504.0F : FLT_MAX;
    const auto bits = [&](int number) { return isReal ? static_cast<float>(number) : std::bit_cast<float>(int32_t{number}); };
    e.low = isReal ? -most : bits(INT32_MIN);
    e.high = isReal ? most : bits(INT32_MAX);
    if (word == "RELU" || word == "RELU6") e.low = bits(0);
    if (word == "RELU6") e.high = bits(6);
    if (word == "RELU_N1_TO_1") {
        e.low = bits(-1);
        e.high = bits(1);
    }
    e.clamps = isReal || word == "RELU" || word == "RELU6" || word == "RELU_N1_TO_1";
}

bool isByte(DType dtype) { return bitWidth(dtype) == 8; }
bool isTabulated(DType dtype) { return isByte(dtype) || (bitWidth(dtype) == 16 && dtype != DType::u16); }

/// All elements of an 8- or 16-bit dtype in the order of their bits, each `repeats` times, the whole `rounds` times.
Bytes allElements(DType dtype, int repeats, int rounds)
{
    const int width = bitWidth(dtype), count = 1 << width;
    std::vector<std::byte> bytes;
    bytes.reserve(static_cast<size_t>(count) * static_cast<size_t>(repeats * rounds * width / 8));
    for (int round = 0; round < rounds; ++round)
        for (int element = 0; element < count; ++element)
            for (int i = 0; i < repeats; ++i) {
                bytes.push_back(static_cast<std::byte>(dtype == DType::boolean ? (element != 0 ? 1 : 0) : element & 255));
                if (width == 16) bytes.push_back(static_cast<std::byte>(element >> 8));
            }
    return Bytes::copyOf(bytes);
}

/// What the operator gives for all elements (of two operands: for all pairs of bytes). Errors: the reference kernel's.
Result<Bytes> tableOf(const KernelSetup& setup, int operands)
{
    const int width = operands == 2 ? 16 : bitWidth(setup.in(0).dtype);
    const Shape shape({int64_t{1} << width});
    std::vector<Bytes> elements;
    std::vector<Tensor> tensors(setup.inputs.size());
    std::vector<const Tensor*> inputs = {setup.inputs.begin(), setup.inputs.end()};
    for (int i = 0; i < operands; ++i) {
        const int side = operands == 2 ? 256 : 1;
        elements.push_back(allElements(setup.in(i).dtype, i == 0 ? side : 1, i == 0 ? 1 : side));
        Tensor& tensor = tensors[static_cast<size_t>(i)] = setup.in(i);
        tensor.shape = shape;
        tensor.data = const_cast<std::byte*>(elements.back().data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): read only
        tensor.bytes = elements.back().size();
        inputs[static_cast<size_t>(i)] = &tensor;
    }
    Tensor result = setup.out(0);
    result.shape = shape;
    std::vector<std::byte> table((static_cast<size_t>(bitWidth(result.dtype)) << width) / 8);
    result.data = table.data();
    result.bytes = table.size();
    Tensor* const results[] = {&result};
    if (Status status = runReference(setup, inputs, results); !status.ok()) // for some elements it is an error, which a table cannot tell
        return unsupported(std::move(status).takeError().message());
    return Bytes::copyOf(table);
}

Result<PreparedKernel> planTable(const KernelSetup& setup, int operands)
{
    const std::optional<Code> a = bitWidth(setup.in(0).dtype) == 16 ? storeI16 : storeOf(setup.in(0).dtype);
    const std::optional<Code> out = storeOfWidth(setup.out(0).dtype);
    if (!a || !out) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    LS_TRY(Bytes table, tableOf(setup, operands));
    Elementwise e;
    e.op = operands == 2 ? opTable2 : opTable;
    e.in = inLong;
    e.out = *out;
    e.stores[0] = *a;
    if (operands == 2) e.stores[1] = *storeOf(setup.in(1).dtype);
    std::vector<Shape> shapes = {setup.in(0).shape};
    if (operands == 2) shapes.push_back(setup.in(1).shape);
    const Place first = builder.in(0), second = operands == 2 ? builder.in(1) : first;
    const Place third = builder.constant(std::move(table));
    return planned(std::move(builder), e, shapes, {first, second, third});
}

} // namespace

Result<PreparedKernel> planUnary(const KernelSetup& setup, const KernelLine& line)
{
    const DType dtype = setup.in(0).dtype;
    if (isTabulated(dtype) && line.code != opZero && line.code != opNot) return planTable(setup, 1);
    const std::optional<Code> store = storeOf(dtype), out = storeOf(setup.out(0).dtype);
    if (!does(line, dtype) || !store || !out) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Elementwise e;
    e.op = line.code;
    e.in = classOf(dtype);
    e.stores.fill(*store);
    e.out = *out;
    if (line.code == opClamp) {
        e.low = line.name == "relu_n1_to_1" ? -1.0F : 0.0F;
        e.high = line.name == "relu6" ? 6.0F : line.name == "relu" ? std::numeric_limits<float>::infinity() : 1.0F;
    }
    if (line.code == opLeakyRelu) e.extra = static_cast<float>(attributeFloat(setup.attributes(), "alpha", 0.0));
    if (line.code == opGelu && attributeBool(setup.attributes(), "approximate", false)) e.op = opGeluTanh;
    const Place in = builder.in(0);
    return planned(std::move(builder), e, std::array{setup.in(0).shape}, {in});
}

namespace {

/// Whether every element is known, and none of them 0, which is an error that no shader can tell, or -1, by which the least number
/// overflows.
bool dividesAlways(const Tensor& divisor)
{
    if (!divisor.data) return false;
    for (int64_t i = 0; i < divisor.elementCount(); ++i) {
        const int64_t value = divisor.dtype == DType::i64 ? divisor.as<int64_t>()[i] : divisor.as<int32_t>()[i];
        if (value == 0 || value == -1) return false;
    }
    return true;
}

} // namespace

Result<PreparedKernel> planBinary(const KernelSetup& setup, const KernelLine& line)
{
    const DType dtype = setup.in(0).dtype;
    const bool isDivision = (line.code == opFloorDiv || line.code == opFloorMod) && does(line, dtype) && setup.in(1).dtype == dtype;
    if (isDivision && !dividesAlways(setup.in(1))) return unsupported("a divisor that may be 0");
    const bool isLogical = dtype == DType::boolean && does(line, dtype);
    if (isByte(dtype) && isByte(setup.in(1).dtype) && !isLogical) return planTable(setup, 2);
    if (bitWidth(dtype) == 16 && isInteger(dtype) && (setup.in(0).quantization || setup.out(0).quantization)) return wrongDtypes(setup);
    const std::optional<Code> a = storeOf(dtype), b = storeOf(setup.in(1).dtype), out = storeOf(setup.out(0).dtype);
    if (!does(line, dtype) || !a || !b || !out || dtype != setup.in(1).dtype) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Elementwise e;
    e.op = line.code;
    e.in = classOf(dtype);
    e.stores = {*a, *b, *b};
    e.out = *out;
    const bool isArithmetic = line.code == opAdd || line.code == opSub || line.code == opMul || line.code == opDiv;
    if (line.dialect == "tfl" && isArithmetic && !line.name.starts_with("stablehlo")) clampBy(e, setup.attributes(), dtype);
    if (e.clamps && e.in == inLong) return unsupported("an activation of 64-bit integers");
    const Place first = builder.in(0), second = builder.in(1);
    return planned(std::move(builder), e, std::array{setup.in(0).shape, setup.in(1).shape}, {first, second});
}

Result<PreparedKernel> planSelect(const KernelSetup& setup, const KernelLine& line)
{
    const std::optional<Code> store = storeOf(setup.in(1).dtype);
    if (!store || setup.in(0).dtype != DType::boolean || setup.in(1).dtype != setup.in(2).dtype) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Elementwise e;
    e.op = opSelect;
    const Code moved = *store == storeF32 ? storeI32 : *store == storeF16 ? storeI16 : *store; // bits are moved
    e.in = moved == storeI64 ? inLong : inInt;
    e.stores = {storeU8, moved, moved};
    e.out = moved;
    Shape condition = setup.in(0).shape;
    const Shape& choice = setup.in(1).shape;
    if ((line.name == "select" || line.name == "Select") && condition.rank() == 1 && choice.rank() > 1 && condition[0] == choice[0] &&
        choice == setup.in(2).shape) {
        condition = Shape::ofRank(choice.rank(), 1); // it chooses slices
        condition[0] = choice[0];
    }
    const Place a = builder.in(0), b = builder.in(1), c = builder.in(2);
    return planned(std::move(builder), e, std::array{condition, choice, setup.in(2).shape}, {a, b, c});
}

Result<PreparedKernel> planCast(const KernelSetup& setup, const KernelLine& line)
{
    const DType from = setup.in(0).dtype, to = setup.out(0).dtype;
    const std::optional<Code> store = storeOf(from), out = storeOf(to);
    if (!store || !out) return wrongDtypes(setup);
    if (isTabulated(from)) return planTable(setup, 1);
    const bool fits = isFloat(from) ? isFloat(to) || to == DType::i32 || to == DType::boolean : to != DType::boolean && to != DType::u32;
    if (!fits || !does(line, from)) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Elementwise e;
    e.op = opCopy;
    e.in = !isFloat(from) && to == DType::i64 ? inLong : classOf(from);
    e.stores.fill(*store);
    e.out = *out;
    const Place in = builder.in(0);
    return planned(std::move(builder), e, std::array{setup.in(0).shape}, {in});
}

/// Integers of any width to others by table, f32 by its formula.
Result<PreparedKernel> planQuantize(const KernelSetup& setup, const KernelLine&)
{
    const Tensor& result = setup.out(0);
    if (isTabulated(setup.in(0).dtype)) return planTable(setup, 1);
    const std::optional<Code> out = storeOf(result.dtype);
    const Quantization* const q = result.quantization;
    if (setup.in(0).dtype != DType::f32 || !out || bitWidth(result.dtype) > 16 || !isInteger(result.dtype) || !q || !q->isPerTensor())
        return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    Elementwise e;
    e.op = opQuantize;
    e.out = *out;
    e.extra = q->scale();
    e.quantization = {static_cast<int32_t>(q->zeroPoint()), static_cast<int32_t>(integerMin(result.dtype)),
                      static_cast<int32_t>(integerMax(result.dtype))};
    const Place in = builder.in(0);
    return planned(std::move(builder), e, std::array{setup.in(0).shape}, {in});
}

} // namespace loopscope::vulkan
