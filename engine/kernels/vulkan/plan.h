// What a Vulkan kernel is: a list of dispatches, made once when the operator is prepared, on buffers that are known when it runs. Planners
// (one a family of operators) make the lists; one function runs them all.
#pragma once

#include "engine/base/bytes.h"
#include "engine/device/vulkan_device.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/device_host.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace loopscope::vulkan {

/// The numbers of shaders/codes.def.
enum Code : uint32_t {
#define LS_CODE(name, value) name = value,
#include "shaders/codes.def"
#undef LS_CODE
};

enum class Shader : uint8_t {
    elementwise,
    copy,
    reduce,
    rows,
    matmul,
    matmulDouble,
    matmulPacked,
    window,
    topk,
    lstm,
    loop,
    loopGroup,
    loopShared,
    predicate
};
const ShaderCode& shaderCode(Shader shader);

/// A buffer of a dispatch.
struct Place {
    enum class Of : uint8_t { input, output, constant, scratch } of = Of::input;
    uint32_t index = 0;
    bool isState = false; ///< an operand that is written, too
};

struct Step {
    const DevicePipeline* pipeline = nullptr;
    Shader shader = Shader::copy;
    std::vector<uint32_t> constants; ///< that the pipeline was specialised by
    std::vector<Place> places;
    std::vector<uint32_t> push;
    std::array<uint32_t, 3> groups = {1, 1, 1};
};

/// Which of its buffers a dispatch may write, a bit each.
uint32_t writesOf(const Step& step);

struct Plan {
    std::vector<Step> steps;
    std::vector<Bytes> constants;
    std::vector<uint64_t> scratch; ///< bytes
    std::vector<int> states;       ///< operands that steps write
    PreparedKernel onHost;         ///< what runs where the device may be full; else none
};

/// Makes the plan of one operator whose shapes are known.
class PlanBuilder {
public:
    /// Errors: device; unsupported, shapes that are known only when running, a tensor larger than the device's buffers.
    static Result<PlanBuilder> create(const KernelSetup& setup);

    const KernelSetup& setup() const { return *m_setup; }
    const DeviceInfo& device() const { return m_device->info(); }
    /// An operand; the bytes of a constant go to the device once.
    Place in(int i);
    static Place out(int k) { return {Place::Of::output, static_cast<uint32_t>(k)}; }
    /// An operand that steps write: a variable.
    static Place state(int i) { return {Place::Of::input, static_cast<uint32_t>(i), true}; }
    Place constant(Bytes bytes);
    template <typename T> Place constant(std::span<const T> values) { return constant(Bytes::copyOf(values.data(), values.size_bytes())); }
    Place scratch(uint64_t bytes);
    /// A dispatch of `groups` workgroups, or none if there is nothing to do. Errors: device.
    Status add(Shader shader, std::initializer_list<uint32_t> constants, std::vector<Place> places, std::vector<uint32_t> push,
               std::array<uint32_t, 3> groups);
    /// The same with one invocation of 256 a workgroup for each of `count` elements; none if there are none.
    Status addElements(Shader shader, std::initializer_list<uint32_t> constants, std::vector<Place> places, std::vector<uint32_t> push,
                       int64_t count);
    PreparedKernel done();
    /// The plan of a kernel that done() made; null: of another.
    static const Plan* planOf(const PreparedKernel& kernel);

private:
    PlanBuilder(const KernelSetup& setup, std::shared_ptr<VulkanDevice> device);

    const KernelSetup* m_setup;
    std::shared_ptr<VulkanDevice> m_device;
    std::shared_ptr<Plan> m_plan;
};

/// How elements of a dtype are stored, as the shaders number it; none: shaders do not read it.
std::optional<Code> storeOf(DType dtype);
/// How elements are stored of which only the bits matter; none: of another width than 8, 16, 32 or 64 bits.
std::optional<Code> storeOfWidth(DType dtype);
/// Iterations that the loops of one invocation may make together, exits of inner loops counted as iterations: a software device ends what
/// makes more than 65,535 silently.
inline constexpr int64_t kMostTrips = 60'000;
/// Push constants.
template <typename T> std::vector<uint32_t> wordsOf(const T& parameters)
{
    std::vector<uint32_t> words(sizeof(parameters) / 4);
    std::memcpy(words.data(), &parameters, sizeof(parameters));
    return words;
}
inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

/// Runs an operator's reference kernel on other tensors than its own while it is prepared: to tabulate a function, or to see where elements
/// go. Errors: the kernel's.
Status runReference(const KernelSetup& setup, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);

Error unsupported(std::string why);

} // namespace loopscope::vulkan
