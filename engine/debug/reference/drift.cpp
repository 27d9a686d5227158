#include "engine/debug/reference/drift.h"

#include "engine/debug/excursion.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/debug/reference/run_place.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/frames.h"
#include "engine/observe/address_names.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace loopscope {

namespace {

constexpr size_t kMostRows = 100'000;
constexpr size_t kMostWrites = 200'000; ///< kept one by one
constexpr size_t kMostTrips = 1'000;

/// Integers where a larger or smaller number would have been cut off.
void countClipped(DriftFigures& figures, const Tensor& tensor)
{
    if (tensor.quantization == nullptr || !tensor.quantization->isPerTensor() || !isInteger(tensor.dtype) || bitWidth(tensor.dtype) > 16)
        return;
    const int64_t low = integerMin(tensor.dtype), high = static_cast<int64_t>(integerMax(tensor.dtype)), count = tensor.elementCount();
    const bool isLowEnd = tensor.quantization->zeroPoint() != low;
    figures.quantized += count;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t value = elementAsInteger(tensor, i);
        figures.clipped += value == high || (isLowEnd && value == low) ? 1 : 0;
    }
}

DriftFigures figuresOf(const Comparison& comparison, const Tensor& got, const Tensor& want)
{
    DriftFigures figures;
    figures.isBeyond = !comparison.equal;
    figures.mismatch = comparison.mismatch;
    if (!figures.mismatch.empty()) return figures;
    figures.maxAbs = comparison.maxAbs;
    figures.meanAbs = meanDifference(got, want);
    figures.cosine = comparison.cosine;
    figures.snr = signalToNoise(got, want);
    figures.maxRel = comparison.maxRel;
    figures.maxUlp = comparison.maxUlp;
    figures.elements = comparison.elements;
    figures.different = comparison.different;
    countClipped(figures, got);
    countClipped(figures, want);
    return figures;
}

void addWrite(DriftRow& row, const DriftFigures& write)
{
    row.isBeyond |= write.isBeyond;
    if (!write.mismatch.empty()) {
        row.mismatch = write.mismatch;
        return;
    }
    row.maxAbs = std::max(row.maxAbs, write.maxAbs);
    row.meanAbs += (write.meanAbs - row.meanAbs) / static_cast<double>(row.writes);
    row.cosine = std::min(row.cosine, write.cosine);
    row.snr = std::min(row.snr, write.snr);
    row.maxRel = std::max(row.maxRel, write.maxRel);
    if (write.maxUlp) row.maxUlp = std::max(row.maxUlp.value_or(0), *write.maxUlp);
    row.elements += write.elements;
    row.different += write.different;
    row.quantized += write.quantized;
    row.clipped += write.clipped;
}

class DriftCollector final : public TrapHandler {
public:
    DriftCollector(const DebugTarget& target, Reference& reference) : m_target(target), m_reference(reference)
    {
        const Model& model = target.model;
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (size_t i = 0; i < model.graphs[g].operators.size(); ++i)
                m_traps.add(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(i)), trapAfter);
    }
    /// Of one value only, by iteration.
    DriftCollector(const DebugTarget& target, Reference& reference, CallPath path, OperatorId op, int slot)
        : m_target(target),
          m_reference(reference),
          m_path(std::move(path)),
          m_slot(slot)
    {
        m_traps.add(m_path->graph(), op, trapAfter);
    }

    const TrapSet& traps() const { return m_traps; }
    Drift& drift() { return m_drift; }
    Status takeStatus() { return std::move(m_status); }

    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }

    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        const Executor& executor = m_target.executor;
        const int frames = framesAtTrap(executor, event.step);
        if (m_path && (frames != m_path->depth() + 1 || !isOnPath(executor, frames, *m_path))) return false;
        const Operator& op = m_target.model.graph(event.graph).op(event.op);
        const int64_t trips = m_path ? 0 : countTrips(frames - 1);
        for (size_t k = 0; k < event.results.size() && k < op.results.size(); ++k) {
            if (m_slot >= 0 && static_cast<int>(k) != m_slot) continue;
            if (!event.results[k] || !event.results[k]->data) continue;
            m_status = compare(event, op, k, frames - 1);
            if (!m_status.ok()) return true;
        }
        if (!m_path && m_status.ok() && callForm(op).kind == CallKind::loop) m_status = compareTrips(event, frames - 1, trips);
        if (!m_path && m_status.ok() && leavesFrame(op) && event.state == EventState::live) m_status = compareRounds(event, frames - 1);
        return !m_status.ok();
    }

