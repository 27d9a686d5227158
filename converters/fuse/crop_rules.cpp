// A transposed convolution of which the edges are cut off, as frameworks write one with padding of its own.
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

/// Where a slice with strides of 1 begins, for every dimension; nothing: it is another slice.
std::optional<std::vector<int64_t>> beginOf(Site& site, const Operator& op, const Shape& whole)
{
    std::optional<std::vector<int64_t>> begin = op.inputs.size() > 1 ? site.constants().integers(op.inputs[1]) : std::nullopt;
    if (!begin || static_cast<int>(begin->size()) != whole.rank()) return std::nullopt;
    if (neutralKind(op.kind) == "slice") return begin;
    const auto strides = op.inputs.size() == 4 ? site.constants().integers(op.inputs[3]) : std::nullopt;
    if (!strides || std::ranges::any_of(*strides, [](int64_t stride) { return stride != 1; })) return std::nullopt;
    for (const char* const mask : {"shrink_axis_mask", "new_axis_mask", "ellipsis_mask"})
        if (attributeInt(op.attributes, mask, 0) != 0) return std::nullopt;
    for (int d = 0; d < whole.rank(); ++d) {
        int64_t& at = (*begin)[static_cast<size_t>(d)];
        if ((attributeInt(op.attributes, "begin_mask", 0) >> d & 1) != 0) at = 0;
        if (at < 0) at += whole[d];
    }
    return begin;
}

/// What the operator with SAME cuts off before a dimension of `length`, if it is the one that makes `steps` of it; −1: it makes others.
int64_t cutBySame(int64_t steps, int64_t stride, int64_t size, int64_t length)
{
    if (stride < 1 || (length + stride - 1) / stride != steps) return -1;
    return std::max<int64_t>((steps - 1) * stride + size - length, 0) / 2;
}

Outcome cropOfTransposed(Site& site, OperatorId root)
{
    const Operator slice = site.editor().op(root);
    const OperatorId inner = slice.inputs.empty() ? OperatorId() : site.producer(slice.inputs[0]);
    if (site.isTensorFlow() || !inner.valid() || neutralKind(site.editor().op(inner).kind) != "transpose_conv") return Outcome::nothing();
    const Operator op = site.editor().op(inner);
    if (op.inputs.size() < 3) return Outcome::nothing();
    const auto declined = [](std::string reason) { return Outcome::declined("TRANSPOSE_CONV+pad_same", std::move(reason)); };
    const Shape whole = site.shapeOf(slice.inputs[0]), part = site.shapeOf(slice.results[0]), x = site.shapeOf(op.inputs[2]);
    const Shape filter = site.shapeOf(op.inputs[1]);
    for (const Shape* const shape : {&whole, &part, &x, &filter})
        if (!shape->isStatic() || shape->rank() != 4) return declined("a shape is not known");
    if (attributeWord(op.attributes, "padding", "VALID") != "VALID") return declined("the convolution cuts its edges off already");
    const auto begin = beginOf(site, slice, whole);
    if (!begin) return declined("the slice has strides, or no constant begin");
    if (whole[0] != part[0] || whole[3] != part[3]) return declined("the slice takes a part of the batch or of the channels");
    const int64_t strides[] = {attributeInt(op.attributes, "stride_h", 1), attributeInt(op.attributes, "stride_w", 1)};
    for (int d = 1; d < 3; ++d) {
        const int64_t wanted = (*begin)[static_cast<size_t>(d)], cut = cutBySame(x[d], strides[d - 1], filter[d], part[d]);
        if (cut != wanted)
            return declined("along dimension " + std::to_string(d) + " SAME " +
                            (cut < 0 ? "makes another number of elements of " + std::to_string(x[d])
                                     : "cuts " + std::to_string(cut) + " off before, the slice " + std::to_string(wanted)));
    }
    const TensorType was = site.typeOf(slice.inputs[0]), is = site.typeOf(slice.results[0]);
    if (was.dtype != is.dtype || !sameQuantization(was.quantization, is.quantization)) return declined("the slice has another scale");
    const OperatorId ops[] = {inner, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    std::vector<int32_t> dims;
    dims.reserve(static_cast<size_t>(part.rank()));
    for (int d = 0; d < part.rank(); ++d) dims.push_back(static_cast<int32_t>(part[d]));
    OperatorDraft draft;
    draft.kind = op.kind;
    draft.attributes = op.attributes;
    setAttribute(draft.attributes, "padding", Word{"SAME"});
    draft.inputs = op.inputs;
    draft.inputs[0] = site.constant(site.nameOf(root) + "/shape", Shape{4}, std::span<const int32_t>(dims), root);
    draft.results = {is};
    return Outcome::made(site.fuse({inner, root}, std::move(draft), {"pad_same"}));
}

} // namespace

std::span<const Rule> cropRules()
{
    static const std::vector<Rule> rules = {
        {.name = "crop-of-transposed", .equality = FusionEquality::exact, .roots = {"slice", "strided_slice"}, .apply = cropOfTransposed},
    };
    return rules;
}

} // namespace loopscope::fusing
