#include "app/replay/recorded_values.h"

#include "engine/ir/stored_constant.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope::app {

namespace {

constexpr uint64_t kKeptBytes = 64 << 20; ///< of values that were looked up
constexpr size_t kKeptValues = 1 << 14;
constexpr int kMaxHops = 1 << 20; ///< iterations that a permuted value is followed back

size_t positionOf(const Graph& graph, ValueId input)
{
    return static_cast<size_t>(std::ranges::find(graph.inputs, input) - graph.inputs.begin());
}

template <typename T> void put(KnownValue& known, T number)
{
    known.bytes.resize(sizeof number);
    std::memcpy(known.bytes.data(), &number, sizeof number);
}

/// A single number in the value's own dtype: traces keep it as an integer or a double in real units. False: that dtype has no such form.
bool putNumber(KnownValue& known, double real, int64_t integer, bool isInteger, DType dtype, const Quantization* quantization)
{
    if (!isInteger && quantization && quantization->isPerTensor() && quantization->scale() != 0)
        integer = std::llround(real / static_cast<double>(quantization->scale())) + quantization->zeroPoint();
    switch (dtype) {
    case DType::f32: put(known, static_cast<float>(real)); return true;
    case DType::f64: put(known, real); return true;
    case DType::boolean: put(known, static_cast<uint8_t>(real != 0)); return true;
    case DType::i8: put(known, static_cast<int8_t>(integer)); return true;
    case DType::u8: put(known, static_cast<uint8_t>(integer)); return true;
    case DType::i16: put(known, static_cast<int16_t>(integer)); return true;
    case DType::u16: put(known, static_cast<uint16_t>(integer)); return true;
    case DType::i32: put(known, static_cast<int32_t>(integer)); return true;
    case DType::u32: put(known, static_cast<uint32_t>(integer)); return true;
    case DType::i64: put(known, integer); return true;
    case DType::u64: put(known, static_cast<uint64_t>(integer)); return true;
    default: return false;
    }
}

} // namespace

KnownValue RecordedValues::adapted(std::optional<RecordedValue> recorded, const Value& value) const
{
    KnownValue known;
    known.tensor.dtype = value.type.dtype;
    known.tensor.quantization = value.type.quantization.get();
    if (!recorded) return known;
    known.isDead = recorded->isDead;
    known.statistics = recorded->statistics;
    known.tensor.shape = recorded->shape;
    if (!recorded->hasElements) return known;
    known.bytes = std::move(recorded->bytes);
    known.isRecorded = true;
    if (recorded->dtype != value.type.dtype && value.type.dtype != DType::unknown) {
        Tensor wide;
        wide.dtype = recorded->dtype;
        wide.data = known.bytes.data();
        wide.bytes = known.bytes.size();
        const bool isInteger = loopscope::isInteger(wide.dtype);
        known.isRecorded = false;
        if (bitWidth(wide.dtype) > 0 && recorded->shape.elementCount() == 1) {
            const double real = elementAsReal(wide, 0);
            const int64_t integer = isInteger ? elementAsInteger(wide, 0) : static_cast<int64_t>(std::fabs(real) < 9e18 ? real : 0);
            known.isRecorded = putNumber(known, real, integer, isInteger, value.type.dtype, known.tensor.quantization);
        }
        if (!known.isRecorded) known.bytes.clear();
    }
    const DType dtype = known.tensor.dtype; // a damaged file may say anything
    const std::optional<int64_t> count = checkedElementCount(known.tensor.shape);
    if (!count || (bitWidth(dtype) > 0 && known.bytes.size() != byteSize(dtype, *count))) {
        known.isRecorded = false;
        known.bytes.clear();
    }
    return known;
}

