// What of a model is run: a signature's graph or the primary one, with the names under which its inputs and outputs are known.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// One input or output of the graph that runs.
struct Port {
    std::string name;                 ///< as shown: the signature's name if there is one, else the value's id
    std::vector<std::string> aliases; ///< further accepted names: id, full name, names in signatures
    ValueId value;
    int index = 0; ///< among the graph's inputs or outputs
    TensorType type;
    bool isRead = true; ///< of an input: false where nothing reads it, so that it need not be given
};

struct RunTarget {
    GraphId graph;
    std::string signature;             ///< empty: none
    std::vector<Port> inputs, outputs; ///< in graph order
};

/// The signature of that key; of an empty one the only signature, else `serving_default`. Those that only initialise are not counted
/// unless they are asked for. Null: there is none, or it is not clear which.
const Signature* chooseSignature(const Model& model, std::string_view key);
/// TensorFlow keeps initialisers of SavedModels as signatures, too.
bool isInitialiser(const Signature& signature);
/// Keys of the signatures that can be run, "f, g".
std::string signatureNames(const Model& model);
/// Errors: usage, if a key was asked for that there is not; with all there are.
Status checkSignature(const Model& model, const std::string& key);

/// `signature` empty: the only one, else `serving_default`, else the primary graph. Names shown are the signature's where it has some.
/// Errors: usage with near names; badFile if the model has no graph.
Result<RunTarget> selectTarget(const Model& model, const std::string& signature);

/// The port that is shown under a name, else the first that has it as a further one; null: none.
const Port* findPort(std::span<const Port> ports, std::string_view name);
/// The id of the value that a signature calls `name` on one of its sides; other names as they are.
std::string signatureValue(const Model& model, const Signature* signature, std::vector<SignatureBinding> Signature::*side,
                           const std::string& name);
/// Names ports that were selected by their values' ids as the signature names them; the ids stay as further names.
void nameBySignature(const Model& model, const Signature& signature, RunTarget& target);

/// The input of that name. Errors: usage, "input 'X': no such input; did you mean 'x'? (inputs: x: i32[])".
Result<const Port*> findInput(const RunTarget& target, std::string_view name);

} // namespace loopscope
