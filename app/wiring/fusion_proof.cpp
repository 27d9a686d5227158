#include "app/wiring/fusion_proof.h"

#include "app/check/golden_run.h"
#include "app/wiring/model_file.h"
#include "app/wiring/proof.h"
#include "app/wiring/proof_inputs.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/text.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/exec/make_executor.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace loopscope::app {

namespace {

constexpr int64_t kMostSteps = 1'000'000;    ///< of a run on drawn inputs
constexpr int kMostMoments = 3;              ///< invocations of which a value is kept
constexpr uint64_t kMostBytes = 256U << 20U; ///< of all kept values
constexpr int kMostRounds = 16;              ///< of undoing what was not proved
constexpr int kOrdinary = 3;                 ///< the first kinds of draws are ordinary numbers; the rest are corners
constexpr int kShapeDraws = 6;               ///< from here on sizes differ, not numbers

/// What values were in runs of the model, by graph and id.
using Moments = std::map<std::pair<std::string, std::string>, std::vector<Array>>;

class Keeper final : public ExecutionObserver {
public:
    Keeper(const Model& model, const std::set<std::pair<std::string, std::string>>& wanted, Moments& moments)
        : m_model(model),
          m_wanted(wanted),
          m_moments(moments)
    {
    }
    void operatorExecuted(const OperatorEvent& e) override
    {
        if (e.state != EventState::live || !m_model.hasGraph(e.graph)) return;
        const Graph& graph = m_model.graph(e.graph);
        const Operator& op = graph.op(e.op);
        for (size_t k = 0; k < op.results.size() && k < e.results.size(); ++k)
            if (op.results[k].valid() && e.results[k] != nullptr) keep(graph, op.results[k], *e.results[k]);
    }
    void keep(const Graph& graph, ValueId value, const Tensor& tensor)
    {
        const std::string_view id = graph.id;
        const size_t own = id.size() - (id.ends_with(FusionRegion::kSuffix) ? FusionRegion::kSuffix.size() : 0);
        const std::pair<std::string, std::string> key(id.substr(0, own), graph.value(value).id);
        if (tensor.data == nullptr || !m_wanted.contains(key) || m_bytes + tensor.bytes > kMostBytes) return;
        std::vector<Array>& kept = m_moments[key];
        if (kept.size() >= kMostMoments) return;
        m_bytes += tensor.bytes;
        kept.push_back({tensor.dtype, tensor.shape, {tensor.data, tensor.data + tensor.bytes}});
    }

private:
    const Model& m_model;
    const std::set<std::pair<std::string, std::string>>& m_wanted;
    Moments& m_moments;
    uint64_t m_bytes = 0;
};

/// The name that a value had before it was made by another rewrite.
std::string originalId(std::string id)
{
    constexpr std::string_view kFused = "/fused";
    while (id.ends_with(kFused)) id.resize(id.size() - kFused.size());
    return id;
}

/// A model as it runs: what the selection leaves of it, and its ports.
struct Runnable {
    Model model;
    RunTarget target;
};

Result<Runnable> runnableOf(const Model& model, const FusionOptions& options, const std::string& signature)
{
    Runnable runnable;
    if (options.selection && model.dialect == Dialect::tf) {
        LS_TRY(runnable.model, selectForRun(model, options.root, *options.selection));
    } else {
        runnable.model = model;
    }
    LS_TRY(runnable.target, selectTarget(runnable.model, signature));
    return runnable;
}

class Prover {
public:
    Prover(const Model& original, const FusionOptions& options, const FusionProofOptions& asked)
        : m_original(original),
          m_options(options),
          m_asked(asked)
    {
    }

    /// Inputs of the model: as given, the rest drawn.
    Status begin()
    {
        LS_TRY(m_first, runnableOf(m_original, m_options, m_asked.signature));
        std::vector<std::string> sources = m_asked.sources;
        if (std::ranges::any_of(m_first.target.inputs, &Port::isRead)) sources.emplace_back("all=@rand");
        LS_TRY(BoundInputs bound, bindInputs(m_first.target, sources, m_asked.execution.seed, 1));
        for (BoundInput& input : bound.inputs) m_given.push_back(std::move(input.arrays.front()));
        return {};
    }

    const std::vector<Array>& given() const { return m_given; }

