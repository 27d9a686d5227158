// Stacks of TensorFlow 1 whose elements are TensorArrays: gradients of loops in loops keep the arrays of the inner one so, each of them
// often on several stacks, and all that are taken from these in one iteration are the same array.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace loopscope {

/// A stack, a push or a pop whose elements are handles.
bool holdsHandles(const Operator& op);

class ArrayStacks {
public:
    explicit ArrayStacks(const Model& model);

    /// A number of the array that a pop gives: the same for each stack that it was pushed to. −1: that is not known.
    int32_t arrayOf(size_t graph, const Operator& pop) const;

private:
    static constexpr int32_t kNone = -1, kSeveral = -2;

    int32_t stackOf(size_t graph, ValueId value) const;
    bool mark(size_t graph, ValueId value, int32_t stack);
    bool follow(size_t graph, const Operator& op);
    bool followCall(size_t graph, const Operator& op);
    int32_t numberOf(size_t graph, ValueId handle);

    const Model& m_model;
    std::vector<std::vector<int32_t>> m_stacks;                   ///< by graph and value
    std::map<const Operator*, int32_t> m_numbers;                 ///< of the stacks
    std::vector<int32_t> m_arrays;                                ///< by stack: what is pushed to it
    std::map<std::pair<size_t, int32_t>, int32_t> m_arrayNumbers; ///< by graph and the handle that TensorArrayV3 gives
};

} // namespace loopscope
