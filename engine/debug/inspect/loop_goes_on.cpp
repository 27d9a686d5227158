// Why a loop goes on: what its condition compares, how that went over the iterations, and what follows from it.
#include "engine/debug/inspect/why_answers.h"

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/place.h"
#include "engine/ir/frames.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>

namespace loopscope {

namespace {

constexpr size_t kLastIterations = 64;      ///< that operands are compared over
constexpr uint64_t kHashedState = 64 << 10; ///< bytes of carried state up to which repetitions are looked for
constexpr int64_t kCheckedElements = 64;    ///< of a tensor that is looked at for wrapping
constexpr size_t kMostWraps = 3;
constexpr int64_t kKnownStates = 4096; ///< iterations whose states are all kept; later ones are compared with one now and then

struct LoopGraphs {
    GraphId cond, body;
};

LoopGraphs graphsOf(const Operator& loop)
{
    LoopGraphs graphs;
    for (const Callee& callee : callForm(loop).callees) (callee.role == "cond" ? graphs.cond : graphs.body) = callee.graph;
    return graphs;
}

/// An integer result that did not fit.
struct Wrap {
    std::string value;
    int64_t iteration = 0;
    std::string text; ///< "2147450880 + 65536 -> -2147450880"
};

/// A number of the loop's state over its last iterations.
struct Track {
    ValueId formal; ///< of cond
    size_t position = 0;
    bool isInvariant = false;
    bool isScalar = true;
    std::deque<double> last;
    std::string now; ///< the present value, as shown
    double number = 0;
};

class LoopWatch final : public TrapHandler {
public:
    LoopWatch(const DebugTarget& target, int depth, InvocationId caller, OperatorId site, LoopGraphs graphs, std::vector<Track>& tracks)
        : m_target(target),
          m_now(target.timeline.tick()),
          m_depth(depth),
          m_caller(caller),
          m_site(site),
          m_graphs(graphs),
          m_tracks(tracks)
    {
        const Graph& cond = target.model.graph(graphs.cond);
        const Graph& body = target.model.graph(graphs.body);
        m_beginsIn = cond.operators.empty() ? graphs.body : graphs.cond;
        m_traps.add(m_beginsIn, OperatorId(0), trapBefore);
        for (size_t i = 0; i < body.operators.size(); ++i) {
            const std::string& kind = body.operators[i].kind.name;
            const bool counts = kind == "add" || kind == "sub" || kind == "mul";
            if (!counts || body.operators[i].inputs.size() != 2 || body.operators[i].results.size() != 1) continue;
            const TensorType& type = body.value(body.operators[i].results[0]).type;
            if (dtypeClass(type.dtype) == DTypeClass::signedInteger && !type.quantization)
                m_traps.add(graphs.body, OperatorId(static_cast<int64_t>(i)), trapAfter);
        }
        m_repeats = true;
        for (const GraphId graph : {graphs.cond, graphs.body}) m_repeats = m_repeats && !hasEffects(graph, 0);
    }

    const TrapSet& traps() const { return m_traps; }
    const std::vector<Wrap>& wraps() const { return m_wraps; }
    int64_t repeated() const { return m_repeated; } ///< iteration whose state was there before; −1: none
    int64_t repeats() const { return m_original; }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        if (tick < m_now && event.graph == m_beginsIn && event.op.index == 0 && isHere(event)) beginIteration();
        return false;
    }

    /// The stop that the question is asked at may be the beginning of an iteration itself.
    void arriveAt(const FrameInfo& frame)
    {
        if (frame.graph == m_beginsIn && frame.next.index == 0) beginIteration();
    }

    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (m_wraps.size() >= kMostWraps || event.graph != m_graphs.body || !isHere(event)) return false;
        const Graph& body = m_target.model.graph(m_graphs.body);
        const Operator& op = body.op(event.op);
        const Tensor* const a = m_target.executor.value(m_depth, op.inputs[0]);
        const Tensor* const b = m_target.executor.value(m_depth, op.inputs[1]);
        if (!a || !b || event.results.empty()) return false;
        const Tensor& result = *event.results[0];
        const int64_t count = std::min(result.elementCount(), kCheckedElements);
        for (int64_t i = 0; i < count; ++i)
            if (checkElement(op, *a, *b, result, i)) break;
        return false;
    }

private:
    bool isHere(const OperatorEvent& event) const
    {
        const Executor& executor = m_target.executor;
        return frameCount(executor, event.step) == m_depth + 1 && executor.frame(m_depth - 1).invocation == m_caller &&
               executor.frame(m_depth).site == m_site;
    }

