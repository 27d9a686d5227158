#include "app/check/golden_run.h"

#include "app/check/fusion_check.h"
#include "app/check/profile_bounds.h"
#include "app/check/sha256.h"
#include "app/wiring/model_file.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/text.h"
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/tf_rules.h"
#include "engine/tensor/npz.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>

namespace loopscope::app {

namespace {

/// Steps after which a run of a golden case counts as endless.
constexpr int64_t kMaxSteps = 200'000'000;

/// What stops a case before the end: a verdict other than pass.
struct CaseStop {
    Verdict verdict;
    std::string message;
    std::optional<WorstElement> worst;
};

/// Which input of the graph an entry of the case means: by name in a signature, else (and where it has no name) by position.
const Port* portOf(const std::vector<Port>& ports, const GoldenTensor& tensor, size_t position, bool byName)
{
    if (byName && !tensor.name.empty()) return findPort(ports, tensor.name);
    return position < ports.size() ? &ports[position] : nullptr;
}

std::vector<std::byte> wholeBytes(const Tensor& tensor)
{
    const int bits = bitWidth(tensor.dtype);
    if (bits > 0 && bits < 8) return unpackElements(tensor);
    return {tensor.data, tensor.data + tensor.bytes};
}

/// True if the reference failed for want of just these operators, too.
bool referenceLacks(const GoldenRun& run, const std::vector<std::string>& missing)
{
    static constexpr std::array kPhrases = {"not registered", "No OpKernel was registered", "unresolved custom op",
                                            "Didn't find op for builtin"};
    const std::string& said = run.errorMessage;
    if (std::ranges::none_of(kPhrases, [&](const char* phrase) { return said.find(phrase) != std::string::npos; })) return false;
    return std::ranges::any_of(missing, [&](const std::string& kind) {
        const size_t dot = kind.find('.');
        const std::string name = dot == std::string::npos ? kind : kind.substr(dot + 1);
        const auto same = [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        };
        return std::search(said.begin(), said.end(), name.begin(), name.end(), same) != said.end();
    });
}

/// An error while opening or running: wanted, or not. An operator that is not built is no error of the model's, a fault of ours never
/// one that was wanted, nor is a case that cannot be read.
std::optional<CaseStop> judgeError(const GoldenRun& run, const std::string& place, const Error& error, bool isTensorFlow,
                                   const std::vector<std::string>& missing)
{
    if (error.code() == ErrorCode::internal) return CaseStop{Verdict::error, place + error.message(), {}};
    const bool unsupported = error.code() == ErrorCode::unsupported;
    if (unsupported && run.mustFail && referenceLacks(run, missing)) return std::nullopt;
    if (unsupported) return CaseStop{Verdict::unsupported, missing.empty() ? error.message() : "no kernel for " + join(missing, ", "), {}};
    if (!run.mustFail) return CaseStop{Verdict::fail, place + error.message(), {}};
    if (error.code() != ErrorCode::execution && error.code() != ErrorCode::badFile)
        return CaseStop{Verdict::fail, place + "want an error of the model, got " + error.message(), {}};
    if (!isTensorFlow) return std::nullopt; // classes of errors are TensorFlow's
    const std::string_view found = tfClassOf(error.detail());
    const std::string got = ", got " + (found.empty() ? "" : std::string(found) + " ") + error.message();
    if (!run.errorClass.empty() && found != run.errorClass) return CaseStop{Verdict::fail, place + "want " + run.errorClass + got, {}};
    for (const std::string& node : run.errorNodes)
        if (error.message().find(node) == std::string::npos)
            return CaseStop{Verdict::fail, place + "the error must name " + node + got, {}};
    return std::nullopt;
}

class CaseRunner {
public:
    CaseRunner(const GoldenCase& golden, const LoadedModel& file, Profile profile)
        : m_golden(golden),
          m_file(file),
          m_profile(profile),
          m_session(file.model, optionsOf(profile))
    {
    }

