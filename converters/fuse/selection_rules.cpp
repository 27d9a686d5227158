// Parts of tensors: what takes all of it, what is taken apart and put together again, and what need not be computed because only a part
// of it is taken.
#include "converters/fuse/cells.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <numeric>

namespace loopscope::fusing {

namespace {

/// A box of a tensor of known shape.
struct Box {
    Shape whole;
    std::vector<int64_t> begin, size;
    int64_t shrunk = -1; ///< a dimension of size 1 that the result does not have

    bool isWhole(int d) const { return begin[static_cast<size_t>(d)] == 0 && size[static_cast<size_t>(d)] == whole[d]; }
    /// The one dimension of which it is a part; −1: none or several.
    int dimension() const
    {
        int found = -1;
        for (int d = 0; d < whole.rank(); ++d) {
            if (isWhole(d)) continue;
            if (found >= 0) return -1;
            found = d;
        }
        return found;
    }
};

/// A slice with constant bounds; none: it is something else, or more than a box.
std::optional<Box> boxOf(Site& site, const Operator& op)
{
    const std::string_view kind = cellKind(op);
    const bool isStrided = kind == "strided_slice";
    if ((!isStrided && kind != "slice") || op.inputs.size() != (isStrided ? 4U : 3U)) return std::nullopt;
    Box box{site.shapeOf(op.inputs[0]), {}, {}};
    auto begin = site.constants().integers(op.inputs[1]), end = site.constants().integers(op.inputs[2]);
    const auto rank = static_cast<size_t>(std::max(box.whole.hasRank() ? box.whole.rank() : 0, 0));
    for (size_t d = begin ? begin->size() : rank; isStrided && begin && end && end->size() == d && d < rank; ++d) { // the rest is whole
        begin->push_back(0);
        end->push_back(box.whole[static_cast<int>(d)]);
    }
    if (!box.whole.isStatic() || !begin || !end || begin->size() != rank || end->size() != rank) return std::nullopt;
    const auto mask = [&](const char* name) { return isStrided ? attributeInt(op.attributes, name, 0) : 0; };
    if (mask("ellipsis_mask") != 0 || mask("new_axis_mask") != 0 || attributeBool(op.attributes, "offset", false)) return std::nullopt;
    const int64_t shrinks = mask("shrink_axis_mask");
    if (isStrided) {
        const auto strides = site.constants().integers(op.inputs[3]);
        if (!strides || !std::ranges::all_of(*strides, [](int64_t stride) { return stride == 1; })) return std::nullopt;
    }
    for (size_t d = 0; d < rank; ++d) {
        const int64_t most = box.whole[static_cast<int>(d)];
        int64_t from = (*begin)[d];
        if (isStrided && from < 0) from += most;
        from = (mask("begin_mask") >> d & 1) != 0 ? 0 : std::clamp<int64_t>(from, 0, most);
        int64_t size = (*end)[d];
        if (isStrided) {
            if ((mask("end_mask") >> d & 1) != 0) size = most;
            else if (size < 0) size += most;
            size = std::max<int64_t>(std::min(size, most) - from, 0);
        } else if (size < 0) {
            size = most - from;
        }
        if ((shrinks >> d & 1) != 0) {
            if (box.shrunk >= 0) return std::nullopt;
            box.shrunk = static_cast<int64_t>(d);
            size = 1;
        }
        if (size > most - from) return std::nullopt; // the run will say so
        box.begin.push_back(from);
        box.size.push_back(size);
    }
    return box;
}

std::vector<int32_t> narrow(std::span<const int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

/// SLICE of a box, as an operator in front of `root`, or in place of it.
OperatorDraft sliceDraft(Site& site, ValueId of, const Box& box, OperatorId root)
{
    const Shape row{static_cast<int64_t>(box.begin.size())};
    const std::vector<int32_t> begin = narrow(box.begin), size = narrow(box.size);
    OperatorDraft draft;
    draft.kind = {"tfl", "slice"};
    draft.inputs = {of, site.constant(site.nameOf(root) + "/begin", row, std::span<const int32_t>(begin), root),
                    site.constant(site.nameOf(root) + "/size", row, std::span<const int32_t>(size), root)};
    return draft;
}

Outcome insteadOf(Site& site, OperatorId root, ValueId value, std::vector<OperatorId> ops, const std::string& to)
{
    if (std::optional<std::string> reason = site.losesBy(root, value)) return Outcome::declined(to, *reason);
    site.bypass(root, value, std::move(ops));
    return {root, to, "", "", {}};
}

bool isOpen(const Site& site, ValueId value) { return site.typeOf(value).signature.has_value() || !site.typeOf(value).shape.isStatic(); }

/// All of a tensor is the tensor; a box with strides of 1 is a SLICE.
Outcome plainSlice(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || isOpen(site, op.results[0])) return Outcome::nothing();
    const std::optional<Box> box = boxOf(site, op);
    if (!box || box->shrunk >= 0) return Outcome::nothing();
    if (box->size.size() == static_cast<size_t>(box->whole.rank()) && box->dimension() < 0 &&
        site.typeOf(op.results[0]).shape == box->whole)
        return insteadOf(site, root, op.inputs[0], {root}, "its operand");
    if (neutralKind(op.kind) == "slice") return Outcome::nothing();
    OperatorDraft draft = sliceDraft(site, op.inputs[0], *box, root);
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

/// Strides of 1 from the first to the last element of each dimension, however many there are.
Outcome wholeSlice(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || op.inputs.size() != 4) return Outcome::nothing();
    const auto strides = site.constants().integers(op.inputs[3]);
    if (!strides || strides->empty() || std::ranges::any_of(*strides, [](int64_t stride) { return stride != 1; }))
        return Outcome::nothing();
    const int64_t all = (int64_t{1} << std::min<size_t>(strides->size(), 16)) - 1;
    for (const char* const mask : {"begin_mask", "end_mask"})
        if ((attributeInt(op.attributes, mask, 0) & all) != all) return Outcome::nothing();
    for (const char* const mask : {"shrink_axis_mask", "new_axis_mask", "ellipsis_mask"})
        if (attributeInt(op.attributes, mask, 0) != 0) return Outcome::nothing();
    if (site.losesBy(root, op.inputs[0])) return Outcome::nothing();
    return insteadOf(site, root, op.inputs[0], {root}, "its operand");
}

/// The box that a value is, by a slice or by one behind a reshape that takes its dimension of size 1 away. `producer` takes it, and what
/// computes the value is added to `ops`.
std::optional<Box> boxBehind(Site& site, ValueId part, OperatorId& producer, std::vector<OperatorId>& ops)
{
    producer = site.producer(part, &ops);
    if (!producer.valid()) return std::nullopt;
    const std::string_view kind = neutralKind(site.editor().op(producer).kind);
    const bool isReshaped = kind == "reshape" || kind == "squeeze";
    const Shape shape = site.shapeOf(site.editor().op(producer).results[0]);
    const OperatorId last = producer;
    if (isReshaped) producer = site.producer(site.editor().op(last).inputs[0], &ops);
    if (!producer.valid()) return std::nullopt;
    std::optional<Box> box = boxOf(site, site.editor().op(producer));
    ops.push_back(producer);
    if (isReshaped) ops.push_back(last);
    if (!box || !isReshaped) return box;
    const int along = box->dimension();
    if (box->shrunk >= 0 || along < 0 || box->size[static_cast<size_t>(along)] != 1) return std::nullopt;
    Shape left;
    for (int d = 0; d < box->whole.rank(); ++d)
        if (d != along) left.append(box->whole[d]);
    if (shape != left) return std::nullopt;
    box->shrunk = along;
    return box;
}

/// What is put together, and along which dimension; nothing: that is not known.
std::optional<int64_t> joinedAlong(const Site& site, Operator& op)
{
    if (op.kind.name != "ConcatV2") return attributeInt(op.attributes, "axis", 0);
    const auto axis = integersIn(site.editor().graph(), op.inputs.back());
    op.inputs.pop_back();
    return axis && axis->size() == 1 ? std::optional(axis->front()) : std::nullopt;
}

/// Slices that follow each other along one dimension, put together along it.
Outcome slicesTogether(Site& site, OperatorId root)
{
    Operator op = site.editor().op(root);
    const bool packs = cellKind(op) == "pack";
    if (activationOf(op) != "NONE" || op.inputs.empty()) return Outcome::nothing();
    const std::optional<int64_t> axis = joinedAlong(site, op);
    static const std::string to = "slices and pack cancel";
    std::vector<OperatorId> ops;
    ValueId whole;
    int along = -1;
    int64_t next = 0;
    Shape shape;
    for (const ValueId part : op.inputs) {
        OperatorId producer;
        const std::optional<Box> box = boxBehind(site, part, producer, ops);
        if (!box || (packs != (box->shrunk >= 0))) return Outcome::nothing();
        const ValueId of = site.behindIdentities(site.editor().op(producer).inputs[0]);
        const int own = packs ? static_cast<int>(box->shrunk) : box->dimension();
        if (own < 0 || (whole.valid() && of != whole)) return Outcome::nothing();
        if (along >= 0 && own != along) return Outcome::declined(to, site.described(producer) + " is taken along another dimension");
        if (box->begin[static_cast<size_t>(own)] != next) return Outcome::declined(to, site.described(producer) + " is not the next part");
        for (int d = 0; d < box->whole.rank(); ++d)
            if (d != own && !box->isWhole(d)) return Outcome::declined(to, site.described(producer) + " is a part along two dimensions");
        next += box->size[static_cast<size_t>(own)];
        whole = of;
        along = own;
        shape = box->whole;
    }
    if (next != shape[along]) return Outcome::declined(to, "the last " + std::to_string(shape[along] - next) + " are missing");
    if (!axis || (*axis < 0 ? *axis + shape.rank() : *axis) != along)
        return Outcome::declined(to, "it is taken apart along one dimension and put together along another");
    ops.push_back(root);
    return insteadOf(site, root, whole, std::move(ops), to);
}

/// Rows by their numbers: all of them, or those of a range.
Outcome rowsInOrder(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || op.inputs.size() != 2 || isOpen(site, op.results[0])) return Outcome::nothing();
    const Shape whole = site.shapeOf(op.inputs[0]), indices = site.shapeOf(op.inputs[1]);
    const auto rows = site.constants().integers(op.inputs[1]);
    if (!rows || rows->empty() || !whole.isStatic() || whole.rank() == 0 || indices.rank() != 2 || indices[1] != 1)
        return Outcome::nothing();
    const auto count = static_cast<int64_t>(rows->size());
    if (rows->front() < 0 || rows->front() >= whole[0]) return Outcome::nothing(); // the run will say so
    for (size_t k = 0; k < rows->size(); ++k)
        if ((*rows)[k] != rows->front() + static_cast<int64_t>(k)) return Outcome::declined("SLICE", "the rows are no range");
    if (rows->front() + count > whole[0]) return Outcome::nothing(); // the run will say so
    if (count == whole[0]) return insteadOf(site, root, op.inputs[0], {root}, "its operand");
    Box box{whole, std::vector<int64_t>(static_cast<size_t>(whole.rank()), 0), {}};
    for (int d = 0; d < whole.rank(); ++d) box.size.push_back(d == 0 ? count : whole[d]);
    box.begin[0] = rows->front();
    OperatorDraft draft = sliceDraft(site, op.inputs[0], box, root);
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({root}, std::move(draft), {}));
}

