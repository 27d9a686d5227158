#include "app/check/ltest_run.h"

#include "app/check/ltest_pass.h"
#include "app/check/ltest_session.h"
#include "app/check/ltest_slopes.h"
#include "app/check/ltest_values.h"
#include "app/check/profile_bounds.h"
#include "app/output/listing.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "app/wiring/tf_target.h"
#include "converters/formats.h"
#include "converters/lsir/lsir.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/ir/text/printer.h"
#include "engine/ops/catalog.h"
#include "engine/tensor/value_text.h"
#include "tracer/api/trace_reader.h"
#include "tracer/record/recorder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace loopscope::app {

namespace {

/// Steps after which a run of a text test counts as endless, unless it says max_steps.
constexpr int64_t kMaxSteps = 100'000'000;

/// A file that is removed with the object.
struct TemporaryFile {
    std::string path;
    explicit TemporaryFile(const std::string& suffix)
    {
        static int counter = 0;
        path =
            (std::filesystem::temp_directory_path() / ("loopscope." + std::to_string(getpid()) + "." + std::to_string(counter++) + suffix))
                .string();
    }
    ~TemporaryFile()
    {
        std::error_code error;
        std::filesystem::remove(path, error);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
};

struct SectionStop {
    Verdict verdict;
    std::string message;
    std::optional<WorstElement> worst;
};
using Outcome = std::optional<SectionStop>; ///< none: goes on

SectionStop fail(const LtestSection& section, std::string message)
{
    return {Verdict::fail, "line " + std::to_string(section.line) + ": " + std::move(message), {}};
}
SectionStop broken(const LtestSection& section, std::string message)
{
    return {Verdict::error, "line " + std::to_string(section.line) + ": " + std::move(message), {}};
}

/// One pass over the sections of a case, under one profile.
class CaseRunner {
public:
    CaseRunner(const LtestFile& file, const LtestCase& test, Profile profile, LtestReplies* replies)
        : m_file(file),
          m_test(test),
          m_profile(profile),
          m_replies(replies)
    {
    }

    Outcome run()
    {
        for (m_at = 0; m_at < m_test.sections.size(); ++m_at) {
            const LtestSection& section = m_test.sections[m_at];
            Outcome outcome;
            if (section.name == "model") outcome = openModel(section);
            else if (section.name == "run") outcome = execute(section);
            else if (section.name == "expect") outcome = expect(section);
            else if (section.name == "infer") outcome = infer(section);
            else if (section.name == "error") outcome = expectError(section);
            else if (section.name == "print") outcome = print(section);
            else if (section.name == "trace") outcome = m_trace ? Outcome() : Outcome(broken(section, "'== trace' must follow '== run'"));
            else if (section.name == "sql") outcome = query(section);
            else if (section.name == "session") outcome = session(section);
            else if (section.name == "pass") outcome = pass(section);
            else if (section.name == "after") outcome = reply(section, section.lines, graphLines(model()));
            else if (section.name == "declined") outcome = reply(section, section.lines, declinedLines(m_report));
            else if (section.name == "proved") outcome = proved(section);
            else if (section.name == "unchanged") outcome = unchanged(section);
            else if (section.name == "slopes") outcome = slopes(section);
            else outcome = SectionStop{Verdict::unsupported, "'== " + section.name + "' is not built yet", {}};
            if (outcome) return outcome;
        }
        if (m_error) return fail(m_test.sections[m_errorAt], m_error->message());
        return std::nullopt;
    }

    KernelCounts kernels() const { return m_kernels.sum(); }
    /// Null before it was opened.
    const Model* model() const { return m_model ? &*m_model : nullptr; }

private:
    /// An error stays pending until the section `== error` that expects it; anything else makes the case fail.
    Outcome pend(Error error)
    {
        m_errorAt = m_at;
        const bool expected = m_at + 1 < m_test.sections.size() && m_test.sections[m_at + 1].name == "error";
        // Tracing sections may stand between a run and its error.
        if (!expected && !(m_at + 2 < m_test.sections.size() && m_test.sections[m_at + 1].name == "trace")) {
            if (error.code() == ErrorCode::unsupported) return SectionStop{Verdict::unsupported, error.message(), {}};
            return fail(m_test.sections[m_at], error.message());
        }
        m_error = std::move(error);
        return std::nullopt;
    }

