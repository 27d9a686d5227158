// Neighbouring element-wise operators on large floats, run as one pass: each of them on one strip of the elements after the other, so that
// what one gives is still in the cache when the next reads it, and what nobody can look at behind the last of them is written nowhere else.
// docs/execution.md, "Chains".
#pragma once

#include "engine/exec/execution_options.h"
#include "engine/kernels/kernel.h"
#include "engine/plan/graph_plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace loopscope {

class KernelRegistry;
struct Instruction;

/// Operators `begin` to `end` − 1 of a graph. Not thread-safe; belongs to the program of one interpreter.
class Chain {
public:
    /// What a chain is made of.
    struct Source {
        const Model& model;
        const GraphPlan& plan;
        const ExecutionOptions& options;
        const KernelRegistry& registry;
        std::span<const Tensor> tensors; ///< by value: type and shape, and the data of constants
        std::span<const Profile> used;   ///< by operator: whose kernel it has
    };
    /// All chains of a graph, in order; `mayRun` tells which operators have kernels to run.
    static std::vector<Chain> find(const Source& source, const std::vector<bool>& mayRun);

    Chain(Chain&&) noexcept;
    Chain& operator=(Chain&&) noexcept;
    ~Chain();

    int32_t begin() const { return m_begin; }
    int32_t end() const { return m_end; }
    int32_t length() const { return m_end - m_begin; }
    /// Whether results lie where strip by strip gives the same as operator by operator. `code`: of the operator `begin`.
    bool fits(const Instruction* code) const;
    Status run(const Instruction* code, KernelRuntime& runtime);

private:
    /// Where an operand lies in one strip.
    enum class Place : uint8_t {
        whole,  ///< at the strip's elements of the whole tensor
        hidden, ///< in a block of the strip's size: nobody else sees it
        fixed,  ///< the same for all strips: one element, or one row
    };
    struct Operand {
        Place place = Place::whole;
        int32_t block = -1; ///< hidden: which
    };
    struct Step {
        std::vector<Operand> inputs;
        Operand result;
        PreparedKernel strip, rest; ///< for a strip, and for what is left at the end
    };
    class Lane;

    Chain(int32_t begin, int32_t end);
    bool prepare(const Source& source);
    void placeOperands(const Source& source);
    bool prepareStep(const Source& source, int32_t op, int64_t elements, PreparedKernel& kernel) const;
    Shape shapeOf(int64_t elements) const;

    int32_t m_begin, m_end;
    int64_t m_count = 0; ///< elements of each result
    int64_t m_unit = 1;  ///< elements of a row, where an operand is one row
    int64_t m_strip = 0; ///< elements of a strip: whole rows
    int32_t m_blocks = 0;
    std::vector<Step> m_steps;
    std::vector<std::unique_ptr<Lane>> m_lanes; ///< by thread
};

} // namespace loopscope
