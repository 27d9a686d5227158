#include "engine/observe/address_names.h"

#include "engine/observe/host_address.h"
namespace loopscope {

namespace {

/// What follows the root.
std::string pathText(Address address)
{
    address.run = -1;
    std::string text = toString(address);
    if (text.starts_with(std::string(kHostLoop) + "@")) return text; // a call of the loop around a model has no root before it
    address.root.clear();
    address.rootIsSignature = false;
    text = toString(address);
    return text.starts_with('/') ? text.substr(1) : text;
}

} // namespace

OperatorName operatorName(const Operator& op, int64_t index)
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

OperatorName siteName(const Operator& op, int64_t index, CallRole role)
{
    if (role != CallRole::frame) return operatorName(op, index);
    OperatorName name;
    name.name = attributeString(op.attributes, "frame_name", op.name);
    return name;
}

StepRole stepRole(CallRole role, bool inCond)
{
    switch (role) {
    case CallRole::main: return StepRole::none;
    case CallRole::loop: return inCond ? StepRole::cond : StepRole::body;
    case CallRole::thenBranch: return StepRole::thenBranch;
    case CallRole::elseBranch: return StepRole::elseBranch;
    case CallRole::branch: return StepRole::branch;
    case CallRole::call: return StepRole::call;
    case CallRole::init: return StepRole::init;
    case CallRole::region: return StepRole::region;
    case CallRole::frame: return StepRole::frame;
    }
    return StepRole::none;
}

CallRole callRole(StepRole role)
{
    switch (role) {
    case StepRole::cond:
    case StepRole::body: return CallRole::loop;
    case StepRole::thenBranch: return CallRole::thenBranch;
    case StepRole::elseBranch: return CallRole::elseBranch;
    case StepRole::branch: return CallRole::branch;
    case StepRole::init: return CallRole::init;
    case StepRole::region: return CallRole::region;
    case StepRole::frame: return CallRole::frame;
    case StepRole::none:
    case StepRole::call: break;
    }
    return CallRole::call;
}

std::string roleText(const AddressStep& step)
{
    return std::string(stepRoleName(step.role)) + (step.branch >= 0 ? std::to_string(step.branch) : "");
}

std::string labelText(const OperatorName& name) { return name.index >= 0 ? name.kind + "#" + std::to_string(name.index) : name.name; }

Address withoutIterations(Address address)
{
    for (AddressStep& step : address.steps) {
        step.iteration = -1;
        step.iterations.reset();
    }
    return address;
}

Address invocationOf(Address address)
{
    address.target = TargetKind::invocation;
    address.op = {};
    address.slot = -1;
    return address;
}

std::string withoutIterations(const std::string& address)
{
    Result<Address> parsed = parsePattern(address);
    return parsed.ok() ? toString(withoutIterations(std::move(parsed).value())) : address;
}

std::string invocationOf(const std::string& address)
{
    Result<Address> parsed = parsePattern(address);
    return parsed.ok() ? toString(invocationOf(std::move(parsed).value())) : address;
}

std::string rootOf(const std::string& address)
{
    Result<Address> parsed = parsePattern(address);
    if (!parsed.ok()) return address;
    parsed->steps.clear();
    return toString(invocationOf(std::move(parsed).value()));
}

std::string callerOf(const std::string& invocation)
{
    Result<Address> parsed = parsePattern(invocation);
    if (!parsed.ok() || parsed->steps.empty()) return {};
    parsed->steps.pop_back();
    return toString(*parsed);
}

std::string callSiteOf(const std::string& invocation)
{
    Result<Address> parsed = parsePattern(invocation);
    if (!parsed.ok() || parsed->steps.empty()) return {};
    parsed->target = TargetKind::op;
    parsed->op = std::move(parsed->steps.back().site);
    parsed->steps.pop_back();
    return toString(*parsed);
}

std::string lastPart(const std::string& address)
{
    Result<Address> parsed = parsePattern(address);
    if (!parsed.ok()) return address;
    if (parsed->target != TargetKind::invocation) parsed->steps.clear();
    else if (!parsed->steps.empty()) parsed->steps.erase(parsed->steps.begin(), parsed->steps.end() - 1);
    else return address;
    return pathText(std::move(parsed).value());
}

bool liesDirectlyIn(const std::string& address, const std::string& invocation)
{
    const Result<Address> inside = parseAddress(address);
    if (!inside.ok()) return false;
    return inside->target == TargetKind::invocation ? callerOf(address) == invocation : toString(invocationOf(*inside)) == invocation;
}

std::string withoutRoot(const std::string& address)
{
    Result<Address> parsed = parsePattern(address);
    if (!parsed.ok() || (parsed->steps.empty() && parsed->target == TargetKind::invocation)) return address;
    return pathText(std::move(parsed).value());
}

std::string placeText(const std::string& address)
{
    Result<Address> parsed = parsePattern(address);
    if (!parsed.ok()) return address;
    Address inside = invocationOf(*parsed), name = *parsed;
    if (parsed->target == TargetKind::invocation) { // the last step is what is named
        if (inside.steps.empty()) return address;
        name.steps = {inside.steps.back()};
        inside.steps.pop_back();
    } else {
        name.steps.clear();
    }
    if (!inside.steps.empty() && inside.steps.front().anySteps) inside.steps.erase(inside.steps.begin());
    return inside.steps.empty() ? pathText(std::move(name)) : pathText(std::move(name)) + " in " + pathText(std::move(inside));
}

} // namespace loopscope