    /// The section's text behind as many empty lines as stand before it, so that positions in messages are those of the file.
    std::string inPlace(const LtestSection& section) const
    {
        std::string text;
        for (size_t line = 1; line <= section.lastBody && line <= m_file.lines.size(); ++line) {
            const std::string& own = m_file.lines[line - 1];
            if (line >= section.firstBody && !own.starts_with('#')) text += own;
            text += '\n';
        }
        return text;
    }

    Outcome openModel(const LtestSection& section)
    {
        m_model.reset();
        m_session.reset();
        m_error.reset();
        Result<Model> model = section.words.empty() ? modelFromText(inPlace(section), m_file.path) : fromFile(section.words.front());
        if (!model.ok()) {
            m_phase = "load";
            Error error = std::move(model).takeError();
            return pend(std::move(error));
        }
        m_model.emplace(std::move(model).value());
        return std::nullopt;
    }

    static Result<Model> fromFile(const std::string& path)
    {
        LS_TRY(LoadedModel loaded, loadModel(path));
        return std::move(loaded.model);
    }

    Outcome execute(const LtestSection& section)
    {
        if (!m_model) return broken(section, "'== run' without a model");
        m_error.reset();
        m_outputs.clear();
        Result<RunTarget> target = selectTarget(*m_model, section.value("signature"));
        if (!target.ok()) return pend(std::move(target).takeError());
        m_target = std::move(target).value();

        ExecutionOptions options;
        options.profile = m_profile;
        options.maxSteps = kMaxSteps;
        if (Status read = readRunOptions(section, options); !read.ok()) return broken(section, std::move(read).takeError().message());
        if (!m_session) m_session.emplace(*m_model, options);
        else m_session->setOptions(options);

        m_phase = "prepare";
        const bool selects = m_model->dialect == Dialect::tf;
        Result<Executor*> executor =
            selects ? m_session->enter(m_target.graph, selectionOf(section), m_target) : m_session->enter(m_target.graph);
        if (!executor.ok()) return pend(std::move(executor).takeError());
        if (const Signature* const asked = signatureOf(section); selects && asked) nameBySignature(*m_model, *asked, m_target);
        Result<BoundInputs> inputs = readInputs(section, m_target, options.seed);
        if (!inputs.ok()) return broken(section, inputs.error().message());
        std::unique_ptr<TraceRecorder> recorder;
        if (const Outcome wrong = startTrace(recorder, (*executor)->model())) return wrong;
        (*executor)->setObserver(recorder.get());
        m_phase = "run";
        Status status = m_session->run(**executor, *inputs, 0, nullptr, 0);
        m_kernels.note(**executor);
        if (!(*executor)->position().started) m_phase = "prepare";
        (*executor)->setObserver(nullptr);
        if (recorder) {
            if (Status closed = recorder->finish(); !closed.ok()) return broken(section, std::move(closed).takeError().message());
        }
        if (!status.ok()) return pend(std::move(status).takeError());
        for (const Port& port : m_target.outputs) m_outputs.push_back((*executor)->output(port.index));
        return std::nullopt;
    }

    /// The signature that the run asks for by name; null: none.
    const Signature* signatureOf(const LtestSection& section) const
    {
        return section.value("signature").empty() ? nullptr : chooseSignature(*m_model, section.value("signature"));
    }

    /// A TensorFlow graph that is no function is fed what the run names, and asked for what is expected of it and for `target=NODE`.
    RunSelection selectionOf(const LtestSection& section) const
    {
        RunSelection selection;
        const Signature* const asked = signatureOf(section);
        const Graph& graph = m_model->graph(m_target.graph);
        if (!graph.outputs.empty() || !graph.inputs.empty()) return selection;
        for (const std::string& name : assignedNames(section))
            selection.feeds.push_back(signatureValue(*m_model, asked, &Signature::inputs, name));
        if (const std::string target = section.value("target"); !target.empty()) selection.targets = {target};
        if (const std::string fetch = section.value("fetch"); !fetch.empty()) selection.fetches = {fetch};
        for (size_t i = m_at + 1; i < m_test.sections.size() && m_test.sections[i].name != "run"; ++i)
            if (m_test.sections[i].name == "expect")
                for (const std::string& name : assignedNames(m_test.sections[i]))
                    selection.fetches.push_back(signatureValue(*m_model, asked, &Signature::outputs, name));
        return selection;
    }

