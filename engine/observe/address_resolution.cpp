// One walk down the steps: each names a call operator of the current graph, its role says which graph comes next.
#include "engine/observe/address_resolution.h"

#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_origin.h"
#include "engine/observe/address_scanner.h"

#include <algorithm>
#include <string>
#include <utility>

namespace loopscope {

namespace {

std::string kindOf(const Operator& op) { return op.kind.dialect == "custom" ? "custom" : op.kind.name; }

bool hasWildcard(const std::string& name) { return name.find(kWildcard) != std::string::npos; }

bool hasWildcard(const OperatorName& name) { return name.anyIndex || hasWildcard(name.kind) || hasWildcard(name.name); }

/// Roles and graphs of a call operator. TensorFlow's operators have their own words for the roles.
std::vector<Callee> rolesOf(const Operator& op)
{
    if (op.kind.dialect != "tf") return calleesOf(op);
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"cond", "cond"}, {"body", "body"}, {"then_branch", "then"}, {"else_branch", "else"}, {"f", "call"}};
    std::vector<Callee> callees;
    for (const auto& [key, role] : kWords)
        if (const GraphId graph = attributeGraph(op.attributes, key); graph.valid()) callees.push_back({std::string(role), graph});
    const Attribute* branches = findAttribute(op.attributes, "branches");
    if (const auto* items = branches ? branches->as<AttributeItems>() : nullptr)
        for (size_t k = 0; k < items->size(); ++k)
            if (const auto* ref = (*items)[k].as<GraphRef>()) callees.push_back({"branch" + std::to_string(k), ref->graph});
    return callees;
}

/// The frames of TensorFlow 1 around an operator, outermost first. All that it reads is in the same frame, so that one way back says it.
std::vector<std::string> framesAround(const Graph& graph, OperatorId id)
{
    std::vector<std::string> frames;
    const auto isKind = [](const Operator& op, std::string_view kind) {
        return op.kind.name == kind || op.kind.name == "Ref" + std::string(kind);
    };
    int left = 0; // frames that were entered from behind
    for (size_t steps = 0; id.valid() && steps <= graph.operators.size(); ++steps) {
        const Operator& op = graph.op(id);
        if (steps > 0 && isKind(op, "Exit")) ++left; // it runs in the frame that it leaves, an Enter outside of the one that it enters
        if (steps > 0 && isKind(op, "Enter")) {
            if (left == 0) frames.insert(frames.begin(), std::string(attributeString(op.attributes, "frame_name", "")));
            else --left;
        }
        id = op.controlInputs.empty() ? OperatorId() : op.controlInputs.front();
        for (const ValueId input : op.inputs) {
            if (!input.valid() || graph.value(input).role != ValueRole::result) continue;
            const OperatorId producer = graph.value(input).producer;
            id = producer;
            if (!isKind(graph.op(producer), "NextIteration")) break; // a loop's variable began outside
        }
    }
    return frames;
}

class Resolution {
public:
    Resolution(const Model& model, const Address& address) : m_model(model) { m_found.address = address; }

    Result<ResolvedAddress> run()
    {
        Status status = walk();
        if (!status.ok()) return std::move(status).takeError().at(toString(m_found.address));
        return std::move(m_found);
    }

private:
    const Graph& graph() const { return m_model.graph(m_found.graph); }

    Status walk()
    {
        LS_CHECK_OK(root());
        for (AddressStep& step : m_found.address.steps) LS_CHECK_OK(enter(step));
        LS_CHECK_OK(target());
        nameFrames();
        return {};
    }

    /// Frames that were not named, as in `main/node`: the operator knows them.
    void nameFrames()
    {
        if (!m_found.op.valid() || graph().op(m_found.op).kind.dialect != "tf") return;
        const std::vector<std::string> frames = framesAround(graph(), m_found.op);
        std::vector<AddressStep>& steps = m_found.address.steps;
        auto given =
            std::find_if(steps.rbegin(), steps.rend(), [](const AddressStep& step) { return step.role != StepRole::frame; }).base();
        std::vector<AddressStep> all(steps.begin(), given);
        for (const std::string& frame : frames) {
            if (given != steps.end() && given->site.name == frame) {
                all.push_back(*given++);
                continue;
            }
            AddressStep step;
            step.site.name = frame;
            step.role = StepRole::frame;
            all.push_back(std::move(step));
        }
        if (given == steps.end()) steps = std::move(all); // else they are others: the run does not come there
    }

