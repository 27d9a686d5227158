// What a model was made from by a rewrite: the model says it itself, so that its file and recordings of its runs know. TensorFlow graphs
// keep it in attributes that TensorFlow ignores, TFLite and Circle models in metadata.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Attributes of operators of TensorFlow graphs: on the first operator, one line for each model; on any, nodes of the source.
inline constexpr std::string_view kDerivedFrom = "_derived_from";
inline constexpr std::string_view kOriginNodes = "_origin_nodes";
/// Entries of the metadata of other models.
inline constexpr std::string_view kDerivedFromEntry = "loopscope.derived_from";
inline constexpr std::string_view kOriginEntry = "loopscope.origin";

/// A model that another was made from.
struct Derivation {
    std::string step;   ///< "raise", "fuse", "lower", …: what made the other of it; one word
    std::string format; ///< extension of its file: "pb"
    uint64_t bytes = 0; ///< of its file
    std::string hash;   ///< XXH3-128 of its file, 32 hex digits
    std::string name;   ///< of its file, without folders
    bool operator==(const Derivation&) const = default;
};

/// What the model was made from, the nearest first; empty: it does not say. Lines that nobody could have written are left out.
std::vector<Derivation> derivationsOf(const Model& model);

/// Writes down that `model` was made from `source`, which `from` describes and whose own derivations go along, and where its operators
/// came from there. Of a TFLite or Circle source that knows where its own came from they are traced back to that.
void recordDerivation(Model& model, const Derivation& from, const Model& source);

/// Where the operators of a derived model came from, by graph and operator; in TensorFlow graphs what says nothing stands for itself.
/// Empty: a TFLite or Circle model that says nothing, or nothing that fits it.
std::vector<std::vector<std::vector<std::string>>> derivedOrigins(const Model& model);

} // namespace loopscope
