// Fusion: operators that together compute what one operator of TFLite computes become that one. Every rewrite is told with what it was
// made of, every place that began to look like one and was refused with the first condition that failed.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/run_selection.h"

#include <cstdint>
#include <memory>
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

/// A place where a rule is not to be used.
struct FusionPlace {
    std::string rule, graph, where;
    bool operator==(const FusionPlace&) const = default;
};

/// What becomes of STABLEHLO_COMPOSITE: the operator of its name where there is one, itself, or what its body computes.
enum class Composites : uint8_t { operators, keep, body };

struct FusionOptions {
    std::vector<std::string> only; ///< rules to use; empty: all
    std::vector<std::string> skipped = {};
    std::vector<FusionPlace> forbidden = {};
    int64_t mostWeightBytes = int64_t{1} << 27; ///< weights that are larger take no factors in: the file would grow by a copy of them
    bool isReverse = false;                     ///< operators become what they were made of: the rules are those that begin with `unfuse-`
    Composites composites = {};
    bool isForCircle = false;   ///< the result becomes a .circle file: operators that only Circle has may come out
    double nearness = 0;        ///< how far, as a part of them, constants may be from those of a pattern; what is so is approximate
    bool followsShapes = false; ///< .tflite: shapes that were unknown are inferred between rewrites; in TensorFlow's graphs they always are
    bool fusesTanh = false;     ///< TANH goes into other operators, for runtimes whose kernels run it there
    bool keepsRegions = false;  ///< every rewrite with what it replaced, so that it can be proved
    std::vector<std::string> keeps; ///< values that a session asks for, `node` or `node:slot`: they stay what they are
    /// TensorFlow: what is run of the model. With it variables that nothing writes become constants, and calls what they call.
    std::optional<RunSelection> selection = {};
    GraphId root = GraphId(0);
    std::string signature = {};
};

/// What a rewrite replaced and what by, as models with one signature: the same inputs, and outputs that are to be the same.
struct FusionRegion {
    static constexpr const char* kSignature = "region";
    static constexpr std::string_view kSuffix = "/region"; ///< its graph is called after the one that it is part of
    Model before, after;
    std::vector<std::string> inputs; ///< ids of the values that it begins with
};

/// Where an approximate rewrite is equal: "equal while x <= 88.72".
struct FusionDomain {
    std::string value;    ///< id
    std::string relation; ///< "<=", ">", "is a number", "is finite"; "within": its amount is no larger
    double limit = 0;
};

/// One rewrite.
struct Fusion {
    std::string rule;
    std::string graph, name; ///< where the new operator is, and what it is called
    std::string to;          ///< `CONV_2D+bias+RELU`
    std::vector<std::string> from;
    FusionEquality equality = FusionEquality::exact;
    std::string where = {};                               ///< the operator at which the rule began
    std::optional<FusionDomain> domain = {};              ///< nothing: everywhere, or not known
    std::shared_ptr<const FusionRegion> region = nullptr; ///< with keepsRegions; null: nothing that is read has changed
    std::string note = {};                                ///< what else is to be said of it
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
    std::vector<FusionDeclined> declinedAtFused; ///< why an operator that took something in did not take in more
    std::vector<FusionLabel> labels;
    std::vector<FusedOperator> operators; ///< all of the fused model
    std::shared_ptr<const Model> opened;  ///< with keepsRegions: what the patterns were looked for in
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

/// What comes before the patterns, alone: of a TensorFlow model, variables that nothing writes become constants, and calls what they call.
Status openForFusion(Model& model, const FusionOptions& options);

} // namespace loopscope
