// What happens for every executed operator. The first function is the fast way of one scalar result, tens of nanoseconds; the rest is
// taken by tensors, by whatever is rare, and where values are stored or filtered.
#include "engine/tensor/device_memory.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/variants.h"
#include "tracer/record/recorder_impl.h"
#include "tracer/schema/schema.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace loopscope {

namespace {

constexpr int64_t kAlertsPerKind = 1000;

uint64_t mix(uint64_t hash, uint64_t value) { return ((hash << 5 | hash >> 59) ^ value) * 0x9e3779b97f4a7c15U; }

template <typename T> T load(const Tensor& tensor)
{
    T value;
    std::memcpy(&value, tensor.data, sizeof(T));
    return value;
}

/// A single element that a row holds exactly. False: somebody else must look at it (NaN, infinity, −0, denormal, quantized, other types).
bool plainScalar(const Tensor& t, ValueRecord& record)
{
    if (t.data == nullptr || t.quantization != nullptr) return false;
    switch (t.dtype) {
    case DType::f32: {
        const auto value = load<float>(t);
        const uint32_t bits = std::bit_cast<uint32_t>(value);
        const uint32_t exponent = bits & 0x7f800000U;
        if (exponent == 0x7f800000U || (exponent == 0 && bits != 0)) return false;
        record.lo = std::bit_cast<int64_t>(static_cast<double>(value));
        record.head.flags = kHasLo;
        return true;
    }
    case DType::i32: record.lo = load<int32_t>(t); break;
    case DType::i64: record.lo = load<int64_t>(t); break;
    case DType::boolean: record.lo = load<uint8_t>(t) != 0 ? 1 : 0; break;
    case DType::i8: record.lo = load<int8_t>(t); break;
    case DType::u8: record.lo = load<uint8_t>(t); break;
    case DType::i16: record.lo = load<int16_t>(t); break;
    default: return false;
    }
    record.head.flags = kHasLo | kLoIsInteger;
    return true;
}

bool isSingle(const Tensor& tensor) { return tensor.shape.rank() == 0 || tensor.elementCount() == 1; }

} // namespace

void TraceRecorder::Impl::operatorExecuted(const OperatorEvent& e)
{
    if (!m_isRunning || !m_index.has(e.graph, e.op)) return;
    m_lastStep = e.step + 1;
    if (m_level == 0) {
        dropStep(e.step, GapReason::level);
        return;
    }
    Open* open = find(e.invocation);
    if (open == nullptr) return;
    OperatorInfo& op = m_index.op(e.graph, e.op);
    if (e.results.size() == 1 && op.results == 1 && e.state == EventState::live && !m_hasFilter && !m_hashesAll && !m_samples) [[likely]] {
        const Tensor* tensor = e.results[0];
        ResultInfo& result = m_index.result(op, 0);
        ValueRecord record;
        if (tensor != nullptr && tensor->shape.rank() == 0 && result.shape.hasRank() && result.shape.rank() == 0 &&
            plainScalar(*tensor, record)) {
            record.head.kind = RecordKind::event;
            record.op = op.row;
            record.event = m_base + e.step;
            record.invocation = open->row;
            record.ns = e.ns;
            m_writer->ring.push(record);
            m_writer->ring.publish();
            m_digest =
                mix(mix(mix(mix(m_digest, static_cast<uint64_t>(e.step)), op.hash), open->pathHash), static_cast<uint64_t>(record.lo));
            endStep(e.step);
            return;
        }
    }
    recordSlowly(e, *open, op);
    endStep(e.step);
    if (op.calls > 0 && !m_rings.empty()) closeRing(e.invocation, e.op);
}

void TraceRecorder::Impl::endStep(int64_t step)
{
    if (((m_base + step) & (kDigestBlock - 1)) != kDigestBlock - 1) return;
    DigestRecord record;
    record.last = m_base + step;
    record.hash = m_digest;
    m_writer->ring.push(record);
    m_writer->ring.publish();
}

