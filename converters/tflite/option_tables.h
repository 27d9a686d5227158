// Operator option tables as attributes, generically for every table of the schema.
#pragma once

#include "converters/tflite/file_view.h"
#include "converters/tflite/format_schema.h"
#include "engine/ir/attribute.h"

#include <string>

namespace flatbuffers {
class FlatBufferBuilder;
class Table;
} // namespace flatbuffers

namespace loopscope::tflite_format {

/// Adds the fields of a verified table to `out`: those that differ from their default, and always paddings and graphs.
/// `place` names the table in errors ("subgraphs[0].operators[3].builtin_options"); `graphCount` bounds graph indices.
Status readOptions(FileView& file, const std::string& place, const OptionTable& spec, const flatbuffers::Table& table, int graphCount,
                   AttributeList& out);

/// What readOptions stores for an absent table: paddings.
void readAbsentOptions(const OptionTable& spec, AttributeList& out);

/// An option table written, or none.
struct WrittenTable {
    uint32_t offset = 0; ///< in the builder; 0: nothing was written, since the attributes name no graph where the table needs one
};

/// Writes the table from attributes; keys beginning with '@' and the key "options" are not its business.
/// Errors: unsupported, without a place: an attribute that the table has no field for, or a value that does not fit the field.
Result<WrittenTable> writeOptions(flatbuffers::FlatBufferBuilder& builder, const OptionTable& spec, const AttributeList& attributes);

/// Whether a value can be written into a field; one of its elements, if the field is a vector of graphs under names of their own.
bool fitsField(const FieldSpec& field, const Attribute& value);

} // namespace loopscope::tflite_format
