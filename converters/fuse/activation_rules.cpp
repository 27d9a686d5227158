// Activations into the operators that give them their operand.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

namespace loopscope::fusing {

namespace {

/// "RELU" of the operator; empty: it is no activation that kernels run inside another operator.
std::string activationName(std::string_view kind, const Site& site)
{
    if (kind == "tanh" && site.fusesTanh()) return "TANH";
    if (kind == "relu") return "RELU";
    if (kind == "relu6") return "RELU6";
    return kind == "relu_n1_to_1" ? "RELU_N1_TO_1" : "";
}

/// What two activations in a row are; empty: no single one.
std::string joined(const std::string& first, const std::string& second)
{
    if (first == "NONE" || first == second) return second;
    const bool isClamp = first == "RELU" || first == "RELU6";
    if (isClamp && second == "RELU6") return "RELU6";
    if (isClamp && second == "RELU") return first;
    return "";
}

bool isArithmetic(std::string_view kind) { return kind == "add" || kind == "sub" || kind == "mul" || kind == "div"; }

/// TensorFlow's pooling as TFLite's; false: it has no such form.
bool poolingDraft(const Operator& op, OperatorDraft& draft)
{
    const std::vector<int64_t> size = attributeInts(op.attributes, "ksize"), strides = attributeInts(op.attributes, "strides");
    const std::string_view padding = attributeString(op.attributes, "padding", "");
    if (attributeString(op.attributes, "data_format", "NHWC") != "NHWC" || size.size() != 4 || strides.size() != 4) return false;
    if (size[0] != 1 || size[3] != 1 || strides[0] != 1 || strides[3] != 1 || padding == "EXPLICIT") return false;
    draft.attributes = {{"filter_height", size[1]},
                        {"filter_width", size[2]},
                        {"padding", Word{std::string(padding)}},
                        {"stride_h", strides[1]},
                        {"stride_w", strides[2]}};
    return true;
}

/// Whether both hold quantized numbers, of the same scale and zero point: nothing has to be requantized between them.
bool hasOneScale(const TensorType& a, const TensorType& b)
{
    return a.quantization != nullptr && isInteger(a.dtype) && a.dtype == b.dtype && sameQuantization(a.quantization, b.quantization);
}

Outcome fuseActivation(Site& site, OperatorId root)
{
    const Operator activationOp = site.editor().op(root);
    const std::string activation = activationName(neutralKind(activationOp.kind), site);
    std::vector<OperatorId> ops;
    const OperatorId producer = site.producer(activationOp.inputs.at(0), &ops);
    if (!producer.valid() || activation.empty()) return Outcome::nothing();
    ops.insert(ops.begin(), producer);
    ops.push_back(root);
    const Operator before = site.editor().op(producer);
    const std::string_view kind = neutralKind(before.kind);
    std::optional<Affine> affine = readAffine(site, producer);
    const bool isPooling = kind == "average_pool_2d" || kind == "max_pool_2d";
    const bool isTransposed = affine && affine->kind == "transpose_conv";
    const auto declined = [&](std::string reason) {
        return Outcome::declined(site.labelOf(producer) + "+" + activation, std::move(reason));
    };
    if (kind == "concatenation" || kind == "l2_normalization")
        return declined(upperCase(kind) + " has a field for it that kernels do not run");
    if (!affine && !isPooling && !isArithmetic(kind)) return Outcome::nothing();
    const bool isQuantized = hasOneScale(site.typeOf(before.results[0]), site.typeOf(activationOp.results[0]));
    if (isQuantized) affine.reset(); // stored numbers are clamped where they are
    if (affine && !affine->refused.empty()) return declined(affine->refused);
    if (isQuantized && activation == "TANH") return declined("quantized numbers are only clamped");
    const DType dtype = site.editor().value(before.results[0]).type.dtype;
    if (dtype != DType::f32 && !isQuantized)
        return declined("element type " + std::string(dtypeName(dtype)) + ": the result would have to be requantized");
    const std::string both = joined(affine ? affine->activation() : std::string(activationOf(before)), activation);
    if (both.empty()) return declined(site.described(producer) + " has the activation " + std::string(activationOf(before)) + " already");
    if (isTransposed && !site.isTensorFlow()) return declined("TRANSPOSE_CONV has activations from version 4 on");
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    // RELU inside an operator is a clamp to the largest float.
    const auto whileFinite = [&, id = site.editor().value(before.results[0]).id](OperatorId made) {
        Outcome outcome = Outcome::made(made);
        if (both == "TANH") outcome.note = "TFLite's own kernels do not run it there: only a runtime that does can prove it";
        if (both == "RELU" && !isQuantized) outcome.domain = FusionDomain{id, "is finite", 0};
        return outcome;
    };
    if (affine) {
        setAttribute(affine->attributes, "act", Word{both});
        return whileFinite(writeAffine(site, *affine, std::move(ops), {}));
    }
    OperatorDraft draft;
    draft.kind = {"tfl", std::string(kind)};
    draft.inputs = before.inputs;
    draft.results = {site.editor().value(activationOp.results[0]).type};
    if (before.kind.dialect != "tf") draft.attributes = before.attributes;
    else if (isPooling && !poolingDraft(before, draft)) return declined("the windows have another form in TFLite");
    setAttribute(draft.attributes, "act", Word{both});
    return whileFinite(site.fuse(std::move(ops), std::move(draft), {}));
}

/// What kernels do not run inside another operator is said, so that nobody wonders.
Outcome declineActivation(Site& site, OperatorId root)
{
    const Operator& op = site.editor().op(root);
    const OperatorId producer = site.producer(op.inputs.at(0));
    if (neutralKind(op.kind) == "tanh" && site.fusesTanh()) return Outcome::nothing();
    if (!producer.valid() || !readAffine(site, producer)) return Outcome::nothing();
    const std::string name = upperCase(neutralKind(op.kind));
    return Outcome::declined(site.labelOf(producer) + "+" + name, name + " is no clamp: kernels do not run it inside another operator");
}

} // namespace

std::span<const Rule> activationRules()
{
    static const std::vector<Rule> rules = {
        {"activation", FusionEquality::exact, {}, "", nullptr, {"relu", "relu6", "relu_n1_to_1", "tanh"}, fuseActivation, true},
        {"activation-kept", FusionEquality::exact, {}, "", nullptr, {"tanh", "logistic", "hard_swish", "gelu"}, declineActivation, true},
    };
    return rules;
}

} // namespace loopscope::fusing
