// Lowering: a TensorFlow graph becomes a TFLite one, operator by operator, with its names; what has no form there is listed.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope {

struct LowerOptions {
    bool allowCustom = false; ///< what has no form becomes a custom operator of its TensorFlow name
};

/// An operator that TFLite has no form for.
struct NoForm {
    std::string place;  ///< "main/decode/Bitcast"
    std::string kind;   ///< "Bitcast"
    std::string reason; ///< "no operator of TFLite does it", "C2: …"
};

struct LoweredModel {
    Model model;                    ///< dialect tfl; complete only if `noForm` is empty
    std::vector<NoForm> noForm;     ///< each place once
    std::vector<std::string> notes; ///< what was left out, and copies that LiteRT's While needs
};

/// `root` has inputs and outputs of its own, and what it runs is in an order of execution (selectForRun); variables that are never written
/// are constants (freezeVariables). Signatures of `root` are kept. Operators know the nodes that they stand for (Operator::origin).
/// Errors: unsupported, for what is wrong with the whole: v1 control flow, functions that call themselves.
Result<LoweredModel> lowerToTflite(const Model& model, GraphId root, const LowerOptions& options = {});

} // namespace loopscope
