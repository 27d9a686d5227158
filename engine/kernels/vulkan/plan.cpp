#include "engine/kernels/vulkan/plan.h"

#include "copy_spirv.h"
#include "elementwise_spirv.h"
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "loop_group_spirv.h"
#include "loop_shared_spirv.h"
#include "loop_spirv.h"
#include "lstm_spirv.h"
#include "matmul_double_spirv.h"
#include "matmul_packed_spirv.h"
#include "matmul_spirv.h"
#include "predicate_spirv.h"
#include "reduce_spirv.h"
#include "rows_spirv.h"
#include "topk_spirv.h"
#include "window_spirv.h"

#include <algorithm>

namespace loopscope::vulkan {

namespace {

constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kMostGroups = 32768; ///< along one dimension; every device has 65,535
/// Constants up to here are copied, so that they outlive whatever they were unpacked for.
constexpr size_t kCopiedBytes = size_t{1} << 20;

Result<DeviceBuffer> bufferOf(const Place& place, const KernelArgs& args, const Plan& plan, std::span<const DeviceBuffer> outputs,
                              std::span<const DeviceBuffer> scratch, VulkanMemory& memory)
{
    switch (place.of) {
    case Place::Of::input: return memory.operand(args.in(static_cast<int>(place.index)));
    case Place::Of::output: return outputs[place.index];
    case Place::Of::constant: return memory.constant(plan.constants[place.index]);
    case Place::Of::scratch: break;
    }
    return scratch[place.index];
}

Status launchAll(const KernelArgs& args, const Plan& plan, VulkanMemory& memory)
{
    std::vector<std::vector<DeviceBuffer>> buffers(plan.steps.size());
    // Operands first: room for results may take the place of what they were computed from.
    std::vector<DeviceBuffer> operands(static_cast<size_t>(args.inputCount));
    std::vector<bool> isKnown(operands.size());
    for (const Step& step : plan.steps)
        for (const Place& place : step.places) {
            if (place.of != Place::Of::input || isKnown[place.index]) continue;
            LS_TRY(operands[place.index], memory.operand(args.in(static_cast<int>(place.index))));
            isKnown[place.index] = true;
        }
    std::vector<DeviceBuffer> outputs, scratch;
    for (int k = 0; k < args.outputCount; ++k) {
        LS_TRY(outputs.emplace_back(), memory.room(args.out(k)));
    }
    for (const uint64_t bytes : plan.scratch) {
        LS_TRY(scratch.emplace_back(), memory.scratch(bytes));
    }
    for (const Bytes& bytes : plan.constants) LS_CHECK_OK(memory.constant(bytes));
    for (int k = 0; k < args.outputCount; ++k) memory.place(args.out(k), outputs[static_cast<size_t>(k)]);
    std::vector<DeviceBuffer> bound;
    for (const Step& step : plan.steps) {
        bound.clear();
        Launch launch{step.pipeline, {}, step.push, step.groups};
        launch.writes = writesOf(step);
        for (const Place& place : step.places) {
            if (place.of == Place::Of::input) {
                bound.push_back(operands[place.index]);
                continue;
            }
            LS_TRY(bound.emplace_back(), bufferOf(place, args, plan, outputs, scratch, memory));
        }
        launch.buffers = bound;
        LS_CHECK_OK(memory.launch(launch));
    }
    for (int k = 0; k < args.outputCount; ++k) memory.computed(args.out(k));
    for (const int i : plan.states) memory.computed(args.in(i));
    return {};
}

/// For a device that has no room for the operator even if it has room for nothing else.
Status runOnHost(const KernelArgs& args, const Plan& plan, VulkanMemory& memory)
{
    for (int i = 0; i < args.inputCount; ++i)
        if (args.inputs[i]) memory.hostBytes(args.in(i));
    LS_CHECK_OK(memory.check());
    for (int k = 0; k < args.outputCount; ++k) memory.written(args.out(k));
    for (const int i : plan.states) memory.written(args.in(i));
    memory.countOnHost();
    KernelArgs own = args;
    own.params = plan.onHost.params.get();
    return plan.onHost.run(own);
}

/// The one function of all Vulkan kernels.
Status runPlan(const KernelArgs& args)
{
    auto* const host = dynamic_cast<DeviceHost*>(args.runtime);
    auto* const memory = host ? dynamic_cast<VulkanMemory*>(host->deviceMemory()) : nullptr;
    if (!memory) return Error(ErrorCode::internal, "a kernel of the device runs without one");
    const Plan& plan = args.paramsAs<Plan>();
    for (const Step& step : plan.steps) LS_CHECK_OK(memory->device().compile(*step.pipeline));
    Status status = launchAll(args, plan, *memory);
    memory->endOperator();
    if (status.ok() || !isOutOfDeviceMemory(status.detail())) return status;
    LS_CHECK_OK(memory->spill());
    status = launchAll(args, plan, *memory);
    memory->endOperator();
    if (status.ok() || !isOutOfDeviceMemory(status.detail()) || !plan.onHost.run) return status;
    return runOnHost(args, plan, *memory);
}

/// What a reference kernel is given while another kernel is prepared.
class PreparationRuntime final : public KernelRuntime {
public:
    std::byte* scratch(size_t bytes) override
    {
        m_scratch = Bytes::copyOf(std::vector<std::byte>(bytes + 64));
        return const_cast<std::byte*>(m_scratch.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): nobody else has them
    }
    Status resize(Tensor&, const Shape&, size_t) override { return Error(ErrorCode::unsupported, "results whose size depends on values"); }
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }

private:
    Bytes m_scratch;
    ResourceStore m_resources;
    RandomState m_random;
};

} // namespace

