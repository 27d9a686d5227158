#include "engine/kernels/cpu/tf_variant.h"

#include "engine/kernels/cpu/tf_support.h"
#include "engine/tensor/strings.h"

#include <deque>

namespace loopscope {

namespace {

void put(std::string& out, int64_t number)
{
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::string& out, const Shape& shape)
{
    put(out, shape.hasRank() ? shape.rank() : -1);
    for (const int64_t dim : shape.dims()) put(out, dim);
}

/// Reads what `put` wrote; `failed` once something is missing.
struct Reader {
    std::string_view bytes;
    bool failed = false;

    int64_t number()
    {
        int64_t value = 0;
        if (bytes.size() < sizeof value) {
            failed = true;
            return 0;
        }
        std::memcpy(&value, bytes.data(), sizeof value);
        bytes.remove_prefix(sizeof value);
        return value;
    }
    Shape shape()
    {
        const int64_t rank = number();
        if (rank < 0) return Shape::unknownRank();
        Shape shape;
        for (int64_t d = 0; d < rank && !failed; ++d) shape.append(number());
        return shape;
    }
    std::string_view take(int64_t count)
    {
        if (count < 0 || static_cast<uint64_t>(count) > bytes.size()) {
            failed = true;
            return {};
        }
        const std::string_view taken = bytes.substr(0, static_cast<size_t>(count));
        bytes.remove_prefix(static_cast<size_t>(count));
        return taken;
    }
};

constexpr int64_t kMagic = 0x4c535641; // "LSVA"

/// Bytes that a tensor needs to be decoded: strings may be short (an empty block is allowed).
bool holdsEnough(const VariantTensor& tensor)
{
    if (!tensor.isSet()) return true;
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    return count && tensor.bytes.size() >= byteSize(tensor.dtype, *count);
}

} // namespace

Tensor VariantTensor::view() const
{
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.bytes = bytes.size();
    static std::byte nothing = {};
    tensor.data = bytes.empty() ? &nothing
                                : const_cast<std::byte*>( // NOLINT(cppcoreguidelines-pro-type-const-cast): operands are read only
                                      reinterpret_cast<const std::byte*>(bytes.data()));
    return tensor;
}

VariantTensor variantTensor(const Tensor& tensor)
{
    return {tensor.dtype, tensor.shape, {reinterpret_cast<const char*>(tensor.data), tensor.bytes}, -1};
}

std::string encodeVariant(const VariantValue& value)
{
    if (value.kind == VariantKind::none) return {};
    std::string out;
    put(out, kMagic);
    put(out, static_cast<int64_t>(value.kind));
    put(out, static_cast<int64_t>(value.elementType));
    put(out, value.maxElements);
    put(out, value.elementShape);
    put(out, static_cast<int64_t>(value.tensors.size()));
    for (const VariantTensor& tensor : value.tensors) {
        put(out, static_cast<int64_t>(tensor.dtype));
        put(out, tensor.shape);
        put(out, tensor.origin);
        put(out, static_cast<int64_t>(tensor.bytes.size()));
        out += tensor.bytes;
        out.append((8 - tensor.bytes.size() % 8) % 8, '\0'); // elements stay aligned as far as the block is
    }
    return out;
}

Result<VariantValue> decodeVariant(std::string_view bytes)
{
    VariantValue value;
    if (bytes.empty()) return value;
    Reader reader{bytes};
    const bool ours = reader.number() == kMagic;
    const int64_t kind = reader.number();
    const int64_t elementType = reader.number();
    value.maxElements = reader.number();
    value.elementShape = reader.shape();
    const int64_t count = reader.number();
    bool good = ours && kind >= 0 && kind <= static_cast<int64_t>(VariantKind::tensors) && elementType >= 0 &&
                elementType <= static_cast<int64_t>(DType::mxint8);
    value.kind = static_cast<VariantKind>(kind);
    value.elementType = static_cast<DType>(elementType);
    for (int64_t i = 0; good && i < count && !reader.failed; ++i) {
        VariantTensor tensor;
        const int64_t dtype = reader.number();
        good = dtype >= 0 && dtype <= static_cast<int64_t>(DType::mxint8);
        tensor.dtype = static_cast<DType>(dtype);
        tensor.shape = reader.shape();
        tensor.origin = reader.number();
        const int64_t size = reader.number();
        tensor.bytes = reader.take(size);
        reader.take((8 - size % 8) % 8);
        good = good && holdsEnough(tensor) && (value.kind != VariantKind::list || !tensor.isSet() || tensor.dtype == value.elementType);
        value.tensors.push_back(tensor);
    }
    if (!good || reader.failed) return invalidArgument("the variant is none that this program made");
    return value;
}

Result<VariantValue> listOperand(const KernelArgs& args, int i)
{
    const Tensor& tensor = args.in(i);
    if (tensor.shape.rank() != 0) return invalidArgument("input handle must be a scalar, got shape " + tfShapeText(tensor.shape));
    LS_TRY(const auto strings, readStrings(tensor));
    LS_TRY(VariantValue value, decodeVariant(strings[0]));
    if (value.kind != VariantKind::list) return invalidArgument("Input handle is not a list.");
    return value;
}

Status writeVariant(const KernelArgs& args, int k, const VariantValue& value)
{
    const std::string bytes = encodeVariant(value);
    const std::string_view view(bytes);
    return writeStrings(*args.runtime, args.out(k), Shape(), {&view, 1});
}

VariantTensor orZeros(const VariantTensor& element, DType dtype, const Shape& shape, std::deque<std::string>& storage)
{
    if (element.isSet()) return element;
    const std::optional<int64_t> count = checkedElementCount(shape);
    VariantTensor zeros;
    zeros.dtype = dtype;
    zeros.shape = shape;
    if (bitWidth(dtype) == 0) {
        const std::vector<std::byte> block = packStrings(std::vector<std::string>(static_cast<size_t>(count.value_or(0))));
        storage.emplace_back(reinterpret_cast<const char*>(block.data()), block.size());
    } else {
        storage.emplace_back(byteSize(dtype, count.value_or(0)), '\0');
    }
    zeros.bytes = storage.back();
    return zeros;
}

namespace {

Status writeAll(const KernelArgs& args, const Shape& shape, const std::vector<std::string>& encoded)
{
    const std::vector<std::string_view> views(encoded.begin(), encoded.end());
    return writeStrings(*args.runtime, args.out(0), shape, views);
}

/// The string block of encoded variants, for variants inside variants.
std::string packed(const std::vector<std::string>& encoded)
{
    const std::vector<std::byte> block = packStrings(encoded);
    return {reinterpret_cast<const char*>(block.data()), block.size()};
}

/// Lists nest as deep as this; nobody builds deeper ones.
constexpr int kDeepest = 32;

/// The same tensors, all zero.
Result<std::string> zerosLike(std::string_view bytes, int depth)
{
    if (depth > kDeepest) return invalidArgument("variants nest too deeply");
    LS_TRY(VariantValue value, decodeVariant(bytes));
    std::deque<std::string> storage;
    for (VariantTensor& tensor : value.tensors) {
        if (!tensor.isSet()) continue;
        if (tensor.dtype == DType::variant) {
            LS_TRY(const auto inner, readStrings(tensor.view()));
            std::vector<std::string> zeros;
            for (const std::string_view s : inner) {
                LS_TRY(std::string zero, zerosLike(s, depth + 1));
                zeros.push_back(std::move(zero));
            }
            storage.push_back(packed(zeros));
        } else {
            storage.emplace_back(tensor.bytes.size(), '\0');
            if (tensor.dtype == DType::string)
                storage.back() = packed(std::vector<std::string>(static_cast<size_t>(tensor.shape.elementCount())));
        }
        tensor.bytes = storage.back();
    }
    return encodeVariant(value);
}

Result<std::string> add(std::string_view a, std::string_view b, int depth);

Result<std::string> addTensors(const VariantTensor& a, const VariantTensor& b, int depth)
{
    if (a.dtype != b.dtype || !(a.shape == b.shape))
        return invalidArgument("Trying to add two lists of tensors with incompatible element shapes: " + tfShapeText(a.shape) + " and " +
                               tfShapeText(b.shape));
    std::string sum(a.bytes.size(), '\0');
    if (a.dtype == DType::variant) {
        LS_TRY(const auto left, readStrings(a.view()));
        LS_TRY(const auto right, readStrings(b.view()));
        std::vector<std::string> sums;
        for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
            LS_TRY(std::string one, add(left[i], right[i], depth + 1));
            sums.push_back(std::move(one));
        }
        return packed(sums);
    }
    LS_CHECK_OK((forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(a.dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = a.shape.elementCount(); i < n; ++i) {
            T x;
            T y;
            std::memcpy(&x, a.bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
            std::memcpy(&y, b.bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
            x = Element<T>::store(wrappingAdd(Element<T>::load(x), Element<T>::load(y)));
            std::memcpy(sum.data() + static_cast<size_t>(i) * sizeof(T), &x, sizeof(T));
        }
        return {};
    })));
    return sum;
}

Result<std::string> add(std::string_view a, std::string_view b, int depth)
{
    if (depth > kDeepest) return invalidArgument("variants nest too deeply");
    if (a.empty()) return std::string(b); // Optional gradients: none plus a value is the value
    if (b.empty()) return std::string(a);
    LS_TRY(VariantValue left, decodeVariant(a));
    LS_TRY(const VariantValue right, decodeVariant(b));
    if (left.kind != right.kind) return invalidArgument("Trying to add two variants of different kinds");
    if (left.elementType != right.elementType)
        return invalidArgument("Trying to add two lists of tensors of different dtypes. One is " + std::string(tfTypeName(left.elementType)) +
                               " and the other is " + std::string(tfTypeName(right.elementType)));
    if (left.tensors.size() != right.tensors.size())
        return invalidArgument("Trying to add two lists of tensors with different lengths. One is " + std::to_string(left.tensors.size()) +
                               " and the other is " + std::to_string(right.tensors.size()));
    std::deque<std::string> storage;
    for (size_t i = 0; i < left.tensors.size(); ++i) {
        VariantTensor& tensor = left.tensors[i];
        if (!right.tensors[i].isSet()) continue;
        if (!tensor.isSet()) {
            tensor = right.tensors[i];
            continue;
        }
        LS_TRY(std::string sum, addTensors(tensor, right.tensors[i], depth));
        tensor.bytes = storage.emplace_back(std::move(sum));
    }
    return encodeVariant(left);
}

} // namespace

Status zerosLikeVariants(const KernelArgs& args)
{
    LS_TRY(const auto strings, readStrings(args.in(0)));
    std::vector<std::string> zeros;
    for (const std::string_view s : strings) {
        LS_TRY(std::string zero, zerosLike(s, 0));
        zeros.push_back(std::move(zero));
    }
    return writeAll(args, args.in(0).shape, zeros);
}

Status addVariants(const KernelArgs& args)
{
    LS_TRY(const auto first, readStrings(args.in(0)));
    std::vector<std::string> sums(first.begin(), first.end());
    for (int i = 1; i < args.inputCount; ++i) {
        LS_TRY(const auto more, readStrings(args.in(i)));
        if (more.size() != sums.size()) return invalidArgument("Inputs to operation of type AddN must have the same size and shape.");
        for (size_t e = 0; e < sums.size(); ++e) {
            LS_TRY(sums[e], add(sums[e], more[e], 0));
        }
    }
    return writeAll(args, args.in(0).shape, sums);
}

} // namespace loopscope
