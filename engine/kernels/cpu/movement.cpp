// Shared machinery of the data movement kernels.
#include "engine/kernels/cpu/movement.h"

#include "engine/base/interruption.h"
#include "engine/tensor/strings.h"

#include <algorithm>

#include <cstring>
#include <limits>
#include <new>

namespace loopscope {
namespace {

/// N bytes that are copied together, at any alignment.
template <size_t N> void copyRun(const std::byte* source, std::byte* target, int64_t count, int64_t sourceStep, int64_t targetStep)
{
    for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * targetStep, source + i * sourceStep, N);
}

void copyInner(const std::byte* source, std::byte* target, int64_t count, int64_t sourceStep, int64_t targetStep, int64_t size)
{
    if (sourceStep == size && targetStep == size) {
        std::memcpy(target, source, static_cast<size_t>(count * size));
        return;
    }
    switch (size) {
    case 1: return copyRun<1>(source, target, count, sourceStep, targetStep);
    case 2: return copyRun<2>(source, target, count, sourceStep, targetStep);
    case 4: return copyRun<4>(source, target, count, sourceStep, targetStep);
    case 8: return copyRun<8>(source, target, count, sourceStep, targetStep);
    case 16: return copyRun<16>(source, target, count, sourceStep, targetStep);
    default:
        for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * targetStep, source + i * sourceStep, static_cast<size_t>(size));
    }
}

/// The kernel that a wrapper calls.
struct Wrapped {
    KernelFunction run;
    std::shared_ptr<const void> params;
};

/// Operands and results with some of them replaced.
class Shadows {
public:
    explicit Shadows(const KernelArgs& args) : m_args(args), m_tensors(static_cast<size_t>(args.inputCount + args.outputCount))
    {
        for (int i = 0; i < args.inputCount; ++i) m_inputs.push_back(args.inputs[i]);
        for (int k = 0; k < args.outputCount; ++k) m_outputs.push_back(args.outputs[k]);
    }
    void replaceInput(int i, DType dtype, std::byte* data)
    {
        Tensor& t = m_tensors[static_cast<size_t>(i)];
        set(t, m_args.in(i), dtype, data);
        m_inputs[static_cast<size_t>(i)] = &t;
    }
    void replaceOutput(int k, DType dtype, std::byte* data)
    {
        Tensor& t = m_tensors[static_cast<size_t>(m_args.inputCount + k)];
        set(t, m_args.out(k), dtype, data);
        m_outputs[static_cast<size_t>(k)] = &t;
    }
    Status run()
    {
        const auto& wrapped = m_args.paramsAs<Wrapped>();
        KernelArgs inner = m_args;
        inner.inputs = m_inputs.data();
        inner.outputs = m_outputs.data();
        inner.params = wrapped.params.get();
        return wrapped.run(inner);
    }

private:
    static void set(Tensor& t, const Tensor& like, DType dtype, std::byte* data)
    {
        t.shape = like.shape;
        t.dtype = dtype;
        t.data = data;
        t.quantization = like.quantization;
        t.bytes = byteSize(dtype, like.elementCount());
    }

    const KernelArgs& m_args;
    std::vector<Tensor> m_tensors;
    std::vector<const Tensor*> m_inputs;
    std::vector<Tensor*> m_outputs;
};

bool isPacked(const Tensor& t) { return bitWidth(t.dtype) > 0 && bitWidth(t.dtype) < 8; }

void unpack(const Tensor& packed, std::byte* bytes)
{
    const int bits = bitWidth(packed.dtype);
    const int perByte = 8 / bits;
    const unsigned mask = (1U << bits) - 1;
    const int64_t count = packed.elementCount();
    for (int64_t i = 0; i < count; ++i)
        bytes[i] =
            static_cast<std::byte>((static_cast<unsigned>(packed.data[i / perByte]) >> (bits * static_cast<int>(i % perByte))) & mask);
}

void repack(const std::byte* bytes, Tensor& packed)
{
    const int bits = bitWidth(packed.dtype);
    const int perByte = 8 / bits;
    const unsigned mask = (1U << bits) - 1;
    const int64_t count = packed.elementCount();
    std::memset(packed.data, 0, byteSize(packed.dtype, count));
    for (int64_t i = 0; i < count; ++i)
        packed.data[i / perByte] |=
            static_cast<std::byte>((static_cast<unsigned>(bytes[i]) & mask) << (bits * static_cast<int>(i % perByte)));
}

