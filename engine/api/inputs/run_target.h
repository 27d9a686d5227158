// What of a model is run: a signature's graph or the primary one, with the names under which its inputs and outputs are known.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// One input or output of the graph that runs.
struct Port {
    std::string name;                 ///< as shown: the signature's name if one was asked for, else the value's id
    std::vector<std::string> aliases; ///< further accepted names: id, full name, names in signatures
    ValueId value;
    int index = 0; ///< among the graph's inputs or outputs
    TensorType type;
};

struct RunTarget {
    GraphId graph;
    std::string signature;             ///< empty: none
    std::vector<Port> inputs, outputs; ///< in graph order
};

/// `signature` empty: the only one, else `serving_default`, else the primary graph. Names shown are the signature's only if it was
/// asked for. Errors: usage with near names; badFile if the model has no graph.
Result<RunTarget> selectTarget(const Model& model, const std::string& signature);

/// The input of that name. Errors: usage, "input 'X': no such input; did you mean 'x'? (inputs: x: i32[])".
Result<const Port*> findInput(const RunTarget& target, std::string_view name);

} // namespace loopscope
