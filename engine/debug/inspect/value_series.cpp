// A value over the iterations of a loop: the loop is run once with traps on what writes the value, or a recording is asked.
#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/debug/excursion.h"
#include "engine/debug/inspect/value_history.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/exec/seeking.h"
#include "engine/ir/frames.h"
#include "engine/ir/ids.h"
#include "engine/kernels/resources.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace loopscope {

namespace {

/// What is collected: the value to which the path leads, or what a variable of the session holds as iterations begin.
struct Sought {
    CallPath path;
    const Value* value = nullptr;
    ValueId id;
    std::string_view variable;
    std::string text; ///< for errors
};

constexpr int64_t kMostIterations = 1 << 22; ///< with entries, and that a loop is run ahead
constexpr size_t kMostBuckets = 1024;        ///< of the iterations beyond
constexpr size_t kMostStatistics = 1 << 16;  ///< iterations of which all statistics are kept; of later ones only the mean

bool isLoop(const Model& model, const CallPath& path, int level)
{
    const CallPath::Level& entered = path.levels[static_cast<size_t>(level)];
    const GraphId outside = level == 0 ? path.root : path.levels[static_cast<size_t>(level) - 1].graph;
    return callForm(model.graph(outside).op(entered.site)).kind == CallKind::loop;
}

void noteStatistics(ValueSeries& series, size_t at, const TensorStatistics& statistics)
{
    series.isScalar = false;
    series.numbers[at] = statistics.finite > 0 ? statistics.mean : std::numeric_limits<double>::quiet_NaN();
    if (at >= kMostStatistics) return;
    if (series.statistics.size() <= at) series.statistics.resize(at + 1);
    series.statistics[at] = statistics;
}

/// There is a value of this iteration. False: beyond what a series holds.
bool noteWrite(ValueSeries& series, int64_t iteration, Step step)
{
    const auto at = static_cast<size_t>(iteration);
    if (iteration < 0 || iteration >= kMostIterations) return false;
    if (series.numbers.size() <= at) series.numbers.resize(at + 1, std::numeric_limits<double>::quiet_NaN());
    if (series.written.size() <= at) series.written.resize(at + 1, false);
    series.written[at] = true;
    if (series.steps.size() <= at) series.steps.resize(at + 1, -1);
    series.steps[at] = step;
    return true;
}

/// What stands for a tensor in a line of numbers.
double meanOf(const Tensor& tensor)
{
    if (tensor.elementCount() == 1) return elementAsReal(tensor, 0);
    const TensorStatistics statistics = computeStatistics(tensor);
    return statistics.finite > 0 ? statistics.mean : std::numeric_limits<double>::quiet_NaN();
}

bool noteInSeries(ValueSeries& series, int64_t iteration, const Tensor& tensor, Step step)
{
    if (!noteWrite(series, iteration, step)) {
        if (iteration >= kMostIterations) series.tail.note(iteration, meanOf(tensor));
        return false;
    }
    const auto at = static_cast<size_t>(iteration);
    if (tensor.elementCount() == 1) series.numbers[at] = elementAsReal(tensor, 0);
    else noteStatistics(series, at, computeStatistics(tensor));
    return true;
}

/// The iteration is there; true: it has entries.
bool reach(ValueSeries& series, int64_t iteration)
{
    series.iterations = std::max(series.iterations, std::min(iteration + 1, kMostIterations));
    if (iteration >= kMostIterations) series.tail.reach(iteration);
    return iteration < kMostIterations;
}

/// Every iteration of a series has its entries, and no other has.
void finishSeries(ValueSeries& series)
{
    series.numbers.resize(static_cast<size_t>(series.iterations), std::numeric_limits<double>::quiet_NaN());
    series.written.resize(series.numbers.size(), false);
    series.steps.resize(series.numbers.size(), -1);
    if (!series.isScalar) series.statistics.resize(std::min(series.numbers.size(), kMostStatistics));
}

/// How far a timeline was run, where nothing beyond is wanted.
Tick endOf(const DebugTarget& target, bool onlyWhatRan)
{
    if (!onlyWhatRan) return std::numeric_limits<int64_t>::max();
    const TimelineInfo& line = target.timeline.info();
    return std::max(line.frontier, line.lastTick);
}

/// Listens to a recording, up to a tick.
class RecordedSeries final : public LoopListener {
public:
    /// `depth`: of the loop's frame.
    RecordedSeries(const DebugTarget& target, int depth, Tick until, ValueSeries& series)
        : m_cancel(target.control.cancel),
          m_lastStep(int64_t{until} - depth),
          m_series(series)
    {
    }
    bool wasCancelled() const { return m_cancelled; }

