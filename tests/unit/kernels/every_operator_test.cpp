// Every operator of the catalogue against operands that no sane file has: wrong dtypes, ranks and counts, missing and empty ones, random
// small contents. Whatever inference, preparation and kernels say, they must say it without reading or writing where they must not
// (the sanitizer build sees that).
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/ops/catalog.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace loopscope {
namespace {

constexpr int64_t kLargestResult = 1 << 20; ///< bytes; larger ones are not run

class Hostile {
public:
    explicit Hostile(uint64_t seed) : m_random(seed) {}

    int upTo(int n) { return static_cast<int>(m_random() % static_cast<uint64_t>(n + 1)); }

    TestTensor tensor(DType favourite)
    {
        static constexpr DType kDtypes[] = {DType::f32, DType::i32, DType::i64, DType::i8,  DType::u8,  DType::i16,   DType::boolean,
                                            DType::f16, DType::u32, DType::i4,  DType::c64, DType::f64, DType::string};
        TestTensor t;
        t.dtype = upTo(2) != 0 ? favourite : kDtypes[upTo(std::size(kDtypes) - 1)];
        const int rank = upTo(5);
        for (int i = 0; i < rank; ++i) t.shape.append(upTo(9) == 0 ? 0 : 1 + upTo(2));
        if (t.dtype == DType::string) {
            t.data = packStrings(std::vector<std::string>(static_cast<size_t>(t.shape.elementCount()), "ab"));
        } else {
            t.data.resize(byteSize(t.dtype, t.shape.elementCount()));
            fill(t);
        }
        if (upTo(1) == 0) {
            Quantization q = Quantization::perTensor(0.25F * static_cast<float>(1 + upTo(3)), upTo(4) - 2);
            if (upTo(7) == 0) q.scales = {0.5F, 0.25F};
            static constexpr float kScales[] = {
                0.0F, -0.5F, 1e-30F, 1e30F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
            if (upTo(5) == 0) q.scales = {kScales[upTo(std::size(kScales) - 1)]};
            static constexpr int64_t kZeros[] = {INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, -200};
            if (upTo(5) == 0) q.zeroPoints = {kZeros[upTo(std::size(kZeros) - 1)]};
            t.quantization = std::make_shared<const Quantization>(std::move(q));
        }
        return t;
    }

private:
    /// Small integers, so that they often are valid axes, sizes and indices; now and then anything.
    void fill(TestTensor& t)
    {
        const bool wild = upTo(7) == 0;
        const auto count = static_cast<size_t>(t.shape.elementCount());
        const auto put = [&]<typename T>(T*) {
            for (size_t i = 0; i < count; ++i) {
                const T value = static_cast<T>(upTo(6) - 2);
                std::memcpy(t.data.data() + i * sizeof(T), &value, sizeof(T));
            }
        };
        switch (t.dtype) {
        case DType::f32: put(static_cast<float*>(nullptr)); break;
        case DType::i32: put(static_cast<int32_t*>(nullptr)); break;
        case DType::i64: put(static_cast<int64_t*>(nullptr)); break;
        case DType::i16: put(static_cast<int16_t*>(nullptr)); break;
        case DType::i8: put(static_cast<int8_t*>(nullptr)); break;
        default:
            for (std::byte& b : t.data) b = static_cast<std::byte>(t.dtype == DType::boolean ? upTo(1) : upTo(255));
            return;
        }
        if (wild && t.dtype != DType::i32 && t.dtype != DType::i64) // sizes as large as that would only exhaust memory
            for (std::byte& b : t.data) b = static_cast<std::byte>(upTo(255));
    }

    std::mt19937_64 m_random;
};

/// One attempt; returns true if the kernel ran through.
bool attempt(const OpDef& def, uint64_t seed)
{
    Hostile hostile(seed);
    Operator op;
    op.kind = {std::string(def.dialect), std::string(def.name)};
    const int most = def.maxInputs < 0 ? 4 : def.maxInputs;
    const int count = def.minInputs + hostile.upTo(std::max(0, most - def.minInputs));
    static constexpr DType kFavourites[] = {DType::f32, DType::i32, DType::i8, DType::boolean, DType::f32};
    const DType favourite = kFavourites[hostile.upTo(4)];
    std::deque<TestTensor> tensors;
    std::vector<const TestTensor*> inputs;
    for (int i = 0; i < count; ++i) {
        tensors.push_back(hostile.tensor(i > 0 && hostile.upTo(1) == 0 ? DType::i32 : favourite));
        if (i > 0 && hostile.upTo(2) == 0) tensors.back().shape = tensors.front().shape;
        if (tensors.back().dtype != DType::string)
            tensors.back().data.resize(byteSize(tensors.back().dtype, tensors.back().shape.elementCount()));
        if (tensors.back().dtype == DType::string)
            tensors.back().data = packStrings(std::vector<std::string>(static_cast<size_t>(tensors.back().shape.elementCount()), "x"));
        inputs.push_back(hostile.upTo(19) == 0 ? nullptr : &tensors.back());
    }
    RunOptions options;
    options.dialect = std::string(def.dialect);
    options.shapesAreStatic = hostile.upTo(1) == 0;
    options.largestResult = kLargestResult;
    options.openShapes = false;
    const int results = def.minOutputs + hostile.upTo(std::max(0, (def.maxOutputs < 0 ? 2 : def.maxOutputs) - def.minOutputs));
    options.results.clear();
    for (int k = 0; k < results; ++k) {
        DeclaredResult declaredResult;
        if (hostile.upTo(1) == 0)
            declaredResult = declared(favourite, hostile.upTo(4) == 0 ? 1e-30F : 0.25F, hostile.upTo(4) == 0 ? INT32_MIN : -1);
        options.results.push_back(declaredResult);
    }
    return runOperator(std::string(def.name), inputs, options).ok();
}

TEST(EveryOperator, staysWithinItsOperandsWhateverTheyAre)
{
    int ran = 0;
    for (const OpDef& def : allOps()) {
        if (def.isCall || !def.infer) continue;
        SCOPED_TRACE(std::string(def.name));
        for (uint64_t seed = 0; seed < 400; ++seed) ran += attempt(def, seed * 1009 + std::hash<std::string_view>()(def.name) % 1000);
    }
    EXPECT_GT(ran, 2000); // the generator is not so wild that nothing ever works
}

TEST(EveryOperator, refusesToRunWithoutOperands)
{
    for (const OpDef& def : allOps()) {
        if (def.isCall || !def.infer || def.minInputs == 0) continue;
        const int count = def.maxInputs < 0 ? 3 : def.maxInputs;
        RunOptions options;
        options.dialect = std::string(def.dialect);
        options.results.resize(static_cast<size_t>(std::max(1, def.minOutputs)));
        EXPECT_FALSE(runOperator(std::string(def.name), std::vector<const TestTensor*>(static_cast<size_t>(count), nullptr), options).ok())
            << def.name;
    }
}

} // namespace
} // namespace loopscope