    /// How much was compared so far.
    ComparedCounts counts() const
    {
        ComparedCounts counts = m_counts;
        counts.kernels = m_kernels.sum();
        return counts;
    }

    std::optional<CaseStop> run(size_t index)
    {
        const GoldenRun& run = m_golden.runs[index];
        const std::string place = m_golden.runs.size() > 1 ? "run " + std::to_string(index) + ", " : "";
        if (m_file.model.dialect == Dialect::tf) return runSelected(run, place);
        Result<RunTarget> target = selectTarget(m_file.model, run.signature);
        if (!target.ok()) return failure(run, place, target.error());
        m_missing = missingKernels(m_file.model, target->graph);
        Result<Executor*> entered = m_session.enter(target->graph);
        if (!entered.ok()) return failure(run, place, entered.error());
        Executor& executor = **entered;

        BoundInputs inputs;
        if (const std::optional<CaseStop> stop = readInputs(run, *target, place, inputs)) return stop;
        Status status = m_session.run(executor, inputs, 0, nullptr, 0);
        m_kernels.note(executor);
        if (!status.ok()) return failure(run, place, std::move(status).takeError());
        if (run.mustFail) return CaseStop{Verdict::fail, place + "gives outputs, want an error", {}};
        return compare(run, *target, executor, place);
    }

private:
    /// A TensorFlow graph runs what the feeds, fetches and targets ask for. Arrays belong to feeds and fetches by position; a signature's
    /// inputs and outputs are found by name.
    std::optional<CaseStop> runSelected(const GoldenRun& run, const std::string& place)
    {
        RunSelection selection{run.feeds, run.fetches, run.targets};
        const GraphId root = rootOf(m_file.model, run.signature);
        RunTarget target;
        GoldenRun named = run;
        if (!run.signature.empty()) {
            Result<RunTarget> signature = selectTarget(m_file.model, run.signature);
            if (!signature.ok()) return failure(run, place, signature.error());
            Result<RunSelection> completed = completeSelection(m_file.model, selection, run.signature);
            if (!completed.ok()) return failure(run, place, completed.error());
            selection = std::move(completed).value();
        } else {
            for (const std::string& feed : run.feeds) named.inputs.push_back({feed, "", {}, -1, "", false});
            for (const std::string& fetch : run.fetches) named.outputs.push_back({fetch, "", {}, -1, "", false});
            named.inputs.resize(run.feeds.size());
            named.outputs.resize(run.fetches.size());
        }
        Result<Executor*> entered = m_session.enter(root, selection, target);
        if (!entered.ok()) return failure(run, place, entered.error());
        for (const Signature& signature : m_file.model.signatures)
            if (!run.signature.empty() && signature.key == run.signature) nameBySignature(m_file.model, signature, target);
        Executor& executor = **entered;
        m_missing = missingKernels(executor.model(), root);
        BoundInputs inputs;
        if (const std::optional<CaseStop> stop = readInputs(named, target, place, inputs)) return stop;
        Status status = m_session.run(executor, inputs, 0, nullptr, 0);
        m_kernels.note(executor);
        if (!status.ok()) return failure(run, place, std::move(status).takeError());
        if (run.mustFail) return CaseStop{Verdict::fail, place + "gives outputs, want " + run.errorClass, {}};
        return compare(named, target, executor, place);
    }

    static ExecutionOptions optionsOf(Profile profile)
    {
        ExecutionOptions options;
        options.profile = profile;
        options.maxSteps = kMaxSteps;
        return options;
    }

    std::optional<CaseStop> failure(const GoldenRun& run, const std::string& place, const Error& error) const
    {
        return judgeError(run, place, error, m_file.model.dialect == Dialect::tf, m_missing);
    }

