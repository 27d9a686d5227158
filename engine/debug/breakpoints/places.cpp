#include "engine/debug/breakpoints/places.h"

#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/ir/frames.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

namespace {

OperatorName nameOf(const Operator& op, int64_t index)
{
    OperatorName name;
    if (!op.name.empty()) {
        name.name = op.name;
    } else {
        name.kind = op.kind.dialect == "custom" ? "custom" : op.kind.name;
        name.index = index;
    }
    return name;
}

/// Whether a pattern's name fits an operator, whatever leads there.
bool fits(const Address& pattern, const OperatorName& op)
{
    Address wanted;
    wanted.target = TargetKind::op;
    wanted.op = pattern.op;
    Address concrete;
    concrete.target = TargetKind::op;
    concrete.op = op;
    return AddressPattern(wanted).matches(concrete);
}

bool siteFits(const AddressStep& step, const OperatorName& op)
{
    Address wanted;
    wanted.target = TargetKind::op;
    wanted.op = step.site;
    Address concrete;
    concrete.target = TargetKind::op;
    concrete.op = op;
    return AddressPattern(wanted).matches(concrete);
}

/// An Enter of the v1 frame that the step names.
bool entersFrame(const AddressStep& step, const Operator& op)
{
    OperatorName frame;
    frame.name = attributeString(op.attributes, "frame_name", "");
    return !frame.name.empty() && siteFits(step, frame);
}

std::pair<StepRole, int32_t> roleOf(const std::string& callee)
{
    if (callee == "cond") return {StepRole::cond, -1};
    if (callee == "body") return {StepRole::body, -1};
    if (callee == "then") return {StepRole::thenBranch, -1};
    if (callee == "else") return {StepRole::elseBranch, -1};
    if (callee == "init") return {StepRole::init, -1};
    if (callee.starts_with("branch")) return {StepRole::branch, static_cast<int32_t>(std::strtol(callee.c_str() + 6, nullptr, 10))};
    if (callee.starts_with("region")) return {StepRole::region, -1};
    return {StepRole::call, -1};
}

/// How a short form begins. Names of nodes may hold slashes, so that only the model says what is meant.
struct FirstPart {
    std::string_view text; ///< up to a slash, an iteration or a role: the name of a graph, or the whole of one without slashes
    OperatorName name;     ///< up to an iteration or a role
    bool isFrame = false;  ///< it may be a frame of TensorFlow 1
};

FirstPart firstPart(std::string_view text)
{
    FirstPart part;
    part.text = text.substr(0, text.find_first_of("/@:"));
    Result<Address> tail = parsePatternTail(text);
    if (!tail.ok()) tail = parsePatternTail(part.text); // what is wrong behind it is said later
    if (!tail.ok()) return part;
    part.isFrame = !tail->steps.empty() && tail->steps[0].role == StepRole::frame;
    part.name = std::move(tail->steps.empty() ? tail->op : tail->steps[0].site);
    return part;
}

/// Whether a short form begins with something of this graph.
bool isOf(const Graph& graph, const FirstPart& part)
{
    const OperatorName& name = part.name;
    const bool isNamed = name.index < 0 && !name.anyIndex;
    const bool hasStar = (isNamed ? name.name : name.kind).find(kWildcard) != std::string::npos;
    if (part.text == "*" || name.anyIndex || (!isNamed && (hasStar || name.kind.empty()))) return true;
    if (isNamed && name.name.empty()) return false;
    AddressStep typed;
    typed.site = name;
    if (part.isFrame && std::ranges::any_of(graph.operators, [&](const Operator& op) { return entersFrame(typed, op); })) return true;
    if (isNamed && !hasStar)
        return graph.findValue(name.name).valid() ||
               std::ranges::find(graph.operators, name.name, &Operator::name) != graph.operators.end();
    if (hasStar && name.name.find('/') == std::string::npos) return false; // graphs
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const auto index = static_cast<int64_t>(o);
        if (hasStar ? siteFits(typed, nameOf(graph.operators[o], index)) : addressSite(graph.operators[o], index) == labelText(name))
            return true;
    }
    return false;
}

