#include "engine/distributed/bytes.h"

#include "engine/tensor/variants.h"

#include <algorithm>

namespace loopscope {

namespace {
constexpr int32_t kMostNumbers = 1 << 20;
constexpr size_t kAligned = 16; ///< kernels read elements where they lie

struct TensorHead {
    uint64_t bytes = 0;
    int32_t rank = 0, dtype = 0;
};
} // namespace

void MessageWriter::tensor(const Tensor& tensor)
{
    const std::span<const int64_t> dims = tensor.shape.dims();
    number(TensorHead{tensor.bytes, static_cast<int32_t>(dims.size()), static_cast<int32_t>(tensor.dtype)});
    raw(dims.data(), dims.size_bytes());
    const size_t place = (m_size + kAligned - 1) / kAligned * kAligned;
    if (place > m_room.size()) grow(place - m_size);
    m_size = place;
    raw(tensor.data, tensor.bytes);
}

void MessageWriter::whole(const Tensor& tensor)
{
    if (tensor.dtype != DType::variant) return this->tensor(tensor);
    this->tensor(WholeVariant(tensor).tensor());
}

void MessageWriter::grow(size_t more)
{
    constexpr size_t kLeast = 256;
    m_room.resize(std::max({kLeast, m_size + more, 2 * m_room.size()}));
}

void MessageReader::numbers(std::vector<int64_t>& values)
{
    const auto count = number<int32_t>();
    m_isWhole = m_isWhole && count >= 0 && count <= kMostNumbers;
    const std::byte* const from = take(static_cast<size_t>(m_isWhole ? count : 0) * sizeof(int64_t));
    if (!from || count == 0) return values.clear();
    if (values.size() != static_cast<size_t>(count)) values.resize(static_cast<size_t>(count));
    std::memcpy(values.data(), from, values.size() * sizeof(int64_t));
}

std::string MessageReader::text()
{
    const auto size = number<uint64_t>();
    const std::byte* const from = take(size);
    return from ? std::string(reinterpret_cast<const char*>(from), size) : std::string();
}

void MessageReader::tensor(Tensor& tensor)
{
    const auto head = number<TensorHead>();
    tensor.dtype = static_cast<DType>(head.dtype);
    m_isWhole = m_isWhole && head.rank >= 0 && head.rank <= kMostNumbers;
    const std::byte* const dims = take(static_cast<size_t>(m_isWhole ? head.rank : 0) * sizeof(int64_t));
    tensor.shape = Shape();
    tensor.quantization = nullptr;
    for (int32_t d = 0; dims && d < head.rank; ++d) {
        int64_t dim = 0;
        std::memcpy(&dim, dims + static_cast<size_t>(d) * sizeof(dim), sizeof(dim));
        tensor.shape.append(dim);
    }
    tensor.bytes = head.bytes;
    take((kAligned - m_at % kAligned) % kAligned);
    const std::byte* const from = take(tensor.bytes);
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    m_isWhole = m_isWhole && count && (bitWidth(tensor.dtype) <= 0 || byteSize(tensor.dtype, *count) <= tensor.bytes);
    tensor.data = const_cast<std::byte*>(from); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
}

} // namespace loopscope
