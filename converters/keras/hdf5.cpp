// Every offset is checked before it is followed, every part of the file is visited at most once: that bounds time and memory by the
// file's size, whatever it says.
#include "converters/keras/hdf5.h"

#include "engine/base/memory_budget.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

namespace loopscope::keras {

namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr uint64_t kUndefined = ~uint64_t{0};
constexpr size_t kLongestName = 1024;
constexpr int kDeepest = 64;     ///< groups in groups; each model or layer in another one takes two
constexpr int kHighestRank = 32; ///< the format's own limit

/// Messages of object headers that are looked at (HDF5 File Format Specification, IV.A.2).
enum MessageType : uint16_t {
    kDataspace = 0x01,
    kLinkInfo = 0x02,
    kDatatype = 0x03,
    kLink = 0x06,
    kExternalFiles = 0x07,
    kLayout = 0x08,
    kFilters = 0x0b,
    kAttribute = 0x0c,
    kContinuation = 0x10,
    kSymbolTable = 0x11,
};

std::string hexText(uint64_t value)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    do {
        out.insert(out.begin(), kDigits[value & 15]);
        value >>= 4;
    } while (value != 0);
    return "0x" + out;
}

Error damaged(uint64_t offset, std::string what) { return Error(ErrorCode::badFile, std::move(what)).at("at " + hexText(offset)); }
Error unread(uint64_t offset, std::string found, std::string expected)
{
    return Error(ErrorCode::unsupported, "a form of HDF5 that is not read")
        .at("at " + hexText(offset))
        .found(std::move(found))
        .expected(std::move(expected));
}

/// A part of the file, read from front to back. Beyond its end everything is 0 and `ok` is false.
class Cursor {
public:
    Cursor(std::span<const std::byte> bytes, uint64_t at) : m_bytes(bytes), m_at(at) {}
    uint64_t number(size_t size)
    {
        uint64_t value = 0;
        if (!has(size)) return 0;
        for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(m_bytes[m_at + i]) << (8 * i);
        m_at += size;
        return value;
    }
    void skip(uint64_t size)
    {
        if (has(size)) m_at += size;
    }
    bool text(std::string_view wanted)
    {
        if (!has(wanted.size()) || std::memcmp(m_bytes.data() + m_at, wanted.data(), wanted.size()) != 0) return false;
        m_at += wanted.size();
        return true;
    }
    uint64_t at() const { return m_at; }
    bool ok() const { return m_ok; }

private:
    bool has(uint64_t size)
    {
        if (m_at > m_bytes.size() || size > m_bytes.size() - m_at) m_ok = false;
        return m_ok;
    }
    std::span<const std::byte> m_bytes;
    uint64_t m_at;
    bool m_ok = true;
};

struct Message {
    uint16_t type = 0;
    bool isShared = false;
    uint64_t offset = 0, size = 0;
};

std::string classOfType(uint64_t number)
{
    constexpr std::string_view kNames[] = {"integer",  "float",     "time",        "string",          "bit field", "opaque",
                                           "compound", "reference", "enumeration", "variable length", "array"};
    return number < std::size(kNames) ? std::string(kNames[number]) : "class " + std::to_string(number);
}

} // namespace

class Hdf5Reader {
public:
    explicit Hdf5Reader(Bytes content) : m_bytes(content.view()), m_messagesLeft(content.size() / 8 + 8)
    {
        m_file.m_content = std::move(content);
    }

    Result<Hdf5File> run()
    {
        LS_TRY(const uint64_t root, superblock());
        m_file.m_nodes.emplace_back();
        LS_CHECK_OK(visit(root));
        m_pending.push_back({0, root, 0});
        while (!m_pending.empty()) {
            const Pending next = m_pending.back();
            m_pending.pop_back();
            if (next.depth > kDeepest) return damaged(next.header, "groups are nested deeper than " + std::to_string(kDeepest));
            m_depth = next.depth;
            LS_CHECK_OK(object(next.node, next.header));
        }
        if (m_file.m_nodes.front().isDataset) return damaged(root, "the root is no group");
        return std::move(m_file);
    }

private:
    struct Pending {
        size_t node = 0;
        uint64_t header = 0;
        int depth = 0;
    };

