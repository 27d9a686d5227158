#include "engine/debug/inspect/element_map.h"

#include "engine/exec/interpreter.h"
#include "engine/ops/element_wise.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace loopscope {

namespace {

constexpr int64_t kMostNumbered = 1 << 24; ///< elements up to which a movement operator is asked what it moves

/// Operators whose results are elements of some operands, unchanged: which operands (−1: all). The others steer.
const std::vector<int>* movedOperands(std::string_view kind)
{
    static const std::map<std::string_view, std::vector<int>> moved = {
        {"reshape", {0}},
        {"squeeze", {0}},
        {"expand_dims", {0}},
        {"transpose", {0}},
        {"slice", {0}},
        {"strided_slice", {0}},
        {"gather", {0}},
        {"gather_nd", {0}},
        {"concatenation", {-1}},
        {"pad", {0}},
        {"padv2", {0, 2}},
        {"mirror_pad", {0}},
        {"broadcast_to", {0}},
        {"tile", {0}},
        {"split", {1}},
        {"split_v", {0}},
        {"pack", {-1}},
        {"unpack", {0}},
        {"reverse_v2", {0}},
        {"reverse_sequence", {0}},
        {"space_to_depth", {0}},
        {"depth_to_space", {0}},
        {"batch_to_space_nd", {0}},
        {"space_to_batch_nd", {0}},
        {"dynamic_update_slice", {0, 1}},
        {"resize_nearest_neighbor", {0}},
        {"embedding_lookup", {1}},
        {"stablehlo_slice", {0}},
        {"stablehlo_dynamic_slice", {0}},
        {"stablehlo_dynamic_update_slice", {0, 1}},
        {"stablehlo_pad", {0, 1}},
        {"stablehlo_transpose", {0}},
        {"stablehlo_concatenate", {-1}},
        {"stablehlo_reshape", {0}},
        {"stablehlo_broadcast_in_dim", {0}},
        {"stablehlo_gather", {0}},
        {"matrix_diag", {0}},
    };
    const auto found = moved.find(kind);
    return found == moved.end() ? nullptr : &found->second;
}

bool isMoved(const std::vector<int>& moved, size_t operand)
{
    return moved.front() < 0 || std::ranges::find(moved, static_cast<int>(operand)) != moved.end();
}

/// The element of a broadcast operand behind element `element` of a result.
int64_t broadcastIndex(const Shape& operand, const Shape& result, int64_t element)
{
    int64_t index = 0, stride = 1;
    for (int back = 1; back <= result.rank(); ++back) {
        const int64_t size = result[result.rank() - back];
        const int64_t at = size > 0 ? element % size : 0;
        element = size > 0 ? element / size : 0;
        if (back > operand.rank()) continue;
        const int64_t own = operand[operand.rank() - back];
        if (own > 1) index += at * stride;
        stride *= own;
    }
    return index;
}

TensorType plainType(const Tensor& tensor, DType dtype) { return TensorType(dtype, tensor.shape); }

/// Runs a movement operator on numbers instead of elements: every moved element is its own number, counted from 1 over all operands. What
/// the operator fills in (the zeros of PAD) is 0. Its kernel thus says what it moves where, and nothing has to be said twice.
class Probe {
public:
    Probe(const Operator& op, std::span<const Tensor* const> operands, const std::vector<int>& moved)
        : m_op(op),
          m_operands(operands),
          m_moved(moved)
    {
    }

    /// The number that element `element` of a result is made of. Errors: unsupported, there are too many elements; as of running.
    Result<int32_t> numberOf(int slot, int64_t element)
    {
        build();
        if (m_next > kMostNumbered) return Error(ErrorCode::unsupported, "too many elements");
        LS_TRY(const std::unique_ptr<Interpreter> interpreter, Interpreter::create(m_model, GraphId(0)));
        for (size_t i = 0; i < m_inputs.size(); ++i) LS_CHECK_OK(interpreter->setInput(static_cast<int>(i), m_inputs[i]));
        LS_CHECK_OK(interpreter->start());
        LS_CHECK_OK(interpreter->run());
        const Tensor& output = interpreter->output(slot);
        if (output.dtype != DType::i32 || element >= output.elementCount()) return Error(ErrorCode::unsupported, "another shape");
        return output.as<int32_t>()[element];
    }

