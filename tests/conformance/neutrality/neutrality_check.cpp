// Runs every `.tflite` and `.circle` file of a folder twice on the same seeded inputs: plainly, and with everything that a debugger may do
// to a run at once (an observer that reads every result, traps on every operator, stops now and then, values that are kept). Outputs, steps
// and errors must be the same bit for bit. Usage: neutrality_check [FOLDER…]; without one, $LOOPSCOPE_CORPUS or ../shared/corpus.
// Exit codes: 0, 1 (failures, each named on stdout), 77 (no corpus).
#include "converters/formats.h"
#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/clock.h"
#include "engine/exec/interpreter.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace loopscope::app {
namespace {

constexpr uintmax_t kLargestFile = 24 << 20;
constexpr int64_t kLongestRunNs = 150'000'000; ///< slower models are run once only: the time goes to many models, not to large ones
constexpr int64_t kMaxSteps = 20'000;

/// Reads everything that is announced.
class Reader final : public ExecutionObserver {
public:
    bool wantsTimes() const override { return true; }
    void operatorExecuted(const OperatorEvent& e) override
    {
        for (const Tensor* const result : e.results)
            if (result && result->data && result->shape.isStatic()) m_sum += computeStatistics(*result).mean;
    }

private:
    double m_sum = 0;
};

/// Looks at values at every trap and stops at some of them.
class Looker final : public TrapHandler {
public:
    explicit Looker(const Executor& executor) : m_executor(executor) {}
    bool beforeOperator(const OperatorEvent& event, Tick) override
    {
        for (const ValueId input : m_executor.model().graph(event.graph).op(event.op).inputs)
            if (input.valid()) m_seen += m_executor.value(-1, input) != nullptr ? 1 : 0;
        return ++m_count % 97 == 0;
    }
    bool afterOperator(const OperatorEvent&, Tick) override { return ++m_count % 89 == 0; }

private:
    const Executor& m_executor;
    int64_t m_count = 0, m_seen = 0;
};

struct Outcome {
    std::string error;
    int64_t steps = 0, ns = 0;
    std::vector<Array> outputs;
};

Outcome run(const Model& model, const RunTarget& target, const BoundInputs& inputs, bool observed)
{
    Outcome outcome;
    ExecutionOptions options;
    options.maxSteps = kMaxSteps;
    options.keepAll = observed;
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, target.graph, options);
    if (!made.ok()) {
        outcome.error = made.error().message();
        return outcome;
    }
    Interpreter& interpreter = **made;
    Reader reader;
    Looker looker(interpreter);
    if (observed) interpreter.setObserver(&reader);
    Status status;
    for (size_t i = 0; i < inputs.inputs.size() && status.ok(); ++i)
        status = interpreter.setInput(static_cast<int>(i), inputs.inputs[i].forRun(0).view());
    if (status.ok()) status = interpreter.start();
    if (observed) {
        TrapSet traps;
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (size_t i = 0; i < model.graphs[g].operators.size(); ++i)
                traps.add(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(i)), trapBefore | trapAfter);
        interpreter.setTraps(traps, &looker);
    }
    const int64_t from = nowNs();
    while (status.ok() && !interpreter.position().finished) status = interpreter.run();
    outcome.ns = nowNs() - from;
    outcome.steps = interpreter.position().step;
    if (!status.ok()) {
        outcome.error = std::move(status).takeError().message();
        return outcome;
    }
    for (size_t k = 0; k < target.outputs.size(); ++k) outcome.outputs.push_back(copyOf(interpreter.output(static_cast<int>(k))));
    return outcome;
}

/// What is wrong with one file; empty if nothing is. `compared`: it was run twice.
std::string check(const std::string& path, bool& compared)
{
    const Result<LoadedModel> file = loadModel(path);
    if (!file.ok() || file->model.graphs.empty()) return "";
    const Result<RunTarget> target = selectTarget(file->model, "");
    if (!target.ok()) return "";
    const Result<BoundInputs> inputs = bindInputs(*target, {"all=@rand"}, 1, 1);
    if (!inputs.ok()) return "";
    const Outcome plain = run(file->model, *target, *inputs, false);
    if (plain.ns > kLongestRunNs) return "";
    compared = true;
    const Outcome observed = run(file->model, *target, *inputs, true);
    if (plain.error != observed.error) return "'" + observed.error + "' instead of '" + plain.error + "'";
    if (plain.steps != observed.steps) return std::to_string(observed.steps) + " steps instead of " + std::to_string(plain.steps);
    for (size_t k = 0; k < plain.outputs.size(); ++k)
        if (plain.outputs[k].bytes != observed.outputs[k].bytes || !(plain.outputs[k].shape == observed.outputs[k].shape))
            return "output " + std::to_string(k) + " differs";
    return "";
}

} // namespace
} // namespace loopscope::app

int main(int argc, char** argv)
{
    std::vector<std::string> folders(argv + 1, argv + argc);
    if (folders.empty()) {
        const char* const corpus = std::getenv("LOOPSCOPE_CORPUS");
        folders.emplace_back(corpus ? corpus : "../shared/corpus");
    }
    std::vector<std::string> files;
    for (const std::string& folder : folders) {
        std::error_code error;
        for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
            const std::string extension = it->path().extension().string();
            if (it->is_regular_file() && (extension == ".tflite" || extension == ".circle") &&
                it->file_size() <= loopscope::app::kLargestFile)
                files.push_back(it->path().string());
        }
    }
    if (files.empty()) {
        std::puts("skipped: no corpus here (set LOOPSCOPE_CORPUS)");
        return 77;
    }
    std::ranges::sort(files);
    size_t failures = 0, compared = 0;
    for (const std::string& file : files) {
        bool wasCompared = false;
        const std::string what = loopscope::app::check(file, wasCompared);
        compared += wasCompared ? 1 : 0;
        if (what.empty()) continue;
        std::printf("FAIL  %s: %s\n", file.c_str(), what.c_str());
        ++failures;
    }
    std::printf("%zu of %zu models run twice, %zu differ\n", compared, files.size(), failures);
    return failures == 0 && compared > 0 ? 0 : 1;
}
