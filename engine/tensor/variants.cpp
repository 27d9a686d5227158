#include "engine/tensor/variants.h"

#include "engine/base/hash.h"
#include "engine/base/memory_budget.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/variant_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace loopscope {

namespace {

void put(std::string& out, int64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

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
    Shape shape() { return shape(number()); }
    Shape shape(int64_t rank)
    {
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

/// Bytes that a tensor needs to be decoded: strings may be short (an empty block is allowed).
bool holdsEnough(const VariantTensor& tensor)
{
    if (!tensor.isSet()) return true;
    const std::optional<int64_t> count = checkedElementCount(tensor.shape);
    return count && tensor.byteCount() >= byteSize(tensor.dtype, *count);
}

Error foreign() { return Error(ErrorCode::execution, "the variant is none that this program made"); }

Error gone() { return Error(ErrorCode::execution, "an element of a list is not there any more: the run that it belongs to has ended"); }

} // namespace

Tensor VariantTensor::view() const
{
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.bytes = byteCount();
    static std::byte nothing = {};
    if (element) pin.bytes = element->bytes.pinned();
    const std::byte* const data = element ? pin.bytes.data() : reinterpret_cast<const std::byte*>(bytes.data());
    tensor.data = // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): operands are read only
        tensor.bytes == 0 ? &nothing : const_cast<std::byte*>(data);
    return tensor;
}

VariantTensor variantTensor(const Tensor& tensor)
{
    return {tensor.dtype, tensor.shape, {reinterpret_cast<const char*>(tensor.data), tensor.bytes}, -1, nullptr};
}

namespace {

/// Without a hash.
void put(std::string& out, const VariantTensor& tensor)
{
    const int64_t kind = elementKind(static_cast<int64_t>(tensor.dtype), tensor.shape.hasRank() ? tensor.shape.rank() : -1);
    put(out, tensor.element ? kind | kElementElsewhere : kind);
    put(out, 0);
    for (const int64_t dim : tensor.shape.dims()) put(out, dim);
    put(out, tensor.origin);
    put(out, static_cast<int64_t>(tensor.byteCount()));
    if (tensor.element) {
        put(out, static_cast<int64_t>(tensor.element->key.high));
        put(out, static_cast<int64_t>(tensor.element->key.low));
        return;
    }
    out += tensor.bytes;
    out.append((8 - tensor.bytes.size() % 8) % 8, '\0'); // elements stay aligned as far as the block is
}

/// The hash of the element that ends `out`, which is put into it.
uint64_t seal(std::string& out, size_t begin, int64_t i)
{
    const uint64_t hash = listElementHash(i, std::string_view(out).substr(begin));
    std::memcpy(out.data() + begin + kElementHash, &hash, sizeof hash);
    return hash;
}

ElementKey takeKey(Reader& reader)
{
    ElementKey key;
    key.high = static_cast<uint64_t>(reader.number());
    key.low = static_cast<uint64_t>(reader.number());
    return key;
}

/// The inverse of `put`; of a shared element only its key. False if the bytes are no element of a value of that kind and type.
bool take(Reader& reader, VariantKind kind, DType elementType, VariantTensor& tensor, std::optional<ElementKey>& elsewhere)
{
    const int64_t kinds = reader.number(), dtype = kinds & 0xff;
    if (kinds < 0 || kinds >= 2 * kElementElsewhere || // a chapter is no element
        dtype > static_cast<int64_t>(DType::mxint8))
        return false;
    tensor.dtype = static_cast<DType>(dtype);
    reader.number(); // the hash
    tensor.shape = reader.shape(rankIn(kinds));
    tensor.origin = reader.number();
    const int64_t size = reader.number();
    if ((kinds & kElementElsewhere) != 0) {
        elsewhere = takeKey(reader);
    } else {
        tensor.bytes = reader.take(size);
        reader.take((8 - size % 8) % 8);
    }
    return !reader.failed && (elsewhere || holdsEnough(tensor)) &&
           (kind != VariantKind::list || !tensor.isSet() || tensor.dtype == elementType);
}

/// The same of an element without a hash: so they were written once, and lie in recordings.
bool takeOld(Reader& reader, VariantKind kind, DType elementType, VariantTensor& tensor)
{
    const int64_t dtype = reader.number();
    if (dtype < 0 || dtype > static_cast<int64_t>(DType::mxint8)) return false;
    tensor.dtype = static_cast<DType>(dtype);
    tensor.shape = reader.shape();
    tensor.origin = reader.number();
    const int64_t size = reader.number();
    tensor.bytes = reader.take(size);
    reader.take((8 - size % 8) % 8);
    return !reader.failed && holdsEnough(tensor) && (kind != VariantKind::list || !tensor.isSet() || tensor.dtype == elementType);
}

/// Finds the bytes of a shared element. Errors: execution, if they are gone.
Status find(VariantTensor& tensor, const std::optional<ElementKey>& elsewhere)
{
    if (!elsewhere) return {};
    tensor.element = sharedElement(*elsewhere);
    if (tensor.element) return holdsEnough(tensor) ? Status() : Status(foreign());
    return gone();
}

bool isChapter(std::string_view entry)
{
    Reader reader{entry};
    return (reader.number() & kElementChapter) != 0 && !reader.failed;
}

/// The elements of the entry of a chapter that comes next, one after the other: `visit(reader)` takes one, or says no. False: it is
/// damaged.
template <typename Visit> Result<bool> forEachOfChapter(Reader& reader, Visit visit)
{
    const auto size = static_cast<int64_t>(encodedElementSize(reader.bytes).value_or(0));
    const std::string_view entry = reader.take(size);
    if (size == 0 || reader.failed) return false;
    LS_TRY(const Bytes bytes, chapterElements(entry, static_cast<size_t>(size)));
    Reader elements{{bytes.as<char>(), bytes.size()}};
    bool good = true;
    for (int64_t i = 0; good && i < kChapter; ++i) good = visit(elements);
    return good && elements.bytes.empty();
}

} // namespace

uint64_t longElementHash(int64_t i, std::string_view element)
{
    return hash64(std::as_bytes(std::span(element.substr(std::min(element.size(), 2 * kElementHash)))), static_cast<uint64_t>(i)) ^
           hash64(std::as_bytes(std::span(element.substr(0, kElementHash))), element.size());
}

std::string encodeVariant(const VariantValue& value)
{
    if (value.kind == VariantKind::none) return {};
    std::string out;
    put(out, kVariantMagic);
    put(out, static_cast<int64_t>(value.kind));
    put(out, static_cast<int64_t>(value.elementType));
    put(out, value.maxElements);
    put(out, value.elementShape);
    put(out, static_cast<int64_t>(value.tensors.size()));
    const size_t at = out.size();
    int64_t tail[] = {0, 0};
    put(out, tail[0]);
    put(out, tail[1]);
    uint64_t hash = 0;
    for (size_t i = 0; i < value.tensors.size(); ++i) {
        const size_t begin = out.size();
        put(out, value.tensors[i]);
        tail[0] = combinedElementSize(tail[0], static_cast<int64_t>(out.size() - begin));
        if (value.kind == VariantKind::list) hash += seal(out, begin, static_cast<int64_t>(i));
    }
    tail[1] = static_cast<int64_t>(hash);
    std::memcpy(out.data() + at, tail, sizeof tail);
    return out;
}

std::string encodeListElement(const VariantTensor& element, int64_t i)
{
    std::string bytes;
    put(bytes, element);
    seal(bytes, 0, i);
    return bytes;
}

Result<VariantTensor> decodeListElement(std::string_view bytes, DType elementType)
{
    Reader reader{bytes};
    VariantTensor tensor;
    std::optional<ElementKey> elsewhere;
    if (!take(reader, VariantKind::list, elementType, tensor, elsewhere)) return foreign();
    LS_CHECK_OK(find(tensor, elsewhere));
    return tensor;
}

std::string encodeChapter(std::string_view elements, size_t elementSize, const ElementHandle& content)
{
    std::string entry(elements.substr(0, elementSize));
    const auto number = [&](size_t at, auto value) { std::memcpy(entry.data() + at, &value, sizeof value); };
    int64_t kind = 0;
    std::memcpy(&kind, entry.data(), sizeof kind);
    uint64_t hash = 0;
    for (size_t at = 0; at < elements.size(); at += elementSize) hash += hashIn(elements.substr(at, elementSize));
    number(0, kind | kElementChapter);
    number(kElementHash, hash);
    number(elementSize - 4 * sizeof(int64_t), int64_t{-1}); // where elements have their origin
    number(elementSize - 3 * sizeof(int64_t), static_cast<int64_t>(elements.size()));
    number(elementSize - 2 * sizeof(int64_t), content->key.high);
    number(elementSize - sizeof(int64_t), content->key.low);
    return entry;
}

Result<Bytes> chapterElements(std::string_view entry, size_t elementSize)
{
    if (!isChapter(entry) || elementSize < kElementHeader + sizeof(ElementKey) || entry.size() < elementSize) return foreign();
    Reader reader{entry.substr(elementSize - sizeof(ElementKey))};
    const ElementHandle content = sharedElement(takeKey(reader));
    if (!content) return gone();
    if (content->bytes.size() != elementSize * static_cast<size_t>(kChapter)) return foreign();
    Bytes bytes = content->bytes.pinned();
    LS_CHECK_OK(swapFailure());
    return bytes;
}

std::optional<size_t> encodedElementSize(std::string_view bytes)
{
    Reader reader{bytes};
    const int64_t kind = reader.number();
    const int64_t rank = rankIn(kind);
    reader.number(); // the hash
    reader.take(rank > 0 ? rank * 8 : 0);
    reader.number(); // origin
    const int64_t size = reader.number();
    if ((kind & kElementElsewhere) != 0) {
        takeKey(reader);
    } else {
        reader.take(size);
        reader.take((8 - size % 8) % 8);
    }
    if (reader.failed) return std::nullopt;
    return bytes.size() - reader.bytes.size();
}

namespace {

/// Everything before the elements; `count`: how many there are.
bool takeHeader(Reader& reader, VariantValue& value, int64_t& count)
{
    const bool ours = reader.number() == kVariantMagic;
    const int64_t kind = reader.number();
    const int64_t elementType = reader.number();
    value.maxElements = reader.number();
    value.elementShape = reader.shape();
    count = reader.number();
    reader.number(); // the size of an element and the hash: who takes all apart needs none
    reader.number();
    value.kind = static_cast<VariantKind>(kind);
    value.elementType = static_cast<DType>(elementType);
    return ours && !reader.failed && kind >= 0 && kind <= static_cast<int64_t>(VariantKind::tensors) && elementType >= 0 &&
           elementType <= static_cast<int64_t>(DType::mxint8);
}

bool decodeOld(std::string_view bytes, VariantValue& value)
{
    Reader reader{bytes};
    int64_t count = 0;
    value.tensors.clear();
    bool good = takeHeader(reader, value, count);
    for (int64_t i = 0; good && i < count; ++i) good = takeOld(reader, value.kind, value.elementType, value.tensors.emplace_back());
    return good && reader.bytes.empty();
}

} // namespace

Result<VariantValue> decodeVariant(std::string_view bytes)
{
    VariantValue value;
    if (bytes.empty()) return value;
    Reader reader{bytes};
    int64_t count = 0;
    bool good = takeHeader(reader, value, count);
    Status found;
    const auto takeOne = [&](Reader& from) {
        std::optional<ElementKey> elsewhere;
        if (!take(from, value.kind, value.elementType, value.tensors.emplace_back(), elsewhere)) return false;
        found = find(value.tensors.back(), elsewhere);
        return found.ok();
    };
    while (good && static_cast<int64_t>(value.tensors.size()) < count) {
        if (isChapter(reader.bytes)) {
            LS_TRY(good, forEachOfChapter(reader, takeOne));
        } else {
            good = takeOne(reader);
        }
    }
    LS_CHECK_OK(std::move(found));
    good = good && static_cast<int64_t>(value.tensors.size()) == count;
    if (!good && !decodeOld(bytes, value)) return foreign();
    return value;
}

namespace {

constexpr int kDeepest = 64; ///< lists in lists: the bytes may be a stranger's

/// Each element of each variant, as it is encoded: `visit(tensor, key)`.
template <typename Visit> void forEachElement(std::string_view encoded, Visit visit)
{
    Reader reader{encoded};
    VariantValue header;
    int64_t count = 0;
    bool good = !encoded.empty() && takeHeader(reader, header, count);
    const auto takeOne = [&](Reader& from) {
        VariantTensor tensor;
        std::optional<ElementKey> elsewhere;
        if (!take(from, header.kind, header.elementType, tensor, elsewhere)) return false;
        visit(tensor, elsewhere);
        return true;
    };
    for (int64_t i = 0; good && i < count; ++i) {
        if (!isChapter(reader.bytes)) {
            good = takeOne(reader);
            continue;
        }
        if (const size_t size = encodedElementSize(reader.bytes).value_or(0); size > sizeof(ElementKey)) {
            Reader key{reader.bytes.substr(size - sizeof(ElementKey), sizeof(ElementKey))};
            visit(VariantTensor(), std::optional(takeKey(key)));
        }
        const Result<bool> taken = forEachOfChapter(reader, takeOne);
        good = taken.ok() && *taken;
        i += kChapter - 1;
    }
}

void visitVariants(std::span<const std::byte> block, int depth, const std::function<void(const ElementKey&)>& visit)
{
    const auto variants = unpackStrings(block);
    if (!variants.ok() || depth > kDeepest) return;
    for (const std::string_view variant : *variants)
        forEachElement(variant, [&](const VariantTensor& tensor, const std::optional<ElementKey>& key) {
            if (key) visit(*key);
            else if (tensor.dtype == DType::variant) visitVariants(std::as_bytes(std::span(tensor.bytes)), depth + 1, visit);
        });
}

constexpr size_t kMostWhole = size_t{1} << 30; ///< bytes of a value that holds everything itself

Result<std::vector<std::byte>> whole(std::span<const std::byte> block, size_t& left, int depth)
{
    if (depth > kDeepest) return foreign();
    LS_TRY(const auto variants, unpackStrings(block));
    std::vector<std::string> encoded;
    for (const std::string_view variant : variants) {
        LS_TRY(VariantValue value, decodeVariant(variant));
        std::vector<std::vector<std::byte>> own;
        own.reserve(value.tensors.size());
        for (VariantTensor& tensor : value.tensors) {
            if (!tensor.element && tensor.dtype != DType::variant) continue;
            if (tensor.byteCount() > left) return Error(ErrorCode::execution, "the elements of a list are too large for one value");
            left -= tensor.byteCount();
            if (tensor.element) {
                const Bytes bytes = std::exchange(tensor.element, nullptr)->bytes.pinned();
                own.emplace_back(bytes.view().begin(), bytes.view().end());
            } else {
                LS_TRY(std::vector<std::byte> inner, whole(std::as_bytes(std::span(tensor.bytes)), left, depth + 1));
                own.push_back(std::move(inner));
            }
            tensor.bytes = {reinterpret_cast<const char*>(own.back().data()), own.back().size()};
        }
        encoded.push_back(encodeVariant(value));
    }
    LS_CHECK_OK(swapFailure());
    return packStrings(encoded);
}

} // namespace

void visitElements(const Tensor& variant, const std::function<void(const ElementKey&)>& visit) { visitVariants(variant.view(), 0, visit); }

WholeVariant::WholeVariant(const Tensor& tensor) : m_tensor(tensor)
{
    bool refers = false;
    if (tensor.dtype == DType::variant && tensor.data != nullptr) visitElements(tensor, [&](const ElementKey&) { refers = true; });
    if (!refers) return;
    size_t left = static_cast<size_t>(std::min<uint64_t>(kMostWhole, memoryLimit() / 4));
    Result<std::vector<std::byte>> own = whole(tensor.view(), left, 0);
    if (!own.ok()) return;
    m_bytes = std::move(own).value();
    m_tensor.data = m_bytes.data();
    m_tensor.bytes = m_bytes.size();
}

} // namespace loopscope