    /// Errors: badFile, where something lies outside of the file or belongs to two.
    Status visit(uint64_t offset)
    {
        if (offset >= m_bytes.size())
            return damaged(offset, "an address outside of the file").found(hexText(offset)).expected("below " + hexText(m_bytes.size()));
        if (!m_visited.insert(offset).second) return damaged(offset, "a part of the file that is reached twice");
        return {};
    }

    Result<uint64_t> superblock()
    {
        Cursor c(m_bytes, 0);
        if (!c.text(kSignature)) return damaged(0, "not an HDF5 file");
        if (const uint64_t version = c.number(1); version != 0)
            return unread(8, "superblock version " + std::to_string(version), "0, which h5py writes unless told otherwise");
        c.skip(4);
        const uint64_t offsets = c.number(1), lengths = c.number(1);
        if (offsets != 8 || lengths != 8)
            return unread(13, "addresses of " + std::to_string(offsets) + " bytes, lengths of " + std::to_string(lengths), "8 and 8");
        c.skip(1 + 2 + 2 + 4);
        if (const uint64_t base = c.number(8); base != 0) return unread(24, "base address " + std::to_string(base), "0");
        c.skip(8);
        const uint64_t end = c.number(8);
        c.skip(8 + 8);
        const uint64_t root = c.number(8);
        if (!c.ok()) return damaged(0, "the superblock is cut off");
        if (end > m_bytes.size())
            return damaged(40, "truncated").found(std::to_string(m_bytes.size()) + " bytes").expected(std::to_string(end));
        return root;
    }

    /// The messages of an object header and of the blocks in which it goes on.
    Result<std::vector<Message>> messages(uint64_t header)
    {
        Cursor head(m_bytes, header);
        const uint64_t version = head.number(1);
        head.skip(1);
        uint64_t left = head.number(2);
        head.skip(4);
        const uint64_t size = head.number(4);
        if (!head.ok()) return damaged(header, "an object header is cut off");
        if (version != 1) return unread(header, "object header version " + std::to_string(version), "1");
        std::vector<Message> list;
        std::vector<std::pair<uint64_t, uint64_t>> blocks = {{header + 16, size}};
        for (size_t b = 0; b < blocks.size(); ++b) {
            auto [at, length] = blocks[b];
            if (at > m_bytes.size() || length > m_bytes.size() - at)
                return damaged(at, "a block of an object header lies outside of the file");
            const uint64_t end = at + length;
            while (left > 0 && end - at >= 8) {
                if (m_messagesLeft-- == 0) return damaged(at, "more messages than the file has room for");
                --left;
                Cursor c(m_bytes, at);
                Message m;
                m.type = static_cast<uint16_t>(c.number(2));
                m.size = c.number(2);
                m.isShared = (c.number(1) & 2) != 0;
                m.offset = at + 8;
                if (m.size > end - m.offset) return damaged(at, "a message is longer than its block");
                at = m.offset + m.size;
                if (m.type == kContinuation) {
                    Cursor next(m_bytes, m.offset);
                    const uint64_t offset = next.number(8), bytes = next.number(8);
                    LS_CHECK_OK(visit(offset));
                    blocks.emplace_back(offset, bytes);
                } else {
                    list.push_back(m);
                }
            }
        }
        return list;
    }

