// Data movement under hostile operands: axes, indices, shapes, sizes and attributes drawn at random, valid or not, must give a result or
// an error and never touch memory that is not theirs. What makes this a test is the sanitizers (preset asan); operands and results
// are heap blocks of exactly their size.
#include "engine/base/hash.h"
#include "engine/tensor/strings.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <gtest/gtest.h>
#include <random>

namespace loopscope {
namespace {

/// How an operand is drawn. Upper case: data; lower case: what says where the data goes.
///   D data of a random dtype   S same dtype as the first D   A f32 or i32 data
///   v integer vector   s one integer   m integer matrix [n,2]   x integers of any shape   e one element of the data's dtype
///   b, n as v, m, for two dimensions less
struct Subject {
    const char* name;
    const char* operands;
    int results = 1;
    std::vector<const char*> integers = {}; ///< integer attributes
    std::vector<const char*> lists = {};    ///< integer list attributes
};

const std::vector<Subject>& subjects()
{
    static const std::vector<Subject> all = {
        {"reshape", "Dv", 1, {}, {"new_shape"}},
        {"squeeze", "D", 1, {}, {"squeeze_dims"}},
        {"expand_dims", "Ds"},
        {"shape", "D"},
        {"rank", "D"},
        {"densify", "D"},
        {"transpose", "Dv"},
        {"concatenation", "DSS", 1, {"axis"}},
        {"split", "sD", 2},
        {"split_v", "Dvs", 2},
        {"pack", "DSS", 1, {"axis"}},
        {"unpack", "D", 2, {"axis"}},
        {"slice", "Dvv"},
        {"strided_slice", "Dvvv", 1, {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}},
        {"dynamic_update_slice", "DSv"},
        {"reverse_v2", "Dv"},
        {"reverse_sequence", "Dv", 1, {"seq_dim", "batch_dim"}},
        {"gather", "Dx", 1, {"axis", "batch_dims"}},
        {"gather_nd", "Dx"},
        {"scatter_nd", "xAv"},
        {"sparse_to_dense", "xvDe"},
        {"pad", "Dm"},
        {"padv2", "Dme"},
        {"mirror_pad", "Dm"},
        {"tile", "Dv"},
        {"broadcast_to", "Dv"},
        {"broadcast_args", "vv"},
        {"fill", "ve"},
        {"range", "sss"},
        {"space_to_depth", "D", 1, {"block_size"}},
        {"depth_to_space", "D", 1, {"block_size"}},
        {"space_to_batch_nd", "Dbn"},
        {"batch_to_space_nd", "Dbn"},
        {"matrix_diag", "D"},
        {"matrix_set_diag", "DS"},
        {"one_hot", "xsee", 1, {"axis"}},
        {"where", "A"},
        {"topk_v2", "As", 2},
        {"unique", "A", 2},
        {"segment_sum", "Av"},
        {"unsorted_segment_max", "Axs"},
        {"random_uniform", "v"},
        {"multinomial", "As"},
        {"dilate", "Dve"},
        {"stablehlo_gather", "Dx", 1, {"index_vector_dim"}, {"offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes"}},
        {"stablehlo_pad", "De", 1, {}, {"edge_padding_low", "edge_padding_high", "interior_padding"}},
        {"stablehlo_slice", "D", 1, {}, {"start_indices", "limit_indices", "strides"}},
        {"stablehlo_dynamic_slice", "Dss", 1, {}, {"slice_sizes"}},
        {"stablehlo_transpose", "D", 1, {}, {"permutation"}},
        {"stablehlo_concatenate", "DS", 1, {"dimension"}},
        {"reduce_window", "Aevvv"},
    };
    return all;
}

class Draw {
public:
    explicit Draw(uint64_t seed) : m_engine(seed) {}
    int64_t below(int64_t n) { return static_cast<int64_t>(m_engine() % static_cast<uint64_t>(n)); }
    bool chance(int64_t percent) { return below(100) < percent; }
    /// Mostly small, sometimes absurd.
    int64_t number()
    {
        constexpr int64_t kAbsurd[] = {INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t{1} << 40, -7, 100};
        return chance(4) ? kAbsurd[below(std::size(kAbsurd))] : below(8) - 2;
    }
    Shape shape()
    {
        Shape s;
        for (int64_t d = below(5); d > 0; --d) s.append(chance(10) ? 0 : 1 + below(4));
        return s;
    }
    TestTensor data(DType dtype, Shape shape)
    {
        TestTensor t;
        t.dtype = dtype;
        t.shape = std::move(shape);
        const int64_t count = t.shape.elementCount();
        if (dtype == DType::string) {
            std::vector<std::string> strings;
            for (int64_t i = 0; i < count; ++i) strings.emplace_back(static_cast<size_t>(below(4)), 'a');
            t.data = packStrings(strings);
            if (chance(5)) t.data[static_cast<size_t>(below(static_cast<int64_t>(t.data.size())))] = std::byte{0x7F};
            return t;
        }
        t.data.resize(byteSize(dtype, count));
        for (std::byte& b : t.data) b = static_cast<std::byte>(below(dtype == DType::boolean ? 2 : 256));
        return t;
    }
    TestTensor integers(Shape shape)
    {
        TestTensor t;
        t.dtype = chance(50) ? DType::i32 : DType::i64;
        t.shape = std::move(shape);
        const int64_t count = t.shape.elementCount();
        const int64_t same = chance(40) ? below(3) : -1; // equal entries are more often valid
        for (int64_t i = 0; i < count; ++i) {
            const int64_t value = same >= 0 ? same : number();
            const auto* bytes = reinterpret_cast<const std::byte*>(&value); // little-endian: the first bytes are the i32
            t.data.insert(t.data.end(), bytes, bytes + bitWidth(t.dtype) / 8);
        }
        return t;
    }
    DType dtype()
    {
        constexpr DType kAll[] = {DType::f32, DType::i8, DType::boolean, DType::i64, DType::c128,
                                  DType::i4,  DType::i2, DType::string,  DType::f16};
        return kAll[below(std::size(kAll))];
    }

private:
    std::mt19937_64 m_engine;
};

struct Call {
    RunOptions options;
    std::vector<TestTensor> operands;
};

Call drawCall(const Subject& subject, Draw& draw)
{
    Call call;
    const DType dtype = draw.dtype();
    const Shape first = draw.shape();
    for (const char* o = subject.operands; *o; ++o) {
        const int64_t length = draw.chance(70) ? first.rank() : draw.below(4);
        switch (*o) {
        case 'D': call.operands.push_back(draw.data(dtype, first)); break;
        case 'S': call.operands.push_back(draw.data(dtype, draw.chance(60) ? first : draw.shape())); break;
        case 'A': call.operands.push_back(draw.data(draw.chance(50) ? DType::f32 : DType::i32, first)); break;
        case 'e': call.operands.push_back(draw.data(subject.operands[0] == 'A' ? call.operands[0].dtype : dtype, Shape())); break;
        case 'v': call.operands.push_back(draw.integers(Shape{length})); break;
        case 'm': call.operands.push_back(draw.integers(Shape{length, 2})); break;
        case 'b': call.operands.push_back(draw.integers(Shape{std::max<int64_t>(0, length - 2)})); break;
        case 'n': call.operands.push_back(draw.integers(Shape{std::max<int64_t>(0, length - 2), 2})); break;
        case 's': call.operands.push_back(draw.integers(Shape())); break;
        default: call.operands.push_back(draw.integers(draw.shape())); break;
        }
    }
    for (const char* key : subject.integers) call.options.attributes.push_back({key, draw.number()});
    for (const char* key : subject.lists) {
        AttributeItems items;
        for (int64_t n = draw.chance(70) ? first.rank() : draw.below(4); n > 0; --n) items.emplace_back(draw.number());
        call.options.attributes.push_back({key, std::move(items)});
    }
    if (std::string_view(subject.name) == "reduce_window") call.options.attributes.push_back({"reduce_function", Word{"MAXIMUM"}});
    call.options.results.resize(static_cast<size_t>(subject.results));
    return call;
}

/// The result is small enough to be made here.
bool isModest(const Subject& subject, const Call& call, const std::vector<const TestTensor*>& operands)
{
    Operator op;
    op.kind = {"tfl", subject.name};
    for (const NamedAttribute& a : call.options.attributes) setAttribute(op.attributes, a.key, a.value);
    std::vector<Tensor> tensors(operands.size());
    std::vector<const Tensor*> views;
    for (size_t i = 0; i < operands.size(); ++i) {
        tensors[i].dtype = operands[i]->dtype;
        tensors[i].shape = operands[i]->shape;
        tensors[i].data = const_cast<std::byte*>(operands[i]->data.data());
        tensors[i].bytes = operands[i]->data.size();
        views.push_back(&tensors[i]);
    }
    std::vector<InferredType> inferred(call.options.results.size());
    if (!inferOperator(op, views, inferred).ok()) return true; // runOperator meets the same error
    for (const InferredType& type : inferred)
        if (!type.shape.isStatic() || checkedElementCount(type.shape).value_or(INT64_MAX) > 100'000) return false;
    return true;
}

TEST(HostileOperands, giveAResultOrAnError)
{
    constexpr int kRounds = 400;
    int64_t succeeded = 0;
    for (const Subject& subject : subjects()) {
        Draw draw(hash64(std::as_bytes(std::span(subject.name, std::strlen(subject.name)))));
        int64_t good = 0;
        for (int round = 0; round < kRounds; ++round) {
            const Call call = drawCall(subject, draw);
            std::vector<const TestTensor*> operands;
            for (const TestTensor& t : call.operands) operands.push_back(&t);
            if (!isModest(subject, call, operands)) continue;
            RunOptions options = call.options;
            options.shapesAreStatic = draw.chance(50);
            const auto results = runOperator(subject.name, operands, options);
            if (results.ok()) ++good;
            else EXPECT_NE(results.error().code(), ErrorCode::internal) << subject.name << ": " << results.error().message();
        }
        EXPECT_GT(good, 0) << subject.name << " never succeeds: the draw shows nothing";
        succeeded += good;
    }
    EXPECT_GT(succeeded, static_cast<int64_t>(subjects().size()) * kRounds / 20);
}

} // namespace
} // namespace loopscope
