#include "engine/exec/coming_rows.h"

#include "engine/ir/attribute.h"
#include "engine/ir/model.h"
#include "engine/plan/graph_plan.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

constexpr int64_t kFewWeights = 4096; ///< elements: as many stay in the first cache whatever else a loop does
constexpr int64_t kManyRows = 4;      ///< in each iteration: these share the weights already
constexpr int kMostWasted = 3;

/// The graph hands a parameter on at its own place: a loop does not change it.
bool isHandedOn(const Graph& graph, ValueId value)
{
    for (size_t k = 0; k < std::min(graph.inputs.size(), graph.outputs.size()); ++k)
        if (graph.inputs[k] == value && graph.outputs[k].value == value) return true;
    return false;
}

/// Whether that operator takes one whole row along the first axis of a sequence that the graph hands on.
bool takesRow(const Graph& graph, const GraphPlan& plan, const Operator& op)
{
    const bool isPlain = op.kind == Kind{"tfl", "gather"} && op.inputs.size() == 2 && op.inputs[0].valid() && op.inputs[1].valid() &&
                         attributeInt(op.attributes, "axis", 0) == 0 && attributeInt(op.attributes, "batch_dims", 0) == 0;
    if (!isPlain || !isHandedOn(graph, op.inputs[0]) || !plan.value(op.inputs[0]).fixed) return false;
    const PlannedValue& index = plan.value(op.inputs[1]);
    return index.fixed && index.shape.elementCount() == 1 && (index.dtype == DType::i32 || index.dtype == DType::i64);
}

} // namespace

std::vector<RowProduct> findRowProducts(const Graph& graph, const GraphPlan& plan, const std::vector<bool>& mayUse)
{
    std::vector<RowProduct> found;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        if (!mayUse[o] || op.kind != Kind{"tfl", "fully_connected"} || op.inputs.size() < 2 || op.results.size() != 1) continue;
        const auto isConstant = [&](ValueId id) { return !id.valid() || graph.value(id).role == ValueRole::constant; };
        if (!std::all_of(op.inputs.begin() + 1, op.inputs.end(), isConstant) || !op.inputs[0].valid()) continue;
        const PlannedValue &row = plan.value(op.inputs[0]), &result = plan.value(op.results[0]);
        const bool isPlanned = row.fixed && result.fixed && row.shape.rank() == 2 && result.shape.rank() == 2 &&
                               row.shape[0] == result.shape[0] && row.shape[0] <= kManyRows && row.shape[0] > 0;
        if (!isPlanned || row.shape[1] * result.shape[1] < kFewWeights) continue;
        const OperatorId producer = graph.value(op.inputs[0]).producer;
        if (producer.valid() && takesRow(graph, plan, graph.op(producer)))
            found.push_back({static_cast<int32_t>(producer.index), static_cast<int32_t>(o)});
    }
    return found;
}

ComingRows::ComingRows(KernelFunction kernel, const KernelArgs& product, const KernelArgs& gather, MemoryAccount& account)
    : m_kernel(kernel),
      m_params(product.params),
      m_gather(gather),
      m_operandBytes(static_cast<int64_t>(product.in(0).bytes)),
      m_resultBytes(static_cast<int64_t>(product.out(0).bytes)),
      m_rows(product.in(0).shape[0]),
      m_block(account),
      m_operand(product.in(0)),
      m_result(product.out(0)),
      m_inputs(product.inputs, product.inputs + product.inputCount)
{
    m_inputs[0] = &m_operand;
}

Status ComingRows::run(const KernelArgs& args)
{
    // The parameters of a kernel are constant; these are the activation's own, which runs one operator at a time.
    return static_cast<ComingRows*>(const_cast<void*>(args.params))->runNext(args);
}

int64_t ComingRows::indexNow() const
{
    const Tensor& index = m_gather.in(1);
    return index.dtype == DType::i32 ? *index.as<int32_t>() : *index.as<int64_t>();
}

/// Copies the operands of the iterations from `index` on; false: there is no second one, or no memory.
bool ComingRows::fetch(int64_t index, int64_t step)
{
    const Tensor& sequence = m_gather.in(0);
    const int64_t length = sequence.shape[0], left = step > 0 ? length - index : index + 1;
    m_at = 0;
    m_count = std::min(left, kMostTrips);
    if (m_count < 2 || !m_block.reserve(static_cast<uint64_t>(kMostTrips * (m_operandBytes + m_resultBytes))).ok()) return false;
    for (int64_t trip = 0; trip < m_count; ++trip)
        std::memcpy(operandAt(trip), sequence.data + (index + trip * step) * m_operandBytes, static_cast<size_t>(m_operandBytes));
    return true;
}

Status ComingRows::runNext(const KernelArgs& args)
{
    const Tensor& operand = args.in(0);
    const auto take = [&] {
        std::memcpy(args.out(0).data, resultAt(m_at), static_cast<size_t>(m_resultBytes));
        ++m_at;
        return Status();
    };
    if (m_at < m_count) {
        if (std::memcmp(operand.data, operandAt(m_at), static_cast<size_t>(m_operandBytes)) == 0) {
            m_wasted = 0;
            return take();
        }
        m_count = 0;
        ++m_wasted;
    }
    const int64_t index = indexNow(), step = index - m_last;
    m_last = index;
    const bool goesOn = (step == 1 || step == -1) && m_wasted < kMostWasted;
    if (!goesOn || !fetch(index, step) || std::memcmp(operand.data, operandAt(0), static_cast<size_t>(m_operandBytes)) != 0) {
        m_count = 0;
        KernelArgs own = args;
        own.params = m_params;
        return m_kernel(own);
    }
    m_operand.data = operandAt(0);
    m_operand.bytes = static_cast<size_t>(m_count * m_operandBytes);
    m_operand.shape[0] = m_result.shape[0] = m_count * m_rows;
    m_result.data = resultAt(0);
    m_result.bytes = static_cast<size_t>(m_count * m_resultBytes);
    KernelArgs all = args;
    all.inputs = m_inputs.data();
    all.outputs = &m_output;
    all.params = m_params;
    if (Status ran = m_kernel(all); !ran.ok()) {
        m_count = 0;
        return ran;
    }
    m_last = index + (m_count - 1) * step;
    return take();
}

} // namespace loopscope