    /// Random numbers and variables are state, too: with them equal carried values prove nothing.
    bool hasEffects(GraphId id, int nesting) const
    {
        if (!m_target.model.hasGraph(id) || nesting > 16) return true;
        const Graph& graph = m_target.model.graph(id);
        for (const Value& value : graph.values)
            if (value.role == ValueRole::variable) return true;
        for (const Operator& op : graph.operators) {
            const OpDef* const def = findOp(op.kind);
            if (!def || def->hasSideEffects || op.kind.name.find("random") != std::string::npos) return true;
            for (const Callee& callee : calleesOf(op))
                if (hasEffects(callee.graph, nesting + 1)) return true;
        }
        return false;
    }

    void beginIteration()
    {
        const Executor& executor = m_target.executor;
        const Graph& graph = m_target.model.graph(m_beginsIn);
        for (Track& track : m_tracks)
            if (const Tensor* const tensor = executor.value(m_depth, graph.inputs[track.position])) note(track, *tensor);
        if (m_repeats && m_repeated < 0) noteState(executor, graph, executor.frame(m_depth).iteration);
    }

    void note(Track& track, const Tensor& tensor) const
    {
        track.isScalar = tensor.elementCount() == 1;
        if (!track.isScalar) return;
        track.number = elementAsReal(tensor, 0);
        track.last.push_back(track.number);
        if (track.last.size() > kLastIterations) track.last.pop_front();
    }

    void noteState(const Executor& executor, const Graph& graph, int64_t iteration)
    {
        m_state.clear();
        for (const ValueId input : graph.inputs) {
            const Tensor* const tensor = executor.value(m_depth, input);
            if (!tensor || m_state.size() + tensor->bytes > kHashedState || dtypeClass(tensor->dtype) == DTypeClass::handle) {
                m_repeats = false;
                return;
            }
            for (const int64_t dim : tensor->shape.dims()) append(&dim, sizeof dim);
            append(tensor->data, tensor->bytes);
        }
        const Hash128 hash = hashBytes(m_state);
        if (iteration < kKnownStates) {
            const auto [found, isNew] = m_states.try_emplace(hash.high, hash.low, iteration);
            if (!isNew && found->second.first == hash.low) {
                m_repeated = iteration;
                m_original = found->second.second;
            }
        } else if (hash == m_kept) { // a state that comes again comes again and again: it suffices to keep one of powers of two (Brent)
            m_repeated = iteration;
            m_original = m_keptIteration;
        }
        if (iteration < 2 * m_keptIteration) return;
        m_kept = hash;
        m_keptIteration = std::max<int64_t>(iteration, 1);
    }

    void append(const void* data, size_t size)
    {
        const auto* bytes = static_cast<const std::byte*>(data);
        m_state.insert(m_state.end(), bytes, bytes + size);
    }

    bool checkElement(const Operator& op, const Tensor& a, const Tensor& b, const Tensor& result, int64_t i)
    {
        const int64_t x = elementAsInteger(a, a.elementCount() == 1 ? 0 : i), y = elementAsInteger(b, b.elementCount() == 1 ? 0 : i);
        if ((a.elementCount() != 1 && a.shape != result.shape) || (b.elementCount() != 1 && b.shape != result.shape)) return true;
        const char sign = op.kind.name == "add" ? '+' : op.kind.name == "sub" ? '-' : '*';
        int64_t exact = 0;
        const bool overflows = sign == '+'   ? __builtin_add_overflow(x, y, &exact)
                               : sign == '-' ? __builtin_sub_overflow(x, y, &exact)
                                             : __builtin_mul_overflow(x, y, &exact);
        const int64_t got = elementAsInteger(result, i);
        if (!overflows && exact == got) return false;
        if (!overflows && exact >= integerMin(result.dtype) && exact <= static_cast<int64_t>(integerMax(result.dtype))) return false;
        std::string name = m_target.model.graph(m_graphs.body).value(op.results[0]).id;
        const Graph& body = m_target.model.graph(m_graphs.body);
        for (size_t p = 0; p < body.outputs.size() && p < body.inputs.size(); ++p)
            if (body.outputs[p].value == op.results[0]) name = body.value(body.inputs[p]).id;
        for (const Wrap& wrap : m_wraps)
            if (wrap.value == name) return true;
        m_wraps.push_back({name, m_target.executor.frame(m_depth).iteration,
                           std::to_string(x) + " " + sign + " " + std::to_string(y) + " -> " + std::to_string(got)});
        return true;
    }

