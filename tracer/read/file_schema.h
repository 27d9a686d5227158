// Are the tables of a file those of a recording? Asked before anything else is: what stands in their place might be a view, or a virtual
// table, that does anything when it is read.
#pragma once

#include "engine/base/result.h"
#include "tracer/sqlite/database.h"

#include <cstdint>

namespace loopscope {

enum class SchemaUse : unsigned char {
    reading, ///< our tables are there, as tables with our columns; whatever else there is stays unasked
    writing  ///< and nothing would run or be computed because of what is written: no trigger, no table or index but ours
};

/// `schema` is what the file says of its version. Errors: badFile.
Status checkFileSchema(Database& database, int64_t schema, SchemaUse use);
/// The views of a recording, in the temp schema of this connection; those in the file are never used. Before query_only.
Status createViews(Database& database);

} // namespace loopscope
