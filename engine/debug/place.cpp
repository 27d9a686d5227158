// Places against the frames of an executor: prefixes for short forms, and the order in which stops come.
#include "engine/debug/place.h"

#include "engine/base/text.h"
#include "engine/debug/host_call.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace loopscope {

namespace {

int depthOf(const Executor& executor, int depth) { return depth < 0 ? executor.position().depth - 1 : depth; }

Address rootAddress(const Executor& executor)
{
    Address address;
    address.root = executor.model().graph(executor.root()).id;
    return address;
}

bool isLoopRole(StepRole role) { return role == StepRole::cond || role == StepRole::body; }

/// Iterations that were not typed are those of the present path, as far as the place lies on it.
void fillIterations(Address& address, const Address& path)
{
    if (address.root != path.root) return;
    for (size_t i = 0; i < address.steps.size() && i < path.steps.size(); ++i) {
        AddressStep& step = address.steps[i];
        const AddressStep& here = path.steps[i];
        if (!(step.site == here.site)) return;
        const bool sameRole = step.role == here.role || (isLoopRole(step.role) && isLoopRole(here.role));
        if (!sameRole || step.branch != here.branch) return;
        if (step.iteration < 0) step.iteration = here.iteration;
        if (step.iteration != here.iteration) return;
    }
}

/// Reads one text against one frame.
class TypedReader {
public:
    TypedReader(const DebugTarget& target, int depth) : m_model(target.model), m_executor(target.executor), m_depth(depth) {}

    Result<TypedPlace> read(std::string_view text) const
    {
        while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        if (text.empty()) return Error(ErrorCode::usage, "an address is empty");
        if (text.front() == '"') return quoted(text);
        if (text.starts_with("sig:") || isOfARun(text)) return canonical(text);
        if (text.starts_with("call@")) {
            Result<TypedPlace> place = canonical(text);
            if (place.ok()) return place;
            Result<TypedPlace> loops = canonical(withoutHostCall(m_model, text));
            return loops.ok() ? std::move(loops) : std::move(place);
        }
        if (text == "." || text.starts_with("./")) return relative(m_depth, text.substr(std::min<size_t>(text.size(), 2)));
        if (text == ".." || text.starts_with("../")) {
            int depth = m_depth;
            while (text == ".." || text.starts_with("../")) {
                if (--depth < 0) return Error(ErrorCode::usage, "there is no frame outside the root").at(std::string(text));
                text.remove_prefix(std::min<size_t>(text.size(), 3));
            }
            return relative(depth, text);
        }
        Result<TypedPlace> here = relative(m_depth, text);
        Result<TypedPlace> absolute = canonical(text);
        if (here.ok()) {
            if (absolute.ok()) here->note = "'" + std::string(text) + "' is also a graph; read as " + toString(here->resolved.address);
            return here;
        }
        if (absolute.ok()) return absolute;
        // What this graph does not have is the nearest caller's: `while#0@4` or `x/next/If` inside the loop.
        if (text.front() != '#') {
            for (int depth = m_depth - 1; depth >= 0; --depth)
                if (Result<TypedPlace> outer = relative(depth, text); outer.ok()) return outer;
        }
        return namesARoot(text) ? std::move(absolute) : std::move(here);
    }

private:
    static bool isOfARun(std::string_view text)
    {
        const size_t digits = text.starts_with('r') ? text.find_first_not_of("0123456789", 1) : 0;
        return digits > 1 && digits != std::string_view::npos && text[digits] == ':';
    }

    bool namesARoot(std::string_view text) const
    {
        const size_t slash = text.find('/');
        return slash != std::string_view::npos && m_model.findGraph(text.substr(0, slash)).valid();
    }

    Result<TypedPlace> canonical(std::string_view text) const
    {
        LS_TRY(Address address, parseAddress(text));
        return resolved(std::move(address));
    }

    Result<TypedPlace> resolved(Address address) const
    {
        TypedPlace place;
        LS_TRY(place.resolved, resolveAddress(m_model, address));
        fillIterations(place.resolved.address, frameAddress(m_executor, -1));
        return place;
    }

    /// The addresses that a frame stands for: of a loop its cond and its body, that which runs first.
    std::vector<Address> bases(int depth) const
    {
        std::vector<Address> found = {frameAddress(m_executor, depth)};
        if (!found[0].steps.empty() && isLoopRole(found[0].steps.back().role)) {
            Address other = found[0];
            StepRole& role = other.steps.back().role;
            role = role == StepRole::cond ? StepRole::body : StepRole::cond;
            found.push_back(std::move(other));
        }
        return found;
    }

    Result<TypedPlace> relative(int depth, std::string_view rest) const
    {
        const std::vector<Address> frames = bases(depth);
        if (rest.empty()) return resolved(frames[0]);
        LS_TRY(const Address tail, parseAddressTail(rest));
        std::optional<Error> first;
        for (const Address& frame : frames) {
            Address address = tail;
            address.root = frame.root;
            address.steps.insert(address.steps.begin(), frame.steps.begin(), frame.steps.end());
            Result<TypedPlace> place = resolved(std::move(address));
            if (place.ok()) return place;
            if (!first) first = std::move(place).takeError();
        }
        return std::move(*first);
    }

