#include "engine/debug/prove/run_follower.h"

#include "engine/exec/executor.h"
#include "engine/ir/frames.h"
#include "engine/observe/address_names.h"
#include "engine/ops/catalog.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace loopscope {

namespace {

/// Mixes what makes a place into what made the place around it.
uint64_t mixed(uint64_t chain, uint64_t part)
{
    uint64_t x = chain + 0x9e3779b97f4a7c15ULL + part * 0xd6e8feb86659fd93ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

constexpr uint64_t kChoice = 0x6272616e6368ULL; ///< apart from iterations of the same place

bool countsIterations(const InvocationStart& start) { return start.role == CallRole::loop || start.role == CallRole::frame; }

/// How many products one element of the result is the sum of; 1: of no product with a matrix or filter.
double depthOf(const Graph& graph, const Operator& op, const OpDef& def)
{
    if (def.macs == nullptr || op.inputs.size() < 2 || !op.inputs[1].valid() || op.results.empty() || !op.results[0].valid()) return 1;
    const Shape &weights = graph.value(op.inputs[1]).type.shape, &result = graph.value(op.results[0]).type.shape;
    if (!weights.isStatic() || !result.hasRank() || result.rank() == 0 || result.back() < 1) return 1;
    return std::max(1.0, static_cast<double>(weights.elementCount()) / static_cast<double>(result.back()));
}

/// What an operator adds to the roundings on the way: its own, and what its kernels may add to it. Those of a sum grow as the root of its
/// length: they go either way.
double roundingsOf(const Graph& graph, const Operator& op)
{
    const bool isFloat = std::ranges::any_of(op.results, [&](ValueId result) {
        const DType dtype = result.valid() ? graph.value(result).type.dtype : DType::unknown;
        return loopscope::isFloat(dtype) || dtypeClass(dtype) == DTypeClass::complex || dtype == DType::unknown;
    });
    if (!isFloat) return 0;
    const OpDef* const def = findOp(op.kind);
    const double ulp = std::numeric_limits<float>::epsilon();
    double own = 1;
    if (def) {
        own = std::sqrt(depthOf(graph, op, *def));
        const ErrorBound bound = def->floatBound.of(DType::f32);
        own += 2 * (static_cast<double>(bound.ulp) + std::max(bound.relative, bound.ofLargest) / ulp);
    }
    return own;
}

/// All but results of calls, and what hands them on, that nothing but calls reads: pruning lets callees give anything for what
/// nobody needs.
std::vector<char> valuesCompared(const Graph& graph)
{
    std::vector<char> compared(graph.values.size(), 1);
    const auto handsOn = [](const Operator& op) { return op.kind.name == "IdentityN" || op.kind.name == "Identity"; };
    const auto mark = [&](ValueId value, char to) {
        if (value.valid()) compared[static_cast<size_t>(value.index)] = to;
    };
    for (const Operator& op : graph.operators)
        if (handsOn(op) || !calleesOf(op).empty())
            for (const ValueId result : op.results) mark(result, 0);
    for (const Operator& op : graph.operators)
        if (!handsOn(op) && calleesOf(op).empty())
            for (const ValueId input : op.inputs) mark(input, 1);
    for (const GraphOutput& output : graph.outputs) mark(output.value, 1);
    for (bool isChanged = true; isChanged;) {
        isChanged = false;
        for (auto op = graph.operators.rbegin(); op != graph.operators.rend(); ++op)
            for (size_t k = 0; handsOn(*op) && k < op->results.size() && k < op->inputs.size(); ++k)
                if (op->results[k].valid() && op->inputs[k].valid() && compared[static_cast<size_t>(op->results[k].index)] != 0 &&
                    compared[static_cast<size_t>(op->inputs[k].index)] == 0) {
                    mark(op->inputs[k], 1);
                    isChanged = true;
                }
    }
    return compared;
}

} // namespace

RunFollower::RunFollower(RunMap::Side side, const Executor& executor, const RunMap& map, ProofListener& listener)
    : m_side(side),
      m_model(executor.model()),
      m_map(map),
      m_listener(listener)
{
    for (const Graph& graph : m_model.graphs) {
        std::vector<Facts>& facts = m_facts.emplace_back();
        for (const Operator& op : graph.operators) facts.push_back({roundingsOf(graph, op), leavesFrame(op)});
    }
    std::vector<std::vector<char>> isRead(m_model.graphs.size()); // a call may give anything for what nobody reads
    for (const RunMap::Scope& scope : map.scopes(side)) {
        ScopeResults& own = m_results.emplace_back();
        if (!m_model.hasGraph(scope.graph)) continue;
        const Graph& graph = m_model.graph(scope.graph);
        std::vector<char>& read = isRead[static_cast<size_t>(scope.graph.index)];
        if (read.empty()) read = valuesCompared(graph);
        for (const Operator& op : graph.operators) {
            own.firsts.push_back(static_cast<uint32_t>(own.results.size()));
            for (size_t k = 0; k < op.results.size(); ++k) {
                const auto value = static_cast<size_t>(op.results[k].index);
                if (op.results[k].valid() && scope.keys[value] != 0 && read[value] != 0)
                    own.results.push_back({scope.keys[value], static_cast<int32_t>(k)});
            }
        }
        own.firsts.push_back(static_cast<uint32_t>(own.results.size()));
    }
}

uint64_t RunFollower::chainOf(uint64_t place, int64_t iteration) { return mixed(place, static_cast<uint64_t>(iteration)); }

const std::shared_ptr<ProofCall>& RunFollower::callOf(InvocationId id)
{
    if (id != m_last) {
        m_last = id;
        const auto found = std::find_if(m_calls.rbegin(), m_calls.rend(), [&](const auto& call) { return call->start.id == id; });
        m_lastCall = found == m_calls.rend() ? nullptr : *found;
    }
    return m_lastCall;
}

std::shared_ptr<ProofCall> RunFollower::freshCall()
{
    if (!m_spares.empty() && m_spares.front().use_count() > 1) { // something still lies in it: the next time round
        m_spares.push_back(std::move(m_spares.front()));
        m_spares.pop_front();
    }
    if (m_spares.empty() || m_spares.front().use_count() > 1) return std::make_shared<ProofCall>();
    std::shared_ptr<ProofCall> call = std::move(m_spares.front());
    m_spares.pop_front();
    call->reset();
    return call;
}

void RunFollower::invocationStarted(const InvocationStart& e)
{
    std::shared_ptr<ProofCall> call = freshCall();
    call->start = e;
    if (e.parent.number != 0) call->parent = callOf(e.parent);
    if (call->parent) enter(*call);
    else call->body = &m_map.scopes(m_side).front();
    m_last = e.id;
    m_lastCall = call;
    m_calls.push_back(std::move(call));
}

void RunFollower::enter(ProofCall& call)
{
    const InvocationStart& start = call.start;
    ProofCall& outer = *call.parent;
    call.parentInCond = outer.start.cond.valid() && start.callerGraph == outer.start.cond;
    const RunMap::Scope* const scope = outer.scopeOf(start.callerGraph);
    const auto find = [&](GraphId graph) -> const RunMap::Call* {
        if (!scope || !graph.valid()) return nullptr;
        const auto found = scope->calls.find({start.site, graph});
        return found == scope->calls.end() || found->second.scope < 0 ? nullptr : &found->second;
    };
    ProofCall::Entered& entered = outer.entered;
    if (entered.site != start.site || entered.caller != start.callerGraph || entered.graph != start.graph || entered.cond != start.cond)
        entered = {start.site, start.callerGraph, start.graph, start.cond, find(start.graph), find(start.cond)};
    const RunMap::Call *const body = entered.body, *const cond = entered.inCond;
    const RunMap::Call* const any = body ? body : cond;
    call.pairs = outer.pairs && any;
    call.chain = outer.chain;
    if (!any) {
        call.chain = mixed(call.chain, static_cast<uint64_t>(start.id.number));
        return;
    }
    const std::vector<RunMap::Scope>& scopes = m_map.scopes(m_side);
    if (body) call.body = &scopes[static_cast<size_t>(body->scope)];
    if (cond) call.cond = &scopes[static_cast<size_t>(cond->scope)];
    if (any->mark == 0) return;
    const uint64_t place = mixed(outer.chain, any->mark);
    call.chain = countsIterations(start) ? chainOf(place, start.iteration) : place;
    if (!call.pairs) return;
    if (countsIterations(start)) {
        call.place = place;
        const auto known = std::ranges::find(outer.loops, any->mark, &ProofCall::Loop::mark);
        // The last iteration of a loop with a condition, and of a frame, is the one in which the condition says no.
        const int64_t trips = start.iteration + (start.role == CallRole::loop && !start.cond.valid() ? 1 : 0);
        if (known == outer.loops.end()) outer.loops.push_back({any->mark, start.callerGraph, start.site, start.role, trips});
        else known->trips = std::max(known->trips, trips);
        m_listener.iterates(m_side, place, trips, call);
        return;
    }
    if (start.role == CallRole::call || start.role == CallRole::init || start.role == CallRole::region) return;
    const int64_t taken = start.role == CallRole::thenBranch ? 0 : start.role == CallRole::elseBranch ? 1 : start.branch;
    m_listener.chose(m_side, {false, mixed(place, kChoice), taken, call.parent, call.parentInCond, start.callerGraph, start.site,
                              CallRole::call, start.step});
}

void RunFollower::tellLoops(const std::shared_ptr<ProofCall>& call, Step step)
{
    for (const ProofCall::Loop& loop : call->loops) {
        const bool inCond = call->start.cond.valid() && loop.graph == call->start.cond;
        m_listener.chose(m_side, {true, mixed(call->chain, loop.mark), loop.trips, call, inCond, loop.graph, loop.site, loop.role, step});
    }
    call->loops.clear();
}

void RunFollower::invocationEnded(const InvocationEnd& e)
{
    const auto found = std::find_if(m_calls.rbegin(), m_calls.rend(), [&](const auto& call) { return call->start.id == e.id; });
    if (found == m_calls.rend()) return;
    tellLoops(*found, e.step);
    if (m_spares.size() < kMostSpares) m_spares.push_back(std::move(*found));
    m_calls.erase(std::next(found).base());
    if (m_last == e.id) {
        m_last = -1;
        m_lastCall = nullptr;
    }
}

void RunFollower::finish()
{
    for (const std::shared_ptr<ProofCall>& call : m_calls) tellLoops(call, -1);
    m_calls.clear();
    m_last = -1;
    m_lastCall = nullptr;
}

void RunFollower::operatorExecuted(const OperatorEvent& e)
{
    const Facts& facts = m_facts[static_cast<size_t>(e.graph.index)][static_cast<size_t>(e.op.index)];
    m_roundings += facts.roundings;
    if (e.results.empty()) return;
    const std::shared_ptr<ProofCall>& call = callOf(e.invocation);
    if (!call || !call->pairs) return;
    const RunMap::Scope* const scope = call->scopeOf(e.graph);
    if (!scope) return;
    const ScopeResults& own = m_results[static_cast<size_t>(scope - m_map.scopes(m_side).data())];
    const auto op = static_cast<size_t>(e.op.index);
    if (op + 1 >= own.firsts.size()) return;
    for (uint32_t i = own.firsts[op]; i < own.firsts[op + 1]; ++i) {
        const Compared result = own.results[i];
        const Tensor* const tensor =
            static_cast<size_t>(result.slot) < e.results.size() ? e.results[static_cast<size_t>(result.slot)] : nullptr;
        if (!tensor || !tensor->data) continue;
        const bool leaves = facts.leaves && call->start.role == CallRole::frame && call->parent;
        m_listener.wrote(m_side, {result.key, leaves ? call->parent->chain : call->chain, &call, e.graph, e.op, result.slot, e.step, tensor,
                                  m_roundings});
    }
}

void RunFollower::variableAccessed(const VariableAccess& e)
{
    if (e.kind == VariableAccess::Kind::write && e.value && e.value->data) m_listener.wroteVariable(m_side, e.name, *e.value);
}

void RunFollower::runEnded(const RunEnd& e) { m_end = e.reason; }

std::string RunFollower::addressOf(const ProofCall& call, GraphId graph, OperatorId op, int32_t slot) const
{
    return addressIn(call, call.start.cond.valid() && graph == call.start.cond, graph, op, slot, CallRole::call);
}

std::string RunFollower::addressOf(const ProofChoice& choice) const
{
    return addressIn(*choice.call, choice.inCond, choice.graph, choice.site, -1, choice.role);
}

std::string RunFollower::addressOfLoop(const ProofCall& iteration) const
{
    const InvocationStart& start = iteration.start;
    return addressIn(*iteration.parent, iteration.parentInCond, start.callerGraph, start.site, -1, start.role);
}

std::string RunFollower::addressIn(const ProofCall& call, bool inCond, GraphId graph, OperatorId op, int32_t slot, CallRole site) const
{
    Address address;
    for (const ProofCall* at = &call; at; at = at->parent.get()) {
        if (!at->parent) {
            address.root = m_model.graph(at->start.graph).id;
            break;
        }
        AddressStep step;
        const Operator& caller = m_model.graph(at->start.callerGraph).op(at->start.site);
        step.site = siteName(caller, at->start.site.index, at->start.role);
        step.role = stepRole(at->start.role, inCond);
        step.branch = at->start.branch;
        step.iteration = at->start.iteration;
        address.steps.push_back(std::move(step));
        inCond = at->parentInCond;
    }
    std::ranges::reverse(address.steps);
    address.target = slot >= 0 ? TargetKind::output : TargetKind::op;
    address.op = siteName(m_model.graph(graph).op(op), op.index, site);
    address.slot = slot;
    return toString(address);
}

} // namespace loopscope