    Status root()
    {
        Address& address = m_found.address;
        std::vector<std::string> names;
        if (address.rootIsSignature) {
            for (const Signature& signature : m_model.signatures) {
                names.push_back(signature.key);
                if (signature.key == address.root) m_found.graph = signature.graph;
            }
        } else {
            for (const Graph& graph : m_model.graphs) names.push_back(graph.id);
            m_found.graph = m_model.findGraph(address.root);
        }
        if (!m_model.hasGraph(m_found.graph))
            return Error(ErrorCode::usage, (address.rootIsSignature ? "no signature '" : "no graph '") + address.root + "'")
                .nearest(nearestNames(address.root, names));
        address.rootIsSignature = false;
        address.root = graph().id;
        return {};
    }

    /// Finds the operator and fills in its kind.
    Result<OperatorId> find(OperatorName& name) const
    {
        const std::vector<Operator>& operators = graph().operators;
        const auto count = static_cast<int64_t>(operators.size());
        Error error(ErrorCode::usage, "no operator '" + labelText(name) + "' in " + graph().id);
        if (name.index < 0) {
            std::vector<std::string> names;
            for (int64_t i = 0; i < count; ++i) {
                const std::string& node = operators[static_cast<size_t>(i)].name;
                if (!node.empty() && node == name.name) return OperatorId(i);
                if (!node.empty()) names.push_back(node);
            }
            return std::move(error).nearest(nearestNames(name.name, names));
        }
        if (name.index >= count) {
            error.detail().what += ", which has " + std::to_string(count) + (count == 1 ? " operator" : " operators");
            return error;
        }
        const Operator& op = operators[static_cast<size_t>(name.index)];
        if (!name.kind.empty() && name.kind != kindOf(op)) {
            error.detail().what += "; operator " + std::to_string(name.index) + " is " + addressSite(op, name.index);
            return error;
        }
        const OperatorId id(name.index);
        // A node is known by its name, whatever was typed.
        if (op.name.empty()) name.kind = kindOf(op);
        else name = OperatorName{{}, -1, op.name, false};
        return id;
    }

    Status enter(AddressStep& step)
    {
        if (step.role == StepRole::frame) {
            Status status = frame(step.site.name);
            OperatorName named = step.site;
            const Result<OperatorId> loop = find(named);
            if (status.ok() || !loop.ok() || !attributeGraph(graph().op(*loop).attributes, "body").valid()) return status;
            step.role = StepRole::body; // `loop@3`, where the loop is an operator with a name
        }
        LS_TRY(const OperatorId site, find(step.site));
        const std::vector<Callee> callees = rolesOf(graph().op(site));
        const std::string role = roleText(step);
        std::vector<std::string> roles;
        for (const Callee& callee : callees) {
            if (callee.role == role && m_model.hasGraph(callee.graph)) {
                m_found.graph = callee.graph;
                return {};
            }
            roles.push_back(callee.role);
        }
        return Error(ErrorCode::usage, labelText(step.site) + " has no " + role + (roles.empty() ? "; it calls nothing" : ""))
            .expected(roles.empty() ? "" : join(roles, ", "));
    }

    /// A v1 frame lies in the same graph: Enter nodes name it.
    Status frame(const std::string& name) const
    {
        std::vector<std::string> names;
        for (const Operator& op : graph().operators) {
            const std::string_view entered = attributeString(op.attributes, "frame_name", "");
            if (entered == name) return {};
            if (!entered.empty() && std::ranges::find(names, entered) == names.end()) names.emplace_back(entered);
        }
        return Error(ErrorCode::usage, "no frame '" + name + "' in " + graph().id).nearest(nearestNames(name, names));
    }

