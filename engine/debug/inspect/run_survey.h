// What ran in a part of the run, as far as the present timeline was run before: invocations with their first steps, and the writes and
// reads of one value. What a picture of the run's time is drawn from. Long runs are surveyed part by part, so that nobody waits for a whole
// one.
#pragma once

#include "engine/debug/target.h"
#include "engine/observe/events.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

struct SurveyRequest {
    Tick fromTick = 0; ///< where the part before this one ended; 0: the start
    GraphId graph;     ///< of the value whose writes and reads are wanted; invalid: none
    ValueId value;
    bool invocations = true;
    bool operators = false;        ///< each operator that completed, too: v1 graphs, where iterations overlap
    int64_t budgetNs = 20'000'000; ///< about how long this part may take
    int64_t maxEvents = 1 << 16;   ///< the part ends after about so many
};

/// An invocation that began: of a loop one per iteration.
struct SurveyedInvocation {
    InvocationId id = 0, parent = 0;
    CallRole role = CallRole::main;
    GraphId callerGraph; ///< graph of the call operator; invalid for the root
    OperatorId site;
    GraphId graph; ///< of a loop its body
    int64_t iteration = -1;
    Step firstStep = 0; ///< of the next operator to complete
};

struct SurveyedEnd {
    InvocationId id = 0;
    Step endStep = 0; ///< of the next operator to complete
};

/// A loop that came to its end: its iterations are 0 to trips − 1; the invocation after them held nothing but its condition.
struct SurveyedLoop {
    InvocationId caller = 0; ///< invocation of the call operator
    OperatorId site;
    int64_t trips = 0;
    Step endStep = 0;         ///< behind the loop
    Tick endTick = INT64_MAX; ///< of the stop after it; INT64_MAX: not known
    GraphId graph = {};       ///< of the call operator
    std::string address = {}; ///< of that operator; empty beyond the first kNamedLoops of a part
};

constexpr size_t kNamedLoops = 4096;

struct SurveyedAccess {
    Step step = 0;
    bool isWrite = false;
    bool isAbnormal = false; ///< a write that holds NaN or infinity
};

struct SurveyedOperator {
    Step step = 0;
    InvocationId invocation = 0;
    GraphId graph;
    OperatorId op;
    bool isDead = false;
};

struct RunSurvey {
    Tick fromTick = 0, toTick = 0; ///< the part; the next one begins at toTick
    Step toStep = 0;               ///< operators completed at toTick
    Tick frontierTick = 0;         ///< how far this timeline was run
    bool reachedFrontier = false;
    bool reachedEnd = false;                     ///< of the run
    TimelineId timeline;                         ///< of Timeline
    int64_t run = 0;                             ///< Timeline::runs(): parts of different runs do not belong together
    std::vector<SurveyedInvocation> invocations; ///< in order of starting
    std::vector<SurveyedEnd> ends;
    std::vector<SurveyedLoop> loops;      ///< that ended
    std::vector<SurveyedAccess> accesses; ///< in order
    std::vector<SurveyedOperator> operators;
    std::vector<Step> checkpointSteps; ///< of all checkpoints of this timeline; only where the frontier is reached
};

/// Executes the part again and listens; stands where it stood afterwards. Never runs what was not run before. Errors: of Timeline; usage
/// where no run was started.
Result<RunSurvey> surveyRun(const DebugTarget& target, const SurveyRequest& request);

} // namespace loopscope