/// Whether an operator brings dimensions into an order: a transpose, or of one picture a reshape.
bool isOrder(Site& site, const Operator& op, const std::vector<int64_t>& order)
{
    if (op.inputs.size() != 2) return false;
    if (neutralKind(op.kind) == "transpose") return site.constants().integers(op.inputs[1]) == order;
    const Shape from = site.shapeOf(op.inputs[0]), to = site.shapeOf(op.results[0]);
    if (neutralKind(op.kind) != "reshape" || !from.isStatic() || !to.isStatic() || from.rank() != 4 || to.rank() != 4) return false;
    for (int d = 0; d < 4; ++d)
        if (to[d] != from[static_cast<int>(order[static_cast<size_t>(d)])]) return false;
    return from[order[0] == 1 ? 0 : 2] == 1; // the number of pictures
}

/// Pixels of pictures gathered by their places, each as often as the picture grows: between transposes that bring rows and columns first.
Outcome gatheredPixels(Site& site, OperatorId root)
{
    const Operator back = site.editor().op(root);
    const OperatorId middle = site.producer(back.inputs.at(0));
    if (site.isTensorFlow() || !middle.valid() || neutralKind(site.editor().op(middle).kind) != "gather_nd") return Outcome::nothing();
    const Operator gather = site.editor().op(middle);
    const OperatorId first = site.producer(gather.inputs.at(0));
    if (!first.valid()) return Outcome::nothing();
    const Operator there = site.editor().op(first);
    if (!isOrder(site, there, {1, 2, 0, 3}) || !isOrder(site, back, {2, 0, 1, 3})) return Outcome::nothing();
    const auto declined = [](std::string reason) { return Outcome::declined("RESIZE_NEAREST_NEIGHBOR", std::move(reason)); };
    const Shape from = site.shapeOf(there.inputs[0]), to = site.shapeOf(back.results[0]), places = site.shapeOf(gather.inputs[1]);
    const auto indices = site.constants().integers(gather.inputs[1]);
    if (!indices || !from.isStatic() || !to.isStatic() || from.rank() != 4 || to.rank() != 4 || places.rank() != 3 || places[2] != 2)
        return declined("places or sizes are not known");
    if (from.elementCount() <= 0 || places[0] != to[1] || places[1] != to[2]) return Outcome::nothing();
    if (to[1] % from[1] != 0 || to[2] % from[2] != 0) return declined("the picture does not grow by whole numbers");
    for (int64_t y = 0; y < to[1]; ++y)
        for (int64_t x = 0; x < to[2]; ++x) {
            const auto at = static_cast<size_t>((y * to[2] + x) * 2);
            if ((*indices)[at] != y / (to[1] / from[1]) || (*indices)[at + 1] != x / (to[2] / from[2]))
                return declined("pixel (" + std::to_string(y) + "," + std::to_string(x) + ") is not the nearest one");
        }
    if (site.typeOf(back.results[0]).dtype != DType::f32)
        return declined("element type " + std::string(dtypeName(site.typeOf(back.results[0]).dtype)));
    const OperatorId ops[] = {first, middle, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    const int32_t size[] = {static_cast<int32_t>(to[1]), static_cast<int32_t>(to[2])};
    OperatorDraft draft;
    draft.kind = {"tfl", "resize_nearest_neighbor"};
    draft.attributes = {{"align_corners", false}, {"half_pixel_centers", false}};
    draft.inputs = {there.inputs[0], site.constant(site.nameOf(root) + "/size", Shape{2}, std::span<const int32_t>(size), root)};
    draft.results = {site.typeOf(back.results[0])};
    return Outcome::made(site.fuse({first, middle, root}, std::move(draft), {}));
}

/// Every row written to its own place.
Outcome scatteredInOrder(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || op.inputs.size() != 3) return Outcome::nothing();
    const Shape updates = site.shapeOf(op.inputs[1]), indices = site.shapeOf(op.inputs[0]);
    const auto rows = site.constants().integers(op.inputs[0]), shape = site.constants().integers(op.inputs[2]);
    if (!rows || !shape || !updates.isStatic() || indices.rank() != 2 || indices[1] != 1) return Outcome::nothing();
    if (static_cast<int>(shape->size()) != updates.rank()) return Outcome::nothing();
    for (size_t k = 0; k < rows->size(); ++k)
        if ((*rows)[k] != static_cast<int64_t>(k)) return Outcome::declined("its operand", "the rows go to other places");
    for (int d = 0; d < updates.rank(); ++d)
        if ((*shape)[static_cast<size_t>(d)] != updates[d]) return Outcome::declined("its operand", "some rows stay zeros");
    return insteadOf(site, root, op.inputs[1], {root}, "its operand");
}

