// Variants of TensorFlow as bytes: a variant tensor is laid out as a string tensor (strings.h), each element one encoded variant. Large
// elements of lists may lie elsewhere (shared_elements.h): then the list holds what they are found by.
#pragma once

#include "engine/base/swapped_bytes.h"
#include "engine/tensor/shared_elements.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A tensor inside a variant. `dtype` unknown: not set. `bytes` view the encoded variant or whatever the caller keeps alive.
struct VariantTensor {
    DType dtype = DType::unknown;
    Shape shape;
    std::string_view bytes;
    int64_t origin = -1;             ///< of elements of lists: ResourceStore::iterationTick() of who put it there
    ElementHandle element = nullptr; ///< of lists: where its bytes lie, if the variant only refers to them; then `bytes` is empty
    mutable BytesPin pin = {};

    bool isSet() const { return dtype != DType::unknown; }
    size_t byteCount() const { return element ? element->bytes.size() : bytes.size(); }
    /// Valid as long as this lives, which holds the bytes in memory from then on. Copy it first, if it is one of many.
    Tensor view() const;
};

enum class VariantKind : uint8_t {
    none,     ///< an empty string, too
    list,     ///< TensorList
    optional, ///< Optional: one tensor list of components, or none
    ragged,   ///< RaggedTensorToVariant: splits, then values
    tensors,  ///< other tensors in one variant (a serialised sparse tensor)
};

/// One decoded variant; views into the bytes that it was decoded from.
struct VariantValue {
    VariantKind kind = VariantKind::none;
    DType elementType = DType::unknown;        ///< lists
    Shape elementShape = Shape::unknownRank(); ///< lists
    int64_t maxElements = -1;                  ///< lists; −1: any number. optional: 1 if it has a value
    std::vector<VariantTensor> tensors;
};

std::string encodeVariant(const VariantValue& value);
/// Errors: execution, if the bytes are none of ours, or if an element that they refer to is not there any more.
Result<VariantValue> decodeVariant(std::string_view bytes);

/// Element `i` of a list as it is encoded in it, and back; how many bytes the first one in `bytes` takes (none: it is damaged).
std::string encodeListElement(const VariantTensor& element, int64_t i);
Result<VariantTensor> decodeListElement(std::string_view bytes, DType elementType);
std::optional<size_t> encodedElementSize(std::string_view bytes);

/// Of a long list (variant_format.h): the entry for the elements that are encoded in `elements`, whose shared element is `content`, and
/// the encoded elements of an entry. Errors: execution, if they are gone.
std::string encodeChapter(std::string_view elements, size_t elementSize, const ElementHandle& content);
Result<Bytes> chapterElements(std::string_view entry, size_t elementSize);

/// A tensor as an element of a variant.
VariantTensor variantTensor(const Tensor& tensor);

/// Calls `visit` with each shared element that a variant tensor refers to, lists in lists included. Bytes that are none of ours have none.
void visitElements(const Tensor& variant, const std::function<void(const ElementKey&)>& visit);

/// A value for whoever keeps it longer than the run that made it: variants hold everything themselves. Larger than what is left of the
/// memory that may be used, they stay as they are, and can be looked at as long as the run goes on.
class WholeVariant {
public:
    explicit WholeVariant(const Tensor& tensor);
    /// Valid as long as this and what it was made of.
    const Tensor& tensor() const { return m_tensor; }

private:
    Tensor m_tensor;
    std::vector<std::byte> m_bytes;
};

} // namespace loopscope
