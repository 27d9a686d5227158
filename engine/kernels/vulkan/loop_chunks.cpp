#include "engine/kernels/vulkan/loop_chunks.h"

#include "engine/device/vulkan_memory.h"
#include "engine/kernels/vulkan/loop_arena.h"
#include "engine/kernels/vulkan/loop_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace loopscope::vulkan {

namespace {

constexpr int64_t kFirstChunk = 8;       ///< iterations that are recorded, and run before the host looks; then four times as many, up to
constexpr int64_t kMostDispatches = 640; ///< so many dispatches: what lies beyond the end costs, too
constexpr uint64_t kMostBytes = 256ULL << 20; ///< of all values of a loop
constexpr uint32_t kMostGroups = 32768;       ///< along one dimension

/// Buffers by number; an iteration reads carried values from one set of them and writes the next ones to another: two forms of all.
struct ChunkDispatch {
    const DevicePipeline* pipeline = nullptr;
    std::array<std::vector<uint32_t>, 2> buffers;
    std::vector<uint32_t> push;
    std::array<uint32_t, 3> groups = {1, 1, 1};
    uint32_t writes = 0;       ///< of its buffers, a bit each
    bool groupsAreNew = false; ///< it comes behind the predicate
};

struct ChunkProgram {
    struct Buffer {
        uint64_t bytes = 0;
        Bytes content; ///< of constants
    };
    std::vector<Buffer> buffers;
    std::vector<ChunkDispatch> dispatches; ///< of cond, the predicate, then of the body
    std::vector<std::array<uint32_t, 2>> carried;
    uint32_t state = 0, groups = 0;
    Bytes noState, firstGroups;
    int64_t condSteps = 0, bodySteps = 0;
};

class Recording {
public:
    Recording(const KernelArgs& args, const ChunkProgram& program, VulkanMemory& memory)
        : m_args(args),
          m_program(program),
          m_memory(memory)
    {
    }

    Status begin()
    {
        std::vector<DeviceBuffer> operands;
        for (int k = 0; k < m_args.inputCount; ++k) {
            LS_TRY(operands.emplace_back(), m_memory.operand(m_args.in(k)));
        }
        for (const ChunkProgram::Buffer& buffer : m_program.buffers) {
            LS_TRY(m_buffers.emplace_back(),
                   buffer.content.size() > 0 ? m_memory.constant(buffer.content) : m_memory.scratch(buffer.bytes));
        }
        for (int k = 0; k < m_args.outputCount; ++k) { // before iterations count: later there must be no reason to fail
            LS_TRY(m_results.emplace_back(), m_memory.room(m_args.out(k)));
        }
        LS_TRY(const DeviceBuffer state, m_memory.constant(m_program.noState));
        LS_TRY(const DeviceBuffer groups, m_memory.constant(m_program.firstGroups));
        LS_CHECK_OK(m_memory.copy(state, m_buffers[m_program.state], 0, m_program.noState.size()));
        LS_CHECK_OK(m_memory.copy(groups, m_buffers[m_program.groups], 0, m_program.firstGroups.size()));
        for (size_t k = 0; k < operands.size(); ++k)
            LS_CHECK_OK(m_memory.copy(operands[k], m_buffers[m_program.carried[k][0]], 0, m_args.in(static_cast<int>(k)).bytes));
        return {};
    }

    /// The first after other work looks at the groups anew.
    Status addTrip(size_t form, bool isFirst)
    {
        std::vector<DeviceBuffer> bound;
        for (size_t d = 0; d < m_program.dispatches.size(); ++d) {
            const ChunkDispatch& dispatch = m_program.dispatches[d];
            bound.clear();
            for (const uint32_t buffer : dispatch.buffers[form]) bound.push_back(m_buffers[buffer]);
            Launch launch{dispatch.pipeline, bound, dispatch.push, dispatch.groups};
            launch.groupsFrom = &m_buffers[m_program.groups];
            launch.groupsAt = d * sizeof(dispatch.groups);
            launch.groupsAreNew = dispatch.groupsAreNew || (isFirst && d == 0);
            launch.writes = dispatch.writes;
            LS_CHECK_OK(m_memory.launch(launch));
        }
        return {};
    }

