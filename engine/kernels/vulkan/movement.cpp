// Kernels that only move elements: transposing, slicing, padding, joining and the like. None of them is written here: while it is prepared,
// the reference kernel runs on numbers that name the elements, and where they arrive is what the device repeats: a strided copy of a box
// for each operand where the places are regular, else a copy by table.
#include "engine/kernels/vulkan/families.h"

#include <algorithm>
#include <cstring>

namespace loopscope::vulkan {

namespace {

constexpr int kMostSteps = 6;
constexpr int32_t kNowhere = -1;

/// The push constants of copy.comp.
struct CopyParameters {
    uint32_t count = 0, rank = 0;
    uint32_t dims[kMostSteps] = {};
    int32_t stepIn[kMostSteps] = {}, stepOut[kMostSteps] = {};
    int32_t beginIn = 0, beginOut = 0;
    uint32_t fillLow = 0, fillHigh = 0;

    std::vector<uint32_t> words() const
    {
        std::vector<uint32_t> all(sizeof(*this) / 4);
        std::memcpy(all.data(), this, sizeof(*this));
        return all;
    }
};

/// Operands whose elements are moved; the others say how.
bool isMoved(std::string_view name, size_t i, size_t count)
{
    if (name == "ConcatV2") return i + 1 < count;
    if (name == "PadV2") return i != 1;
    if (name == "concatenation" || name == "pack" || name == "Pack" || name == "stablehlo_concatenate") return true;
    if (name == "split" || name == "Split") return i == 1;
    if (name == "padv2" || name == "stablehlo_pad")
        return i == 0 || (i == count - 1 && name == "padv2") || (i == 1 && name == "stablehlo_pad");
    if (name == "embedding_lookup") return i == 1;
    if (name == "dilate") return i != 1;
    if (name == "dynamic_update_slice" || name == "stablehlo_dynamic_update_slice") return i <= 1;
    return i == 0;
}

/// A tensor of numbers in place of elements.
struct Numbered {
    Tensor tensor;
    std::vector<int32_t> numbers;
};

/// Where each element of a result comes from: operand and place.
struct Origin {
    int operand = kNowhere; ///< nowhere: it is filled
    int32_t place = 0;
};

/// A box of the result whose elements come from one operand in steps.
struct Box {
    int operand = kNowhere;
    std::vector<int64_t> begin, size, stepIn;
    int64_t beginIn = 0;
};

class Places {
public:
    Places(Shape shape, std::vector<Origin> origins) : m_shape(std::move(shape)), m_origins(std::move(origins)) {}
    const std::vector<Origin>& origins() const { return m_origins; }

    /// The elements from one operand, if they fill a box and their places go in steps.
    std::optional<Box> boxOf(int operand) const
    {
        const auto rank = static_cast<size_t>(m_shape.rank());
        Box box{operand, {}, {}, std::vector<int64_t>(rank, 0), 0};
        std::vector<int64_t> first, last, at(rank, 0);
        int64_t count = 0;
        for (const Origin& origin : m_origins) {
            if (origin.operand == operand) {
                if (count++ == 0) first = last = at;
                for (size_t d = 0; d < rank; ++d) {
                    first[d] = std::min(first[d], at[d]);
                    last[d] = std::max(last[d], at[d]);
                }
            }
            advance(at);
        }
        if (count == 0) return std::nullopt;
        int64_t whole = 1;
        for (size_t d = 0; d < rank; ++d) whole *= last[d] - first[d] + 1;
        if (whole != count) return std::nullopt;
        box.begin = first;
        for (size_t d = 0; d < rank; ++d) box.size.push_back(last[d] - first[d] + 1);
        box.beginIn = origin(first).place;
        for (size_t d = 0; d < rank; ++d) {
            if (box.size[d] == 1) continue;
            std::vector<int64_t> next = first;
            ++next[d];
            box.stepIn[d] = origin(next).place - box.beginIn;
        }
        return isRegular(box) ? std::optional(box) : std::nullopt;
    }

private:
    void advance(std::vector<int64_t>& at) const
    {
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < m_shape[static_cast<int>(d)]) return;
            at[d] = 0;
        }
    }
    const Origin& origin(const std::vector<int64_t>& at) const
    {
        int64_t index = 0;
        for (size_t d = 0; d < at.size(); ++d) index = index * m_shape[static_cast<int>(d)] + at[d];
        return m_origins[static_cast<size_t>(index)];
    }
    bool isRegular(const Box& box) const
    {
        std::vector<int64_t> at(box.begin.size(), 0);
        for (const Origin& origin : m_origins) {
            if (origin.operand == box.operand) {
                int64_t place = box.beginIn;
                for (size_t d = 0; d < at.size(); ++d) place += (at[d] - box.begin[d]) * box.stepIn[d];
                if (place != origin.place) return false;
            }
            advance(at);
        }
        return true;
    }

