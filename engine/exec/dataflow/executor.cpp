// The dataflow executor's public face and the life of a run: inputs, programs, traps.
#include "engine/exec/dataflow/machine.h"

#include "engine/base/clock.h"

#include <new>
#include <stdexcept>

namespace loopscope {

using namespace dataflow;

namespace {

std::string typeText(DType dtype, const Shape& shape)
{
    return std::string(dtypeName(dtype)) + (shape.hasRank() ? toString(shape) : "[*]");
}

} // namespace

DataflowExecutor::Impl::Impl(const Model& model, GraphId root, const ExecutionOptions& options)
    : m_model(model),
      m_root(root),
      m_options(options),
      m_cancel(options.cancel ? *options.cancel : m_neverCancelled),
      m_account{0, MemoryAccount::machineLimit(), options.allocator ? options.allocator : &hostAllocator()},
      m_cells(m_account),
      m_scratch(m_account),
      m_inputs(model.graph(root).inputs.size(), nullptr),
      m_schedule(options.scheduleSeed),
      m_accesses(model),
      m_random(options.seed)
{
}

DataflowExecutor::Impl::~Impl() = default;

Status DataflowExecutor::Impl::setInput(int index, const Tensor& value)
{
    const Graph& graph = m_model.graph(m_root);
    if (index < 0 || static_cast<size_t>(index) >= graph.inputs.size())
        return Error(ErrorCode::usage, "there is no input " + std::to_string(index)).found(std::to_string(graph.inputs.size()) + " inputs");
    const Value& declared = graph.value(graph.inputs[static_cast<size_t>(index)]);
    const std::string place = "input '" + declared.id + "'";
    if (m_recorded) return Error(ErrorCode::usage, "a recording has its inputs").at(place);
    if (m_phase == Phase::running) return Error(ErrorCode::usage, "a run is going on").at(place);
    const std::optional<int64_t> count = checkedElementCount(value.shape);
    if ((value.dtype != declared.type.dtype && declared.type.dtype != DType::unknown) || !count)
        return Error(ErrorCode::usage, "found " + typeText(value.dtype, value.shape))
            .at(place)
            .expected(typeText(declared.type.dtype, declared.type.dynamicShape()));
    if (bitWidth(value.dtype) > 0 && value.bytes != byteSize(value.dtype, *count))
        return Error(ErrorCode::usage, "wrong number of bytes")
            .at(place)
            .found(std::to_string(value.bytes))
            .expected(std::to_string(byteSize(value.dtype, *count)));
    Cell*& input = m_inputs[static_cast<size_t>(index)];
    if (input) m_cells.release(input);
    input = nullptr;
    LS_TRY(input, m_cells.copy(value));
    return {};
}

/// The compiled graph; made when it is first needed.
Result<DataflowExecutor::Impl::Program*> DataflowExecutor::Impl::program(GraphId graph)
{
    std::unique_ptr<Program>& place = m_programs[graph];
    if (place) return place.get();
    LS_TRY(GraphCode code, compileGraph(m_model, graph));
    auto made = std::make_unique<Program>(std::move(code));
    const size_t nodes = made->code.nodes.size();
    made->kernels.resize(nodes);
    made->constants.resize(nodes, nullptr);
    made->tallies.resize(nodes);
    made->idle.resize(made->code.frames.size());
    size_t inputs = 1;
    size_t outputs = 1;
    for (const Node& node : made->code.nodes) {
        inputs = std::max(inputs, static_cast<size_t>(node.inputCount));
        outputs = std::max(outputs, static_cast<size_t>(node.outputCount));
    }
    m_in.resize(std::max(m_in.size(), inputs));
    m_views.resize(m_in.size());
    m_hidden.resize(m_in.size());
    m_out.resize(std::max(m_out.size(), outputs));
    m_results.resize(m_out.size(), nullptr);
    m_inferred.resize(m_out.size());
    markTraps(*made);
    place = std::move(made);
    return place.get();
}

void DataflowExecutor::Impl::markTraps(Program& program) const
{
    const bool any = m_traps.has(program.code.id);
    for (Node& node : program.code.nodes) node.traps = any ? m_traps.of(program.code.id, node.op) : uint8_t{trapNone};
}

/// Forgets the run, not the session.
void DataflowExecutor::Impl::clear()
{
    ExecutionObserver* const observer = m_observer;
    m_observer = nullptr; // nothing of this is part of a run
    for (const std::unique_ptr<Call>& call : m_calls)
        for (Cell* argument : call->arguments) m_cells.release(argument);
    m_calls.clear();
    for (const std::unique_ptr<Running>& activation : m_activations)
        for (Cell* output : activation->outputs)
            if (output) m_cells.release(output);
    if (!m_activations.empty() && m_activations.front()->frame) dropFrame(*m_activations.front()->frame);
    m_activations.clear();
    for (const auto& [key, cell] : m_sent) m_cells.release(cell);
    m_sent.clear();
    m_parked.clear();
    m_active.clear();
    m_races.clear();
    m_accesses.setAccesses({});
    m_iteration = nullptr;
    m_node = nullptr;
    m_serial = 0;
    m_openCalls = 0;
    m_outputs.clear();
    for (const auto& [graph, program] : m_programs)
        if (program) std::ranges::fill(program->tallies, Tally());
    m_observer = observer;
}

/// Puts the root graph on the way.
Status DataflowExecutor::Impl::begin()
{
    clear();
    m_phase = Phase::idle;
    const Graph& graph = m_model.graph(m_root);
    if (m_recorded) {
        m_nextInvocation = m_recorded->firstInvocation();
        for (size_t i = 0; i < m_inputs.size(); ++i)
            if (!m_inputs[i]) m_inputs[i] = m_cells.recorded(RecordedResults::kInputs, static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < m_inputs.size(); ++i)
        if (!m_inputs[i]) return Error(ErrorCode::usage, "missing").at("input '" + graph.value(graph.inputs[i]).id + "'");
    LS_TRY(Program* const root, program(m_root));
    auto activation = std::make_unique<Running>();
    activation->program = root;
    m_activations.push_back(std::move(activation));
    Running& running = *m_activations.front();
    running.frame = &openFrame(running, 0, nullptr);
    return begin(running, m_inputs);
}

Status DataflowExecutor::Impl::start()
{
    m_observer = nullptr; // a run that does not begin is not announced
    m_step = 0;
    m_askedBefore = -1;
    m_resources.objects().clear();
    LS_CHECK_OK(guarded([this] { return begin(); }));
    m_observer = m_runObserver = m_nextObserver;
    m_times = m_observer && m_observer->wantsTimes();
    m_runStart = m_times ? nowNs() : 0;
    m_phase = Phase::running;
    m_resources.listener = this;
    if (m_observer) {
        RunStart event;
        event.model = &m_model;
        event.root = m_root;
        event.signature = m_options.signature;
        const std::vector<const Tensor*> inputs(m_inputs.begin(), m_inputs.end());
        event.inputs = inputs;
        m_observer->runStarted(event);
    }
    startInvocation(*m_activations.front()->frame->alive.front());
    selectNext();
    updatePosition();
    return {};
}

/// Kernels allocate with the standard library, too: what a file or an input asks of it in vain ends here.
template <typename Work> Status DataflowExecutor::Impl::guarded(Work work)
{
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail(Error(ErrorCode::execution, "out of memory"));
    } catch (const std::length_error&) {
        return fail(Error(ErrorCode::execution, "a size that no machine can hold"));
    }
}

void DataflowExecutor::Impl::setLimit()
{
    m_limit = std::min({m_options.maxSteps, m_stepLimit, m_tickLimit - m_openCalls});
    if (m_stopAsked) m_limit = INT64_MIN;
}

Status DataflowExecutor::Impl::step()
{
    if (m_phase != Phase::running) return Error(ErrorCode::usage, m_phase == Phase::idle ? "no run was started" : "the run has ended");
    m_asking = m_stopAsked = false;
    setLimit();
    return guarded([this] { return execute<true>(); });
}

Status DataflowExecutor::Impl::runTo(int64_t tick, int64_t step)
{
    m_stopAsked = false;
    if (m_phase == Phase::finished) return {};
    if (m_phase != Phase::running) return Error(ErrorCode::usage, m_phase == Phase::idle ? "no run was started" : "the run has ended");
    if (tick <= this->tick() || step <= m_step) return {};
    m_tickLimit = tick;
    m_stepLimit = step;
    m_asking = m_trapHandler != nullptr;
    setLimit();
    Status status = guarded([this] { return execute<false>(); });
    m_tickLimit = m_stepLimit = INT64_MAX;
    return status;
}

Status DataflowExecutor::Impl::run()
{
    if (m_phase != Phase::running) return Error(ErrorCode::usage, m_phase == Phase::idle ? "no run was started" : "the run has ended");
    m_stopAsked = false;
    m_asking = m_trapHandler != nullptr;
    setLimit();
    return guarded([this] { return execute<false>(); });
}

void DataflowExecutor::Impl::muteObserver(bool muted, ExecutionObserver* also)
{
    m_observer = muted ? also : m_runObserver;
    if (!muted && also) {
        m_joined = FanOut();
        if (m_runObserver) m_joined.add(*m_runObserver);
        m_joined.add(*also);
        m_observer = &m_joined;
    }
    m_resources.listener = m_phase == Phase::running ? this : nullptr;
}

void DataflowExecutor::Impl::setTraps(const TrapSet& traps, TrapHandler* handler)
{
    m_traps = handler ? traps : TrapSet();
    m_trapHandler = handler;
    m_askedBefore = -1;
    for (const auto& [graph, program] : m_programs)
        if (program) markTraps(*program);
}

void DataflowExecutor::Impl::reset()
{
    clear();
    m_phase = Phase::idle;
    m_step = 0;
    m_resources = ResourceStore();
    m_random = RandomState(m_options.seed);
    updatePosition();
}

std::unique_ptr<DataflowExecutor> DataflowExecutor::replay(std::shared_ptr<RecordedResults> recorded, const CancelFlag* cancel)
{
    ExecutionOptions options;
    options.keepAll = true;
    options.maxSteps = INT64_MAX;
    options.cancel = cancel;
    auto impl = std::make_unique<Impl>(recorded->model(), recorded->root(), options);
    impl->m_recorded = std::move(recorded);
    return std::unique_ptr<DataflowExecutor>(new DataflowExecutor(std::move(impl)));
}

DataflowExecutor::DataflowExecutor(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
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

const Model& DataflowExecutor::model() const { return m_impl->m_model; }

GraphId DataflowExecutor::root() const { return m_impl->m_root; }

Status DataflowExecutor::setInput(int index, const Tensor& value) { return m_impl->setInput(index, value); }

Status DataflowExecutor::start() { return m_impl->start(); }

Status DataflowExecutor::step() { return m_impl->step(); }

Status DataflowExecutor::run() { return m_impl->run(); }

Status DataflowExecutor::runTo(int64_t tick, int64_t step) { return m_impl->runTo(tick, step); }

int64_t DataflowExecutor::tick() const { return m_impl->tick(); }

const Position& DataflowExecutor::position() const { return m_impl->m_position; }

FrameInfo DataflowExecutor::frame(int depth) const { return m_impl->frame(depth); }

std::string DataflowExecutor::positionAddress() const { return m_impl->address(); }

const Tensor* DataflowExecutor::value(int depth, ValueId id) const { return m_impl->value(depth, id); }

bool DataflowExecutor::isRecorded(int depth, ValueId id) const { return m_impl->isRecorded(depth, id); }

const TensorStatistics* DataflowExecutor::recordedStatistics(int depth, ValueId id) const { return m_impl->recordedStatistics(depth, id); }

const Tensor& DataflowExecutor::output(int index) const
{
    m_impl->synchronise(SyncPoint::value);
    return m_impl->m_outputs[static_cast<size_t>(index)];
}

MachineState DataflowExecutor::snapshot() const { return m_impl->snapshot(); }

MachineState DataflowExecutor::snapshot(const MachineState& previous) const
{
    static_cast<void>(previous); // cells remember what snapshots share of them
    return m_impl->snapshot();
}

Status DataflowExecutor::restore(const MachineState& state) { return m_impl->restore(state); }

void DataflowExecutor::setObserver(ExecutionObserver* observer)
{
    if (!m_impl->m_recorded) m_impl->m_nextObserver = observer;
}

void DataflowExecutor::muteObserver(bool muted, ExecutionObserver* also) { m_impl->muteObserver(muted, also); }

void DataflowExecutor::setTraps(const TrapSet& traps, TrapHandler* handler) { m_impl->setTraps(traps, handler); }

bool DataflowExecutor::trapped() const { return m_impl->m_stopAsked; }

std::vector<DataflowRace> DataflowExecutor::races() const { return m_impl->m_races; }

const KernelReport& DataflowExecutor::kernelReport() const { return m_impl->m_kernelReport; }

int64_t DataflowExecutor::maxSteps() const { return m_impl->m_options.maxSteps; }

void DataflowExecutor::reset() { m_impl->reset(); }

void DataflowExecutor::setScheduleSeed(uint64_t seed) { m_impl->m_schedule = seed; }

uint64_t DataflowExecutor::scheduleSeed() const { return m_impl->m_schedule; }

ResourceStore& DataflowExecutor::resources() { return m_impl->m_resources; }

RandomState& DataflowExecutor::random() { return m_impl->m_random; }

const DataflowView& DataflowExecutor::view() const { return *m_impl; }

} // namespace loopscope