/// Whether the text is the name of a node that runs in a frame of a v1 graph: then it means the node in every iteration.
bool isInFrame(const Graph& graph, std::string_view text)
{
    const auto node = std::ranges::find(graph.operators, text, &Operator::name);
    if (text.empty() || node == graph.operators.end() || !hasFramesOrSwitches(graph)) return false;
    return analyzeFrames(graph).frameOf[static_cast<size_t>(node - graph.operators.begin())] > 0;
}

Error unknownPart(const Model& model, const Graph& graph, const FirstPart& part)
{
    const std::string typed = part.name.name.find('/') == std::string::npos ? std::string(part.text) : labelText(part.name);
    const std::string anywhere = ".../" + typed;
    std::vector<std::string> names = namesIn(graph);
    for (const Graph& other : model.graphs) {
        names.push_back(other.id);
        if (isOf(other, part)) names.push_back(anywhere);
    }
    Error error(ErrorCode::usage, "no operator or value '" + typed + "' in " + graph.id);
    if (std::ranges::find(names, anywhere) != names.end()) return std::move(error).nearest({anywhere}); // just so, but in another graph
    std::vector<std::string> near = nearestNames(typed, names);
    if (near.empty()) near = nearestNames(part.text, names); // of a graph, it may be
    if (near.empty()) {
        std::vector<std::string> elsewhere;
        for (const Graph& other : model.graphs)
            for (const Operator& op : other.operators)
                if (!op.name.empty()) elsewhere.push_back(op.name);
        near = nearestNames(typed, elsewhere);
        for (std::string& name : near) name = ".../" + escapeAddressName(name, true);
    }
    return std::move(error).nearest(std::move(near));
}

/// A short form as a pattern from the root; iterations of the present path do not count.
Result<std::string> fromRoot(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    const int frames = target.executor.position().depth;
    int depth = frame.depth < 0 || frame.depth >= frames ? frames - 1 : frame.depth;
    Address here;
    here.root = target.model.graph(target.executor.root()).id;
    if (frames > 0) here = frameAddress(target.executor, depth);
    here = withoutIterations(std::move(here));
    const GraphId graphId = frames > 0 ? target.executor.frame(depth).graph : target.executor.root();
    const Graph& graph = target.model.graph(graphId);

    if (text.starts_with("...") || text.starts_with("sig:")) return std::string(text);
    if (isInFrame(graph, text)) return ".../" + std::string(text);
    if (text.starts_with("./")) return toString(here) + "/" + std::string(text.substr(2));
    if (text.starts_with("../")) {
        while (text.starts_with("../")) {
            text.remove_prefix(3);
            if (here.steps.empty()) return Error(ErrorCode::usage, "there is no frame outside of the root");
            here.steps.pop_back();
        }
        return toString(here) + "/" + std::string(text);
    }
    if (const ValueId value = target.model.findValue(graphId, text); value.valid())
        return toString(here) + "/" + escapeAddressName(graph.value(value).id, true);
    const FirstPart part = firstPart(text);
    const bool isGraph = target.model.findGraph(part.text).valid();
    const bool isOfGraphs = isGraph && text.find('*') != std::string_view::npos; // `main/*`, whatever nodes are named
    if (!isOfGraphs && isOf(graph, part)) return toString(here) + "/" + std::string(text);
    if (isGraph || part.text.find('*') != std::string_view::npos) return std::string(text);
    // What this graph lacks is the nearest caller's, else that of the only graph that has it.
    for (int outer = depth - 1; outer >= 0; --outer) {
        if (!isOf(target.model.graph(target.executor.frame(outer).graph), part)) continue;
        Address caller = frameAddress(target.executor, outer);
        for (AddressStep& step : caller.steps) step.iteration = -1;
        return toString(caller) + "/" + std::string(text);
    }
    const auto have = std::ranges::count_if(target.model.graphs, [&](const Graph& other) { return isOf(other, part); });
    if (have == 1) return ".../" + std::string(text);
    return unknownPart(target.model, graph, part);
}