    ElementSource sourceOf(size_t operand, int32_t number) const
    {
        const int64_t first = m_first[operand];
        if (first == 0) return {ElementUse::none, 0};
        const int64_t index = number - first;
        if (index < 0 || index >= m_operands[operand]->elementCount()) return {ElementUse::none, 0};
        return {ElementUse::one, index};
    }

private:
    void build()
    {
        Graph graph;
        graph.id = "probe";
        Operator op = m_op;
        op.inputs.clear();
        op.results.clear();
        m_first.assign(m_operands.size(), 0);
        for (size_t i = 0; i < m_operands.size(); ++i) {
            if (!m_operands[i]) {
                op.inputs.emplace_back();
                continue;
            }
            op.inputs.emplace_back(static_cast<int64_t>(graph.values.size()));
            Value value;
            value.id = "v" + std::to_string(i);
            value.type = plainType(*m_operands[i], isMoved(m_moved, i) ? DType::i32 : m_operands[i]->dtype);
            if (isMoved(m_moved, i)) {
                value.role = ValueRole::input;
                m_first[i] = m_next;
                addNumbers(*m_operands[i]);
                graph.inputs.push_back(op.inputs.back());
            } else {
                value.role = ValueRole::constant;
                value.constant = std::make_shared<const Constant>(Bytes::copyOf(m_operands[i]->view()));
            }
            graph.values.push_back(std::move(value));
        }
        for (size_t k = 0; k < m_op.results.size(); ++k) {
            op.results.emplace_back(static_cast<int64_t>(graph.values.size()));
            Value value;
            value.id = "r" + std::to_string(k);
            value.type = TensorType(DType::i32, Shape::unknownRank());
            value.role = ValueRole::result;
            value.producer = OperatorId(0);
            value.slot = static_cast<int32_t>(k);
            graph.outputs.push_back({"", op.results.back()});
            graph.values.push_back(std::move(value));
        }
        graph.operators.push_back(std::move(op));
        m_model.graphs.push_back(std::move(graph));
    }

    void addNumbers(const Tensor& operand)
    {
        const int64_t count = operand.elementCount();
        std::vector<int32_t>& numbers = m_numbers.emplace_back();
        if (m_next + count <= kMostNumbered) {
            numbers.resize(static_cast<size_t>(count));
            for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = static_cast<int32_t>(m_next + i);
        }
        m_next += count;
        Tensor tensor;
        tensor.dtype = DType::i32;
        tensor.shape = operand.shape;
        tensor.data = reinterpret_cast<std::byte*>(numbers.data());
        tensor.bytes = numbers.size() * sizeof(int32_t);
        m_inputs.push_back(tensor);
    }

    const Operator& m_op;
    std::span<const Tensor* const> m_operands;
    const std::vector<int>& m_moved;
    Model m_model;
    std::vector<std::vector<int32_t>> m_numbers;
    std::vector<Tensor> m_inputs;
    std::vector<int64_t> m_first; ///< by operand; 0: it is not moved
    int64_t m_next = 1;
};

} // namespace

ElementForm elementForm(const Operator& op)
{
    if (op.kind.dialect == "custom") return ElementForm::mixing;
    if (op.kind.dialect != "tf" && isElementWise(op.kind)) return ElementForm::elementwise;
    return movedOperands(op.kind.name) ? ElementForm::movement : ElementForm::mixing;
}

std::vector<ElementSource> elementSources(const Operator& op, std::span<const Tensor* const> operands, const Shape& result, int slot,
                                          int64_t element)
{
    std::vector<ElementSource> sources(operands.size());
    for (size_t i = 0; i < operands.size(); ++i)
        if (!operands[i]) sources[i].use = ElementUse::none;
    switch (elementForm(op)) {
    case ElementForm::mixing: return sources;
    case ElementForm::elementwise:
        for (size_t i = 0; i < operands.size(); ++i)
            if (operands[i]) sources[i] = {ElementUse::one, broadcastIndex(operands[i]->shape, result, element)};
        if (op.kind.name == "select_v2" && operands.size() == 3 && operands[0]) { // only one side becomes the result
            const bool chosen = operands[0]->as<uint8_t>()[sources[0].index] != 0;
            sources[chosen ? 2 : 1].use = ElementUse::none;
        }
        return sources;
    case ElementForm::movement: break;
    }
    const std::vector<int>& moved = *movedOperands(op.kind.name);
    Probe probe(op, operands, moved);
    const Result<int32_t> number = probe.numberOf(slot, element);
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i]) continue;
        if (!isMoved(moved, i)) sources[i].use = ElementUse::none;
        else if (number.ok()) sources[i] = probe.sourceOf(i, *number);
    }
    return sources;
}

} // namespace loopscope
