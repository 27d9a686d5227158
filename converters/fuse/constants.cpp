#include "converters/fuse/constants.h"

#include "converters/fuse/site.h"
#include "engine/tensor/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope::fusing {

namespace {

constexpr int kDeepestFolding = 16;

/// The type and data of a constant as it is stored; false if the value is none.
bool stored(const Graph& graph, ValueId id, const TensorType*& type, ConstantPtr& data)
{
    if (!id.valid()) return false;
    const Value& value = graph.value(id);
    if (value.role == ValueRole::constant) {
        type = &value.type;
        data = value.constant;
    } else if (value.role == ValueRole::result) {
        const Operator& op = graph.op(value.producer);
        if (op.kind.dialect != "tf" || op.kind.name != "Const" || !op.controlInputs.empty()) return false;
        const Attribute* const attribute = findAttribute(op.attributes, "value");
        const auto* const tensor = attribute != nullptr ? attribute->as<TensorAttribute>() : nullptr;
        if (tensor == nullptr) return false;
        type = &tensor->type;
        data = tensor->data;
    }
    return data != nullptr && data->hasBytes() && !data->sparsity && type->shape.isStatic();
}

/// Weights that are stored in half; whoever reads them casts them first.
std::optional<Numbers> fromHalf(const TensorType& type, const Constant& data)
{
    if (data.size() != static_cast<uint64_t>(type.shape.elementCount()) * 2) return std::nullopt;
    Numbers numbers;
    numbers.shape = type.shape;
    for (int64_t k = 0; k < type.shape.elementCount(); ++k) {
        uint16_t bits = 0;
        std::memcpy(&bits, data.bytes().data() + k * 2, 2);
        numbers.values.push_back(f16ToFloat(bits));
    }
    return numbers;
}

using Unary = float (*)(float);
Unary unaryFunction(std::string_view kind)
{
    if (kind == "neg") return [](float x) { return -x; };
    if (kind == "sqrt") return [](float x) { return std::sqrt(x); };
    if (kind == "rsqrt") return [](float x) { return 1.0F / std::sqrt(x); };
    if (kind == "square") return [](float x) { return x * x; };
    if (kind == "abs") return [](float x) { return std::fabs(x); };
    if (kind == "exp") return [](float x) { return std::exp(x); };
    if (kind == "log") return [](float x) { return std::log(x); };
    if (kind == "reciprocal") return [](float x) { return 1.0F / x; };
    if (kind == "identity" || kind == "cast" || kind == "dequantize") return [](float x) { return x; };
    return nullptr;
}

/// Takes a tensor apart.
bool isApart(const Operator& op)
{
    const std::string_view name = op.kind.name;
    return ((name == "Split" || name == "split") && op.inputs.size() == 2) ||
           ((name == "Unpack" || name == "unpack") && op.inputs.size() == 1);
}

using Binary = float (*)(float, float);
Binary binaryFunction(std::string_view kind)
{
    if (kind == "add") return [](float a, float b) { return a + b; };
    if (kind == "sub") return [](float a, float b) { return a - b; };
    if (kind == "mul") return [](float a, float b) { return a * b; };
    if (kind == "div") return [](float a, float b) { return a / b; };
    if (kind == "maximum") return [](float a, float b) { return std::max(a, b); };
    if (kind == "minimum") return [](float a, float b) { return std::min(a, b); };
    if (kind == "pow") return [](float a, float b) { return std::pow(a, b); };
    return nullptr;
}

} // namespace

bool Numbers::isSplat() const
{
    return !values.empty() && std::ranges::all_of(values, [&](float value) { return value == values.front(); });
}