Error unsupported(std::string why) { return Error(ErrorCode::unsupported, std::move(why)); }

const ShaderCode& shaderCode(Shader shader)
{
    static const ShaderCode kShaders[] = {{"elementwise", elementwiseWords, 4},
                                          {"copy", copyWords, 3},
                                          {"reduce", reduceWords, 2},
                                          {"rows", rowsWords, 2},
                                          {"matmul", matmulWords, 5},
                                          {"matmul_double", matmul_doubleWords, 5},
                                          {"matmul_packed", matmul_packedWords, 5},
                                          {"window", windowWords, 5},
                                          {"topk", topkWords, 3},
                                          {"lstm", lstmWords, 5},
                                          {"loop", loopWords, 1},
                                          {"loop_group", loop_groupWords, 1},
                                          {"loop_shared", loop_sharedWords, 1},
                                          {"predicate", predicateWords, 4}};
    return kShaders[static_cast<size_t>(shader)];
}

uint32_t writesOf(const Step& step)
{
    uint32_t writes = 0;
    for (size_t i = 0; i < step.places.size(); ++i)
        if (step.places[i].of == Place::Of::output || step.places[i].of == Place::Of::scratch || step.places[i].isState) writes |= 1U << i;
    return writes;
}

std::optional<Code> storeOf(DType dtype)
{
    switch (dtype) {
    case DType::f32: return storeF32;
    case DType::i32: return storeI32;
    case DType::i64: return storeI64;
    case DType::u8:
    case DType::boolean: return storeU8;
    case DType::i8: return storeI8;
    case DType::i16: return storeI16;
    case DType::f16: return storeF16;
    case DType::u32: return storeU32;
    case DType::u16: return storeU16;
    default: return std::nullopt;
    }
}

std::optional<Code> storeOfWidth(DType dtype)
{
    switch (bitWidth(dtype)) {
    case 8: return storeU8;
    case 16: return storeI16;
    case 32: return storeI32;
    case 64: return storeI64;
    default: return std::nullopt;
    }
}

PlanBuilder::PlanBuilder(const KernelSetup& setup, std::shared_ptr<VulkanDevice> device)
    : m_setup(&setup),
      m_device(std::move(device)),
      m_plan(std::make_shared<Plan>())
{
}