    /// Records a chunk of so many iterations, an even number, for repeat().
    Status record(int64_t trips)
    {
        LS_CHECK_OK(m_memory.beginRepeated());
        Status status;
        for (int64_t trip = 0; trip < trips && status.ok(); ++trip) status = addTrip(static_cast<size_t>(trip & 1), false);
        LS_CHECK_OK(m_memory.endRepeated());
        return status;
    }

    Status look(DeviceTrips& run)
    {
        std::array<uint32_t, 2> state = {};
        LS_CHECK_OK(m_memory.read(m_buffers[m_program.state], std::as_writable_bytes(std::span(state))));
        run.trips = state[0];
        run.isOver = state[1] != 0;
        return {};
    }

    Status finish(const DeviceTrips& run)
    {
        for (int k = 0; k < m_args.outputCount; ++k) {
            const DeviceBuffer& result = m_results[static_cast<size_t>(k)];
            m_memory.place(m_args.out(k), result);
            const uint32_t from = m_program.carried[static_cast<size_t>(k)][static_cast<size_t>(run.trips & 1)];
            LS_CHECK_OK(m_memory.copy(m_buffers[from], result, 0, m_args.out(k).bytes));
            m_memory.computed(m_args.out(k));
        }
        return {};
    }

private:
    const KernelArgs& m_args;
    const ChunkProgram& m_program;
    VulkanMemory& m_memory;
    std::vector<DeviceBuffer> m_buffers, m_results;
};

Status runChunks(const KernelArgs& args, VulkanMemory& memory, DeviceTrips& run)
{
    const auto& program = args.paramsAs<ChunkProgram>();
    const int64_t ofTrip = program.condSteps + program.bodySteps;
    const int64_t mostTrips = std::min<int64_t>(run.mostSteps / ofTrip, UINT32_MAX);
    const int64_t largest = std::max<int64_t>(2, kMostDispatches / std::ssize(program.dispatches));
    if (mostTrips < 1 || run.cancel->requested()) return {};
    Recording recording(args, program, memory);
    LS_CHECK_OK(recording.begin());
    const int64_t recorded = std::min(kFirstChunk, largest / 2 * 2);
    bool isRecorded = false;
    for (int64_t repeats = 1; !run.isOver && run.trips < mostTrips && !run.cancel->requested(); repeats *= 4) {
        const int64_t left = mostTrips - run.trips;
        if (left >= recorded && !memory.areLaunchesTimed()) {
            if (!isRecorded) LS_CHECK_OK(recording.record(recorded));
            isRecorded = true;
            repeats = std::min({repeats, left / recorded, largest / recorded});
            LS_CHECK_OK(memory.repeat(static_cast<uint32_t>(repeats)));
        } else {
            const int64_t until = run.trips + std::min(recorded, left);
            for (int64_t trip = run.trips; trip < until; ++trip)
                LS_CHECK_OK(recording.addTrip(static_cast<size_t>(trip & 1), trip == run.trips));
        }
        LS_CHECK_OK(recording.look(run));
    }
    run.steps = run.trips * ofTrip + (run.isOver ? program.condSteps : 0);
    run.invocations = run.trips;
    return recording.finish(run);
}

Status runChunkProgram(const KernelArgs& args) { return runOnDevice(args, runChunks); }

/// Gives every value its buffer, and every step its dispatch.
class ChunkBuilder {
public:
    ChunkBuilder(const LoopSetup& setup, VulkanDevice& device) : m_device(device), m_graphs{LoopGraph(setup.cond), LoopGraph(setup.body)}
    {
        m_isTensorflow = setup.op.op.kind.dialect == "tf";
        m_model = setup.op.model;
    }

    Result<ChunkProgram> made()
    {
        for (LoopGraph& graph : m_graphs) {
            if (graph.hasBranches()) return unsupported("a loop with an If inside");
            LS_CHECK_OK(graph.prepare(m_model));
        }
        LS_CHECK_OK(checkTypes());
        placeCarried();
        m_program.state = newBuffer(16);
        LS_CHECK_OK(addSteps(0));
        LS_CHECK_OK(addPredicate());
        LS_CHECK_OK(addSteps(1));
        LS_CHECK_OK(addCopies());
        finishGroups();
        if (m_bytes > kMostBytes) return unsupported("a loop of " + std::to_string(m_bytes) + " bytes");
        m_program.condSteps = std::ssize(m_graphs[0].graph().operators);
        m_program.bodySteps = std::ssize(m_graphs[1].graph().operators);
        if (m_program.condSteps + m_program.bodySteps == 0) return unsupported("a loop without operators");
        return std::move(m_program);
    }

private:
    using Forms = std::array<uint32_t, 2>;

