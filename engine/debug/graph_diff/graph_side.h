// One of the two graphs of a diff, prepared: who reads whom, across what only passes values on, and numbers that are alike where operators
// are.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

class GraphSide {
public:
    /// An operand or a reader: the operator, −1 for none, and the position.
    struct Edge {
        int op = -1;
        int slot = 0; ///< of a reader: which of its operands
    };

    /// `graph` need not be one of the model, whose graphs its operators call.
    GraphSide(const Model& model, const Graph& graph);

    size_t size() const { return kinds.size(); }
    const Operator& op(int k) const { return graph.operators[static_cast<size_t>(k)]; }

    const Model& model;
    const Graph& graph;
    std::vector<std::string> kinds;           ///< across dialects
    std::vector<char> isConstant;             ///< operators that are constants, or computed from them alone
    std::vector<char> isPassing;              ///< pass a value on: identities, quantization
    std::vector<std::vector<Edge>> producers; ///< of each operand that is computed
    std::vector<std::vector<Edge>> readers;   ///< of all results
    std::vector<std::vector<std::string>> names;
    std::vector<int> order; ///< producers first, as far as there are no cycles
    // Numbers of each operator.
    std::vector<uint64_t> kind;    ///< its kind alone
    std::vector<uint64_t> content; ///< kind, attributes, constants
    std::vector<uint64_t> above;   ///< content of all that leads to it
    std::vector<uint64_t> below;   ///< content of all that it leads to

    /// `colours` with those of neighbours mixed in.
    std::vector<uint64_t> spread(const std::vector<uint64_t>& colours) const;
    /// The operator that computes a value, across those that pass it on; −1: none.
    int producerOf(ValueId value) const;

private:
    uint64_t attributeHash(const Operator& op) const;
    uint64_t constantHash(ValueId value) const;
    void foldConstants();
    void link();
    void sort();
    void number();
};

} // namespace loopscope
