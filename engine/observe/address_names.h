// How what runs is named in addresses: the one place that turns operators, calls and roles into their parts of an address, and back.
#pragma once

#include "engine/ir/model.h"
#include "engine/observe/address.h"
#include "engine/observe/events.h"

#include <cstdint>
#include <string>

namespace loopscope {

/// How an address names operator `index` of a graph: by its node's name, or as `add#2`.
OperatorName operatorName(const Operator& op, int64_t index);
/// How it names the site of an invocation: the call, or the v1 frame that an Enter opens.
OperatorName siteName(const Operator& op, int64_t index, CallRole role);

/// The role in which a step leads into a graph that was entered in `role`. Of a loop that is its cond, or its body.
StepRole stepRole(CallRole role, bool inCond);
/// And back; of a step without a role, a call.
CallRole callRole(StepRole role);
/// "then", "branch2": as callees of an operator are called.
std::string roleText(const AddressStep& step);
/// "add#2" or the node's name, without escapes: as people read it.
std::string labelText(const OperatorName& name);

/// The same place in whatever iterations of the loops around it: how pictures, listings and breakpoints know it.
Address withoutIterations(Address address);
/// The invocation that a place lies in.
Address invocationOf(Address address);

// The same of addresses and patterns as text, at the edges. What is neither stays as it is.
std::string withoutIterations(const std::string& address);
std::string invocationOf(const std::string& address);
/// The graph or signature that it begins in: "main".
std::string rootOf(const std::string& address);
/// The invocation that called an invocation: "main" of "main/while#1@3:body"; empty: it is the root, or no address.
std::string callerOf(const std::string& invocation);
/// The operator that called it: "main/while#1"; empty: as callerOf().
std::string callSiteOf(const std::string& invocation);
/// What is named, without where it lies: "tanh#15", "while#1:body"; of a root alone the root.
std::string lastPart(const std::string& address);
/// Whether an operator or invocation is of what the graph of an invocation itself runs or calls, and not of what a callee does.
bool liesDirectlyIn(const std::string& address, const std::string& invocation);
/// "while#1:body/tanh#15" of "main/while#1:body/tanh#15"; of a root alone the root.
std::string withoutRoot(const std::string& address);
/// "tanh#15 in while#1:body": the same in words; what lies in the root graph is named alone.
std::string placeText(const std::string& address);

} // namespace loopscope
