#include "engine/kernels/cpu/tf_list_ends.h"

#include "engine/kernels/cpu/tf_list_view.h"
#include "engine/kernels/resources.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace loopscope {

namespace {

constexpr size_t kWord = sizeof(int64_t);
constexpr size_t kMostElement = 1024; ///< bytes: beyond, copying costs more than what is saved here
constexpr int64_t kMostBehind = 16;   ///< elements by which an older list may be longer or shorter
const Shape kScalar;

int64_t numberAt(const std::byte* bytes, size_t index)
{
    int64_t value;
    std::memcpy(&value, bytes + index * kWord, sizeof value);
    return value;
}

std::byte* put(std::byte* to, int64_t number)
{
    std::memcpy(to, &number, sizeof number);
    return to + sizeof number;
}

/// A block of one encoded list, whose elements have one size.
struct PlainList {
    const std::byte* block = nullptr;
    int64_t elementType = 0, maxElements = -1, rank = -1;
    const std::byte* dims = nullptr;
    size_t tail = 0, body = 0; ///< in the block: the numbers that change, and the elements
    int64_t count = 0, elementSize = 0;
    uint64_t hash = 0;

    const std::byte* element(int64_t i) const { return block + body + static_cast<size_t>(i * elementSize); }
    uint64_t hashOf(int64_t i) const { return static_cast<uint64_t>(numberAt(element(i) + kElementHash, 0)); }
    size_t sizeFor(int64_t elements) const { return body + static_cast<size_t>(elements * elementSize); }

    /// False: it is something else, or damaged.
    bool read(const Tensor& tensor)
    {
        if (!tensor.shape.hasRank() || tensor.shape.rank() != 0 || tensor.bytes < kListBlock + 8 * kWord) return false;
        block = tensor.data;
        int32_t words[3];
        std::memcpy(words, block, sizeof words);
        if (words[0] != 1 || words[1] != static_cast<int32_t>(kListBlock) || static_cast<size_t>(words[2]) != tensor.bytes) return false;
        const std::byte* const header = block + kListBlock;
        if (numberAt(header, 0) != kVariantMagic || numberAt(header, 1) != static_cast<int64_t>(VariantKind::list)) return false;
        elementType = numberAt(header, 2);
        maxElements = numberAt(header, 3);
        rank = numberAt(header, 4);
        dims = header + 5 * kWord;
        if (rank < -1 || rank > 8) return false;
        tail = kListBlock + (5 + static_cast<size_t>(std::max<int64_t>(rank, 0))) * kWord;
        body = tail + 3 * kWord;
        if (tensor.bytes < body) return false;
        count = numberAt(block + tail, 0);
        elementSize = numberAt(block + tail, 1);
        hash = static_cast<uint64_t>(numberAt(block + tail, 2));
        const auto elements = static_cast<int64_t>(tensor.bytes - body);
        return count > 0 && elementSize >= static_cast<int64_t>(kElementHeader) && elements % elementSize == 0 &&
               elements / elementSize == count;
    }

    bool takes(const Shape& shape) const
    {
        if (rank < 0) return true;
        if (shape.rank() != rank) return false;
        for (int d = 0; d < shape.rank(); ++d)
            if (const int64_t dim = numberAt(dims, static_cast<size_t>(d)); dim >= 0 && dim != shape[d]) return false;
        return true;
    }

    /// All numbers that do not change.
    bool hasSameHead(const std::byte* other) const
    {
        uint64_t differs = 0;
        for (size_t at = kListBlock; at < tail; at += kWord)
            differs |= static_cast<uint64_t>(numberAt(other + at, 0) ^ numberAt(block + at, 0));
        return differs == 0;
    }

    /// How many elements the older list has that lies in `memory`, where it is of the same kind; −1: there is none. `hashOfOlder`: its.
    int64_t olderIn(const Tensor& memory, uint64_t& hashOfOlder) const
    {
        int32_t words[3];
        std::memcpy(words, memory.data, sizeof words);
        const int64_t older = numberAt(memory.data + tail, 0);
        if (words[0] != 1 || words[1] != static_cast<int32_t>(kListBlock) || numberAt(memory.data + tail, 1) != elementSize || older <= 0 ||
            older < count - kMostBehind || older > count + kMostBehind || static_cast<size_t>(words[2]) != sizeFor(older) ||
            !hasSameHead(memory.data))
            return -1;
        hashOfOlder = static_cast<uint64_t>(numberAt(memory.data + tail, 2));
        return older;
    }

    void finish(Tensor& result, int64_t elements, uint64_t hashOfAll) const
    {
        const auto size = static_cast<int32_t>(sizeFor(elements));
        std::memcpy(result.data + 2 * sizeof size, &size, sizeof size);
        std::byte* to = put(result.data + tail, elements);
        put(put(to, elementSize), static_cast<int64_t>(hashOfAll));
    }
};

} // namespace

