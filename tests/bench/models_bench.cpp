// Whole models, one thread: the best of ten runs on zeros. Which ones: paths in MODELS, separated by blanks; without it nothing is
// measured. PROFILE=fast takes the kernels of that profile. tests/bench/run prints LiteRT's time and the ratio below each where PYTHON has
// LiteRT.
#include "converters/formats.h"
#include "engine/base/clock.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using namespace loopscope;

namespace {

Status measure(const std::string& path)
{
    LS_TRY(const LoadedModel file, loadModel(path));
    if (file.model.graphs.empty()) return Error(ErrorCode::badFile, "no graph");
    const GraphId root(0);
    ExecutionOptions options;
    if (const char* const profile = std::getenv("PROFILE"); profile && std::string(profile) == "fast") options.profile = Profile::fast;
    LS_TRY(const auto interpreter, Interpreter::create(file.model, root, options));
    const Graph& graph = file.model.graph(root);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        const TensorType& type = graph.value(graph.inputs[i]).type;
        Tensor zeros;
        zeros.dtype = type.dtype;
        std::vector<int64_t> dims;
        for (int d = 0; d < type.shape.rank(); ++d) dims.push_back(std::max<int64_t>(type.shape[d], 1));
        zeros.shape = Shape(std::span<const int64_t>(dims));
        std::vector<std::byte> bytes(byteSize(zeros.dtype, zeros.shape.elementCount()));
        zeros.data = bytes.data();
        zeros.bytes = bytes.size();
        LS_CHECK_OK(interpreter->setInput(static_cast<int>(i), zeros));
    }
    int64_t best = INT64_MAX;
    for (int run = 0; run < 11; ++run) { // the first one plans
        const int64_t begin = nowNs();
        LS_CHECK_OK(interpreter->start());
        LS_CHECK_OK(interpreter->run());
        if (run > 0) best = std::min(best, nowNs() - begin);
    }
    bench::note(("model " + path).c_str(), static_cast<double>(best) / 1e6, "ms");
    return {};
}

} // namespace

int main()
{
    const char* const models = std::getenv("MODELS");
    if (!models) {
        std::printf("models skipped: name files in MODELS\n");
        return 0;
    }
    std::istringstream paths{std::string(models)};
    for (std::string path; paths >> path;)
        if (Status status = measure(path); !status.ok()) {
            std::fprintf(stderr, "error: %s: %s\n", path.c_str(), std::move(status).takeError().message().c_str());
            return 1;
        }
    return 0;
}
