// Which operator of one model belongs to which of another, on every static way through their calls: what pictures of both sides connect.
#pragma once

#include "engine/debug/reference/value_pairing.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope {

/// Addresses without iterations, "main/while#0:body/add#2". An operator may have several partners, one for each of its results.
struct OperatorMatch {
    std::string here, there; ///< empty there: no partner
    PairedBy how = PairedBy::address;
};

/// Of all operators of this side, in listing order, calls before what they enter. Each way into a graph counts for itself, except that of
/// recursion.
std::vector<OperatorMatch> matchOperators(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot,
                                          const ValuePairing& pairing);

} // namespace loopscope
