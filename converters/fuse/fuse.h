// Fusion: operators that together compute what one operator of TFLite computes become that one. Every rewrite is told with what it was
// made of, every place that began to look like one and was refused with the first condition that failed.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/run_selection.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What a rewrite promises of the numbers: how far its result may be from what it replaces.
enum class FusionEquality : uint8_t {
    exact,       ///< bit for bit
    realEqual,   ///< the same real function; roundings differ
    approximate, ///< equal on a domain, or within an error
};
/// "exact", "real-equal", "approximate"
std::string_view equalityText(FusionEquality equality);

struct FusionOptions {
    std::vector<std::string> only;  ///< rules to use; empty: all
    std::vector<std::string> keeps; ///< values that a session asks for, `node` or `node:slot`: they stay what they are
    /// TensorFlow: what is run of the model. With it variables that nothing writes become constants, and calls what they call.
    std::optional<RunSelection> selection = {};
    GraphId root = GraphId(0);
    std::string signature = {};
};

/// One rewrite.
struct Fusion {
    std::string rule;
    std::string graph, name; ///< where the new operator is, and what it is called
    std::string to;          ///< `CONV_2D+bias+RELU`
    std::vector<std::string> from;
    FusionEquality equality = FusionEquality::exact;
};

/// A place that a rule began to match.
struct FusionDeclined {
    std::string rule;
    std::string graph, where; ///< the operator at which the rule began
    std::string to;           ///< what would have come out
    std::string reason;       ///< the first condition that failed
};

/// A place that computes what TFLite has no operator for, by the name that others have for it. Nothing is changed.
struct FusionLabel {
    std::string graph, where; ///< its last operator
    std::string name;         ///< `SWISH`
};

/// An operator of the result, with everything that went into it.
struct FusedOperator {
    std::string graph, name;
    std::string label; ///< `CONV_2D+pad_same+bias+RELU`; of an untouched operator only its TFLite name
    bool isFused = false;
};

struct FusionReport {
    std::vector<Fusion> rewrites;
    std::vector<FusionDeclined> declined;
    std::vector<FusionLabel> labels;
    std::vector<FusedOperator> operators; ///< all of the fused model
};

/// A rule, for lists and help.
struct FusionRuleInfo {
    std::string name;
    FusionEquality equality = FusionEquality::exact;
    std::vector<std::string> patterns; ///< as written; empty: the rule is code
};
std::vector<FusionRuleInfo> fusionRules();

/// Fuses all graphs to a fixed point. Fused operators of a TensorFlow graph are TFLite's (`tfl.conv_2d`), which run beside TensorFlow's.
/// Errors: usage (an unknown rule).
Result<FusionReport> fuseOperators(Model& model, const FusionOptions& options = {});

} // namespace loopscope