    /// If a `== trace` belongs to the run at m_at, makes its recorder.
    Outcome startTrace(std::unique_ptr<TraceRecorder>& recorder, const Model& model)
    {
        m_trace.reset();
        const LtestSection* wanted = nullptr;
        for (size_t i = m_at + 1; i < m_test.sections.size() && m_test.sections[i].name != "run" && m_test.sections[i].name != "model"; ++i)
            if (m_test.sections[i].name == "trace") wanted = &m_test.sections[i];
        if (wanted == nullptr) return std::nullopt;
        RecorderOptions options;
        m_trace = std::make_unique<TemporaryFile>(".lstrace");
        options.path = m_trace->path;
        constexpr std::array levels = {"control", "statistics", "hashes", "values", "all"};
        const std::string level = wanted->value("level", "statistics");
        const auto* found = std::find(levels.begin(), levels.end(), level);
        if (found == levels.end()) return broken(*wanted, "unknown level '" + level + "'");
        options.level = static_cast<TraceLevel>(found - levels.begin());
        options.listing = graphListing;
        Result<std::unique_ptr<TraceRecorder>> created = TraceRecorder::create(model, std::move(options));
        if (!created.ok()) return broken(*wanted, created.error().message());
        recorder = std::move(created).value();
        return std::nullopt;
    }

    Outcome expect(const LtestSection& section)
    {
        if (m_error) return fail(m_test.sections[m_errorAt], m_error->message());
        if (m_outputs.empty() && !m_target.outputs.empty()) return broken(section, "'== expect' without a run");
        Result<std::vector<Expectation>> expectations = readExpectations(section, m_target, m_outputs);
        if (!expectations.ok()) return broken(section, expectations.error().message());
        for (const Expectation& e : *expectations) {
            Tensor got = m_outputs[e.output];
            got.quantization = nullptr; // literals are stored integers
            const Comparison c =
                compareTensors(got, e.value.view(), widenedTo(e.tolerance, profileBound(*m_model, m_profile, got.dtype), e.value.view()));
            if (c.equal) continue;
            const std::string name = m_target.outputs[e.output].name;
            if (!c.mismatch.empty()) return fail(section, name + ": " + c.mismatch);
            const int64_t at = std::max<int64_t>(c.worst, 0);
            WorstElement worst{static_cast<int64_t>(e.output),
                               elementIndexText(got.shape, at),
                               elementText(got, at),
                               elementText(e.value.view(), at),
                               c.got,
                               c.want,
                               got.dtype != DType::string};
            std::string message = name + " at " + worst.index + ": got " + worst.got + ", want " + worst.want;
            if (c.maxUlp) message += " (" + std::to_string(*c.maxUlp) + " ulp)";
            if (c.beyond > 1) message += "; " + std::to_string(c.beyond) + " of " + std::to_string(c.elements) + " differ";
            if (got.elementCount() > 1 && got.elementCount() <= 16) message += "; got " + elementsText(got);
            SectionStop stop = fail(section, message);
            stop.worst = std::move(worst);
            return stop;
        }
        return std::nullopt;
    }

    Outcome infer(const LtestSection& section)
    {
        if (!m_model) return broken(section, "'== infer' without a model");
        Model bare = *m_model;
        for (Graph& graph : bare.graphs)
            for (Value& value : graph.values)
                if (value.role == ValueRole::result) {
                    value.type.dtype = DType::unknown;
                    value.type.shape = Shape::unknownRank();
                    value.type.signature.reset();
                }
        if (Status status = inferModel(bare); !status.ok()) return fail(section, std::move(status).takeError().message());
        for (const std::string& line : section.lines) {
            const size_t colon = line.find(" :");
            if (line.find_first_not_of(" \t") == std::string::npos) continue;
            if (colon == std::string::npos) return broken(section, "'" + line + "': expected VALUE : TYPE");
            const std::string id = trimText(line.substr(0, colon)), want = trimText(line.substr(colon + 2));
            const Graph* graph = nullptr;
            ValueId value;
            for (const Graph& g : bare.graphs)
                if (!value.valid()) {
                    value = g.findValue(id);
                    graph = &g;
                }
            if (!value.valid()) return broken(section, "no value '" + id + "'");
            TensorType type = graph->value(value).type;
            // Quantization is the file's, not inference's: it is compared only where the test writes it.
            if (want.find(" q(") == std::string::npos) type.quantization = nullptr;
            if (const std::string got = typeText(type, graph); got != want) return fail(section, id + ": got " + got + ", want " + want);
        }
        return std::nullopt;
    }

