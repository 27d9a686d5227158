// What a kernel is: a function on tensors, chosen and prepared once per operator, then called for every execution.
#pragma once

#include "engine/base/result.h"
#include "engine/base/thread_pool.h"
#include "engine/ir/model.h"
#include "engine/tensor/error_bound.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace loopscope {

class ResourceStore;
class RandomState;

/// What running kernels may use beside their operands. One per interpreter; not thread-safe.
class KernelRuntime {
public:
    virtual ~KernelRuntime() = default;
    /// At least `bytes` bytes, 64-byte aligned, valid until the kernel returns. One block a call: carve it up yourself.
    virtual std::byte* scratch(size_t bytes) = 0;
    /// Gives an output a new shape and size: only for results whose size no inference can know (strings, values of variables).
    virtual Status resize(Tensor& output, const Shape& shape, size_t bytes) = 0;
    virtual ResourceStore& resources() = 0;
    virtual RandomState& random() = 0;
    /// The most threads that parallel() uses: a kernel gives each its own part of the scratch memory.
    virtual int threads() const { return 1; }
    /// Calls work(begin, end, thread) for blocks that cover 0 … count − 1, at the same time, and waits for all. 0 ≤ thread < threads().
    /// What a block computes must not depend on the others, so that results do not depend on the number of threads.
    virtual void parallel(int64_t count, BlockFunction work)
    {
        if (count > 0) work(0, count, 0);
    }
};

/// Operands of one execution. Output memory is allocated and output shapes are set (by the operator's inference) before the call.
struct KernelArgs {
    const Tensor* const* inputs; ///< null entries: missing optional operands
    Tensor* const* outputs;
    const void* params; ///< PreparedKernel::params
    KernelRuntime* runtime;
    int inputCount;
    int outputCount;

    bool has(int i) const { return i < inputCount && inputs[i] != nullptr; }
    const Tensor& in(int i) const { return *inputs[i]; }
    Tensor& out(int k) const { return *outputs[k]; }
    template <typename T> const T& paramsAs() const { return *static_cast<const T*>(params); }
};

/// Executes the operator. Errors: execution, "C2: division by zero at [4] (i32)"; the interpreter adds the address.
/// Must not allocate in steady state (use scratch) and must not read beyond Tensor::bytes of any operand.
using KernelFunction = Status (*)(const KernelArgs& args);

/// Where and how exactly (docs/architecture.md, "Execution"). No operator knows which profiles exist.
/// `xnnpack`: the quantized arithmetic of LiteRT's default delegate, which is what runs on a phone.
enum class Profile : uint8_t { reference, fast, xnnpack, vulkan };
std::string_view profileName(Profile profile);

/// What a kernel may look at when it is prepared: attributes, dtypes, quantization, constant operands (data set), and shapes.
struct KernelSetup {
    const Operator& op;
    std::span<const Tensor* const> inputs; ///< null entries: missing
    std::span<const Tensor* const> outputs;
    /// All shapes are known and will not change: the kernel may specialise on them (a scalar add, precomputed strides).
    /// Otherwise it must read shapes from its arguments at every call.
    bool shapesAreStatic = false;
    /// For operators whose meaning is a graph (a scatter's combination): read it, run nothing. Null outside a model.
    const Model* model = nullptr;
    /// Whose arithmetic is wanted: a kernel may serve several profiles.
    Profile profile = Profile::reference;
    /// The results are quantized further on (quantized_later.h): of floats the reference's bits are wanted, too.
    bool isQuantizedLater = false;

    bool has(int i) const { return static_cast<size_t>(i) < inputs.size() && inputs[static_cast<size_t>(i)] != nullptr; }
    const Tensor& in(int i) const { return *inputs[static_cast<size_t>(i)]; }
    const Tensor& out(int k) const { return *outputs[static_cast<size_t>(k)]; }
    const AttributeList& attributes() const { return op.attributes; }
};

struct PreparedKernel {
    KernelFunction run = nullptr;
    std::shared_ptr<const void> params; ///< immutable; shared by every frame of the graph
};

/// One kernel of one operator kind.
struct KernelEntry {
    std::string_view dialect, name;
    Profile profile = Profile::reference;
    /// Chooses the function for these dtypes and computes what can be computed once. Errors: unsupported, naming the dtypes, when this
    /// kernel does not do them.
    Result<PreparedKernel> (*prepare)(const KernelSetup&) = nullptr;
    std::string_view dtypes; ///< "f32 i32 i64 i8 u8 i16": for `loopscope ops` and the status page
    /// Other profiles than reference: how far results may be from the reference kernel's. (OpDef::bounds tells how far those may be from
    /// the implementation that they follow.)
    ErrorBounds bounds = {};
    /// Its preparation looks at KernelSetup::isQuantizedLater, and does or refuses what that asks for. Others are not asked for floats
    /// then.
    bool keepsBitsWhereAsked = false;
};

} // namespace loopscope