    /// Runs what the patterns were looked for in, and keeps what regions begin with.
    void keepMoments(const FusionReport& report)
    {
        m_wanted.clear();
        m_moments.clear();
        for (const Fusion& fusion : report.rewrites) {
            std::vector<std::string> ids;
            if (fusion.region) ids = fusion.region->inputs;
            if (fusion.domain) ids.push_back(fusion.domain->value);
            for (const std::string& id : ids) m_wanted.insert({{fusion.graph, id}, {fusion.graph, originalId(id)}});
        }
        if (m_wanted.empty() || !report.opened) return;
        const Result<Runnable> opened = runnableOf(*report.opened, m_options, m_asked.signature);
        if (!opened.ok()) return;
        follow(opened->model, opened->target.graph, m_given, m_wanted, m_moments);
    }

    FusionVerdict proveOne(const Fusion& fusion)
    {
        FusionVerdict proof;
        proof.domain = measured(fusion);
        if (!fusion.region) {
            proof.isDecided = true; // nothing that is read has changed
            return proof;
        }
        Model before = fusion.region->before, after = fusion.region->after;
        std::vector<const std::vector<Array>*> seen;
        size_t moments = SIZE_MAX;
        const Graph& graph = before.graph(before.signatures.front().graph);
        for (size_t i = 0; i < fusion.region->inputs.size(); ++i) {
            seen.push_back(momentsOf(fusion.graph, fusion.region->inputs[i], graph.value(graph.inputs[i]).type));
            moments = std::min(moments, seen.back() == nullptr ? 0 : seen.back()->size());
        }
        if (seen.empty()) moments = 1; // of constants alone
        if (std::string reason = giveShapes({&before, &after}, seen); !reason.empty()) {
            proof.undecided = std::move(reason);
            return proof;
        }
        for (Model* const model : {&before, &after})
            if (std::string reason = makeReady(*model); !reason.empty()) {
                proof.undecided = std::move(reason);
                return proof;
            }
        const Result<RunTarget> target = selectTarget(before, FusionRegion::kSignature);
        const Result<RunTarget> other = selectTarget(after, FusionRegion::kSignature);
        if (!target.ok() || !other.ok()) {
            proof.undecided = (target.ok() ? other : target).error().message();
            return proof;
        }
        const Result<ProofPair> pair = pairForProof(before, *target, after, *other);
        if (!pair.ok()) {
            proof.undecided = pair.error().message();
            return proof;
        }
        for (size_t m = 0; m < moments; ++m) {
            std::vector<Array> inputs;
            for (const auto* const values : seen) inputs.push_back((*values)[m]);
            const bool isOrdinary = fusion.equality == FusionEquality::exact || areOrdinary(inputs);
            compare(*pair, inputs, isOrdinary ? "" : "extremes", isOrdinary && isInside(fusion, *pair, inputs), fusion.equality, proof);
            follow(after, other->graph, inputs, m_wanted, m_moments); // for rewrites of what this one made
        }
        std::vector<Array> own;
        for (const auto* const values : seen)
            if (values != nullptr) own.push_back(values->front());
        if (own.size() != seen.size()) own.clear();
        for (int64_t k = 0; k < m_asked.samples && !seen.empty(); ++k) {
            const int64_t kind = k % kDrawKinds;
            if (kind >= kShapeDraws) continue; // sizes are those of the model
            Result<std::vector<Array>> drawn = drawInputs(*target, own, m_asked.execution.seed, k);
            if (!drawn.ok()) {
                if (proof.undecided.empty()) proof.undecided = drawn.error().message();
                continue;
            }
            // What an approximate rewrite makes of zeros is told, too, but it is not held against it; nor what a marked function makes of
            // numbers that it never meets.
            const bool isApproximate = fusion.equality == FusionEquality::approximate;
            const bool isOrdinary = kind < kOrdinary && (!isApproximate || (kind == 0 && (moments == 0 || fusion.domain)));
            const bool counts = (isOrdinary || fusion.equality == FusionEquality::exact) && isInside(fusion, *pair, *drawn);
            compare(*pair, *drawn, drawKindText(k), counts, fusion.equality, proof);
        }
        return proof;
    }