    bool bodyBegan(int64_t iteration, Step step) override
    {
        if (step > m_lastStep || isCancelled()) return false;
        reach(m_series, iteration);
        return true;
    }
    bool written(int64_t iteration, Step step, const LoopWrite& write) override
    {
        if (step >= m_lastStep || isCancelled()) return false;
        if (iteration >= kMostIterations) {
            if (write.tensor != nullptr) m_series.tail.note(iteration, meanOf(*write.tensor));
            else if (write.number) m_series.tail.note(iteration, *write.number);
            else if (write.statistics != nullptr && write.statistics->finite > 0) m_series.tail.note(iteration, write.statistics->mean);
            return true;
        }
        if (write.tensor != nullptr) return noteInSeries(m_series, iteration, *write.tensor, step);
        if ((!write.number && write.statistics == nullptr) || !noteWrite(m_series, iteration, step)) return true;
        const auto at = static_cast<size_t>(iteration);
        if (write.number) m_series.numbers[at] = *write.number;
        else noteStatistics(m_series, at, *write.statistics);
        return true;
    }

private:
    bool isCancelled() { return m_cancelled = m_cancelled || (++m_looks % 4096 == 0 && m_cancel != nullptr && m_cancel->requested()); }

    const CancelFlag* m_cancel;
    const Step m_lastStep;
    ValueSeries& m_series;
    int64_t m_looks = 0;
    bool m_cancelled = false;
};

/// Listens to one instance of a v1 frame: the one that is open in the invocation `caller`, or the last one if that is 0.
class FrameSeriesCollector final : public TrapHandler {
public:
    FrameSeriesCollector(const DebugTarget& target, GraphId graph, OperatorId site, const Value& value, InvocationId caller,
                         ValueSeries& series)
        : m_executor(target.executor),
          m_known(endOf(target, true)),
          m_site(site),
          m_value(value),
          m_caller(caller),
          m_isFixed(caller != 0),
          m_series(series)
    {
        m_traps.add(graph, value.producer, trapAfter);
    }
    const TrapSet& traps() const { return m_traps; }
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent& event, Tick tick) override
    {
        const int depth = m_executor.position().depth - 1;
        const auto slot = static_cast<size_t>(m_value.slot);
        if (event.state != EventState::live || depth < 1 || slot >= event.results.size()) return false;
        const FrameInfo frame = m_executor.frame(depth);
        const InvocationId caller = m_executor.frame(depth - 1).invocation;
        if (frame.role != CallRole::frame || frame.site != m_site || (m_isFixed && caller != m_caller)) return false;
        if (caller != m_caller) { // another instance of the frame: that of the next iteration around it
            std::string loop = std::move(m_series.loop);
            m_series = ValueSeries();
            m_series.loop = std::move(loop);
            m_series.isScalar = true;
            m_caller = caller;
        }
        if (!reach(m_series, frame.iteration) && tick > m_known) return true;
        const Tensor& result = *event.results[slot];
        if (result.data) noteInSeries(m_series, frame.iteration, result, event.step); // a Switch gives one of its sides
        return false;
    }

private:
    const Executor& m_executor;
    const Tick m_known; ///< so far it was run before
    const OperatorId m_site;
    const Value& m_value;
    InvocationId m_caller;
    const bool m_isFixed;
    ValueSeries& m_series;
    TrapSet m_traps;
};

