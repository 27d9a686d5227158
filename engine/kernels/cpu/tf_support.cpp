#include "engine/kernels/cpu/tf_support.h"

#include "engine/base/flushed_floats.h"

#include <algorithm>

namespace loopscope {

bool hasFloats(const KernelSetup& setup)
{
    const auto isFlushed = [](const Tensor* tensor) {
        return tensor && (isFloat(tensor->dtype) || tensor->dtype == DType::c64 || tensor->dtype == DType::c128);
    };
    return std::ranges::any_of(setup.inputs, isFlushed) || std::ranges::any_of(setup.outputs, isFlushed);
}

Result<PreparedKernel> prepareTf(const KernelSetup& setup, KernelFunction function, KernelFunction flushed)
{
    LS_CHECK_OK(checkTfSignature(setup.op, setup.inputs, setup.outputs));
    return PreparedKernel{hasFloats(setup) ? flushed : function, std::make_shared<const Operator>(setup.op)};
}

// Not inlined: no operation may move to where the processor's mode is another one.
[[gnu::noinline]] Status runFlushed(KernelFunction function, const KernelArgs& args)
{
    if (FlushedFloats::isOn()) return function(args);
    const FlushedFloats flushed(true);
    return function(args);
}

Status tfAllocate(const KernelArgs& args, int k, const Shape& shape)
{
    const std::optional<int64_t> count = checkedElementCount(shape);
    if (!count) return invalidArgument("the result would have too many elements: " + tfShapeText(shape));
    if (args.out(k).dtype == DType::unknown) return invalidArgument("the graph does not say the type of result " + std::to_string(k));
    return args.runtime->resize(args.out(k), shape, byteSize(args.out(k).dtype, *count));
}

Status tfCopy(const KernelArgs& args, int k, const Tensor& source, const Shape& shape)
{
    LS_CHECK_OK(args.runtime->resize(args.out(k), shape, source.bytes));
    if (source.bytes > 0) std::memcpy(args.out(k).data, source.data, source.bytes);
    return {};
}

namespace {

bool isBlob(DType dtype) { return dtype == DType::string || dtype == DType::variant; }

} // namespace

Result<TfSource> TfSource::of(const Tensor& tensor)
{
    TfSource source;
    if (isBlob(tensor.dtype)) {
        LS_TRY(source.m_strings, readStrings(tensor));
        source.m_size = sizeof(std::string_view);
        source.m_data = reinterpret_cast<const std::byte*>(&source.m_size); // never read: there is no element
        return source;
    }
    source.m_size = elementBytes(tensor);
    if (source.m_size == 0) return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(tensor.dtype)));
    source.m_data = tensor.data;
    return source;
}

Status TfTarget::begin(const KernelArgs& args, int k, const Shape& shape, bool clear)
{
    m_args = &args;
    m_index = k;
    m_shape = shape;
    Tensor& out = args.out(k);
    if (isBlob(out.dtype)) {
        const std::optional<int64_t> count = checkedElementCount(shape);
        if (!count || *count > (int64_t{1} << 28)) return invalidArgument("too many strings: " + tfShapeText(shape));
        m_strings.resize(static_cast<size_t>(*count));
        m_data = reinterpret_cast<std::byte*>(m_strings.data());
        m_size = sizeof(std::string_view);
        return {};
    }
    LS_CHECK_OK(tfAllocate(args, k, shape));
    m_size = elementBytes(out);
    m_data = out.data;
    if (clear && out.bytes > 0) std::memset(m_data, 0, out.bytes);
    return {};
}

Status TfTarget::finish()
{
    if (m_strings.empty() && !isBlob(m_args->out(m_index).dtype)) return {};
    return writeStrings(*m_args->runtime, m_args->out(m_index), m_shape, m_strings);
}

std::vector<int64_t> tfIntegers(const Tensor& tensor)
{
    const auto count = static_cast<size_t>(tensor.elementCount());
    const auto read = [&]<typename T>(const T* data) { return std::vector<int64_t>(data, data + count); };
    switch (tensor.dtype) {
    case DType::i64:
    case DType::u64: return read(tensor.as<int64_t>());
    case DType::i32: return read(tensor.as<int32_t>());
    case DType::u32: return read(tensor.as<uint32_t>());
    case DType::i16: return read(tensor.as<int16_t>());
    case DType::u16: return read(tensor.as<uint16_t>());
    case DType::i8: return read(tensor.as<int8_t>());
    case DType::u8:
    case DType::boolean: return read(tensor.as<uint8_t>());
    default: return std::vector<int64_t>(count, 0);
    }
}

Result<int64_t> tfInteger(const KernelArgs& args, int i, std::string_view name)
{
    const Tensor& tensor = args.in(i);
    if (tensor.elementCount() != 1) return invalidArgument(std::string(name) + " must be a scalar, got shape " + tfShapeText(tensor.shape));
    return tfIntegers(tensor)[0];
}

Result<Shape> tfShapeOperand(const Tensor& tensor, bool mayBeUnknown)
{
    const std::vector<int64_t> dims = tfIntegers(tensor);
    if (tensor.shape.rank() == 0) {
        if (mayBeUnknown && dims[0] == -1) return Shape::unknownRank();
        return invalidArgument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    }
    if (tensor.shape.rank() != 1) return invalidArgument("shape must be a vector of {int32,int64}, got shape " + tfShapeText(tensor.shape));
    if (dims.size() > 254) return invalidArgument("a shape of more than 254 dimensions");
    Shape shape;
    for (const int64_t dim : dims) {
        if (dim < (mayBeUnknown ? -1 : 0)) return invalidArgument("Dimension " + std::to_string(dim) + " must be >= 0");
        shape.append(dim);
    }
    if (shape.isStatic() && !checkedElementCount(shape)) return invalidArgument("a shape of too many elements: " + tfShapeText(shape));
    return shape;
}

Result<int> tfAxis(int64_t axis, int rank, std::string_view what)
{
    if (axis < -rank || axis >= rank)
        return invalidArgument(std::string(what) + ": dimension " + std::to_string(axis) + " is not in the range [" +
                               std::to_string(-rank) + ", " + std::to_string(rank) + ")");
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

} // namespace loopscope
