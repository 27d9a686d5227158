#include "script.h"

#include <cmath>
#include <memory>

namespace loopscope::test {

namespace {

/// Builds graphs by names.
class GraphBuilder {
public:
    explicit GraphBuilder(std::string id) { graph.id = std::move(id); }

    ValueId input(const std::string& id, DType dtype, Shape shape)
    {
        const ValueId v = add(id, dtype, std::move(shape), ValueRole::input);
        graph.inputs.push_back(v);
        return v;
    }
    ValueId constant(const std::string& id, DType dtype, Shape shape, const void* data, size_t size)
    {
        const ValueId v = add(id, dtype, std::move(shape), ValueRole::constant);
        graph.value(v).constant = std::make_shared<Constant>(Bytes::copyOf(data, size));
        return v;
    }
    std::vector<ValueId> op(const std::string& kind, std::vector<ValueId> inputs,
                            const std::vector<std::tuple<std::string, DType, Shape>>& results, AttributeList attributes = {})
    {
        Operator o;
        o.kind = {"tfl", kind};
        o.inputs = std::move(inputs);
        o.attributes = std::move(attributes);
        for (const auto& [id, dtype, shape] : results) {
            const ValueId v = add(id, dtype, shape, ValueRole::result);
            graph.value(v).producer = OperatorId(static_cast<int64_t>(graph.operators.size()));
            graph.value(v).slot = static_cast<int32_t>(o.results.size());
            o.results.push_back(v);
        }
        graph.operators.push_back(o);
        return o.results;
    }
    void output(ValueId value) { graph.outputs.push_back({"", value}); }