/// Listens to one execution of a loop.
class SeriesCollector final : public TrapHandler {
public:
    SeriesCollector(const DebugTarget& target, const Sought& sought, int loopDepth, const SeriesOptions& options, ValueSeries& series)
        : m_target(target),
          m_path(sought.path),
          m_loopDepth(loopDepth),
          m_variable(sought.variable),
          m_options(options),
          m_caller(series.caller),
          m_known(endOf(target, true)),
          m_series(series),
          m_began(nowNs())
    {
        const Model& model = target.model;
        const CallPath::Level& loop = m_path.levels[static_cast<size_t>(loopDepth - 1)];
        m_outside = loopDepth == 1 ? m_path.root : m_path.levels[static_cast<size_t>(loopDepth) - 2].graph;
        m_site = loop.site;
        for (const Callee& callee : callForm(model.graph(m_outside).op(m_site)).callees)
            if (callee.role == "body") m_body = callee.graph;
        if (sought.value != nullptr && sought.value->role == ValueRole::input) {
            m_formal = sought.id;
            m_traps.add(m_path.graph(), OperatorId(0), trapBefore);
        } else if (sought.value != nullptr) {
            m_producer = sought.value->producer;
            m_slot = static_cast<size_t>(sought.value->slot);
            m_traps.add(m_path.graph(), m_producer, trapAfter);
        }
        m_traps.add(m_outside, m_site, trapAfter);
        if (!model.graph(m_body).operators.empty()) m_traps.add(m_body, OperatorId(0), trapBefore);
    }

    const TrapSet& traps() const { return m_traps; }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        if (m_series.complete) return false;
        const Executor& executor = m_target.executor;
        const int frames = frameCount(executor, event.step);
        if (event.graph == m_body && event.op.index == 0 && frames == m_loopDepth + 1 && isHere(executor)) {
            const int64_t iteration = executor.frame(m_loopDepth).iteration;
            if (isLate() || (iteration >= kMostIterations && tick > m_known)) return true;
            reach(m_series, iteration);
            if (!m_variable.empty()) noteVariable(executor, event.step - 1);
        }
        if (m_formal.valid() && event.op.index == 0 && event.graph == m_path.graph() && isValueHere(executor, frames))
            if (const Tensor* const tensor = executor.value(m_path.depth(), m_formal)) note(executor, *tensor, event.step - 1);
        return false;
    }

    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (m_series.complete) return false;
        const Executor& executor = m_target.executor;
        if (event.graph == m_outside && event.op == m_site && event.invocation == m_caller) {
            m_series.complete = true;
            return true;
        }
        if (!m_producer.valid() || event.op != m_producer || event.graph != m_path.graph()) return false;
        if (m_slot < event.results.size() && isValueHere(executor, frameCount(executor, event.step)))
            note(executor, *event.results[m_slot], event.step);
        return false;
    }

private:
    bool isHere(const Executor& executor) const
    {
        return executor.frame(m_loopDepth - 1).invocation == m_caller && executor.frame(m_loopDepth).site == m_site;
    }
    bool isValueHere(const Executor& executor, int frames) const
    {
        return frames == m_path.depth() + 1 && isHere(executor) && isOnPath(executor, frames, m_path);
    }
    /// The time that it may take is over, and it has come farther than the part before.
    bool isLate()
    {
        if (m_options.budgetNs <= 0 || ++m_looks % 64 != 0 || nowNs() - m_began < m_options.budgetNs) return false;
        return m_series.isPart = true;
    }
    void keepContents(const Tensor& tensor, size_t at)
    {
        if (m_options.keepBytes == 0 || bitWidth(tensor.dtype) == 0 || dtypeClass(tensor.dtype) == DTypeClass::handle || tensor.bytes == 0)
            return;
        if (m_series.dtype == DType::unknown) {
            m_series.dtype = tensor.dtype;
            m_series.shape = tensor.shape;
            m_series.contentBytes = tensor.bytes;
        }
        const size_t end = (at + 1) * m_series.contentBytes;
        if (tensor.dtype != m_series.dtype || !(tensor.shape == m_series.shape) || tensor.bytes != m_series.contentBytes) return;
        if (end > m_options.keepBytes) return;
        if (m_series.contents.size() < end) m_series.contents.resize(end);
        std::memcpy(m_series.contents.data() + at * m_series.contentBytes, tensor.data, tensor.bytes);
    }
    void noteVariable(const Executor& executor, Step step)
    {
        for (const auto& [handle, variable] : executor.sessionResources()->variables()) {
            if (variable.name != m_variable || !variable.assigned) continue;
            Tensor tensor;
            tensor.data = const_cast<std::byte*>(variable.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
            tensor.bytes = variable.bytes.size();
            tensor.dtype = variable.dtype;
            tensor.shape = variable.shape;
            note(executor, tensor, step);
        }
    }
    void note(const Executor& executor, const Tensor& tensor, Step step)
    {
        const int64_t iteration = executor.frame(m_loopDepth).iteration;
        if (noteInSeries(m_series, iteration, tensor, step)) keepContents(tensor, static_cast<size_t>(iteration));
    }

    const DebugTarget& m_target;
    const CallPath m_path;
    const int m_loopDepth;
    const std::string m_variable; ///< empty: a value
    const SeriesOptions& m_options;
    const InvocationId m_caller;
    const Tick m_known; ///< so far it was run before
    ValueSeries& m_series;
    const int64_t m_began;
    int64_t m_looks = 0;
    GraphId m_outside, m_body;
    OperatorId m_site, m_producer;
    size_t m_slot = 0; ///< of `m_producer`
    ValueId m_formal;
    TrapSet m_traps;
};

