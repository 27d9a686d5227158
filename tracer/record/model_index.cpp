#include "tracer/record/model_index.h"

#include "engine/base/hash.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/ids.h"

#include <charconv>

namespace loopscope {

namespace {

/// The role and number that a `call` row spells.
CallInfo callInfo(int64_t id, std::string_view role)
{
    CallInfo info;
    info.id = id;
    const size_t digits = role.find_first_of("0123456789");
    const std::string_view word = role.substr(0, digits);
    for (const CallRole candidate : {CallRole::loop, CallRole::thenBranch, CallRole::elseBranch, CallRole::branch, CallRole::call,
                                     CallRole::init, CallRole::region, CallRole::frame}) {
        if (callRoleName(candidate) == word) info.role = candidate;
    }
    if (digits != std::string_view::npos) std::from_chars(role.data() + digits, role.data() + role.size(), info.branch);
    return info;
}

} // namespace

ModelIndex::ModelIndex(const Model& model, const ModelRows& rows) : m_model(model)
{
    std::vector<bool> isBody(model.graphs.size(), false);
    for (const Graph& graph : model.graphs) {
        for (const Operator& op : graph.operators) {
            for (const Callee& callee : calleesOf(op)) {
                if (callee.role == "body" && model.hasGraph(callee.graph)) isBody[static_cast<size_t>(callee.graph.index)] = true;
            }
        }
    }
    size_t nextCall = 0;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const Graph& graph = model.graphs[g];
        m_firstOperator.push_back(m_operators.size());
        std::vector<bool> isOutput(graph.values.size(), false);
        for (const GraphOutput& output : graph.outputs) {
            if (output.value.valid() && static_cast<size_t>(output.value.index) < isOutput.size())
                isOutput[static_cast<size_t>(output.value.index)] = true;
        }
        for (size_t i = 0; i < graph.operators.size(); ++i) {
            const Operator& op = graph.operators[i];
            OperatorInfo info;
            info.row = static_cast<int32_t>(rows.firstOps[g] + static_cast<int64_t>(i));
            info.firstResult = static_cast<uint32_t>(m_results.size());
            info.results = static_cast<uint32_t>(op.results.size());
            const std::string place = graph.id + "/" + operatorLabel(op, static_cast<int64_t>(i));
            info.hash = hash64(std::as_bytes(std::span(place)));
            for (const ValueId value : op.results) {
                ResultInfo& result = m_results.emplace_back();
                Shape declared = Shape::unknownRank();
                if (value.valid()) {
                    const auto v = static_cast<size_t>(value.index);
                    result.value = rows.firstValues[g] + value.index;
                    result.isOutput = isOutput[v];
                    result.isCarried = (isBody[g] && isOutput[v]) || flowRole(op) == FlowRole::nextIteration;
                    declared = graph.values[v].type.dynamicShape();
                }
                m_declared.push_back(std::move(declared));
            }
            info.firstCall = static_cast<uint32_t>(m_calls.size());
            for (; nextCall < rows.calls.size() && rows.calls[nextCall].op == info.row; ++nextCall) {
                m_calls.push_back(callInfo(rows.calls[nextCall].id, rows.calls[nextCall].role));
            }
            info.calls = static_cast<uint32_t>(m_calls.size()) - info.firstCall;
            m_operators.push_back(info);
        }
    }
    startRun();
}

void ModelIndex::startRun()
{
    for (size_t i = 0; i < m_results.size(); ++i) {
        m_results[i].shape = m_declared[i];
        m_results[i].hadNaN = m_results[i].hadInfinity = false;
    }
}

std::string callRoleText(CallRole role, int32_t branch)
{
    std::string text(callRoleName(role));
    if ((role == CallRole::branch || role == CallRole::region) && branch >= 0) text += std::to_string(branch);
    return text;
}

} // namespace loopscope
