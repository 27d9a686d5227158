#include "converters/tflite/structure_check.h"

#include <flatbuffers/reflection_generated.h>

#include <cstring>
#include <optional>

namespace loopscope::tflite_format {

namespace {

constexpr int kMaxDepth = 64;
constexpr uint64_t kMaxVisits = 2'000'000;

/// Walks the file along the compiled schema until something is wrong.
class StructureCheck {
public:
    StructureCheck(const FileView& file, const uint8_t* binarySchema) : m_file(file), m_schema(*reflection::GetSchema(binarySchema)) {}

    std::optional<Error> run() { return followTable(0, *m_schema.root_table(), "model", 0); }

private:
    struct Place {
        uint64_t at = 0;
        std::string name;
    };

    bool fits(uint64_t at, uint64_t size) const { return at <= m_file.size() && size <= m_file.size() - at; }

    template <typename T> T read(uint64_t at) const
    {
        T out;
        std::memcpy(&out, m_file.content().data() + at, sizeof out);
        return out;
    }

    Error broken(uint64_t at, const std::string& what) const
    {
        Error error(ErrorCode::badFile, what);
        error.at("at " + hexNumber(at));
        return error;
    }

    Error outside(uint64_t at, const std::string& name, const std::string& noun, uint64_t target) const
    {
        return broken(at, name + ": " + noun + " at " + hexNumber(target) + ", file ends at " + hexNumber(m_file.size()));
    }

    /// Where the offset stored at `at` leads.
    std::optional<Error> follow(uint64_t at, const std::string& name, const std::string& noun, uint64_t& target) const
    {
        if (!fits(at, 4)) return outside(at, name, "offset", at);
        if (at % 4 != 0) return broken(at, name + ": offset is not aligned to 4 bytes");
        target = at + read<uint32_t>(at);
        if (target == at) return broken(at, name + ": offset is 0");
        if (!fits(target, 4)) return outside(at, name, noun, target);
        if (target % 4 != 0) return broken(at, name + ": " + noun + " at " + hexNumber(target) + " is not aligned to 4 bytes");
        return std::nullopt;
    }

    std::optional<Error> followTable(uint64_t at, const reflection::Object& object, const std::string& name, int depth)
    {
        if (depth > kMaxDepth || ++m_visits > kMaxVisits) return broken(at, name + ": too many or too deeply nested tables");
        uint64_t table = 0;
        if (auto error = follow(at, name, "table", table)) return error;
        const int64_t vtable = static_cast<int64_t>(table) - read<int32_t>(table);
        if (vtable < 0 || !fits(static_cast<uint64_t>(vtable), 4) || vtable % 2 != 0)
            return broken(table,
                          name + ": vtable at offset " + std::to_string(vtable) + ", file has " + std::to_string(m_file.size()) + " bytes");
        const auto v = static_cast<uint64_t>(vtable);
        const auto vtableSize = read<uint16_t>(v);
        const auto tableSize = read<uint16_t>(v + 2);
        if (vtableSize % 2 != 0 || vtableSize < 4 || !fits(v, vtableSize))
            return broken(v, name + ": vtable of " + std::to_string(vtableSize) + " bytes");
        if (!fits(table, tableSize))
            return broken(table, name + ": table of " + std::to_string(tableSize) + " bytes, file ends at " + hexNumber(m_file.size()));
        for (const reflection::Field* field : *object.fields()) {
            if (field->deprecated() || field->offset() + 2U > vtableSize) continue;
            const auto offset = read<uint16_t>(v + field->offset());
            if (offset == 0) continue;
            if (auto error = checkField(v, table, table + offset, *field, object,
                                        name == "model" ? field->name()->str() : name + "." + field->name()->str(), depth))
                return error;
        }
        return std::nullopt;
    }

    static uint64_t sizeOf(reflection::BaseType type)
    {
        switch (type) {
        case reflection::Short:
        case reflection::UShort: return 2;
        case reflection::Int:
        case reflection::UInt:
        case reflection::Float: return 4;
        case reflection::Long:
        case reflection::ULong:
        case reflection::Double: return 8;
        default: return 1;
        }
    }