    /// `hasDomains`: some rewrites are not equal everywhere.
    FusionVerdict proveWhole(const Model& fused, bool hasDomains) const
    {
        FusionVerdict proof;
        const Result<Runnable> second = runnableOf(fused, m_options, m_asked.signature);
        if (!second.ok()) {
            proof.undecided = second.error().message();
            return proof;
        }
        const Result<ProofPair> pair = pairForProof(m_first.model, m_first.target, second->model, second->target);
        if (!pair.ok()) {
            proof.undecided = pair.error().message();
            return proof;
        }
        for (const Runnable* const one : {&m_first, &second.value()})
            if (std::string reason = lacking(one->model, one->target.graph); !reason.empty()) {
                proof.undecided = std::move(reason);
                return proof;
            }
        // What nobody gave may lie where no rewrite promises anything.
        const bool isGiven = !m_asked.sources.empty() || !hasDomains;
        compare(*pair, m_given, "random", isGiven, FusionEquality::approximate, proof);
        for (int64_t k = 0; k < m_asked.samples; ++k) {
            const int64_t kind = k % kDrawKinds;
            if (kind >= kShapeDraws) continue;
            const Result<std::vector<Array>> drawn = drawInputs(m_first.target, m_given, m_asked.execution.seed, k);
            if (drawn.ok()) compare(*pair, *drawn, drawKindText(k), kind == 0 && !hasDomains, FusionEquality::approximate, proof);
        }
        return proof;
    }

private:
    /// What the value was; null: not known.
    const std::vector<Array>* momentsOf(const std::string& graph, const std::string& id, const TensorType& type) const
    {
        for (const std::string& name : {id, originalId(id)}) {
            const auto found = m_moments.find({graph, name});
            if (found == m_moments.end()) continue;
            const Array& first = found->second.front();
            // A file of TFLite has no other word for a shape that it does not know than that of a scalar.
            const bool isUnsaid = !type.shape.hasRank() || (m_original.dialect != Dialect::tf && name == id && type.shape.rank() == 0);
            const bool fits = isUnsaid || type.shape.rank() == first.shape.rank();
            if (fits && (type.dtype == DType::unknown || type.dtype == first.dtype)) return &found->second;
        }
        return nullptr;
    }

    /// An operator that runs and that nothing can compute; empty: none.
    static std::string lacking(const Model& model, GraphId graph)
    {
        const std::vector<std::string> missing = missingKernels(model, graph);
        return missing.empty() ? "" : "operator '" + missing.front() + "' has no kernel";
    }

    /// Calls by name are resolved; empty: all of it can run.
    static std::string makeReady(Model& model)
    {
        const GraphId graph = model.signatures.front().graph;
        if (model.dialect != Dialect::tf) return lacking(model, graph);
        Result<Model> ready = selectForRun(model, graph, {});
        if (!ready.ok()) return ready.error().message();
        model = std::move(ready).value();
        return lacking(model, graph);
    }

    /// Whether a rewrite is equal on these inputs of its region, as far as it says where.
    bool isInside(const Fusion& fusion, const ProofPair& pair, std::span<const Array> inputs) const
    {
        if (!fusion.domain) return true;
        const FusionDomain& domain = *fusion.domain;
        for (size_t i = 0; i < inputs.size() && i < fusion.region->inputs.size(); ++i)
            if (fusion.region->inputs[i] == domain.value) return lies(domain, inputs[i]);
        const std::set<std::pair<std::string, std::string>> wanted = {{fusion.graph, domain.value}};
        Moments moments;
        follow(*pair.model, pair.target.graph, inputs, wanted, moments);
        return std::ranges::all_of(moments, [&](const auto& seen) { return lies(domain, seen.second.front()); });
    }

    /// What a run meets of infinities and of the largest numbers there are says no more than such that are drawn.
    static bool areOrdinary(std::span<const Array> arrays)
    {
        constexpr double kExtreme = 1e30;
        return std::ranges::all_of(arrays, [](const Array& array) {
            if (array.dtype != DType::f32) return true;
            const TensorStatistics seen = computeStatistics(array.view());
            return seen.nan + seen.positiveInf + seen.negativeInf == 0 && largestOf(seen) < kExtreme;
        });
    }

    static double largestOf(const TensorStatistics& seen) { return std::fmax(std::fabs(seen.min), std::fabs(seen.max)); }

    static bool lies(const FusionDomain& domain, const Array& array)
    {
        const TensorStatistics seen = computeStatistics(array.view());
        if (domain.relation == "is finite") return seen.nan + seen.positiveInf + seen.negativeInf == 0;
        if (seen.nan > 0 || domain.relation == "is a number") return seen.nan == 0;
        if (domain.relation == "within") return seen.positiveInf + seen.negativeInf == 0 && largestOf(seen) <= domain.limit;
        return domain.relation == "<=" ? seen.positiveInf == 0 && seen.max <= domain.limit
                                       : seen.negativeInf == 0 && seen.min > domain.limit;
    }