    const DebugTarget& m_target;
    const int64_t m_now;
    const int m_depth;
    const InvocationId m_caller;
    const OperatorId m_site;
    const LoopGraphs m_graphs;
    std::vector<Track>& m_tracks;
    GraphId m_beginsIn;
    TrapSet m_traps;
    std::vector<Wrap> m_wraps;
    bool m_repeats = false;
    int64_t m_repeated = -1, m_original = -1;
    Hash128 m_kept;
    int64_t m_keptIteration = 0;
    std::vector<std::byte> m_state;
    std::unordered_map<uint64_t, std::pair<uint64_t, int64_t>> m_states;
};

/// What one side of the comparison is and how it goes.
struct Side {
    std::string name;
    DType dtype = DType::unknown;
    bool isNumber = false;
    double number = 0;
    double step = 0; ///< per iteration, where it is known
    bool hasStep = false;
};

Side sideOf(const Graph& cond, ValueId id, const std::vector<Track>& tracks)
{
    Side side;
    const Value& value = cond.value(id);
    side.name = value.role == ValueRole::constant ? constantText(value) : value.id;
    side.dtype = value.type.dtype;
    if (value.role == ValueRole::constant && value.constant && value.constant->hasBytes() && value.type.shape.isStatic() &&
        value.type.shape.elementCount() == 1 && bitWidth(side.dtype) >= 8 && value.constant->size() >= byteSize(side.dtype, 1)) {
        Tensor tensor;
        tensor.dtype = side.dtype;
        tensor.data = const_cast<std::byte*>(value.constant->bytes().data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
        tensor.bytes = value.constant->size();
        side.isNumber = side.hasStep = true;
        side.number = elementAsReal(tensor, 0);
        return side;
    }
    if (value.role == ValueRole::result) { // a Const node, or one that is handed into a frame
        const Operator* op = &cond.op(value.producer);
        if (op->kind.name == "Enter" && !op->inputs.empty() && cond.value(op->inputs[0]).role == ValueRole::result)
            op = &cond.op(cond.value(op->inputs[0]).producer);
        if (const std::optional<Tensor> tensor = constantNode(*op)) {
            side.name = numberText(*tensor, 0, false);
            side.isNumber = side.hasStep = true;
            side.number = elementAsReal(*tensor, 0);
            return side;
        }
    }
    for (const Track& track : tracks) {
        if (track.formal != id || !track.isScalar || track.last.empty()) continue;
        side.isNumber = true;
        side.number = track.number;
        side.hasStep = track.isInvariant || track.last.size() >= 3;
        if (track.isInvariant) continue;
        for (size_t i = 1; i < track.last.size(); ++i) {
            const double step = track.last[i] - track.last[i - 1];
            if (i == 1) side.step = step;
            else if (step != side.step) side.hasStep = false;
        }
    }
    return side;
}

std::string countText(double number)
{
    return std::fabs(number) < 9e15 && number == std::floor(number) ? groupThousands(static_cast<int64_t>(number))
                                                                    : realNumberText(number, 7);
}

std::string extremeText(DType dtype, double number)
{
    if (!isInteger(dtype) || bitWidth(dtype) > 32) return "";
    if (number == static_cast<double>(integerMax(dtype))) return ", the largest " + std::string(dtypeName(dtype));
    if (number == static_cast<double>(integerMin(dtype)) && integerMin(dtype) != 0)
        return ", the smallest " + std::string(dtypeName(dtype));
    return "";
}

std::string mirrored(const std::string& sign)
{
    if (sign == "<") return ">";
    if (sign == "<=") return ">=";
    if (sign == ">") return "<";
    if (sign == ">=") return "<=";
    return sign;
}

/// "arg0 wraps after iteration 2,147,483,647": where an integer runs over its end.
std::string wrapText(const Side& moving, int64_t iteration)
{
    if (!isInteger(moving.dtype) || bitWidth(moving.dtype) > 32 || moving.step == 0) return "";
    const double limit = moving.step > 0 ? static_cast<double>(integerMax(moving.dtype)) : static_cast<double>(integerMin(moving.dtype));
    const double after = static_cast<double>(iteration) + std::floor((limit - moving.number) / moving.step);
    return " " + moving.name + " wraps after iteration " + countText(after) + ".";
}

/// What follows from a comparison between a number that moves and one that stays. Empty: nothing.
std::string verdict(Side moving, Side fixed, std::string sign, int64_t iteration)
{
    if (!moving.isNumber || !fixed.isNumber || !moving.hasStep || !fixed.hasStep) return "";
    if (moving.step == 0 && fixed.step != 0) {
        std::swap(moving, fixed);
        sign = mirrored(sign);
    }
    if (moving.step == 0 && fixed.step == 0) return "";
    if (fixed.step != 0) return "";
    const std::string type(dtypeName(fixed.dtype));
    if (!extremeText(fixed.dtype, fixed.number).empty()) {
        const bool isLargest = fixed.number > 0;
        if (sign == "<=" && isLargest)
            return "No " + type + " is greater than " + fixed.name + ": the loop cannot end." + wrapText(moving, iteration);
        if (sign == ">=" && !isLargest)
            return "No " + type + " is less than " + fixed.name + ": the loop cannot end." + wrapText(moving, iteration);
    }
    const double distance = fixed.number - moving.number, step = moving.step;
    double left = -1;
    if (sign == "<" && step > 0) left = std::ceil(distance / step);
    if (sign == "<=" && step > 0) left = std::floor(distance / step) + 1;
    if (sign == ">" && step < 0) left = std::ceil(distance / step);
    if (sign == ">=" && step < 0) left = std::floor(distance / step) + 1;
    if (sign == "!=") {
        const double trips = distance / step;
        if (trips >= 0 && trips == std::floor(trips)) left = trips;
        else if (isInteger(moving.dtype))
            return moving.name + " does not meet " + fixed.name + " any more: the loop goes on until it has wrapped." +
                   wrapText(moving, iteration);
        else return moving.name + " passes " + fixed.name + " without meeting it.";
    }
    if (sign == "==") return "It ends as soon as " + moving.name + " differs from " + fixed.name + ".";
    if (left >= 0)
        return "If " + moving.name + " goes on like this, the loop ends in " + countText(left) +
               (left == 1 ? " iteration, at @" : " iterations, at @") + std::to_string(iteration + static_cast<int64_t>(left)) + ".";
    return moving.name + " moves away from " + fixed.name + "." + wrapText(moving, iteration);
}

/// A line for each operand of the condition.
std::string trackText(const Track& track, const Value& value)
{
    if (!track.isScalar) return track.isInvariant ? "never changes" : "is no single number; now " + track.now;
    const std::string now = track.now + extremeText(value.type.dtype, track.number);
    if (track.isInvariant) return "never changes: " + now;
    bool same = true, linear = true;
    const double step = track.last.size() > 1 ? track.last[1] - track.last[0] : 0;
    for (size_t i = 1; i < track.last.size(); ++i) {
        same = same && track.last[i] == track.last[i - 1];
        linear = linear && track.last[i] - track.last[i - 1] == step;
    }
    if (track.last.size() < 2) return "now " + now;
    if (same) return "has not changed in the last " + std::to_string(track.last.size()) + " iterations: " + now;
    if (linear && track.last.size() > 2)
        return (step > 0 ? "grows by " : "falls by ") + countText(std::fabs(step)) + " each iteration; now " + now;
    const auto [low, high] = std::ranges::minmax_element(track.last);
    return "changes between " + countText(*low) + " and " + countText(*high) + " over the last " + std::to_string(track.last.size()) +
           " iterations; now " + now;
}

std::vector<Track> tracksOf(const Graph& cond, const Graph& body, const std::vector<ValueId>& leaves)
{
    std::vector<Track> tracks;
    for (const ValueId leaf : leaves) {
        const auto found = std::ranges::find(cond.inputs, leaf);
        if (found == cond.inputs.end()) continue;
        Track track;
        track.formal = leaf;
        track.position = static_cast<size_t>(found - cond.inputs.begin());
        track.isInvariant = track.position < body.outputs.size() && track.position < body.inputs.size() &&
                            body.outputs[track.position].value == body.inputs[track.position];
        tracks.push_back(std::move(track));
    }
    return tracks;
}

std::string shortValue(const Tensor& tensor)
{
    if (tensor.elementCount() == 1) return numberText(tensor, 0);
    const TensorStatistics s = computeStatistics(tensor);
    return "min " + realNumberText(s.min, 5) + ", max " + realNumberText(s.max, 5);
}

void addLeafLines(Explanation& answer, const Graph& cond, const std::vector<Track>& tracks)
{
    size_t width = 0;
    for (const Track& track : tracks) width = std::max(width, cond.value(track.formal).id.size());
    for (const Track& track : tracks) {
        std::string name = cond.value(track.formal).id;
        name.resize(width, ' ');
        answer.lines.push_back("  " + name + "  " + trackText(track, cond.value(track.formal)));
    }
}

} // namespace

