// A While whose cond and body are a few small tensors runs whole inside one dispatch: its operators' own plans become steps of one shader,
// which is put together while the operator is prepared. All tensors lie in one buffer, the arena.
#include "engine/kernels/device_loop.h"
#include "engine/kernels/vulkan/assembler.h"
#include "engine/kernels/vulkan/loop_arena.h"
#include "engine/kernels/vulkan/loop_chunks.h"
#include "engine/kernels/vulkan/loop_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace loopscope::vulkan {

namespace {

constexpr int64_t kMostElements = 4096;    ///< that one iteration may compute on a software device: an invocation does them all
constexpr int64_t kMostShared = 65'536;    ///< the same, shared by a workgroup of a GPU
constexpr uint32_t kInvocations = 256;     ///< of that workgroup
constexpr uint64_t kArenaBytes = 49'152;   ///< that an arena in the workgroup's memory may have
constexpr int64_t kMostRounds = 1'000'000; ///< iterations of loops in one dispatch of a GPU, so that others get it now and then

/// What runs such a loop.
struct LoopProgram {
    const DevicePipeline* pipeline = nullptr;
    Bytes image; ///< of the arena's beginning
    uint64_t bytes = 0;
    std::vector<uint64_t> carried; ///< where the carried values lie
    int64_t tripsOfDispatch = 1;
    int64_t condSteps = 0, bodySteps = 0; ///< operators of the graphs themselves
    int64_t mostSteps = 1;                ///< of an iteration, whatever branches it takes
    std::vector<int32_t> inside;          ///< loops of the body: how many operators an iteration completes is not known before
    uint32_t fuel = 0;                    ///< then: iterations that the loops of an invocation may make in a dispatch
};

/// What a dispatch did. The words from `inside` on are for the next one.
struct Report {
    uint32_t trips = 0, isOver = 0, steps = 0, branches = 0;
    uint32_t inside = 0, pendingSteps = 0, pendingBranches = 0, isStopped = 0;
    struct {
        uint32_t pending = 0, done = 0;
    } tripsInside[kMostInside];
};

constexpr int64_t kMostPushed = int64_t{1} << 31; ///< steps that a dispatch is told of

Status runTrips(const KernelArgs& args, VulkanMemory& memory, DeviceTrips& run)
{
    const auto& program = args.paramsAs<LoopProgram>();
    std::vector<DeviceBuffer> operands;
    for (int k = 0; k < args.inputCount; ++k) {
        LS_TRY(operands.emplace_back(), memory.operand(args.in(k)));
    }
    LS_TRY(const DeviceBuffer image, memory.constant(program.image));
    LS_TRY(const DeviceBuffer arena, memory.scratch(program.bytes));
    std::vector<DeviceBuffer> results; // before iterations count: later there must be no reason to fail
    for (int k = 0; k < args.outputCount; ++k) {
        LS_TRY(results.emplace_back(), memory.room(args.out(k)));
    }
    LS_CHECK_OK(memory.copy(image, arena, 0, program.image.size()));
    for (size_t k = 0; k < operands.size(); ++k)
        LS_CHECK_OK(memory.copy(operands[k], arena, program.carried[k], args.in(static_cast<int>(k)).bytes));
    const int64_t mostTrips = run.mostSteps / program.mostSteps; // with loops inside it is the device that sees the last one
    const DeviceBuffer buffers[] = {arena};
    bool isStopped = false;
    run.inside.clear();
    for (const int32_t op : program.inside) run.inside.push_back({op, 0});
    while (!run.isOver && !isStopped && run.trips < mostTrips && !run.cancel->requested()) {
        const uint32_t push[] = {static_cast<uint32_t>(std::min(program.tripsOfDispatch, mostTrips - run.trips)), program.fuel,
                                 static_cast<uint32_t>(std::min(run.mostSteps - run.steps, kMostPushed))};
        LS_CHECK_OK(memory.launch({program.pipeline, buffers, push}));
        Report report;
        LS_CHECK_OK(memory.read(arena, std::as_writable_bytes(std::span(&report, 1))));
        run.trips += report.trips;
        run.isOver = report.isOver != 0;
        isStopped = !program.inside.empty() && report.isStopped != 0;
        run.steps += report.steps + report.trips * (program.condSteps + program.bodySteps) + (run.isOver ? program.condSteps : 0);
        run.invocations += report.trips + report.branches;
        for (size_t j = 0; j < run.inside.size(); ++j) run.inside[j].trips += report.tripsInside[j].done;
    }
    if (run.trips == 0 && !run.isOver) return {}; // the values stay where they are
    for (int k = 0; k < args.outputCount; ++k) {
        const DeviceBuffer& result = results[static_cast<size_t>(k)];
        memory.place(args.out(k), result);
        LS_CHECK_OK(memory.copy(arena, result, 0, args.out(k).bytes, program.carried[static_cast<size_t>(k)]));
        memory.computed(args.out(k));
    }
    return {};
}

Status runLoop(const KernelArgs& args) { return runOnDevice(args, runTrips); }

/// The form of an element-wise step that has just what it needs.
std::string_view formOf(std::span<const uint32_t> constants)
{
    static constexpr uint32_t kPlain[] = {opNeg,   opAbs,   opSquare,    opSign,    opCeil,
                                          opFloor, opClamp, opLeakyRelu, opZero,    opAdd,
                                          opSub,   opMul,   opMaximum,   opMinimum, opSquaredDifference,
                                          opPrelu};
    const uint32_t op = constants[0], in = constants[1], out = constants[5];
    const bool isPlain = std::ranges::find(kPlain, op) != std::end(kPlain), compares = op >= opEqual && op <= opGreaterEqual;
    const auto reads = [&](Code store) { return constants[2] == store && constants[3] == store; };
    if (compares && in == inFloat && reads(storeF32)) return "elementwiseRealTruth";
    if (compares && in == inInt && reads(storeI32)) return "elementwiseWholeTruth";
    if (isPlain && in == inFloat && reads(storeF32) && out == storeF32) return "elementwiseReal";
    const bool isWhole = isPlain || (op >= opAnd && op <= opXor) || op == opFloorDiv || op == opFloorMod;
    if (isWhole && in == inInt && reads(storeI32) && out == storeI32 && constants[7] == 0) return "elementwiseWhole";
    if (isWhole && in == inLong && reads(storeI64) && out == storeI64) return "elementwiseWide";
    if (in != inFloat || isPlain || op == opCopy || op >= opTable || compares || op == opSelect) return "elementwisePlain";
    if (!reads(storeF32) || out != storeF32) return "elementwise";
    switch (op) {
    case opExp: return "elementwiseExp";
    case opLog: return "elementwiseLog";
    case opTanh: return "elementwiseTanh";
    case opLogistic: return "elementwiseLogistic";
    case opSqrt: return "elementwiseSqrt";
    case opDiv: return "elementwiseDiv";
    default: return "elementwise";
    }
}

int64_t largestOf(const CalledGraph& called)
{
    int64_t largest = 1;
    for (const Tensor& value : called.values) largest = std::max(largest, value.shape.isStatic() ? value.elementCount() : 0);
    for (const std::vector<CalledGraph>& branches : called.branches)
        for (const CalledGraph& branch : branches) largest = std::max(largest, largestOf(branch));
    return largest;
}

/// Invocations of a loop's workgroup: one where tensors have a few elements, since nobody has to wait for it; those of a subgroup, which
/// wait for each other at no cost; else many.
uint32_t lanesFor(const LoopSetup& setup, const DeviceInfo& device)
{
    constexpr int64_t kFew = 2;
    const int64_t largest = std::max(largestOf(setup.cond), largestOf(setup.body));
    if (device.isSoftware() || largest <= kFew) return 1;
    return largest <= device.subgroup ? device.subgroup : kInvocations;
}

/// Puts the shader of one loop together.
class LoopShader {
public:
    LoopShader(const LoopSetup& setup, ShaderAssembler assembler, uint32_t lanes)
        : m_cond(setup.cond),
          m_body(setup.body),
          m_setup(setup),
          m_assembler(std::move(assembler)),
          m_lanes(lanes)
    {
    }