    /// Keeps values of one run.
    void follow(const Model& model, GraphId root, std::span<const Array> inputs,
                const std::set<std::pair<std::string, std::string>>& wanted, Moments& moments) const
    {
        Keeper keeper(model, wanted, moments);
        ExecutionOptions options = m_asked.execution;
        options.maxSteps = std::min(options.maxSteps, kMostSteps);
        const Result<std::unique_ptr<Executor>> executor = makeExecutor(model, root, options);
        if (!executor.ok()) return;
        (*executor)->setObserver(&keeper);
        const Graph& graph = model.graph(root);
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (i < graph.inputs.size()) keeper.keep(graph, graph.inputs[i], inputs[i].view());
            if (!(*executor)->setInput(static_cast<int>(i), inputs[i].view()).ok()) return;
        }
        if ((*executor)->start().ok()) (void)(*executor)->run().ok(); // what ran before an error is known all the same
    }

    /// Inputs of regions take the shapes that were seen, where the file says none. Empty: they have one.
    static std::string giveShapes(std::initializer_list<Model*> models, const std::vector<const std::vector<Array>*>& seen)
    {
        for (Model* const model : models) {
            Graph& graph = model->graph(model->signatures.front().graph);
            for (size_t i = 0; i < graph.inputs.size() && i < seen.size(); ++i) {
                Value& value = graph.value(graph.inputs[i]);
                if (seen[i] != nullptr) {
                    value.type.dtype = seen[i]->front().dtype;
                    value.type.shape = seen[i]->front().shape;
                    value.type.signature.reset();
                } else if (!value.type.shape.hasRank()) {
                    return "the shape of '" + value.id + "' is not known, and no run has come by";
                }
            }
        }
        return "";
    }

    void compare(const ProofPair& pair, std::span<const Array> inputs, const std::string& kind, bool counts, FusionEquality equality,
                 FusionVerdict& proof) const
    {
        ExecutionOptions options = m_asked.execution;
        options.maxSteps = std::min(options.maxSteps, kMostSteps);
        ProofOptions how;
        how.tolerance = m_asked.tolerance;
        const Result<Proof> found = proveOn(pair, inputs, options, options.profile, how);
        if (!found.ok() || !found->undecided.empty() || !found->refused.empty()) {
            if (proof.undecided.empty())
                proof.undecided = !found.ok() ? found.error().message() : found->undecided.empty() ? found->refused : found->undecided;
            return;
        }
        // What the original refuses has no answer that could be kept.
        if (found->verdict == ProofVerdict::different && found->first && found->first->kind == "outcome" && found->first->a != "finished") {
            if (proof.undecided.empty()) proof.undecided = "the original refuses: " + found->first->a;
            return;
        }
        proof.isDecided = true;
        ++proof.inputs;
        const ProofVerdict most = equality == FusionEquality::exact       ? ProofVerdict::exact
                                  : equality == FusionEquality::realEqual ? ProofVerdict::realEqual
                                                                          : ProofVerdict::approximate;
        const bool isMissed = found->verdict > most;
        if (isMissed && !counts) {
            if (proof.apartOn.find(kind) == std::string::npos) proof.apartOn += (proof.apartOn.empty() ? "" : ", ") + kind;
            return;
        }
        proof.verdict = std::max(proof.verdict, found->verdict);
        proof.maxAbs = std::max(proof.maxAbs, found->maxAbs);
        proof.maxRel = std::max(proof.maxRel, found->maxRel);
        if (!isMissed || !proof.holds) return;
        proof.holds = false;
        proof.difference = found->first ? differenceLine(*found->first) : verdictLine(*found);
        if (!kind.empty()) proof.difference += ", on " + kind;
    }

    /// What is known of the domain on which the rewrite is equal.
    std::string measured(const Fusion& fusion) const
    {
        if (!fusion.domain) return "";
        const FusionDomain& domain = *fusion.domain;
        const bool isNumber = domain.relation.starts_with("is ");
        const bool isWithin = domain.relation == "within";
        std::string text = "equal while " + (isWithin ? "|" + domain.value + "| <=" : domain.value + " " + domain.relation) +
                           (isNumber ? "" : " " + realText(domain.limit, 6));
        const std::vector<Array>* const found = momentsOf(fusion.graph, domain.value, {});
        if (found == nullptr) return text;
        double least = INFINITY, most = -INFINITY;
        int64_t nans = 0;
        for (const Array& array : *found) {
            const TensorStatistics seen = computeStatistics(array.view());
            nans += seen.nan + (domain.relation == "is finite" ? seen.positiveInf + seen.negativeInf : 0);
            if (seen.finite == 0) continue;
            least = std::fmin(least, seen.min);
            most = std::fmax(most, isWithin ? largestOf(seen) : seen.max);
        }
        if (isNumber) return text + "; " + (nans == 0 ? "nothing else" : std::to_string(nans) + " others") + " seen";
        if (domain.relation == ">") return text + "; smallest seen " + realText(least, 6);
        return text + "; largest seen " + realText(most, 6);
    }

