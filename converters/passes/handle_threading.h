// State behind handles (stacks, arrays of gradients) that becomes values: what a loop or a branch did to it comes out of it. Where a handle
// went in, the state goes in and out; the rest is left to who knows the operators that take the handles.
#pragma once

#include "converters/passes/graph_walk.h"
#include "converters/passes/rewrite.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/gradient/activity.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

bool isNamed(const Operator& op, std::string_view name);
/// If, and calls of one function.
bool isBranchOrCall(const Operator& op);

/// Which values of all graphs are such handles, and what else is followed along the same edges.
class HandleFlow {
public:
    enum Kind : uint8_t { none, handle, gradient, flow }; ///< gradient: the handle of what belongs to another handle

    /// `made`: what an operator's result is of itself, given what its operands are.
    using Maker = Kind (*)(const Operator& op, size_t result, const std::vector<Kind>& operands);
    HandleFlow(const Model& model, Maker made);

    Kind kind(size_t graph, ValueId value) const
    {
        const auto at = static_cast<size_t>(value.index);
        return value.valid() && at < m_kinds[graph].size() ? m_kinds[graph][at] : none;
    }
    bool any(size_t graph) const;
    const Model& model() const { return m_model; } ///< as it was
    size_t graphCount() const { return m_kinds.size(); }
    std::vector<Kind> operandsOf(size_t graph, const Operator& op) const;

private:
    bool follow(size_t graph, const Operator& op);
    bool mark(size_t graph, ValueId value, Kind kind);

    const Model& m_model;
    const Maker m_made;
    std::vector<std::vector<Kind>> m_kinds;
};

/// One graph, operator by operator in the order in which they run: the list that the state behind each handle is at that point.
class HandleThreading {
public:
    HandleThreading(Model& model, const HandleFlow& flow, size_t graph, bool isCalled);
    virtual ~HandleThreading() = default;

    Status run(RewriteReport& report);
    /// Operators behind which nothing would know what a state is: what makes the whole rewrite void.
    const std::vector<Declined>& obstacles() const { return m_obstacles; }

protected:
    /// What takes or makes a handle and is no loop, branch or call. `op`: as it was.
    virtual void rewriteOwn(OperatorId id, const Operator& op, RewriteReport& report) = 0;
    /// Before a state is handed to a loop, a branch or a call: which, by its root.
    virtual int32_t rootToHandOn(OperatorId, const Operator& op, size_t operand) { return rootOf(op.inputs[operand]); }
    /// After each operator, as it was.
    virtual void done(const Operator&) {}
    /// When all operators are rewritten.
    virtual void atEnd() {}

    static TensorType list();
    bool isHandle(ValueId value) const { return value.valid() && m_root.contains(value.index); }
    HandleFlow::Kind kind(ValueId value) const
    {
        const auto made = m_made.find(value.index);
        return made == m_made.end() ? m_flow.kind(m_graph, value) : made->second;
    }
    void setKind(ValueId value, HandleFlow::Kind kind) { m_made[value.index] = kind; } ///< of a value that is new
    int32_t rootOf(ValueId value) const { return m_root.at(value.index); } ///< negative where a handle has another state of its own
    ValueId now(ValueId value) const { return m_now.at(rootOf(value)); }
    void setNow(int32_t root, ValueId list) { m_now[root] = list; }
    void refuse(Declined reason) { m_obstacles.push_back(std::move(reason)); } ///< makes the whole rewrite void
    void begin(ValueId value, ValueId list);                                   ///< the handle of a state of its own
    void alias(ValueId value, int32_t root) { m_root[value.index] = root; }    ///< another name of it
    ValueId anyShape(OperatorId id);                                           ///< of elements, where nothing is said of it
    /// Another operator, whose `element_dtype` stood under another key.
    void become(OperatorId id, std::string_view kind, std::string_view typeKey, AttributeList attributes);

    const HandleFlow& m_flow;
    const size_t m_graph;
    GraphEditor m_editor;

private:
    void rewrite(OperatorId id, const Operator& op, RewriteReport& report);
    void handOn(OperatorId id, const Operator& op);

    const bool m_isCalled;             ///< and no part of a loop
    std::map<int32_t, int32_t> m_root; ///< of each handle: the one that it began as
    std::map<int32_t, ValueId> m_now;  ///< by root
    std::map<int32_t, HandleFlow::Kind> m_made;
    std::vector<Declined> m_obstacles;
};

using MakeThreading = std::function<std::unique_ptr<HandleThreading>(Model& model, const HandleFlow& flow, size_t graph, bool isCalled)>;

/// Every graph that such handles are in; all of them, or none and the reason.
Result<RewriteReport> threadAll(Model& model, const HandleFlow& flow, const MakeThreading& make);

} // namespace loopscope