    /// Errors: unsupported, an operator that no step does, or limits: of the arena's bytes, of elements, of the loops of an invocation.
    Result<LoopProgram> made(VulkanDevice& device, uint64_t mostBytes)
    {
        LS_CHECK_OK(m_cond.prepare(m_setup.op.model));
        LS_CHECK_OK(m_body.prepare(m_setup.op.model));
        if (m_cond.hasBranches()) return unsupported("a cond with an If inside");
        LS_CHECK_OK(placeCarried());
        m_assembler.setLocalSize(m_lanes);
        m_assembler.call("begin", {m_lanes});
        m_operators = static_cast<uint32_t>(m_cond.graph().operators.size() + m_body.graph().operators.size());
        LS_CHECK_OK(m_body.hasLoops() ? addNest() : addLoop());
        if (m_rounds > kMostTrips) return unsupported("an iteration of " + std::to_string(m_rounds) + " steps");
        if (m_elements > (device.info().isSoftware() ? kMostElements : kMostShared))
            return unsupported("a loop of " + std::to_string(m_elements) + " elements an iteration");
        if (m_arena.bytes() > mostBytes) return unsupported("a loop of " + std::to_string(m_arena.bytes()) + " bytes");
        LoopProgram program;
        LS_TRY(std::vector<uint32_t> words, m_assembler.done());
        LS_TRY(program.pipeline, device.pipeline("loop", std::move(words), 1));
        program.image = m_arena.image();
        program.bytes = m_arena.bytes();
        program.carried = m_carried;
        program.condSteps = std::ssize(m_cond.graph().operators);
        program.bodySteps = std::ssize(m_body.graph().operators);
        program.mostSteps = std::max<int64_t>(1, m_body.hasLoops() ? m_operators : program.condSteps + m_body.mostSteps());
        const int64_t rounds = device.info().isSoftware() ? kMostTrips : kMostRounds;
        program.inside = m_inside;
        program.fuel = static_cast<uint32_t>(rounds);
        program.tripsOfDispatch = !program.inside.empty() ? rounds : std::max<int64_t>(1, rounds / m_rounds);
        return program;
    }

private:
    Status addLoop()
    {
        m_body.writeInPlace();
        m_assembler.beginLoop();
        m_assembler.call("mayGoRound");
        m_assembler.goOnIf();
        LS_CHECK_OK(addSteps(m_cond));
        LS_TRY(const uint64_t verdict, m_cond.placeOf(m_cond.graph().outputs[0].value, m_arena));
        m_assembler.call("holds", {static_cast<uint32_t>(verdict)});
        m_assembler.goOnIf();
        LS_CHECK_OK(addSteps(m_body));
        LS_CHECK_OK(addExchange(m_body, m_carried));
        m_assembler.call("wentRound");
        m_assembler.endLoop();
        m_assembler.call("end");
        return {};
    }