    std::optional<CaseStop> readInputs(const GoldenRun& run, const RunTarget& target, const std::string& place, BoundInputs& inputs)
    {
        const auto bad = [&](const Error& error) { return CaseStop{Verdict::error, place + error.message(), {}}; };
        inputs.inputs.resize(target.inputs.size());
        std::vector<bool> given(target.inputs.size(), false);
        if (run.inPath.empty()) return std::nullopt;
        Result<NpzFile> archive = NpzFile::open(run.inPath);
        if (!archive.ok()) return bad(archive.error());
        for (size_t k = 0; k < run.inputs.size(); ++k) {
            const Port* port = portOf(target.inputs, run.inputs[k], k, !run.signature.empty());
            if (port == nullptr)
                return CaseStop{
                    Verdict::fail, place + "the model has no input " + std::to_string(k) + " ('" + run.inputs[k].name + "')", {}};
            Result<std::optional<Array>> array = goldenArray(*archive, k, run.inDtypes);
            if (!array.ok()) return bad(array.error());
            if (!array->has_value()) continue;
            Array value = std::move(**array);
            if (value.dtype != port->type.dtype && npyStorageType(port->type.dtype) == value.dtype) {
                Result<Array> converted = fromNpyStorage(std::move(value), port->type.dtype);
                if (!converted.ok()) return bad(converted.error());
                value = std::move(converted).value();
            }
            inputs.inputs[static_cast<size_t>(port->index)].arrays = {std::move(value)};
            given[static_cast<size_t>(port->index)] = true;
        }
        for (size_t i = 0; i < given.size(); ++i)
            if (!given[i])
                return CaseStop{Verdict::error,
                                place + "the case has no array for input " + std::to_string(i) + " ('" + target.inputs[i].name + "')",
                                {}};
        return std::nullopt;
    }

    std::optional<CaseStop> compare(const GoldenRun& run, const RunTarget& target, const Executor& executor, const std::string& place)
    {
        if (run.outPath.empty()) return std::nullopt;
        Result<NpzFile> archive = NpzFile::open(run.outPath);
        if (!archive.ok()) return CaseStop{Verdict::error, place + archive.error().message(), {}};
        for (size_t k = 0; k < run.outputs.size(); ++k) {
            const GoldenTensor& expected = run.outputs[k];
            if (expected.unreadable) continue;
            const std::string what = place + "output " + std::to_string(k);
            const Port* port = portOf(target.outputs, expected, k, !run.signature.empty());
            if (port == nullptr) return CaseStop{Verdict::fail, what + " ('" + expected.name + "') does not exist", {}};
            Result<std::optional<Array>> want = goldenArray(*archive, k, run.outDtypes);
            if (!want.ok()) return CaseStop{Verdict::error, what + ": " + want.error().message(), {}};
            if (!want->has_value()) continue;
            if (const std::optional<CaseStop> stop =
                    compareOutput(static_cast<int64_t>(k), executor.output(port->index), expected, **want, what))
                return stop;
        }
        return std::nullopt;
    }

