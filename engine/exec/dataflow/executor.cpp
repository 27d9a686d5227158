// The dataflow executor's public face and the life of a run: inputs, where it stands, outputs.
#include "engine/exec/dataflow/location.h"
#include "engine/exec/dataflow/machine.h"
#include "engine/exec/dataflow/state.h"
#include "engine/exec/machine_state.h"

namespace loopscope {

DataflowExecutor::Impl::Impl(const Model& model, GraphId root, const ExecutionOptions& options)
    : RunCore(model, root, options),
      m_flow(*this),
      m_replay(*this, m_flow),
      m_rendezvous(m_flow, options.peers),
      m_runner(*this, m_flow, m_rendezvous, m_replay),
      m_calls(*this, m_flow, m_runner, m_replay, *this),
      m_inspection(*this, m_flow, m_rendezvous, m_runner, m_replay),
      m_inputs(model.graph(root).inputs.size(), nullptr)
{
}

DataflowExecutor::Impl::~Impl() = default;

Status DataflowExecutor::Impl::setInput(int index, const Tensor& value)
{
    LS_TRY(const Value* const declared, settableInput(index));
    if (m_replay.isOn()) return Error(ErrorCode::usage, "a recording has its inputs").at("input '" + declared->id + "'");
    const bool isAny = declared->type.dtype == DType::unknown;
    LS_CHECK_OK(checkInput(*declared, isAny ? value.dtype : declared->type.dtype, value));
    Cell*& input = m_inputs[static_cast<size_t>(index)];
    if (input) m_flow.cells().release(input);
    input = nullptr;
    LS_TRY(input, m_flow.cells().copy(value));
    return {};
}

/// Forgets the run, not the session.
void DataflowExecutor::Impl::clear()
{
    m_flow.clear();
    m_calls.clear();
    m_rendezvous.clear();
    m_runner.forgetTallies();
    m_limits.setOpenCalls(0);
    m_outputs.clear();
}

/// Puts the root graph on the way.
Status DataflowExecutor::Impl::begin()
{
    clear();
    m_inspection.forgetWaits();
    const Graph& graph = m_model.graph(m_root);
    if (m_replay.isOn()) {
        m_nextInvocation = m_replay.recorded().firstInvocation();
        for (size_t i = 0; i < m_inputs.size(); ++i)
            if (!m_inputs[i]) m_inputs[i] = m_flow.cells().recorded(RecordedResults::kInputs, static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < m_inputs.size(); ++i)
        if (!m_inputs[i]) return Error(ErrorCode::usage, "missing").at("input '" + graph.value(graph.inputs[i]).id + "'");
    return m_calls.enterRoot(m_inputs);
}

void DataflowExecutor::Impl::enterRoot()
{
    m_calls.startInvocation(*m_flow.root()->alive.front());
    selectNext();
}

std::vector<const Tensor*> DataflowExecutor::Impl::outputTensors() const
{
    std::vector<const Tensor*> outputs;
    for (const Tensor& output : m_outputs) outputs.push_back(&output);
    return outputs;
}

void DataflowExecutor::Impl::visitValues(const std::function<void(const Tensor&)>& visit) const
{
    for (const Tensor* const input : m_inputs)
        if (input) visit(*input);
    m_flow.cells().forEach([&](const Cell& cell) { visit(cell); });
}

MachineState DataflowExecutor::Impl::snapshot() const
{
    MachineState state;
    saveTo(state);
    if (m_flow.root()) dataflow::save(m_flow, m_calls, m_rendezvous, m_runner, state);
    return state;
}

Status DataflowExecutor::Impl::restore(const MachineState& state)
{
    synchronise(SyncPoint::restore);
    clear();
    restoreFrom(state);
    const dataflow::MachineParts parts = {*this, m_flow, m_calls, m_rendezvous, m_runner, m_replay};
    Status status = state.frames.empty() ? Status() : dataflow::restore(parts, state);
    if (!status.ok() || state.frames.empty()) {
        clear();
        updatePosition();
        return status;
    }
    m_limits.setOpenCalls(std::ssize(m_calls.running()));
    continueRun(state);
    if (state.finished)
        for (Cell* output : m_calls.activations().front()->outputs)
            m_outputs.push_back(m_replay.load(*output) ? static_cast<const Tensor&>(*output) : Tensor());
    selectNext();
    updatePosition();
    return {};
}

void DataflowExecutor::Impl::reset()
{
    clear();
    forgetRun();
    updatePosition();
}

std::string DataflowExecutor::Impl::address() const
{
    const dataflow::Standing& standing = m_flow.standing();
    return standing.iteration && standing.node ? dataflow::addressOf(*standing.iteration, standing.node->op) : m_model.graph(m_root).id;
}

FrameInfo DataflowExecutor::Impl::frame(int depth) const
{
    const std::vector<const Iteration*> stack = dataflow::stackOf(m_flow);
    return dataflow::frameInfo(m_flow, stack, depth < 0 ? stack.size() - 1 : static_cast<size_t>(depth));
}

const Tensor* DataflowExecutor::Impl::value(int depth, ValueId id) const
{
    synchronise(SyncPoint::value);
    Cell* const cell = dataflow::cellAt(m_flow, depth, id);
    if (cell && cell->alias >= 0) m_runner.refresh(*cell);
    return cell && !cell->isDead && m_replay.load(*cell) ? cell : nullptr;
}

bool DataflowExecutor::Impl::isRecorded(int depth, ValueId id) const
{
    Cell* const cell = dataflow::cellAt(m_flow, depth, id);
    return !cell || cell->isDead || m_replay.load(*cell);
}

const TensorStatistics* DataflowExecutor::Impl::recordedStatistics(int depth, ValueId id) const
{
    const Cell* const cell = dataflow::cellAt(m_flow, depth, id);
    return cell ? m_replay.statistics(*cell) : nullptr;
}

Status DataflowExecutor::Impl::resize(Tensor& output, const Shape& shape, size_t bytes)
{
    if (!shape.isStatic()) return Error(ErrorCode::internal, "a result was to be given an unknown size").found(toString(shape));
    LS_CHECK_OK(dataflow::CellPool::reserve(static_cast<Cell&>(output), bytes)); // every result of every node is a cell
    output.shape = shape;
    return {};
}

int64_t DataflowExecutor::Impl::iterationTick() const
{
    for (const Iteration* at = m_flow.standing().iteration; at; at = dataflow::parentOf(*at))
        if (dataflow::isLoopIteration(*at)) return tick();
    return -1;
}

void DataflowExecutor::Impl::elementTaken(int64_t tick, bool pops)
{
    for (Iteration* at = m_flow.standing().iteration; at; at = at->frame->parent)
        if (dataflow::isLoopIteration(*at)) return at->taken.note(tick, pops);
}

/// What is fetched is read when everything is over, by nobody.
std::vector<AccessSite> DataflowExecutor::Impl::accessSites() const
{
    std::vector<AccessSite> around;
    const dataflow::Standing& standing = m_flow.standing();
    if (!standing.iteration || !standing.node) return around;
    OperatorId op = standing.node->op;
    for (const Iteration* at = standing.iteration; at; at = dataflow::parentOf(*at)) {
        const dataflow::Frame& frame = *at->frame;
        around.push_back({at->invocation, dataflow::programOf(*at).code.id, op, frame.index != 0 ? frame.code->enter : OperatorId()});
        if (frame.index == 0 && frame.parent) op = dataflow::callNodeOf(*at).op;
    }
    return around;
}

std::unique_ptr<DataflowExecutor> DataflowExecutor::replay(std::shared_ptr<RecordedResults> recorded, const CancelFlag* cancel)
{
    ExecutionOptions options;
    options.keepAll = true;
    options.maxSteps = INT64_MAX;
    options.cancel = cancel;
    auto impl = std::make_unique<Impl>(recorded->model(), recorded->root(), options);
    impl->follow(std::move(recorded));
    return std::unique_ptr<DataflowExecutor>(new DataflowExecutor(std::move(impl)));
}

DataflowExecutor::DataflowExecutor(std::unique_ptr<Impl> impl) : CoreExecutor(*impl), m_impl(std::move(impl)) {}
DataflowExecutor::~DataflowExecutor() = default;

Result<std::unique_ptr<DataflowExecutor>> DataflowExecutor::create(const Model& model, GraphId root, const ExecutionOptions& options)
{
    if (!model.hasGraph(root))
        return Error(ErrorCode::badFile, "the model has no graph " + std::to_string(root.index))
            .found(std::to_string(model.graphs.size()) + " graphs");
    if (model.dialect != Dialect::tf)
        return Error(ErrorCode::unsupported, "the dataflow executor runs TensorFlow graphs").found(std::string(dialectName(model.dialect)));
    return std::unique_ptr<DataflowExecutor>(new DataflowExecutor(std::make_unique<Impl>(model, root, options)));
}

FrameInfo DataflowExecutor::frame(int depth) const { return m_impl->frame(depth); }

const Tensor* DataflowExecutor::value(int depth, ValueId id) const { return m_impl->value(depth, id); }

bool DataflowExecutor::isRecorded(int depth, ValueId id) const { return m_impl->isRecorded(depth, id); }

const TensorStatistics* DataflowExecutor::recordedStatistics(int depth, ValueId id) const { return m_impl->recordedStatistics(depth, id); }

const Tensor& DataflowExecutor::output(int index) const
{
    m_impl->synchronise(SyncPoint::value);
    return m_impl->output(index);
}

MachineState DataflowExecutor::snapshot() const { return m_impl->snapshot(); }

MachineState DataflowExecutor::snapshot(const MachineState& previous) const
{
    static_cast<void>(previous); // cells remember what snapshots share of them
    return m_impl->snapshot();
}

Status DataflowExecutor::restore(const MachineState& state) { return m_impl->restore(state); }

void DataflowExecutor::reset() { m_impl->reset(); }

void DataflowExecutor::setScheduleSeed(uint64_t seed) { m_impl->setSchedule(seed); }

ResourceStore& DataflowExecutor::resources() { return m_impl->resources(); }
const ResourceStore* DataflowExecutor::sessionResources() const { return &m_impl->resources(); }

RandomState& DataflowExecutor::random() { return m_impl->random(); }

const DataflowView* DataflowExecutor::dataflow() const { return &m_impl->view(); }

} // namespace loopscope