Status appendQuickly(const KernelArgs& args, bool& done)
{
    const Tensor& tensor = args.in(1);
    PlainList list;
    if (!list.read(args.in(0)) || tensor.bytes > kMostElement || bitWidth(tensor.dtype) == 0) return {};
    if (list.elementType != static_cast<int64_t>(tensor.dtype) || !list.takes(tensor.shape)) return {};
    if (list.maxElements >= 0 && list.count >= list.maxElements) return {};
    const size_t padded = (tensor.bytes + kWord - 1) / kWord * kWord;
    const auto rank = static_cast<size_t>(tensor.shape.rank());
    const size_t size = kElementHeader + rank * kWord + padded;
    if (rank > 8 || static_cast<int64_t>(size) != list.elementSize) return {};
    const size_t total = list.sizeFor(list.count + 1);
    if (total > static_cast<size_t>(std::numeric_limits<int32_t>::max())) return {};

    Tensor& result = args.out(0);
    LS_CHECK_OK(args.runtime->resize(result, kScalar, total));
    uint64_t hash = 0;
    const int64_t older = list.olderIn(result, hash);
    if (older < 0 || older > list.count) return {};
    for (int64_t i = older; i < list.count; ++i) hash += list.hashOf(i);
    if (hash != list.hash) return {};

    std::byte* const elements = result.data + list.body;
    if (older < list.count)
        std::memcpy(elements + static_cast<size_t>(older) * size, list.element(older), static_cast<size_t>(list.count - older) * size);
    std::byte* const element = elements + static_cast<size_t>(list.count) * size;
    std::byte* to = put(element, elementKind(list.elementType, static_cast<int64_t>(rank))) + kWord;
    for (const int64_t dim : tensor.shape.dims()) to = put(to, dim);
    to = put(put(to, args.runtime->resources().iterationTick()), static_cast<int64_t>(tensor.bytes));
    if (padded > tensor.bytes) put(to + padded - kWord, 0);
    if (tensor.bytes == sizeof(int32_t)) std::memcpy(to, tensor.data, sizeof(int32_t)); // mostly
    else if (tensor.bytes > 0) std::memcpy(to, tensor.data, tensor.bytes);
    const uint64_t own = listElementHash(list.count, {reinterpret_cast<const char*>(element), size});
    put(element + kElementHash, static_cast<int64_t>(own));
    list.finish(result, list.count + 1, hash + own);
    done = true;
    return {};
}

namespace {

/// Result 1 becomes the last element. False: that has to be done the long way.
Result<bool> takeLast(const KernelArgs& args, const PlainList& list)
{
    const DType type = static_cast<DType>(list.elementType);
    const auto size = static_cast<size_t>(list.elementSize);
    const std::byte* const last = list.element(list.count - 1);
    const int64_t rank = rankIn(numberAt(last, 0)); // of one that lies elsewhere the kind is another

    if (rank < 0 || rank > 8 || numberAt(last, 0) != elementKind(list.elementType, rank) ||
        size < kElementHeader + static_cast<size_t>(rank) * kWord)
        return false;
    const std::byte* const numbers = last + 2 * kWord + static_cast<size_t>(rank) * kWord;
    const int64_t origin = numberAt(numbers, 0), bytes = numberAt(numbers, 1);
    const std::byte* const content = numbers + 2 * kWord;
    if (bytes < 0 || static_cast<size_t>(bytes) > size - static_cast<size_t>(content - last)) return false;
    if (rank == 0) {
        if (static_cast<size_t>(bytes) != byteSize(type, 1)) return false;
        LS_CHECK_OK(args.runtime->resize(args.out(1), kScalar, static_cast<size_t>(bytes)));
    } else {
        Shape shape;
        for (int64_t d = 0; d < rank; ++d) shape.append(numberAt(last, 2 + static_cast<size_t>(d)));
        const std::optional<int64_t> count = checkedElementCount(shape);
        if (!count || static_cast<size_t>(bytes) != byteSize(type, *count)) return false;
        LS_CHECK_OK(args.runtime->resize(args.out(1), shape, static_cast<size_t>(bytes)));
    }
    if (bytes == sizeof(int32_t)) std::memcpy(args.out(1).data, content, sizeof(int32_t)); // mostly
    else if (bytes > 0) std::memcpy(args.out(1).data, content, static_cast<size_t>(bytes));
    args.runtime->resources().elementTaken(origin, true);
    return true;
}

} // namespace

Status popQuickly(const KernelArgs& args, QuickPop& done)
{
    PlainList list;
    if (!list.read(args.in(0))) return {};
    const DType type = static_cast<DType>(list.elementType);
    if (args.out(1).dtype != type || bitWidth(type) == 0) return {};
    LS_TRY(done.element, takeLast(args, list));
    const int64_t left = list.count - 1;
    if (!done.element || left == 0) return {};
    Tensor& result = args.out(0);
    LS_CHECK_OK(args.runtime->resize(result, kScalar, list.sizeFor(list.count + 1))); // what the other buffer of a loop holds
    uint64_t hash = 0;
    int64_t older = list.olderIn(result, hash);
    if (older > list.count + 1) { // all of it must be there to be looked at
        LS_CHECK_OK(args.runtime->resize(result, kScalar, list.sizeFor(older)));
        older = list.olderIn(result, hash);
    }
    if (older < left) return {};
    PlainList before = list;
    before.block = result.data;
    for (int64_t i = left; i < older; ++i) hash -= before.hashOf(i);
    const uint64_t wanted = list.hash - list.hashOf(left);
    if (hash != wanted) return {};
    list.finish(result, left, wanted);
    LS_CHECK_OK(args.runtime->resize(result, kScalar, list.sizeFor(left)));
    done.list = true;
    return {};
}

} // namespace loopscope
