#include "app/ranks/distributed_run.h"

#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/ranks/ranks.h"
#include "app/wiring/asked_run.h"
#include "app/wiring/outputs.h"
#include "app/wiring/session.h"
#include "app/wiring/signals.h"
#include "engine/base/clock.h"
#include "engine/distributed/memory_transport.h"
#include "engine/distributed/rank_peers.h"
#include "engine/transform/partition/partition.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace loopscope::app {

namespace {

PartOutcome failed(const Error& error)
{
    PartOutcome outcome;
    outcome.failure = error.code();
    outcome.message = error.message();
    return outcome;
}

/// What one rank runs: its devices' part, fed with those of the whole's inputs that it reads.
class PartRunner {
public:
    PartRunner(const AskedRun& asked, const CutPlan& plan, Transport& transport)
        : m_asked(asked),
          m_plan(plan),
          m_peers(transport, plan, interruptFlag()),
          m_rank(transport.rank())
    {
    }

    /// On rank 0: what came of the run on all ranks, by rank.
    Result<std::vector<PartOutcome>> run(int64_t number)
    {
        m_peers.begin();
        PartOutcome outcome;
        Status status = m_executor || m_plan.devicesOf(m_rank).empty() ? Status() : prepare();
        if (status.ok() && m_executor) status = m_session->run(*m_executor, inputsOf(number), 0, nullptr, m_asked.timeout);
        if (m_executor) outcome.steps = m_executor->position().step;
        if (status.ok()) keepOutputs(outcome);
        else outcome = failed(std::move(status).takeError());
        return m_peers.finish(std::move(outcome));
    }

private:
    Status prepare()
    {
        LS_TRY(m_part, partOf(m_asked.file.model, m_asked.target.graph, m_plan.devicesOf(m_rank)));
        LS_TRY(m_target, selectTarget(m_part, ""));
        ExecutionOptions options = m_asked.options;
        options.peers = &m_peers;
        m_session.emplace(m_part, options);
        LS_TRY(m_executor, m_session->enter(m_target.graph));
        return {};
    }

    BoundInputs inputsOf(int64_t number) const
    {
        const Graph& whole = m_asked.file.model.graph(m_asked.target.graph);
        const Graph& part = m_part.graph(m_target.graph);
        BoundInputs inputs;
        for (const ValueId input : part.inputs)
            for (size_t i = 0; i < whole.inputs.size(); ++i)
                if (whole.value(whole.inputs[i]).id == part.value(input).id)
                    inputs.inputs.push_back({{m_asked.inputs.inputs[i].forRun(number)}, m_asked.inputs.inputs[i].source});
        return inputs;
    }

    void keepOutputs(PartOutcome& outcome) const
    {
        if (!m_executor) return;
        const Graph& part = m_part.graph(m_target.graph);
        for (size_t k = 0; k < part.outputs.size(); ++k)
            outcome.outputs.emplace_back(part.outputs[k].name, copyOf(m_executor->output(static_cast<int>(k))));
    }

    const AskedRun& m_asked;
    const CutPlan& m_plan;
    RankPeers m_peers;
    const int32_t m_rank;
    Model m_part;
    RunTarget m_target;
    std::optional<ModelSession> m_session;
    Executor* m_executor = nullptr;
};

/// The failure of the run: of several ranks' the first that is no consequence of another's.
std::optional<Error> failureOf(const std::vector<PartOutcome>& outcomes)
{
    const PartOutcome* first = nullptr;
    for (const PartOutcome& outcome : outcomes) {
        if (!outcome.failure) continue;
        if (!first || (first->failure == ErrorCode::cancelled && outcome.failure != ErrorCode::cancelled)) first = &outcome;
    }
    if (!first) return std::nullopt;
    return Error(*first->failure, first->message);
}

/// What `run` prints, of outputs that lie on several ranks.
class Report {
public:
    Report(Console& console, const Arguments& arguments, const AskedRun& asked)
        : m_console(console),
          m_arguments(arguments),
          m_asked(asked),
          m_sink(asked.target),
          m_path(arguments.text("output"))
    {
    }

    Status add(std::vector<PartOutcome> outcomes, int64_t run)
    {
        if (std::optional<Error> failure = failureOf(outcomes)) return std::move(*failure);
        const Graph& whole = m_asked.file.model.graph(m_asked.target.graph);
        std::vector<Array> arrays;
        for (const Port& port : m_asked.target.outputs) {
            const std::string& name = whole.outputs[static_cast<size_t>(port.index)].name;
            Array* found = nullptr;
            for (PartOutcome& outcome : outcomes)
                for (auto& [of, value] : outcome.outputs)
                    if (of == name) found = &value;
            if (found) arrays.push_back(*found);
            else if (const Array* given = givenInput(whole, port, run)) arrays.push_back(*given);
            else return Error(ErrorCode::internal, "no rank has it").at("output '" + name + "'");
        }
        std::vector<Tensor> outputs;
        for (const Array& array : arrays) outputs.push_back(array.view());
        int64_t steps = 0;
        for (const PartOutcome& outcome : outcomes) steps += outcome.steps;
        m_steps += steps;
        const bool isOne = m_asked.runs == 1;
        if (!m_path.empty()) m_sink.keep(outputs, isOne ? 0 : run + 1);
        if (m_console.json()) {
            JsonWriter json;
            json.beginObject().key("schema").value(1);
            if (!isOne) json.key("run").value(run + 1);
            json.key("outputs").beginArray();
            for (size_t k = 0; k < outputs.size(); ++k) json.tensor(m_asked.target.outputs[k].name, outputs[k]);
            json.endArray().key("steps").value(steps);
            json.key("seconds").value(static_cast<double>(nowNs() - m_started) / 1e9).endObject();
            m_console.line(json.text());
        } else if (m_path.empty()) {
            if (!isOne) m_console.line(m_console.paint(Style::faint, "run " + std::to_string(run + 1)));
            m_console.print(outputsText(m_asked.target, outputs, m_arguments.has("print")));
        }
        return {};
    }