    Status object(size_t node, uint64_t header)
    {
        LS_TRY(const std::vector<Message> list, messages(header));
        const auto of = [&](uint16_t type) {
            const auto found = std::ranges::find(list, type, &Message::type);
            return found == list.end() ? nullptr : &*found;
        };
        if (const Message* const table = of(kSymbolTable)) {
            for (const Message& message : list)
                if (message.type == kAttribute && !message.isShared) LS_CHECK_OK(attribute(node, message));
            return group(node, *table);
        }
        if (of(kLinkInfo) != nullptr || of(kLink) != nullptr)
            return unread(header, "a group of the newer kind, with links in its header", "a symbol table");
        const Message *const space = of(kDataspace), *const type = of(kDatatype), *const layout = of(kLayout);
        if (space == nullptr || type == nullptr || layout == nullptr)
            return damaged(header, "an object that is neither a group nor a dataset");
        Hdf5File::Node& dataset = m_file.m_nodes[node];
        dataset.isDataset = true;
        if (of(kFilters) != nullptr) dataset.problem = "a dataset with filters (compressed)";
        else if (of(kExternalFiles) != nullptr) dataset.problem = "a dataset in other files";
        else if (type->isShared || space->isShared || layout->isShared) dataset.problem = "a dataset whose type is shared";
        else dataset.problem = describe(dataset, *space, *type, *layout);
        return {};
    }

    /// Fills in type and place; what stands against reading it, or nothing.
    std::string describe(Hdf5File::Node& dataset, const Message& space, const Message& type, const Message& layout)
    {
        if (std::string problem = elementType(type, dataset.type.dtype); !problem.empty()) return problem;
        if (std::string problem = shapeOf(space, dataset.type.shape); !problem.empty()) return problem;
        const std::optional<int64_t> count = checkedElementCount(dataset.type.shape);
        if (!count) return "a dataset of shape " + toString(dataset.type.shape);
        return place(dataset, layout, byteSize(dataset.type.dtype, *count));
    }

    std::string elementType(const Message& message, DType& dtype)
    {
        Cursor c(m_bytes, message.offset);
        const uint64_t head = c.number(1), bits = c.number(3), size = c.number(4);
        const uint64_t kind = head & 15, bitOffset = c.number(2), precision = c.number(2);
        if (!c.ok() || message.size < 12) return "a dataset whose type is cut off";
        if (kind > 1) return "a dataset of type " + classOfType(kind);
        if ((bits & 1) != 0 || (kind == 1 && (bits & 0x40) != 0)) return "a dataset in big-endian order";
        if (bitOffset != 0 || precision != 8 * size) return "a dataset whose elements have padding";
        if (kind == 0) {
            const bool isSigned = (bits & 8) != 0;
            if (size == 1) dtype = isSigned ? DType::i8 : DType::u8;
            if (size == 2) dtype = isSigned ? DType::i16 : DType::u16;
            if (size == 4) dtype = isSigned ? DType::i32 : DType::u32;
            if (size == 8) dtype = isSigned ? DType::i64 : DType::u64;
        } else {
            c.skip(1);
            const uint64_t exponent = c.number(1);
            if (message.size < 20 || !c.ok()) return "a dataset whose type is cut off";
            if (size == 2 && exponent == 5) dtype = DType::f16;
            if (size == 2 && exponent == 8) dtype = DType::bf16;
            if (size == 4 && exponent == 8) dtype = DType::f32;
            if (size == 8 && exponent == 11) dtype = DType::f64;
        }
        if (dtype == DType::unknown) return "a dataset of type " + classOfType(kind) + " with " + std::to_string(size) + " bytes";
        return {};
    }

    std::string shapeOf(const Message& message, Shape& shape)
    {
        Cursor c(m_bytes, message.offset);
        const uint64_t version = c.number(1), rank = c.number(1), flags = c.number(1), kind = c.number(1);
        if (version != 1 && version != 2) return "a dataspace of version " + std::to_string(version);
        if (version == 2 && kind == 2) return "a dataset without a value";
        if (version == 1) c.skip(4);
        (void)flags;
        if (rank > kHighestRank || c.at() + 8 * rank > message.offset + message.size) return "a dataspace of rank " + std::to_string(rank);
        shape = Shape();
        for (uint64_t i = 0; i < rank; ++i) {
            const uint64_t dim = c.number(8);
            if (dim > uint64_t{1} << 62) return "a dimension of " + std::to_string(dim);
            shape.append(static_cast<int64_t>(dim));
        }
        return c.ok() ? std::string() : "a dataspace that is cut off";
    }