    std::optional<Error> checkField(uint64_t vtable, uint64_t table, uint64_t at, const reflection::Field& field,
                                    const reflection::Object& object, const std::string& name, int depth)
    {
        switch (field.type()->base_type()) {
        case reflection::Obj:
            return followTable(at, *m_schema.objects()->Get(static_cast<unsigned>(field.type()->index())), name, depth + 1);
        case reflection::String: return checkString(at, name);
        case reflection::Vector: return checkVector(at, *field.type(), name, depth);
        case reflection::Union: return checkUnion(vtable, table, at, field, object, name, depth);
        default: {
            const uint64_t size = sizeOf(field.type()->base_type());
            if (!fits(at, size)) return outside(at, name, "value", at);
            if (at % size != 0) return broken(at, name + ": not aligned to " + std::to_string(size) + " bytes");
            return std::nullopt;
        }
        }
    }

    std::optional<Error> checkString(uint64_t at, const std::string& name)
    {
        uint64_t start = 0;
        if (auto error = follow(at, name, "string", start)) return error;
        const uint64_t size = read<uint32_t>(start);
        if (!fits(start + 4, size + 1))
            return broken(start, name + ": string of " + std::to_string(size) + " bytes, file ends at " + hexNumber(m_file.size()));
        if (read<uint8_t>(start + 4 + size) != 0) return broken(start + 4 + size, name + ": string does not end in a zero byte");
        return std::nullopt;
    }

    std::optional<Error> checkVector(uint64_t at, const reflection::Type& type, const std::string& name, int depth)
    {
        uint64_t start = 0;
        if (auto error = follow(at, name, "vector", start)) return error;
        const uint64_t count = read<uint32_t>(start);
        const bool isScalar = type.element() != reflection::Obj && type.element() != reflection::String;
        const uint64_t width = isScalar ? sizeOf(type.element()) : 4;
        if (!fits(start + 4, count * width))
            return broken(start, name + ": vector of " + std::to_string(count) + " elements, file ends at " + hexNumber(m_file.size()));
        if (isScalar) return std::nullopt;
        for (uint64_t i = 0; i < count; ++i) {
            const std::string item = name + "[" + std::to_string(i) + "]";
            auto error =
                type.element() == reflection::String
                    ? checkString(start + 4 + 4 * i, item)
                    : followTable(start + 4 + 4 * i, *m_schema.objects()->Get(static_cast<unsigned>(type.index())), item, depth + 1);
            if (error) return error;
        }
        return std::nullopt;
    }

    /// The tag is the field in front of the union, by the name NAME_type.
    std::optional<Error> checkUnion(uint64_t vtable, uint64_t table, uint64_t at, const reflection::Field& field,
                                    const reflection::Object& object, const std::string& name, int depth)
    {
        const reflection::Field* tagField = nullptr;
        for (const reflection::Field* other : *object.fields())
            if (other->name()->string_view() == field.name()->str() + "_type") tagField = other;
        const uint16_t tagOffset = tagField ? read<uint16_t>(vtable + tagField->offset()) : uint16_t{0};
        if (tagOffset == 0) return std::nullopt;
        if (!fits(table + tagOffset, 1)) return outside(at, name, "type", table + tagOffset);
        const reflection::Enum& members = *m_schema.enums()->Get(static_cast<unsigned>(field.type()->index()));
        const reflection::EnumVal* member = nullptr;
        for (const reflection::EnumVal* value : *members.values())
            if (value->value() == read<uint8_t>(table + tagOffset)) member = value;
        if (!member || member->value() == 0) return std::nullopt;
        return followTable(at, *m_schema.objects()->Get(static_cast<unsigned>(member->union_type()->index())), name, depth + 1);
    }

    const FileView& m_file;
    const reflection::Schema& m_schema;
    uint64_t m_visits = 0;
};

} // namespace

Error describeStructure(const FileView& file, const uint8_t* binarySchema, std::string_view format)
{
    if (auto error = StructureCheck(file, binarySchema).run()) return std::move(*error);
    return Error(ErrorCode::badFile, "does not pass FlatBuffers verification").expected("a well-formed " + std::string(format) + " file");
}

} // namespace loopscope::tflite_format
