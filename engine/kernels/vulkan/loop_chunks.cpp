#include "engine/kernels/vulkan/loop_chunks.h"

#include "engine/device/vulkan_memory.h"
#include "engine/kernels/vulkan/loop_arena.h"
#include "engine/kernels/vulkan/loop_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
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
    bool groupsAreNew = false; ///< it comes behind a predicate
    bool isPredicate = false;
};

/// What predicates note (predicate.comp).
struct ChunkState {
    uint32_t trips = 0, isOver = 0, isStopped = 0, unused = 0;
    uint64_t steps = 0, invocations = 0, doneSteps = 0, doneInvocations = 0;
    uint64_t tripsInside[kMostInside] = {}, doneInside[kMostInside] = {};
};

/// The push constants of a predicate.
struct PredicateParameters {
    uint32_t count = 0, kind = chunkLoop;
    uint32_t begin = 0, middle = 0, end = 0; ///< numbers of dispatches, and three times as much in the end
    uint32_t ifTrue = 0, ifFalse = 0, loop = 0;
    uint32_t mostSteps[2] = {};
};

struct ChunkProgram {
    struct Buffer {
        uint64_t bytes = 0;
        Bytes content; ///< of constants
    };
    std::vector<Buffer> buffers;
    /// Of cond, its predicate, then of the body: a round, which is an iteration, or a part of one if there are loops inside.
    std::vector<ChunkDispatch> dispatches;
    std::vector<std::array<uint32_t, 2>> carried;
    uint32_t state = 0, groups = 0;
    Bytes noState, firstGroups;
    int64_t condSteps = 0, bodySteps = 0;
    int64_t mostSteps = 1;       ///< of an iteration, whatever branches it takes
    std::vector<int32_t> inside; ///< loops that the body calls: how many operators an iteration completes is not known before
};

class Recording {
public:
    Recording(const KernelArgs& args, const ChunkProgram& program, VulkanMemory& memory, int64_t mostSteps)
        : m_args(args),
          m_program(program),
          m_memory(memory),
          m_mostSteps(static_cast<uint64_t>(mostSteps))
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
            std::vector<uint32_t> push = dispatch.push;
            if (dispatch.isPredicate) {
                push[push.size() - 2] = static_cast<uint32_t>(m_mostSteps);
                push[push.size() - 1] = static_cast<uint32_t>(m_mostSteps >> 32);
            }
            Launch launch{dispatch.pipeline, bound, push, dispatch.groups};
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
        ChunkState state;
        LS_CHECK_OK(m_memory.read(m_buffers[m_program.state], std::as_writable_bytes(std::span(&state, 1))));
        run.trips = state.trips;
        run.isOver = state.isOver != 0;
        m_isStopped = state.isStopped != 0;
        const bool hasLoops = !m_program.inside.empty();
        run.steps = static_cast<int64_t>(hasLoops ? state.doneSteps : state.steps) + (run.isOver ? m_program.condSteps : 0);
        if (!hasLoops) run.steps += run.trips * (m_program.condSteps + m_program.bodySteps);
        run.invocations = run.trips + static_cast<int64_t>(hasLoops ? state.doneInvocations : state.invocations);
        run.inside.clear();
        for (size_t j = 0; j < m_program.inside.size(); ++j)
            run.inside.push_back({m_program.inside[j], static_cast<int64_t>(state.doneInside[j])});
        return {};
    }
    /// The budget of steps ends in the iteration that comes next.
    bool isStopped() const { return m_isStopped; }

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
    const uint64_t m_mostSteps;
    bool m_isStopped = false;
    std::vector<DeviceBuffer> m_buffers, m_results;
};

