#include "app/wiring/session.h"

#include "app/output/progress.h"
#include "app/wiring/backend.h"
#include "app/wiring/command_line.h"
#include "app/wiring/signals.h"
#include "engine/base/interruption.h"
#include "engine/exec/make_executor.h"

#include <algorithm>
#include <thread>

namespace loopscope::app {

namespace {
/// Steps between two looks at the clock while a progress line may be due.
constexpr int kStepsPerLook = 256;
} // namespace

Result<Profile> profileOption(const Arguments& arguments)
{
    const std::string profile = arguments.text("profile", "reference");
    for (const Profile known : {Profile::reference, Profile::fast, Profile::xnnpack})
        if (profile == profileName(known)) return known;
    return Error(ErrorCode::usage, "option '--profile'").found("'" + profile + "'").expected("reference, fast or xnnpack");
}

Result<ExecutionOptions> executionOptions(const Arguments& arguments, std::string* whyNoDevice)
{
    ExecutionOptions options;
    LS_TRY(options.profile, profileOption(arguments));
    LS_CHECK_OK(chooseBackend(arguments, options, whyNoDevice));
    LS_TRY(const int64_t seed, arguments.integer("seed", 1));
    LS_TRY(options.maxSteps, arguments.integer("max-steps", options.maxSteps, 1));
    LS_TRY(const int64_t depth, arguments.integer("max-depth", options.maxDepth, 1, 1'000'000));
    LS_TRY(const int64_t threads, arguments.integer("threads", std::max(1U, std::thread::hardware_concurrency()), 1, 1024));
    options.seed = static_cast<uint64_t>(seed);
    LS_TRY(const int64_t schedule, arguments.integer("schedule-seed", 0));
    options.scheduleSeed = static_cast<uint64_t>(schedule);
    options.maxDepth = static_cast<int32_t>(depth);
    options.threads = static_cast<int32_t>(threads);
    options.cancel = &interruptFlag();
    return options;
}

int64_t knownSteps(const Model& model, GraphId graph)
{
    const Graph& g = model.graph(graph);
    const bool calls = std::any_of(g.operators.begin(), g.operators.end(), [](const Operator& op) { return !calleesOf(op).empty(); });
    return calls ? -1 : static_cast<int64_t>(g.operators.size());
}

Result<Executor*> ModelSession::enter(GraphId graph) { return enter(m_model, graph); }

Result<Executor*> ModelSession::enter(GraphId graph, const RunSelection& selection, RunTarget& target)
{
    std::string key = std::to_string(graph.index);
    for (const auto* names : {&selection.feeds, &selection.fetches, &selection.targets}) {
        key += '\n';
        for (const std::string& name : *names) key += name + " ";
    }
    auto found = m_selected.find(key);
    if (found == m_selected.end()) {
        LS_TRY(Model selected, selectForRun(m_model, graph, selection));
        selected.signatures.clear(); // its ports are the feeds and fetches
        found = m_selected.emplace(key, std::move(selected)).first;
    }
    LS_TRY(target, selectTarget(found->second, ""));
    return enter(found->second, graph);
}

Result<Executor*> ModelSession::enter(const Model& model, GraphId graph)
{
    std::unique_ptr<Executor>& slot = m_executors[{&model, graph}];
    if (!slot) {
        ExecutionOptions own = m_options; // a device's memory is one executor's
        if (expectedKernels(model, own.profile).asWanted() > 0) LS_CHECK_OK(giveDevice(own));
        LS_TRY(slot, makeExecutor(model, graph, own));
        if (own.device) m_devices[slot.get()] = own.device;
    }
    if (m_current != nullptr && m_current != slot.get()) LS_CHECK_OK(carryOver(*m_current, *slot));
    m_current = slot.get();
    m_retired.reset();
    return m_current;
}

void ModelSession::setOptions(const ExecutionOptions& options)
{
    m_options = options;
    for (auto& [graph, executor] : m_executors)
        if (executor.get() == m_current) m_retired = std::move(executor);
    m_executors.clear();
    m_devices.clear();
}

DeviceMemory* ModelSession::deviceOf(const Executor& executor) const
{
    const auto known = m_devices.find(&executor);
    return known == m_devices.end() ? nullptr : known->second;
}

Result<BoundInputs> boundInTime(double timeoutSeconds, const std::function<Result<BoundInputs>()>& bind)
{
    const Deadline deadline(interruptFlag(), timeoutSeconds);
    const InterruptionScope heeds(&interruptFlag());
    Result<BoundInputs> inputs = bind();
    if (!deadline.passed()) return inputs;
    interruptFlag().clear();
    return timeLimitError(timeoutSeconds).at("inputs");
}

Status ModelSession::run(Executor& executor, const BoundInputs& inputs, int64_t run, ProgressMeter* meter, double timeoutSeconds,
                         const std::function<std::string()>& extra)
{
    for (size_t i = 0; i < inputs.inputs.size(); ++i)
        LS_CHECK_OK(executor.setInput(static_cast<int>(i), inputs.inputs[i].forRun(run).view()));
    const Deadline deadline(interruptFlag(), timeoutSeconds);
    const auto execute = [&]() -> Status {
        LS_CHECK_OK(executor.start());
        if (meter == nullptr) return executor.run();
        while (!executor.position().finished) {
            for (int i = 0; i < kStepsPerLook && !executor.position().finished; ++i) LS_CHECK_OK(executor.step());
            if (meter->due()) meter->show(executor.position().step, loopPlace(executor.positionAddress()), extra ? extra() : "");
        }
        return {};
    };
    Status status = execute();
    if (!status.ok() && status.detail().code == ErrorCode::cancelled && deadline.passed()) {
        interruptFlag().clear();
        return timeLimitError(timeoutSeconds).at(executor.positionAddress());
    }
    return status;
}

} // namespace loopscope::app