    Status slot(const std::vector<ValueId>& list, std::string_view what)
    {
        const int32_t slot = m_found.address.slot;
        if (static_cast<size_t>(slot) >= list.size())
            return Error(ErrorCode::usage, labelText(m_found.address.op) + " has " + std::to_string(list.size()) + " " + std::string(what) +
                                               (list.size() == 1 ? "" : "s"))
                .found("number " + std::to_string(slot));
        m_found.value = list[static_cast<size_t>(slot)];
        return {};
    }

    Status target()
    {
        Address& address = m_found.address;
        if (address.target == TargetKind::invocation) return {};
        if (address.target == TargetKind::value) return value();
        LS_TRY(m_found.op, find(address.op));
        const Operator& op = graph().op(m_found.op);
        if (address.target == TargetKind::output) return slot(op.results, "output");
        if (address.target == TargetKind::input) return slot(op.inputs, "input");
        return {};
    }

    /// An id, the name of a node, or what the graph calls an input or output.
    Status value()
    {
        Address& address = m_found.address;
        const std::string name = address.op.name;
        m_found.value = graph().findValue(name);
        if (m_found.value.valid() && graph().value(m_found.value).role == ValueRole::result) {
            const Value& result = graph().value(m_found.value);
            const Operator& op = graph().op(result.producer);
            m_found.op = result.producer;
            address.target = TargetKind::output;
            address.slot = result.slot;
            address.op = operatorName(op, result.producer.index);
            return {};
        }
        if (m_found.value.valid()) return {};
        OperatorName node = address.op;
        if (const Result<OperatorId> op = find(node); op.ok()) {
            m_found.op = *op;
            address.target = TargetKind::op;
            return {};
        }
        if (const ValueId port = m_model.findValue(m_found.graph, name); port.valid()) {
            address.op.name = graph().value(port).id;
            return value();
        }
        std::vector<std::string> ids;
        for (const Value& value : graph().values) ids.push_back(value.id);
        return Error(ErrorCode::usage, "no value '" + name + "' in " + graph().id).nearest(nearestNames(name, ids));
    }

    const Model& m_model;
    ResolvedAddress m_found;
};

} // namespace

Result<ResolvedAddress> resolveAddress(const Model& model, const Address& address)
{
    Result<ResolvedAddress> found = Resolution(model, address).run();
    if (found.ok()) return found;
    if (const std::optional<Address> counterpart = throughOrigin(model, address))
        if (Result<ResolvedAddress> other = Resolution(model, *counterpart).run(); other.ok()) return other;
    return found;
}

Result<std::vector<AddressPattern>> resolvePattern(const Model& model, std::string_view text)
{
    LS_TRY(const Address pattern, parsePattern(text));
    std::vector<AddressPattern> patterns;
    const auto add = [&](const Address& address) { patterns.push_back(AddressPattern(address)); };
    const bool openSteps =
        pattern.root.empty() || hasWildcard(pattern.root) ||
        std::ranges::any_of(pattern.steps, [](const AddressStep& step) { return step.anySteps || hasWildcard(step.site); });
    if (!openSteps) {
        // Everything but the target is named: it must be there.
        Address exact = pattern;
        const bool openTarget = hasWildcard(pattern.op);
        if (openTarget) {
            exact.target = TargetKind::invocation;
            exact.op = {};
            exact.slot = -1;
        }
        LS_TRY(ResolvedAddress resolved, resolveAddress(model, exact));
        if (openTarget) {
            resolved.address.target = pattern.target;
            resolved.address.op = pattern.op;
            resolved.address.slot = pattern.slot;
        }
        add(resolved.address);
        return patterns;
    }
    add(pattern);
    if (pattern.target != TargetKind::value || hasWildcard(pattern.op)) return patterns;
    // Wherever the steps may lead: each operator that writes a value with this id.
    for (const Graph& graph : model.graphs) {
        const ValueId id = graph.findValue(pattern.op.name);
        if (!id.valid() || graph.value(id).role != ValueRole::result) continue;
        const Value& result = graph.value(id);
        const Operator& op = graph.op(result.producer);
        if (!op.name.empty()) continue; // a node's name matches as it is
        Address output = pattern;
        output.target = TargetKind::output;
        output.slot = result.slot;
        output.op = OperatorName{kindOf(op), result.producer.index, {}, false};
        add(output);
    }
    return patterns;
}

} // namespace loopscope