    std::string place(Hdf5File::Node& dataset, const Message& message, uint64_t bytes)
    {
        Cursor c(m_bytes, message.offset);
        const uint64_t version = c.number(1), kind = c.number(1);
        if (version != 3 && version != 4) return "a layout of version " + std::to_string(version);
        if (kind > 1) return kind == 2 ? "a dataset in chunks" : "a dataset of layout class " + std::to_string(kind);
        if (kind == 0) {
            dataset.size = c.number(2);
            dataset.offset = c.at();
            if (c.at() + dataset.size > message.offset + message.size) return "a compact dataset that is cut off";
        } else {
            dataset.offset = c.number(8);
            dataset.size = c.number(8);
            if (bytes == 0) dataset.offset = dataset.size = 0;
            else if (dataset.offset == kUndefined) return "a dataset that was never written";
        }
        if (!c.ok() || dataset.offset > m_bytes.size() || dataset.size > m_bytes.size() - dataset.offset)
            return "a dataset that lies outside of the file";
        if (dataset.size < bytes)
            return "a dataset of " + std::to_string(dataset.size) + " bytes, where its shape takes " + std::to_string(bytes);
        dataset.size = bytes;
        return {};
    }

    static bool isWanted(std::string_view name)
    {
        return name == "model_config" || name == "keras_version" || name.starts_with("layer_names") || name.starts_with("weight_names");
    }

    /// The texts of an attribute that is asked for; what is no text is passed over.
    Status attribute(size_t node, const Message& message)
    {
        Cursor c(m_bytes, message.offset);
        const uint64_t version = c.number(1);
        c.skip(1);
        const uint64_t name = c.number(2), type = c.number(2), space = c.number(2);
        if (version < 1 || version > 3) return {};
        if (version == 3) c.skip(1);
        const auto padded = [&](uint64_t size) { return version == 1 ? (size + 7) / 8 * 8 : size; };
        const uint64_t nameAt = c.at(), typeAt = nameAt + padded(name), spaceAt = typeAt + padded(type), at = spaceAt + padded(space);
        const uint64_t end = message.offset + message.size;
        if (!c.ok() || at > end) return damaged(message.offset, "an attribute is cut off");
        const std::string key = textAt(nameAt, name);
        if (!isWanted(key)) return {};
        Shape shape;
        const std::string problem = shapeOf({kDataspace, false, spaceAt, space}, shape);
        const std::optional<int64_t> count = problem.empty() ? checkedElementCount(shape) : std::nullopt;
        if (!count) return damaged(spaceAt, "attribute '" + key + "' has " + (problem.empty() ? "too many texts" : problem));
        Cursor t(m_bytes, typeAt);
        const uint64_t kind = t.number(1) & 15;
        const bool isString = kind == 3 || (kind == 9 && (t.number(1) & 15) == 1);
        if (!isString) return {};
        Cursor sizes(m_bytes, typeAt + 4);
        const uint64_t size = sizes.number(4);
        if (size == 0 || (kind == 9 && size != 16) || static_cast<uint64_t>(*count) > (end - at) / size)
            return damaged(at, "attribute '" + key + "' is cut off");
        std::vector<std::string> texts;
        for (int64_t i = 0; i < *count; ++i) {
            const uint64_t one = at + static_cast<uint64_t>(i) * size;
            LS_CHECK_OK(m_memory.grow(sizeof(std::string) + size));
            if (kind == 3) texts.push_back(textAt(one, size));
            else {
                LS_TRY(std::string text, heapText(one));
                texts.push_back(std::move(text));
            }
        }
        m_file.m_nodes[node].texts.emplace(key, std::move(texts));
        return {};
    }

    /// As far as its end, or the first 0.
    std::string textAt(uint64_t at, uint64_t size) const
    {
        const std::string_view text(reinterpret_cast<const char*>(m_bytes.data()) + at, size);
        return std::string(text.substr(0, text.find('\0')));
    }

