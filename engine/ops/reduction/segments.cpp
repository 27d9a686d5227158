// Reductions over groups of rows: segment_sum, unsorted_segment_sum, _prod, _max, _min.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status requireData(const InferContext& c)
{
    const DType data = c.input(0).dtype;
    if (data != DType::f32 && data != DType::i32 && data != DType::unknown)
        return InferContext::violated(1, "dtype of operand 0").found(std::string(dtypeName(data))).expected("f32 or i32");
    for (int i = 1; i < c.inputCount(); ++i)
        if (c.input(i).dtype != DType::i32 && c.input(i).dtype != DType::unknown)
            return InferContext::violated(1, "dtype of operand " + std::to_string(i))
                .found(std::string(dtypeName(c.input(i).dtype)))
                .expected("i32");
    return {};
}

Status inferSegmentSum(InferContext& c)
{
    LS_CHECK_OK(requireData(c));
    LS_CHECK_OK(requireRank(c, 1, 1, 2));
    const Shape& data = c.input(0).shape;
    const Shape& ids = c.input(1).shape;
    if (data.hasRank() && data.rank() == 0) return InferContext::violated(2, "rank of the data").found("0").expected("1 or more");
    if (data.hasRank() && ids.hasRank() && data[0] >= 0 && ids[0] >= 0 && data[0] != ids[0])
        return InferContext::violated(2, "number of segment ids")
            .found(std::to_string(ids[0]))
            .expected(std::to_string(data[0]) + ", one for each row");
    Shape out = data;
    if (data.hasRank()) {
        const auto values = c.intValues(1);
        out[0] = kUnknownDim;
        int64_t last = -1;
        for (size_t i = 0; values && i < values->size(); ++i) {
            const int64_t id = (*values)[i];
            if (i == 0 ? id != 0 : id != last && id != last + 1)
                return InferContext::violated(3, "segment id " + std::to_string(i))
                    .found(std::to_string(id))
                    .expected(i == 0 ? "0" : std::to_string(last) + " or " + std::to_string(last + 1));
            last = id;
        }
        if (values) out[0] = last + 1;
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferUnsorted(InferContext& c)
{
    LS_CHECK_OK(requireData(c));
    const Shape& data = c.input(0).shape;
    const Shape& ids = c.input(1).shape;
    LS_TRY(const auto segments, scalarOperand(c, 2, 4));
    if (segments && *segments < 0) return InferContext::violated(4, "num_segments").found(std::to_string(*segments)).expected("0 or more");
    if (!data.hasRank() || !ids.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    bool prefix = ids.rank() <= data.rank();
    for (int d = 0; prefix && d < ids.rank(); ++d) prefix = ids[d] < 0 || data[d] < 0 || ids[d] == data[d];
    if (!prefix)
        return InferContext::violated(2, "shape of the segment ids").found(toString(ids)).expected("the beginning of " + toString(data));
    if (const auto values = c.intValues(1); values && segments)
        for (const int64_t id : *values)
            if (id >= *segments)
                return InferContext::violated(3, "segment id").found(std::to_string(id)).expected("below " + std::to_string(*segments));
    Shape out{segments.value_or(kUnknownDim)};
    for (int d = ids.rank(); d < data.rank(); ++d) out.append(data[d]);
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(4, "the result " + toString(out) + " has too many elements");
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// C1: data are f32 or i32, the others i32. C2: the ids' shape is the beginning of the data's. C3: ids lie below num_segments; negative
/// ones drop their rows. C4: num_segments is one integer, not negative.
OpDef unsortedDef(std::string_view summary)
{
    return movementDef<inferUnsorted>(3, "data, segment_ids, num_segments []", summary, "LiteRT kernels/unsorted_segment.cc");
}

} // namespace

LS_DEFINE_OP(tfl, segment_sum)
{
    // C1: data are f32 or i32, ids i32. C2: there is an id for each row. C3: ids begin at 0 and rise by 0 or 1.
    return movementDef<inferSegmentSum>(2, "data [N,…], segment_ids [N]", "Sums of consecutive rows with the same id.",
                                        "LiteRT kernels/segment_sum.cc");
}

LS_DEFINE_OP(tfl, unsorted_segment_sum) { return unsortedDef("Sums of the rows with the same id; 0 where there is none."); }

LS_DEFINE_OP(tfl, unsorted_segment_prod) { return unsortedDef("Products of the rows with the same id; 1 where there is none."); }

LS_DEFINE_OP(tfl, unsorted_segment_max)
{
    return unsortedDef("Largest values of the rows with the same id; the lowest number where there is none.");
}

LS_DEFINE_OP(tfl, unsorted_segment_min)
{
    return unsortedDef("Smallest values of the rows with the same id; the highest number where there is none.");
}