    /// A loop with others inside. What comes before one of them is passed over by a dispatch that goes on in it; nothing is written in
    /// place, so that an iteration which is not completed leaves no trace.
    Status addNest()
    {
        const size_t count = m_body.graph().operators.size();
        m_assembler.call("resume");
        m_assembler.beginLoop();
        const auto mayGoOn = m_assembler.callLater("mayGoOn", 2); // how many rounds is known at the end
        m_assembler.goOnIf();
        m_assembler.call("isFresh");
        m_assembler.beginIf();
        const auto burn = m_assembler.callLater("burn", 1);
        LS_CHECK_OK(addSteps(m_cond));
        LS_TRY(const uint64_t verdict, m_cond.placeOf(m_cond.graph().outputs[0].value, m_arena));
        m_assembler.call("holdsAround", {static_cast<uint32_t>(verdict)});
        m_assembler.goOnIf();
        for (size_t o = 0; o < count; ++o) {
            if (!m_body.isLoop(o)) {
                LS_CHECK_OK(addOperator(m_body, o));
                continue;
            }
            if (m_inside.size() == kMostInside) return unsupported("more than " + std::to_string(kMostInside) + " loops inside");
            m_inside.push_back(static_cast<int32_t>(o));
            LS_CHECK_OK(addInside(o, static_cast<uint32_t>(m_inside.size())));
            m_rounds += 3;
            m_assembler.call("isFresh");
            m_assembler.beginIf();
        }
        m_assembler.call("mayComplete", {m_operators});
        m_assembler.goOnIf();
        LS_CHECK_OK(addExchange(m_body, m_carried));
        m_assembler.call("completed");
        m_assembler.orElse();
        m_assembler.endIf();
        m_assembler.endLoop();
        m_assembler.call("endOrPause");
        const auto rounds = static_cast<uint32_t>(m_rounds);
        if (m_rounds + m_mostInside > kMostTrips)
            return unsupported("an iteration of " + std::to_string(m_rounds) + " steps, with others of " + std::to_string(m_mostInside));
        m_assembler.complete(mayGoOn, std::array{m_operators, rounds});
        m_assembler.complete(burn, std::array{rounds});
        return {};
    }