    uint32_t newBuffer(uint64_t bytes, Bytes content = {})
    {
        m_bytes += bytes;
        m_program.buffers.push_back({std::max<uint64_t>(bytes, 1), std::move(content)});
        return static_cast<uint32_t>(m_program.buffers.size() - 1);
    }

    Status checkTypes() const
    {
        const Graph &cond = m_graphs[0].graph(), &body = m_graphs[1].graph();
        for (size_t k = 0; k < body.inputs.size(); ++k) {
            const Tensor& value = m_graphs[1].tensor(body.inputs[k]);
            for (const Tensor* const other : {&m_graphs[0].tensor(cond.inputs[k]), &m_graphs[1].tensor(body.outputs[k].value)})
                if (other->dtype != value.dtype || other->shape != value.shape) return unsupported("carried values whose type changes");
        }
        return m_graphs[0].checkVerdict(m_isTensorflow);
    }

    static uint64_t bytesOf(const Tensor& tensor) { return byteSize(tensor.dtype, tensor.elementCount()); }

    /// Two buffers a position, or one where the value stays. The body's results are the next carried values where they are computed.
    void placeCarried()
    {
        const Graph &cond = m_graphs[0].graph(), &body = m_graphs[1].graph();
        for (size_t k = 0; k < body.inputs.size(); ++k) {
            const ValueId input = body.inputs[k], output = body.outputs[k].value;
            const uint64_t bytes = bytesOf(m_graphs[1].tensor(input));
            const uint32_t first = newBuffer(bytes);
            const Forms forms = {first, output == input ? first : newBuffer(bytes)};
            m_program.carried.push_back(forms);
            m_values[{0, cond.inputs[k]}] = m_values[{1, input}] = forms;
            if (body.value(output).role == ValueRole::result) m_values.try_emplace({1, output}, Forms{forms[1], forms[0]});
        }
    }

    Result<Forms> buffersOf(size_t g, ValueId value)
    {
        if (const auto known = m_values.find({g, value}); known != m_values.end()) return known->second;
        const LoopGraph& graph = m_graphs[g];
        const Tensor& tensor = graph.tensor(value);
        const ValueRole role = graph.graph().value(value).role;
        const bool isConstant = role == ValueRole::constant && tensor.data;
        if (!isConstant && role != ValueRole::result) return unsupported("a loop with values from elsewhere");
        const uint32_t buffer = newBuffer(bytesOf(tensor), isConstant ? Bytes::copyOf(tensor.view()) : Bytes());
        return m_values[{g, value}] = {buffer, buffer};
    }

    Result<Forms> buffersOf(size_t g, size_t o, const Place& place, std::map<std::pair<Place::Of, uint32_t>, Forms>& own)
    {
        const Operator& op = m_graphs[g].graph().operators[o];
        if (place.of == Place::Of::input) return buffersOf(g, op.inputs[place.index]);
        if (place.of == Place::Of::output) return buffersOf(g, op.results[place.index]);
        const auto [at, isNew] = own.try_emplace({place.of, place.index});
        if (isNew) {
            const Plan& plan = m_graphs[g].plan(o);
            const uint32_t buffer = place.of == Place::Of::constant
                                        ? newBuffer(plan.constants[place.index].size(), plan.constants[place.index])
                                        : newBuffer(plan.scratch[place.index]);
            at->second = {buffer, buffer};
        }
        return at->second;
    }

    Status addSteps(size_t g)
    {
        for (size_t o = 0; o < m_graphs[g].graph().operators.size(); ++o) {
            std::map<std::pair<Place::Of, uint32_t>, Forms> own;
            for (const Step& step : m_graphs[g].plan(o).steps) {
                ChunkDispatch dispatch{step.pipeline, {}, step.push, step.groups, writesOf(step)};
                for (const Place& place : step.places) {
                    LS_TRY(const Forms forms, buffersOf(g, o, place, own));
                    for (const size_t form : {0, 1}) dispatch.buffers[form].push_back(forms[form]);
                }
                m_program.dispatches.push_back(std::move(dispatch));
            }
        }
        return {};
    }

