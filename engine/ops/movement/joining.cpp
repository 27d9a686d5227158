// Operators that put tensors together or take them apart along an axis: concatenation, split, split_v, pack, unpack.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Error axisError(int64_t axis, int rank)
{
    return InferContext::violated(1, "axis")
        .found(std::to_string(axis))
        .expected(std::to_string(-rank) + " to " + std::to_string(rank - 1));
}

Status inferConcatenation(InferContext& c)
{
    const int64_t axisValue = attributeInt(c.attributes(), "axis", 0);
    if (attributeWord(c.attributes(), "fused_activation_function", attributeWord(c.attributes(), "act", "NONE")) != "NONE")
        return InferContext::violated(4, "concatenation has a fused activation, which LiteRT does not run either");
    Shape out = Shape::unknownRank();
    int known = -1; // the first operand whose rank is known
    std::optional<int> axis;
    int64_t sum = 0;
    bool sumKnown = true;
    for (int i = 0; i < c.inputCount(); ++i) {
        LS_CHECK_OK(requireSameType(c, 0, i, 2));
        const Shape& in = c.input(i).shape;
        if (!in.hasRank()) {
            sumKnown = false;
            continue;
        }
        if (known < 0) {
            known = i;
            out = in.rank() == 0 ? Shape{1} : in; // scalars join to a vector
            axis = normalAxis(axisValue, out.rank());
            if (!axis) return axisError(axisValue, out.rank());
        } else if (in.rank() != c.input(known).shape.rank()) {
            return InferContext::violated(2, "rank of operand " + std::to_string(i))
                .found(std::to_string(in.rank()))
                .expected(std::to_string(c.input(known).shape.rank()) + ", as operand " + std::to_string(known) + " has");
        }
        for (int d = 0; d < in.rank(); ++d) {
            if (d == *axis || in[d] < 0 || in[d] == out[d]) continue;
            if (out[d] >= 0)
                return InferContext::violated(3, "dimension " + std::to_string(d) + " of input " + std::to_string(i) + " is " +
                                                     std::to_string(in[d]) + ", of input " + std::to_string(known) + " is " +
                                                     std::to_string(out[d]) + "; only axis " + std::to_string(*axis) + " may differ");
            out[d] = in[d];
        }
        const int64_t extent = in.rank() == 0 ? 1 : in[*axis];
        if (extent < 0) sumKnown = false;
        else if (__builtin_add_overflow(sum, extent, &sum))
            return InferContext::violated(3, "the sum of the dimensions along the axis is too large");
    }
    if (axis) out[*axis] = sumKnown ? sum : kUnknownDim;
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// Gives every result of a split the input's shape with `extents` (or unknown) along `axis`.
void setParts(InferContext& c, const Tensor& input, std::optional<int> axis, const std::vector<int64_t>& extents)
{
    for (int k = 0; k < c.outputCount(); ++k) {
        Shape out = input.shape;
        if (axis) out[*axis] = extents[static_cast<size_t>(k)];
        else if (out.hasRank()) out = Shape::ofRank(out.rank(), kUnknownDim);
        c.setOutput(k, input.dtype, std::move(out));
    }
}

Status inferSplit(InferContext& c)
{
    const Tensor& input = c.input(1);
    const int parts = c.outputCount();
    const int64_t declared = attributeInt(c.attributes(), "num_splits", parts);
    if (declared != parts)
        return InferContext::violated(2, "num_splits")
            .found(std::to_string(declared))
            .expected(std::to_string(parts) + ", the number of results");
    LS_TRY(const auto axisValue, scalarOperand(c, 0, 1));
    std::optional<int> axis;
    std::vector<int64_t> extents(static_cast<size_t>(parts), kUnknownDim);
    if (axisValue && input.shape.hasRank()) {
        axis = normalAxis(*axisValue, input.shape.rank());
        if (!axis) return axisError(*axisValue, input.shape.rank());
        const int64_t extent = input.shape[*axis];
        if (extent >= 0 && extent % parts != 0)
            return InferContext::violated(3, "dimension " + std::to_string(*axis) + " of " + describeOperand(c, 1))
                .expected("a multiple of " + std::to_string(parts));
        if (extent >= 0) std::fill(extents.begin(), extents.end(), extent / parts);
    }
    setParts(c, input, axis, extents);
    return {};
}

Status inferSplitV(InferContext& c)
{
    const Tensor& input = c.input(0);
    const auto parts = static_cast<size_t>(c.outputCount());
    const int64_t declared = attributeInt(c.attributes(), "num_splits", c.outputCount());
    if (declared != c.outputCount())
        return InferContext::violated(2, "num_splits")
            .found(std::to_string(declared))
            .expected(std::to_string(parts) + ", the number of results");
    LS_TRY(auto sizes, vectorOperand(c, 1, 2));
    if (sizes && sizes->size() != parts)
        return InferContext::violated(2, "elements of operand 1")
            .found(std::to_string(sizes->size()))
            .expected(std::to_string(parts) + ", the number of results");
    LS_TRY(const auto axisValue, scalarOperand(c, 2, 1));
    std::optional<int> axis;
    std::vector<int64_t> extents(parts, kUnknownDim);
    if (axisValue && input.shape.hasRank()) {
        axis = normalAxis(*axisValue, input.shape.rank());
        if (!axis) return axisError(*axisValue, input.shape.rank());
        const int64_t extent = input.shape[*axis];
        if (sizes) {
            int64_t sum = 0;
            int64_t open = -1;
            for (size_t k = 0; k < parts; ++k) {
                const int64_t size = (*sizes)[k];
                if (size < -1 || (size == -1 && open >= 0) || __builtin_add_overflow(sum, size < 0 ? 0 : size, &sum))
                    return InferContext::violated(3, "size of part " + std::to_string(k))
                        .found(std::to_string(size))
                        .expected("0 or more, or one -1");
                if (size == -1) open = static_cast<int64_t>(k);
                else extents[k] = size;
            }
            if (extent >= 0 && (open >= 0 ? sum > extent : sum != extent))
                return InferContext::violated(3, "sum of the sizes")
                    .found(std::to_string(sum))
                    .expected(std::to_string(extent) + ", as dimension " + std::to_string(*axis) + " of the input has");
            if (open >= 0 && extent >= 0) extents[static_cast<size_t>(open)] = extent - sum;
        }
    }
    setParts(c, input, axis, extents);
    return {};
}

Status inferPack(InferContext& c)
{
    const int64_t axisValue = attributeInt(c.attributes(), "axis", 0);
    const int64_t declared = attributeInt(c.attributes(), "values_count", c.inputCount());
    if (declared != c.inputCount())
        return InferContext::violated(2, "values_count")
            .found(std::to_string(declared))
            .expected(std::to_string(c.inputCount()) + ", the number of operands");
    Shape common = Shape::unknownRank();
    for (int i = 0; i < c.inputCount(); ++i) {
        LS_CHECK_OK(requireSameType(c, 0, i, 3));
        const Shape& in = c.input(i).shape;
        if (!in.hasRank()) continue;
        bool same = !common.hasRank() || common.rank() == in.rank();
        if (!common.hasRank()) common = in;
        for (int d = 0; same && d < in.rank(); ++d) {
            if (common[d] < 0) common[d] = in[d];
            same = in[d] < 0 || in[d] == common[d];
        }
        if (!same) return InferContext::violated(3, "shape of operand " + std::to_string(i)).found(toString(in)).expected(toString(common));
    }
    if (!common.hasRank()) {
        c.setOutput(0, c.input(0).dtype, common);
        return {};
    }
    const auto axis = normalAxis(axisValue, common.rank() + 1);
    if (!axis) return axisError(axisValue, common.rank() + 1);
    Shape out;
    for (int d = 0; d <= common.rank(); ++d) out.append(d == *axis ? c.inputCount() : common[d < *axis ? d : d - 1]);
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferUnpack(InferContext& c)
{
    const Tensor& input = c.input(0);
    const int64_t axisValue = attributeInt(c.attributes(), "axis", 0);
    const int64_t declared = attributeInt(c.attributes(), "num", c.outputCount());
    if (declared != c.outputCount())
        return InferContext::violated(2, "num")
            .found(std::to_string(declared))
            .expected(std::to_string(c.outputCount()) + ", the number of results");
    Shape out = Shape::unknownRank();
    if (input.shape.hasRank()) {
        const auto axis = normalAxis(axisValue, input.shape.rank());
        if (!axis) return axisError(axisValue, input.shape.rank());
        if (input.shape[*axis] >= 0 && input.shape[*axis] != c.outputCount())
            return InferContext::violated(3, "dimension " + std::to_string(*axis) + " of " + describeOperand(c, 0))
                .expected(std::to_string(c.outputCount()) + ", the number of results");
        out = Shape();
        for (int d = 0; d < input.shape.rank(); ++d)
            if (d != *axis) out.append(input.shape[d]);
    }
    for (int k = 0; k < c.outputCount(); ++k) c.setOutput(k, input.dtype, out);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, concatenation)
{
    // C1: axis lies within the rank. C2: dtypes and ranks agree. C3: dimensions agree except along axis. C4: no fused activation.
    // C5 (when prepared): i8 operands have the result's scale and zero point; i16 zero points are 0.
    OpDef def = movementDef<inferConcatenation>(1, "values…", "Joins tensors along axis; u8 operands with another scale are requantized.",
                                                "LiteRT kernels/concatenation.cc, internal/reference/concatenation.h");
    def.maxInputs = -1;
    def.differs = "scalars that are not constant join to a vector; LiteRT writes beyond its scalar result";
    return def;
}

LS_DEFINE_OP(tfl, split)
{
    // C1: axis is one integer within the rank. C2: num_splits is the number of results. C3: the dimension is a multiple of it.
    OpDef def = movementDef<inferSplit>(2, "axis [], input", "Cuts the input into equal parts along axis.", "LiteRT kernels/split.cc");
    def.maxOutputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, split_v)
{
    // C1: axis is one integer within the rank. C2: there is a size for each result. C3: the sizes add up to the dimension; one may be −1.
    OpDef def = movementDef<inferSplitV>(3, "input, size_splits [results], axis []", "Cuts the input into parts of given sizes along axis.",
                                         "LiteRT kernels/split_v.cc");
    def.maxOutputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, pack)
{
    // C1: axis lies within the result's rank. C2: values_count is the number of operands. C3: dtypes and shapes agree.
    OpDef def = movementDef<inferPack>(1, "values…", "Stacks tensors of one shape along a new axis.", "LiteRT kernels/pack.cc");
    def.maxInputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, unpack)
{
    // C1: axis lies within the rank. C2: num is the number of results. C3: so is the dimension.
    OpDef def = movementDef<inferUnpack>(1, "input", "Takes a tensor apart along axis, which goes away.", "LiteRT kernels/unpack.cc");
    def.maxOutputs = -1;
    return def;
}
