#include "engine/kernels/step_objects.h"

#include "engine/base/hash.h"

#include <algorithm>
#include <utility>

namespace loopscope {

Tensor StoredTensor::view() const
{
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.bytes = bytes.size();
    static std::byte nothing = {};
    pin.bytes = bytes.pinned();
    tensor.data = // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): read only
        bytes.empty() ? &nothing : const_cast<std::byte*>(pin.bytes.data());
    return tensor;
}

StoredTensor StoredTensor::copyOf(const Tensor& tensor) { return {tensor.dtype, tensor.shape, Bytes::copyOf(tensor.view()), -1}; }

bool StoredTensor::operator==(const StoredTensor& other) const
{
    return dtype == other.dtype && shape == other.shape && std::ranges::equal(bytes.pinned().view(), other.bytes.pinned().view());
}

Result<ElementHandle> ListElements::add(std::span<const std::byte> content)
{
    LS_TRY(ElementHandle element, shareElement(content));
    hold(element);
    return element;
}

void ListElements::hold(const ElementHandle& element)
{
    if (m_held.emplace(element.get(), element).second) m_bytes += element->bytes.size();
}

void ListElements::sweep(std::unordered_map<const SharedElement*, ElementHandle> needed)
{
    m_held = std::move(needed);
    m_bytes = 0;
    for (const auto& [at, element] : m_held) m_bytes += element->bytes.size();
    m_most = std::max(kLeast, 2 * m_bytes);
}

int32_t StepObjects::addArray(TensorArray array)
{
    m_arrays.emplace(m_next, std::move(array));
    return m_next++;
}

int32_t StepObjects::addStack(TensorStack stack)
{
    m_stacks.emplace(m_next, std::move(stack));
    return m_next++;
}

TensorArray* StepObjects::array(int32_t handle)
{
    const auto found = m_arrays.find(handle);
    return found == m_arrays.end() ? nullptr : &found->second;
}

TensorStack* StepObjects::stack(int32_t handle)
{
    const auto found = m_stacks.find(handle);
    return found == m_stacks.end() ? nullptr : &found->second;
}

void StepObjects::clear()
{
    m_next = kFirst;
    m_arrays.clear();
    m_stacks.clear();
    m_elements = ListElements();
}

uint64_t StepObjects::hash() const
{
    uint64_t digest = 0;
    const auto add = [&](uint64_t number) { digest = hash64(std::as_bytes(std::span(&number, 1)), digest); };
    const auto addTensor = [&](const StoredTensor& tensor) {
        add(static_cast<uint64_t>(tensor.dtype));
        for (const int64_t dim : tensor.shape.dims()) add(static_cast<uint64_t>(dim));
        digest = hash64(tensor.bytes.pinned().view(), digest);
    };
    for (const auto& [handle, array] : m_arrays) {
        add(static_cast<uint64_t>(handle));
        add(static_cast<uint64_t>(array.isClosed));
        for (const TensorArray::Element& element : array.elements) {
            add(static_cast<uint64_t>(element.written) | static_cast<uint64_t>(element.read) << 1 |
                static_cast<uint64_t>(element.cleared) << 2);
            addTensor(element.value);
        }
    }
    for (const auto& [handle, stack] : m_stacks) {
        add(static_cast<uint64_t>(handle));
        add(static_cast<uint64_t>(stack.isClosed));
        for (const StoredTensor& element : stack.elements) addTensor(element);
    }
    return digest;
}

} // namespace loopscope