Result<Explanation> explainLoop(const DebugTarget& target, int depth)
{
    const Executor& executor = target.executor;
    const Model& model = target.model;
    const int64_t now = target.timeline.tick();
    const FrameInfo frame = executor.frame(depth);
    const FrameInfo outside = executor.frame(depth - 1);
    const Operator& site = model.graph(outside.graph).op(frame.site);
    const LoopGraphs graphs = graphsOf(site);
    const Graph& cond = model.graph(graphs.cond);
    const Graph& body = model.graph(graphs.body);
    std::vector<ValueId> leaves;
    const ValueId verdictValue = cond.outputs.empty() ? ValueId() : cond.outputs[0].value;
    const std::string text = expressionText(cond, verdictValue, leaves);
    std::vector<Track> tracks = tracksOf(cond, body, leaves);

    Explanation answer;
    answer.lines.push_back(operatorLabel(site, frame.site.index) + " goes on while " + text);
    for (Track& track : tracks)
        if (const Tensor* const tensor = executor.value(depth, model.graph(frame.graph).inputs[track.position]))
            track.now = shortValue(*tensor);

    LoopWatch watch(target, depth, outside.invocation, frame.site, graphs, tracks);
    LS_TRY(const int64_t entry, findEntry(target, depth - 1, outside.invocation, frame.site, now));
    LS_CHECK_OK(scan(target, entry, now, watch.traps(), watch));
    LS_CHECK_OK(target.timeline.goTo(now, target.control));
    watch.arriveAt(executor.frame(depth));
    addLeafLines(answer, cond, tracks);

    std::string says;
    const ComparisonText comparison = comparisonOf(cond, verdictValue);
    if (!comparison.sign.empty())
        says = verdict(sideOf(cond, comparison.left, tracks), sideOf(cond, comparison.right, tracks), comparison.sign, frame.iteration);
    const bool allFixed = tracks.size() == leaves.size() && std::ranges::all_of(tracks, &Track::isInvariant);
    if (allFixed) says = "None of this changes: the loop cannot end.";
    if (!says.empty()) answer.lines.push_back(says);
    if (watch.repeated() >= 0)
        answer.lines.push_back("state of iteration " + groupThousands(watch.repeated()) + " = state of iteration " +
                               groupThousands(watch.repeats()) + ": the loop repeats itself and cannot end.");
    for (const Wrap& wrap : watch.wraps())
        answer.lines.push_back("also: " + wrap.value + " wrapped first at @" + std::to_string(wrap.iteration) + " (" + wrap.text + ")");
    return answer;
}