/// Adds what one reading of the pattern's target means in the graphs that its steps lead to.
void addTargets(const Model& model, const Address& pattern, const std::vector<GraphId>& graphs, Places& places)
{
    const auto isKnown = [&](GraphId g, OperatorId op, int32_t slot) {
        return std::ranges::any_of(places.operators,
                                   [&](const PlacedOperator& known) { return known.graph == g && known.op == op && known.slot == slot; });
    };
    const bool all = pattern.target == TargetKind::invocation && !pattern.steps.empty() && pattern.steps.back().anySteps;
    places.isInvocation = pattern.target == TargetKind::invocation && !all;
    places.isFrame = places.isInvocation && !pattern.steps.empty() && pattern.steps.back().role == StepRole::frame;
    places.isEverything = all || (pattern.target == TargetKind::value && pattern.op.name.size() == 1 && pattern.op.name[0] == kWildcard);
    for (const GraphId g : graphs) {
        const Graph& graph = model.graph(g);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const OperatorId op(static_cast<int64_t>(o));
            if (places.isFrame) {
                places.operators.push_back({g, op, -1});
                continue;
            }
            if (places.isInvocation ? o > 0 : !all && !fits(pattern, nameOf(graph.operators[o], op.index))) continue;
            const int32_t slot = pattern.target == TargetKind::output ? pattern.slot : -1;
            if (slot >= static_cast<int32_t>(graph.operators[o].results.size())) continue;
            if (!isKnown(g, op, slot)) places.operators.push_back({g, op, slot});
        }
        if (pattern.target != TargetKind::value) continue;
        const ValueId value = graph.findValue(pattern.op.name);
        if (!value.valid()) continue;
        const ValueRole role = graph.value(value).role;
        if (role == ValueRole::input || role == ValueRole::variable) places.values.push_back({g, value});
    }
}

/// `"full name"`: the values of all graphs that the file calls so.
Result<Places> resolveNamed(const DebugTarget& target, std::string_view text)
{
    Places places;
    places.text = text;
    const std::string_view name = text.substr(1, text.size() - 2);
    std::vector<std::string> names;
    for (const GraphId g : PathFilter().graphs(target.model, target.executor.root())) {
        const Graph& graph = target.model.graph(g);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const Value& value = graph.values[v];
            names.push_back(value.displayName());
            if (value.displayName() != name) continue;
            if (value.role == ValueRole::result) places.operators.push_back({g, value.producer, value.slot});
            else if (value.role != ValueRole::constant) places.values.push_back({g, ValueId(static_cast<int64_t>(v))});
        }
    }
    if (!places.operators.empty() || !places.values.empty()) return places;
    return Error(ErrorCode::usage, "no value that is written is named " + std::string(text)).nearest(nearestNames(name, names));
}

} // namespace

PathFilter::PathFilter(const Model& model, const std::vector<AddressStep>& steps) : m_hasAny(false)
{
    for (const AddressStep& written : steps) {
        Step& step = m_steps.emplace_back();
        step.any = written.anySteps;
        m_hasAny = m_hasAny || step.any;
        if (step.any) continue;
        step.role = written.role;
        step.branch = written.branch;
        step.iteration = written.iteration;
        step.iterations = written.iterations;
        for (const Graph& graph : model.graphs) {
            std::vector<bool>& sites = step.sites.emplace_back();
            for (size_t o = 0; o < graph.operators.size(); ++o)
                sites.push_back(written.role == StepRole::frame ? entersFrame(written, graph.operators[o])
                                                                : siteFits(written, nameOf(graph.operators[o], static_cast<int64_t>(o))));
        }
    }
    m_isOpen = m_steps.size() == 1 && m_steps[0].any;
}

int64_t PathFilter::onlyIteration() const { return m_steps.empty() || m_steps.back().any ? -1 : m_steps.back().iteration; }

bool PathFilter::matchesFrame(const Step& step, const FrameInfo& frame, GraphId caller) const
{
    if (step.role != stepRole(frame.role, frame.inCond) || (step.branch >= 0 && step.branch != frame.branch)) return false;
    if (step.iteration >= 0 && step.iteration != frame.iteration) return false;
    if (step.iterations && !step.iterations->contains(frame.iteration)) return false;
    return step.sites[static_cast<size_t>(caller.index)][static_cast<size_t>(frame.site.index)];
}

