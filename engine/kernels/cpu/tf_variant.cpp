#include "engine/kernels/cpu/tf_variant.h"

#include "engine/kernels/cpu/tf_list_view.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <span>

namespace loopscope {

namespace {

Error damaged() { return invalidArgument("the variant is none that this program made"); }

} // namespace

Result<VariantValue> listOperand(const KernelArgs& args, int i)
{
    const Tensor& tensor = args.in(i);
    if (tensor.shape.rank() != 0) return invalidArgument("input handle must be a scalar, got shape " + tfShapeText(tensor.shape));
    LS_TRY(const auto strings, readStrings(tensor));
    LS_TRY(VariantValue value, decodeVariant(strings[0]));
    if (value.kind != VariantKind::list) return invalidArgument("Input handle is not a list.");
    return value;
}

Result<ListView> ListView::of(const KernelArgs& args, int i)
{
    const Tensor& tensor = args.in(i);
    if (tensor.shape.rank() != 0) return invalidArgument("input handle must be a scalar, got shape " + tfShapeText(tensor.shape));
    LS_TRY(const auto strings, readStrings(tensor));
    ListView list;
    list.m_bytes = strings[0];
    size_t at = 0;
    bool failed = list.m_bytes.empty();
    const auto number = [&]() -> int64_t {
        int64_t value = 0;
        failed = failed || list.m_bytes.size() - at < sizeof value;
        if (failed) return 0;
        std::memcpy(&value, list.m_bytes.data() + at, sizeof value);
        at += sizeof value;
        return value;
    };
    const bool ours = number() == kVariantMagic;
    const int64_t kind = ours ? number() : 0;
    const int64_t elementType = number();
    list.m_maxElements = number();
    if (const int64_t rank = number(); rank < 0) list.m_elementShape = Shape::unknownRank();
    else
        for (int64_t d = 0; d < rank && !failed; ++d) list.m_elementShape.append(number());
    list.m_count = number();
    list.m_elementSize = number();
    list.m_hash = static_cast<uint64_t>(number());
    if (kind != static_cast<int64_t>(VariantKind::list)) return invalidArgument("Input handle is not a list.");
    const bool good =
        !failed && elementType >= 0 && elementType <= static_cast<int64_t>(DType::mxint8) && list.m_count >= 0 && list.m_elementSize >= -1;
    if (!good) return damaged();
    list.m_elementType = static_cast<DType>(elementType);
    list.m_head = list.m_body = at;
    if (list.m_elementSize <= 0) return list;
    const auto elements = static_cast<int64_t>(list.m_bytes.size() - at);
    const int64_t chapters = chaptersIn(list.m_count, elements / list.m_elementSize);
    if (elements % list.m_elementSize != 0 || chapters < 0) return damaged();
    list.m_first = chapters * kChapter;
    list.m_body += static_cast<size_t>(chapters * list.m_elementSize);
    return list;
}

Result<size_t> ListView::offsetOf(int64_t i) const
{
    if (i == m_count) return m_bytes.size();
    if (m_elementSize > 0) return m_body + static_cast<size_t>((i - m_first) * m_elementSize);
    size_t at = m_body;
    for (int64_t e = 0; e < i; ++e) {
        const std::optional<size_t> size = encodedElementSize(m_bytes.substr(at));
        if (!size) return damaged();
        at += *size;
    }
    return at;
}

Result<VariantTensor> ListView::element(int64_t i) const
{
    if (i < m_first) return elementOfChapter(i);
    LS_TRY(const size_t offset, offsetOf(i));
    return decodeListElement(m_bytes.substr(std::min(offset, m_bytes.size())), m_elementType);
}

Result<VariantTensor> ListView::elementOfChapter(int64_t i) const
{
    const auto size = static_cast<size_t>(m_elementSize);
    LS_TRY(const Bytes elements, chapterElements(m_bytes.substr(m_head + static_cast<size_t>(i / kChapter) * size, size), size));
    return decodeListElement({elements.as<char>() + static_cast<size_t>(i % kChapter) * size, size}, m_elementType);
}

namespace {

constexpr int64_t kMostRoom = 64 << 20; ///< bytes that a list may take with elements that are not set yet

} // namespace

Status ListView::writeWith(const KernelArgs& args, int k, int64_t i, const VariantTensor& element) const
{
    if (i < m_first) { // nobody changes long lists in the middle, once they have grown
        LS_TRY(VariantValue list, decodeVariant(m_bytes));
        list.tensors[static_cast<size_t>(i)] = element;
        return writeVariant(args, k, list);
    }
    if (i == m_count && i - m_first + 1 >= 2 * kChapter) {
        LS_TRY(const bool isDone, writeAsChapter(args, k, element));
        if (isDone) return {};
    }
    const std::string bytes = encodeListElement(element, i);
    const auto size = static_cast<int64_t>(bytes.size());
    if (i < m_count && m_elementSize > 0 && m_elementSize < size && m_count <= kMostRoom / size) {
        LS_TRY(const VariantTensor before, this->element(i));
        if (!before.isSet()) return writeWithRoom(args, k, i, element);
    }
    LS_TRY(const Change change, changeOf(i, bytes));
    return write(args, k, change);
}

/// The first element comes into a list that was reserved: the elements that are not set get room for as much, so that all have one size.
Status ListView::writeWithRoom(const KernelArgs& args, int k, int64_t i, const VariantTensor& element) const
{
    LS_TRY(VariantValue list, decodeVariant(m_bytes));
    const size_t bytes = element.element ? sizeof(ElementKey) : element.bytes.size();
    const std::string room(bytes, '\0');
    for (VariantTensor& unset : list.tensors) {
        if (unset.isSet()) continue;
        unset.shape = element.shape;
        unset.bytes = room;
    }
    list.tensors[static_cast<size_t>(i)] = element;
    return writeVariant(args, k, list);
}

/// Result `k` becomes this list with `element` behind the last, and the first elements that are in no chapter yet in one. False: they are
/// not all elsewhere, and of one size; nothing was written.
Result<bool> ListView::writeAsChapter(const KernelArgs& args, int k, const VariantTensor& element) const
{
    const std::string bytes = encodeListElement(element, m_count);
    const auto size = static_cast<int64_t>(bytes.size());
    if (size != m_elementSize || !element.element) return false;
    for (int64_t i = m_first; i < m_first + kChapter; ++i) {
        int64_t kind = 0;
        std::memcpy(&kind, encoded(i).data(), sizeof kind);
        if ((kind & kElementElsewhere) == 0) return false;
    }
    const std::string_view elements = m_bytes.substr(m_body, static_cast<size_t>(size * kChapter));
    LS_TRY(const ElementHandle content, args.runtime->resources().shareElement(std::as_bytes(std::span(elements)), true));
    const std::string entry = encodeChapter(elements, static_cast<size_t>(size), content);
    LS_TRY(const Change change, changeOf(m_count, bytes));
    LS_CHECK_OK(writeParts(args, k, {m_bytes.substr(0, m_body), entry, m_bytes.substr(m_body + elements.size()), bytes}, change));
    return true;
}

/// Result `k` becomes this list without its last element, and the elements of its last chapter are in none any more.
Status ListView::writeWithoutChapter(const KernelArgs& args, int k) const
{
    const auto size = static_cast<size_t>(m_elementSize);
    LS_TRY(const Bytes elements, chapterElements(m_bytes.substr(m_body - size, size), size));
    LS_TRY(const Change change, changeOf(m_count - 1, {}));
    const std::string_view left = m_bytes.substr(m_body, m_bytes.size() - m_body - size);
    return writeParts(args, k, {m_bytes.substr(0, m_body - size), {elements.as<char>(), elements.size()}, left}, change);
}

Status ListView::writeWithoutLast(const KernelArgs& args, int k) const
{
    if (m_first > 0 && m_count - 1 - m_first < kChapter) return writeWithoutChapter(args, k);
    LS_TRY(const Change change, changeOf(m_count - 1, {}));
    return write(args, k, change);
}

Result<ListView::Change> ListView::changeOf(int64_t i, std::string_view element) const
{
    Change change{i, element, element.empty() ? m_count - 1 : std::max(m_count, i + 1), m_elementSize, m_hash};
    if (i < m_count) {
        LS_TRY(const size_t begin, offsetOf(i));
        LS_TRY(const size_t end, offsetOf(i + 1));
        if (end > m_bytes.size()) return damaged();
        change.hash -= hashIn(m_bytes.substr(begin, end - begin));
    }
    if (element.empty()) {
        if (m_count == 1) change.elementSize = 0;
        return change;
    }
    const auto size = static_cast<int64_t>(element.size());
    change.elementSize = m_count == (i < m_count ? 1 : 0) ? size : combinedElementSize(m_elementSize, size);
    change.hash += hashIn(element);
    return change;
}

namespace {

constexpr int64_t kMostBehind = 16; ///< elements by which an older list may be longer or shorter

} // namespace

/// Makes the new list of an older one that the result's memory may still hold. False: it holds none that is known to differ from this list
/// in a few elements only; nothing was written.
Result<bool> ListView::bringUpToDate(const KernelArgs& args, int k, const Change& change) const
{
    Tensor& out = args.out(k);
    const int64_t size = m_elementSize;
    if (size < static_cast<int64_t>(kElementHeader) || change.elementSize != size) return false;
    const size_t elements = kListBlock + m_body;
    const size_t total = elements + static_cast<size_t>((change.count - m_first) * size);
    LS_CHECK_OK(args.runtime->resize(out, Shape(), total));
    int32_t words[3];
    int64_t tail[3];
    const size_t head = kListBlock + m_head;
    const auto look = [&] {
        std::memcpy(words, out.data, sizeof words);
        std::memcpy(tail, out.data + head - kVariantTail, sizeof tail);
        return words[0] == 1 && words[1] == static_cast<int32_t>(kListBlock) && tail[1] == size && tail[0] > m_first &&
               tail[0] >= m_count - kMostBehind && tail[0] <= m_count + kMostBehind &&
               words[2] == static_cast<int64_t>(elements) + (tail[0] - m_first) * size &&
               std::memcmp(out.data + kListBlock, m_bytes.data(), m_head - kVariantTail) == 0 &&
               std::memcmp(out.data + head, m_bytes.data() + m_head, m_body - m_head) == 0;
    };
    if (total < elements + static_cast<size_t>(size) || !look()) return false;
    const int64_t count = tail[0];
    if (static_cast<size_t>(words[2]) > total) { // a longer list: all of it must be there to be looked at
        LS_CHECK_OK(args.runtime->resize(out, Shape(), static_cast<size_t>(words[2])));
        if (!look()) return false;
    }
    const auto at = [&](int64_t i) { return reinterpret_cast<char*>(out.data) + elements + static_cast<size_t>((i - m_first) * size); };
    const auto there = [&](int64_t i) { return hashIn({at(i), static_cast<size_t>(size)}); };
    auto hash = static_cast<uint64_t>(tail[2]);
    for (int64_t i = count; i < m_count; ++i) hash += hashIn(encoded(i));
    for (int64_t i = m_count; i < count; ++i) hash -= there(i);
    int64_t other = -1; // one more element that may differ: loops go through lists in order
    for (const int64_t i : {change.index - 1, change.index + 1, change.index}) {
        if (hash == m_hash) break;
        if (i < m_first || i >= std::min(count, m_count) || hash - there(i) + hashIn(encoded(i)) != m_hash) continue;
        hash = m_hash;
        other = i;
    }
    if (hash != m_hash) return false;
    for (int64_t i = count; i < std::min(m_count, change.count); ++i) std::memcpy(at(i), encoded(i).data(), static_cast<size_t>(size));
    if (other >= 0) std::memcpy(at(other), encoded(other).data(), static_cast<size_t>(size));
    if (!change.element.empty()) std::memcpy(at(change.index), change.element.data(), change.element.size());
    LS_CHECK_OK(args.runtime->resize(out, Shape(), total));
    return true;
}

namespace {

Status checkSize(size_t total)
{
    if (total <= static_cast<size_t>(std::numeric_limits<int32_t>::max())) return {};
    return Error(ErrorCode::execution, "the list is too long").found(std::to_string(total) + " bytes").expected("less than 2 GiB");
}

} // namespace

/// The parts one behind the other, with the numbers of the header as `change` has them.
Status ListView::writeParts(const KernelArgs& args, int k, std::initializer_list<std::string_view> parts, const Change& change) const
{
    size_t total = kListBlock;
    for (const std::string_view part : parts) total += part.size();
    LS_CHECK_OK(checkSize(total));
    LS_CHECK_OK(args.runtime->resize(args.out(k), Shape(), total));
    std::byte* to = args.out(k).data + kListBlock;
    for (const std::string_view part : parts) {
        if (!part.empty()) std::memcpy(to, part.data(), part.size());
        to += part.size();
    }
    finish(args, k, change);
    return {};
}

void ListView::finish(const KernelArgs& args, int k, const Change& change) const
{
    const Tensor& out = args.out(k);
    const int32_t words[] = {1, kListBlock, static_cast<int32_t>(out.bytes)};
    const int64_t tail[] = {change.count, change.elementSize, static_cast<int64_t>(change.hash)};
    std::memcpy(out.data, words, sizeof words);
    std::memcpy(out.data + kListBlock + m_head - kVariantTail, tail, sizeof tail);
}

Status ListView::write(const KernelArgs& args, int k, const Change& change) const
{
    LS_TRY(const size_t begin, offsetOf(change.index));
    size_t end = begin;
    if (change.index < m_count) {
        LS_TRY(end, offsetOf(change.index + 1));
    }
    LS_CHECK_OK(checkSize(kListBlock + m_bytes.size() - (end - begin) + change.element.size()));
    LS_TRY(const bool isThere, bringUpToDate(args, k, change));
    if (!isThere) return writeParts(args, k, {m_bytes.substr(0, begin), change.element, m_bytes.substr(end)}, change);
    finish(args, k, change);
    return {};
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
            storage.emplace_back(tensor.byteCount(), '\0');
            if (tensor.dtype == DType::string)
                storage.back() = packed(std::vector<std::string>(static_cast<size_t>(tensor.shape.elementCount())));
        }
        tensor.element = nullptr;
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
    const VariantTensor lookedAtA = a, lookedAtB = b; // their bytes need not stay in memory
    const Tensor viewOfA = lookedAtA.view(), viewOfB = lookedAtB.view();
    std::string sum(viewOfA.bytes, '\0');
    if (a.dtype == DType::variant) {
        LS_TRY(const auto left, readStrings(viewOfA));
        LS_TRY(const auto right, readStrings(viewOfB));
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
            std::memcpy(&x, viewOfA.data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
            std::memcpy(&y, viewOfB.data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
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
        return invalidArgument("Trying to add two lists of tensors of different dtypes. One is " +
                               std::string(tfTypeName(left.elementType)) + " and the other is " +
                               std::string(tfTypeName(right.elementType)));
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
        tensor.element = nullptr;
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
