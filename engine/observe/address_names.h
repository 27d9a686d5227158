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
/// "while#1:body/tanh#15" of "main/while#1:body/tanh#15"; of a root alone the root.
std::string withoutRoot(const std::string& address);
/// "tanh#15 in while#1:body": the same in words; what lies in the root graph is named alone.
std::string placeText(const std::string& address);

} // namespace loopscope
