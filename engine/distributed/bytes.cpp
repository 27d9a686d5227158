#include "engine/distributed/bytes.h"

#include "engine/tensor/variants.h"

namespace loopscope {

namespace {
constexpr int32_t kMostNumbers = 1 << 20;
constexpr size_t kAligned = 16; ///< kernels read elements where they lie
} // namespace

void MessageWriter::tensor(const Tensor& tensor)
{
    number(static_cast<uint8_t>(tensor.dtype));
    numbers(tensor.shape.dims());
    number(static_cast<uint64_t>(tensor.bytes));
    m_bytes.resize((m_bytes.size() + kAligned - 1) / kAligned * kAligned);
    raw(tensor.data, tensor.bytes);
}

void MessageWriter::whole(const Tensor& tensor) { this->tensor(WholeVariant(tensor).tensor()); }

void MessageReader::numbers(std::vector<int64_t>& values)
{
    values.clear();
    const auto count = number<int32_t>();
    m_isWhole = m_isWhole && count >= 0 && count <= kMostNumbers;
    const std::byte* const from = take(static_cast<size_t>(m_isWhole ? count : 0) * sizeof(int64_t));
    if (!from || count == 0) return;
    values.resize(static_cast<size_t>(count));
    std::memcpy(values.data(), from, values.size() * sizeof(int64_t));
}

std::string MessageReader::text()
{
    const auto size = number<uint64_t>();
    const std::byte* const from = take(size);
    return from ? std::string(reinterpret_cast<const char*>(from), size) : std::string();
}

Tensor MessageReader::tensor()
{
    Tensor tensor;
    tensor.dtype = static_cast<DType>(number<uint8_t>());
    std::vector<int64_t> dims;
    numbers(dims);
    tensor.shape = Shape(dims);
    tensor.bytes = number<uint64_t>();
    take((kAligned - m_at % kAligned) % kAligned);
    const std::byte* const from = take(tensor.bytes);
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    m_isWhole = m_isWhole && count && (bitWidth(tensor.dtype) <= 0 || byteSize(tensor.dtype, *count) <= tensor.bytes);
    tensor.data = const_cast<std::byte*>(from); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
    return tensor;
}

} // namespace loopscope