    Shape m_shape;
    std::vector<Origin> m_origins;
};

/// Runs the reference kernel on numbered elements, from 1 on through all moved operands; 0 is what it fills with.
Result<std::vector<Places>> placesOf(const KernelSetup& setup)
{
    const size_t count = setup.inputs.size();
    std::vector<Numbered> numbered(count);
    std::vector<const Tensor*> inputs = {setup.inputs.begin(), setup.inputs.end()};
    std::vector<int64_t> firsts(count, -1);
    int64_t next = 1;
    for (size_t i = 0; i < count; ++i) {
        if (!inputs[i]) continue;
        if (!isMoved(setup.op.kind.name, i, count)) {
            if (!inputs[i]->data) return unsupported("operand " + std::to_string(i) + " is known only when running");
            continue;
        }
        firsts[i] = next;
        const int64_t elements = inputs[i]->elementCount();
        for (int64_t e = 0; e < elements; ++e) numbered[i].numbers.push_back(static_cast<int32_t>(next + e));
        next += elements;
        if (next >= INT32_MAX) return unsupported("more than 2^31 elements");
        numbered[i].tensor = *inputs[i];
        numbered[i].tensor.dtype = DType::i32;
        numbered[i].tensor.quantization = nullptr;
        numbered[i].tensor.data = reinterpret_cast<std::byte*>(numbered[i].numbers.data());
        numbered[i].tensor.bytes = numbered[i].numbers.size() * 4;
        inputs[i] = &numbered[i].tensor;
    }
    std::vector<Numbered> results(setup.outputs.size());
    std::vector<Tensor*> outputs;
    for (size_t k = 0; k < results.size(); ++k) {
        Numbered& result = results[k];
        result.tensor = setup.out(static_cast<int>(k));
        result.numbers.resize(static_cast<size_t>(result.tensor.elementCount()));
        result.tensor.dtype = DType::i32;
        result.tensor.quantization = nullptr;
        result.tensor.data = reinterpret_cast<std::byte*>(result.numbers.data());
        result.tensor.bytes = result.numbers.size() * 4;
        outputs.push_back(&result.tensor);
    }
    LS_CHECK_OK(runReference(setup, inputs, outputs));
    std::vector<Places> places;
    for (const Numbered& result : results) {
        std::vector<Origin> origins(result.numbers.size());
        for (size_t e = 0; e < origins.size(); ++e) {
            const int64_t number = result.numbers[e];
            for (size_t i = 0; i < count && number > 0; ++i)
                if (firsts[i] >= 0 && number >= firsts[i] && number < firsts[i] + std::max<int64_t>(inputs[i]->elementCount(), 0))
                    origins[e] = {static_cast<int>(i), static_cast<int32_t>(number - firsts[i])};
        }
        places.emplace_back(result.tensor.shape, std::move(origins));
    }
    return places;
}

bool isMovedAsStored(const KernelSetup& setup)
{
    const auto same = [](const Tensor& a, const Tensor& b) {
        if (a.dtype != b.dtype) return false;
        if (!a.quantization || !b.quantization) return true;
        const bool plain = a.quantization->isPerTensor() && b.quantization->isPerTensor();
        return !plain || (a.quantization->scale() == b.quantization->scale() && a.quantization->zeroPoint() == b.quantization->zeroPoint());
    };
    for (size_t i = 0; i < setup.inputs.size(); ++i)
        if (setup.inputs[i] && isMoved(setup.op.kind.name, i, setup.inputs.size()))
            for (const Tensor* const result : setup.outputs)
                if (!same(*setup.inputs[i], *result)) return false;
    return true;
}

class MovementPlan {
public:
    MovementPlan(PlanBuilder& builder, Code store, int64_t fill) : m_builder(builder), m_store(store), m_fill(fill) {}

    Status addResult(int k, const Places& places)
    {
        const auto count = static_cast<int64_t>(places.origins().size());
        const bool isFilled = std::ranges::any_of(places.origins(), [](const Origin& o) { return o.operand == kNowhere; });
        if (isFilled) LS_CHECK_OK(addFill(k, count));
        for (size_t i = 0; i < m_builder.setup().inputs.size(); ++i) {
            const int operand = static_cast<int>(i);
            if (std::ranges::none_of(places.origins(), [&](const Origin& o) { return o.operand == operand; })) continue;
            if (const std::optional<Box> box = places.boxOf(operand)) {
                LS_TRY(const bool fits, addBox(k, *box));
                if (fits) continue;
            }
            LS_CHECK_OK(addTable(k, operand, places));
        }
        return {};
    }

private:
    Status addFill(int k, int64_t count)
    {
        CopyParameters p;
        p.count = static_cast<uint32_t>(count);
        p.fillLow = static_cast<uint32_t>(m_fill);
        p.fillHigh = static_cast<uint32_t>(static_cast<uint64_t>(m_fill) >> 32);
        const Place out = PlanBuilder::out(k);
        return m_builder.addElements(Shader::copy, {m_store, 2}, {out, out, out}, p.words(), count);
    }

