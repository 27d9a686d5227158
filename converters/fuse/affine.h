// Convolutions and matrix products of both dialects in one form: constant weights in TFLite's layout, a bias, an activation.
#pragma once

#include "converters/fuse/site.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::fusing {

struct Affine {
    OperatorId op;
    std::string kind;            ///< "conv_2d", "depthwise_conv_2d", "fully_connected", "conv_3d", "transpose_conv"
    std::vector<ValueId> inputs; ///< TFLite's, without weights and bias: [x], transpose_conv: [output shape, x]
    Numbers weights;             ///< empty: `weightsValue` stays
    ValueId weightsValue;
    std::vector<float> bias; ///< one for each channel; zero where there is none
    ValueId biasValue;       ///< valid: holds `bias` already, in a form of its own
    bool hasBias = false;
    int64_t channels = 0;
    AttributeList attributes;     ///< TFLite's
    bool isFakeQuantized = false; ///< the weights lie on the steps of one scale, which a factor for each channel would undo
    bool isChanged = false;       ///< weights are no longer `weightsValue`
    bool isBiasDynamic = false;   ///< why it is refused: the bias is computed
    std::string refused;          ///< why there is nothing that could be fused into

    std::string activation() const { return std::string(attributeWord(attributes, "act", "NONE")); }
    /// Multiplies the weights of channel c, and the bias, by factors[c].
    void scale(const std::vector<float>& factors);
    int64_t inputChannels() const; ///< of the weights: numbers that stand along the last dimension of the operand
    size_t inputOf(size_t weight) const;
    /// Multiplies the weights of input i by factors[i].
    void scaleInputs(const std::vector<float>& factors);
};

/// Whether the operator is one, and if it can take something in: `refused` says why not.
std::optional<Affine> readAffine(Site& site, OperatorId op);
/// "CONV_2D+bias+…": what `affine` would be called with these parts.
std::string affineLabel(Site& site, const Affine& affine, std::string_view with);
/// TFLite's operator with its constants before `before`, without a result.
OperatorDraft affineDraft(Site& site, const Affine& affine, const std::string& name, OperatorId before);
/// `affine` in place of `ops`, whose last is the root.
OperatorId writeAffine(Site& site, const Affine& affine, std::vector<OperatorId> ops, std::initializer_list<std::string> parts);
/// Why what was put into weights and bias may not stay there: infinities and what is no number spread in another way. Empty: it may.
std::string unfinite(const Affine& affine);
/// Whether the weights are a constant of i8 behind a DEQUANTIZE.
bool isStoredQuantized(const Site& site, const Affine& affine);
/// Multiplies the scales of such weights, and the bias, by `factors`; stored numbers take the signs. Empty, or why it cannot be done.
std::string scaleQuantized(Site& site, Affine& affine, const std::vector<float>& factors, OperatorId before);
/// A constant as one number for each channel: a scalar, [C] or [1,…,1,C].
std::optional<std::vector<float>> perChannel(const Numbers& numbers, int64_t channels, int rank);
/// Rank of the operator's result.
int rankOf(const Affine& affine);

} // namespace loopscope::fusing
