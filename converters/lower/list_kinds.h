// What the variants of a model hold, found out before it is lowered: lists of what, elements of one shape or of several, optionals of which
// dtype. Everything that a value may become, through loops, branches and calls, is one kind.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <set>
#include <vector>

namespace loopscope::lowering {

/// A list, or an optional.
struct ListKind {
    bool isRagged = false; ///< its elements have shapes of their own: lists, optionals, tensors of several shapes
    bool isList = false;
    bool holdsLists = false, holdsRagged = false; ///< its elements are lists, and such whose elements have shapes of their own
    DType item = DType::f32; ///< of the tensor that an element is; unknown: it is of several that no one dtype can carry
};

class ListKinds {
public:
    explicit ListKinds(const Model& model);
    ListKind of(size_t graph, ValueId value) const;

private:
    struct Kind {
        int32_t parent = -1, element = -1; ///< −1: none
        bool isList = false, isOpen = false, isPopped = false, isStacked = false, isConcatenated = false, isSplit = false,
             holdsVariants = false;
        bool varies = false, hasShape = false;
        Shape shape; ///< of what is put into it
        std::set<DType> dtypes;
    };

    int32_t root(int32_t kind) const;
    int32_t at(size_t graph, ValueId value) { return root(m_first[graph] + value.index); }
    int32_t elementOf(int32_t list);
    void join(int32_t a, int32_t b);
    void put(const Model& model, size_t graph, ValueId list, ValueId item);
    void take(const Model& model, size_t graph, ValueId list, ValueId item);
    void follow(const Model& model, size_t graph, const Operator& op);
    void followCall(const Model& model, size_t graph, const Operator& op);
    bool followList(const Model& model, size_t graph, const Operator& op);
    void joinIfVariant(const Model& model, size_t graph, ValueId value, size_t other, ValueId otherValue);
    bool isRagged(const Kind& kind) const;
    DType itemOf(int32_t kind, int depth) const;
    DType tensorOf(int32_t kind, int depth) const; ///< of what stands for the whole

    std::vector<int32_t> m_first; ///< by graph: of its first value
    std::vector<Kind> m_kinds;
};

} // namespace loopscope::lowering
