// The course of a run as the timeline draws it: executions of calls, iterations of loops, lanes of v1 iterations. Fed with the parts of a
// survey as they come; holds a bounded number of entries and says when it had to leave some out. No widgets.
#pragma once

#include "engine/api/inspector.h"
#include "viewer/timeline/event_pyramid.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace loopscope::viewer {

/// One iteration, [first, end) in steps.
struct CourseIteration {
    int64_t first = 0, end = -1; ///< −1: not over yet
    int64_t iteration = 0;
    InvocationId caller = 0;
};

/// All executions of one loop, in order of time.
struct CourseLoop {
    GraphId callerGraph, body;
    OperatorId site;
    std::vector<CourseIteration> iterations;
    EventPyramid starts; ///< of the iterations, flags 1

    /// The iteration that runs when `step` operators have completed; iterations.size(): none.
    size_t indexAt(int64_t step) const;
};

/// One execution of a call operator: a loop, a branch, a function.
struct CourseSpan {
    GraphId callerGraph;
    OperatorId site;
    int depth = 0; ///< of the caller: 0 = root
    int64_t first = 0, end = -1;
    InvocationId caller = 0;
};

/// Flags of the events in a v1 lane.
enum LaneFlag : uint8_t { laneLive = 1, laneDead = 2, laneInnerLive = 4, laneInnerDead = 8 };

/// v1: one iteration of an outermost frame, or what runs outside of frames.
struct CourseLane {
    int64_t iteration = -1; ///< −1: the root
    EventPyramid events;
};

class RunCourse {
public:
    static constexpr size_t kMostIterations = size_t{1} << 21;
    static constexpr size_t kMostSpans = size_t{1} << 16;
    static constexpr size_t kMostLanes = 512;
    static constexpr size_t kMostEvents = size_t{1} << 22; ///< v1: operators in lanes
    static constexpr int kSpanDepth = 3;

    /// Adds the next part. A part that begins at tick 0 begins the course anew.
    void add(const RunSurvey& part);
    void clear();

    const std::vector<CourseLoop>& loops() const { return m_loops; }
    const std::vector<CourseSpan>& spans() const { return m_spans; }
    const std::vector<CourseLane>& lanes() const { return m_lanes; }
    const std::vector<int64_t>& checkpoints() const { return m_checkpoints; }
    /// −1: this loop did not run.
    int findLoop(GraphId callerGraph, OperatorId site) const;
    int64_t knownTick() const { return m_knownTick; } ///< up to where parts have come
    int64_t knownStep() const { return m_knownStep; }
    std::optional<int64_t> endStep() const { return m_endStep; } ///< of the run, if it came to its end
    bool isTruncated() const { return m_truncated; }

private:
    struct Open {
        int loop = -1; ///< of an iteration
        size_t index = 0;
        int span = -1; ///< of another invocation
        int depth = 0;
        int64_t outerIteration = -1; ///< v1: of the outermost frame around
        bool isInner = false;
    };
    void begin(const SurveyedInvocation& invocation);
    void end(const SurveyedEnd& ended);
    void endLoop(const SurveyedLoop& ended);
    void addOperator(const SurveyedOperator& event);
    CourseLane& lane(int64_t iteration);

    std::vector<CourseLoop> m_loops;
    std::vector<CourseSpan> m_spans;
    std::vector<CourseLane> m_lanes;
    std::vector<int64_t> m_checkpoints;
    std::unordered_map<InvocationId, Open> m_open;
    size_t m_iterations = 0, m_events = 0;
    int64_t m_knownTick = 0, m_knownStep = 0;
    std::optional<int64_t> m_endStep;
    bool m_truncated = false;
};

} // namespace loopscope::viewer
