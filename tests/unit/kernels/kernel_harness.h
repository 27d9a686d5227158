// Runs one operator through its catalogue entry and its CPU kernel, without a model or an interpreter: give operands, get results.
#pragma once

#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/ops/catalog.h"
#include "engine/tensor/strings.h"

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace loopscope {

/// A tensor with memory of its own.
struct TestTensor {
    DType dtype = DType::unknown;
    Shape shape;
    QuantizationPtr quantization;
    std::vector<std::byte> data;

    TestTensor&& quantized(float scale, int64_t zero) &&
    {
        quantization = std::make_shared<const Quantization>(Quantization::perTensor(scale, zero));
        return std::move(*this);
    }
    template <typename T> std::vector<T> values() const
    {
        std::vector<T> out(data.size() / sizeof(T));
        if (!data.empty()) std::memcpy(out.data(), data.data(), out.size() * sizeof(T));
        return out;
    }
};

template <typename T> TestTensor tensorOf(Shape shape, const std::vector<T>& values)
{
    TestTensor t;
    t.dtype = dtypeOf<T>();
    t.shape = std::move(shape);
    t.data.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
    return t;
}
inline TestTensor boolTensor(Shape shape, const std::vector<int>& values)
{
    TestTensor t = tensorOf<uint8_t>(std::move(shape), std::vector<uint8_t>(values.begin(), values.end()));
    t.dtype = DType::boolean;
    return t;
}

/// What a model declares of a result; an unknown dtype is left to inference.
struct DeclaredResult {
    DType dtype = DType::unknown;
    QuantizationPtr quantization;
};
inline DeclaredResult declared(DType dtype, float scale, int64_t zero)
{
    return {dtype, std::make_shared<const Quantization>(Quantization::perTensor(scale, zero))};
}

struct RunOptions {
    std::string dialect = "tfl";
    AttributeList attributes;
    std::vector<DeclaredResult> results = {DeclaredResult()};
    bool shapesAreStatic = true;
    Profile profile = Profile::reference;
    int64_t largestResult = int64_t{1} << 30; ///< bytes; larger results are an error of the harness
    int threads = 3;
    bool isQuantizedLater = false; ///< KernelSetup
    bool openShapes = true;        ///< kernels may run whose result shapes inference leaves to them
};

class TestRuntime : public KernelRuntime {
public:
    explicit TestRuntime(int threads = 3) : m_pool(threads) {}
    std::byte* scratch(size_t bytes) override
    {
        m_scratch.assign(bytes + 64, std::byte{0xA5});
        auto address = reinterpret_cast<uintptr_t>(m_scratch.data());
        return m_scratch.data() + (64 - address % 64) % 64;
    }
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override
    {
        m_blocks.emplace_back(bytes);
        output.shape = shape;
        output.data = m_blocks.back().data();
        output.bytes = bytes;
        return {};
    }
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }
    int threads() const override { return m_pool.threads(); }
    void parallel(int64_t count, BlockFunction work) override { m_pool.run(count, work); }

private:
    ThreadPool m_pool;
    std::vector<std::byte> m_scratch;
    std::deque<std::vector<std::byte>> m_blocks;
    ResourceStore m_resources;
    RandomState m_random;
};

/// Infers, prepares and runs `name`. A null pointer in `inputs` is a missing optional operand.
inline Result<std::vector<TestTensor>> runOperator(const std::string& name, const std::vector<const TestTensor*>& inputs,
                                                   const RunOptions& options = {})
{
    Operator op;
    op.kind = {options.dialect, name};
    for (const NamedAttribute& attribute : options.attributes) setAttribute(op.attributes, attribute.key, attribute.value);

    std::deque<Tensor> storage;
    std::vector<const Tensor*> in;
    const auto view = [&](const TestTensor& t) {
        Tensor tensor;
        static std::byte nothing; // an empty tensor is known all the same
        tensor.data = t.data.empty() ? &nothing : const_cast<std::byte*>(t.data.data());
        tensor.bytes = t.data.size();
        tensor.dtype = t.dtype;
        tensor.shape = t.shape;
        tensor.quantization = t.quantization.get();
        return tensor;
    };
    for (const TestTensor* t : inputs) {
        if (t) {
            storage.push_back(view(*t));
            in.push_back(&storage.back());
        } else {
            in.push_back(nullptr);
        }
    }
    std::vector<InferredType> inferred(options.results.size());
    for (size_t k = 0; k < inferred.size(); ++k) inferred[k].dtype = options.results[k].dtype;
    LS_CHECK_OK(inferOperator(op, in, inferred));

    std::vector<TestTensor> results(inferred.size());
    std::vector<Tensor> out(inferred.size());
    std::vector<Tensor*> outPointers;
    std::vector<const std::byte*> given;
    for (size_t k = 0; k < inferred.size(); ++k) {
        results[k].dtype = inferred[k].dtype;
        results[k].shape = inferred[k].shape;
        results[k].quantization = options.results[k].quantization;
        if (!options.openShapes && !results[k].shape.isStatic()) return Error(ErrorCode::execution, "inference leaves a shape open");
        const auto elements = checkedElementCount(results[k].shape);
        if (results[k].shape.isStatic() && (!elements || *elements > options.largestResult / 16))
            return Error(ErrorCode::execution, "the result is too large for a test");
        if (results[k].shape.isStatic())
            results[k].data.assign(byteSize(results[k].dtype, results[k].shape.elementCount()), std::byte{0xEE});
        out[k] = view(results[k]);
        outPointers.push_back(&out[k]);
        given.push_back(out[k].data);
    }
    const KernelEntry* entry = KernelRegistry::builtin().find(op.kind, options.profile);
    if (!entry) return Error(ErrorCode::unsupported, "no kernel").at(op.kind.full());
    const std::vector<const Tensor*> constOut(outPointers.begin(), outPointers.end());
    KernelSetup setup{op, in, constOut, options.shapesAreStatic};
    setup.isQuantizedLater = options.isQuantizedLater;
    LS_TRY(PreparedKernel kernel, entry->prepare(setup));
    TestRuntime runtime(options.threads);
    KernelArgs args = {in.data(), outPointers.data(),          kernel.params.get(),
                       &runtime,  static_cast<int>(in.size()), static_cast<int>(outPointers.size())};
    LS_CHECK_OK(kernel.run(args));
    for (size_t k = 0; k < out.size(); ++k) {
        if (out[k].data == given[k]) continue;
        results[k].shape = out[k].shape; // resized while running
        results[k].data.assign(out[k].data, out[k].data + out[k].bytes);
    }
    return results;
}

/// The only result's elements; empty after an error, which the test then sees by its size.
template <typename T>
std::vector<T> valuesOf(const std::string& name, const std::vector<const TestTensor*>& inputs, const RunOptions& options = {})
{
    auto results = runOperator(name, inputs, options);
    return results.ok() ? results->front().values<T>() : std::vector<T>();
}
/// The message of the error that inference, preparation or the kernel gives; empty if all went well.
inline std::string messageOf(const std::string& name, const std::vector<const TestTensor*>& inputs, const RunOptions& options = {})
{
    auto results = runOperator(name, inputs, options);
    return results.ok() ? "" : results.error().message();
}

} // namespace loopscope