    Status addPredicate()
    {
        LS_TRY(const Forms verdict, buffersOf(0, m_graphs[0].graph().outputs[0].value));
        ChunkDispatch dispatch;
        LS_TRY(dispatch.pipeline, m_device.pipeline(shaderCode(Shader::predicate), {}));
        m_predicate = m_program.dispatches.size();
        for (const size_t form : {0, 1}) dispatch.buffers[form] = {verdict[form], m_program.state};
        dispatch.writes = 0b0110; // the state and the groups
        m_program.dispatches.push_back(std::move(dispatch));
        return {};
    }

    /// What the body does not compute but gives: its inputs in other positions, constants, repetitions. Copies that the device skips, too.
    Status addCopies()
    {
        const Graph& body = m_graphs[1].graph();
        for (size_t k = 0; k < body.outputs.size(); ++k) {
            LS_TRY(const Forms from, buffersOf(1, body.outputs[k].value));
            const Forms& home = m_program.carried[k];
            const auto words = static_cast<uint32_t>((bytesOf(m_graphs[1].tensor(body.inputs[k])) + 3) / 4);
            if (words == 0 || (from[0] == home[1] && from[1] == home[0])) continue;
            ChunkDispatch dispatch;
            const uint32_t constants[] = {storeI32, 0};
            LS_TRY(dispatch.pipeline, m_device.pipeline(shaderCode(Shader::copy), constants));
            for (const size_t form : {0, 1}) dispatch.buffers[form] = {from[form], home[1 - form], from[form]};
            dispatch.writes = 0b010;
            dispatch.push = {words, 1, words, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
            const uint32_t groups = (words + 255) / 256, along = std::min(groups, kMostGroups);
            dispatch.groups = {along, (groups + along - 1) / along, 1};
            m_program.dispatches.push_back(std::move(dispatch));
        }
        return {};
    }

    /// The groups of all dispatches, as the predicate hands them on; those of the body are none before it has run for the first time.
    void finishGroups()
    {
        std::vector<uint32_t> wanted;
        for (const ChunkDispatch& dispatch : m_program.dispatches)
            wanted.insert(wanted.end(), dispatch.groups.begin(), dispatch.groups.end());
        m_program.groups = newBuffer(wanted.size() * 4);
        const uint32_t table = newBuffer(wanted.size() * 4, Bytes::copyOf(wanted.data(), wanted.size() * 4));
        ChunkDispatch& predicate = m_program.dispatches[m_predicate];
        if (m_predicate + 1 < m_program.dispatches.size()) m_program.dispatches[m_predicate + 1].groupsAreNew = true;
        predicate.push = {static_cast<uint32_t>(wanted.size())};
        for (std::vector<uint32_t>& buffers : predicate.buffers) buffers.insert(buffers.end(), {m_program.groups, table});
        std::fill(wanted.begin() + static_cast<std::ptrdiff_t>(3 * (m_predicate + 1)), wanted.end(), 0);
        m_program.firstGroups = Bytes::copyOf(wanted.data(), wanted.size() * 4);
        m_program.noState = Bytes::copyOf(std::vector<std::byte>(16));
    }

    VulkanDevice& m_device;
    std::array<LoopGraph, 2> m_graphs; ///< cond, body
    const Model* m_model = nullptr;
    bool m_isTensorflow = false;
    ChunkProgram m_program;
    std::map<std::pair<size_t, ValueId>, Forms> m_values; ///< by graph
    size_t m_predicate = 0;
    uint64_t m_bytes = 0;
};

} // namespace

Result<PreparedKernel> prepareChunks(const LoopSetup& setup, VulkanDevice& device)
{
    LS_TRY(ChunkProgram program, ChunkBuilder(setup, device).made());
    return PreparedKernel{runChunkProgram, std::make_shared<const ChunkProgram>(std::move(program))};
}

} // namespace loopscope::vulkan