bool PathFilter::matches(const Executor& executor, int frames) const
{
    if (m_isOpen) return true;
    const int calls = frames - 1;
    if (!m_hasAny) {
        if (static_cast<size_t>(calls) != m_steps.size()) return false;
        if (calls == 0) return true;
        FrameInfo frame = executor.frame(calls); // the innermost differs soonest
        for (int d = calls; d > 0; --d) {
            const Step& step = m_steps[static_cast<size_t>(d) - 1];
            if (step.iteration >= 0 && step.iteration != frame.iteration) return false;
            const FrameInfo caller = executor.frame(d - 1);
            if (!matchesFrame(step, frame, caller.graph)) return false;
            frame = caller;
        }
        return true;
    }
    // As for names with stars: `...` takes as few calls as it can, and one more whenever the rest does not fit.
    size_t p = 0;
    int c = 0;
    size_t any = m_steps.size();
    int anyCall = 0;
    while (c < calls) {
        if (p < m_steps.size() && m_steps[p].any) {
            any = p++;
            anyCall = c;
        } else if (p < m_steps.size() && matchesFrame(m_steps[p], executor.frame(c + 1), executor.frame(c).graph)) {
            ++p;
            ++c;
        } else if (any < m_steps.size()) {
            p = any + 1;
            c = ++anyCall;
        } else {
            return false;
        }
    }
    while (p < m_steps.size() && m_steps[p].any) ++p;
    return p == m_steps.size();
}

std::vector<GraphId> PathFilter::graphs(const Model& model, GraphId root) const
{
    // A walk over (graph, steps that are behind it).
    std::vector<std::pair<GraphId, size_t>> todo;
    std::vector<std::vector<bool>> seen(model.graphs.size(), std::vector<bool>(m_steps.size() + 2, false));
    std::vector<bool> reached(model.graphs.size(), false);
    const auto visit = [&](GraphId graph, size_t step) {
        for (;;) {
            const auto g = static_cast<size_t>(graph.index);
            if (seen[g][step]) return;
            seen[g][step] = true;
            todo.emplace_back(graph, step);
            if (step == m_steps.size()) reached[g] = true;
            if (step >= m_steps.size() || !m_steps[step].any) return;
            ++step; // `...` may stand for no call
        }
    };
    visit(root, 0);
    while (!todo.empty()) {
        const auto [graph, at] = todo.back();
        todo.pop_back();
        const auto& operators = model.graph(graph).operators;
        const bool isFrame = at < m_steps.size() && m_steps[at].role == StepRole::frame;
        if (isFrame && std::ranges::find(m_steps[at].sites[static_cast<size_t>(graph.index)], true) !=
                           m_steps[at].sites[static_cast<size_t>(graph.index)].end())
            visit(graph, at + 1); // a frame lies in the same graph
        for (size_t o = 0; o < operators.size(); ++o)
            for (const Callee& callee : callForm(operators[o]).callees) {
                if (!model.hasGraph(callee.graph)) continue;
                if (m_steps.empty() && m_isOpen) {
                    visit(callee.graph, 0);
                    continue;
                }
                if (at >= m_steps.size()) continue;
                const Step& step = m_steps[at];
                const auto [role, branch] = roleOf(callee.role);
                if (step.any) visit(callee.graph, at);
                else if (step.role == role && (step.branch < 0 || step.branch == branch) && step.sites[static_cast<size_t>(graph.index)][o])
                    visit(callee.graph, at + 1);
            }
    }
    std::vector<GraphId> result;
    for (size_t g = 0; g < reached.size(); ++g)
        if (reached[g]) result.push_back(GraphId(static_cast<int64_t>(g)));
    return result;
}

std::vector<std::string> namesIn(const Graph& graph)
{
    std::vector<std::string> names;
    for (const Value& value : graph.values) names.push_back(value.id);
    for (size_t o = 0; o < graph.operators.size(); ++o) names.push_back(addressSite(graph.operators[o], static_cast<int64_t>(o)));
    return names;
}