/// The level of the path that is the loop asked for, counted from 1: the innermost, or the innermost that is called so.
Result<int> loopLevel(const Model& model, const CallPath& path, const std::optional<std::string>& wanted)
{
    for (int level = path.depth(); level >= 1; --level) {
        if (!isLoop(model, path, level - 1)) continue;
        if (!wanted) return level;
        const CallPath outside = [&] {
            CallPath p = path;
            p.levels.resize(static_cast<size_t>(level) - 1);
            return p;
        }();
        const OperatorId site = path.levels[static_cast<size_t>(level) - 1].site;
        const std::string label = operatorLabel(model.graph(outside.graph()).op(site), site.index);
        if (*wanted == label || wanted->ends_with("/" + label)) return level;
    }
    if (wanted) return Error(ErrorCode::usage, "the value is not inside this loop").at(*wanted);
    return Error(ErrorCode::usage, "the value is in no loop");
}

/// The tick at which the present execution of a loop was entered, else of the last one, else of the next one. Notes which it is.
Result<Tick> findExecution(const DebugTarget& target, const CallPath& outside, OperatorId site, const std::string& text, bool onlyWhatRan,
                           ValueSeries& series)
{
    const Executor& executor = target.executor;
    const int level = outside.depth() + 1;
    const int64_t now = target.timeline.tick();
    series.isScalar = true;
    if (executor.position().depth > level && isOnPath(executor, executor.position().depth, outside) && executor.frame(level).site == site) {
        std::vector<FrameInfo> stack;
        for (int d = 0; d < level; ++d) stack.push_back(executor.frame(d));
        series.caller = stack.back().invocation;
        series.loop = addressOf(target.model, stack, site);
        return findEntry(target, level - 1, series.caller, site, now);
    }
    WriteQuery query;
    query.path = outside;
    query.ops = {site};
    LS_TRY(std::optional<WriteHit> hit, findLast(target, query, now));
    if (!hit && !onlyWhatRan) {
        LS_TRY(hit, findFirst(target, query, now));
    }
    if (!hit)
        return Error(ErrorCode::usage, onlyWhatRan ? "the loop has not run" : "the loop does not run to its end in this run").at(text);
    series.caller = hit->stack.back().invocation;
    series.loop = addressOf(target.model, hit->stack, site);
    return hit->before;
}

Result<ValueSeries> collectInFrame(const DebugTarget& target, const CallPath& path, const Value& what, bool onlyWhatRan)
{
    const Executor& executor = target.executor;
    const OperatorId site = path.levels.back().site;
    const int depth = path.depth();
    const bool isInside = executor.position().depth > depth && isOnPath(executor, executor.position().depth, path);
    ValueSeries series;
    series.isScalar = true;
    series.loop = frameNameOf(target.model.graph(path.graph()).op(site));
    FrameSeriesCollector collector(target, path.graph(), site, what, isInside ? executor.frame(depth - 1).invocation : InvocationId(),
                                   series);
    Status status = scan(target, 0, endOf(target, onlyWhatRan), collector.traps(), collector);
    if (!status.ok() && status.detail().code != ErrorCode::execution) return std::move(status).takeError();
    series.complete = status.ok() && target.timeline.finished();
    series.nextTick = target.timeline.tick();
    if (series.iterations == 0) return Error(ErrorCode::usage, what.id + " is never live in this run");
    finishSeries(series);
    return series;
}