    Status addTable(int k, int operand, const Places& places)
    {
        std::vector<int32_t> table;
        for (const Origin& origin : places.origins()) table.push_back(origin.operand == operand ? origin.place : kNowhere);
        CopyParameters p;
        p.count = static_cast<uint32_t>(table.size());
        const Place in = m_builder.in(operand), from = m_builder.constant(std::span<const int32_t>(table));
        return m_builder.addElements(Shader::copy, {m_store, 1}, {in, PlanBuilder::out(k), from}, p.words(),
                                     static_cast<int64_t>(table.size()));
    }

    /// False: it has more dimensions than the shader.
    Result<bool> addBox(int k, const Box& box)
    {
        const Shape& shape = m_builder.setup().out(k).shape;
        CopyParameters p;
        p.beginIn = static_cast<int32_t>(box.beginIn);
        int64_t width = 1, count = 1;
        for (int d = shape.rank() - 1; d >= 0; --d) {
            const auto at = static_cast<size_t>(d);
            p.beginOut += static_cast<int32_t>(box.begin[at] * width);
            count *= box.size[at];
            if (box.size[at] > 1) {
                const auto before = static_cast<int64_t>(p.rank) - 1;
                if (p.rank > 0 && box.stepIn[at] == int64_t{p.stepIn[before]} * p.dims[before] &&
                    width == int64_t{p.stepOut[before]} * p.dims[before]) {
                    p.dims[before] *= static_cast<uint32_t>(box.size[at]);
                } else {
                    if (p.rank == kMostSteps) return false;
                    p.dims[p.rank] = static_cast<uint32_t>(box.size[at]);
                    p.stepIn[p.rank] = static_cast<int32_t>(box.stepIn[at]);
                    p.stepOut[p.rank++] = static_cast<int32_t>(width);
                }
            }
            width *= shape[d];
        }
        p.count = static_cast<uint32_t>(count);
        const Place in = m_builder.in(box.operand);
        LS_CHECK_OK(m_builder.addElements(Shader::copy, {m_store, 0}, {in, PlanBuilder::out(k), in}, p.words(), count));
        return true;
    }

    PlanBuilder& m_builder;
    const Code m_store;
    const int64_t m_fill;
};

} // namespace

Result<PreparedKernel> planMovement(const KernelSetup& setup, const KernelLine&)
{
    const Tensor& result = setup.out(0);
    const std::optional<Code> store = storeOfWidth(result.dtype);
    if (!store || !isMovedAsStored(setup)) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    LS_TRY(const std::vector<Places> places, placesOf(setup));
    // What is filled stands for the real number 0 in padding, and is the bits 0 elsewhere.
    const bool isPadding = setup.op.kind.name == "pad" || setup.op.kind.name == "space_to_batch_nd";
    const bool isQuantized = result.quantization && result.quantization->isPerTensor() && isInteger(result.dtype);
    MovementPlan plan(builder, *store, isPadding && isQuantized ? result.quantization->zeroPoint() : 0);
    for (size_t k = 0; k < places.size(); ++k) LS_CHECK_OK(plan.addResult(static_cast<int>(k), places[k]));
    return builder.done();
}

Result<PreparedKernel> planReshape(const KernelSetup& setup, const KernelLine&)
{
    const std::optional<Code> store = storeOfWidth(setup.out(0).dtype);
    if (!store || bitWidth(setup.in(0).dtype) != bitWidth(setup.out(0).dtype)) return wrongDtypes(setup);
    if (setup.in(0).elementCount() != setup.out(0).elementCount()) return unsupported("another number of elements");
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    // Buffers end at a multiple of 16 bytes: whole words are moved.
    const int64_t words = (setup.out(0).elementCount() * bitWidth(setup.out(0).dtype) / 8 + 3) / 4;
    CopyParameters p;
    p.count = static_cast<uint32_t>(words);
    p.rank = 1;
    p.dims[0] = p.count;
    p.stepIn[0] = p.stepOut[0] = 1;
    const Place in = builder.in(0);
    LS_CHECK_OK(builder.addElements(Shader::copy, {storeI32, 0}, {in, PlanBuilder::out(0), in}, p.words(), words));
    return builder.done();
}

} // namespace loopscope::vulkan
