// StableHLO operators that read or write at computed places: gather, scatter.
#include "engine/ops/movement/stablehlo_indexing.h"

#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

#include <algorithm>

using namespace loopscope;

namespace loopscope {
namespace {

bool contains(const std::vector<int64_t>& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

/// Numbers in one index: the extent of `vectorDim`, or 1 where that is the rank.
int64_t indexLength(const Shape& indices, int64_t vectorDim)
{
    return vectorDim == indices.rank() ? 1 : indices[static_cast<int>(vectorDim)];
}

} // namespace

Result<StablehloGather> StablehloGather::create(const AttributeList& attributes, const Shape& operand, const Shape& indices)
{
    StablehloGather g;
    g.offsetDims = attributeInts(attributes, "offset_dims");
    g.startIndexMap = attributeInts(attributes, "start_index_map");
    g.sliceSizes = attributeInts(attributes, "slice_sizes");
    g.indexVectorDim = attributeInt(attributes, "index_vector_dim", 0);
    const std::vector<int64_t> collapsed = attributeInts(attributes, "collapsed_slice_dims");
    const int rank = operand.rank();
    bool fits = g.sliceSizes.size() == static_cast<size_t>(rank) && areDistinctDimensions(collapsed, rank);
    for (int d = 0; fits && d < rank; ++d) {
        const int64_t size = g.sliceSizes[static_cast<size_t>(d)];
        fits = size >= 0 && (operand[d] < 0 || size <= operand[d]) && (!contains(collapsed, d) || size <= 1);
    }
    if (!fits)
        return InferContext::violated(2, "slice_sizes " + listText(g.sliceSizes) + " with collapsed_slice_dims " + listText(collapsed))
            .expected("sizes within " + toString(operand));
    if (g.indexVectorDim < 0 || g.indexVectorDim > indices.rank() || !areDistinctDimensions(g.startIndexMap, rank) ||
        (indexLength(indices, g.indexVectorDim) >= 0 &&
         indexLength(indices, g.indexVectorDim) != static_cast<int64_t>(g.startIndexMap.size())))
        return InferContext::violated(4, "start_index_map " + listText(g.startIndexMap) + " and index_vector_dim " +
                                             std::to_string(g.indexVectorDim))
            .expected("those of start indices " + toString(indices));
    for (int64_t d = 0; d < rank; ++d)
        if (!contains(collapsed, d)) g.keptDims.push_back(d);
    const int64_t batchRank = indices.rank() - (g.indexVectorDim < indices.rank() ? 1 : 0);
    const int64_t resultRank = batchRank + static_cast<int64_t>(g.offsetDims.size());
    if (g.offsetDims.size() != g.keptDims.size() || !areDistinctDimensions(g.offsetDims, resultRank) ||
        !std::is_sorted(g.offsetDims.begin(), g.offsetDims.end()))
        return InferContext::violated(3, "offset_dims " + listText(g.offsetDims))
            .expected(std::to_string(g.keptDims.size()) + " dimensions of the result, in order");
    for (int64_t d = 0; d < resultRank; ++d)
        if (!contains(g.offsetDims, d)) g.batchDims.push_back(d);
    return g;
}

Result<StablehloScatter> StablehloScatter::create(const AttributeList& attributes, const Shape& operand, const Shape& indices,
                                                  const Shape& updates)
{
    StablehloScatter s;
    s.windowDims = attributeInts(attributes, "update_window_dims");
    s.indexToOperand = attributeInts(attributes, "scatter_dims_to_operand_dims");
    s.indexVectorDim = attributeInt(attributes, "index_vector_dim", 0);
    const std::vector<int64_t> inserted = attributeInts(attributes, "inserted_window_dims");
    const int rank = operand.rank();
    for (int64_t d = 0; d < rank; ++d)
        if (!contains(inserted, d)) s.windowToOperand.push_back(d);
    if (!areDistinctDimensions(inserted, rank) || !areDistinctDimensions(s.windowDims, updates.rank()) ||
        !std::is_sorted(s.windowDims.begin(), s.windowDims.end()) || s.windowDims.size() != s.windowToOperand.size())
        return InferContext::violated(2,
                                      "update_window_dims " + listText(s.windowDims) + " with inserted_window_dims " + listText(inserted))
            .expected("a window dimension of the updates for each other dimension of " + toString(operand));
    for (int64_t d = 0; d < updates.rank(); ++d)
        if (!contains(s.windowDims, d)) s.scatterDims.push_back(d);
    bool fits = s.indexVectorDim >= 0 && s.indexVectorDim <= indices.rank() && areDistinctDimensions(s.indexToOperand, rank) &&
                (indexLength(indices, s.indexVectorDim) < 0 ||
                 indexLength(indices, s.indexVectorDim) == static_cast<int64_t>(s.indexToOperand.size()));
    size_t k = 0;
    for (int d = 0; fits && d < indices.rank(); ++d) {
        if (d == s.indexVectorDim) continue;
        fits = k < s.scatterDims.size();
        if (!fits) break;
        const int64_t extent = updates[static_cast<int>(s.scatterDims[k++])];
        fits = extent < 0 || indices[d] < 0 || extent == indices[d];
    }
    if (!fits || k != s.scatterDims.size())
        return InferContext::violated(3, "scatter indices " + toString(indices) + " with scatter_dims_to_operand_dims " +
                                             listText(s.indexToOperand))
            .expected("those of updates " + toString(updates));
    return s;
}

} // namespace loopscope

namespace {

Status unknownResult(InferContext& c)
{
    c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
    return {};
}

Status inferGather(InferContext& c)
{
    LS_CHECK_OK(requireIndexType(c, 1, 1));
    const Shape& operand = c.input(0).shape;
    const Shape& indices = c.input(1).shape;
    if (!operand.hasRank() || !indices.hasRank()) return unknownResult(c);
    LS_TRY(const StablehloGather g, StablehloGather::create(c.attributes(), operand, indices));
    Shape out = Shape::ofRank(static_cast<int>(g.offsetDims.size() + g.batchDims.size()));
    for (size_t i = 0; i < g.offsetDims.size(); ++i)
        out[static_cast<int>(g.offsetDims[i])] = g.sliceSizes[static_cast<size_t>(g.keptDims[i])];
    int from = 0;
    for (const int64_t d : g.batchDims) {
        if (from == g.indexVectorDim) ++from;
        out[static_cast<int>(d)] = indices[from++];
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferScatter(InferContext& c)
{
    LS_CHECK_OK(requireIndexType(c, 1, 1));
    LS_CHECK_OK(requireSameType(c, 0, 2, 1));
    const Shape& operand = c.input(0).shape;
    const Shape& updates = c.input(2).shape;
    if (operand.hasRank() && c.input(1).shape.hasRank() && updates.hasRank()) {
        LS_TRY(const StablehloScatter s, StablehloScatter::create(c.attributes(), operand, c.input(1).shape, updates));
        static_cast<void>(s);
    }
    c.setOutput(0, c.input(0).dtype, operand);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, stablehlo_gather)
{
    // C1: start indices are i32 or i64. C2: slice sizes lie within the operand, collapsed ones are 1. C3: offset dimensions are dimensions
    // of the result, in order, one for each dimension of a slice. C4: start_index_map names an operand dimension per number of an index.
    return movementDef<inferGather>(2, "operand, start_indices",
                                    "Slices of the operand at start indices, which are moved to where the slice fits.",
                                    "StableHLO specification, gather");
}

LS_DEFINE_OP(tfl, stablehlo_scatter)
{
    // C1: indices are i32 or i64, updates of the operand's dtype. C2: update_window_dims match the operand's dimensions that are not
    // inserted. C3: there is an update for each index.
    return movementDef<inferScatter>(3, "operand, scatter_indices, updates",
                                     "The operand with windows of updates combined into it; what lies outside is left out.",
                                     "StableHLO specification, scatter");
}
