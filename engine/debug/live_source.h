// Expressions against a running executor: names are values of a graph, read in the frame that the expression is about. What lies in the
// past is left to whoever derives from it: `print` travels there, conditions keep it.
#pragma once

#include "engine/debug/expression/source.h"
#include "engine/debug/place.h"
#include "engine/debug/target.h"
#include "engine/exec/executor.h"
#include "engine/tensor/npy.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// Statistics that were asked for at one moment of the run, so that several conditions on a value cost one pass over it.
class StatisticsCache {
public:
    void clear() { m_used = 0; }
    /// `tensor` must stay where it is until the next clear(). Allocates nothing once as many were asked for before.
    const TensorStatistics& of(const Tensor& tensor);

private:
    struct Entry {
        const std::byte* data = nullptr;
        size_t bytes = 0;
        TensorStatistics statistics;
    };
    std::deque<Entry> m_entries;
    size_t m_used = 0;
};

/// A value that an expression names.
struct LivePlace {
    enum class Kind : uint8_t {
        frame,     ///< of the frame `up` frames outside of the one that the expression is about
        absolute,  ///< of the frame at `depth`
        elsewhere, ///< of no frame on the stack: another iteration, or an invocation that was left
        file,
    };
    Kind kind = Kind::frame;
    int up = 0;
    int depth = 0;
    GraphId graph;
    ValueId value;
    Address address; ///< elsewhere
    std::shared_ptr<const Array> file;
    Tensor fileTensor;
};

/// A call operator that an expression names: a loop or a branch.
struct LiveSite {
    GraphId graph;
    OperatorId op;
};

class LiveSource : public ExpressionSource {
public:
    /// Names are those of the graph that runs in `frame`; addresses may be short. Only for that stop.
    LiveSource(const DebugTarget& target, FrameContext frame);
    /// Names are those of `graph`, wherever it is called from: `../x` means the value x of its only caller.
    LiveSource(const DebugTarget& target, GraphId graph);
    /// Names are ids, not those that the graph or a signature gives its inputs and outputs, too.
    void useIdsOnly() { m_idsOnly = true; }

    /// The expression is about the innermost frame, of `frames` on the stack, where `step` operators have completed. `event`: the operator
    /// that has just run and is not yet passed, whose step counts; null: none.
    void lookAtInnermost(int frames, Step step, const OperatorEvent* event, StatisticsCache* statistics)
    {
        m_depth = frames - 1;
        m_step = step;
        m_event = event;
        m_statistics = statistics;
    }

    const Model& model() const { return m_target.model; }
    const LivePlace& place(uint32_t handle) const { return m_places[handle]; }
    const LiveSite& site(uint32_t handle) const { return m_sites[handle]; }
    size_t placeCount() const { return m_places.size(); }
    GraphId graph() const { return m_graph; }
    /// TensorFlow 1 graphs: it was not computed in this iteration.
    bool isDead(int depth, ValueId value) const;
    /// Depth of the frame that holds the place now; none: no frame does.
    std::optional<int> depthOf(const LivePlace& place) const;

    std::optional<ExpressionPlace> findValue(std::string_view id) override;
    Result<ExpressionPlace> findNamed(std::string_view name) override;
    Result<ExpressionPlace> findAddress(std::string_view address) override;
    Result<ExpressionPlace> findFile(std::string_view path) override;
    Result<uint32_t> findLoop(std::string_view operatorName) override;
    Result<uint32_t> findBranch(std::string_view operatorName) override;
    std::vector<std::string> valueNames() const override;

    Result<const Tensor*> current(uint32_t place) override;
    Result<const TensorStatistics*> statistics(uint32_t place) override;
    ExpressionWrite write(uint32_t place) override;
    std::string_view name(uint32_t place) override;

    std::optional<int64_t> iteration(std::optional<uint32_t> loop) override;
    std::optional<int64_t> tripCount(uint32_t loop) override;
    std::optional<std::string_view> branchTaken(uint32_t branch) override;
    Step step() override { return m_step; }
    int64_t run() override { return 1; }
    int64_t hits() override { return 0; }
    int64_t depth() override { return m_depth; }

protected:
    /// Trips of a loop that is not running, in the frame at `depth`.
    virtual std::optional<int64_t> finishedTrips(uint32_t loop, int depth) = 0;
    /// Step of a write that neither the start of its invocation nor the present stop tell; −1: not known.
    virtual Step writeStep(uint32_t place) = 0;
    /// Contents of a place that no frame holds; null: there are none.
    virtual Result<const Tensor*> elsewhere(uint32_t place) = 0;

    const DebugTarget& target() const { return m_target; }
    int scopeDepth() const { return m_depth; }
    /// A value of the frame at `depth`, with what the operator that has just run wrote. Null: not there.
    const Tensor* valueAt(int depth, ValueId value) const;

private:
    ExpressionPlace add(LivePlace place);
    ExpressionPlace addLocal(int up, GraphId graph, ValueId value);
    Result<ExpressionPlace> addResolved(const ResolvedAddress& resolved);
    Result<uint32_t> findSite(std::string_view name, bool isLoop);
    Result<GraphId> graphOutside(int up, std::string_view rest) const;
    std::vector<GraphId> scopes() const;
    FrameInfo frameAt(int depth) const { return m_target.executor.frame(depth); }
    std::optional<int> runningLoop(const LiveSite& loop) const;
    Step plainStep(int depth, OperatorId op) const;

    DebugTarget m_target;
    bool m_isFrame = false; ///< of a stop, else of a graph
    bool m_idsOnly = false;
    GraphId m_graph;
    int m_depth = 0;
    bool m_isInnermost = true; ///< nothing runs inside of the frame at m_depth
    int64_t m_step = 0;
    const OperatorEvent* m_event = nullptr;
    std::vector<LivePlace> m_places;
    std::vector<LiveSite> m_sites;
    StatisticsCache m_ownStatistics;
    StatisticsCache* m_statistics = &m_ownStatistics;
    std::string m_writer;
    std::string m_branch;
};

} // namespace loopscope
