// What a loop that runs inside one dispatch is made of: the plans of its graphs' operators, and where their tensors lie in one buffer.
#pragma once

#include "engine/kernels/device_loop.h"
#include "engine/kernels/vulkan/plan.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace loopscope::vulkan {

inline constexpr size_t kMostInside = 4; ///< loops that the body of a loop calls

/// Bytes of an element.
uint32_t widthOf(Code store);

/// The buffer of all tensors of a loop. Its first words are the shader's report.
class LoopArena {
public:
    /// Room for a tensor: begins and ends at a multiple of 16 bytes.
    uint64_t room(uint64_t bytes);
    /// The same with a content from the beginning on.
    uint64_t constant(std::span<const std::byte> bytes);

    uint64_t bytes() const { return m_bytes; }
    /// Its beginning, up to the last constant.
    Bytes image() const;

private:
    static constexpr uint64_t kReportBytes = 64;
    std::vector<std::pair<uint64_t, std::vector<std::byte>>> m_constants;
    uint64_t m_bytes = kReportBytes;
};

/// One graph of a loop.
class LoopGraph {
public:
    explicit LoopGraph(const CalledGraph& called);

    /// Asks every operator's planner, in the branches of Ifs, too. Errors: unsupported, one has no kernel of the device.
    Status prepare(const Model* model);

    const Graph& graph() const { return *m_called->graph; }
    const Tensor& tensor(ValueId value) const { return m_called->values[static_cast<size_t>(value.index)]; }
    /// Of an operator that calls nothing.
    const Plan& plan(size_t op) const { return *PlanBuilder::planOf(m_kernels[op]); }
    /// Then and else of an If, cond and body of a While; of other operators nothing.
    std::span<LoopGraph> branches(size_t op) { return m_branches[op]; }
    bool hasBranches() const
    {
        return std::ranges::any_of(m_branches, [](const auto& branches) { return !branches.empty(); });
    }
    bool isLoop(size_t op) const { return !m_branches[op].empty() && callForm(graph().operators[op]).kind == CallKind::loop; }
    bool hasLoops() const
    {
        for (size_t o = 0; o < m_branches.size(); ++o)
            if (isLoop(o)) return true;
        return false;
    }
    /// Of a cond: that it gives a truth value. Errors: unsupported.
    Status checkVerdict(bool isTensorflow) const;
    /// The most operators that are completed when the graph, in which there are no loops, runs once.
    int64_t mostSteps() const;
    /// Of a branch: what it computes lies where the If's results do.
    void giveHomes(std::span<const uint64_t> homes);
    void put(ValueId value, uint64_t place) { m_places[value] = place; }
    /// Where a value lies; room is made for results and constants. Errors: unsupported, it is nowhere.
    Result<uint64_t> placeOf(ValueId value, LoopArena& arena);
    /// A buffer of a step of an operator.
    Result<uint64_t> placeOf(size_t op, const Place& place, LoopArena& arena);
    /// Of a body whose inputs have places: results that become carried values are computed where those lie, if nobody needs the old ones.
    void writeInPlace();

private:
    bool mayOverwrite(size_t output) const;

    const CalledGraph* m_called;
    std::vector<std::vector<LoopGraph>> m_branches; ///< by operator
    std::vector<PreparedKernel> m_kernels;          ///< by operator
    std::map<ValueId, uint64_t> m_places;
    std::map<std::pair<size_t, uint32_t>, uint64_t> m_constants, m_scratch; ///< by operator and index
};

} // namespace loopscope::vulkan