    /// A text of any length: its length, and where it lies in a heap that texts share.
    Result<std::string> heapText(uint64_t at)
    {
        Cursor c(m_bytes, at);
        const uint64_t length = c.number(4), heap = c.number(8), index = c.number(4);
        if (length == 0) return std::string();
        if (!m_heaps.contains(heap)) LS_CHECK_OK(readHeap(heap));
        const auto& objects = m_heaps[heap];
        const auto object = objects.find(index);
        if (object == objects.end() || object->second.second < length) return damaged(at, "a text of an attribute is not in its heap");
        LS_CHECK_OK(m_memory.grow(length));
        return textAt(object->second.first, length);
    }

    Status readHeap(uint64_t heap)
    {
        LS_CHECK_OK(visit(heap));
        Cursor h(m_bytes, heap);
        const bool isHeap = h.text("GCOL");
        h.skip(4);
        const uint64_t size = h.number(8);
        if (!isHeap || !h.ok() || size > m_bytes.size() - heap) return damaged(heap, "a heap of texts is damaged");
        auto& objects = m_heaps[heap];
        while (h.at() + 16 <= heap + size) {
            const uint64_t index = h.number(2);
            h.skip(6);
            const uint64_t bytes = h.number(8), begin = h.at();
            if (index == 0) break; // what is free
            if (bytes > heap + size - begin) return damaged(begin, "a text in a heap is cut off");
            LS_CHECK_OK(m_memory.grow(64));
            objects.emplace(index, std::pair(begin, bytes));
            h.skip(std::min((bytes + 7) / 8 * 8, heap + size - begin));
        }
        return {};
    }

    /// The links of a group: a B-tree of symbol nodes, the names in a heap.
    Status group(size_t node, const Message& table)
    {
        Cursor c(m_bytes, table.offset);
        const uint64_t tree = c.number(8), heap = c.number(8);
        if (!c.ok() || table.size < 16) return damaged(table.offset, "a symbol table message is cut off");
        LS_CHECK_OK(visit(heap));
        Cursor h(m_bytes, heap);
        const bool isHeap = h.text("HEAP");
        h.skip(4);
        const uint64_t size = h.number(8);
        h.skip(8);
        const uint64_t names = h.number(8);
        if (!isHeap || !h.ok() || names > m_bytes.size() || size > m_bytes.size() - names)
            return damaged(heap, "the heap of a group's names is damaged");
        std::vector<uint64_t> nodes = {tree};
        while (!nodes.empty()) {
            const uint64_t at = nodes.back();
            nodes.pop_back();
            LS_CHECK_OK(visit(at));
            Cursor t(m_bytes, at);
            if (t.text("SNOD")) {
                LS_CHECK_OK(symbols(node, t, m_bytes.subspan(names, size)));
                continue;
            }
            const bool isTree = t.text("TREE");
            const uint64_t kind = t.number(1);
            t.skip(1);
            const uint64_t used = t.number(2);
            t.skip(16);
            if (!isTree || kind != 0) return damaged(at, "a group's tree is damaged");
            for (uint64_t i = 0; i < used; ++i) {
                t.skip(8);
                nodes.push_back(t.number(8));
                if (!t.ok()) return damaged(at, "a group's tree is cut off");
            }
        }
        return {};
    }

    Status symbols(size_t node, Cursor& c, std::span<const std::byte> names)
    {
        c.skip(2);
        const uint64_t count = c.number(2);
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t at = c.at(), name = c.number(8), header = c.number(8), cached = c.number(4);
            c.skip(4 + 16);
            if (!c.ok() || name >= names.size()) return damaged(at, "a link of a group is cut off");
            if (cached == 2) return unread(at, "a symbolic link", "objects");
            const std::string_view rest(reinterpret_cast<const char*>(names.data()) + name,
                                        std::min(names.size() - name, kLongestName + 1));
            const size_t length = rest.find('\0');
            if (length == std::string_view::npos) return damaged(at, "a link's name has no end");
            LS_CHECK_OK(visit(header));
            LS_CHECK_OK(m_memory.grow(length + sizeof(Hdf5File::Node) + 64));
            const size_t child = m_file.m_nodes.size();
            if (!m_file.m_nodes[node].children.emplace(rest.substr(0, length), child).second)
                return damaged(at, "two links of a group have the name '" + std::string(rest.substr(0, length)) + "'");
            m_file.m_nodes.emplace_back();
            m_pending.push_back({child, header, m_depth + 1});
        }
        return {};
    }

    std::span<const std::byte> m_bytes;
    uint64_t m_messagesLeft;
    Hdf5File m_file;
    std::unordered_set<uint64_t> m_visited;
    std::map<uint64_t, std::map<uint64_t, std::pair<uint64_t, uint64_t>>> m_heaps; ///< of texts: where each lies, and its size
    std::vector<Pending> m_pending;                                                ///< objects whose headers are to be read
    int m_depth = 0;
    MemoryMeter m_memory{"the groups of an HDF5 file"};
};