private:
    Status compare(const OperatorEvent& event, const Operator& op, size_t slot, int depth)
    {
        const Executor& executor = m_target.executor;
        LS_TRY(const Tensor* const want, m_reference.valueFor(executor, depth, op.results[slot]));
        if (!want) {
            ++m_drift.unpaired;
            return {};
        }
        DriftRow* const row = rowOf(event, op, slot, depth);
        if (!row) return {};
        const Tensor& got = *event.results[slot];
        const Comparison comparison = compareTensors(got, *want, m_reference.tolerance(), true);
        DriftFigures figures = figuresOf(comparison, got, *want);
        const auto index = static_cast<int>(row - m_drift.rows.data());
        if (figures.isBeyond && !row->isBeyond) {
            row->firstStep = event.step;
            if (m_drift.first < 0) m_drift.first = index;
        }
        if (row->worstStep < 0 || figures.maxAbs > row->maxAbs) row->worstStep = event.step;
        addWrite(*row, figures);
        if (m_path) return {};
        std::vector<int64_t> iterations = iterationsAt(depth);
        if (iterations.empty()) return {};
        m_drift.writesAreCut = m_drift.writes.size() >= kMostWrites;
        if (!m_drift.writesAreCut) m_drift.writes.push_back({index, event.step, std::move(iterations), std::move(figures)});
        return {};
    }

    std::vector<int64_t> iterationsAt(int depth) const
    {
        std::vector<int64_t> iterations;
        for (int d = 1; d <= depth; ++d)
            if (const FrameInfo frame = m_target.executor.frame(d); frame.iteration >= 0) iterations.push_back(frame.iteration);
        return iterations;
    }

    /// An operator of a condition says how many iterations are done, one of a body that another is under way. Returns the iterations of the
    /// loop that the operator is, which has returned to the frame at `depth`; 0 for others.
    int64_t countTrips(int depth)
    {
        const auto at = static_cast<size_t>(depth);
        const int64_t inside = m_trips.size() > at + 1 ? m_trips[at + 1] : 0;
        m_trips.resize(at + 1);
        const FrameInfo frame = m_target.executor.frame(depth);
        if (frame.role == CallRole::loop) m_trips[at] = frame.iteration + (frame.inCond ? 0 : 1);
        return inside;
    }

    Status compareTrips(const OperatorEvent& event, int depth, int64_t here)
    {
        LS_TRY(const std::optional<int64_t> there, m_reference.tripsFor(m_target.executor, depth, event.op));
        if (there && *there != here && m_drift.trips.size() < kMostTrips)
            m_drift.trips.push_back({addressAt(event, depth, -1, true), here, *there});
        return {};
    }

    /// The same of a v1 frame, of which the first Exit that hands something out tells.
    Status compareRounds(const OperatorEvent& event, int depth)
    {
        const Executor& executor = m_target.executor;
        if (depth < 1 || executor.frame(depth).role != CallRole::frame) return {};
        std::vector<int64_t> frame = wayTo(executor, depth);
        frame.resize(frame.size() - 2);
        if (!m_framesLeft.insert(std::move(frame)).second) return {};
        LS_TRY(const std::optional<int64_t> there, m_reference.tripsFor(executor, depth, event.op));
        const int64_t here = executor.frame(depth).iteration;
        if (!there || *there == here || m_drift.trips.size() >= kMostTrips) return {};
        std::vector<FrameInfo> stack;
        for (int d = 0; d <= depth; ++d) stack.push_back(executor.frame(d));
        m_drift.trips.push_back({callSiteOf(toString(addressOfStack(m_target.model, stack))), here, *there});
        return {};
    }

    DriftRow* rowOf(const OperatorEvent& event, const Operator& op, size_t slot, int depth)
    {
        const Executor& executor = m_target.executor;
        std::vector<int64_t> key;
        for (int d = 1; d <= depth; ++d) {
            const FrameInfo frame = executor.frame(d);
            key.push_back(frame.site.index);
            key.push_back(frame.graph.index);
        }
        key.push_back(event.op.index);
        key.push_back(static_cast<int64_t>(slot));
        if (m_path)
            key = {executor.frame(depth).iteration, executor.frame(0).invocation, m_drift.rows.empty() ? 0 : outerIterations(depth)};
        const auto [found, isNew] = m_rows.try_emplace(key, m_drift.rows.size());
        if (isNew) {
            if (m_drift.rows.size() >= kMostRows) return nullptr;
            DriftRow& row = m_drift.rows.emplace_back();
            row.address = addressAt(event, depth, -1, false);
            row.layer = m_path ? iterationName(depth) : layerName(event, op, slot, depth);
            row.graph = event.graph;
            row.op = event.op;
            row.slot = static_cast<int>(slot);
        }
        if (found->second >= m_drift.rows.size()) return nullptr;
        DriftRow& row = m_drift.rows[found->second];
        ++row.writes;
        return &row;
    }

    int64_t outerIterations(int depth) const
    {
        int64_t sum = 0;
        for (int d = 1; d < depth; ++d) sum = sum * 1'000'003 + m_target.executor.frame(d).iteration + 1;
        return sum;
    }

    std::string iterationName(int depth) const
    {
        std::string name;
        for (int d = 1; d <= depth; ++d) {
            const FrameInfo frame = m_target.executor.frame(d);
            if (frame.iteration >= 0) name += "@" + std::to_string(frame.iteration);
        }
        return name.empty() ? "the run" : name;
    }

    std::string layerName(const OperatorEvent& event, const Operator& op, size_t slot, int depth) const
    {
        return withoutRoot(addressAt(event, depth, op.results.size() > 1 ? static_cast<int>(slot) : -1, false));
    }

    std::string addressAt(const OperatorEvent& event, int depth, int slot, bool iterations) const
    {
        std::vector<FrameInfo> stack;
        for (int d = 0; d <= depth; ++d) {
            stack.push_back(m_target.executor.frame(d));
            if (!iterations) stack.back().iteration = -1;
        }
        return addressOf(m_target.model, stack, event.op, slot);
    }

    const DebugTarget& m_target;
    Reference& m_reference;
    std::optional<CallPath> m_path;
    int m_slot = -1;
    TrapSet m_traps;
    Drift m_drift;
    std::vector<int64_t> m_trips;                ///< of the loops that are open, by depth
    std::set<std::vector<int64_t>> m_framesLeft; ///< v1 frames that were compared, by the way to them
    std::map<std::vector<int64_t>, size_t> m_rows;
    Status m_status;
};

