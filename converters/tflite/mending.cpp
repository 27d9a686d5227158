// References of a FlatBuffer lead forward, so that what stands for the lost lies behind the file.
#include "converters/tflite/mending.h"

#include <flatbuffers/reflection_generated.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace loopscope::tflite_format {

namespace {

constexpr uint64_t kLargest = uint64_t{1} << 30;
constexpr int kMaxDepth = 64;
constexpr uint64_t kMaxVisits = 2'000'000;
constexpr size_t kMostFaults = 200;

class Mending {
public:
    Mending(const FileView& file, const uint8_t* binarySchema)
        : m_size(file.size()),
          m_schema(*reflection::GetSchema(binarySchema)),
          m_bytes(file.content().view().begin(), file.content().view().end())
    {
        m_bytes.resize((m_bytes.size() + 7) / 8 * 8);
        m_empty = m_bytes.size();
        // A vtable without fields and its table; a string without characters; a vector whose elements would be aligned to 8 bytes.
        constexpr std::array<uint8_t, 24> kEmpty = {4, 0, 4, 0, 4, 0, 0, 0};
        for (const uint8_t byte : kEmpty) m_bytes.push_back(std::byte{byte});
    }

    std::optional<MendedFile> run()
    {
        const uint64_t root = read<uint32_t>(0);
        const reflection::Object& object = *m_schema.root_table();
        if (root % 4 != 0 || root == 0 || !faultOf(root, "model").empty()) return std::nullopt;
        followTable(root, object, "", 0);
        if (m_visits > kMaxVisits) return std::nullopt;
        const uint64_t table = emptyTable();
        return MendedFile{Bytes::copyOf(m_bytes), table, std::move(m_faults)};
    }

private:
    uint64_t emptyTable() const { return m_empty + 4; }
    uint64_t emptyString() const { return m_empty + 8; }
    uint64_t emptyVector() const { return m_empty + 20; }
    bool fits(uint64_t at, uint64_t size) const { return at <= m_size && size <= m_size - at; }

    template <typename T> T read(uint64_t at) const
    {
        T out;
        std::memcpy(&out, m_bytes.data() + at, sizeof out);
        return out;
    }
    template <typename T> void write(uint64_t at, T value) { std::memcpy(m_bytes.data() + at, &value, sizeof value); }

    void fault(uint64_t at, const std::string& what)
    {
        if (m_faults.size() >= kMostFaults) return;
        Error error(ErrorCode::badFile, what);
        error.at("at " + hexNumber(at));
        m_faults.push_back(std::move(error));
    }

    /// The reference that is stored at `at` leads to `target` from now on.
    void redirect(uint64_t at, uint64_t target) { write(at, static_cast<uint32_t>(target - at)); }

    /// Where a reference leads; none: nowhere that `size` bytes could lie.
    std::optional<uint64_t> follow(uint64_t at, uint64_t size) const
    {
        const uint64_t target = at + read<uint32_t>(at);
        if (target == at || target % 4 != 0) return std::nullopt;
        const bool isEmpty = target == emptyTable() || target == emptyString() || target == emptyVector();
        return isEmpty || fits(target, size) ? std::optional(target) : std::nullopt;
    }

    /// What is wrong with a table and its list of fields; empty: nothing.
    std::string faultOf(uint64_t table, const std::string& name) const
    {
        const std::string what = name + ": table at " + hexNumber(table);
        if (!fits(table, 4)) return what + ", file ends at " + hexNumber(m_size);
        const int64_t vtable = static_cast<int64_t>(table) - read<int32_t>(table);
        if (vtable < 0 || vtable % 2 != 0 || !fits(static_cast<uint64_t>(vtable), 4))
            return what + " has no list of fields inside of the file";
        const auto v = static_cast<uint64_t>(vtable);
        const auto fields = read<uint16_t>(v), size = read<uint16_t>(v + 2);
        if (fields % 2 != 0 || fields < 4 || !fits(v, fields))
            return what + " has a list of fields of " + std::to_string(fields) + " bytes";
        if (size < 4 || !fits(table, size)) return what + " has " + std::to_string(size) + " bytes, file ends at " + hexNumber(m_size);
        return {};
    }

    /// A reference to a table of a kind.
    void checkTable(uint64_t at, const reflection::Object& object, const std::string& name, int depth)
    {
        const std::optional<uint64_t> table = follow(at, 4);
        if (table == emptyTable()) return;
        std::string wrong = table ? faultOf(*table, name)
                                  : name + ": leads to " + hexNumber(at + read<uint32_t>(at)) + ", file ends at " + hexNumber(m_size);
        if (wrong.empty() && depth > kMaxDepth) wrong = name + ": too deeply nested";
        if (wrong.empty()) return followTable(*table, object, name, depth);
        fault(at, wrong);
        redirect(at, emptyTable());
    }

    /// A table and its list of fields, which lie inside of the file: what is mended meanwhile may lie over them.
    struct Table {
        uint64_t at = 0, vtable = 0;
        uint16_t fields = 0, size = 0; ///< bytes of the list, and of the table
    };

