// What inference found for an operator whose result sizes depend on values, until its operands change: most loops and streaming models
// see the same sizes again and again.
#pragma once

#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/plan/graph_plan.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace loopscope {

/// Of one operator of one activation. Inference reads the shapes of operands and the bytes of those that describe sizes: constants, and
/// short ones, of which a copy is kept. Floats describe sizes of few operators (Range), lists
/// of none: whether they do is tried.
class InferenceMemo {
public:
    /// Inference would find what it found before.
    bool holds(const KernelArgs& args) const;
    /// Keeps what was found by `def`, null if there is no inference, if it is all that it takes to size the results.
    void keep(const KernelArgs& args, const Operator& op, const OpDef* def, const GraphPlan& plan, std::span<const InferredType> found);
    const Shape& result(size_t k) const { return m_results[k].shape; }
    /// The kernel says how large it is.
    bool isSizedByKernel(size_t k) const { return m_results[k].isSizedByKernel; }

private:
    static constexpr size_t kMostBytes = 64;
    struct Operand {
        Shape shape;
        bool isCompared = false; ///< its bytes, too
        size_t count = 0;
        std::array<std::byte, kMostBytes> bytes = {};
    };
    static bool looksAtValues(const KernelArgs& args, const Operator& op, const OpDef* def, std::span<const InferredType> found);

    std::vector<Operand> m_operands;
    struct Sized {
        Shape shape;
        bool isSizedByKernel = false;
    };
    std::vector<Sized> m_results;
    bool m_isKept = false;
    bool m_looksAtValues = false; ///< it has been seen to look at floats, or at variants
};

} // namespace loopscope