Result<Drift> collect(const DebugTarget& target, DriftCollector& collector)
{
    Excursion excursion(target);
    Status status = scan(target, 0, std::numeric_limits<int64_t>::max(), collector.traps(), collector);
    if (status.ok() || status.detail().code == ErrorCode::execution)
        status = collector.takeStatus(); // a run that fails is compared up to there
    LS_CHECK_OK(excursion.comeBack());
    LS_CHECK_OK(std::move(status));
    return std::move(collector.drift());
}

/// Hears one operator at one step.
class BothSides final : public TrapHandler {
public:
    BothSides(const DebugTarget& target, Reference& reference, const DriftRow& row, Step step,
              const std::function<void(const Tensor&, const Tensor*)>& use)
        : m_target(target),
          m_reference(reference),
          m_row(row),
          m_step(step),
          m_use(use)
    {
        m_traps.add(row.graph, row.op, trapAfter);
    }
    const TrapSet& traps() const { return m_traps; }
    bool found() const { return m_found; }
    Status takeStatus() { return std::move(m_status); }

    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        const auto slot = static_cast<size_t>(m_row.slot);
        if (event.step < m_step) return false;
        if (event.step > m_step || slot >= event.results.size() || !event.results[slot]) return true; // it is no write of that row
        m_found = true;
        const ValueId value = m_target.model.graph(event.graph).op(event.op).results[slot];
        Result<const Tensor*> there = m_reference.valueFor(m_target.executor, framesAtTrap(m_target.executor, event.step) - 1, value);
        if (there.ok()) m_use(*event.results[slot], *there);
        else m_status = std::move(there).takeError();
        return true;
    }

private:
    const DebugTarget& m_target;
    Reference& m_reference;
    const DriftRow& m_row;
    int64_t m_step;
    const std::function<void(const Tensor&, const Tensor*)>& m_use;
    TrapSet m_traps;
    bool m_found = false;
    Status m_status;
};

