// Where the rewrites of a comparison with the fused model stand in both pictures: what each was made of in A, and what it made in B.
#pragma once

#include "viewer/bridge/fused_side.h"
#include "viewer/compare/paired_scenes.h"

#include <map>
#include <string>
#include <vector>

namespace loopscope::viewer {

struct RewritePlaces {
    std::vector<std::string> here; ///< static addresses, as drawn
    std::vector<std::string> there;
};

/// As FusedSide::rewrites; what is not drawn has no place.
std::vector<RewritePlaces> placesOfRewrites(const FusedSide& fused, const Model& here, const Scene& a, const Model& there, const Scene& b);
/// Where an operator of that name is drawn; empty: nowhere.
std::string placeOfOperator(const Model& model, const Scene& scene, const std::string& graph, const std::string& name);
std::string placeOfOperator(const Model& model, const Scene& scene, GraphId graph, OperatorId op);

/// `scenes`, in which what went into a rewrite is no longer an operator that only one side has.
void takeFused(PairedScenes& scenes, const std::vector<RewritePlaces>& places);

} // namespace loopscope::viewer