    std::optional<CaseStop> compareOutput(int64_t position, Tensor got, const GoldenTensor& expected, Array& want, const std::string& what)
    {
        got.quantization = nullptr; // golden arrays hold stored integers
        if (want.dtype != got.dtype && npyStorageType(got.dtype) == want.dtype) {
            if (Result<Array> converted = fromNpyStorage(want, got.dtype); converted.ok()) want = std::move(converted).value();
        }
        const Tolerance tolerance = widenedTo(m_golden.tolerance, profileBound(m_file.model, m_profile, got.dtype), want.view());
        if (expected.truncated >= 0) {
            if (expected.shape && !(got.shape == *expected.shape))
                return CaseStop{Verdict::fail, what + ": shape " + toString(got.shape) + ", want " + toString(*expected.shape), {}};
            if (tolerance.isExact() && !expected.sha256.empty() && sha256Hex(wholeBytes(got)) == expected.sha256) {
                m_counts.add(got.dtype, got.elementCount(), 0);
                return std::nullopt;
            }
            const int64_t count = want.shape.elementCount();
            if (got.elementCount() < count || bitWidth(got.dtype) < 8)
                return CaseStop{Verdict::fail,
                                what + ": holds " + std::to_string(got.elementCount()) + " elements, want at least " +
                                    std::to_string(count),
                                {}};
            got.shape = want.shape;
            got.bytes = byteSize(got.dtype, count);
        }
        const Comparison c = compareTensors(got, want.view(), tolerance);
        if (!c.mismatch.empty()) return CaseStop{Verdict::fail, what + ": " + c.mismatch, {}};
        const bool looseFloats = isFloat(got.dtype) && !tolerance.isExact();
        m_counts.add(got.dtype, c.elements, looseFloats ? compareTensors(got, want.view(), {}).different : c.different);
        if (c.equal) {
            if (expected.truncated >= 0 && tolerance.isExact() && !expected.sha256.empty())
                return CaseStop{Verdict::fail, what + ": beyond the stored elements it differs (sha256)", {}};
            return std::nullopt;
        }
        const int64_t at = std::max<int64_t>(c.worst >= 0 ? c.worst : c.first, 0);
        WorstElement worst{position, elementIndexText(got.shape, at), elementText(got, at), elementText(want.view(), at), c.got,
                           c.want,   got.dtype != DType::string};
        std::string message = what + " at " + worst.index + ": got " + worst.got + ", want " + worst.want;
        if (worst.got == worst.want) message += " (differ by " + realText(c.maxAbs, 3) + ")";
        if (c.beyond > 1) message += "; " + std::to_string(c.beyond) + " of " + std::to_string(c.elements) + " differ";
        if (c.first >= 0 && c.first != at) message += ", first at " + elementIndexText(got.shape, c.first);
        return CaseStop{Verdict::fail, std::move(message), std::move(worst)};
    }