/// A running sum, or a reduction, over dimensions of size 1.
Outcome overOne(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || op.inputs.size() != 2 || isOpen(site, op.results[0])) return Outcome::nothing();
    const Shape shape = site.shapeOf(op.inputs[0]);
    const auto axes = site.constants().integers(op.inputs[1]);
    if (!axes || !shape.isStatic() || activationOf(op) != "NONE") return Outcome::nothing();
    for (int64_t axis : *axes) {
        axis = axis < 0 ? axis + shape.rank() : axis;
        if (axis < 0 || axis >= shape.rank() || shape[static_cast<int>(axis)] != 1) return Outcome::nothing();
    }
    if (attributeBool(op.attributes, "exclusive", false)) return Outcome::declined("its operand", "without itself the sum is 0");
    const TensorType &from = site.typeOf(op.inputs[0]), &to = site.typeOf(op.results[0]);
    if (from.dtype != to.dtype || !sameQuantization(from.quantization, to.quantization))
        return Outcome::declined("its operand", "the result has another scale");
    const std::string_view kind = neutralKind(op.kind); // kernels begin with the largest number, or the smallest
    const bool limits = from.dtype == DType::f32 && (kind == "reduce_max" || kind == "reduce_min");
    const std::optional<FusionDomain> domain =
        limits ? std::optional(FusionDomain{site.editor().value(op.inputs[0]).id, "is finite", 0}) : std::nullopt;
    if (to.shape == shape) {
        Outcome outcome = insteadOf(site, root, op.inputs[0], {root}, "its operand");
        if (outcome.fused.valid()) outcome.domain = domain;
        return outcome;
    }
    std::vector<int32_t> dims;
    for (int d = 0; d < to.shape.rank(); ++d) dims.push_back(static_cast<int32_t>(to.shape[d]));
    OperatorDraft draft;
    draft.kind = {"tfl", "reshape"};
    draft.inputs = {op.inputs[0],
                    site.constant(site.nameOf(root) + "/shape", Shape{to.shape.rank()}, std::span<const int32_t>(dims), root)};
    draft.results = {to};
    Outcome outcome = Outcome::made(site.fuse({root}, std::move(draft), {}));
    outcome.domain = domain;
    return outcome;
}

