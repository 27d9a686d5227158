// CPU kernels of the custom operators of front ends for microcontrollers that remember samples: tflite-micro's signal/micro/kernels
// (delay.cc, framer.cc, stacker.cc, overlap_add.cc). What each remembers is a variable of the session, a row for each row of its operand.
#include "engine/ir/random_stream.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/ops/signal/audio_options.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

using namespace loopscope;

namespace {

int64_t option(const KernelArgs& args, std::string_view key) { return audioOption(args.paramsAs<Operator>().attributes, key); }
template <KernelFunction function> Result<PreparedKernel> prepareFrames(const KernelSetup& setup)
{
    return PreparedKernel{function, std::make_shared<const Operator>(setup.op)};
}

/// What an operator remembers. At first each row has `length` zeros.
Result<Variable*> memoryOf(const KernelArgs& args, int64_t rows, int64_t length)
{
    ResourceStore& store = args.runtime->resources();
    Variable* const memory = store.variable(store.handle("samples/" + std::to_string(randomStreamIdentity(args.paramsAs<Operator>()))));
    constexpr int64_t kMostSamples = int64_t{1} << 28;
    if (length > 0 && rows > kMostSamples / length)
        return Error(ErrorCode::execution,
                     std::to_string(rows) + " rows of " + std::to_string(length) + " samples are too many to remember");
    if (!memory->assigned) {
        memory->assigned = true;
        memory->dtype = args.in(0).dtype;
        memory->shape = Shape({rows, length});
        memory->bytes.assign(static_cast<size_t>(rows * length * (bitWidth(memory->dtype) / 8)), std::byte{0});
    }
    if (memory->shape[0] == rows) return memory;
    return Error(ErrorCode::execution, "samples of " + std::to_string(memory->shape[0]) + " rows are remembered")
        .found(std::to_string(rows));
}

/// The remembered samples of a row, to which more come.
template <typename T> std::vector<T> rowOf(const Variable& memory, int64_t row)
{
    const auto length = static_cast<size_t>(memory.shape[1]);
    std::vector<T> samples(length);
    if (length > 0) std::memcpy(samples.data(), memory.bytes.data() + static_cast<size_t>(row) * length * sizeof(T), length * sizeof(T));
    return samples;
}

/// Keeps what is left of each row; all have the same length.
template <typename T> void keep(Variable& memory, const std::vector<std::vector<T>>& rows)
{
    memory.shape = Shape({std::ssize(rows), rows.empty() ? 0 : std::ssize(rows.front())});
    memory.bytes.clear();
    for (const auto& row : rows) {
        const auto bytes = std::as_bytes(std::span(row));
        memory.bytes.insert(memory.bytes.end(), bytes.begin(), bytes.end());
    }
}

Status runDelay(const KernelArgs& args)
{
    const int64_t length = args.in(0).shape[args.in(0).shape.rank() - 1];
    if (length == 0) return {};
    const int64_t rows = args.in(0).elementCount() / length;
    LS_TRY(Variable* const memory, memoryOf(args, rows, option(args, "delay_length")));
    std::vector<std::vector<int16_t>> left;
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<int16_t> samples = rowOf<int16_t>(*memory, row);
        const auto* in = args.in(0).as<int16_t>() + row * length;
        samples.insert(samples.end(), in, in + length);
        std::copy_n(samples.begin(), length, args.out(0).as<int16_t>() + row * length);
        samples.erase(samples.begin(), samples.begin() + length);
        left.push_back(std::move(samples));
    }
    keep(*memory, left);
    return {};
}

