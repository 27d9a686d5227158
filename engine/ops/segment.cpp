// Catalogue entries of SEGMENT_SUM and the UNSORTED_SEGMENT operators: rows of the data are combined by the segment that they name.
// Constraints: C1 segment ids are i32; C2 the shape of the ids begins the data's shape; C3 ids are in range: of SEGMENT_SUM they begin
// with 0 or 1 and rise by at most 1, of the others they are below num_segments (a negative id leaves its row out); C4 num_segments is an
// i32 with one element, not negative.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status checkIds(const InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 1, {DType::i32}));
    const Shape& data = context.input(0).shape;
    const Shape& ids = context.input(1).shape;
    if (!data.hasRank() || !ids.hasRank()) return {};
    bool fits = ids.rank() >= 1 && ids.rank() <= data.rank();
    for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i] || ids[i] < 0 || data[i] < 0;
    if (fits) return {};
    return InferContext::violated(2, "segment ids have shape " + shapeText(ids) + ", which does not begin the data's shape " + shapeText(data));
}

/// [segments] followed by the data's dimensions behind those of the ids.
Shape segmentShape(const InferContext& context, int64_t segments)
{
    const Shape& data = context.input(0).shape;
    const Shape& ids = context.input(1).shape;
    if (!data.hasRank() || !ids.hasRank()) return Shape::unknownRank();
    Shape out = {segments};
    for (int i = ids.rank(); i < data.rank(); ++i) out.append(data[i]);
    return out;
}

Status inferSegmentSum(InferContext& context)
{
    LS_CHECK_OK(checkIds(context));
    if (context.input(1).shape.hasRank() && context.input(1).shape.rank() != 1)
        return InferContext::violated(2, "segment ids have shape " + shapeText(context.input(1).shape) + "; they must have one dimension");
    int64_t segments = kUnknownDim;
    if (const auto ids = context.intValues(1)) {
        int64_t previous = 0;
        for (size_t i = 0; i < ids->size(); ++i) {
            const int64_t id = (*ids)[i];
            if (id < previous || id > previous + 1)
                return InferContext::violated(3, "segment id " + std::to_string(id) + " at [" + std::to_string(i) + "] follows " + std::to_string(previous));
            previous = id;
        }
        segments = ids->empty() ? 0 : previous + 1;
    }
    context.setOutput(0, context.input(0).dtype, segmentShape(context, segments));
    return {};
}

Status inferUnsorted(InferContext& context)
{
    LS_CHECK_OK(checkIds(context));
    LS_CHECK_OK(requireDtype(context, 4, 2, {DType::i32}));
    int64_t segments = kUnknownDim;
    if (const auto count = context.intValues(2)) {
        if (count->size() != 1 || count->front() < 0)
            return InferContext::violated(4, "num_segments holds " + (count->size() == 1 ? std::to_string(count->front()) : std::to_string(count->size()) + " elements"));
        segments = count->front();
    }
    context.setOutput(0, context.input(0).dtype, segmentShape(context, segments));
    return {};
}

OpDef unsortedDef(std::string_view summary)
{
    OpDef def;
    def.minInputs = def.maxInputs = 3;
    def.operands = "data, segment_ids, num_segments []";
    def.summary = summary;
    def.source = "LiteRT kernels/unsorted_segment.cc";
    def.floatBound = "exact";
    def.infer = inferUnsorted;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, segment_sum)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "data, segment_ids [n]";
    def.summary = "Sum of the rows of each segment; ids are sorted.";
    def.source = "LiteRT kernels/segment_sum.cc";
    def.floatBound = "exact";
    def.infer = inferSegmentSum;
    return def;
}

LS_DEFINE_OP(tfl, unsorted_segment_sum)
{
    return unsortedDef("Sum of the rows of each segment, 0 for an empty one.");
}

LS_DEFINE_OP(tfl, unsorted_segment_prod)
{
    return unsortedDef("Product of the rows of each segment, 1 for an empty one.");
}

LS_DEFINE_OP(tfl, unsorted_segment_max)
{
    return unsortedDef("Largest elements of each segment, the smallest number of the dtype for an empty one.");
}

LS_DEFINE_OP(tfl, unsorted_segment_min)
{
    return unsortedDef("Smallest elements of each segment, the largest number of the dtype for an empty one.");
}