    Outcome expectError(const LtestSection& section)
    {
        const std::string phase = section.words.empty() ? "" : section.words.front();
        const std::string constraint = section.words.size() > 1 ? section.words[1] : "";
        constexpr std::array phases = {"", "parse", "verify", "infer", "prepare", "run"};
        if (std::find(phases.begin(), phases.end(), phase) == phases.end()) return broken(section, "unknown phase '" + phase + "'");
        if (!m_error && m_model && (phase == "verify" || phase == "infer")) {
            // A text whose types are written loads without inference; these phases ask for it.
            Model copy = *m_model;
            if (Status status = inferModel(copy); !status.ok()) m_error = std::move(status).takeError();
        }
        if (!m_error && m_model && phase == "prepare" && m_outputs.empty()) {
            if (const Outcome stop = prepareOnly(section)) return stop;
        }
        if (!m_error) return fail(section, "no error, want one" + (phase.empty() ? "" : " in " + phase));
        std::string message = m_error->message();
        for (const std::string& note : m_error->detail().notes) message += "\n" + note;
        const bool early = m_phase == "load" || m_phase == "prepare";
        if ((phase == "prepare" && m_phase == "run") || (phase == "run" && early))
            return fail(section, "failed in " + m_phase + ", want " + phase + ": " + message);
        if (!constraint.empty() && message.find(constraint + ":") == std::string::npos)
            return fail(section, "got '" + message + "', want constraint " + constraint);
        for (const std::string& line : section.lines)
            if (line.find_first_not_of(" \t") != std::string::npos && !occursIn(trimText(line), message))
                return fail(section, "got '" + message + "', want '" + trimText(line) + "' in it");
        m_error.reset();
        return std::nullopt;
    }

    /// Prepares the model without inputs of its own, for `== error prepare` without `== run`.
    Outcome prepareOnly(const LtestSection& section)
    {
        LtestSection run;
        run.name = "run";
        run.line = section.line;
        Result<RunTarget> target = selectTarget(*m_model, "");
        if (!target.ok()) return broken(section, target.error().message());
        BoundInputs inputs;
        for (const Port& port : target->inputs) {
            Result<Array> array = randomArray(port.type.dtype, concreteShape(port.type), 1, {});
            if (!array.ok()) return broken(section, array.error().message());
            inputs.inputs.push_back({{std::move(array).value()}, "@1"});
        }
        ModelSession session(*m_model, {});
        Result<Executor*> executor = session.enter(target->graph);
        if (!executor.ok()) {
            m_phase = "prepare";
            m_error = std::move(executor).takeError();
            return std::nullopt;
        }
        Status status = session.run(**executor, inputs, 0, nullptr, 0);
        m_phase = (*executor)->position().started ? "run" : "prepare";
        if (!status.ok()) m_error = std::move(status).takeError();
        return std::nullopt;
    }

    Outcome pass(const LtestSection& section)
    {
        if (!m_model) return broken(section, "'== pass' without a model");
        m_before = *m_model;
        m_passSection = &section;
        m_session.reset();
        m_phase = "pass";
        Result<RewriteReport> report = runTestPasses(*m_model, section);
        if (!report.ok()) return pend(std::move(report).takeError());
        m_report = std::move(report).value();
        return std::nullopt;
    }

    Outcome proved(const LtestSection& section)
    {
        if (!m_before) return broken(section, "'== proved' without '== pass'");
        const Result<std::vector<std::string>> lines = provedLines(*m_before, m_passSection);
        return lines.ok() ? reply(section, section.lines, *lines) : Outcome(fail(section, lines.error().message()));
    }

    Outcome unchanged(const LtestSection& section)
    {
        if (!m_before) return broken(section, "'== unchanged' without '== pass'");
        const std::string why = whyChanged(section, *m_before, *m_model, m_report);
        return why.empty() ? Outcome() : Outcome(fail(section, why));
    }