bool areFinite(std::span<const float> values)
{
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

std::optional<Numbers> storedFloats(const Graph& graph, ValueId id)
{
    const TensorType* type = nullptr;
    ConstantPtr data;
    if (!stored(graph, id, type, data)) return std::nullopt;
    if (type->dtype == DType::f16) return fromHalf(*type, *data);
    if (type->dtype != DType::f32 || data->size() != static_cast<uint64_t>(type->shape.elementCount()) * 4) return std::nullopt;
    Numbers numbers;
    numbers.shape = type->shape;
    numbers.values.resize(data->size() / 4);
    std::memcpy(numbers.values.data(), data->bytes().data(), data->size());
    return numbers;
}

std::optional<std::vector<int64_t>> storedIntegers(const Graph& graph, ValueId id)
{
    const TensorType* type = nullptr;
    ConstantPtr data;
    if (!stored(graph, id, type, data)) return std::nullopt;
    if (type->dtype == DType::boolean) {
        const auto* const bytes = reinterpret_cast<const uint8_t*>(data->bytes().data());
        return std::vector<int64_t>(bytes, bytes + data->size());
    }
    const bool isWide = type->dtype == DType::i64;
    if (!isWide && type->dtype != DType::i32) return std::nullopt;
    const size_t count = data->size() / (isWide ? 8 : 4);
    std::vector<int64_t> values(count);
    for (size_t k = 0; k < count; ++k) {
        int32_t narrow = 0;
        if (isWide) std::memcpy(&values[k], data->bytes().data() + k * 8, 8);
        else {
            std::memcpy(&narrow, data->bytes().data() + k * 4, 4);
            values[k] = narrow;
        }
    }
    return values;
}

Numbers transposed(const Numbers& source, std::span<const int> order)
{
    Numbers result;
    result.shape = Shape::ofRank(source.shape.rank());
    for (size_t d = 0; d < order.size(); ++d) result.shape[static_cast<int>(d)] = source.shape[order[d]];
    result.values.resize(source.values.size());
    const int rank = source.shape.rank();
    std::vector<int64_t> step(static_cast<size_t>(rank), 1), stepHere(static_cast<size_t>(rank), 1);
    for (int d = rank - 2; d >= 0; --d) step[static_cast<size_t>(d)] = step[static_cast<size_t>(d) + 1] * source.shape[d + 1];
    for (size_t d = 0; d < order.size(); ++d) stepHere[d] = step[static_cast<size_t>(order[d])];
    std::vector<int64_t> index(static_cast<size_t>(rank), 0);
    int64_t from = 0;
    for (float& value : result.values) {
        value = source.values[static_cast<size_t>(from)];
        for (int d = rank - 1; d >= 0; --d) {
            const auto at = static_cast<size_t>(d);
            from += stepHere[at];
            if (++index[at] < result.shape[d]) break;
            from -= index[at] * stepHere[at];
            index[at] = 0;
        }
    }
    return result;
}

std::unique_ptr<Numbers> combine(const Numbers& a, const Numbers& b, float (*function)(float, float))
{
    const int rank = std::max(a.shape.rank(), b.shape.rank());
    auto result = std::make_unique<Numbers>();
    result->shape = Shape::ofRank(rank, 1);
    const auto dim = [&](const Numbers& of, int d) {
        const int own = d - (rank - of.shape.rank());
        return own < 0 ? 1 : of.shape[own];
    };
    for (int d = 0; d < rank; ++d) {
        const int64_t left = dim(a, d), right = dim(b, d);
        if (left != right && left != 1 && right != 1) return nullptr;
        result->shape[d] = left == 1 ? right : left;
    }
    const int64_t count = result->shape.elementCount();
    result->values.reserve(static_cast<size_t>(count));
    for (int64_t at = 0; at < count; ++at) {
        int64_t rest = at, left = 0, right = 0, leftStep = 1, rightStep = 1;
        for (int d = rank - 1; d >= 0; --d) {
            const int64_t index = rest % result->shape[d];
            rest /= result->shape[d];
            if (dim(a, d) != 1) left += index * leftStep;
            if (dim(b, d) != 1) right += index * rightStep;
            leftStep *= dim(a, d);
            rightStep *= dim(b, d);
        }
        result->values.push_back(function(a.values[static_cast<size_t>(left)], b.values[static_cast<size_t>(right)]));
    }
    return result;
}

const Numbers* ConstantReader::floats(ValueId value)
{
    if (!value.valid()) return nullptr;
    if (const auto known = m_known.find(value.index); known != m_known.end()) return known->second.get();
    if (m_editor.value(value).type.dtype == DType::f16) return nullptr; // only what casts it is a constant of f32
    std::unique_ptr<Numbers> numbers = read(value, 0);
    if (!numbers) return nullptr;
    return (m_known[value.index] = std::move(numbers)).get();
}

std::unique_ptr<Numbers> ConstantReader::read(ValueId id, int depth)
{
    if (!id.valid() || depth > kDeepestFolding) return nullptr;
    if (std::optional<Numbers> numbers = storedFloats(m_editor.graph(), id)) return std::make_unique<Numbers>(std::move(*numbers));
    const Value& value = m_editor.value(id);
    if (value.role != ValueRole::result) return nullptr;
    const Operator& op = m_editor.op(value.producer);
    if (!op.controlInputs.empty()) return nullptr;
    if (isApart(op)) return part(op, value.slot, depth);
    return value.slot == 0 ? fold(op, depth) : nullptr;
}

/// One of the parts that lie behind each other.
std::unique_ptr<Numbers> ConstantReader::part(const Operator& op, int slot, int depth)
{
    const bool splits = op.inputs.size() == 2;
    std::unique_ptr<Numbers> numbers = read(op.inputs[splits ? 1 : 0], depth + 1);
    const auto parts = static_cast<int64_t>(op.results.size());
    if (!numbers || numbers->shape.rank() == 0 || numbers->shape[0] < parts || numbers->shape[0] % parts != 0) return nullptr;
    if (splits) {
        const auto axis = integers(op.inputs[0]);
        if (!axis || axis->size() != 1 || (axis->front() != 0 && axis->front() != -numbers->shape.rank())) return nullptr;
        numbers->shape[0] /= parts;
    } else {
        if (attributeInt(op.attributes, "axis", 0) != 0 || numbers->shape[0] != parts) return nullptr;
        numbers->shape = Shape(numbers->shape.dims().subspan(1));
    }
    const auto each = static_cast<std::ptrdiff_t>(numbers->values.size()) / static_cast<std::ptrdiff_t>(parts);
    const auto from = numbers->values.begin() + slot * each;
    numbers->values = std::vector<float>(from, from + each);
    return numbers;
}

std::unique_ptr<Numbers> ConstantReader::fold(const Operator& op, int depth)
{
    const std::string_view kind = neutralKind(op.kind);
    if (activationOf(op) != "NONE") return nullptr;
    const bool widens = kind == "cast" || kind == "dequantize";
    if (widens && (op.inputs.size() != 1 || op.results.empty() || m_editor.value(op.inputs[0]).type.dtype != DType::f16 ||
                   m_editor.value(op.results[0]).type.dtype != DType::f32))
        return nullptr;
    if (const Unary function = unaryFunction(kind); function != nullptr && op.inputs.size() == 1) {
        std::unique_ptr<Numbers> numbers = read(op.inputs[0], depth + 1);
        if (numbers)
            for (float& value : numbers->values) value = function(value);
        return numbers;
    }
    if (op.kind.name.starts_with("FakeQuantWithMinMax")) return fakeQuantized(op, depth);
    if (kind == "reshape" || kind == "squeeze" || kind == "expand_dims") {
        std::unique_ptr<Numbers> numbers = op.inputs.empty() ? nullptr : read(op.inputs[0], depth + 1);
        if (numbers && !reshape(*numbers, op)) return nullptr;
        return numbers;
    }
    const Binary function = binaryFunction(kind);
    if (function == nullptr || op.inputs.size() != 2) return nullptr;
    const std::unique_ptr<Numbers> a = read(op.inputs[0], depth + 1);
    const std::unique_ptr<Numbers> b = a ? read(op.inputs[1], depth + 1) : nullptr;
    return b ? combine(*a, *b, function) : nullptr;
}

/// Rounded to the steps that a quantized tensor of this range would have, of which 0 is one.
std::unique_ptr<Numbers> ConstantReader::fakeQuantized(const Operator& op, int depth)
{
    std::unique_ptr<Numbers> numbers = op.inputs.empty() ? nullptr : read(op.inputs[0], depth + 1);
    if (!numbers) return nullptr;
    auto lowest = static_cast<float>(attributeFloat(op.attributes, "min", -6.0)),
         highest = static_cast<float>(attributeFloat(op.attributes, "max", 6.0));
    if (op.kind.name == "FakeQuantWithMinMaxVars") {
        const std::unique_ptr<Numbers> low = read(op.inputs.at(1), depth + 1), high = read(op.inputs.at(2), depth + 1);
        if (!low || !high || !low->isOne() || !high->isOne()) return nullptr;
        lowest = low->values[0];
        highest = high->values[0];
    } else if (op.kind.name != "FakeQuantWithMinMaxArgs") {
        return nullptr;
    }
    const float first = attributeBool(op.attributes, "narrow_range", false) ? 1.0F : 0.0F;
    const auto last = static_cast<float>((int64_t{1} << attributeInt(op.attributes, "num_bits", 8)) - 1);
    if (lowest == 0 && highest == 0) return nullptr;
    const float step = (highest - lowest) / (last - first), inverse = (last - first) / (highest - lowest);
    const float zero = std::clamp(std::round(first - lowest / step), first, last);
    const float low = (first - zero) * step, high = (last - zero) * step, steps = std::floor(-low * inverse + 0.5F);
    for (float& value : numbers->values) // as the kernel does it
        value = std::floor((std::max(std::min(value, high), low) - low) * inverse - steps + 0.5F) * step;
    return numbers;
}

bool ConstantReader::reshape(Numbers& numbers, const Operator& op) const
{
    Shape shape;
    if (neutralKind(op.kind) == "expand_dims") {
        const auto axis = op.inputs.size() > 1 ? integers(op.inputs[1]) : std::nullopt;
        const int rank = numbers.shape.rank() + 1;
        if (!axis || axis->size() != 1 || axis->front() < -rank || axis->front() >= rank) return false;
        const auto at = static_cast<int>(axis->front() < 0 ? axis->front() + rank : axis->front());
        for (int d = 0; d < rank; ++d) shape.append(d == at ? 1 : numbers.shape[d < at ? d : d - 1]);
    } else if (neutralKind(op.kind) == "squeeze") {
        std::vector<int64_t> dims = attributeInts(op.attributes, "squeeze_dims");
        for (int d = 0; d < numbers.shape.rank(); ++d) {
            const bool isNamed =
                std::ranges::find(dims, d) != dims.end() || std::ranges::find(dims, d - numbers.shape.rank()) != dims.end();
            if (numbers.shape[d] != 1 || (!dims.empty() && !isNamed)) shape.append(numbers.shape[d]);
        }
    } else {
        const auto target = op.inputs.size() > 1 ? integers(op.inputs[1]) : std::nullopt;
        if (!target) return false;
        int64_t known = 1;
        for (const int64_t dim : *target) known *= dim == -1 ? 1 : dim;
        for (const int64_t dim : *target) shape.append(dim == -1 && known > 0 ? static_cast<int64_t>(numbers.values.size()) / known : dim);
    }
    if (!shape.isStatic() || shape.elementCount() != static_cast<int64_t>(numbers.values.size())) return false;
    numbers.shape = shape;
    return true;
}

std::optional<std::vector<int64_t>> ConstantReader::integers(ValueId id) const { return storedIntegers(m_editor.graph(), id); }

void ConstantReader::collectProducers(ValueId id, std::vector<OperatorId>& found) const
{
    if (!id.valid() || m_editor.value(id).role != ValueRole::result) return;
    const OperatorId producer = m_editor.value(id).producer;
    const Operator& op = m_editor.op(producer);
    if (!op.controlInputs.empty() || std::ranges::find(found, producer) != found.end() || found.size() > 64) return;
    const std::string_view kind = neutralKind(op.kind);
    const bool isConst = op.kind.dialect == "tf" && op.kind.name == "Const";
    const bool movesOnly =
        isApart(op) || kind == "reshape" || kind == "squeeze" || kind == "expand_dims" || op.kind.name.starts_with("FakeQuantWithMinMax");
    if (!isConst && !movesOnly && unaryFunction(kind) == nullptr && binaryFunction(kind) == nullptr) return;
    found.push_back(producer);
    for (const ValueId input : op.inputs) collectProducers(input, found);
}

} // namespace loopscope::fusing
