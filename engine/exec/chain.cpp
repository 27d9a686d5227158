#include "engine/exec/chain.h"

#include "engine/base/flushed_floats.h"
#include "engine/base/interruption.h"
#include "engine/exec/activation.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/selection.h"
#include "engine/ops/catalog.h"
#include "engine/ops/element_wise.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr int64_t kLeast = 1 << 14; ///< elements: smaller results stay in the cache anyway
constexpr int64_t kMost = 1 << 24;  ///< no longer than somebody waits who ends a run
// Elements of a strip. Kernels of `fast` are bound by memory: strips that fit a cache nearby. Those of `reference` are bound by what they
// do, and by what each call of them costs: strips that leave a cache of the machine's second level in time.
constexpr int64_t kStrip = 1 << 13;
constexpr int64_t kReferenceStrip = 1 << 15;
constexpr int64_t kWidest = 1 << 11; ///< a row
constexpr size_t kAlignment = 64;

bool isPlainFloat(const Tensor& tensor) { return tensor.dtype == DType::f32 && tensor.shape.isStatic() && !tensor.quantization; }

/// What an operand is to results of a shape.
enum class Form : uint8_t { whole, row, element, other };
Form formOf(const Shape& operand, const Shape& result)
{
    if (operand == result) return Form::whole;
    const int64_t count = operand.elementCount();
    if (count == 1) return operand.rank() <= result.rank() ? Form::element : Form::other;
    const bool isRow = result.rank() > 1 && operand.rank() >= 1 && operand.rank() <= result.rank() && operand.back() == count &&
                       count == result.back() && count <= kWidest;
    return isRow ? Form::row : Form::other;
}

/// Of an operand that is the same for all strips.
Shape fixedShape(const Shape& whole)
{
    const int64_t count = whole.elementCount();
    return count == 1 ? Shape() : Shape({count});
}

} // namespace

/// What one thread runs a strip with.
class Chain::Lane final : public KernelRuntime {
public:
    Lane(const Chain& chain, KernelRuntime& host)
        : m_host(host),
          m_blocks(static_cast<size_t>(chain.m_blocks) * blockBytes(chain) + kAlignment)
    {
        m_base = m_blocks.data() + (kAlignment - reinterpret_cast<uintptr_t>(m_blocks.data()) % kAlignment) % kAlignment;
        size_t inputs = 0;
        for (const Step& step : chain.m_steps) inputs += step.inputs.size();
        m_tensors.resize(inputs + chain.m_steps.size());
        m_pointers.resize(inputs);
    }

    /// The strip of elements `from` to `from + count` − 1.
    Status run(const Chain& chain, const Instruction* code, int64_t from, int64_t count)
    {
        if (count != m_shapedFor) shape(chain, code, count);
        const auto offset = static_cast<size_t>(from) * sizeof(float);
        Tensor* next = m_tensors.data();
        const Tensor** pointer = m_pointers.data();
        const auto place = [&](const Tensor& whole, const Operand& operand) {
            next->data = operand.place == Place::hidden ? m_base + static_cast<size_t>(operand.block) * blockBytes(chain)
                                                        : whole.data + (operand.place == Place::whole ? offset : 0);
            return next++;
        };
        for (size_t s = 0; s < chain.m_steps.size(); ++s) {
            const Step& step = chain.m_steps[s];
            const KernelArgs& whole = code[s].args;
            const Tensor** const inputs = pointer;
            for (size_t i = 0; i < step.inputs.size(); ++i) *pointer++ = place(*whole.inputs[i], step.inputs[i]);
            Tensor* result = place(*whole.outputs[0], step.result);
            const PreparedKernel& kernel = count < chain.m_strip ? step.rest : step.strip;
            LS_CHECK_OK(kernel.run({inputs, &result, kernel.params.get(), this, static_cast<int>(step.inputs.size()), 1}));
        }
        return {};
    }

    std::byte* scratch(size_t bytes) override
    {
        if (m_scratch.size() < bytes + kAlignment) m_scratch.resize(bytes + kAlignment);
        return m_scratch.data() + (kAlignment - reinterpret_cast<uintptr_t>(m_scratch.data()) % kAlignment) % kAlignment;
    }
    Status resize(Tensor&, const Shape&, size_t) override { return Error(ErrorCode::internal, "a strip was to be given another size"); }
    ResourceStore& resources() override { return m_host.resources(); }
    RandomState& random() override { return m_host.random(); }