Result<KnownValue> RecordedValues::lookUp(RecordedInvocation invocation, GraphId graph, ValueId id)
{
    for (int hops = 0; hops < kMaxHops; ++hops) {
        const Graph& g = m_model.graph(graph);
        const Value& value = g.value(id);
        KnownValue known;
        switch (value.role) {
        case ValueRole::constant:
            known.isRecorded = value.constant && value.constant->hasBytes() && !isPacked(value);
            known.tensor.dtype = value.type.dtype;
            known.tensor.shape = value.type.shape;
            known.tensor.quantization = value.type.quantization.get();
            if (known.isRecorded)
                known.bytes.assign(value.constant->bytes().data(), value.constant->bytes().data() + value.constant->size());
            return known;
        case ValueRole::result: {
            LS_TRY(const std::optional<int64_t> step, m_run.stepOf(invocation, graph.index, value.producer.index));
            if (!step) return adapted(std::nullopt, value);
            LS_TRY(std::optional<RecordedValue> recorded, m_run.value(*step, value.slot));
            return adapted(std::move(recorded), value);
        }
        case ValueRole::variable:
        case ValueRole::absent: return adapted(std::nullopt, value);
        case ValueRole::input: break;
        }
        size_t position = positionOf(g, id);
        if (invocation.parent == 0) {
            LS_TRY(std::optional<RecordedValue> fed, m_run.feed(static_cast<int>(position)));
            return adapted(std::move(fed), value);
        }
        const GraphId callerGraph(invocation.callerGraph);
        const Operator& site = m_model.graph(callerGraph).op(OperatorId(invocation.site));
        const CallForm form = callForm(site);
        if (form.kind == CallKind::loop) {
            const GraphId bodyId(invocation.graph);
            const Graph& body = m_model.graph(bodyId);
            if (invocation.iteration > 0 && position < body.outputs.size()) {
                const ValueId carried = body.outputs[position].value;
                if (body.value(carried).role != ValueRole::input || positionOf(body, carried) != position) {
                    LS_TRY(const std::optional<RecordedInvocation> before, m_run.sibling(invocation, invocation.iteration - 1));
                    if (!before) return adapted(std::nullopt, value);
                    invocation = *before;
                    graph = bodyId;
                    id = carried;
                    continue;
                }
            }
        }
        position += static_cast<size_t>(form.firstArgument);
        LS_TRY(const std::optional<RecordedInvocation> parent, m_run.invocation(invocation.parent));
        if (!parent || position >= site.inputs.size() || !site.inputs[position].valid()) return adapted(std::nullopt, value);
        invocation = *parent;
        graph = callerGraph;
        id = site.inputs[position];
    }
    return Error(ErrorCode::badFile, "a value is carried too far");
}

const KnownValue* RecordedValues::find(const RecordedInvocation& invocation, GraphId graph, ValueId id)
{
    const auto [entry, isNew] = m_known.try_emplace(Key{invocation.id, id.index, graph.index, 0});
    if (!isNew) return &entry->second;
    Result<KnownValue> known = lookUp(invocation, graph, id);
    if (known.ok()) entry->second = std::move(known).value();
    entry->second.tensor.data = entry->second.bytes.data();
    entry->second.tensor.bytes = entry->second.bytes.size();
    m_bytes += entry->second.bytes.size();
    return &entry->second;
}

const KnownValue* RecordedValues::result(int64_t step, GraphId graph, OperatorId op, int slot)
{
    const auto [entry, isNew] = m_known.try_emplace(Key{-1, step, graph.index, slot});
    if (!isNew) return &entry->second;
    Result<std::optional<RecordedValue>> recorded = m_run.value(step, slot);
    const Operator& o = m_model.graph(graph).op(op);
    if (recorded.ok() && static_cast<size_t>(slot) < o.results.size())
        entry->second = adapted(std::move(recorded).value(), m_model.graph(graph).value(o.results[static_cast<size_t>(slot)]));
    entry->second.tensor.data = entry->second.bytes.data();
    entry->second.tensor.bytes = entry->second.bytes.size();
    m_bytes += entry->second.bytes.size();
    return &entry->second;
}

void RecordedValues::drop()
{
    if (m_bytes < kKeptBytes && m_known.size() < kKeptValues) return;
    m_known.clear();
    m_bytes = 0;
}

} // namespace loopscope::app