    Outcome slopes(const LtestSection& section)
    {
        if (!m_before || m_error) return broken(section, "'== slopes' without '== pass gradient'");
        const Result<std::string> why = whyNoSlopes(*m_model, *m_passSection, section);
        if (!why.ok()) return broken(section, why.error().message());
        return why->empty() ? Outcome() : Outcome(fail(section, *why));
    }

    Outcome print(const LtestSection& section)
    {
        if (!m_model) return broken(section, "'== print' without a model");
        std::vector<std::string> actual;
        if (section.hasWord("structured")) {
            actual = structuredLines(*m_model);
        } else {
            for (const ListingLine& line : listModel(*m_model, std::nullopt)) actual.push_back(line.text);
        }
        return reply(section, section.lines, actual);
    }

    Outcome query(const LtestSection& section)
    {
        if (!m_trace) return broken(section, "'== sql' without a trace");
        const auto separator = std::find(section.lines.begin(), section.lines.end(), "--");
        if (separator == section.lines.end()) return broken(section, "expected a line '--' between query and rows");
        std::string sql;
        for (auto line = section.lines.begin(); line != separator; ++line) sql += *line + "\n";
        Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(m_trace->path);
        if (!reader.ok()) return broken(section, reader.error().message());
        Result<QueryResult> rows = (*reader)->query(sql, {}, {});
        if (!rows.ok()) return fail(section, rows.error().message());
        std::vector<std::string> actual;
        for (const auto& row : rows->rows) {
            std::string line;
            for (size_t c = 0; c < row.size(); ++c) line += (c > 0 ? "|" : "") + sqlText(row[c]);
            actual.push_back(std::move(line));
        }
        const std::vector<std::string> expected(separator + 1, section.lines.end());
        return reply(section, expected, actual, static_cast<size_t>(separator - section.lines.begin()) + 1);
    }

    Outcome session(const LtestSection& section)
    {
        if (!m_model) return broken(section, "'== session' without a model");
        ExecutionOptions options;
        options.profile = m_profile;
        options.maxSteps = kMaxSteps;
        if (Status read = readRunOptions(section, options); !read.ok()) return broken(section, std::move(read).takeError().message());
        std::optional<Model> selected; // of a TensorFlow graph what the fetch needs
        if (m_model->dialect == Dialect::tf) {
            RunSelection asked;
            if (const std::string fetch = section.value("fetch"); !fetch.empty()) asked.fetches = {fetch};
            Result<RunSelection> selection = completeSelection(*m_model, std::move(asked), "");
            if (!selection.ok()) return broken(section, selection.error().message());
            Result<Model> made = selectForRun(*m_model, rootOf(*m_model, ""), *selection);
            if (!made.ok()) return broken(section, made.error().message());
            selected = std::move(made).value();
            selected->signatures.clear(); // its ports are the feeds and fetches
        }
        Result<DebugSubject> subject = liveSubject(selected ? *selected : *m_model, m_test.name, section.value("signature"), options);
        if (!subject.ok()) return broken(section, subject.error().message());
        if (const std::string against = section.value("against"); !against.empty())
            if (Status status = holdAgainst(*subject, against, sessionTolerance(section), options); !status.ok())
                return broken(section, std::move(status).takeError().message());
        const std::vector<SessionCommand> commands = readSession(section.lines, "> ");
        if (commands.empty()) return broken(section, "'== session' without a command ('> run')");
        const std::vector<std::vector<std::string>> replies = replaySession(std::move(subject).value(), commands);
        std::string difference;
        std::vector<std::string> lines;
        for (size_t i = 0; i < commands.size(); ++i) {
            const std::string wrong = matchReply(commands[i].expected, replies[i]);
            if (difference.empty() && !wrong.empty()) difference = "'> " + commands[i].text + "': " + wrong;
            lines.push_back("> " + commands[i].text);
            const std::vector<std::string>& kept = wrong.empty() ? commands[i].expected : replies[i];
            lines.insert(lines.end(), kept.begin(), kept.end());
        }
        if (difference.empty()) return std::nullopt;
        if (m_replies == nullptr) return fail(section, difference);
        (*m_replies)[section.line] = std::move(lines);
        return std::nullopt;
    }