namespace {

/// Hears what a v1 frame's condition reads, in the iterations of one instance of the frame.
class FrameWatch final : public TrapHandler {
public:
    FrameWatch(const DebugTarget& target, GraphId graph, int depth, std::vector<Track>& tracks)
        : m_executor(target.executor),
          m_graph(target.model.graph(graph)),
          m_depth(depth),
          m_site(m_executor.frame(depth).site),
          m_caller(m_executor.frame(depth - 1).invocation),
          m_tracks(tracks)
    {
        for (const Track& track : tracks)
            if (!track.isInvariant) m_traps.add(graph, m_graph.value(track.formal).producer, trapAfter);
    }
    const TrapSet& traps() const { return m_traps; }
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (event.state != EventState::live || m_executor.position().depth != m_depth + 1) return false;
        if (m_executor.frame(m_depth).site != m_site || m_executor.frame(m_depth - 1).invocation != m_caller) return false;
        for (Track& track : m_tracks) {
            const Value& value = m_graph.value(track.formal);
            const auto slot = static_cast<size_t>(value.slot);
            if (value.producer != event.op || slot >= event.results.size()) continue;
            const Tensor& result = *event.results[slot];
            track.isScalar = result.elementCount() == 1;
            track.now = shortValue(result); // it may be gone where the question is asked
            if (!track.isScalar) continue;
            track.number = elementAsReal(result, 0);
            track.last.push_back(track.number);
            if (track.last.size() > kLastIterations) track.last.pop_front();
        }
        return false;
    }

private:
    const Executor& m_executor;
    const Graph& m_graph;
    const int m_depth;
    const OperatorId m_site;
    const InvocationId m_caller;
    std::vector<Track>& m_tracks;
    TrapSet m_traps;
};

} // namespace

