// Padding that a convolution can do itself, and dilation that was written as a rearrangement.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

struct Window {
    int64_t size = 1, stride = 1, dilation = 1;
};

std::vector<Window> windowsOf(const Affine& affine)
{
    if (affine.weights.shape.rank() != 4) return {};
    Window height{affine.weights.shape[1], attributeInt(affine.attributes, "stride_h", 1),
                  attributeInt(affine.attributes, "dilation_h_factor", 1)};
    Window width{affine.weights.shape[2], attributeInt(affine.attributes, "stride_w", 1),
                 attributeInt(affine.attributes, "dilation_w_factor", 1)};
    return {height, width};
}

/// What SAME pads before and behind `length` elements.
std::pair<int64_t, int64_t> samePadding(const Window& window, int64_t length)
{
    const int64_t effective = (window.size - 1) * window.dilation + 1;
    const int64_t outputs = (length + window.stride - 1) / window.stride;
    const int64_t total = std::max<int64_t>((outputs - 1) * window.stride + effective - length, 0);
    return {total / 2, total - total / 2};
}

std::string pairText(int64_t before, int64_t behind) { return "(" + std::to_string(before) + "," + std::to_string(behind) + ")"; }

/// Whether `paddings` of [N,H,W,C] are what SAME would pad. Empty: yes.
std::string notSame(const Affine& affine, const Shape& shape, const std::vector<int64_t>& paddings)
{
    if (paddings.size() != 8) return "not a padding of 4 dimensions";
    if (paddings[0] != 0 || paddings[1] != 0 || paddings[6] != 0 || paddings[7] != 0) return "batch or channels are padded";
    if (!shape.hasRank() || shape.rank() != 4 || shape[1] < 0 || shape[2] < 0) return "height and width are unknown";
    const std::vector<Window> windows = windowsOf(affine);
    if (windows.empty()) return "the filter is no constant";
    for (size_t d = 0; d < 2; ++d) {
        const auto [before, behind] = samePadding(windows[d], shape[static_cast<int>(d) + 1]);
        const int64_t hasBefore = paddings[2 + 2 * d], hasBehind = paddings[3 + 2 * d];
        if (hasBefore != before || hasBehind != behind)
            return "SAME pads " + pairText(before, behind) + " along dimension " + std::to_string(d + 1) + ", the graph " +
                   pairText(hasBefore, hasBehind);
    }
    return "";
}

bool isConvolution(const Affine& affine) { return affine.kind == "conv_2d" || affine.kind == "depthwise_conv_2d"; }

Outcome explicitPadding(Site& site, const Affine& given)
{
    Affine affine = given;
    const std::string to = site.labelOf(affine.op) + "+pad_same";
    const Shape& shape = site.editor().value(site.behindIdentities(affine.inputs[0])).type.shape;
    const std::string reason = notSame(affine, shape, attributeInts(site.editor().op(affine.op).attributes, "explicit_paddings"));
    if (!reason.empty()) return Outcome::declined(to, reason);
    setAttribute(affine.attributes, "padding", Word{"SAME"});
    return Outcome::made(writeAffine(site, affine, {affine.op}, {"pad_same"}));
}

Outcome padIntoConvolution(Site& site, OperatorId root)
{
    std::optional<Affine> affine = readAffine(site, root);
    if (!affine || !isConvolution(*affine)) return Outcome::nothing();
    const std::string_view padding = attributeWord(affine->attributes, "padding", "");
    if (affine->refused.empty() && padding == "EXPLICIT") return explicitPadding(site, *affine);
    std::vector<OperatorId> ops;
    const OperatorId producer = site.producer(site.editor().op(root).inputs[0], &ops);
    if (!producer.valid()) return Outcome::nothing();
    const Operator& pad = site.editor().op(producer);
    const std::string_view kind = neutralKind(pad.kind);
    if ((kind != "pad" && kind != "padv2") || pad.inputs.size() < 2) return Outcome::nothing();
    const auto declined = [&](std::string reason) { return Outcome::declined(site.labelOf(root) + "+pad_same", std::move(reason)); };
    if (!affine->refused.empty()) return declined(affine->refused);
    if (padding != "VALID") return declined("the convolution pads, too");
    if (pad.inputs.size() > 2) {
        const Numbers* const value = site.constants().floats(pad.inputs[2]);
        if (value == nullptr) return declined("what is padded with is no constant");
        if (!value->isSplat() || value->values[0] != 0) return declined("pads with " + std::to_string(value->values[0]));
    }
    const std::optional<std::vector<int64_t>> paddings = site.constants().integers(pad.inputs[1]);
    if (!paddings) return declined("the padding is no constant");
    const Shape shape = site.shapeOf(pad.inputs[0]);
    if (std::string reason = notSame(*affine, shape, *paddings); !reason.empty()) return declined(std::move(reason));
    ops.insert(ops.begin(), producer);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    affine->inputs[0] = pad.inputs[0];
    setAttribute(affine->attributes, "padding", Word{"SAME"});
    return Outcome::made(writeAffine(site, *affine, std::move(ops), {"pad_same"}));
}