    Graph graph;

private:
    ValueId add(const std::string& id, DType dtype, Shape shape, ValueRole role)
    {
        Value v;
        v.id = id;
        v.type = TensorType(dtype, std::move(shape));
        v.role = role;
        graph.values.push_back(std::move(v));
        return ValueId(static_cast<int64_t>(graph.values.size()) - 1);
    }
};

Attribute graphAttribute(int64_t graph) { return Attribute(GraphRef{GraphId(graph), nullptr}); }

enum : int64_t { kMain, kCond, kBody, kThen, kElse, kInnerCond, kInnerBody };

} // namespace

Model scriptModel()
{
    const DType i32 = DType::i32, f32 = DType::f32, b = DType::boolean;
    const Shape s, v4{4};
    const int32_t one = 1, limit = 12;
    const float factor[3] = {1, 2, 3};
    Model model;

    GraphBuilder main("main");
    const ValueId n = main.input("n", i32, s), x = main.input("x", f32, v4), zero = main.constant("zero", i32, s, &one, 4);
    const auto loop = main.op("while", {zero, n, x}, {{"i_end", i32, s}, {"acc_end", i32, s}, {"x_end", f32, v4}},
                              {{"body", graphAttribute(kBody)}, {"cond", graphAttribute(kCond)}});
    const auto square = main.op("mul", {loop[2], loop[2]}, {{"square", f32, v4}});
    main.output(loop[1]);
    main.output(square[0]);

    GraphBuilder cond("outer_cond");
    const ValueId ci = cond.input("i", i32, s);
    cond.input("acc", i32, s);
    cond.input("x", f32, v4);
    const ValueId cl = cond.constant("limit", i32, s, &limit, 4);
    cond.output(cond.op("less", {ci, cl}, {{"goes_on", b, s}})[0]);

    GraphBuilder body("outer_body");
    const ValueId bi = body.input("i", i32, s), ba = body.input("acc", i32, s), bx = body.input("x", f32, v4);
    const ValueId bo = body.constant("one", i32, s, &one, 4), bf = body.constant("factor", f32, Shape{3}, factor, sizeof(factor));
    const auto next = body.op("add", {bi, bo}, {{"i_next", i32, s}});
    const auto mod = body.op("floor_mod", {bi, bo}, {{"mod", i32, s}});
    const auto even = body.op("equal", {mod[0], bo}, {{"even", b, s}});
    const auto acc =
        body.op("if", {even[0], ba}, {{"acc_next", i32, s}}, {{"else", graphAttribute(kElse)}, {"then", graphAttribute(kThen)}});
    const auto in = body.op("while", {bo, bx}, {{"j_end", i32, s}, {"x_next", f32, v4}},
                            {{"body", graphAttribute(kInnerBody)}, {"cond", graphAttribute(kInnerCond)}});
    body.op("split", {in[1]}, {{"low", f32, Shape{2}}, {"high", f32, Shape{2}}});
    body.op("neg", {bf}, {{"invariant", f32, Shape{3}}});
    body.op("range", {bo, bi, bo}, {{"ramp", f32, Shape{kUnknownDim}}});
    body.op("sub", {bx, bx}, {{"zero", f32, v4}});
    body.output(next[0]);
    body.output(acc[0]);
    body.output(in[1]);

    GraphBuilder thenGraph("then_graph"), elseGraph("else_graph");
    const ValueId ta = thenGraph.input("a", i32, s), ea = elseGraph.input("a", i32, s);
    thenGraph.output(thenGraph.op("mul", {ta, ta}, {{"twice", i32, s}})[0]);
    elseGraph.output(elseGraph.op("add", {ea, ea}, {{"more", i32, s}})[0]);

    GraphBuilder innerCond("inner_cond"), innerBody("inner_body");
    const ValueId icj = innerCond.input("j", i32, s);
    innerCond.input("x", f32, v4);
    innerCond.output(innerCond.op("less", {icj, icj}, {{"inner_goes_on", b, s}})[0]);
    const ValueId ibj = innerBody.input("j", i32, s), ibx = innerBody.input("x", f32, v4);
    const auto jn = innerBody.op("add", {ibj, ibj}, {{"j_next", i32, s}});
    const auto xn = innerBody.op("mul", {ibx, ibx}, {{"product", f32, v4}});
    innerBody.output(jn[0]);
    innerBody.output(xn[0]);

    for (GraphBuilder* g : {&main, &cond, &body, &thenGraph, &elseGraph, &innerCond, &innerBody})
        model.graphs.push_back(std::move(g->graph));
    return model;
}

struct Script::Frame {
    InvocationStart start;
    std::string path; ///< with roles of the loops outside
    std::string cond, graph;
    int64_t timeAtStart = 0;
    size_t fact = 0;
    int64_t iteration = -1;
};

Script::Frame Script::enter(const Frame* parent, CallRole role, const std::string& caller, const std::string& graph,
                            const std::string& cond, int64_t iteration)
{
    Frame frame;
    frame.start.id = m_nextInvocation++;
    frame.start.role = role;
    frame.start.graph = m_model.findGraph(graph);
    frame.start.cond = cond.empty() ? GraphId() : m_model.findGraph(cond);
    frame.start.iteration = iteration;
    frame.start.step = m_step;
    frame.graph = graph;
    frame.cond = cond;
    frame.iteration = iteration;
    frame.timeAtStart = m_time;
    InvocationFact fact;
    if (parent == nullptr) {
        frame.path = graph;
    } else {
        frame.start.parent = parent->start.id;
        frame.start.callerGraph = parent->start.graph;
        const size_t mark = caller.find('#');
        frame.start.site = OperatorId(std::stoll(caller.substr(mark + 1)));
        frame.path = parent->path + (parent->start.role == CallRole::loop ? ":body" : "") + "/" + caller;
        if (role == CallRole::loop) frame.path += "@" + std::to_string(iteration);
        else frame.path += ":" + std::string(callRoleName(role));
    }
    fact.id = frame.start.id;
    fact.parent = frame.start.parent;
    fact.iteration = iteration;
    fact.first = m_step;
    fact.path = frame.path;
    fact.role = callRoleName(role);
    fact.op = caller;
    frame.fact = invocations.size();
    invocations.push_back(fact);
    m_observer.invocationStarted(frame.start);
    return frame;
}

void Script::leave(Frame& frame)
{
    InvocationEnd end;
    end.id = frame.start.id;
    end.step = m_step;
    end.ns = m_time - frame.timeAtStart;
    invocations[frame.fact].steps = m_step - frame.start.step;
    invocations[frame.fact].ns = end.ns;
    m_observer.invocationEnded(end);
}

template <typename T> void Script::op(Frame& frame, const std::string& graphName, int index, std::vector<std::vector<T>> results,
                                      std::vector<Shape> shapesOfResults)
{
    if (stopped()) return;
    const GraphId id = m_model.findGraph(graphName);
    const Graph& graph = m_model.graph(id);
    const Operator& source = graph.op(OperatorId(index));
    // A duration of its own for every operator, so that sums can be told apart.
    const int64_t ns = m_options.nsPerOp + id.index * 7 + index;
    m_time += ns;
    std::vector<Tensor> tensors(results.size());
    std::vector<const Tensor*> pointers;
    for (size_t k = 0; k < results.size(); ++k) {
        tensors[k].data = reinterpret_cast<std::byte*>(results[k].data());
        tensors[k].bytes = results[k].size() * sizeof(T);
        tensors[k].dtype = graph.value(source.results[k]).type.dtype;
        tensors[k].shape = shapesOfResults[k];
        pointers.push_back(&tensors[k]);
        Fact fact;
        fact.step = m_step;
        fact.path = frame.path;
        fact.graph = graphName;
        fact.op = source.kind.name + "#" + std::to_string(index);
        const bool isLoop = frame.start.role == CallRole::loop;
        fact.address = frame.path + (isLoop ? graphName == frame.cond ? ":cond" : ":body" : "") + "/" + fact.op + ":" + std::to_string(k);
        fact.value = graph.value(source.results[k]).id;
        fact.kind = source.kind.full();
        fact.dtype = dtypeName(tensors[k].dtype);
        fact.slot = static_cast<int>(k);
        fact.iteration = frame.iteration;
        fact.invocation = frame.start.id;
        for (const T v : results[k]) fact.data.push_back(static_cast<double>(v));
        fact.shape = shapesOfResults[k];
        fact.ns = ns;
        facts.push_back(fact);
    }
    OperatorEvent event;
    event.step = m_step++;
    event.invocation = frame.start.id;
    event.graph = id;
    event.op = OperatorId(index);
    event.ns = ns;
    event.results = pointers;
    m_observer.operatorExecuted(event);
}

void Script::inner(Frame& body, int32_t iterations, std::vector<float>& x)
{
    const int64_t since = m_time;
    for (int32_t j = 0; j <= iterations && !stopped(); ++j) {
        Frame loop = enter(&body, CallRole::loop, "while#4", "inner_body", "inner_cond", j);
        op<uint8_t>(loop, "inner_cond", 0, {{static_cast<uint8_t>(j < iterations)}}, {Shape{}});
        if (j < iterations) {
            scalar<int32_t>(loop, "inner_body", 0, j + 1);
            for (float& v : x) v *= 1.5F;
            op<float>(loop, "inner_body", 1, {x}, {Shape{4}});
        }
        leave(loop);
    }
    const size_t first = facts.size();
    // The loop operator has an i32 and an f32 result, so its event is announced by hand.
    if (stopped()) return;
    const GraphId id = m_model.findGraph("outer_body");
    Tensor count, tensor;
    count.data = reinterpret_cast<std::byte*>(&iterations);
    count.bytes = 4;
    count.dtype = DType::i32;
    tensor.data = reinterpret_cast<std::byte*>(x.data());
    tensor.bytes = x.size() * 4;
    tensor.dtype = DType::f32;
    tensor.shape = Shape{4};
    const Tensor* results[] = {&count, &tensor};
    OperatorEvent event;
    event.step = m_step++;
    event.invocation = body.start.id;
    event.graph = id;
    event.op = OperatorId(4);
    event.ns = m_time - since;
    event.results = results;
    for (int k = 0; k < 2; ++k) {
        Fact fact;
        fact.step = event.step;
        fact.path = body.path;
        fact.graph = "outer_body";
        fact.op = "while#4";
        fact.address = body.path + ":body/while#4:" + std::to_string(k);
        fact.value = k == 0 ? "j_end" : "x_next";
        fact.kind = "tfl.while";
        fact.dtype = k == 0 ? "i32" : "f32";
        fact.slot = k;
        fact.iteration = body.iteration;
        fact.invocation = body.start.id;
        if (k == 0) fact.data = {static_cast<double>(iterations)};
        else fact.data.assign(x.begin(), x.end());
        fact.shape = k == 0 ? Shape{} : Shape{4};
        fact.ns = event.ns;
        fact.isCall = true;
        facts.push_back(fact);
    }
    static_cast<void>(first);
    m_observer.operatorExecuted(event);
}

void Script::announceStart(int32_t& n, std::vector<float>& x)
{
    Tensor tn, tx;
    tn.data = reinterpret_cast<std::byte*>(&n);
    tn.bytes = 4;
    tn.dtype = DType::i32;
    tx.data = reinterpret_cast<std::byte*>(x.data());
    tx.bytes = 16;
    tx.dtype = DType::f32;
    tx.shape = Shape{4};
    const Tensor* inputs[] = {&tn, &tx};
    RunStart runStart;
    runStart.model = &m_model;
    runStart.root = GraphId(0);
    runStart.inputs = inputs;
    m_observer.runStarted(runStart);
}

void Script::branch(Frame& loop, int32_t i, int32_t& acc)
{
    bool even = i % 2 == 0;
    if (i == m_options.branchFlipAt) even = !even;
    op<uint8_t>(loop, "outer_body", 2, {{static_cast<uint8_t>(i % 2 == 0)}}, {Shape{}});
    const int64_t since = m_time;
    const char* const side = even ? "then_graph" : "else_graph";
    Frame taken = enter(&loop, even ? CallRole::thenBranch : CallRole::elseBranch, "if#3", side, "", -1);
    acc = even ? acc * 2 : acc + 3;
    if (m_options.perturbFrom >= 0 && i >= m_options.perturbFrom) ++acc;
    acc %= 1000;
    scalar<int32_t>(taken, side, 0, acc);
    leave(taken);
    if (stopped()) return;
    // The branch operator's own event: its duration includes the branch.
    const int64_t own = m_options.nsPerOp;
    m_options.nsPerOp = m_time - since - (2 * 7 + 3);
    const int64_t before = m_time;
    scalar<int32_t>(loop, "outer_body", 3, acc);
    m_options.nsPerOp = own;
    m_time = before;
    facts.back().isCall = true;
}

void Script::outerIteration(Frame& main, int32_t i, int32_t& acc, std::vector<float>& x)
{
    Frame loop = enter(&main, CallRole::loop, "while#0", "outer_body", "outer_cond", i);
    op<uint8_t>(loop, "outer_cond", 0, {{static_cast<uint8_t>(i < m_options.outer)}}, {Shape{}});
    if (i < m_options.outer) {
        scalar<int32_t>(loop, "outer_body", 0, i + 1);
        scalar<int32_t>(loop, "outer_body", 1, i % 2);
        branch(loop, i, acc);
        inner(loop, i % 4 + (i == m_options.extraInnerAt ? 1 : 0), x);
        if (i == m_options.nanAt && !stopped()) x[2] = std::nanf("");
        op<float>(loop, "outer_body", 5, {{x[0], x[1]}, {x[2], x[3]}}, {Shape{2}, Shape{2}});
        op<float>(loop, "outer_body", 6, {{-1, -2, -3}}, {Shape{3}});
        std::vector<float> ramp;
        for (int32_t k = 0; k <= i % 3; ++k) ramp.push_back(static_cast<float>(k));
        if (!stopped()) shapes.push_back({m_step, {static_cast<int64_t>(ramp.size())}});
        op<float>(loop, "outer_body", 7, {ramp}, {Shape{static_cast<int64_t>(ramp.size())}});
        op<float>(loop, "outer_body", 8, {{0, 0, 0, 0}}, {Shape{4}});
    }
    leave(loop);
}

/// The outer loop's own event, whose results have two types, so that it is announced by hand.
void Script::announceLoop(Frame& main, int64_t loopStart, int32_t acc, std::vector<float>& x)
{
    Tensor i, a, xs;
    int32_t outer = m_options.outer;
    i.data = reinterpret_cast<std::byte*>(&outer);
    a.data = reinterpret_cast<std::byte*>(&acc);
    i.bytes = a.bytes = 4;
    i.dtype = a.dtype = DType::i32;
    xs.data = reinterpret_cast<std::byte*>(x.data());
    xs.bytes = 16;
    xs.dtype = DType::f32;
    xs.shape = Shape{4};
    const Tensor* results[] = {&i, &a, &xs};
    OperatorEvent event;
    event.step = m_step++;
    event.invocation = main.start.id;
    event.graph = GraphId(0);
    event.op = OperatorId(0);
    event.ns = m_time - loopStart;
    event.results = results;
    const char* names[] = {"i_end", "acc_end", "x_end"};
    for (int k = 0; k < 3; ++k) {
        Fact fact;
        fact.step = event.step;
        fact.path = "main";
        fact.address = "main/while#0:" + std::to_string(k);
        fact.graph = "main";
        fact.op = "while#0";
        fact.value = names[k];
        fact.kind = "tfl.while";
        fact.dtype = k == 2 ? "f32" : "i32";
        fact.slot = k;
        fact.invocation = main.start.id;
        if (k == 2) fact.data.assign(x.begin(), x.end());
        else fact.data = {static_cast<double>(k == 0 ? outer : acc)};
        fact.shape = results[k]->shape;
        fact.ns = event.ns;
        fact.isCall = true;
        facts.push_back(fact);
    }
    m_observer.operatorExecuted(event);
}

void Script::run(const ScriptOptions& options)
{
    m_options = options;
    m_step = 0;
    m_time = 0;
    facts.clear();
    invocations.clear();
    shapes.clear();
    int32_t n = 1;
    std::vector<float> x = {1, -2, 0.5F, 0};
    std::vector<float> start = x;
    announceStart(n, start);

    Frame main = enter(nullptr, CallRole::main, "", "main", "", -1);
    const int64_t loopStart = m_time;
    int32_t acc = n;
    for (int32_t i = 0; i <= options.outer && !stopped(); ++i) outerIteration(main, i, acc, x);
    if (!stopped()) {
        announceLoop(main, loopStart, acc, x);
        std::vector<float> square;
        for (const float v : x) square.push_back(v * v);
        op<float>(main, "main", 1, {square}, {Shape{4}});
    }
    leave(main);
    accumulator = acc;
    RunEnd end;
    end.steps = m_step;
    end.ns = m_time;
    end.reason = stopped() ? RunEnd::Reason::failed : RunEnd::Reason::finished;
    if (stopped()) end.message = "main/mul#1: C2: stopped by the script";
    m_observer.runEnded(end);
}

} // namespace loopscope::test