Status runPacked(const KernelArgs& args)
{
    size_t total = 0;
    for (int i = 0; i < args.inputCount; ++i)
        if (args.has(i) && isPacked(args.in(i))) total += static_cast<size_t>(args.in(i).elementCount());
    for (int k = 0; k < args.outputCount; ++k)
        if (isPacked(args.out(k))) total += static_cast<size_t>(args.out(k).elementCount());
    std::byte* at = args.runtime->scratch(total);
    Shadows shadows(args);
    for (int i = 0; i < args.inputCount; ++i) {
        if (!args.has(i) || !isPacked(args.in(i))) continue;
        unpack(args.in(i), at);
        shadows.replaceInput(i, DType::i8, at);
        at += args.in(i).elementCount();
    }
    std::vector<std::byte*> results(static_cast<size_t>(args.outputCount));
    for (int k = 0; k < args.outputCount; ++k) {
        if (!isPacked(args.out(k))) continue;
        results[static_cast<size_t>(k)] = at;
        shadows.replaceOutput(k, DType::i8, at);
        at += args.out(k).elementCount();
    }
    LS_CHECK_OK(shadows.run());
    for (int k = 0; k < args.outputCount; ++k)
        if (isPacked(args.out(k))) repack(results[static_cast<size_t>(k)], args.out(k));
    return {};
}

/// More strings than this do not fit a block with int32 offsets.
constexpr int64_t kMaxStrings = std::numeric_limits<int32_t>::max() / 4 - 2;

Status runStringsUnguarded(const KernelArgs& args)
{
    std::vector<std::string_view> all = {std::string_view()}; // number 0
    std::vector<std::vector<int32_t>> numbers(static_cast<size_t>(args.inputCount + args.outputCount));
    Shadows shadows(args);
    for (int i = 0; i < args.inputCount; ++i) {
        if (!args.has(i) || args.in(i).dtype != DType::string) continue;
        LS_TRY(const auto strings, readStrings(args.in(i)));
        auto& own = numbers[static_cast<size_t>(i)];
        for (const std::string_view s : strings) {
            own.push_back(static_cast<int32_t>(all.size()));
            all.push_back(s);
        }
        shadows.replaceInput(i, DType::i32, reinterpret_cast<std::byte*>(own.data()));
    }
    for (int k = 0; k < args.outputCount; ++k) {
        if (args.out(k).dtype != DType::string) continue;
        auto& own = numbers[static_cast<size_t>(args.inputCount + k)];
        const int64_t count = args.out(k).elementCount();
        if (count > kMaxStrings)
            return Error(ErrorCode::execution, "too many strings")
                .found(std::to_string(count))
                .expected("at most " + std::to_string(kMaxStrings));
        own.resize(static_cast<size_t>(count));
        shadows.replaceOutput(k, DType::i32, reinterpret_cast<std::byte*>(own.data()));
    }
    LS_CHECK_OK(shadows.run());
    std::vector<std::string_view> chosen;
    for (int k = 0; k < args.outputCount; ++k) {
        if (args.out(k).dtype != DType::string) continue;
        chosen.clear();
        for (const int32_t number : numbers[static_cast<size_t>(args.inputCount + k)]) chosen.push_back(all[static_cast<size_t>(number)]);
        const Shape shape = args.out(k).shape;
        LS_CHECK_OK(writeStrings(*args.runtime, args.out(k), shape, chosen));
    }
    return {};
}

Status runStrings(const KernelArgs& args)
{
    try {
        return runStringsUnguarded(args);
    } catch (const std::bad_alloc&) {
        return Error(ErrorCode::execution, "out of memory for strings");
    }
}

} // namespace

Error kernelError(int constraint, std::string what, const char* file, int line)
{
    return Error(ErrorCode::execution, "C" + std::to_string(constraint) + ": " + std::move(what), file, line);
}

Error atRunTime(Error error)
{
    error.detail().code = ErrorCode::execution;
    return error;
}

int64_t indexAt(const Tensor& tensor, int64_t i)
{
    switch (tensor.dtype) {
    case DType::i32: return tensor.as<int32_t>()[i];
    case DType::i64: return tensor.as<int64_t>()[i];
    case DType::i16: return tensor.as<int16_t>()[i];
    case DType::i8: return tensor.as<int8_t>()[i];
    case DType::u32: return tensor.as<uint32_t>()[i];
    case DType::u8:
    case DType::boolean: return tensor.as<uint8_t>()[i];
    default: return 0;
    }
}