Places allPlaces(const DebugTarget& target)
{
    Places places;
    places.isEverything = true;
    for (const GraphId g : places.path.graphs(target.model, target.executor.root()))
        for (size_t o = 0; o < target.model.graph(g).operators.size(); ++o)
            places.operators.push_back({g, OperatorId(static_cast<int64_t>(o)), -1});
    return places;
}

Result<Places> resolvePlaces(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return resolveNamed(target, text);
    LS_TRY(const std::string whole, fromRoot(target, frame, text));
    LS_TRY(const std::vector<AddressPattern> patterns, resolvePattern(target.model, whole));
    Places places;
    const Address& first = patterns.front().pattern();
    for (const AddressStep& step : first.steps)
        if (step.iterations && step.iterations->usesLast())
            return Error(ErrorCode::usage, "which iteration is the last is known only afterwards; use break iter LOOP last").at(text);
    Address written = first;
    if (first.target == TargetKind::output && !first.op.name.empty() && !whole.ends_with(":" + std::to_string(first.slot))) {
        written.target = TargetKind::op; // the name of a node, which is that of its first output, too
        written.slot = -1;
    }
    places.text = toString(written);
    places.path = PathFilter(target.model, first.steps);
    const std::string& root = target.model.graph(target.executor.root()).id;
    const bool isRoot = first.root.empty() || first.root == root || first.root.find(kWildcard) != std::string::npos;
    if (!isRoot) {
        Error error(ErrorCode::usage, "the run begins in another graph than " + first.root);
        if (places.isInvocation || target.model.findGraph(text).valid()) return std::move(error).at(text).nearest({"graph " + first.root});
        return std::move(error).at(text).nearest({root});
    }
    const std::vector<GraphId> graphs = places.path.graphs(target.model, target.executor.root());
    if (patterns.size() > 1) places.text = whole;
    for (const AddressPattern& pattern : patterns) addTargets(target.model, pattern.pattern(), graphs, places);
    if (!places.operators.empty() || !places.values.empty()) return places;
    std::vector<std::string> names;
    for (const GraphId g : graphs)
        for (std::string& name : namesIn(target.model.graph(g))) names.push_back(std::move(name));
    if (graphs.empty()) return Error(ErrorCode::usage, "no call of this model fits").at(text);
    const bool isConstant = first.target == TargetKind::value && std::ranges::any_of(graphs, [&](GraphId g) {
                                const ValueId value = target.model.graph(g).findValue(first.op.name);
                                return value.valid() && target.model.graph(g).value(value).role == ValueRole::constant;
                            });
    if (isConstant) return Error(ErrorCode::usage, "is a constant: nothing writes it").at(text);
    if (places.isInvocation) return Error(ErrorCode::usage, "has no operators to stop at").at(text);
    return Error(ErrorCode::usage, "no operator that runs there fits").at(text).nearest(nearestNames(labelText(first.op), names));
}

Result<Places> resolveLoop(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    const auto isLoop = [&](const PlacedOperator& placed) {
        return callForm(target.model.graph(placed.graph).op(placed.op)).kind == CallKind::loop;
    };
    const auto areLoops = [&](const Result<Places>& found) {
        return found.ok() && !found->isInvocation && !found->operators.empty() && std::ranges::all_of(found->operators, isLoop);
    };
    Result<Places> found = resolvePlaces(target, frame, text);
    // The loop that runs around here is the caller's operator: the nearest frame outside that has one of that name.
    const int frames = target.executor.position().depth;
    for (int depth = frame.depth < 0 || frame.depth >= frames ? frames - 2 : frame.depth - 1; !areLoops(found) && depth >= 0; --depth) {
        Result<Places> outside = resolvePlaces(target, FrameContext{depth}, text);
        if (outside.ok() && (!found.ok() || areLoops(outside))) found = std::move(outside);
    }
    if (areLoops(found) || !found.ok()) return found;
    std::vector<std::string> loops;
    for (const PlacedOperator& placed : allPlaces(target).operators)
        if (isLoop(placed)) loops.push_back(addressSite(target.model.graph(placed.graph).op(placed.op), placed.op.index));
    return Error(ErrorCode::usage, "'" + std::string(text) + "' is no loop").nearest(nearestNames(text, loops));
}

} // namespace loopscope
