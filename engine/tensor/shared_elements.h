// Large elements of lists that lie beside the lists that have them, once for each content, where `--memory` lets them go to disk. Lists are
// bytes that anybody copies, and hold 16 bytes of each such element; it is there as long as somebody holds a handle: the run whose
// operators made it (StepObjects), and saved states of that run. What outlives them takes a list as a whole (wholeVariants()).
#pragma once

#include "engine/base/hash.h"
#include "engine/base/result.h"
#include "engine/base/swapped_bytes.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace loopscope {

using ElementKey = Hash128; ///< of its bytes

struct SharedElement {
    ElementKey key;
    KeptBytes bytes;
    std::atomic<int32_t> handles = 0;
    uint32_t number = 0; ///< among all elements; of one that has gone, another one gets it
};

/// A handle; a pointer that counts.
class ElementHandle {
public:
    ElementHandle() = default;
    ElementHandle(std::nullptr_t) {} // NOLINT(google-explicit-constructor)
    /// One more of an element of which there is a handle.
    explicit ElementHandle(SharedElement& element) : m_element(&element) { ++element.handles; }
    ElementHandle(const ElementHandle& other) : m_element(other.m_element)
    {
        if (m_element) ++m_element->handles;
    }
    ElementHandle(ElementHandle&& other) noexcept : m_element(std::exchange(other.m_element, nullptr)) {}
    ElementHandle& operator=(ElementHandle other) noexcept
    {
        std::swap(m_element, other.m_element);
        return *this;
    }
    ~ElementHandle();

    explicit operator bool() const { return m_element != nullptr; }
    const SharedElement* operator->() const { return m_element; }
    const SharedElement& operator*() const { return *m_element; }
    bool operator==(const ElementHandle& other) const = default;

private:
    SharedElement* m_element = nullptr;
};

/// Many elements that are held together. Copies share what they have in common, and of each element it takes a bit.
class ElementSet {
public:
    /// False: it is there already.
    bool insert(const ElementHandle& element);
    uint64_t bytes() const { return m_bytes; } ///< of the elements
    size_t count() const { return m_count; }

private:
    struct Page;
    std::vector<std::shared_ptr<Page>> m_pages; ///< by number; null: none of them
    uint64_t m_bytes = 0;
    size_t m_count = 0;
};

/// Whether an element of so many bytes is shared now.
bool sharesElement(size_t bytes);
/// The element of that content, which is kept now if it is not there. `isOfList`: it is a part of lists that they themselves are read by
/// (KeptKind::index). Errors: cannotWrite, as keptCopy().
Result<ElementHandle> shareElement(std::span<const std::byte> content, bool isOfList = false);
/// Null: there is none (any more).
ElementHandle sharedElement(const ElementKey& key);

} // namespace loopscope