void StridedCopy::add(int64_t count, int64_t sourceStride, int64_t targetStride)
{
    if (count == 0) m_empty = true;
    if (count == 1 || m_rank > kMaxRank) return;
    if (m_rank > 0) {
        Dim& outer = m_dims[static_cast<size_t>(m_rank - 1)];
        if (outer.source == count * sourceStride && outer.target == count * targetStride) {
            outer = {outer.count * count, sourceStride, targetStride};
            return;
        }
    }
    if (m_rank < kMaxRank) m_dims[static_cast<size_t>(m_rank)] = {count, sourceStride, targetStride};
    ++m_rank;
}

void StridedCopy::run(const std::byte* source, std::byte* target, int64_t size) const
{
    if (m_empty || !fits()) return;
    if (m_rank == 0) {
        std::memcpy(target, source, static_cast<size_t>(size));
        return;
    }
    const Dim& inner = m_dims[static_cast<size_t>(m_rank - 1)];
    const int64_t sourceStep = inner.source * size;
    const int64_t targetStep = inner.target * size;
    std::array<int64_t, kMaxRank> index = {};
    LoopPace pace;
    while (true) {
        copyInner(source, target, inner.count, sourceStep, targetStep, size);
        pace.did(inner.count);
        int d = m_rank - 2;
        for (; d >= 0; --d) {
            const Dim& dim = m_dims[static_cast<size_t>(d)];
            source += dim.source * size;
            target += dim.target * size;
            if (++index[static_cast<size_t>(d)] < dim.count) break;
            source -= dim.count * dim.source * size;
            target -= dim.count * dim.target * size;
            index[static_cast<size_t>(d)] = 0;
        }
        if (d < 0) return;
    }
}

Status StridedCopy::runChecked(const std::byte* source, std::byte* target, int64_t size) const
{
    if (!fits()) return Error(ErrorCode::unsupported, "too many dimensions to move").expected("at most " + std::to_string(kMaxRank));
    run(source, target, size);
    return {};
}

Result<PreparedKernel> prepareMovement(DType dtype, KernelFunction run, std::shared_ptr<const void> params)
{
    const int bits = bitWidth(dtype);
    if (bits >= 8) return PreparedKernel{run, std::move(params)};
    if (bits > 0) return PreparedKernel{runPacked, std::make_shared<Wrapped>(Wrapped{run, std::move(params)})};
    if (dtype == DType::string) return PreparedKernel{runStrings, std::make_shared<Wrapped>(Wrapped{run, std::move(params)})};
    return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(dtype)));
}

Status writeStrings(KernelRuntime& runtime, Tensor& output, const Shape& shape, std::span<const std::string_view> strings)
{
    const size_t header = 4 * (strings.size() + 2);
    size_t total = header;
    for (const std::string_view s : strings) total += s.size();
    if (total > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        return Error(ErrorCode::execution, "strings are too long together")
            .found(std::to_string(total) + " bytes")
            .expected("less than 2 GiB");
    LS_CHECK_OK(runtime.resize(output, shape, total));
    const auto put = [&](size_t slot, size_t value) {
        const auto word = static_cast<int32_t>(value);
        std::memcpy(output.data + 4 * slot, &word, 4);
    };
    put(0, strings.size());
    size_t at = header;
    for (size_t i = 0; i < strings.size(); ++i) {
        put(1 + i, at);
        if (!strings[i].empty()) std::memcpy(output.data + at, strings[i].data(), strings[i].size());
        at += strings[i].size();
    }
    put(1 + strings.size(), at);
    return {};
}

Result<std::vector<std::string_view>> readStrings(const Tensor& tensor)
{
    auto strings = unpackStrings(tensor.view());
    if (!strings.ok()) return atRunTime(std::move(strings).takeError());
    const int64_t count = tensor.elementCount();
    if (strings->empty() && count > 0 && tensor.bytes == 0)
        return std::vector<std::string_view>(static_cast<size_t>(std::min<int64_t>(count, kMaxStrings)));
    if (static_cast<int64_t>(strings->size()) != count)
        return Error(ErrorCode::execution, "strings in a tensor of shape " + toString(tensor.shape))
            .found(std::to_string(strings->size()))
            .expected(std::to_string(count));
    return strings;
}

} // namespace loopscope
