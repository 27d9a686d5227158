// SQL in lines that can be read: recipes are stored as one line each and shown in editors and pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loopscope {

/// `sql`, one statement without comments, with line breaks before clauses, in front of conditions and after commas where a line would be
/// longer than `width` columns; subqueries begin on a line of their own, two columns further in. Nothing but white space changes; a text
/// that fits stays as it is.
std::string laidOutSql(std::string_view sql, size_t width = 72);

} // namespace loopscope
