// Opening a 1 GiB model: memory added until a weight is touched. The file is sparse: its weights lie behind the FlatBuffer, where large
// models have them, and take no room on disk.
#include "converters/formats.h"
#include "engine/base/clock.h"
#include "tests/bench/report.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <schema_generated.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr int64_t kWeights = int64_t{1} << 28; // f32 elements: 1 GiB

/// The process's resident memory, bytes.
double residentBytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmRSS:", 0) == 0) return std::atof(line.c_str() + 6) * 1024;
    return 0;
}

/// y = x + w[0 … n-1] with w in a region of 1 GiB after the FlatBuffer.
std::vector<uint8_t> flatBuffer(uint64_t weightOffset)
{
    flatbuffers::FlatBufferBuilder fbb;
    const auto shape = [&] { return fbb.CreateVector(std::vector<int32_t>{static_cast<int32_t>(kWeights)}); };
    const auto tensor = [&](uint32_t buffer, const char* name) {
        const auto dims = shape();
        const auto text = fbb.CreateString(name);
        tflite::TensorBuilder t(fbb);
        t.add_shape(dims);
        t.add_type(tflite::TensorType_FLOAT32);
        t.add_buffer(buffer);
        t.add_name(text);
        return t.Finish();
    };
    const std::vector<flatbuffers::Offset<tflite::Tensor>> tensors = {tensor(0, "x"), tensor(1, "w"), tensor(0, "y")};
    const auto empty = tflite::BufferBuilder(fbb).Finish();
    tflite::BufferBuilder far(fbb);
    far.add_offset(weightOffset);
    far.add_size(static_cast<uint64_t>(kWeights) * 4);
    const std::vector<flatbuffers::Offset<tflite::Buffer>> buffers = {empty, far.Finish()};
    const auto opInputs = fbb.CreateVector(std::vector<int32_t>{0, 1});
    const auto opOutputs = fbb.CreateVector(std::vector<int32_t>{2});
    tflite::OperatorBuilder op(fbb);
    op.add_inputs(opInputs);
    op.add_outputs(opOutputs);
    const auto ops = fbb.CreateVector(std::vector<flatbuffers::Offset<tflite::Operator>>{op.Finish()});
    const auto tensorList = fbb.CreateVector(tensors);
    const auto inputs = fbb.CreateVector(std::vector<int32_t>{0});
    const auto outputs = fbb.CreateVector(std::vector<int32_t>{2});
    tflite::SubGraphBuilder graph(fbb);
    graph.add_tensors(tensorList);
    graph.add_inputs(inputs);
    graph.add_outputs(outputs);
    graph.add_operators(ops);
    const auto graphs = fbb.CreateVector(std::vector<flatbuffers::Offset<tflite::SubGraph>>{graph.Finish()});
    const auto code = tflite::OperatorCodeBuilder(fbb).Finish(); // ADD is 0, the default
    const auto codes = fbb.CreateVector(std::vector<flatbuffers::Offset<tflite::OperatorCode>>{code});
    const auto bufferList = fbb.CreateVector(buffers);
    tflite::ModelBuilder model(fbb);
    model.add_version(3);
    model.add_operator_codes(codes);
    model.add_subgraphs(graphs);
    model.add_buffers(bufferList);
    fbb.Finish(model.Finish(), "TFL3");
    return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

} // namespace

int main()
{
    using namespace loopscope;
    std::string path = "/tmp/loopscope_open_XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0) return 1;
    constexpr uint64_t kOffset = 1 << 16;
    const std::vector<uint8_t> head = flatBuffer(kOffset);
    const bool written = ::write(file, head.data(), head.size()) == static_cast<ssize_t>(head.size()) &&
                         ::ftruncate(file, static_cast<off_t>(kOffset + static_cast<uint64_t>(kWeights) * 4)) == 0;
    ::close(file);

    const double before = residentBytes();
    const int64_t begin = nowNs();
    auto loaded = loadModel(path);
    const int64_t ns = nowNs() - begin;
    const double added = residentBytes() - before;
    ::unlink(path.c_str());
    if (!written || !loaded.ok()) {
        std::fprintf(stderr, "error: %s\n", written ? loaded.error().message().c_str() : "cannot write the test file");
        return 1;
    }
    const auto& w = loaded->model.graphs[0].values[1];
    if (!w.constant || w.constant->size() != static_cast<uint64_t>(kWeights) * 4) return 1;
    bench::report("open_1gib_memory", added / (1 << 20), "MiB", 50);
    bench::note("open_1gib_time", static_cast<double>(ns) / 1e6, "ms");
    return 0;
}