/// Pooling never takes a padding in: the maximum of SAME ignores what is outside, that of zeros does not.
Outcome padBeforePooling(Site& site, OperatorId root)
{
    const Operator& op = site.editor().op(root);
    const OperatorId producer = site.producer(op.inputs.at(0));
    if (!producer.valid() || !neutralKind(site.editor().op(producer).kind).starts_with("pad")) return Outcome::nothing();
    const bool isMaximum = neutralKind(op.kind) == "max_pool_2d";
    return Outcome::declined(site.labelOf(root) + "+pad_same", isMaximum ? "SAME max pooling pads with minus infinity, PAD with 0"
                                                                         : "SAME average pooling does not count what it pads");
}

/// The same of sequences, which the convolution sees as pictures of height (or width) 1: SpaceToBatch, ExpandDims, convolution, Squeeze,
/// BatchToSpace.
class SequenceDilation {
public:
    SequenceDilation(Site& site, OperatorId root) : m_site(site), m_root(root), m_back(site.editor().op(root)) {}

    Outcome read()
    {
        m_squeeze = m_site.producer(m_back.inputs.at(0), &m_ops);
        if (!is(m_squeeze, "squeeze")) return Outcome::nothing();
        m_middle = m_site.producer(op(m_squeeze).inputs[0], &m_ops);
        m_affine = readAffine(m_site, m_middle);
        if (!m_affine || !isConvolution(*m_affine)) return Outcome::nothing();
        m_expand = m_site.producer(op(m_middle).inputs[0], &m_ops);
        if (!is(m_expand, "expand_dims") && !is(m_expand, "reshape")) return Outcome::nothing();
        m_front = m_site.producer(op(m_expand).inputs[0], &m_ops);
        if (!is(m_front, "space_to_batch_nd")) return Outcome::nothing();
        if (std::string reason = obstacle(); !reason.empty())
            return Outcome::declined(m_site.labelOf(m_middle) + "+dilation", std::move(reason));
        return write();
    }

private:
    const Operator& op(OperatorId id) const { return m_site.editor().op(id); }
    bool is(OperatorId id, std::string_view kind) const { return id.valid() && neutralKind(op(id).kind) == kind; }

