// Loading 1 GiB of weights for the profile `fast`, packed and ready to run, beside reading the same file into memory.
#include "converters/formats.h"
#include "converters/tflite/tflite.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

using namespace loopscope;

namespace {

constexpr int64_t kUnits = 4096, kLayers = 16; // 64 MiB each

/// Layer after layer, of weights that differ.
Model layers()
{
    Model model;
    Graph& graph = model.graphs.emplace_back();
    graph.id = "main";
    const auto add = [&](const std::string& id, const Shape& shape) {
        Value& value = graph.values.emplace_back();
        value.id = id;
        value.type.dtype = DType::f32;
        value.type.shape = shape;
        return ValueId(static_cast<int64_t>(graph.values.size()) - 1);
    };
    ValueId last = add("x", Shape({1, kUnits}));
    graph.value(last).role = ValueRole::input;
    graph.inputs = {last};
    std::vector<float> weights(static_cast<size_t>(kUnits * kUnits));
    for (int64_t layer = 0; layer < kLayers; ++layer) {
        for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>((i * 7 + static_cast<size_t>(layer)) % 1009) / 5e4F;
        const ValueId w = add("w" + std::to_string(layer), Shape({kUnits, kUnits}));
        graph.value(w).role = ValueRole::constant;
        graph.value(w).constant = std::make_shared<const Constant>(Bytes::copyOf(std::as_bytes(std::span<const float>(weights))));
        Operator op;
        op.kind = {"tfl", "fully_connected"};
        op.inputs = {last, w, ValueId()};
        last = add("y" + std::to_string(layer), Shape({1, kUnits}));
        graph.value(last).role = ValueRole::result;
        graph.value(last).producer = OperatorId(layer);
        op.results = {last};
        graph.operators.push_back(op);
    }
    graph.outputs = {{"", last}};
    return model;
}

int64_t processorNs()
{
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Into memory that nobody has touched, as who loads a model does.
bool readAll(const std::string& path)
{
    const int file = ::open(path.c_str(), O_RDONLY);
    if (file < 0) return false;
    const auto size = static_cast<size_t>(::lseek(file, 0, SEEK_END));
    ::lseek(file, 0, SEEK_SET);
    const std::unique_ptr<std::byte[]> memory(new std::byte[size]);
    size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < size; done += static_cast<size_t>(std::max<ssize_t>(got, 0)))
        got = ::read(file, memory.get() + done, size - done);
    ::close(file);
    return done == size;
}

Status makeReady(const std::string& path)
{
    LS_TRY(const LoadedModel file, loadModel(path));
    ExecutionOptions options;
    options.profile = Profile::fast;
    LS_TRY(const auto interpreter, Interpreter::create(file.model, GraphId(0), options));
    std::vector<std::byte> zeros(static_cast<size_t>(kUnits) * sizeof(float));
    Tensor input;
    input.dtype = DType::f32;
    input.shape = Shape({1, kUnits});
    input.data = zeros.data();
    input.bytes = zeros.size();
    LS_CHECK_OK(interpreter->setInput(0, input));
    return interpreter->start();
}

Status measure(const std::string& path)
{
    std::vector<int64_t> reading, loading;
    for (int i = 0; i < 5; ++i) {
        const int64_t begin = processorNs();
        if (!readAll(path)) return Error(ErrorCode::badFile, "cannot read what was written");
        const int64_t between = processorNs();
        LS_CHECK_OK(makeReady(path));
        reading.push_back(between - begin);
        loading.push_back(processorNs() - between);
    }
    std::ranges::sort(reading);
    std::ranges::sort(loading);
    bench::note("load_1gib_reading", static_cast<double>(reading[2]) / 1e6, "ms");
    bench::report("load_1gib_fast_of_reading", static_cast<double>(loading[2]) / static_cast<double>(reading[2]), "times", 1.2);
    return {};
}

} // namespace

int main()
{
    std::string path = "/tmp/loopscope_load_XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0) return 1;
    Status status;
    {
        const Result<std::vector<std::byte>> bytes = exportTflite(layers());
        if (!bytes.ok()) status = Error(ErrorCode::internal, bytes.error().message());
        else
            for (size_t done = 0; done < bytes->size();) {
                const ssize_t written = ::write(file, bytes->data() + done, bytes->size() - done);
                if (written <= 0) {
                    status = Error(ErrorCode::cannotWrite, "cannot write the test file");
                    break;
                }
                done += static_cast<size_t>(written);
            }
    }
    ::close(file);
    if (status.ok()) status = measure(path);
    ::unlink(path.c_str());
    if (status.ok()) return 0;
    std::fprintf(stderr, "error: %s\n", std::move(status).takeError().message().c_str());
    return 1;
}