/// Of the largest k only the first are read.
Outcome fewerLargest(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (site.isTensorFlow() || op.inputs.size() != 2 || op.results.size() != 2) return Outcome::nothing();
    const auto k = site.constants().integers(op.inputs[1]);
    if (!k || k->size() != 1) return Outcome::nothing();
    std::vector<std::pair<OperatorId, int>> slices;
    int64_t first = -1;
    std::string reason;
    for (const int slot : {0, 1})
        for (const ValueUse& use : site.editor().uses(op.results[static_cast<size_t>(slot)])) {
            const bool isOperand = use.kind == ValueUse::Kind::operand;
            const std::optional<Box> box = isOperand ? boxOf(site, site.editor().op(use.op)) : std::nullopt;
            const int last = box ? box->whole.rank() - 1 : -1;
            if (!box || last < 0 || box->shrunk >= 0 || box->dimension() != last || box->begin[static_cast<size_t>(last)] != 0) {
                reason =
                    isOperand ? site.described(use.op) + " reads more than the first" : site.described(root) + " is an output of the graph";
                continue;
            }
            if (first >= 0 && box->size.back() != first) reason = "readers take different numbers of them";
            first = box->size.back();
            slices.emplace_back(use.op, slot);
        }
    if (first < 0 || first >= k->front()) return Outcome::nothing();
    if (!reason.empty()) return Outcome::declined("TOPK_V2 of " + std::to_string(first), std::move(reason));
    std::vector<OperatorId> from = {root};
    for (const auto& [slice, slot] : slices) {
        if (std::optional<std::string> lost = site.namesOutput(slice))
            return Outcome::declined("TOPK_V2 of " + std::to_string(first), *lost);
        from.push_back(slice);
    }
    const auto count = static_cast<int32_t>(first);
    OperatorDraft draft;
    draft.kind = op.kind;
    draft.name = site.nameOf(root) + "/fewer";
    draft.attributes = op.attributes;
    draft.inputs = {op.inputs[0], site.constant(site.nameOf(root) + "/k", Shape(), std::span<const int32_t>(&count, 1), root)};
    for (const ValueId result : op.results) {
        TensorType type = site.typeOf(result);
        if (type.shape.hasRank() && type.shape.rank() > 0) type.shape[type.shape.rank() - 1] = first;
        draft.results.push_back(std::move(type));
    }
    const OperatorId made = site.editor().insert(std::move(draft), Sources(std::span<const OperatorId>(from)), InsertPoint::before(root));
    site.setFrom(from);
    for (const auto& [slice, slot] : slices)
        site.editor().replaceUses(site.editor().op(slice).results[0], site.editor().op(made).results[static_cast<size_t>(slot)]);
    site.editor().eraseUnused(from);
    site.addParts(made, {});
    Outcome outcome = Outcome::made(made);
    outcome.to = "TOPK_V2 of " + std::to_string(first);
    return outcome;
}

