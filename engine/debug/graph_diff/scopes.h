// Where two models differ, by the scopes of their operators' names: `encoder/block_2/attention` and so on.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

enum class ScopeState : uint8_t { alike, differs, onlyHere, onlyThere };

struct ScopedOperator {
    std::string name; ///< scopes and the operator's own, with '/' between
    ScopeState state = ScopeState::alike;
};

struct ScopeSummary {
    std::string scope; ///< below that of the line it belongs to; several that are alike: "block_3 … block_9"
    int depth = 0;
    int64_t operators = 0, differing = 0, onlyHere = 0, onlyThere = 0;
    bool isAlike() const { return differing + onlyHere + onlyThere == 0; }
};

/// What an operator is called, behind the calls that were opened; of several names the first.
std::string scopedName(const Graph& graph, const Operator& op);

/// Scopes in the order of their first operators. One in which all is alike is one line, however much is in it; empty: names have no scopes.
std::vector<ScopeSummary> summarizeScopes(std::span<const ScopedOperator> operators);

} // namespace loopscope