    Status status; ///< of the strips that it was given

private:
    static size_t blockBytes(const Chain& chain) { return static_cast<size_t>(chain.m_strip) * sizeof(float); }
    /// Gives all operands the types that they have in strips of `count` elements.
    void shape(const Chain& chain, const Instruction* code, int64_t count)
    {
        m_shapedFor = count;
        const Shape strip = chain.shapeOf(count);
        Tensor* next = m_tensors.data();
        const auto add = [&](const Tensor& whole, const Operand& operand) {
            next->dtype = DType::f32;
            next->shape = operand.place == Place::fixed ? fixedShape(whole.shape) : strip;
            next->bytes = static_cast<size_t>(next->elementCount()) * sizeof(float);
            ++next;
        };
        for (size_t s = 0; s < chain.m_steps.size(); ++s) {
            const Step& step = chain.m_steps[s];
            for (size_t i = 0; i < step.inputs.size(); ++i) add(*code[s].args.inputs[i], step.inputs[i]);
            add(*code[s].args.outputs[0], step.result);
        }
    }

    KernelRuntime& m_host;
    std::vector<std::byte> m_blocks, m_scratch;
    std::byte* m_base = nullptr;
    std::vector<Tensor> m_tensors; ///< of all steps: operands, then the result
    std::vector<const Tensor*> m_pointers;
    int64_t m_shapedFor = 0;
};

Chain::Chain(int32_t begin, int32_t end) : m_begin(begin), m_end(end) {}
Chain::Chain(Chain&&) noexcept = default;
Chain& Chain::operator=(Chain&&) noexcept = default;
Chain::~Chain() = default;

Shape Chain::shapeOf(int64_t elements) const { return m_unit == 1 ? Shape({elements}) : Shape({elements / m_unit, m_unit}); }

std::vector<Chain> Chain::find(const Source& source, const std::vector<bool>& mayRun)
{
    std::vector<Chain> chains;
    const Graph& graph = source.model.graph(source.plan.graph);
    const auto count = static_cast<int32_t>(graph.operators.size());
    const auto tensorOf = [&](ValueId value) -> const Tensor& { return source.tensors[static_cast<size_t>(value.index)]; };
    const auto fits = [&](int32_t o, const Shape* shape) {
        const Operator& op = graph.operators[static_cast<size_t>(o)];
        const PlannedOperator& planned = source.plan.operators[static_cast<size_t>(o)];
        if (!mayRun[static_cast<size_t>(o)] || !planned.fixed || planned.call || op.results.size() != 1 || !isElementWise(op.kind))
            return false;
        const Tensor& result = tensorOf(op.results[0]);
        if (!isPlainFloat(result) || (shape && !(result.shape == *shape))) return false;
        const int64_t elements = result.shape.elementCount();
        return elements >= kLeast && elements <= kMost && std::ranges::all_of(op.inputs, [&](ValueId input) {
                   return input.valid() && !graph.value(input).type.isReference && isPlainFloat(tensorOf(input)) &&
                          formOf(tensorOf(input).shape, result.shape) != Form::other;
               });
    };
    for (int32_t begin = 0; begin < count;) {
        int32_t end = begin;
        const Shape* shape = nullptr;
        for (; end < count && fits(end, shape); ++end) shape = &tensorOf(graph.operators[static_cast<size_t>(end)].results[0]).shape;
        if (end - begin > 1) {
            Chain chain(begin, end);
            if (chain.prepare(source)) chains.push_back(std::move(chain));
        }
        begin = std::max(end, begin + 1);
    }
    return chains;
}

/// False: some kernel does not do strips, or another one would.
bool Chain::prepare(const Source& source)
{
    placeOperands(source);
    for (int32_t o = m_begin; o < m_end; ++o) {
        Step& step = m_steps[static_cast<size_t>(o - m_begin)];
        if (m_count >= m_strip && !prepareStep(source, o, m_strip, step.strip)) return false;
        if (m_count % m_strip != 0 && !prepareStep(source, o, m_count % m_strip, step.rest)) return false;
    }
    return true;
}

/// A result is hidden if its last reader is one of the chain's, but not the last operator: what that reads can be looked at behind it.
void Chain::placeOperands(const Source& source)
{
    const Graph& graph = source.model.graph(source.plan.graph);
    const auto tensorOf = [&](ValueId value) -> const Tensor& { return source.tensors[static_cast<size_t>(value.index)]; };
    const Shape& shape = tensorOf(graph.operators[static_cast<size_t>(m_begin)].results[0]).shape;
    m_count = shape.elementCount();
    std::vector<int32_t> freeAfter;                  ///< by block: the operator that reads it last
    std::vector<std::pair<ValueId, int32_t>> hidden; ///< and in which block
    for (int32_t o = m_begin; o < m_end; ++o) {
        const Operator& op = graph.operators[static_cast<size_t>(o)];
        Step& step = m_steps.emplace_back();
        for (const ValueId input : op.inputs) {
            Operand& operand = step.inputs.emplace_back();
            const Form form = formOf(tensorOf(input).shape, shape);
            if (form == Form::row) m_unit = shape.back();
            if (form != Form::whole) operand.place = Place::fixed;
            for (const auto& [value, block] : hidden)
                if (value == input) operand = {Place::hidden, block};
        }
        const PlannedValue& result = source.plan.value(op.results[0]);
        if (result.storage != Storage::arena || result.last >= m_end - 1 || o == m_end - 1) continue;
        auto block = static_cast<int32_t>(std::ranges::find_if(freeAfter, [&](int32_t last) { return last < o; }) - freeAfter.begin());
        if (block == std::ssize(freeAfter)) freeAfter.push_back(0);
        freeAfter[static_cast<size_t>(block)] = std::max(result.last, o);
        hidden.emplace_back(op.results[0], block);
        step.result = {Place::hidden, block};
    }
    m_blocks = static_cast<int32_t>(freeAfter.size());
    const int64_t wanted = source.options.profile == Profile::reference ? kReferenceStrip : kStrip;
    m_strip = std::max(wanted / m_unit, int64_t{1}) * m_unit;
}