Status runFramer(const KernelArgs& args)
{
    const int64_t size = option(args, "frame_size"), step = option(args, "frame_step");
    const int64_t length = args.in(0).shape[args.in(0).shape.rank() - 1], rows = args.in(0).elementCount() / length;
    LS_TRY(Variable* const memory, memoryOf(args, rows, option(args, "prefill") != 0 ? size - step : 0));
    auto* out = args.out(0).as<int16_t>();
    bool isFull = true;
    std::vector<std::vector<int16_t>> left;
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<int16_t> samples = rowOf<int16_t>(*memory, row);
        int64_t taken = 0;
        for (int64_t at = 0; at < length; at += step, out += size) {
            const auto* in = args.in(0).as<int16_t>() + row * length + at;
            samples.insert(samples.end(), in, in + step);
            const bool hasFrame = std::ssize(samples) - taken >= size;
            if (hasFrame) std::copy_n(samples.begin() + taken, size, out);
            else std::fill_n(out, size, int16_t{0});
            taken += hasFrame ? step : 0;
            isFull = isFull && hasFrame;
        }
        samples.erase(samples.begin(), samples.begin() + taken);
        left.push_back(std::move(samples));
    }
    keep(*memory, left);
    *args.out(1).as<bool>() = isFull;
    return {};
}

Status runStacker(const KernelArgs& args)
{
    const int64_t channels = option(args, "num_channels"), context = option(args, "stacker_left_context");
    const int64_t size = channels * (context + option(args, "stacker_right_context") + 1);
    LS_TRY(Variable* const memory, memoryOf(args, 1, 0));
    // Whether a frame has come is told by their count, since later all that is remembered may have been taken.
    int64_t& count = args.runtime->resources().count(memory->name + "/frames");
    std::vector<int16_t> samples = rowOf<int16_t>(*memory, 0);
    const auto* in = args.in(0).as<int16_t>();
    for (int64_t copies = count == 0 ? context + 1 : 1; copies > 0; --copies) samples.insert(samples.end(), in, in + channels);
    count = 1;
    const bool isFull = std::ssize(samples) >= size;
    if (isFull) {
        std::copy_n(samples.begin(), size, args.out(0).as<int16_t>());
        samples.erase(samples.begin(), samples.begin() + channels * option(args, "stacker_step"));
    } else {
        std::fill_n(args.out(0).as<int16_t>(), size, int16_t{0});
    }
    keep<int16_t>(*memory, {samples});
    *args.out(1).as<bool>() = isFull;
    return {};
}

template <typename T> T sum(T a, T b)
{
    if constexpr (std::is_same_v<T, float>) return a + b;
    else return static_cast<T>(std::clamp<int32_t>(a + b, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <typename T> Status addFrames(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const int64_t size = shape[shape.rank() - 1], count = shape[shape.rank() - 2], step = option(args, "frame_step");
    if (args.in(0).elementCount() == 0) return {};
    const int64_t rows = args.in(0).elementCount() / (size * count);
    LS_TRY(Variable* const memory, memoryOf(args, rows, size));
    if (memory->shape[1] != size)
        return Error(ErrorCode::execution, "frames of " + std::to_string(memory->shape[1]) + " samples were added")
            .found(std::to_string(size));
    const T* in = args.in(0).as<T>();
    T* out = args.out(0).as<T>();
    std::vector<std::vector<T>> left;
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<T> samples = rowOf<T>(*memory, row);
        for (int64_t frame = 0; frame < count; ++frame, in += size) {
            std::transform(samples.begin(), samples.end(), in, samples.begin(), sum<T>);
            out = std::copy_n(samples.begin(), step, out);
            std::shift_left(samples.begin(), samples.end(), step);
            std::fill(samples.end() - step, samples.end(), T{0});
        }
        left.push_back(std::move(samples));
    }
    keep(*memory, left);
    return {};
}

Status runOverlapAdd(const KernelArgs& args) { return args.in(0).dtype == DType::f32 ? addFrames<float>(args) : addFrames<int16_t>(args); }

} // namespace

#define LS_FRAMES_KERNEL(name, function, dtypes)                                                                                           \
    LS_DEFINE_KERNELS(custom, name) { registry.add({"custom", #name, Profile::reference, prepareFrames<(function)>, dtypes}); }

LS_FRAMES_KERNEL(SignalDelay, runDelay, "i16")
LS_FRAMES_KERNEL(SignalFramer, runFramer, "i16")
LS_FRAMES_KERNEL(SignalStacker, runStacker, "i16")
LS_FRAMES_KERNEL(SignalOverlapAdd, runOverlapAdd, "i16 f32")
