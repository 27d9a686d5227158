// What the engine says about lines of the listing: values of operators at the present stop, in the iteration before it, or at another
// moment. On the engine's thread.
#pragma once

#include "engine/api/inspector.h"
#include "viewer/bridge/branch_sides.h"
#include "viewer/bridge/elsewhere.h"

#include <map>
#include <vector>

namespace loopscope::viewer {

/// An operator on a line.
struct ListingQuestion {
    int line = 0;
    GraphId graph;
    OperatorId op;
};

struct ListingFacts {
    std::map<int, OperatorValues> values; ///< by line
    std::map<int, int> taken;             ///< by line of a branch operator: 0 then, 1 else, or the branch's number
};

/// Of frames of this stop, by depth; `earlier`: where an operator of the innermost one has not run, also what it gave before.
ListingFacts factsHere(Inspector& inspector, const std::map<int, std::vector<ListingQuestion>>& questions, bool earlier);

/// Lines of one invocation of another moment.
struct ListingElsewhere {
    ValuePlace place;
    std::vector<ListingQuestion> questions;
};
struct ListingElsewhereFacts {
    ListingFacts facts;
    std::map<int, ReadElsewhere> read; ///< by line
};
ListingElsewhereFacts factsElsewhere(Inspector& inspector, const std::vector<ListingElsewhere>& invocations);

} // namespace loopscope::viewer
