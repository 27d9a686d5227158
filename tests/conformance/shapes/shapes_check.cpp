// Holds shape inference against running: every golden TFLite case of a corpus runs once, and the shape of every result that an operator
// writes must agree with what inference said about the model with inputs of these shapes. Usage: shapes_check; the corpus is
// $LOOPSCOPE_CORPUS or ../shared/corpus. Exit codes: 0, 1 (disagreements, each named on stdout), 77 (no corpus).
#include "app/check/golden_case.h"
#include "app/wiring/model_file.h"
#include "engine/base/text.h"
#include "engine/exec/interpreter.h"
#include "engine/ops/catalog.h"
#include "engine/tensor/npz.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

namespace loopscope {
namespace {

/// Its branches declare scalar formals and are called with matrices: what is inferred for them by themselves must differ.
constexpr std::string_view kOtherFormals = "chunseoklee-one/if_dynamic";

/// Compares what is written with what was inferred.
class ShapeWatcher final : public ExecutionObserver {
public:
    explicit ShapeWatcher(const Model& inferred) : m_inferred(inferred) {}

    void operatorExecuted(const OperatorEvent& event) override
    {
        const Graph& graph = m_inferred.graph(event.graph);
        const Operator& op = graph.op(event.op);
        for (size_t k = 0; k < event.results.size() && event.state == EventState::live; ++k) {
            const TensorType& type = graph.value(op.results[k]).type;
            if (type.dtype == DType::unknown) continue; // casts, variables: the file alone says it
            ++compared;
            const Shape& actual = event.results[k]->shape;
            bool agrees = !type.shape.hasRank() || type.shape.rank() == actual.rank();
            for (int d = 0; agrees && type.shape.hasRank() && d < actual.rank(); ++d)
                agrees = type.shape[d] < 0 || type.shape[d] == actual[d];
            if (agrees && type.shape.isStatic()) ++definite;
            if (!agrees && problem.empty())
                problem = graph.id + "/" + op.kind.name + "#" + std::to_string(event.op.index) + ":" + std::to_string(k) + ": inferred " +
                          toString(type.shape) + ", ran " + toString(actual);
        }
    }

    int64_t compared = 0, definite = 0;
    std::string problem;

private:
    const Model& m_inferred;
};

/// The inputs of the first run, in order; none if a file cannot give them.
std::optional<std::vector<Array>> readInputs(const app::GoldenRun& run)
{
    std::vector<Array> arrays;
    if (run.inputs.empty()) return arrays;
    const Result<NpzFile> archive = NpzFile::open(run.inPath);
    if (!archive.ok()) return std::nullopt;
    for (size_t i = 0; i < run.inputs.size(); ++i) {
        const std::string key = std::to_string(i);
        if (!archive->has(key)) return std::nullopt;
        Result<Array> array = archive->read(key);
        if (!array.ok()) return std::nullopt;
        if (const auto named = run.inDtypes.find(key); named != run.inDtypes.end()) {
            array = fromNpyStorage(std::move(array).value(), app::dtypeFromNumpyName(named->second));
            if (!array.ok()) return std::nullopt;
        }
        arrays.push_back(std::move(array).value());
    }
    return arrays;
}

struct Totals {
    int cases = 0, skipped = 0, failures = 0;
    int64_t compared = 0, definite = 0;
};

void check(const app::GoldenCase& golden, Totals& totals)
{
    Result<LoadedModel> file = loadModel(golden.modelPath);
    const auto skip = [&] { ++totals.skipped; };
    if (!file.ok() || golden.runs.empty() || golden.runs.front().mustFail || file->model.graphs.empty()) return skip();
    const auto arrays = readInputs(golden.runs.front());
    Model& model = file->model;
    if (!arrays || arrays->size() != model.graphs.front().inputs.size()) return skip(); // a signature of another graph
    Model inferred = model;
    for (Graph& graph : inferred.graphs)
        for (Value& value : graph.values)
            if (value.role == ValueRole::result) {
                value.type.dtype = DType::unknown;
                value.type.shape = Shape::unknownRank();
            }
    Graph& root = inferred.graphs.front();
    for (size_t i = 0; i < arrays->size(); ++i) {
        TensorType& type = root.value(root.inputs[i]).type;
        type.shape = (*arrays)[i].view().shape;
        type.signature.reset();
    }
    static_cast<void>(inferModel(inferred).ok()); // an operator without inference leaves the rest unknown
    ExecutionOptions options;
    options.maxSteps = 1'000'000;
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
    if (!made.ok()) return skip();
    Interpreter& interpreter = **made;
    ShapeWatcher watcher(inferred);
    interpreter.setObserver(&watcher);
    for (size_t i = 0; i < arrays->size(); ++i)
        if (!interpreter.setInput(static_cast<int>(i), (*arrays)[i].view()).ok()) return skip();
    if (!interpreter.start().ok() || !interpreter.run().ok()) return skip(); // other tests say so
    ++totals.cases;
    totals.compared += watcher.compared;
    totals.definite += watcher.definite;
    if (watcher.problem.empty() != (golden.id == kOtherFormals)) return;
    if (watcher.problem.empty()) watcher.problem = "agrees, though it is known not to";
    ++totals.failures;
    std::printf("%s: %s\n", golden.id.c_str(), watcher.problem.c_str());
}

int run()
{
    const char* set = std::getenv("LOOPSCOPE_CORPUS");
    const std::string corpus = set ? set : "../shared/corpus";
    if (!std::filesystem::is_directory(corpus)) {
        std::printf("skipped: no corpus at %s\n", corpus.c_str());
        return 77;
    }
    Totals totals;
    for (const char* suite : {"tflite-ops", "tflite-control-flow", "tflite-real"}) {
        const auto cases = app::readGoldenCases(corpus + "/" + suite);
        if (!cases.ok()) continue;
        for (const app::GoldenCase& golden : *cases) check(golden, totals);
    }
    std::printf("%d cases, %lld results compared, %lld of definite inferred shape; %d cases without a run, %d disagree\n", totals.cases,
                static_cast<long long>(totals.compared), static_cast<long long>(totals.definite), totals.skipped, totals.failures);
    return totals.failures == 0 && totals.compared > 0 ? 0 : 1;
}

} // namespace
} // namespace loopscope

int main() { return loopscope::run(); }