/// Of a recording, which knows its loops without going through them. None: they have to be gone through.
Result<std::optional<ValueSeries>> collectRecorded(const DebugTarget& target, const CallPath& path, ValueId value,
                                                   const SeriesOptions& options)
{
    const std::optional<ValueSeries> none;
    Executor& executor = target.executor;
    auto* const recording = dynamic_cast<Seeking*>(&executor);
    const CallPath outside = path.parent();
    const int level = path.depth();
    const OperatorId site = path.levels.back().site;
    if (recording == nullptr || options.keepBytes > 0 || !isOnPath(executor, executor.position().depth, outside)) return none;
    const bool isInside = executor.position().depth > level && executor.frame(level).site == site;
    if (!isInside && level > 1) return none;
    std::vector<FrameInfo> stack;
    for (int d = 0; d < level; ++d) stack.push_back(executor.frame(d));
    ValueSeries series;
    series.isScalar = true;
    series.caller = stack.back().invocation;
    series.loop = addressOf(target.model, stack, site);
    RecordedSeries listener(target, level, endOf(target, options.onlyWhatRan), series);
    LS_TRY(const LoopAnswer answer, recording->hearLoop({series.caller, outside.graph(), site, path.graph(), value}, listener));
    if (answer == LoopAnswer::unknown) return none;
    if (listener.wasCancelled()) return Error(ErrorCode::cancelled, "cancelled at " + series.loop);
    series.complete = answer == LoopAnswer::complete;
    finishSeries(series);
    return std::optional(std::move(series));
}

/// Inside of the body of loop `site`, which is called where the path leads.
CallPath intoBody(const Model& model, const CallPath& path, OperatorId site)
{
    for (const Callee& callee : callForm(model.graph(path.graph()).op(site)).callees)
        if (callee.role == "body" && model.hasGraph(callee.graph)) return path.into(site, callee.graph);
    return path;
}

/// Where no loop is around it: the result of a loop is what the body gives, a variable what it is in the only loop that is called here.
/// Gives the level of the loop then, else why there is none.
Result<int> enterLoop(const Model& model, Sought& sought, const std::optional<std::string>& wanted, Error why)
{
    const Graph& graph = model.graph(sought.path.graph());
    const auto isMeant = [&](OperatorId site) {
        const std::string label = operatorLabel(graph.op(site), site.index);
        return callForm(graph.op(site)).kind == CallKind::loop && (!wanted || *wanted == label || wanted->ends_with("/" + label));
    };
    std::vector<OperatorId> loops;
    if (sought.value == nullptr) {
        for (size_t o = 0; o < graph.operators.size(); ++o)
            if (isMeant(OperatorId(static_cast<int64_t>(o)))) loops.emplace_back(static_cast<int64_t>(o));
        if (loops.size() > 1) return Error(ErrorCode::usage, "several loops are called here").expected("a loop behind it, as 'while#0'");
    } else if (sought.value->role == ValueRole::result && isMeant(sought.value->producer)) {
        loops.push_back(sought.value->producer);
    }
    if (loops.empty()) return why;
    const auto slot = sought.value == nullptr ? 0 : static_cast<size_t>(sought.value->slot);
    sought.path = intoBody(model, sought.path, loops.front());
    const Graph& body = model.graph(sought.path.graph());
    if (sought.value != nullptr) {
        if (slot >= body.outputs.size()) return why;
        sought.id = body.outputs[slot].value;
        sought.value = &body.value(sought.id);
    }
    return sought.path.depth();
}

Result<ValueSeries> collectAround(const DebugTarget& target, Sought sought, const SeriesOptions& options)
{
    const Model& model = target.model;
    Result<int> around = loopLevel(model, sought.path, options.loop);
    if (!around.ok()) around = enterLoop(model, sought, options.loop, around.error().copy());
    LS_TRY(const int level, std::move(around));
    if (sought.value != nullptr && sought.value->role != ValueRole::result && sought.value->role != ValueRole::input)
        return Error(ErrorCode::usage, sought.value->id + " is not written in the loop: no operator writes it").at(sought.text);
    CallPath loop = sought.path;
    loop.levels.resize(static_cast<size_t>(level));
    const OperatorId site = loop.levels.back().site;
    const CallPath outside = loop.parent();

    if (level == sought.path.depth() && !options.continued && sought.value != nullptr) {
        LS_TRY(std::optional<ValueSeries> recorded, collectRecorded(target, sought.path, sought.id, options));
        if (recorded) return std::move(*recorded);
    }
    ValueSeries series;
    Tick entry;
    if (options.continued) {
        series = *options.continued;
        entry = series.nextTick;
    } else {
        LS_TRY(entry, findExecution(target, outside, site, sought.text, options.onlyWhatRan, series));
    }
    const Tick until = std::max(endOf(target, options.onlyWhatRan), entry);
    series.isPart = false;
    SeriesCollector collector(target, sought, level, options, series);
    Status status = scan(target, entry, until, collector.traps(), collector);
    if (!status.ok() && status.detail().code != ErrorCode::execution) return std::move(status).takeError();
    series.nextTick = target.timeline.tick();
    finishSeries(series);
    return series;
}

