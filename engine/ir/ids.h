// Short ids for the values and graphs of a file that only has names: what people type and what operator lines show. Also the
// escaping of ids inside addresses, which listings and addresses share.
#pragma once

#include "engine/ir/model.h"

#include <string>
#include <string_view>

namespace loopscope {

/// Fills in Graph::id and Value::id of a TFLite or Circle model from Graph::name and Value::name (docs/text_ir.md, "Ids and names"), and
/// clears each name that its id repeats. Ids that were there before are overwritten. Roles, graph inputs and operator results must be
/// set. Called once, at import; ids are stored and never recomputed.
void assignIds(Model& model);

/// The spelling of a name inside an address: bytes other than letters, digits, `_ . -` become %HH; `/` stays only if `keepSlash`
/// (a graph id escapes it, since a root ends at the first `/`).
std::string escapeAddressName(std::string_view name, bool keepSlash);

/// How an address names operator `index`: the node's name in a tf graph, else `add#2`; custom operators are `custom#2`, whatever their
/// kind.
std::string addressSite(const Operator& op, int64_t index);
/// The same as people read it, without escapes.
std::string operatorLabel(const Operator& op, int64_t index);

} // namespace loopscope
