// A small executor whose program is written out in C++: nested loops, a branch, several results, changing shapes, NaN. It announces what
// it does to an observer and writes the same down in a plain list, from which tests calculate the answers that a trace must give.
#pragma once

#include "engine/ir/model.h"
#include "engine/observe/execution_observer.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace loopscope::test {

/// One write, as the script made it.
struct Fact {
    int64_t step = 0;
    std::string path;    ///< of the invocation, without the role of its innermost loop: "main/while#0@3"
    std::string address; ///< "main/while#0@3:body/add#0:0"
    std::string graph, op, value, kind, dtype;
    int slot = 0;
    int64_t iteration = -1;
    int64_t invocation = 0;
    std::vector<double> data;
    Shape shape;
    int64_t ns = 0;
    bool isCall = false;
};

struct InvocationFact {
    int64_t id = 0, parent = 0, iteration = -1, first = 0, steps = 0, ns = 0;
    std::string path, role, op; ///< op: label of the caller
};

struct ScriptOptions {
    int32_t outer = 12;         ///< iterations of the outer loop; inner ones: iteration modulo 4
    int32_t perturbFrom = -1;   ///< from this outer iteration on the accumulator is one larger
    int32_t branchFlipAt = -1;  ///< in this iteration the other branch is taken
    int32_t extraInnerAt = -1;  ///< one more inner iteration there
    int32_t nanAt = -1;         ///< outer iteration whose product holds a NaN
    int32_t stopAfterStep = -1; ///< the run fails there
    int64_t nsPerOp = 10;
};

/// The model that the script executes.
Model scriptModel();

class Script {
public:
    Script(const Model& model, ExecutionObserver& observer) : m_model(model), m_observer(observer) {}
    /// Executes the program once. Invocation numbers go on over the runs of one Script.
    void run(const ScriptOptions& options);

    std::vector<Fact> facts;
    std::vector<InvocationFact> invocations;
    std::vector<std::pair<int64_t, std::vector<int64_t>>> shapes; ///< step, dims of `ramp` wherever it was written
    int64_t steps() const { return m_step; }
    double accumulator = 0;

private:
    struct Frame;
    Frame enter(const Frame* parent, CallRole role, const std::string& caller, const std::string& graph, const std::string& cond,
                int64_t iteration);
    void leave(Frame& frame);
    template <typename T>
    void op(Frame& frame, const std::string& graph, int index, std::vector<std::vector<T>> results, std::vector<Shape> shapes);
    template <typename T> void scalar(Frame& frame, const std::string& graph, int index, T value)
    {
        op<T>(frame, graph, index, {{value}}, {Shape{}});
    }
    void call(Frame& frame, const std::string& graph, int index, int64_t since, std::vector<float> tensor, int32_t count);
    void inner(Frame& body, int32_t iterations, std::vector<float>& x);
    void announceStart(int32_t& n, std::vector<float>& x);
    void outerIteration(Frame& main, int32_t i, int32_t& acc, std::vector<float>& x);
    void branch(Frame& loop, int32_t i, int32_t& acc);
    void announceLoop(Frame& main, int64_t loopStart, int32_t acc, std::vector<float>& x);
    bool stopped() const { return m_options.stopAfterStep >= 0 && m_step > m_options.stopAfterStep; }

    const Model& m_model;
    ExecutionObserver& m_observer;
    ScriptOptions m_options;
    int64_t m_step = 0;
    int64_t m_nextInvocation = 1;
    int64_t m_time = 0;
};

} // namespace loopscope::test