    std::string obstacle()
    {
        if (!m_affine->refused.empty()) return m_affine->refused;
        if (is(m_expand, "reshape")) return "the sequence becomes a picture by a reshape";
        const Operator& forth = op(m_front);
        const auto blocks = m_site.constants().integers(forth.inputs[1]), pads = m_site.constants().integers(forth.inputs[2]);
        const auto blocksBack = m_site.constants().integers(m_back.inputs[1]), crops = m_site.constants().integers(m_back.inputs[2]);
        const auto axis = m_site.constants().integers(op(m_expand).inputs.at(1));
        const Shape shape = m_site.typeOf(m_site.behindIdentities(forth.inputs[0])).dynamicShape();
        if (!blocks || !pads || !blocksBack || !crops || !axis) return "block sizes, paddings, crops and axis must be constants";
        if (*blocks != *blocksBack) return "SpaceToBatch and BatchToSpace use different blocks";
        if (blocks->size() != 1 || shape.rank() != 3 || shape[1] < 0) return "not a sequence of known length";
        m_axis = axis->at(0) < 0 ? axis->at(0) + 4 : axis->at(0);
        const std::vector<int64_t> squeezed = attributeInts(op(m_squeeze).attributes, "squeeze_dims");
        if ((m_axis != 1 && m_axis != 2) || squeezed.size() != 1 || (squeezed[0] + 4) % 4 != m_axis)
            return "the dimension that comes does not go";
        if (attributeWord(m_affine->attributes, "padding", "") != "VALID") return "the inner convolution pads";
        std::vector<Window> windows = windowsOf(*m_affine);
        if (windows.empty()) return "the filter is no constant";
        for (const Window& window : windows)
            if (window.dilation != 1 || window.stride != 1) return "the inner convolution has strides or dilations";
        Window& along = windows[m_axis == 1 ? 1 : 0];
        if (windows[m_axis == 1 ? 0 : 1].size != 1) return "the filter is no row";
        m_block = along.dilation = blocks->at(0);
        const int64_t before = pads->at(0) - crops->at(0), behind = pads->at(1) - crops->at(1);
        if ((shape[1] + pads->at(0) + pads->at(1)) % m_block != 0) return "the padded length is no multiple of the block";
        m_isValid = before == 0 && behind == 0;
        if (!m_isValid && std::pair(before, behind) != samePadding(along, shape[1]))
            return "padding less crop is neither none nor what SAME pads";
        for (const OperatorId id : {m_front, m_expand, m_middle, m_squeeze, m_root}) m_ops.push_back(id);
        return m_site.outliveAny(m_ops, m_root).value_or("");
    }

    Outcome write()
    {
        GraphEditor& editor = m_site.editor();
        const std::string name = m_site.nameOf(m_root);
        const Operator expand = op(m_expand), squeeze = op(m_squeeze);
        const Shape sequence = m_site.typeOf(op(m_front).inputs[0]).shape, outcome = m_site.typeOf(m_back.results[0]).shape;
        const auto picture = [&](const Shape& of) {
            Shape shape;
            for (int d = 0; d < of.rank(); ++d) {
                if (d == static_cast<int>(m_axis)) shape.append(1);
                shape.append(of[d]);
            }
            return TensorType(DType::f32, of.hasRank() ? shape : Shape::unknownRank());
        };
        OperatorDraft wider;
        wider.kind = expand.kind;
        wider.attributes = expand.attributes;
        wider.name = name + "/picture";
        wider.inputs = {op(m_front).inputs[0], expand.inputs[1]};
        wider.results = {picture(sequence)};
        m_affine->inputs[0] = editor.op(editor.insert(std::move(wider), m_expand, InsertPoint::before(m_root))).results[0];
        setAttribute(m_affine->attributes, "padding", Word{m_isValid ? "VALID" : "SAME"});
        setAttribute(m_affine->attributes, m_axis == 1 ? "dilation_w_factor" : "dilation_h_factor", m_block);
        std::set<std::string> parts = m_site.partsOf(m_middle);
        parts.insert("dilation");
        OperatorDraft convolution = affineDraft(m_site, *m_affine, name, m_root);
        convolution.name = name + "/convolution";
        convolution.results = {picture(outcome)};
        const OperatorId made = editor.insert(std::move(convolution), {m_front, m_middle, m_root}, InsertPoint::before(m_root));
        m_site.setParts(made, std::move(parts));
        OperatorDraft last;
        last.kind = squeeze.kind;
        last.attributes = squeeze.attributes;
        last.inputs = {editor.op(made).results[0]};
        last.results = {m_site.typeOf(m_back.results[0])};
        Outcome result = Outcome::made(m_site.fuse(m_ops, std::move(last), {}));
        m_site.setParts(result.fused, {});
        result.to = m_site.labelOf(made);
        return result;
    }

    Site& m_site;
    OperatorId m_root;
    const Operator m_back;
    OperatorId m_squeeze, m_middle, m_expand, m_front;
    std::vector<OperatorId> m_ops;
    std::optional<Affine> m_affine;
    int64_t m_axis = 0, m_block = 1;
    bool m_isValid = false;
};