void TraceRecorder::Impl::recordSlowly(const OperatorEvent& e, Open& open, OperatorInfo& op)
{
    if (open.loop != nullptr && e.graph == open.graph) open.loop->bodyRan = true;
    if (m_hasFilter && !isSelected(open, e, op)) {
        dropStep(e.step, GapReason::filter);
        return;
    }
    if (m_options.sparse && open.sampled == Sampled::no) {
        dropStep(e.step, GapReason::policy);
        return;
    }
    m_group.clear();
    const int64_t event = m_base + e.step;
    m_digest = mix(mix(mix(m_digest, static_cast<uint64_t>(e.step)), op.hash), open.pathHash);
    const size_t slots = std::max<size_t>(1, std::min<size_t>(op.results, e.results.size()));
    for (size_t slot = 0; slot < slots; ++slot) {
        ValueRecord record;
        record.head.kind = slot == 0 ? RecordKind::event : RecordKind::output;
        record.op = slot == 0 ? op.row : static_cast<int32_t>(slot);
        record.event = event;
        record.invocation = open.row;
        record.ns = e.state == EventState::dead ? -1 : e.ns;
        RangeRecord range;
        AbnormalRecord abnormal;
        abnormal.slot = static_cast<int32_t>(slot);
        abnormal.event = event;
        bool hasAbnormal = false;
        const Tensor* tensor = slot < e.results.size() ? e.results[slot] : nullptr;
        if (e.state != EventState::live) {
            record.head.state = e.state == EventState::dead ? WriteState::dead : WriteState::failed;
        } else if (op.results == 0) {
            // Nothing is written; the row says that it ran.
        } else if (tensor == nullptr) {
            record.head.state = m_index.isTensorFlow() ? WriteState::dead : WriteState::notWritten;
        } else if (bool needsBytes = false; !describe(*tensor, e.device, record, range, abnormal, needsBytes)) {
            record.head.state = WriteState::failed;
        } else {
            ResultInfo& result = m_index.result(op, slot);
            takeShape(result, tensor->shape, event);
            hasAbnormal = abnormal.nan + abnormal.positiveInf + abnormal.negativeInf + abnormal.denormal + abnormal.saturated > 0;
            const bool wantsStored = m_hashesAll && wantsBytes(open, e, result, static_cast<int>(slot));
            if (m_hashesAll || needsBytes) {
                const WholeVariant whole(*tensor); // a recording is read when the run has gone
                const Tensor& content = whole.tensor();
                const ContentKey key = contentKey(content.dtype, content.shape, content.view());
                record.content = key.key;
                record.head.flags |= kHasContent;
                // What SQLite cannot hold is stored whatever the sampling says; anything else where it belongs.
                if (needsBytes) storeBytes(content, key, nullptr, -1);
                else if (wantsStored && open.sampled == Sampled::yes) storeBytes(content, key, nullptr, -1);
                else if (wantsStored && open.sampled == Sampled::maybe) storeBytes(content, key, open.ring, open.ringIteration);
            }
            if (hasAbnormal) raiseValueAlerts(abnormal, open, e, result, static_cast<int>(slot));
        }
        m_digest = mix(m_digest, static_cast<uint64_t>((record.head.flags & kHasContent) != 0 ? record.content : record.lo) ^
                                     static_cast<uint64_t>(record.head.state) << 56);
        addToGroup(record);
        if ((record.head.flags & kHasRange) != 0) {
            addToGroup(range);
            m_digest = mix(mix(m_digest, std::bit_cast<uint64_t>(range.hi)), std::bit_cast<uint64_t>(range.mean));
            m_digest = mix(mix(m_digest, std::bit_cast<uint64_t>(range.std)), static_cast<uint64_t>(range.zeros));
        }
        if (hasAbnormal) addToGroup(abnormal);
    }
    if (m_options.sparse && open.sampled == Sampled::maybe) {
        HeldEntry entry;
        entry.iteration = open.ringIteration;
        entry.records = m_group;
        entry.step = e.step;
        hold(*open.ring, std::move(entry));
        return;
    }
    pushGroup(m_group);
}

bool TraceRecorder::Impl::describe(const Tensor& tensor, DeviceMemory* device, ValueRecord& record, RangeRecord& range,
                                   AbnormalRecord& abnormal, bool& needsBytes) const
{
    const bool single = isSingle(tensor);
    if (single && plainScalar(tensor, record)) return true;
    // Nobody reads figures that are not written.
    if (m_writer->throttle.load(std::memory_order_relaxed) >= Throttle::noEvents) {
        record.head.state = WriteState::notTaken;
        return true;
    }
    std::optional<TensorStatistics> there;
    if (device && device->placementOf(tensor) == Placement::device) {
        there = device->describe(tensor);
        if (!there) device->hostBytes(tensor);
        if (!there && device->placementOf(tensor) == Placement::device) return false;
    }
    const TensorStatistics s = there ? *there : computeStatistics(tensor);
    abnormal.nan = s.nan;
    abnormal.positiveInf = s.positiveInf;
    abnormal.negativeInf = s.negativeInf;
    abnormal.denormal = s.denormal;
    abnormal.firstIndex = s.firstAbnormal;
    // Saturated elements alone are worth a row only if they are many.
    const bool isWorthARow = s.nan + s.positiveInf + s.negativeInf + s.denormal > 0 || s.saturated * 16 >= s.elements;
    abnormal.saturated = isWorthARow ? s.saturated : 0;
    if (s.finite > 0) {
        record.head.flags |= kHasLo;
        record.lo = std::bit_cast<int64_t>(s.min);
        if (!single) {
            record.head.flags |= kHasRange;
            range.hi = s.max;
            range.mean = s.mean;
            range.std = s.std;
            range.zeros = s.zeros;
        }
    }
    if (!single || tensor.data == nullptr) return true;
    if (tensor.dtype == DType::u64) {
        const auto value = load<uint64_t>(tensor);
        needsBytes = value > static_cast<uint64_t>(INT64_MAX);
        if (!needsBytes && tensor.quantization == nullptr) {
            record.lo = static_cast<int64_t>(value);
            record.head.flags |= kLoIsInteger;
        }
    } else if (dtypeClass(tensor.dtype) == DTypeClass::complex) {
        needsBytes = true; // one column cannot hold two numbers
    } else if (isFloat(tensor.dtype)) {
        needsBytes = s.nan > 0 || (s.finite > 0 && s.min == 0 && std::signbit(elementAsReal(tensor, 0)));
    }
    return true;
}

