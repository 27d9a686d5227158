// What one of the two runs of a proof announces, put in terms that both share: each write with the call it lies in and its key.
#pragma once

#include "engine/debug/prove/run_map.h"
#include "engine/debug/prove/trip_layout.h"
#include "engine/exec/executor.h"
#include "engine/observe/execution_observer.h"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// An invocation that is open, or that something which waits for its partner lies in.
struct ProofCall {
    std::shared_ptr<ProofCall> parent;
    InvocationStart start;
    uint64_t chain = 0; ///< the same number on both sides, if all calls on the way pair
    uint64_t place = 0; ///< of an iteration: that of its loop; 0: it has none
    bool pairs = true;  ///< false: some call on the way does not
    bool parentInCond = false;
    const RunMap::Scope* body = nullptr; ///< of the graph entered; null: nothing in it pairs
    const RunMap::Scope* cond = nullptr;
    struct Loop {
        uint32_t mark = 0;
        GraphId graph;
        OperatorId site;
        CallRole role = CallRole::loop;
        int64_t trips = 0;
    };
    std::vector<Loop> loops; ///< that were entered from here
    /// The call that was entered last, for the iterations that follow.
    struct Entered {
        OperatorId site;
        GraphId caller, graph, cond;
        const RunMap::Call *body = nullptr, *inCond = nullptr;
    } entered;

    /// As new, but for the memory that it has.
    void reset()
    {
        parent.reset();
        loops.clear();
        entered = {};
        chain = place = 0;
        pairs = true;
        parentInCond = false;
        body = cond = nullptr;
    }
    const RunMap::Scope* scopeOf(GraphId graph) const { return start.cond.valid() && graph == start.cond ? cond : body; }
};

/// One write, valid during the call.
struct ProofWrite {
    uint32_t key = 0;
    uint64_t chain = 0;
    const std::shared_ptr<ProofCall>* call = nullptr;
    GraphId graph;
    OperatorId op;
    int32_t slot = 0;
    Step step;
    const Tensor* tensor = nullptr;
    double roundings = 0; ///< of the run so far, each of which may change a result by half a unit in the last place
};

/// A number that both runs have of one place: how often a loop went round, which branch was taken.
struct ProofChoice {
    bool isLoop = false;
    uint64_t place = 0;
    int64_t number = 0;
    std::shared_ptr<ProofCall> call; ///< that the operator lies in; its address costs too much to be told every time
    bool inCond = false;
    GraphId graph;
    OperatorId site;
    CallRole role = CallRole::call;
    Step step;
};

class ProofListener {
public:
    virtual ~ProofListener() = default;
    virtual void wrote(RunMap::Side side, const ProofWrite& write) = 0;
    virtual void chose(RunMap::Side side, const ProofChoice& choice) = 0;
    /// An iteration of a loop begins of which the other side may know already how often it goes round.
    virtual void iterates(RunMap::Side side, uint64_t place, int64_t trips, const ProofCall& loop) = 0;
    /// Where rows that begin with that iteration go, or what they are compared with; false: writes are to be told of one by one.
    virtual bool takesTrips(RunMap::Side side, const std::shared_ptr<ProofCall>& call, const std::shared_ptr<const TripLayout>& layout,
                            TripTape& tape) = 0;
    /// So many rows of them are done, and of one more so many operators. `step` and `roundings` are those before the first.
    virtual void tookTrips(RunMap::Side side, int64_t rows, int32_t kernels, Step step, double roundings) = 0;
    virtual void wroteVariable(RunMap::Side side, std::string_view name, const Tensor& value) = 0;
};

class RunFollower final : public ExecutionObserver, public TripTaker {
public:
    RunFollower(RunMap::Side side, const Executor& executor, const RunMap& map, ProofListener& listener);

    void invocationStarted(const InvocationStart& e) override;
    void invocationEnded(const InvocationEnd& e) override;
    void operatorExecuted(const OperatorEvent& e) override;
    void variableAccessed(const VariableAccess& e) override;
    void runEnded(const RunEnd& e) override;
    const TripTape* tripsStarted(const TripsStart& start) override;
    void tripsEnded(int64_t rows, int32_t kernels) override;

    RunEnd::Reason end() const { return m_end; }
    /// Tells the loops of what has not been left.
    void finish();

    /// So many iterations behind one of which the next ones were taken as rows.
    std::shared_ptr<ProofCall> iterationAfter(const std::shared_ptr<ProofCall>& call, int64_t iterations);

    /// ProofCall::chain of an iteration of the loop at `place`.
    static uint64_t chainOf(uint64_t place, int64_t iteration);

    std::string addressOf(const ProofCall& call, GraphId graph, OperatorId op, int32_t slot) const;
    std::string addressOf(const ProofChoice& choice) const;
    /// Of the loop that an iteration belongs to.
    std::string addressOfLoop(const ProofCall& iteration) const;

    double roundings() const { return m_roundings; } ///< so far
private:
    static constexpr size_t kMostSpares = 128; ///< invocations whose memory is kept

    const std::shared_ptr<ProofCall>& callOf(InvocationId id);
    void enter(ProofCall& call);
    void tellLoops(const std::shared_ptr<ProofCall>& call, Step step);
    std::shared_ptr<ProofCall> freshCall();
    std::shared_ptr<const TripLayout> layoutOf(const ProofCall& call, const TripsStart& start);
    bool addCells(TripLayout& layout, const RunMap::Scope* scope, GraphId graph, std::span<const std::span<const Tensor* const>> results);
    std::string addressIn(const ProofCall& call, bool inCond, GraphId graph, OperatorId op, int32_t slot, CallRole site) const;

    const RunMap::Side m_side;
    const Model& m_model;
    const RunMap& m_map;
    ProofListener& m_listener;
    std::vector<std::shared_ptr<ProofCall>> m_calls; ///< open ones, the newest last
    std::deque<std::shared_ptr<ProofCall>> m_spares; ///< that have ended, with their memory; the oldest, which wait least, first
    InvocationId m_last = -1;
    std::shared_ptr<ProofCall> m_lastCall;
    struct Facts {
        double roundings = 0;
        bool leaves = false; ///< an Exit, whose result is one of the frame outside
    };
    std::vector<std::vector<Facts>> m_facts; ///< by graph and operator
    /// A result that is compared.
    struct Compared {
        uint32_t key = 0;
        int32_t slot = 0;
    };
    /// Of a scope: the results of operator i lie from firsts[i] to firsts[i + 1].
    struct ScopeResults {
        std::vector<uint32_t> firsts;
        std::vector<Compared> results;
    };
    std::vector<ScopeResults> m_results; ///< by scope of the map
    double m_roundings = 0;
    std::vector<std::shared_ptr<const TripLayout>> m_layouts; ///< of loops that were run as rows
    // Of the rows that run now:
    std::shared_ptr<const TripLayout> m_layout;
    TripTape m_tape;
    InvocationId m_tapeCall, m_following;
    Step m_tapeStep;
    RunEnd::Reason m_end = RunEnd::Reason::finished;
};

} // namespace loopscope