/// Numbers are made floats, or of another type, behind what takes a part of them: fewer are to be made.
Outcome partBeforeType(Site& site, OperatorId root)
{
    const Operator outer = site.editor().op(root);
    if (site.isTensorFlow() || outer.inputs.empty()) return Outcome::nothing();
    const OperatorId middle = site.producer(outer.inputs[0]);
    if (!middle.valid()) return Outcome::nothing();
    const Operator inner = site.editor().op(middle);
    const std::string_view kind = neutralKind(inner.kind);
    if ((kind != "dequantize" && kind != "cast") || inner.inputs.size() != 1) return Outcome::nothing();
    const std::string to = upperCase(neutralKind(outer.kind)) + " before " + upperCase(kind);
    const TensorType &stored = site.typeOf(inner.inputs[0]), &part = site.typeOf(outer.results[0]);
    if (!stored.shape.isStatic() || !part.shape.isStatic() || stored.signature || part.signature) return Outcome::nothing();
    if (part.shape.elementCount() >= stored.shape.elementCount()) return Outcome::nothing();
    if (stored.quantization != nullptr && !stored.quantization->isPerTensor())
        return Outcome::declined(to, "the part has other channels: each has a scale of its own");
    static constexpr DType kTaken[] = {DType::i8, DType::u8, DType::i32, DType::i64, DType::f32};
    if (std::ranges::find(kTaken, stored.dtype) == std::end(kTaken))
        return Outcome::declined(to, "kernels take no part of " + std::string(dtypeName(stored.dtype)));
    const OperatorId ops[] = {middle, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined(to, *reason);
    OperatorDraft first;
    first.kind = outer.kind;
    first.name = site.nameOf(root) + "/part";
    first.attributes = outer.attributes;
    first.inputs = outer.inputs;
    first.inputs[0] = inner.inputs[0];
    first.results = {stored};
    first.results[0].shape = part.shape;
    OperatorDraft second;
    second.kind = inner.kind;
    second.attributes = inner.attributes;
    second.inputs = {site.editor().op(site.editor().insert(std::move(first), root, InsertPoint::before(root))).results[0]};
    second.results = {part};
    Outcome outcome = Outcome::made(site.fuse({middle, root}, std::move(second), {}));
    outcome.to = to;
    return outcome;
}

} // namespace

