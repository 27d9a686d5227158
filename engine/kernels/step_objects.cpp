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
    tensor.data = // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): read only
        bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.look(pin));
    return tensor;
}

StoredTensor StoredTensor::copyOf(const Tensor& tensor) { return {tensor.dtype, tensor.shape, KeptBytes::inHeap(tensor.view()), -1}; }

bool StoredTensor::operator==(const StoredTensor& other) const
{
    return dtype == other.dtype && shape == other.shape && std::ranges::equal(bytes.pinned().view(), other.bytes.pinned().view());
}

namespace {

constexpr size_t kChunk = 256; ///< elements of a stack that copies share or do not share together

} // namespace

struct StackElements::Chunk {
    struct Entry {
        KeptBytes bytes;
        int64_t origin;
        DType dtype;
        bool introduces; ///< nobody before it in the chunk has its shape
        uint16_t shape;
    };
    std::vector<Entry> entries;
    std::vector<Shape> shapes; ///< of its entries, each once
    bool isCounted = false;    ///< among the records

    Chunk() = default;
    Chunk(const Chunk& other) : entries(other.entries), shapes(other.shapes) { count(); }
    Chunk& operator=(const Chunk&) = delete;
    ~Chunk()
    {
        if (isCounted) countKeptRecords(-static_cast<int64_t>(kChunk * sizeof(Entry)));
    }

    void count()
    {
        if (isCounted || entries.size() < kChunk) return;
        countKeptRecords(static_cast<int64_t>(kChunk * sizeof(Entry)));
        isCounted = true;
    }

    StoredTensor at(size_t i) const
    {
        const Entry& entry = entries[i];
        return {entry.dtype, shapes[entry.shape], entry.bytes, entry.origin};
    }
};

/// The last chunk, which belongs to this stack alone from now on.
StackElements::Chunk& StackElements::last()
{
    std::shared_ptr<Chunk>& chunk = m_chunks.back();
    if (chunk.use_count() > 1) chunk = std::make_shared<Chunk>(*chunk);
    return *chunk;
}

void StackElements::push(StoredTensor element)
{
    if (m_size % kChunk == 0) m_chunks.push_back(std::make_shared<Chunk>());
    Chunk& chunk = last();
    size_t shape = chunk.shapes.size();
    while (shape > 0 && !(chunk.shapes[shape - 1] == element.shape)) --shape;
    const bool introduces = shape == 0;
    if (introduces) {
        chunk.shapes.push_back(element.shape);
        shape = chunk.shapes.size();
    }
    chunk.entries.push_back({std::move(element.bytes), element.origin, element.dtype, introduces, static_cast<uint16_t>(shape - 1)});
    chunk.count();
    ++m_size;
}

StoredTensor StackElements::pop()
{
    Chunk& chunk = last();
    StoredTensor element = chunk.at(chunk.entries.size() - 1);
    if (chunk.entries.back().introduces) chunk.shapes.pop_back();
    chunk.entries.pop_back();
    --m_size;
    if (chunk.entries.empty()) m_chunks.pop_back();
    return element;
}

StoredTensor StackElements::at(size_t i) const { return m_chunks[i / kChunk]->at(i % kChunk); }

void StackElements::clear() { *this = StackElements(); }

bool StackElements::operator==(const StackElements& other) const
{
    bool same = m_size == other.m_size;
    for (size_t c = 0; same && c < m_chunks.size(); ++c) {
        const Chunk &mine = *m_chunks[c], &theirs = *other.m_chunks[c];
        if (&mine == &theirs) continue;
        for (size_t i = 0; same && i < mine.entries.size(); ++i) same = mine.at(i) == theirs.at(i);
    }
    return same;
}

Result<ElementHandle> ListElements::add(std::span<const std::byte> content, bool isOfList)
{
    LS_TRY(ElementHandle element, shareElement(content, isOfList));
    m_held.insert(element);
    return element;
}

void ListElements::sweep(ElementSet needed)
{
    m_held = std::move(needed);
    m_most = std::max(kLeast, 2 * m_held.bytes());
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
        for (size_t i = 0; i < stack.elements.size(); ++i) addTensor(stack.elements.at(i));
    }
    return digest;
}

} // namespace loopscope