    /// A value by the name that the file gives.
    Result<TypedPlace> quoted(std::string_view text) const
    {
        if (text.size() < 2 || text.back() != '"') return Error(ErrorCode::usage, "the quote is not closed").at(std::string(text));
        const std::string_view name = text.substr(1, text.size() - 2);
        std::vector<std::string> names;
        for (const Address& frame : bases(m_depth)) {
            LS_TRY(const ResolvedAddress invocation, resolveAddress(m_model, frame));
            for (const Value& value : m_model.graph(invocation.graph).values) {
                names.push_back(value.displayName());
                if (value.displayName() != name) continue;
                Address address = frame;
                address.target = TargetKind::value;
                address.op.name = value.id;
                return resolved(std::move(address));
            }
        }
        return Error(ErrorCode::usage, "no value with the name " + std::string(text) + " here").nearest(nearestNames(name, names));
    }

    const Model& m_model;
    const Executor& m_executor;
    int m_depth;
};

constexpr int64_t kInside = 0; ///< a call's inside comes before its own end
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

void addStep(StopOrder& order, int64_t site, int64_t iteration, bool isCond, int32_t branch)
{
    order.push_back(site);
    order.push_back(std::max<int64_t>(iteration, kInside));
    order.push_back(isCond ? 0 : 1 + std::max(branch, 0));
}

int32_t branchOf(CallRole role, int32_t branch) { return role == CallRole::elseBranch ? 1 : branch; }

int32_t branchOf(const AddressStep& step) { return step.role == StepRole::elseBranch ? 1 : step.branch; }

/// Index of the operator that a canonical name means.
int64_t indexIn(const Graph& graph, const OperatorName& name)
{
    if (name.index >= 0) return name.index;
    for (size_t i = 0; i < graph.operators.size(); ++i)
        if (graph.operators[i].name == name.name) return static_cast<int64_t>(i);
    return -1;
}

/// The order of the invocation that the steps lead to.
StopOrder orderOfSteps(const Model& model, const Address& address)
{
    StopOrder order;
    Address upTo;
    upTo.root = address.root;
    for (const AddressStep& step : address.steps) {
        const Result<ResolvedAddress> caller = resolveAddress(model, upTo);
        if (!caller.ok()) break; // the address was resolved before
        addStep(order, indexIn(model.graph(caller->graph), step.site), step.iteration, step.role == StepRole::cond, branchOf(step));
        upTo.steps.push_back(step);
    }
    return order;
}

} // namespace

Result<TypedPlace> resolveTyped(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2); // as expressions write it
    return TypedReader(target, std::max(depthOf(target.executor, frame.depth), 0)).read(text);
}

Address frameAddress(const Executor& executor, int depth)
{
    // The position's address names every frame on the way.
    Result<Address> position = executor.position().depth > 0 ? parseAddress(executor.positionAddress()) : rootAddress(executor);
    if (!position.ok()) return rootAddress(executor);
    Address address;
    address.root = position->root;
    address.steps = std::move(position->steps);
    const auto steps = static_cast<size_t>(std::max(depthOf(executor, depth), 0));
    if (address.steps.size() > steps) address.steps.resize(steps);
    return address;
}

StopOrder orderOf(const Model& model, const ResolvedAddress& place)
{
    StopOrder order = orderOfSteps(model, place.address);
    order.push_back(place.op.valid() ? place.op.index : 0);
    return order;
}

StopOrder orderOf(const MachineState& state)
{
    StopOrder order;
    for (const FrameState& frame : state.frames)
        if (frame.site.valid()) addStep(order, frame.site.index, frame.iteration, frame.inCond, branchOf(frame.role, frame.branch));
    if (!state.frames.empty()) order.push_back(state.frames.back().next);
    return order;
}

StopOrder orderOf(const Executor& executor)
{
    StopOrder order;
    const int depth = executor.position().depth;
    for (int d = 0; d < depth; ++d) {
        const FrameInfo frame = executor.frame(d);
        if (frame.site.valid()) addStep(order, frame.site.index, frame.iteration, frame.inCond, branchOf(frame.role, frame.branch));
        if (d + 1 == depth) order.push_back(frame.next.valid() ? frame.next.index : kEnd);
    }
    return order;
}

int compareOrder(const Model& model, const ResolvedAddress& a, const ResolvedAddress& b)
{
    const auto order = [&](const ResolvedAddress& place) {
        StopOrder keys = orderOfSteps(model, place.address);
        if (!place.op.valid()) return keys;
        keys.push_back(place.op.index);
        keys.push_back(kEnd); // after everything inside the operator
        keys.push_back(place.address.slot);
        return keys;
    };
    const StopOrder left = order(a);
    const StopOrder right = order(b);
    if (left == right) return 0;
    return left < right ? -1 : 1;
}

} // namespace loopscope
