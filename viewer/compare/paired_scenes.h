// Two pictures beside each other: the scenes of both sides with one operator a row, moved apart until partners stand at the same height.
// No widgets; built on a thread.
#pragma once

#include "engine/debug/reference/operator_match.h"
#include "viewer/scene/scene.h"

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// Operators that belong together. Addresses are static; ids of nodes where the scenes draw them, else of the region that they are.
struct PairedRow {
    std::string here, there;
    PairedBy how = PairedBy::address;
    double y = 0, height = 20; ///< of this side
    bool isRegion = false;     ///< a call that is drawn open: the row is its head
};

struct PairedScenes {
    std::shared_ptr<const Scene> here, there;
    std::vector<PairedRow> rows;                                           ///< in listing order of this side
    std::vector<std::string> onlyHere, onlyThere;                          ///< operators without a partner, in listing order
    std::unordered_map<std::string, std::vector<int>> rowsHere, rowsThere; ///< by address
    std::unordered_map<std::string, std::string> framesHere, framesThere;  ///< v1: id of a frame → that of its partner
};

/// What stays closed, as ViewState::folded.
struct FoldedSides {
    std::set<std::string> here, there;
};

struct ComparedModel {
    const Model* model = nullptr;
    GraphId root;
};

/// Errors: cancelled. Both models must outlive the call.
Result<std::shared_ptr<const PairedScenes>> pairScenes(const ComparedModel& here, const ComparedModel& there, const ValuePairing& pairing,
                                                       bool dense, const FoldedSides& folded, const TextMeasure& measure,
                                                       const SceneProgress& progress = {});

/// Moves rows down until the tops of `pairs` (y in `a`, y in `b`; both rising) agree, and makes both pictures equally large.
void alignRows(Scene& a, Scene& b, const std::vector<std::pair<double, double>>& pairs);

} // namespace loopscope::viewer