Result<ValueSeries> collect(const DebugTarget& target, const ResolvedAddress& value, const SeriesOptions& options)
{
    const Model& model = target.model;
    Sought sought;
    sought.text = toString(value.address);
    LS_TRY(sought.path, pathOf(model, target.executor.root(), value.address));
    if (!value.value.valid()) return Error(ErrorCode::usage, "names no value").at(sought.text);
    const CallPath& path = sought.path;
    const Value& what = model.graph(path.graph()).value(value.value);
    if (what.role != ValueRole::result && what.role != ValueRole::input)
        return Error(ErrorCode::usage, what.id + " is not written in the loop: no operator writes it").at(sought.text);
    if (what.role == ValueRole::input && model.graph(path.graph()).operators.empty())
        return Error(ErrorCode::usage, "no operator reads " + what.id).at(sought.text);
    if (!path.levels.empty() && path.levels.back().isFrame && what.role == ValueRole::result &&
        (!options.loop || *options.loop == frameNameOf(model.graph(path.graph()).op(path.levels.back().site))))
        return collectInFrame(target, path, what, options.onlyWhatRan);
    sought.value = &what;
    sought.id = value.value;
    return collectAround(target, std::move(sought), options);
}

Result<ValueSeries> collect(const DebugTarget& target, FrameContext frame, std::string_view variable, const SeriesOptions& options)
{
    const ResourceStore* const resources = target.executor.sessionResources();
    if (resources == nullptr)
        return Error(ErrorCode::usage, "a recording does not hold what variables were").at("var:" + std::string(variable));
    const int innermost = target.executor.position().depth - 1;
    Sought sought;
    sought.path = pathAt(target.executor, frame.depth < 0 ? innermost : std::min(frame.depth, innermost));
    sought.variable = variable;
    sought.text = "var:" + std::string(variable);
    LS_TRY(ValueSeries series, collectAround(target, std::move(sought), options));
    std::vector<std::string> names; // a run makes them as it goes: they are known now
    for (const auto& [handle, known] : resources->variables()) names.push_back(known.name);
    if (std::ranges::find(names, variable) == names.end())
        return Error(ErrorCode::usage, "no variable '" + std::string(variable) + "' in this run").nearest(nearestNames(variable, names));
    return series;
}

} // namespace

void SeriesTail::note(int64_t iteration, double number)
{
    reach(iteration);
    if (!std::isfinite(number)) {
        if (m_abnormalAt < 0) m_abnormalAt = iteration;
        return;
    }
    m_min = std::min(m_min, number);
    if (number > m_max) {
        m_max = number;
        m_maxAt = iteration;
    }
    while (static_cast<size_t>((iteration - m_first) / m_length) >= kMostBuckets) { // two become one
        for (size_t i = 0; i < m_greatest.size(); i += 2)
            m_greatest[i / 2] = std::max(m_greatest[i], i + 1 < m_greatest.size() ? m_greatest[i + 1] : m_greatest[i]);
        m_greatest.resize((m_greatest.size() + 1) / 2);
        m_length *= 2;
    }
    const auto bucket = static_cast<size_t>((iteration - m_first) / m_length);
    if (m_greatest.size() <= bucket) m_greatest.resize(bucket + 1, -std::numeric_limits<double>::infinity());
    m_greatest[bucket] = std::max(m_greatest[bucket], number);
}

Result<ValueSeries> collectSeries(const DebugTarget& target, FrameContext, const ResolvedAddress& value, const SeriesOptions& options)
{
    Excursion excursion(target);
    Result<ValueSeries> series = collect(target, value, options);
    LS_CHECK_OK(excursion.comeBack());
    return series;
}

Result<ValueSeries> collectVariable(const DebugTarget& target, FrameContext frame, std::string_view variable, const SeriesOptions& options)
{
    Excursion excursion(target);
    Result<ValueSeries> series = collect(target, frame, variable, options);
    LS_CHECK_OK(excursion.comeBack());
    return series;
}

} // namespace loopscope