std::span<const Rule> selectionRules()
{
    constexpr auto kExact = FusionEquality::exact;
    constexpr auto kReal = FusionEquality::realEqual; // −0 + 0 is 0
    static const std::vector<Rule> rules = {
        {.name = "slices-together", .equality = kExact, .roots = {"pack", "concatenation", "Pack", "ConcatV2"}, .apply = slicesTogether},
        {.name = "whole-slice", .equality = kExact, .roots = {"strided_slice"}, .apply = wholeSlice},
        {.name = "plain-slice", .equality = kExact, .roots = {"slice", "strided_slice"}, .apply = plainSlice, .isLate = true},
        {.name = "part-before-type",
         .equality = kExact,
         .roots = {"slice", "strided_slice", "gather", "gather_nd"},
         .apply = partBeforeType},
        {.name = "rows-in-order", .equality = kExact, .roots = {"gather_nd"}, .apply = rowsInOrder},
        {.name = "gathered-pixels", .equality = kExact, .roots = {"transpose", "reshape"}, .apply = gatheredPixels},
        {.name = "scattered-in-order", .equality = kReal, .roots = {"scatter_nd"}, .apply = scatteredInOrder},
        {.name = "over-one",
         .equality = kReal,
         .roots = {"cumsum", "sum", "mean", "reduce_max", "reduce_min", "reduce_prod"},
         .apply = overOne},
        {.name = "fewer-largest", .equality = kExact, .roots = {"topk_v2"}, .apply = fewerLargest},
    };
    return rules;
}

} // namespace loopscope::fusing
