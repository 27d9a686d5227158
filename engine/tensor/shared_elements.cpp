#include "engine/tensor/shared_elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

namespace loopscope {

namespace {

constexpr uint32_t kNone = ~uint32_t{0};
constexpr size_t kSlab = 1024; ///< elements that are allocated together

/// All elements: a million of them take about 60 bytes each. Thread-safe.
class Table {
public:
    static Table& instance()
    {
        static Table* const table = new Table; // elements may go when the process ends
        return *table;
    }

    ElementHandle find(const ElementKey& key)
    {
        const std::lock_guard lock(m_mutex);
        const uint32_t number = m_places.empty() ? kNone : m_places[placeOf(key)];
        return number == kNone ? ElementHandle() : ElementHandle(at(number));
    }

    ElementHandle add(const ElementKey& key, KeptBytes bytes)
    {
        const std::lock_guard lock(m_mutex);
        if (m_places.size() < 2 * (m_count + 1)) grow();
        uint32_t& place = m_places[placeOf(key)];
        if (place != kNone) return ElementHandle(at(place)); // somebody else was faster
        if (m_free.empty()) addSlab();
        place = m_free.back();
        m_free.pop_back();
        ++m_count;
        SharedElement& element = at(place);
        element.key = key;
        element.bytes = std::move(bytes);
        element.number = place;
        return ElementHandle(element);
    }

    /// A handle of it goes, which may be the last one.
    void release(SharedElement& element)
    {
        int32_t handles = element.handles;
        while (handles > 1)
            if (element.handles.compare_exchange_weak(handles, handles - 1)) return;
        KeptBytes bytes; // goes when nobody waits
        const std::lock_guard lock(m_mutex);
        if (--element.handles > 0) return; // somebody has found it meanwhile
        take(placeOf(element.key));
        std::swap(bytes, element.bytes);
        m_free.push_back(element.number);
        if (--m_count == 0) clear();
    }

    ElementHandle handleOf(uint32_t number)
    {
        const std::lock_guard lock(m_mutex);
        return ElementHandle(at(number));
    }

    SharedElement& held(uint32_t number)
    {
        const std::lock_guard lock(m_mutex);
        return at(number);
    }

private:
    using Slab = std::array<SharedElement, kSlab>;

    SharedElement& at(uint32_t number) { return (*m_slabs[number / kSlab])[number % kSlab]; }

    /// Where a key is, or would be.
    size_t placeOf(const ElementKey& key)
    {
        size_t place = home(key);
        while (m_places[place] != kNone && at(m_places[place]).key != key) place = (place + 1) & (m_places.size() - 1);
        return place;
    }
    size_t home(const ElementKey& key) const { return key.low & (m_places.size() - 1); }

    /// Empties a place; who was put behind it because it was taken moves up.
    void take(size_t place)
    {
        const size_t last = m_places.size() - 1;
        for (size_t next = (place + 1) & last; m_places[next] != kNone; next = (next + 1) & last) {
            const size_t wanted = home(at(m_places[next]).key);
            if (((next - wanted) & last) < ((next - place) & last)) continue;
            m_places[place] = m_places[next];
            place = next;
        }
        m_places[place] = kNone;
    }

    void grow()
    {
        const std::vector<uint32_t> before =
            std::exchange(m_places, std::vector<uint32_t>(std::max<size_t>(kSlab, 2 * m_places.size()), kNone));
        countKeptRecords(static_cast<int64_t>((m_places.size() - before.size()) * sizeof(uint32_t)));
        for (const uint32_t number : before)
            if (number != kNone) m_places[placeOf(at(number).key)] = number;
    }

    void addSlab()
    {
        m_slabs.push_back(std::make_unique<Slab>());
        countKeptRecords(sizeof(Slab));
        const auto end = static_cast<uint32_t>(m_slabs.size() * kSlab);
        for (uint32_t number = end; number > end - kSlab; --number) m_free.push_back(number - 1);
    }

    void clear()
    {
        countKeptRecords(-static_cast<int64_t>(m_slabs.size() * sizeof(Slab) + m_places.size() * sizeof(uint32_t)));
        std::vector<std::unique_ptr<Slab>>().swap(m_slabs);
        std::vector<uint32_t>().swap(m_places);
        std::vector<uint32_t>().swap(m_free);
    }

    std::mutex m_mutex;
    std::vector<std::unique_ptr<Slab>> m_slabs;
    std::vector<uint32_t> m_free;   ///< numbers without an element
    std::vector<uint32_t> m_places; ///< numbers by key; each at its home or behind it, until a place is empty
    size_t m_count = 0;
};

} // namespace

ElementHandle::~ElementHandle()
{
    if (m_element) Table::instance().release(*m_element);
}

/// Bits of numbers that follow each other.
struct ElementSet::Page {
    static constexpr size_t kBits = 1024;
    uint32_t first = 0;
    std::array<uint64_t, kBits / 64> bits = {};

    explicit Page(uint32_t begin) : first(begin) {}
    Page(const Page& other) : first(other.first), bits(other.bits)
    {
        forEach([](SharedElement& element) { ++element.handles; });
    }
    Page& operator=(const Page&) = delete;
    ~Page()
    {
        forEach([](SharedElement& element) { Table::instance().release(element); });
    }

    template <typename Visit> void forEach(Visit visit)
    {
        for (size_t word = 0; word < bits.size(); ++word)
            for (uint64_t left = bits[word]; left != 0; left &= left - 1)
                visit(Table::instance().held(first + static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(left))));
    }
};

bool ElementSet::insert(const ElementHandle& element)
{
    const size_t page = element->number / Page::kBits, bit = element->number % Page::kBits;
    if (page >= m_pages.size()) m_pages.resize(page + 1);
    std::shared_ptr<Page>& at = m_pages[page];
    const uint64_t mask = uint64_t{1} << bit % 64;
    if (at && (at->bits[bit / 64] & mask) != 0) return false;
    if (!at) at = std::make_shared<Page>(static_cast<uint32_t>(page * Page::kBits));
    else if (at.use_count() > 1) at = std::make_shared<Page>(*at);
    at->bits[bit / 64] |= mask;
    ++const_cast<SharedElement&>(*element).handles; // NOLINT(cppcoreguidelines-pro-type-const-cast): a handle, which is const to others
    m_bytes += element->bytes.size();
    ++m_count;
    return true;
}

namespace {

constexpr size_t kLeastShared = 4096; ///< where nothing swaps: a list of larger elements would soon have more bytes than a value may

} // namespace

bool sharesElement(size_t bytes) { return bytes > (isSwapping() ? kLeastKept : kLeastShared); }

Result<ElementHandle> shareElement(std::span<const std::byte> content, bool isOfList)
{
    const ElementKey key = hashBytes(content);
    if (ElementHandle known = Table::instance().find(key)) return known;
    LS_TRY(KeptBytes bytes, keptCopy(content, isOfList ? KeptKind::index : KeptKind::value));
    return Table::instance().add(key, std::move(bytes));
}

ElementHandle sharedElement(const ElementKey& key) { return Table::instance().find(key); }

} // namespace loopscope
