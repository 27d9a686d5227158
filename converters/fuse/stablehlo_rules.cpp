// Composites of StableHLO: an operator with a name, attributes and a body. Those whose name TFLite has an operator for become it; what
// the body computes proves it.
#include "converters/fuse/pattern.h"
#include "converters/fuse/stablehlo.h"

#include <algorithm>
#include <array>

namespace loopscope::fusing {

namespace {

int rankOfInput(const Site& site, const Composite& composite)
{
    const Shape& shape = site.typeOf(composite.inputs.back()).shape;
    return shape.hasRank() ? shape.rank() : -1;
}

std::string hardSwish(Site&, const Composite& composite, OperatorDraft& draft)
{
    draft.kind.name = "hard_swish";
    draft.inputs = composite.lastInputs(1);
    return "";
}

std::string gelu(Site&, const Composite& composite, OperatorDraft& draft)
{
    const std::string approximate = composite.text("approximate");
    if (composite.name.starts_with("aten.") && approximate != "none" && approximate != "tanh")
        return "approximate is '" + approximate + "', neither none nor tanh";
    draft.kind.name = "gelu";
    draft.attributes = {{"approximate", approximate == "tanh" || composite.truth("approximate", false)}};
    draft.inputs = composite.lastInputs(1);
    return "";
}

std::string softmax(Site& site, const Composite& composite, OperatorDraft& draft)
{
    const int64_t axis = composite.integer("axis", composite.integer("dim", -1));
    if (axis != -1 && axis != rankOfInput(site, composite) - 1) return "it is over axis " + std::to_string(axis) + ", not the last one";
    draft.kind.name = "softmax";
    draft.attributes = {{"beta", floatAttribute(1)}};
    draft.inputs = composite.lastInputs(1);
    return "";
}

std::string l2Norm(Site& site, const Composite& composite, OperatorDraft& draft)
{
    const int64_t axis = composite.integer("axis", -1);
    const double epsilon = composite.real("epsilon", 0);
    if (axis != -1 && axis != rankOfInput(site, composite) - 1) return "it is over axis " + std::to_string(axis) + ", not the last one";
    if (epsilon > 1.0001e-12) return "epsilon " + std::to_string(epsilon) + " would be lost: the operator's own is 1e-12 of the squares";
    draft.kind.name = "l2_normalization";
    draft.inputs = composite.lastInputs(1);
    return "";
}

std::string rmsNorm(Site& site, const Composite& composite, OperatorDraft& draft)
{
    if (!site.isForCircle()) return "TFLite has no such operator, Circle has";
    if (composite.inputs.size() != 2) return "it has no scale";
    draft.kind = {"circle", "rms_norm"};
    draft.attributes = {{"epsilon", floatAttribute(static_cast<float>(composite.real("epsilon", 1e-6)))}};
    draft.inputs = composite.inputs;
    return "";
}

std::string embedding(Site& site, const Composite& composite, OperatorDraft& draft)
{
    if (composite.inputs.size() < 2) return "it has no table";
    draft.inputs = composite.lastInputs(2);
    const TensorType &ids = site.typeOf(draft.inputs[0]), &table = site.typeOf(draft.inputs[1]);
    if (ids.dtype != DType::i32 || !ids.shape.hasRank() || ids.shape.rank() != 1) return "ids are no vector of i32";
    if (!table.shape.hasRank() || table.shape.rank() < 2) return "the table is no matrix";
    draft.kind.name = "embedding_lookup";
    return "";
}

std::string productOfMatrices(Site&, const Composite& composite, OperatorDraft& draft)
{
    if (composite.inputs.size() != 2) return "it has not two operands";
    draft.kind.name = "batch_matmul";
    draft.attributes = {{"adj_y", true}};
    draft.inputs = composite.inputs;
    return "";
}

std::string unpack(Site&, const Composite& composite, OperatorDraft& draft)
{
    draft.kind.name = "unpack";
    draft.attributes = {{"axis", composite.integer("axis", 0)},
                        {"num", composite.integer("num", static_cast<int64_t>(composite.results.size()))}};
    draft.inputs = composite.lastInputs(1);
    return "";
}

std::string pack(Site&, const Composite& composite, OperatorDraft& draft)
{
    draft.kind.name = "pack";
    draft.attributes = {{"axis", composite.integer("axis", 0)}, {"values_count", static_cast<int64_t>(composite.inputs.size())}};
    draft.inputs = composite.inputs;
    return "";
}

/// What a runtime of the vendor knows by its name.
std::string customOperator(Site&, const Composite& composite, OperatorDraft& draft)
{
    draft.kind = {"custom", composite.name};
    AttributeMap options;
    if (composite.attributes != nullptr)
        for (const auto& [key, value] : *composite.attributes)
            if (value.as<int64_t>() != nullptr || value.as<double>() != nullptr || value.as<std::string>() != nullptr)
                options.emplace_back(key, value);
    if (!options.empty()) draft.attributes = {{"options", std::move(options)}};
    draft.inputs = composite.inputs;
    return "";
}

std::string ofVendors(Site&, const Composite&, OperatorDraft&)
{
    return "runtimes of vendors take it by its name, no operator of TFLite does: its body runs";
}

struct Known {
    std::string_view name;
    Lowering lower;
};

Lowering loweringOf(const std::string& name)
{
    static constexpr std::array kKnown = {
        Known{"aten.hardswish.default", hardSwish},
        Known{"aten.gelu.default", gelu},
        Known{"tfl.gelu", gelu},
        Known{"odml.softmax", softmax},
        Known{"odml.l2_norm", l2Norm},
        Known{"odml.rms_norm", rmsNorm},
        Known{"odml.embedding_lookup", embedding},
        Known{"tfl.bmm_4d_adj_y", productOfMatrices},
        Known{"tfl.unpack", unpack},
        Known{"tfl.pack", pack},
        Known{"tfl.slice", lowerMovement},
        Known{"tfl.dynamic_update_slice", lowerMovement},
        Known{"tfl.mean", lowerMean},
        Known{"tfl.mirror_pad", lowerMirrorPad},
        Known{"odml.upsample_bilinear2d", lowerResize},
        Known{"tfl.resize_nearest_neighbor", lowerResize},
        Known{"aten.avg_pool2d.default", lowerAveragePool},
        Known{"odml.random_uniform", lowerRandom},
        Known{"odml.random_standard_normal", lowerRandom},
        Known{"odml.detector", customOperator},
        Known{"odml.quantize_and_dequantize", customOperator},
        Known{"odml.update_kv_cache", lowerCacheUpdate},
        Known{"odml.update_external_kv_cache", customOperator},
        Known{"odml.npu_call", ofVendors},
        Known{"odml.group_norm", ofVendors},
        Known{"odml.scaled_dot_product_attention", ofVendors},
        Known{"odml.sdpa_transposed", ofVendors},
        Known{"odml.runtime_bmm", ofVendors},
        Known{"odml.cache_update", ofVendors},
    };
    for (const Known& known : kKnown)
        if (known.name == name) return known.lower;
    return name.starts_with("litert_custom_op.") ? customOperator : nullptr;
}

Outcome compositeOperator(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    Composite composite{std::string(attributeString(op.attributes, "name", "")), nullptr, op.inputs, op.results, root};
    if (const Attribute* const found = findAttribute(op.attributes, "composite_attributes"))
        composite.attributes = found->as<AttributeMap>();
    const std::string to = "composite:" + composite.name;
    const Lowering lower = loweringOf(composite.name);
    if (lower == nullptr) return Outcome::declined(to, "no rule knows this name: its body runs");
    if (op.inputs.empty() || op.results.empty() || std::ranges::any_of(op.inputs, [](ValueId input) { return !input.valid(); }))
        return Outcome::declined(to, "an operand is missing");
    OperatorDraft draft;
    draft.kind.dialect = "tfl";
    if (std::string reason = lower(site, composite, draft); !reason.empty()) return Outcome::declined(to, std::move(reason));
    for (const ValueId result : op.results) draft.results.push_back(site.typeOf(result));
    draft.name = site.nameOf(root);
    const OperatorId ops[] = {root};
    site.setFrom(ops);
    const OperatorId made = site.editor().replace(ops, std::move(draft), op.results);
    site.addParts(made, {});
    return Outcome::made(made);
}

} // namespace

const Attribute* Composite::find(std::string_view key) const
{
    if (attributes == nullptr) return nullptr;
    for (const auto& [name_, value] : *attributes)
        if (name_ == key) return &value;
    return nullptr;
}

int64_t Composite::integer(std::string_view key, int64_t otherwise) const
{
    const Attribute* const found = find(key);
    const auto* const number = found != nullptr ? found->as<int64_t>() : nullptr;
    return number != nullptr ? *number : otherwise;
}

double Composite::real(std::string_view key, double otherwise) const
{
    const Attribute* const found = find(key);
    const auto* const number = found != nullptr ? found->as<double>() : nullptr;
    return number != nullptr ? *number : static_cast<double>(integer(key, static_cast<int64_t>(otherwise)));
}

bool Composite::truth(std::string_view key, bool otherwise) const
{
    const Attribute* const found = find(key);
    const auto* const flag = found != nullptr ? found->as<bool>() : nullptr;
    return flag != nullptr ? *flag : integer(key, otherwise ? 1 : 0) != 0;
}

std::string Composite::text(std::string_view key) const
{
    const Attribute* const found = find(key);
    const auto* const string = found != nullptr ? found->as<std::string>() : nullptr;
    return string != nullptr ? *string : "";
}

std::vector<int64_t> Composite::integers(std::string_view key) const
{
    std::vector<int64_t> numbers;
    const Attribute* const found = find(key);
    const auto* const items = found != nullptr ? found->as<AttributeItems>() : nullptr;
    if (items != nullptr)
        for (const Attribute& item : *items)
            if (const auto* const number = item.as<int64_t>()) numbers.push_back(*number);
    return items != nullptr && numbers.size() == items->size() ? numbers : std::vector<int64_t>();
}

std::vector<ValueId> Composite::lastInputs(size_t count) const
{
    return {inputs.end() - static_cast<std::ptrdiff_t>(std::min(count, inputs.size())), inputs.end()};
}

std::span<const Rule> stablehloRules()
{
    static const std::vector<Rule> rules = {
        {"composite-operator", FusionEquality::approximate, {}, "", nullptr, {"stablehlo_composite"}, compositeOperator},
    };
    return rules;
}

} // namespace loopscope::fusing
