// Addresses against a model: does the place exist, which graph, operator or value is it, and how is it written canonically.
#pragma once

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"

#include <string_view>
#include <vector>

namespace loopscope {

/// What an address names in a model. Iterations are not looked at: whether a loop gets there only a run can tell.
struct ResolvedAddress {
    Address address; ///< canonical: signatures replaced by their graphs, ids of results by `kind#index:slot`, kinds filled in
    GraphId graph;   ///< of the invocation that the steps lead to
    OperatorId op;   ///< target op, output, input
    ValueId value;   ///< target output, input, value
};

/// An address of a v1 graph holds in what was raised from it, and the other way round (address_origin.h).
/// Errors: usage, naming what is not there and what is near: "main/while#1@3:body/ad#2: no operator 'ad#2' in while_body; operator 2 is
/// fully_connected#2".
Result<ResolvedAddress> resolveAddress(const Model& model, const Address& address);

/// The patterns that a typed one stands for in a model: ids of results become outputs, in every graph that the pattern may lead to.
/// Errors: as parsePattern; as resolveAddress if the pattern names its steps without wildcards.
Result<std::vector<AddressPattern>> resolvePattern(const Model& model, std::string_view text);

} // namespace loopscope