    /// `where`: "2 ranks".
    Status end(const std::string& where)
    {
        if (!m_path.empty()) LS_CHECK_OK(m_sink.write(m_path, m_arguments.text("format"), m_arguments.has("force")));
        if (m_console.json()) return {};
        if (!m_path.empty()) m_console.line(m_path + ": " + std::to_string(m_sink.count()) + (m_sink.count() == 1 ? " array" : " arrays"));
        m_console.line(m_console.number(m_steps) + (m_steps == 1 ? " step on " : " steps on ") + where);
        return {};
    }

private:
    /// An input that is fetched as it is stands on no device.
    const Array* givenInput(const Graph& whole, const Port& port, int64_t run) const
    {
        const auto input = std::ranges::find(whole.inputs, whole.outputs[static_cast<size_t>(port.index)].value);
        return input == whole.inputs.end() ? nullptr
                                           : &m_asked.inputs.inputs[static_cast<size_t>(input - whole.inputs.begin())].forRun(run);
    }

    Console& m_console;
    const Arguments& m_arguments;
    const AskedRun& m_asked;
    OutputSink m_sink;
    std::string m_path;
    int64_t m_steps = 0;
    const int64_t m_started = nowNs();
};

std::string counted(size_t count, const char* what) { return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); }

Result<int> runOnRanks(Console& console, const Arguments& arguments)
{
    LS_TRY(const std::unique_ptr<Ranks> ranks, Ranks::join());
    std::unique_ptr<FILE, int (*)(FILE*)> nowhere(std::fopen("/dev/null", "w"), &std::fclose);
    Console silent(nowhere.get(), nowhere.get());
    Result<AskedRun> asked = askedRun(ranks->isFirst() ? console : silent, arguments);
    if (!asked.ok()) { // on all ranks alike
        if (ranks->isFirst()) return std::move(asked).takeError();
        return static_cast<int>(asked.error().code());
    }
    const CutPlan plan = planCut(asked->file.model.graph(asked->target.graph), ranks->size());
    PartRunner part(*asked, plan, ranks->transport());
    Report report(console, arguments, *asked);
    Status status;
    for (int64_t run = 0; run < asked->runs; ++run) { // all ranks go through all runs
        LS_TRY(std::vector<PartOutcome> outcomes, part.run(run));
        if (ranks->isFirst() && status.ok()) status = report.add(std::move(outcomes), run);
    }
    LS_CHECK_OK(std::move(status));
    if (ranks->isFirst()) LS_CHECK_OK(report.end(counted(static_cast<size_t>(ranks->size()), "rank")));
    return 0;
}

Result<int> runOnThreads(Console& console, const Arguments& arguments)
{
    LS_TRY(const AskedRun asked, askedRun(console, arguments));
    const Graph& graph = asked.file.model.graph(asked.target.graph);
    const auto count = std::max<size_t>(1, planCut(graph, 1).devices.size());
    const CutPlan plan = planCut(graph, static_cast<int32_t>(count));
    const std::vector<std::unique_ptr<Transport>> transports = memoryTransports(static_cast<int32_t>(count));
    std::vector<std::thread> others;
    for (size_t rank = 1; rank < count; ++rank)
        others.emplace_back([&, rank] {
            PartRunner part(asked, plan, *transports[rank]);
            for (int64_t run = 0; run < asked.runs; ++run)
                if (!part.run(run).ok()) return;
        });
    Report report(console, arguments, asked);
    PartRunner part(asked, plan, *transports[0]);
    Status status;
    for (int64_t run = 0; run < asked.runs; ++run) {
        Result<std::vector<PartOutcome>> outcomes = part.run(run);
        if (status.ok()) status = outcomes.ok() ? report.add(std::move(outcomes).value(), run) : Status(std::move(outcomes).takeError());
    }
    for (std::thread& other : others) other.join();
    LS_CHECK_OK(std::move(status));
    LS_CHECK_OK(report.end(counted(count, "part")));
    return 0;
}

} // namespace

Result<int> runDistributed(Console& console, const Arguments& arguments)
{
    for (const char* other : {"time", "dequantize", "schedule-seed"})
        if (arguments.has(other)) return Error(ErrorCode::usage, "option '--" + std::string(other) + "' is not for --distributed");
    LS_CHECK_OK(checkWritable(arguments.text("output"), arguments.has("force")));
    return hasRanks() ? runOnRanks(console, arguments) : runOnThreads(console, arguments);
}

} // namespace loopscope::app