    /// `keep`: lines of the section that stay in front of the reply.
    Outcome reply(const LtestSection& section, const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                  size_t keep = 0)
    {
        const std::string difference = matchReply(expected, actual);
        if (difference.empty()) return std::nullopt;
        if (m_replies == nullptr) return fail(section, difference);
        std::vector<std::string> lines(section.lines.begin(), section.lines.begin() + static_cast<ptrdiff_t>(keep));
        lines.insert(lines.end(), actual.begin(), actual.end());
        (*m_replies)[section.line] = std::move(lines);
        return std::nullopt;
    }

    const LtestFile& m_file;
    const LtestCase& m_test;
    Profile m_profile;
    LtestReplies* m_replies;
    size_t m_at = 0, m_errorAt = 0;
    std::optional<Model> m_model;
    std::optional<Model> m_before; ///< before the last pass
    const LtestSection* m_passSection = nullptr;
    RewriteReport m_report; ///< of the last pass
    std::optional<ModelSession> m_session;
    RunTarget m_target;
    std::vector<Tensor> m_outputs;
    std::optional<Error> m_error;
    std::string m_phase;
    KernelTally m_kernels;
    std::unique_ptr<TemporaryFile> m_trace;
};

} // namespace

CaseResult runLtestCase(const LtestFile& file, const LtestCase& test, LtestReplies* replies, std::optional<Profile> only)
{
    CaseResult result;
    result.id = file.path + ":" + test.name;
    result.verdict = Verdict::pass;
    const auto take = [&](Outcome stop, const std::string& prefix) {
        if (!stop) return true;
        result.verdict = stop->verdict;
        result.message = prefix + stop->message;
        result.worst = std::move(stop->worst);
        return false;
    };
    if (!test.requirement.empty()) {
        take(SectionStop{Verdict::unsupported, "requires " + test.requirement, {}}, "");
        return result;
    }
    if (test.sections.empty()) {
        take(SectionStop{Verdict::error, "line " + std::to_string(test.line) + ": the case has no sections", {}}, "");
        return result;
    }
    std::string unknown;
    const std::optional<std::vector<std::string>> named = namedProfiles(test, unknown);
    if (!unknown.empty()) {
        take(SectionStop{Verdict::error, "line " + std::to_string(test.line) + ": unknown profile '" + unknown + "'", {}}, "");
        return result;
    }
    // Profile xnnpack gives answers of its own: what does not ask for it is not tried with it, and what asks for it alone has no others.
    const auto isNamed = [&](Profile profile) {
        return named ? std::ranges::find(*named, profileName(profile)) != named->end() : profile != Profile::xnnpack;
    };
    const auto run = [&](CaseRunner& runner, Profile profile) {
        const bool fine = take(runner.run(), profile == Profile::reference ? "" : "profile " + std::string(profileName(profile)) + ": ");
        result.compared.kernels.add(runner.kernels());
        return fine;
    };
    const bool isXnnpack = named && named->size() == 1 && isNamed(Profile::xnnpack);
    if (only || isXnnpack) {
        const Profile profile = isXnnpack ? Profile::xnnpack : isNamed(*only) ? *only : Profile::reference;
        CaseRunner runner(file, test, profile, replies);
        run(runner, profile);
        return result;
    }
    CaseRunner reference(file, test, Profile::reference, replies);
    if (!run(reference, Profile::reference) || reference.model() == nullptr) return result;
    for (const Profile profile : furtherProfiles(*reference.model())) {
        if (!isNamed(profile)) continue;
        CaseRunner runner(file, test, profile, replies);
        if (!run(runner, profile)) break;
    }
    return result;
}

Result<int64_t> updateLtest(const std::string& path)
{
    LS_TRY(const LtestFile file, readLtest(path));
    LtestReplies replies;
    for (const LtestCase& test : file.cases) runLtestCase(file, test, &replies);
    if (replies.empty()) return int64_t{0};
    std::string out;
    std::map<size_t, const LtestSection*> bySection;
    for (const LtestCase& test : file.cases)
        for (const LtestSection& section : test.sections) bySection[section.line] = &section;
    for (size_t number = 1; number <= file.lines.size(); ++number) {
        out += file.lines[number - 1] + "\n";
        const auto reply = replies.find(number);
        if (reply == replies.end()) continue;
        for (const std::string& line : reply->second) out += line + "\n";
        number = std::max(number, bySection[number]->lastBody);
    }
    LS_CHECK_OK(writeFile(path, out, true));
    return static_cast<int64_t>(replies.size());
}

} // namespace loopscope::app
