#include "engine/tensor/shared_elements.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace loopscope {

namespace {

struct KeyHash {
    size_t operator()(const ElementKey& key) const { return static_cast<size_t>(key.low); }
};

/// Thread-safe.
struct Table {
    std::mutex mutex;
    std::unordered_map<ElementKey, std::weak_ptr<const SharedElement>, KeyHash> elements;

    static Table& instance()
    {
        static Table* const table = new Table; // elements may go when the process ends
        return *table;
    }

    ElementHandle find(const ElementKey& key)
    {
        const std::lock_guard lock(mutex);
        const auto found = elements.find(key);
        return found == elements.end() ? nullptr : found->second.lock();
    }

    ElementHandle add(const ElementKey& key, KeptBytes bytes)
    {
        const ElementHandle handle(new SharedElement{key, std::move(bytes)}, [](const SharedElement* element) {
            instance().forget(element->key);
            delete element;
        });
        const std::lock_guard lock(mutex);
        std::weak_ptr<const SharedElement>& place = elements[key];
        if (ElementHandle known = place.lock()) return known; // somebody else was faster
        place = handle;
        return handle;
    }

    void forget(const ElementKey& key)
    {
        const std::lock_guard lock(mutex);
        const auto found = elements.find(key);
        if (found != elements.end() && found->second.expired()) elements.erase(found);
    }
};

} // namespace

bool sharesElement(size_t bytes) { return bytes > kLeastKept && isSwapping(); }

Result<ElementHandle> shareElement(std::span<const std::byte> content)
{
    const ElementKey key = hashBytes(content);
    if (ElementHandle known = Table::instance().find(key)) return known;
    LS_TRY(KeptBytes bytes, keptCopy(content));
    return Table::instance().add(key, std::move(bytes));
}

ElementHandle sharedElement(const ElementKey& key) { return Table::instance().find(key); }

} // namespace loopscope
