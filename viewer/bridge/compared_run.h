// What a session holds its run against, as the panels that compare see it.
#pragma once

#include "engine/api/inspector.h"

#include <memory>
#include <string>
#include <vector>

namespace loopscope::viewer {

struct ComparedRun {
    /// The engine's thread drives it; its name, models and pairing any thread may read. Null: there is none.
    std::shared_ptr<const Reference> reference;
    GraphId root;     ///< what this side runs
    std::string path; ///< the other side's file, or fusedSideText()
    /// Names of classes that the files of both sides say, in order; empty: they say none. Those of this side also without a reference.
    std::shared_ptr<const std::vector<std::string>> labelsHere, labelsThere;
    /// What `drift` found last with these inputs; null: it was not asked.
    std::shared_ptr<const Drift> drift;
};

} // namespace loopscope::viewer