Status runChunks(const KernelArgs& args, VulkanMemory& memory, DeviceTrips& run)
{
    const auto& program = args.paramsAs<ChunkProgram>();
    const bool hasLoops = !program.inside.empty(); // then predicates see the last iteration
    const int64_t mostTrips = std::min<int64_t>(run.mostSteps / program.mostSteps, UINT32_MAX);
    const int64_t largest = std::max<int64_t>(2, kMostDispatches / std::ssize(program.dispatches));
    if (mostTrips < 1 || run.cancel->requested()) return {};
    Recording recording(args, program, memory, run.mostSteps);
    LS_CHECK_OK(recording.begin());
    const int64_t recorded = std::min(kFirstChunk, largest / 2 * 2);
    bool isRecorded = false;
    for (int64_t repeats = 1; !run.isOver && !recording.isStopped() && run.trips < mostTrips && !run.cancel->requested(); repeats *= 4) {
        const int64_t left = hasLoops ? INT64_MAX : mostTrips - run.trips;
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
    return run.trips == 0 && !run.isOver ? Status() : recording.finish(run);
}

Status runChunkProgram(const KernelArgs& args) { return runOnDevice(args, runChunks); }

/// Gives every value its buffer, and every step its dispatch.
class ChunkBuilder {
public:
    ChunkBuilder(const LoopSetup& setup, VulkanDevice& device) : m_device(device), m_cond(setup.cond), m_body(setup.body)
    {
        m_isTensorflow = setup.op.op.kind.dialect == "tf";
        m_model = setup.op.model;
    }

    Result<ChunkProgram> made()
    {
        if (m_cond.hasBranches()) return unsupported("a cond with an If or a loop inside");
        LS_CHECK_OK(m_cond.prepare(m_model));
        LS_CHECK_OK(m_body.prepare(m_model));
        m_hasLoops = m_body.hasLoops();
        LS_CHECK_OK(checkTypes());
        placeCarried();
        m_program.state = newBuffer(sizeof(ChunkState));
        m_program.condSteps = std::ssize(m_cond.graph().operators);
        m_program.bodySteps = std::ssize(m_body.graph().operators);
        const int64_t own = m_program.condSteps + m_program.bodySteps;
        if (own == 0) return unsupported("a loop without operators");
        m_program.mostSteps = m_hasLoops ? own : m_program.condSteps + m_body.mostSteps();
        LS_CHECK_OK(addRound());
        finishGroups();
        if (m_bytes > kMostBytes) return unsupported("a loop of " + std::to_string(m_bytes) + " bytes");
        if (std::ssize(m_program.dispatches) > kMostDispatches)
            return unsupported("an iteration of " + std::to_string(m_program.dispatches.size()) + " dispatches");
        for (const ChunkDispatch& dispatch : m_program.dispatches) LS_CHECK_OK(m_device.compile(*dispatch.pipeline));
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
    static uint64_t bytesOf(const Tensor& tensor) { return byteSize(tensor.dtype, tensor.elementCount()); }
    static bool isSameType(const Tensor& a, const Tensor& b) { return a.dtype == b.dtype && a.shape == b.shape; }

    Status checkTypes() const
    {
        const Graph &cond = m_cond.graph(), &body = m_body.graph();
        for (size_t k = 0; k < body.inputs.size(); ++k) {
            const Tensor& value = m_body.tensor(body.inputs[k]);
            if (!isSameType(m_cond.tensor(cond.inputs[k]), value) || !isSameType(m_body.tensor(body.outputs[k].value), value))
                return unsupported("carried values whose type changes");
        }
        return m_cond.checkVerdict(m_isTensorflow);
    }

    /// Two buffers a position, or one where the value stays. The body's results are the next carried values where they are computed. With
    /// loops inside a round may end before an iteration does: then there is one buffer a position, which is written last.
    void placeCarried()
    {
        const Graph &cond = m_cond.graph(), &body = m_body.graph();
        for (size_t k = 0; k < body.inputs.size(); ++k) {
            const ValueId input = body.inputs[k], output = body.outputs[k].value;
            const uint64_t bytes = bytesOf(m_body.tensor(input));
            const uint32_t first = newBuffer(bytes);
            const Forms forms = {first, output == input || m_hasLoops ? first : newBuffer(bytes)};
            m_program.carried.push_back(forms);
            m_values[{&m_cond, cond.inputs[k]}] = m_values[{&m_body, input}] = forms;
            if (!m_hasLoops && body.value(output).role == ValueRole::result)
                m_values.try_emplace({&m_body, output}, Forms{forms[1], forms[0]});
        }
    }

    Status addRound()
    {
        LS_CHECK_OK(addSteps(m_cond));
        LS_TRY(m_verdict, buffersOf(m_cond, m_cond.graph().outputs[0].value));
        PredicateParameters p;
        if (m_hasLoops) {
            p.kind = chunkAround;
            p.ifTrue = static_cast<uint32_t>(m_program.mostSteps);
            p.ifFalse = static_cast<uint32_t>(m_program.condSteps);
        }
        LS_TRY(m_predicate, addPredicate(m_verdict, p));
        LS_CHECK_OK(addSteps(m_body));
        if (!m_hasLoops) return addCopies();
        p = {};
        p.kind = chunkComplete;
        LS_TRY(const size_t complete, addPredicate(m_verdict, p));
        (void)complete;
        return addExchange(m_body, m_program.carried);
    }

    Result<Forms> buffersOf(const LoopGraph& graph, ValueId value)
    {
        if (const auto known = m_values.find({&graph, value}); known != m_values.end()) return known->second;
        const Tensor& tensor = graph.tensor(value);
        const ValueRole role = graph.graph().value(value).role;
        const bool isConstant = role == ValueRole::constant && tensor.data;
        if (!isConstant && role != ValueRole::result) return unsupported("a loop with values from elsewhere");
        const uint32_t buffer = newBuffer(bytesOf(tensor), isConstant ? Bytes::copyOf(tensor.view()) : Bytes());
        return m_values[{&graph, value}] = {buffer, buffer};
    }

    Result<Forms> buffersOf(const LoopGraph& graph, size_t o, const Place& place)
    {
        const Operator& op = graph.graph().operators[o];
        if (place.of == Place::Of::input) return buffersOf(graph, op.inputs[place.index]);
        if (place.of == Place::Of::output) return buffersOf(graph, op.results[place.index]);
        const auto [at, isNew] = m_own.try_emplace({&graph, o, place.of, place.index}, 0);
        if (isNew) {
            const Plan& plan = graph.plan(o);
            at->second = place.of == Place::Of::constant ? newBuffer(plan.constants[place.index].size(), plan.constants[place.index])
                                                         : newBuffer(plan.scratch[place.index]);
        }
        return Forms{at->second, at->second};
    }

    void add(ChunkDispatch dispatch)
    {
        dispatch.groupsAreNew = std::exchange(m_isBehindPredicate, dispatch.isPredicate);
        m_program.dispatches.push_back(std::move(dispatch));
    }

    Status addSteps(LoopGraph& graph)
    {
        for (size_t o = 0; o < graph.graph().operators.size(); ++o) {
            if (graph.isLoop(o)) {
                LS_CHECK_OK(addInside(graph, o));
                continue;
            }
            if (!graph.branches(o).empty()) {
                LS_CHECK_OK(addIf(graph, o));
                continue;
            }
            for (const Step& step : graph.plan(o).steps) {
                ChunkDispatch dispatch{step.pipeline, {}, step.push, step.groups, writesOf(step)};
                for (const Place& place : step.places) {
                    LS_TRY(const Forms forms, buffersOf(graph, o, place));
                    for (const size_t form : {0, 1}) dispatch.buffers[form].push_back(forms[form]);
                }
                add(std::move(dispatch));
            }
        }
        return {};
    }

    /// Its number among the dispatches.
    Result<size_t> addPredicate(const Forms& verdict, const PredicateParameters& parameters)
    {
        ChunkDispatch dispatch;
        LS_TRY(dispatch.pipeline, m_device.pipeline(shaderCode(Shader::predicate), {}));
        for (const size_t form : {0, 1}) dispatch.buffers[form] = {verdict[form], m_program.state};
        dispatch.writes = 0b0110; // the state and the groups
        dispatch.push = wordsOf(parameters);
        dispatch.isPredicate = true;
        add(std::move(dispatch));
        return m_program.dispatches.size() - 1;
    }
    void setReach(size_t predicate, size_t begin, size_t middle, size_t end)
    {
        std::vector<uint32_t>& push = m_program.dispatches[predicate].push;
        push[2] = static_cast<uint32_t>(begin);
        push[3] = static_cast<uint32_t>(middle);
        push[4] = static_cast<uint32_t>(end);
    }

    Status addIf(LoopGraph& graph, size_t index)
    {
        const Operator& op = graph.graph().operators[index];
        const Tensor& chooses = graph.tensor(op.inputs[0]);
        const bool isTruth = chooses.elementCount() == 1 && (op.kind.dialect == "tfl" || chooses.shape.rank() == 0);
        if (chooses.dtype != DType::boolean || !isTruth) return unsupported("a branch that no single bool chooses");
        LS_TRY(const Forms verdict, buffersOf(graph, op.inputs[0]));
        const std::span<LoopGraph> branches = graph.branches(index);
        PredicateParameters p;
        p.kind = chunkIf;
        p.ifTrue = static_cast<uint32_t>(branches[0].graph().operators.size());
        p.ifFalse = static_cast<uint32_t>(branches[1].graph().operators.size());
        LS_TRY(const size_t predicate, addPredicate(verdict, p));
        LS_CHECK_OK(addBranch(graph, op, branches[0]));
        const size_t middle = m_program.dispatches.size();
        LS_CHECK_OK(addBranch(graph, op, branches[1]));
        setReach(predicate, predicate + 1, middle, m_program.dispatches.size());
        return {};
    }

    /// A branch reads the If's operands where they lie, and computes its results where those of the If do.
    Status addBranch(const LoopGraph& graph, const Operator& op, LoopGraph& branch)
    {
        if (branch.hasLoops()) return unsupported("a loop in a branch of a loop");
        for (size_t i = 0; i < branch.graph().inputs.size(); ++i) {
            LS_TRY((m_values[{&branch, branch.graph().inputs[i]}]), buffersOf(graph, op.inputs[i + 1]));
        }
        std::vector<Forms> homes;
        for (size_t k = 0; k < op.results.size(); ++k) {
            const ValueId value = branch.graph().outputs[k].value;
            if (!isSameType(branch.tensor(value), graph.tensor(op.results[k]))) return unsupported("branches of other types");
            LS_TRY(homes.emplace_back(), buffersOf(graph, op.results[k]));
            if (branch.graph().value(value).role == ValueRole::result) m_values.try_emplace({&branch, value}, homes[k]);
        }
        LS_CHECK_OK(addSteps(branch));
        for (size_t k = 0; k < homes.size(); ++k) {
            const ValueId value = branch.graph().outputs[k].value;
            LS_TRY(const Forms from, buffersOf(branch, value));
            LS_CHECK_OK(addCopy(from, homes[k], bytesOf(branch.tensor(value))));
        }
        return {};
    }

    /// A loop that the body calls: a few iterations a round. What comes before it and behind does nothing in rounds that it needs for
    /// itself.
    Status addInside(LoopGraph& graph, size_t index)
    {
        constexpr size_t kMostTrips = 8, kEnough = 48; ///< in a round: iterations, and dispatches from which there are no more of them
        const Operator& op = graph.graph().operators[index];
        LoopGraph &cond = graph.branches(index)[0], &body = graph.branches(index)[1];
        if (&graph != &m_body || cond.hasBranches() || body.hasLoops()) return unsupported("loops that are nested deeper");
        if (m_program.inside.size() == kMostInside) return unsupported("more than " + std::to_string(kMostInside) + " loops inside");
        LS_CHECK_OK(cond.checkVerdict(op.kind.dialect == "tf"));
        std::vector<Forms> carried;
        for (size_t k = 0; k < body.graph().inputs.size(); ++k) {
            const Tensor& value = body.tensor(body.graph().inputs[k]);
            for (const Tensor* const other : {&cond.tensor(cond.graph().inputs[k]), &body.tensor(body.graph().outputs[k].value),
                                              &graph.tensor(op.inputs[k]), &graph.tensor(op.results[k])})
                if (!isSameType(*other, value)) return unsupported("carried values whose type changes");
            const uint32_t buffer = newBuffer(bytesOf(value));
            carried.push_back({buffer, buffer});
            LS_TRY(const Forms from, buffersOf(graph, op.inputs[k]));
            LS_CHECK_OK(addCopy(from, carried.back(), bytesOf(value)));
            m_values[{&cond, cond.graph().inputs[k]}] = m_values[{&body, body.graph().inputs[k]}] = carried.back();
            m_values[{&graph, op.results[k]}] = carried.back();
        }
        PredicateParameters p;
        p.kind = chunkInside;
        p.ifFalse = static_cast<uint32_t>(cond.graph().operators.size());
        p.ifTrue = p.ifFalse + static_cast<uint32_t>(body.graph().operators.size());
        p.loop = static_cast<uint32_t>(m_program.inside.size());
        m_program.inside.push_back(static_cast<int32_t>(index));
        const size_t begin = m_program.dispatches.size();
        std::vector<size_t> predicates;
        for (size_t trips = 1; trips > 0;) {
            LS_CHECK_OK(addSteps(cond));
            LS_TRY(const Forms verdict, buffersOf(cond, cond.graph().outputs[0].value));
            const size_t done = m_program.dispatches.size() - begin;
            trips = predicates.size() + 1 < kMostTrips && done < kEnough ? trips + 1 : 0;
            if (trips == 0) p.kind = chunkInsideAgain;
            LS_TRY(predicates.emplace_back(), addPredicate(verdict, p));
            LS_CHECK_OK(addSteps(body));
            LS_CHECK_OK(addExchange(body, carried));
        }
        for (const size_t predicate : predicates) setReach(predicate, begin, begin, m_program.dispatches.size());
        return {};
    }

    Status addCopy(const Forms& from, const Forms& to, uint64_t bytes)
    {
        const auto words = static_cast<uint32_t>((bytes + 3) / 4);
        if (words == 0 || from == to) return {};
        ChunkDispatch dispatch;
        const uint32_t constants[] = {storeI32, 0};
        LS_TRY(dispatch.pipeline, m_device.pipeline(shaderCode(Shader::copy), constants));
        for (const size_t form : {0, 1}) dispatch.buffers[form] = {from[form], to[form], from[form]};
        dispatch.writes = 0b010;
        dispatch.push = {words, 1, words, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        const uint32_t groups = (words + 255) / 256, along = std::min(groups, kMostGroups);
        dispatch.groups = {along, (groups + along - 1) / along, 1};
        add(std::move(dispatch));
        return {};
    }

    /// What the body does not compute but gives: its inputs in other positions, constants, repetitions. Copies that the device skips, too.
    Status addCopies()
    {
        const Graph& body = m_body.graph();
        for (size_t k = 0; k < body.outputs.size(); ++k) {
            LS_TRY(const Forms from, buffersOf(m_body, body.outputs[k].value));
            const Forms& home = m_program.carried[k];
            LS_CHECK_OK(addCopy(from, {home[1], home[0]}, bytesOf(m_body.tensor(body.inputs[k]))));
        }
        return {};
    }

    /// What the body gives is what it is given next, all at once: values that only change their position are put aside first.
    Status addExchange(const LoopGraph& graph, std::span<const Forms> carried)
    {
        const Graph& body = graph.graph();
        std::vector<Forms> given;
        for (size_t k = 0; k < body.outputs.size(); ++k) {
            const ValueId value = body.outputs[k].value;
            LS_TRY(given.emplace_back(), buffersOf(graph, value));
            if (given[k] == carried[k] || std::ranges::find(carried, given[k]) == carried.end()) continue;
            Forms& aside = m_aside[{&graph, k}];
            if (aside[0] == 0) aside[0] = aside[1] = newBuffer(bytesOf(graph.tensor(value)));
            LS_CHECK_OK(addCopy(given[k], aside, bytesOf(graph.tensor(value))));
            given[k] = aside;
        }
        for (size_t k = 0; k < given.size(); ++k) LS_CHECK_OK(addCopy(given[k], carried[k], bytesOf(graph.tensor(body.inputs[k]))));
        return {};
    }

    /// The groups of all dispatches, as predicates hand them on; those of the body are none before it has run for the first time.
    void finishGroups()
    {
        std::vector<uint32_t> wanted;
        for (const ChunkDispatch& dispatch : m_program.dispatches)
            wanted.insert(wanted.end(), dispatch.groups.begin(), dispatch.groups.end());
        m_program.groups = newBuffer(wanted.size() * 4);
        const uint32_t table = newBuffer(wanted.size() * 4, Bytes::copyOf(wanted.data(), wanted.size() * 4));
        for (ChunkDispatch& dispatch : m_program.dispatches) {
            if (!dispatch.isPredicate) continue;
            dispatch.push[0] = static_cast<uint32_t>(wanted.size());
            for (const size_t reach : {2, 3, 4}) dispatch.push[reach] *= 3;
            for (std::vector<uint32_t>& buffers : dispatch.buffers) buffers.insert(buffers.end(), {m_program.groups, table});
        }
        if (m_isBehindPredicate) m_program.dispatches.front().groupsAreNew = true;
        std::fill(wanted.begin() + static_cast<std::ptrdiff_t>(3 * (m_predicate + 1)), wanted.end(), 0);
        m_program.firstGroups = Bytes::copyOf(wanted.data(), wanted.size() * 4);
        m_program.noState = Bytes::copyOf(std::vector<std::byte>(sizeof(ChunkState)));
    }

    VulkanDevice& m_device;
    LoopGraph m_cond, m_body;
    const Model* m_model = nullptr;
    bool m_isTensorflow = false, m_hasLoops = false, m_isBehindPredicate = false;
    ChunkProgram m_program;
    std::map<std::pair<const LoopGraph*, ValueId>, Forms> m_values;
    std::map<std::tuple<const LoopGraph*, size_t, Place::Of, uint32_t>, uint32_t> m_own; ///< constants and scratch of operators
    std::map<std::pair<const LoopGraph*, size_t>, Forms> m_aside;                        ///< by position
    Forms m_verdict = {};
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