    const GoldenCase& m_golden;
    const LoadedModel& m_file;
    const Profile m_profile;
    ModelSession m_session;
    std::vector<std::string> m_missing; ///< kinds without a kernel that the present run's graph may reach
    ComparedCounts m_counts;
    KernelTally m_kernels;
};

/// A file that does not open: right only where the case says so: by `opens`, by the error that its first run wants, or where the reference
/// refused to prepare it, too.
std::optional<CaseStop> judgeUnopened(const GoldenCase& golden, const Error& error)
{
    if (golden.mustNotOpen && error.code() == ErrorCode::badFile) return std::nullopt;
    std::error_code missing;
    const bool isRefused = !golden.runs.empty() && std::ranges::all_of(golden.runs, [](const GoldenRun& run) {
        return run.mustFail && run.errorMessage.find("failed to prepare") != std::string::npos;
    });
    if (isRefused && error.code() == ErrorCode::badFile && std::filesystem::exists(golden.modelPath, missing)) return std::nullopt;
    GoldenRun wanted;
    if (!golden.runs.empty() && golden.format == "graphdef") wanted = golden.runs.front();
    wanted.mustFail = wanted.mustFail && !wanted.errorClass.empty();
    return judgeError(wanted, "", error, true, {});
}

CaseResult resultOf(const GoldenCase& golden, std::optional<CaseStop> stop)
{
    CaseResult result;
    result.id = golden.id;
    result.verdict = stop ? stop->verdict : Verdict::pass;
    if (stop) {
        result.message = std::move(stop->message);
        result.worst = std::move(stop->worst);
    }
    return result;
}

/// Fuses the model, holds what came out against what the case says, and runs that, too.
void fuseAndRun(const GoldenCase& golden, const LoadedModel& file, Profile profile, CaseResult& result)
{
    Result<FusionCheck> check = checkFusion(golden, file);
    if (!check.ok()) {
        result = resultOf(golden, CaseStop{Verdict::fail, "fusing: " + check.error().message(), {}});
        return;
    }
    std::map<std::string, std::unique_ptr<CaseRunner>> runners;
    std::optional<CaseStop> stop;
    for (size_t i = 0; i < golden.runs.size() && !stop; ++i) {
        const std::string& signature = golden.runs[i].signature;
        std::unique_ptr<CaseRunner>& runner = runners[signature];
        if (!runner) runner = std::make_unique<CaseRunner>(golden, check->fused.at(signature), profile);
        stop = runner->run(i);
    }
    const std::string summary = check->summary();
    if (stop && stop->verdict != Verdict::unsupported) {
        stop->message = "fused: " + stop->message + "; " + summary;
        result = resultOf(golden, std::move(stop));
    } else if (check->met < check->total) {
        result = resultOf(golden, CaseStop{Verdict::fail, summary + ": " + check->firstUnmet, {}});
    } else {
        result.message = summary + (stop ? "; the fused model was not run: " + stop->message : "");
    }
}

} // namespace

Result<std::optional<Array>> goldenArray(const NpzFile& archive, size_t position, const std::map<std::string, std::string>& dtypes)
{
    const std::string key = std::to_string(position);
    if (!archive.has(key)) return std::optional<Array>();
    LS_TRY(Array array, archive.read(key));
    if (const auto named = dtypes.find(key); named != dtypes.end()) {
        const DType dtype = dtypeFromNumpyName(named->second);
        if (dtype == DType::unknown) return Error(ErrorCode::badFile, "dtype '" + named->second + "' is unknown").at("array " + key);
        LS_TRY(array, fromNpyStorage(std::move(array), dtype));
    }
    return std::optional<Array>(std::move(array));
}

std::vector<std::string> missingKernels(const Model& model, GraphId graph)
{
    std::set<std::string> missing;
    std::set<GraphId> seen;
    std::vector<GraphId> open = {graph};
    while (!open.empty()) {
        const GraphId at = open.back();
        open.pop_back();
        if (!model.hasGraph(at) || !seen.insert(at).second) continue;
        for (const Operator& op : model.graph(at).operators) {
            const OpDef* def = findOp(op.kind);
            if ((def == nullptr || !def->isCall) && callForm(op).kind == CallKind::none && !KernelRegistry::builtin().has(op.kind))
                missing.insert(op.kind.dialect == "tfl" ? op.kind.name : op.kind.full());
            for (const Callee& callee : calleesOf(op)) open.push_back(callee.graph);
        }
    }
    return {missing.begin(), missing.end()};
}

CaseResult runGoldenCase(const GoldenCase& golden, Profile profile)
{
    static constexpr std::array kFormats = {"tflite", "lsir", "graphdef", "saved_model"};
    if (std::find(kFormats.begin(), kFormats.end(), golden.format) == kFormats.end())
        return resultOf(golden, CaseStop{Verdict::unsupported, "models of format '" + golden.format + "' do not open yet", {}});
    Result<LoadedModel> file = loadModel(golden.modelPath);
    if (!file.ok()) return resultOf(golden, judgeUnopened(golden, file.error()));
    if (golden.mustNotOpen) return resultOf(golden, CaseStop{Verdict::fail, "opens, want an error", {}});
    if (golden.runs.empty()) {
        Status same = comesBackIdentical(*file);
        if (same.ok()) return resultOf(golden, std::nullopt);
        return resultOf(golden, CaseStop{Verdict::fail, std::move(same).takeError().message(), {}});
    }
    CaseRunner runner(golden, *file, profile);
    std::optional<CaseStop> stop;
    for (size_t i = 0; i < golden.runs.size() && !stop; ++i) stop = runner.run(i);
    CaseResult result = resultOf(golden, std::move(stop));
    if (golden.isFused && result.verdict == Verdict::pass) fuseAndRun(golden, *file, profile, result);
    result.compared = runner.counts();
    const bool wantsValues = std::ranges::any_of(golden.runs, [](const GoldenRun& run) { return !run.mustFail; });
    if (result.verdict == Verdict::pass && wantsValues && result.compared.elements == 0) result.message = "nothing was compared";
    return result;
}

} // namespace loopscope::app
