// One-hot rows, however they are written: numbers held against 0, 1, 2, … and truths made numbers.
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

/// x[…, 1] = 0, 1, …, n − 1: one truth in n.
Outcome equalToEach(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.kind.dialect != "tfl" || op.inputs.size() != 2) return Outcome::nothing();
    for (const size_t side : {0, 1}) {
        const auto numbers = site.constants().integers(op.inputs[1 - side]);
        const Shape shape = site.shapeOf(op.inputs[side]), result = site.shapeOf(op.results[0]);
        const DType dtype = site.typeOf(op.inputs[side]).dtype;
        if (!numbers || numbers->size() < 2 || (dtype != DType::i32 && dtype != DType::i64) || shape.rank() < 1) continue;
        for (size_t k = 0; k < numbers->size(); ++k)
            if ((*numbers)[k] != static_cast<int64_t>(k)) return Outcome::declined("ONE_HOT", "the numbers are not 0, 1, 2, …");
        const auto depth = static_cast<int32_t>(numbers->size());
        Shape wanted = shape;
        if (!shape.isStatic() || shape.back() != 1) return Outcome::declined("ONE_HOT", "the operand's last dimension is not 1");
        wanted[wanted.rank() - 1] = depth;
        if (result != wanted) return Outcome::declined("ONE_HOT", "the numbers stand along another dimension");
        const OperatorId before = root;
        const std::string name = site.nameOf(root);
        std::vector<int32_t> dims;
        for (int d = 0; d + 1 < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
        OperatorDraft reshape;
        reshape.kind = {"tfl", "reshape"};
        reshape.name = name + "/indices";
        reshape.inputs = {op.inputs[side],
                          site.constant(name + "/shape", Shape{static_cast<int64_t>(dims.size())}, std::span<const int32_t>(dims), before)};
        std::vector<int64_t> sizes(dims.begin(), dims.end());
        reshape.results = {TensorType(dtype, Shape(sizes))};
        const ValueId indices = site.editor().op(site.editor().insert(std::move(reshape), root, InsertPoint::before(root))).results[0];
        static constexpr std::byte kTrue[] = {std::byte{1}}, kFalse[] = {std::byte{0}};
        OperatorDraft draft;
        draft.kind = {"tfl", "one_hot"};
        draft.attributes = {{"axis", int64_t{-1}}};
        draft.inputs = {indices, site.constant(name + "/depth", Shape(), std::span<const int32_t>(&depth, 1), before),
                        site.constant(name + "/on", TensorType(DType::boolean, Shape()), kTrue, before),
                        site.constant(name + "/off", TensorType(DType::boolean, Shape()), kFalse, before)};
        draft.results = {site.typeOf(op.results[0])};
        return Outcome::made(site.fuse({root}, std::move(draft), {}));
    }
    return Outcome::nothing();
}

/// One-hot rows of another type.
Outcome castOfOneHot(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.kind.dialect != "tfl" || op.inputs.size() != 1) return Outcome::nothing();
    const OperatorId inner = site.producer(op.inputs[0]);
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "one_hot") return Outcome::nothing();
    const Operator oneHot = site.editor().op(inner);
    const DType dtype = site.typeOf(op.results[0]).dtype;
    if (dtype != DType::f32 && dtype != DType::i32)
        return Outcome::declined("ONE_HOT", "cast to " + std::string(dtypeName(dtype)) + ", the rule is for f32 and i32");
    std::vector<float> floats;
    std::vector<int32_t> integers;
    for (const size_t k : {2, 3}) {
        const auto whole = site.constants().integers(oneHot.inputs.at(k));
        const Numbers* const number = whole ? nullptr : site.constants().floats(oneHot.inputs[k]);
        if (whole ? whole->empty() : number == nullptr || number->values.empty())
            return Outcome::declined("ONE_HOT", "its values are no constants");
        const double value = whole ? static_cast<double>(whole->at(0)) : static_cast<double>(number->values[0]);
        if (!(value >= -16777216.0 && value <= 16777216.0)) return Outcome::declined("ONE_HOT", "a value may be rounded on the way");
        floats.push_back(static_cast<float>(value));
        integers.push_back(static_cast<int32_t>(value));
    }
    const OperatorId ops[] = {inner, root};
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return Outcome::declined("ONE_HOT", *reason);
    OperatorDraft draft;
    draft.kind = oneHot.kind;
    draft.attributes = oneHot.attributes;
    draft.inputs = oneHot.inputs;
    for (const size_t k : {2, 3}) {
        const std::string name = site.nameOf(root) + (k == 2 ? "/on" : "/off");
        draft.inputs[k] = dtype == DType::f32 ? site.constant(name, Shape(), std::span<const float>(&floats[k - 2], 1), root)
                                              : site.constant(name, Shape(), std::span<const int32_t>(&integers[k - 2], 1), root);
    }
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse({inner, root}, std::move(draft), {}));
}

} // namespace

std::span<const Rule> oneHotRules()
{
    static const std::vector<Rule> rules = {
        {.name = "equal-to-each", .equality = FusionEquality::exact, .roots = {"equal"}, .apply = equalToEach},
        {.name = "cast-of-one-hot", .equality = FusionEquality::exact, .roots = {"cast"}, .apply = castOfOneHot},
    };
    return rules;
}

} // namespace loopscope::fusing