Result<Hdf5File> Hdf5File::open(Bytes content) { return Hdf5Reader(std::move(content)).run(); }

size_t Hdf5File::placeOf(std::string_view path) const
{
    size_t node = 0;
    while (!path.empty()) {
        const size_t slash = path.find('/');
        const auto child = m_nodes[node].children.find(path.substr(0, slash));
        if (child == m_nodes[node].children.end()) return kNowhere;
        node = child->second;
        path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return node;
}

const Hdf5File::Node* Hdf5File::find(std::string_view path) const
{
    const size_t place = placeOf(path);
    return place == kNowhere ? nullptr : &m_nodes[place];
}

bool Hdf5File::link(std::string_view path, std::string_view target)
{
    const size_t object = placeOf(target);
    if (object == kNowhere || path.empty()) return false;
    size_t node = 0;
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
        if (m_nodes[node].isDataset) return false;
        const auto [child, isNew] = m_nodes[node].children.emplace(path.substr(0, slash), m_nodes.size());
        node = child->second;
        if (isNew) m_nodes.emplace_back();
        path.remove_prefix(slash + 1);
    }
    return !m_nodes[node].isDataset && m_nodes[node].children.emplace(path, object).second;
}

Result<TensorAttribute> Hdf5File::read(std::string_view path) const
{
    const Node* const node = find(path);
    if (node == nullptr || !node->isDataset) return Error(ErrorCode::badFile, "no such dataset").at("'" + std::string(path) + "'");
    if (!node->problem.empty())
        return Error(ErrorCode::unsupported, "a form of HDF5 that is not read")
            .at("'" + std::string(path) + "'")
            .found(node->problem)
            .expected("a whole dataset of numbers");
    const Bytes slice = m_content.slice(node->offset, node->size);
    const auto width = static_cast<size_t>(std::max(bitWidth(node->type.dtype) / 8, 1));
    const bool isAligned = reinterpret_cast<uintptr_t>(slice.data()) % width == 0;
    return TensorAttribute{node->type, std::make_shared<Constant>(isAligned ? slice : Bytes::copyOf(slice.view()))};
}

std::vector<std::string> Hdf5File::datasetsBelow(std::string_view path) const
{
    std::vector<std::string> found;
    const Node* const top = find(path);
    if (top == nullptr) return found;
    std::vector<std::pair<std::string, const Node*>> open = {{std::string(path), top}};
    while (!open.empty()) {
        const auto [name, node] = std::move(open.back());
        open.pop_back();
        if (node->isDataset) found.push_back(name);
        std::vector<std::pair<std::string, size_t>> children(node->children.begin(), node->children.end());
        // "10" behind "9": shorter names first.
        std::ranges::sort(children, [](const auto& a, const auto& b) {
            const bool digits = !a.first.empty() && !b.first.empty() && std::isdigit(a.first[0]) != 0 && std::isdigit(b.first[0]) != 0;
            if (digits && a.first.size() != b.first.size()) return a.first.size() > b.first.size();
            return a.first > b.first;
        });
        for (const auto& [child, index] : children) open.emplace_back(name.empty() ? child : name + "/" + child, &m_nodes[index]);
    }
    return found;
}

} // namespace loopscope::keras