    const Model& m_original;
    const FusionOptions& m_options;
    const FusionProofOptions& m_asked;
    Runnable m_first;
    std::vector<Array> m_given;
    std::set<std::pair<std::string, std::string>> m_wanted;
    Moments m_moments;
};

} // namespace

FusionOptions fusionOptionsOf(const Model& model, const RunTarget& target)
{
    FusionOptions options;
    options.root = target.graph;
    if (!model.hasGraph(target.graph)) return options;
    const Graph& graph = model.graph(target.graph);
    for (const auto* const ports : {&target.inputs, &target.outputs})
        for (const Port& port : *ports)
            if (port.value.valid()) options.keeps.push_back(graph.value(port.value).id);
    if (model.dialect != Dialect::tf) return options;
    options.signature = target.signature;
    options.selection = RunSelection(); // the root has inputs and outputs of its own
    return options;
}

Result<std::vector<FusionFigures>> measureFusion(const Model& original, const Model& fused, const FusionOptions& options,
                                                 const FusionProofOptions& asked)
{
    Prover prover(original, options, asked);
    LS_CHECK_OK(prover.begin());
    Model opened = original; // with calls and variables opened, so that the same things are counted
    LS_CHECK_OK(openForFusion(opened, options));
    LS_TRY(const Runnable first, runnableOf(opened, options, asked.signature));
    LS_TRY(const Runnable second, runnableOf(fused, options, asked.signature));
    std::vector<FusionFigures> figures;
    for (const Runnable* const runnable : {&first, &second})
        figures.push_back(figuresOfRuns(runnable->model, runnable->target.graph, prover.given(), asked.execution));
    return figures;
}

std::string proofText(const FusionVerdict& proof)
{
    if (!proof.isDecided) return "not decided: " + (proof.undecided.empty() ? "no input could be tried" : proof.undecided);
    std::string text(verdictText(proof.verdict));
    if (!proof.holds) text = (proof.verdict == ProofVerdict::different ? "different" : "only " + text) + ": " + proof.difference;
    else if (proof.verdict != ProofVerdict::exact) text += ", at most " + realText(proof.maxAbs, 3) + " apart";
    if (!proof.apartOn.empty()) text += "; apart on " + proof.apartOn;
    if (!proof.domain.empty()) text += "; " + proof.domain;
    return text;
}

bool FusionProof::differs() const
{
    return !failures.empty() || !whole.holds || std::ranges::any_of(proofs, [](const FusionVerdict& proof) { return !proof.holds; });
}

Result<FusionProof> fuseAndProve(LoadedModel& file, FusionOptions options, const FusionProofOptions& asked)
{
    const Model original = file.model;
    options.keepsRegions = true;
    FusionProof result;
    Prover prover(original, options, asked);
    LS_CHECK_OK(prover.begin());
    for (int round = 0; round < kMostRounds; ++round) {
        file.model = original;
        LS_TRY(result.report, fuseOperators(file.model, options));
        prover.keepMoments(result.report);
        result.proofs.clear();
        bool isUndone = false;
        for (Fusion& fusion : result.report.rewrites) {
            FusionVerdict& proof = result.proofs.emplace_back(prover.proveOne(fusion));
            fusion.region = nullptr;
            if (proof.holds || asked.isForced) continue;
            options.forbidden.push_back({fusion.rule, fusion.graph, fusion.where});
            result.rolledBack.push_back(fusion);
            result.failures.push_back(proof);
            isUndone = true;
        }
        if (!isUndone) break;
    }
    for (size_t k = 0; k < result.rolledBack.size(); ++k) {
        const Fusion& fusion = result.rolledBack[k];
        result.report.declined.push_back(
            {fusion.rule, fusion.graph, fusion.where, fusion.to,
             "undone, for it does not hold as " + std::string(equalityText(fusion.equality)) + ": " + proofText(result.failures[k])});
    }
    const bool hasDomains = std::ranges::any_of(result.report.rewrites, [](const Fusion& fusion) { return fusion.domain.has_value(); });
    result.whole = prover.proveWhole(file.model, hasDomains);
    return result;
}

} // namespace loopscope::app