/// The path to the v1 frame that a node runs in, which its name alone does not tell.
CallPath inItsFrame(const Model& model, CallPath path, OperatorId op)
{
    const Graph& graph = model.graph(path.graph());
    if ((!path.levels.empty() && path.levels.back().isFrame) || !hasFramesOrSwitches(graph)) return path;
    const FrameAnalysis analysis = analyzeFrames(graph);
    std::vector<CallPath::Level> inner;
    for (int32_t f = analysis.frameOf[static_cast<size_t>(op.index)]; f > 0; f = analysis.frames[static_cast<size_t>(f)].parent)
        inner.push_back({analysis.frames[static_cast<size_t>(f)].enters.front(), path.graph(), true});
    path.levels.insert(path.levels.end(), inner.rbegin(), inner.rend());
    return path;
}

std::string padded(const std::string& text, size_t width)
{
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string formatted(const char* format, double number)
{
    if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
    std::array<char, 64> text = {};
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

} // namespace

Result<Drift> collectDrift(const DebugTarget& target, Reference& reference)
{
    DriftCollector collector(target, reference);
    return collect(target, collector);
}

Result<Drift> collectDriftOf(const DebugTarget& target, Reference& reference, const ResolvedAddress& value)
{
    LS_TRY(const CallPath path, pathOf(target.model, target.executor.root(), value.address));
    if (!value.value.valid()) return Error(ErrorCode::usage, "names no value").at(toString(value.address));
    const StaticWriter writer = staticWriterOf(target.model, path, value.value);
    if (writer.ops.empty() || writer.slot < 0)
        return Error(ErrorCode::usage, "no operator of the run writes it").at(toString(value.address));
    DriftCollector collector(target, reference, inItsFrame(target.model, writer.path, writer.ops[0]), writer.ops[0], writer.slot);
    return collect(target, collector);
}

Status withBothSides(const DebugTarget& target, Reference& reference, const DriftRow& row, Step step,
                     const std::function<void(const Tensor& here, const Tensor* there)>& use)
{
    BothSides handler(target, reference, row, step, use);
    Excursion excursion(target);
    Status status = target.timeline.goToStep(step, target.control);
    if (status.ok()) {
        const Result<bool> trapped = target.timeline.run(std::numeric_limits<int64_t>::max(), handler.traps(), handler, target.control);
        if (!trapped.ok()) status = trapped.error().copy();
    }
    if (handler.found()) status = handler.takeStatus();
    LS_CHECK_OK(excursion.comeBack());
    LS_CHECK_OK(std::move(status));
    if (!handler.found()) return Error(ErrorCode::usage, "is not written at step " + std::to_string(step)).at(row.address);
    return {};
}

std::string driftText(const Drift& drift)
{
    size_t width = 5;
    for (const DriftRow& row : drift.rows) width = std::max(width, row.layer.size());
    width += 3;
    std::string text = "layer" + std::string(width - 5, ' ') + "max |diff|  mean |diff|    cosine  SNR dB\n";
    for (size_t i = 0; i < drift.rows.size(); ++i) {
        const DriftRow& row = drift.rows[i];
        text += row.layer + std::string(width - row.layer.size(), ' ');
        if (row.mismatch.empty())
            text += padded(differenceText(row.maxAbs), 10) + padded(differenceText(row.meanAbs), 13) +
                    padded(formatted("%.6f", row.cosine), 10) + padded(formatted("%.1f", row.snr), 8);
        else text += "  " + row.mismatch;
        if (static_cast<int>(i) == drift.first) text += "  <- first";
        text += "\n";
    }
    if (drift.unpaired > 0)
        text += std::to_string(drift.unpaired) + (drift.unpaired == 1 ? " write has" : " writes have") + " no partner; see info against\n";
    return text;
}

Result<std::optional<ComparedValue>> compareHere(const DebugTarget& target, Reference& reference, int depth, ValueId value)
{
    const Tensor* const got = valueHere(target.executor, depth, value);
    if (!got) return std::optional<ComparedValue>();
    LS_TRY(const Tensor* const want, reference.valueFor(target.executor, depth, value));
    if (!want) return std::optional<ComparedValue>();
    ComparedValue compared;
    compared.comparison = compareTensors(*got, *want, reference.tolerance(), true);
    compared.text = comparisonText(compared.comparison, reference.tolerance(), got->shape);
    return std::optional(std::move(compared));
}

} // namespace loopscope