    /// One of them, in the midst of an If that what comes before it is in.
    Status addInside(size_t index, uint32_t loop)
    {
        const Operator& op = m_body.graph().operators[index];
        LoopGraph &cond = m_body.branches(index)[0], &body = m_body.branches(index)[1];
        if (cond.hasBranches() || body.hasLoops()) return unsupported("loops that are nested deeper");
        LS_CHECK_OK(cond.checkVerdict(op.kind.dialect == "tf"));
        std::vector<uint64_t> carried;
        for (size_t k = 0; k < body.graph().inputs.size(); ++k) {
            const ValueId input = body.graph().inputs[k];
            const Tensor& value = body.tensor(input);
            for (const Tensor* const other :
                 {&cond.tensor(cond.graph().inputs[k]), &m_body.tensor(op.inputs[k]), &m_body.tensor(op.results[k])})
                if (other->dtype != value.dtype || other->shape != value.shape) return unsupported("carried values whose type changes");
            const uint64_t bytes = byteSize(value.dtype, value.elementCount());
            carried.push_back(m_arena.room(bytes));
            LS_TRY(const uint64_t from, m_body.placeOf(op.inputs[k], m_arena));
            addMove(from, carried.back(), bytes);
            cond.put(cond.graph().inputs[k], carried.back());
            body.put(input, carried.back());
            m_body.put(op.results[k], carried.back());
        }
        body.writeInPlace();
        m_assembler.call("enter", {loop});
        m_assembler.orElse();
        m_assembler.endIf();
        const int64_t around = std::exchange(m_rounds, 2);
        m_assembler.beginLoop();
        const auto mayGoInside = m_assembler.callLater("mayGoInside", 2);
        m_assembler.goOnIf();
        LS_CHECK_OK(addSteps(cond));
        LS_TRY(const uint64_t verdict, cond.placeOf(cond.graph().outputs[0].value, m_arena));
        m_assembler.call("holdsInside", {loop, static_cast<uint32_t>(verdict), static_cast<uint32_t>(cond.graph().operators.size()),
                                         static_cast<uint32_t>(body.graph().operators.size()), m_operators});
        m_assembler.goOnIf();
        LS_CHECK_OK(addSteps(body));
        LS_CHECK_OK(addExchange(body, carried));
        m_assembler.endLoop();
        m_assembler.call("isBehind", {loop});
        m_assembler.goOnIf();
        const int64_t inside = std::exchange(m_rounds, around);
        m_mostInside = std::max(m_mostInside, inside);
        m_assembler.complete(mayGoInside, std::array{loop, static_cast<uint32_t>(inside)});
        return {};
    }

    /// Carried values are inputs of cond and body alike.
    Status placeCarried()
    {
        const Graph &cond = m_cond.graph(), &body = m_body.graph();
        for (size_t k = 0; k < body.inputs.size(); ++k) {
            const Tensor& value = m_body.tensor(body.inputs[k]);
            if (const Tensor& other = m_cond.tensor(cond.inputs[k]); other.dtype != value.dtype || other.shape != value.shape)
                return unsupported("carried values whose type changes");
            const uint64_t bytes = byteSize(value.dtype, value.elementCount());
            m_carried.push_back(m_arena.room(bytes));
            m_cond.put(cond.inputs[k], m_carried.back());
            m_body.put(body.inputs[k], m_carried.back());
        }
        return m_cond.checkVerdict(m_setup.op.op.kind.dialect == "tf");
    }

    Status addSteps(LoopGraph& graph)
    {
        for (size_t o = 0; o < graph.graph().operators.size(); ++o) LS_CHECK_OK(addOperator(graph, o));
        return {};
    }