    void followTable(uint64_t start, const reflection::Object& object, const std::string& name, int depth)
    {
        if (++m_visits > kMaxVisits) return;
        const uint64_t vtable = start - static_cast<uint64_t>(static_cast<int64_t>(read<int32_t>(start)));
        const Table table = {start, vtable, read<uint16_t>(vtable), read<uint16_t>(vtable + 2)};
        for (const reflection::Field* const field : *object.fields()) {
            if (field->offset() + 2U > table.fields) continue;
            const auto offset = read<uint16_t>(vtable + field->offset());
            if (offset == 0) continue;
            const std::string full = name.empty() ? field->name()->str() : name + "." + field->name()->str();
            const uint64_t width = widthOf(field->type()->base_type());
            if (offset + width > table.size || (start + offset) % width != 0) {
                fault(vtable + field->offset(), full + ": lies outside of its table");
                write<uint16_t>(vtable + field->offset(), 0);
                continue;
            }
            if (field->deprecated()) continue;
            checkField(table, start + offset, *field, object, full, depth);
        }
    }

    static uint64_t widthOf(reflection::BaseType type)
    {
        switch (type) {
        case reflection::UType:
        case reflection::Bool:
        case reflection::Byte:
        case reflection::UByte: return 1;
        case reflection::Short:
        case reflection::UShort: return 2;
        case reflection::Long:
        case reflection::ULong:
        case reflection::Double: return 8;
        default: return 4; // numbers and references
        }
    }

    void checkField(const Table& table, uint64_t at, const reflection::Field& field, const reflection::Object& object,
                    const std::string& name, int depth)
    {
        switch (field.type()->base_type()) {
        case reflection::Obj: return checkTable(at, objectAt(field.type()->index()), name, depth + 1);
        case reflection::String: return checkString(at, name);
        case reflection::Vector: return checkVector(at, *field.type(), name, depth);
        case reflection::Union: return checkUnion(table, at, field, object, name, depth);
        default: return;
        }
    }

    const reflection::Object& objectAt(int index) const { return *m_schema.objects()->Get(static_cast<flatbuffers::uoffset_t>(index)); }

    void checkString(uint64_t at, const std::string& name)
    {
        const std::optional<uint64_t> start = follow(at, 4);
        if (start && *start >= m_empty) return;
        const uint64_t size = start ? read<uint32_t>(*start) : 0;
        if (start && fits(*start + 4, size + 1) && read<uint8_t>(*start + 4 + size) == 0) return;
        fault(at, name + ": the text lies outside of the file");
        redirect(at, emptyString());
    }

    void checkVector(uint64_t at, const reflection::Type& type, const std::string& name, int depth)
    {
        const std::optional<uint64_t> start = follow(at, 4);
        if (start && *start >= m_empty) return;
        const bool isScalar = type.element() != reflection::Obj && type.element() != reflection::String;
        const uint64_t width = isScalar ? widthOf(type.element()) : 4;
        uint64_t count = start ? read<uint32_t>(*start) : 0;
        if (!start || (isScalar && !fits(*start + 4, count * width))) {
            fault(at, name + (start ? ": " + std::to_string(count) + " elements reach beyond the end of the file"
                                    : ": lies outside of the file"));
            return redirect(at, emptyVector());
        }
        if (isScalar) return;
        if (const uint64_t room = (m_size - *start - 4) / 4; count > room) {
            fault(*start, name + ": " + std::to_string(room) + " of " + std::to_string(count) + " elements lie inside of the file");
            count = room;
            write(*start, static_cast<uint32_t>(count));
        }
        for (uint64_t i = 0; i < count && m_visits <= kMaxVisits; ++i) {
            const uint64_t item = *start + 4 + 4 * i;
            const std::string itemName = name + "[" + std::to_string(i) + "]";
            if (type.element() == reflection::String) checkString(item, itemName);
            else checkTable(item, objectAt(type.index()), itemName, depth + 1);
        }
    }

    /// The tag is the field in front of the union, by the name NAME_type; it may not have been looked at yet.
    void checkUnion(const Table& table, uint64_t at, const reflection::Field& field, const reflection::Object& object,
                    const std::string& name, int depth)
    {
        uint64_t tag = 0;
        for (const reflection::Field* const other : *object.fields())
            if (other->name()->string_view() == field.name()->str() + "_type" && other->offset() + 2U <= table.fields)
                if (const auto offset = read<uint16_t>(table.vtable + other->offset()); offset != 0 && offset < table.size)
                    tag = read<uint8_t>(table.at + offset);
        if (tag == 0) return;
        const reflection::Enum& members = *m_schema.enums()->Get(static_cast<flatbuffers::uoffset_t>(field.type()->index()));
        for (const reflection::EnumVal* const value : *members.values())
            if (value->value() == static_cast<int64_t>(tag)) return checkTable(at, objectAt(value->union_type()->index()), name, depth + 1);
    }

    uint64_t m_size; ///< of the file
    const reflection::Schema& m_schema;
    std::vector<std::byte> m_bytes;
    uint64_t m_empty = 0; ///< where begins what is empty
    uint64_t m_visits = 0;
    std::vector<Error> m_faults;
};

} // namespace

std::optional<MendedFile> mendStructure(const FileView& file, const uint8_t* binarySchema)
{
    if (file.size() < 8 || file.size() > kLargest) return std::nullopt;
    return Mending(file, binarySchema).run();
}

} // namespace loopscope::tflite_format