bool Chain::prepareStep(const Source& source, int32_t o, int64_t elements, PreparedKernel& kernel) const
{
    const Operator& op = source.model.graph(source.plan.graph).operators[static_cast<size_t>(o)];
    const Step& step = m_steps[static_cast<size_t>(o - m_begin)];
    std::vector<Tensor> tensors(op.inputs.size() + 1);
    std::vector<const Tensor*> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
        tensors[i] = source.tensors[static_cast<size_t>(op.inputs[i].index)];
        const bool isFixed = step.inputs[i].place == Place::fixed;
        tensors[i].shape = isFixed ? fixedShape(tensors[i].shape) : shapeOf(elements);
        if (!isFixed) tensors[i].data = nullptr; // a constant's are more than those of a strip
        tensors[i].bytes = static_cast<size_t>(tensors[i].shape.elementCount()) * sizeof(float);
        inputs.push_back(&tensors[i]);
    }
    InferredType inferred{DType::f32, Shape::unknownRank()};
    if (!inferOperator(op, inputs, {&inferred, 1}).ok() || !(inferred.shape == shapeOf(elements)) || inferred.dtype != DType::f32)
        return false;
    tensors.back().dtype = DType::f32;
    tensors.back().shape = shapeOf(elements);
    tensors.back().bytes = static_cast<size_t>(elements) * sizeof(float);
    const Tensor* const result = &tensors.back();
    Result<ChosenKernel> chosen =
        chooseKernel(source.registry, KernelSetup{op, inputs, {&result, 1}, true, &source.model}, source.options.profileOf(op));
    if (!chosen.ok() || chosen->used != source.used[static_cast<size_t>(o)]) return false;
    kernel = std::move(chosen->kernel);
    return true;
}

bool Chain::fits(const Instruction* code) const
{
    const auto endOf = [](const Tensor& tensor) { return tensor.data + tensor.bytes; };
    for (const Step& writer : m_steps) {
        if (writer.result.place == Place::hidden) continue;
        const Tensor& result = *code[&writer - m_steps.data()].args.outputs[0];
        for (const Step& reader : m_steps)
            for (size_t i = 0; i < reader.inputs.size(); ++i) {
                if (reader.inputs[i].place == Place::hidden) continue;
                const Tensor& operand = *code[&reader - m_steps.data()].args.inputs[i];
                if (operand.data >= endOf(result) || result.data >= endOf(operand)) continue;
                // The same place is that of an operand nobody reads any more, strip by strip, or of the result itself.
                if (reader.inputs[i].place == Place::fixed || operand.data != result.data) return false;
            }
    }
    return true;
}

Status Chain::run(const Instruction* code, KernelRuntime& runtime)
{
    const int64_t strips = (m_count + m_strip - 1) / m_strip;
    const int threads = FlushedFloats::isOn() ? 1 : runtime.threads(); // other threads take denormals as they are
    while (std::ssize(m_lanes) < threads) m_lanes.push_back(std::make_unique<Lane>(*this, runtime));
    const InterruptionScope heedsNothing(nullptr); // a strip that is done has changed what lies where operands lay
    for (const std::unique_ptr<Lane>& lane : m_lanes) lane->status = {};
    const auto work = [&](int64_t first, int64_t last, int thread) {
        Lane& lane = *m_lanes[static_cast<size_t>(thread)];
        for (int64_t strip = first; strip < last && lane.status.ok(); ++strip)
            lane.status = lane.run(*this, code, strip * m_strip, std::min(m_strip, m_count - strip * m_strip));
    };
    if (threads == 1) work(0, strips, 0);
    else runtime.parallel(strips, work);
    for (const std::unique_ptr<Lane>& lane : m_lanes)
        if (!lane->status.ok()) return std::move(lane->status);
    return {};
}

} // namespace loopscope