    Status addOperator(LoopGraph& graph, size_t index)
    {
        if (graph.isLoop(index)) return unsupported("a loop in a branch of a loop");
        if (!graph.branches(index).empty()) return addIf(graph, index);
        for (const Step& step : graph.plan(index).steps) {
            std::vector<uint64_t> places;
            for (const Place& place : step.places) {
                LS_TRY(places.emplace_back(), graph.placeOf(index, place, m_arena));
            }
            LS_CHECK_OK(addStep(step, places));
        }
        return {};
    }

    /// A branch reads the If's operands where they lie, and computes its results where those of the If do.
    Status addIf(LoopGraph& graph, size_t index)
    {
        const Operator& op = graph.graph().operators[index];
        const Tensor& predicate = graph.tensor(op.inputs[0]);
        const bool isTruth = predicate.elementCount() == 1 && (op.kind.dialect == "tfl" || predicate.shape.rank() == 0);
        if (predicate.dtype != DType::boolean || !isTruth) return unsupported("a branch that no single bool chooses");
        LS_TRY(const uint64_t chooses, graph.placeOf(op.inputs[0], m_arena));
        std::vector<uint64_t> homes;
        for (const ValueId result : op.results) {
            LS_TRY(homes.emplace_back(), graph.placeOf(result, m_arena));
        }
        m_assembler.call("holds", {static_cast<uint32_t>(chooses)});
        m_assembler.beginIf();
        for (size_t b = 0; b < 2; ++b) { // both are counted for the limits, though one is taken
            LoopGraph& branch = graph.branches(index)[b];
            m_assembler.call("took", {static_cast<uint32_t>(branch.graph().operators.size())});
            LS_CHECK_OK(addBranch(graph, op, branch, homes));
            if (b == 0) m_assembler.orElse();
        }
        m_assembler.endIf();
        return {};
    }

    Status addBranch(LoopGraph& graph, const Operator& op, LoopGraph& branch, std::span<const uint64_t> homes)
    {
        for (size_t i = 0; i < branch.graph().inputs.size(); ++i) {
            LS_TRY(const uint64_t place, graph.placeOf(op.inputs[i + 1], m_arena));
            branch.put(branch.graph().inputs[i], place);
        }
        branch.giveHomes(homes);
        LS_CHECK_OK(addSteps(branch));
        for (size_t k = 0; k < homes.size(); ++k) {
            const ValueId value = branch.graph().outputs[k].value;
            const Tensor &given = branch.tensor(value), &result = graph.tensor(op.results[k]);
            if (given.dtype != result.dtype || given.shape != result.shape) return unsupported("branches of other types");
            LS_TRY(const uint64_t from, branch.placeOf(value, m_arena));
            addMove(from, homes[k], byteSize(given.dtype, given.elementCount()));
        }
        return {};
    }

    Status addStep(const Step& step, std::span<const uint64_t> places)
    {
        std::vector<uint32_t> words;
        const auto at = [&](size_t place, uint32_t store) { words.push_back(static_cast<uint32_t>(places[place] / widthOf(Code(store)))); };
        int64_t count = step.push[0], rounds = 1; // of loops inside, for each element
        if (step.shader == Shader::elementwise) {
            const std::vector<uint32_t>& c = step.constants;
            const bool isTable = c[0] == opTable || c[0] == opTable2;
            words.assign(c.begin(), c.begin() + 8);
            words.insert(words.end(), step.push.begin(), step.push.end());
            at(0, c[2]);
            at(1, c[3]);
            at(2, isTable ? c[5] : c[4]);
            at(3, c[5]);
            if (c[6] != 0) rounds += step.push[1] + 1;
            if (c[0] == opPow) rounds += 8;
            m_assembler.call(formOf(c), words);
        } else if (step.shader == Shader::copy) {
            words = step.constants;
            words.insert(words.end(), step.push.begin(), step.push.end());
            at(0, step.constants[0]);
            at(1, step.constants[0]);
            at(2, storeI32);
            if (step.constants[1] == 0) rounds += step.push[1] + 1;
            m_assembler.call("copy", words);
        } else if (step.shader == Shader::reduce && step.constants[4] == 0) { // by an invocation each
            const std::vector<uint32_t>& c = step.constants;
            const bool isArgument = c[0] == reduceArgMax || c[0] == reduceArgMin;
            words.assign(c.begin(), c.begin() + 4);
            words.insert(words.end(), step.push.begin(), step.push.end());
            at(0, c[2]);
            at(1, c[3]);
            const int64_t kept = step.push[1] % 16, reduced = step.push[1] / 16, size = step.push.back();
            rounds += kept + 1 + (1 + (isArgument ? 2 : 1) * reduced) * size;
            m_assembler.call("reduce", words);
        } else {
            return unsupported("a loop with '" + std::string(shaderCode(step.shader).name) + "' inside");
        }
        countRounds(count, rounds);
        return {};
    }