Outcome sequenceDilation(Site& site, OperatorId root) { return SequenceDilation(site, root).read(); }

Outcome dilation(Site& site, OperatorId root)
{
    const Operator back = site.editor().op(root);
    std::vector<OperatorId> ops, passed;
    const OperatorId middle = site.producer(back.inputs.at(0), &passed);
    std::optional<Affine> affine = readAffine(site, middle);
    if (!affine || !isConvolution(*affine)) return Outcome::nothing();
    const OperatorId front = site.producer(site.editor().op(middle).inputs[0], &ops);
    if (!front.valid() || neutralKind(site.editor().op(front).kind) != "space_to_batch_nd") return Outcome::nothing();
    const Operator forth = site.editor().op(front);
    const auto declined = [&](std::string reason) { return Outcome::declined(site.labelOf(middle) + "+dilation", std::move(reason)); };
    if (!affine->refused.empty()) return declined(affine->refused);
    const auto blocks = site.constants().integers(forth.inputs[1]), pads = site.constants().integers(forth.inputs[2]);
    const auto blocksBack = site.constants().integers(back.inputs[1]), crops = site.constants().integers(back.inputs[2]);
    if (!blocks || !pads || !blocksBack || !crops) return declined("block sizes, paddings and crops must be constants");
    if (*blocks != *blocksBack) return declined("SpaceToBatch and BatchToSpace use different blocks");
    if (blocks->size() != 2 || pads->size() != 4 || crops->size() != 4) return declined("not two dimensions");
    if (attributeWord(affine->attributes, "padding", "") != "VALID") return declined("the inner convolution pads");
    std::vector<Window> windows = windowsOf(*affine);
    if (windows.empty()) return declined("the filter is no constant");
    for (const Window& window : windows)
        if (window.dilation != 1 || window.stride != 1) return declined("the inner convolution has strides or dilations");
    const Shape shape = site.shapeOf(forth.inputs[0]);
    bool isValid = true, isSame = true;
    for (size_t d = 0; d < 2; ++d) { // what is computed: padding and then a VALID dilated convolution, of which the crop takes away
        windows[d].dilation = (*blocks)[d];
        const int64_t before = (*pads)[2 * d] - (*crops)[2 * d], behind = (*pads)[2 * d + 1] - (*crops)[2 * d + 1];
        isValid = isValid && before == 0 && behind == 0;
        const int64_t length = shape.hasRank() && shape.rank() == 4 ? shape[static_cast<int>(d) + 1] : -1;
        if (length < 0) return declined("height and width are unknown");
        if ((length + (*pads)[2 * d] + (*pads)[2 * d + 1]) % (*blocks)[d] != 0)
            return declined("the padded size is no multiple of the block");
        isSame = isSame && std::pair(before, behind) == samePadding(windows[d], length);
    }
    if (!isValid && !isSame) return declined("padding less crop is neither none nor what SAME pads");
    ops.insert(ops.begin(), front);
    ops.push_back(middle);
    ops.insert(ops.end(), passed.begin(), passed.end());
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    affine->inputs[0] = forth.inputs[0];
    setAttribute(affine->attributes, "padding", Word{isValid ? "VALID" : "SAME"});
    setAttribute(affine->attributes, "dilation_h_factor", (*blocks)[0]);
    setAttribute(affine->attributes, "dilation_w_factor", (*blocks)[1]);
    return Outcome::made(writeAffine(site, *affine, std::move(ops), {"dilation"}));
}

} // namespace

std::span<const Rule> paddingRules()
{
    static const std::vector<Rule> rules = {
        {"pad-same", FusionEquality::exact, {}, "", nullptr, {"conv_2d", "depthwise_conv_2d"}, padIntoConvolution},
        {"pad-pooling", FusionEquality::exact, {}, "", nullptr, {"max_pool_2d", "average_pool_2d"}, padBeforePooling},
        {"dilation", FusionEquality::realEqual, {}, "", nullptr, {"batch_to_space_nd"}, dilation},
        {"dilation-of-sequences", FusionEquality::realEqual, {}, "", nullptr, {"batch_to_space_nd"}, sequenceDilation},
    };
    return rules;
}

} // namespace loopscope::fusing