Result<PlanBuilder> PlanBuilder::create(const KernelSetup& setup)
{
    if (!setup.shapesAreStatic) return unsupported("shapes that are known only when running");
    LS_TRY(std::shared_ptr<VulkanDevice> device, VulkanDevice::opened());
    const uint64_t most = device->info().largestBuffer;
    for (const auto& tensors : {setup.inputs, setup.outputs})
        for (const Tensor* const tensor : tensors) {
            if (!tensor || !tensor->shape.isStatic() || bitWidth(tensor->dtype) == 0) continue;
            const auto bytes = static_cast<uint64_t>(tensor->elementCount()) * static_cast<uint64_t>(bitWidth(tensor->dtype)) / 8;
            if (bytes + 16 > most || tensor->elementCount() >= INT32_MAX)
                return unsupported("a tensor of " + std::to_string(bytes) + " bytes, the device's limit is " + std::to_string(most));
        }
    return PlanBuilder(setup, std::move(device));
}

Place PlanBuilder::in(int i)
{
    const Tensor& tensor = m_setup->in(i);
    if (!tensor.data) return {Place::Of::input, static_cast<uint32_t>(i)};
    return constant(tensor.bytes <= kCopiedBytes ? Bytes::copyOf(tensor.view()) : Bytes(tensor.view(), nullptr));
}

Place PlanBuilder::constant(Bytes bytes)
{
    m_plan->constants.push_back(std::move(bytes));
    return {Place::Of::constant, static_cast<uint32_t>(m_plan->constants.size() - 1)};
}

Place PlanBuilder::scratch(uint64_t bytes)
{
    m_plan->scratch.push_back(bytes);
    return {Place::Of::scratch, static_cast<uint32_t>(m_plan->scratch.size() - 1)};
}

Status PlanBuilder::add(Shader shader, std::initializer_list<uint32_t> constants, std::vector<Place> places, std::vector<uint32_t> push,
                        std::array<uint32_t, 3> groups)
{
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return {};
    const DevicePipeline* const pipeline = m_device->pipelineLater(shaderCode(shader), {constants.begin(), constants.size()});
    // Who may fall back on the CPU wants to know now; else nobody waits for what is never launched, as in loops that the device drives.
    if (Status compiled = m_device->isOptional() ? m_device->compile(*pipeline) : Status(); !compiled.ok())
        return m_device->isLost() ? std::move(compiled) : Status(unsupported(std::move(compiled).takeError().message()));
    for (const Place& place : places)
        if (place.isState && std::ranges::find(m_plan->states, static_cast<int>(place.index)) == m_plan->states.end())
            m_plan->states.push_back(static_cast<int>(place.index));
    m_plan->steps.push_back({pipeline, shader, constants, std::move(places), std::move(push), groups});
    return {};
}

Status PlanBuilder::addElements(Shader shader, std::initializer_list<uint32_t> constants, std::vector<Place> places,
                                std::vector<uint32_t> push, int64_t count)
{
    const auto groups = static_cast<uint32_t>((count + kWorkgroup - 1) / kWorkgroup);
    const uint32_t along = std::min(groups, kMostGroups);
    return add(shader, constants, std::move(places), std::move(push), {along, along == 0 ? 0 : (groups + along - 1) / along, 1});
}

PreparedKernel PlanBuilder::done()
{
    if (m_device->isOptional()) {
        const KernelEntry* const entry = KernelRegistry::builtin().find(m_setup->op.kind, Profile::reference);
        if (Result<PreparedKernel> kernel = entry ? entry->prepare(*m_setup) : unsupported("no kernel"); kernel.ok())
            m_plan->onHost = std::move(*kernel);
    }
    return {runPlan, std::move(m_plan)};
}

const Plan* PlanBuilder::planOf(const PreparedKernel& kernel)
{
    return kernel.run == runPlan ? static_cast<const Plan*>(kernel.params.get()) : nullptr;
}

Status runReference(const KernelSetup& setup, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs)
{
    const KernelEntry* const entry = KernelRegistry::builtin().find(setup.op.kind, Profile::reference);
    if (!entry) return unsupported("no kernel");
    const std::vector<const Tensor*> results(outputs.begin(), outputs.end());
    LS_TRY(const PreparedKernel kernel, entry->prepare({setup.op, inputs, results, true, setup.model}));
    PreparationRuntime runtime;
    return kernel.run(
        {inputs.data(), outputs.data(), kernel.params.get(), &runtime, static_cast<int>(inputs.size()), static_cast<int>(outputs.size())});
}

} // namespace loopscope::vulkan