    void addMove(uint64_t from, uint64_t to, uint64_t bytes)
    {
        const uint64_t words = (bytes + 3) / 4;
        if (from == to || words == 0) return;
        m_assembler.call("move", {static_cast<uint32_t>(from / 4), static_cast<uint32_t>(to / 4), static_cast<uint32_t>(words)});
        countRounds(static_cast<int64_t>(words), 1);
    }

    void countRounds(int64_t elements, int64_t rounds)
    {
        m_elements += elements;
        m_rounds += ((elements + m_lanes - 1) / m_lanes) * rounds + 1;
    }

    /// What the body gives is what it is given next, all at once: values that only change their position are put aside first.
    Status addExchange(LoopGraph& graph, std::span<const uint64_t> carried)
    {
        const Graph& body = graph.graph();
        struct Move {
            uint64_t from, to, bytes;
        };
        std::vector<Move> moves;
        for (size_t k = 0; k < body.outputs.size(); ++k) {
            const ValueId value = body.outputs[k].value;
            const Tensor& tensor = graph.tensor(value);
            if (const Tensor& input = graph.tensor(body.inputs[k]); input.dtype != tensor.dtype || input.shape != tensor.shape)
                return unsupported("carried values whose type changes");
            Move move = {0, carried[k], byteSize(tensor.dtype, tensor.elementCount())};
            LS_TRY(move.from, graph.placeOf(value, m_arena));
            if (move.from == move.to) continue;
            if (std::ranges::find(carried, move.from) != carried.end()) {
                const uint64_t aside = m_arena.room(move.bytes);
                addMove(move.from, aside, move.bytes);
                move.from = aside;
            }
            moves.push_back(move);
        }
        for (const Move& move : moves) addMove(move.from, move.to, move.bytes);
        return {};
    }

    LoopGraph m_cond, m_body;
    const LoopSetup& m_setup;
    LoopArena m_arena;
    ShaderAssembler m_assembler;
    const uint32_t m_lanes;
    std::vector<uint64_t> m_carried;
    uint32_t m_operators = 0; ///< of cond and body themselves
    std::vector<int32_t> m_inside;
    int64_t m_elements = 0, m_rounds = 2; ///< of an iteration; rounds: of all loops of one invocation
    int64_t m_mostInside = 0;             ///< rounds of an iteration of a loop inside
};

} // namespace

} // namespace loopscope::vulkan

namespace loopscope {

Result<PreparedKernel> prepareDeviceLoop(const LoopSetup& setup)
{
    using namespace vulkan;
    if (attributeWord(setup.op.attributes(), "@place", "") == "cpu") return unsupported("placed there");
    LS_TRY(const std::shared_ptr<VulkanDevice> device, VulkanDevice::opened());
    const uint32_t lanes = lanesFor(setup, device->info());
    const auto made = [&](Shader form) -> Result<LoopProgram> {
        LS_TRY(ShaderAssembler assembler, ShaderAssembler::of(shaderCode(form).words));
        return LoopShader(setup, std::move(assembler), lanes).made(*device, form == Shader::loopShared ? kArenaBytes : UINT64_MAX);
    };
    Result<LoopProgram> program = made(device->info().isSoftware()      ? Shader::loop
                                       : device->info().hasSharedBlocks ? Shader::loopShared
                                                                        : Shader::loopGroup);
    if (!program.ok() && program.error().code() == ErrorCode::unsupported && device->info().hasSharedBlocks && !device->info().isSoftware())
        program = made(Shader::loopGroup);
    if (program.ok()) return PreparedKernel{runLoop, std::make_shared<const LoopProgram>(std::move(*program))};
    if (program.error().code() != ErrorCode::unsupported) return std::move(program).takeError();
    return prepareChunks(setup, *device);
}

} // namespace loopscope