Result<Explanation> explainFrame(const DebugTarget& target, int depth)
{
    const Executor& executor = target.executor;
    const int64_t now = target.timeline.tick();
    const FrameInfo stop = executor.frame(depth);
    const Graph& graph = target.model.graph(stop.graph);
    const FrameAnalysis analysis = analyzeFrames(graph);
    const auto frame =
        std::ranges::find_if(analysis.frames, [&](const auto& f) { return std::ranges::find(f.enters, stop.site) != f.enters.end(); });
    if (frame == analysis.frames.end() || !frame->isLoop() || graph.op(frame->condition).inputs.empty())
        return Error(ErrorCode::usage, "the frame is no loop: it has no LoopCond").at(toString(frameAddress(executor, depth)));
    const ValueId verdictValue = graph.op(frame->condition).inputs[0];
    std::vector<ValueId> leaves;
    Explanation answer;
    answer.lines.push_back(frame->name + " goes on while " + expressionText(graph, verdictValue, leaves));
    std::vector<Track> tracks;
    for (const ValueId leaf : leaves) {
        Track track;
        track.formal = leaf;
        const Value& value = graph.value(leaf);
        track.isInvariant = value.role != ValueRole::result || graph.op(value.producer).kind.name == "Enter";
        if (const Tensor* const tensor = executor.value(depth, leaf)) {
            track.now = shortValue(*tensor);
            track.isScalar = tensor->elementCount() == 1;
            if (track.isScalar) track.number = elementAsReal(*tensor, 0);
            if (track.isScalar && track.isInvariant) track.last.push_back(track.number);
        }
        tracks.push_back(std::move(track));
    }
    FrameWatch watch(target, stop.graph, depth, tracks);
    LS_CHECK_OK(scan(target, 0, now, watch.traps(), watch));
    LS_CHECK_OK(target.timeline.goTo(now, target.control));
    addLeafLines(answer, graph, tracks);
    const ComparisonText comparison = comparisonOf(graph, verdictValue);
    std::string says;
    if (!comparison.sign.empty())
        says = verdict(sideOf(graph, comparison.left, tracks), sideOf(graph, comparison.right, tracks), comparison.sign, stop.iteration);
    if (std::ranges::all_of(tracks, &Track::isInvariant)) says = "None of this changes: the loop cannot end.";
    if (!says.empty()) answer.lines.push_back(says);
    return answer;
}

Result<Explanation> explainLoopEnd(const DebugTarget& target, const CallPath& outside, OperatorId site)
{
    const Model& model = target.model;
    const Operator& op = model.graph(outside.graph()).op(site);
    const Graph& cond = model.graph(graphsOf(op).cond);
    WriteQuery query;
    query.path = outside;
    query.ops = {site};
    LS_TRY(const std::optional<WriteHit> hit, findLast(target, query, target.timeline.tick()));
    const std::string label = operatorLabel(op, site.index);
    if (!hit) return Error(ErrorCode::usage, "the loop has not run to its end yet").at(label);
    LS_CHECK_OK(target.timeline.goTo(hit->after - 1, target.control));
    const Executor& executor = target.executor;
    const int depth = outside.depth() + 1;
    Explanation answer;
    if (executor.position().depth <= depth || !executor.frame(depth).inCond) {
        answer.lines.push_back(label + " ended");
        return answer;
    }
    std::vector<ValueId> leaves;
    const std::string text = expressionText(cond, cond.outputs[0].value, leaves);
    const int64_t trips = executor.frame(depth).iteration;
    answer.lines.push_back(label + " ended after " + groupThousands(trips) + (trips == 1 ? " iteration" : " iterations") + ": " + text +
                           " was false");
    for (const ValueId leaf : leaves)
        if (const Tensor* const tensor = executor.value(depth, leaf))
            answer.lines.push_back("  " + cond.value(leaf).id + "  " + shortValue(*tensor));
    return answer;
}

} // namespace loopscope