void TraceRecorder::Impl::takeShape(ResultInfo& result, const Shape& shape, int64_t event)
{
    if (result.shape == shape) return;
    result.shape = shape;
    if (result.value == 0) return;
    pushItem({ReshapeItem{result.value, event, shape}});
}

void TraceRecorder::Impl::raiseValueAlerts(const AbnormalRecord& abnormal, const Open& open, const OperatorEvent& e, ResultInfo& result,
                                           int slot)
{
    const bool isNew = (abnormal.nan > 0 && !result.hadNaN) || (abnormal.positiveInf + abnormal.negativeInf > 0 && !result.hadInfinity);
    if (!isNew) return;
    const std::string place = toString(addressOf(open, e.graph, e.op, slot));
    if (abnormal.nan > 0 && !std::exchange(result.hadNaN, true)) {
        alert("nan", m_base + e.step, slot, place + ": first NaN, at element " + std::to_string(abnormal.firstIndex), &open);
    }
    if (abnormal.positiveInf + abnormal.negativeInf > 0 && !std::exchange(result.hadInfinity, true)) {
        alert("overflow", m_base + e.step, slot, place + ": first infinity", &open);
    }
}

void TraceRecorder::Impl::alert(const char* kind, int64_t event, int slot, std::string text, const Open* where)
{
    if (where != nullptr && m_options.onAlert > 0) flushAround(*where);
    const int64_t count = ++m_alertCounts[kind];
    if (count > kAlertsPerKind) return;
    if (count == kAlertsPerKind) text += " (further alerts of this kind are not listed)";
    AlertItem item;
    item.run = m_run;
    item.event = event;
    item.slot = slot;
    item.kind = kind;
    item.text = std::move(text);
    pushItem({std::move(item)});
}

void TraceRecorder::Impl::variableAccessed(const VariableAccess& e)
{
    if (!m_isRunning || m_level == 0) return;
    AccessItem item;
    item.event = m_base + e.step;
    item.variable = e.name;
    item.kind = e.kind == VariableAccess::Kind::read ? "read" : e.kind == VariableAccess::Kind::write ? "write" : "create";
    if (e.value != nullptr) {
        ValueRecord record;
        RangeRecord range;
        AbnormalRecord abnormal;
        bool needsBytes = false;
        describe(*e.value, nullptr, record, range, abnormal, needsBytes);
        item.flags = record.head.flags;
        item.lo = record.lo;
        item.hi = range.hi;
        item.mean = range.mean;
        if (m_hashesAll || needsBytes) {
            const WholeVariant whole(*e.value);
            const Tensor& content = whole.tensor();
            const ContentKey key = contentKey(content.dtype, content.shape, content.view());
            item.flags |= kHasContent;
            item.content = key.key;
            if (needsBytes || m_level >= 4) storeBytes(content, key, nullptr, -1);
        }
    }
    pushItem({std::move(item)});
}

void TraceRecorder::Impl::printed(const PrintedText& e)
{
    if (!m_isRunning || m_level == 0) return;
    pushItem({PrintItem{m_base + e.step, std::string(e.stream), std::string(e.text)}});
}

void TraceRecorder::Impl::dropStep(int64_t step, GapReason reason)
{
    if (m_gap.first <= m_gap.last && m_gap.last + 1 == step && m_gap.reason == reason) {
        m_gap.last = step;
        return;
    }
    flushGap();
    m_gap.head.kind = RecordKind::gap;
    m_gap.reason = reason;
    m_gap.run = m_run;
    m_gap.first = m_gap.last = step;
}

void TraceRecorder::Impl::flushGap()
{
    if (m_gap.first > m_gap.last) return;
    m_writer->ring.push(m_gap);
    m_writer->ring.publish();
    m_gap.first = 0;
    m_gap.last = -1;
}

void TraceRecorder::Impl::pushGroup(const std::vector<RingSlot>& group)
{
    for (size_t i = 0; i < group.size(); ++i) {
        RingSlot slot = group[i];
        if (i + 1 < group.size()) {
            RecordHead head;
            std::memcpy(static_cast<void*>(&head), slot.bytes, sizeof(head));
            head.flags |= kContinues;
            std::memcpy(slot.bytes, &head, sizeof(head));
        }
        m_writer->ring.push(slot);
    }
    m_writer->ring.publish();
}

void TraceRecorder::Impl::pushItem(Item item)
{
    ItemRecord record;
    record.item = new Item(std::move(item)); // the writer takes it over
    m_writer->ring.push(record);
    m_writer->ring.publish();
}

} // namespace loopscope
