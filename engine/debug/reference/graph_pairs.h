// Which values of two graphs belong together: by the full names that their files give, what is left over between named neighbours by its
// kind, shape and order, and by what operators compute, several of which may be one on the other side.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace loopscope {

enum class PairedBy : uint8_t {
    address,   ///< both models have the same structure
    name,      ///< full tensor names, else ids
    position,  ///< inputs of graphs
    structure, ///< graph_diff/structure_pairing.h, graph_diff/graph_diff.h
};
std::string_view pairedByText(PairedBy how);

struct PairedValue {
    ValueId value;
    PairedBy how = PairedBy::name;
};
using PairedValues = std::map<ValueId, PairedValue>;

/// The graphs may be made of several of their models, as FlatGraph is.
PairedValues pairValues(const Model& model, const Graph& here, const Model& reference, const Graph& there);

} // namespace loopscope
