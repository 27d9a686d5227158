#include "viewer/timeline/run_course.h"

#include <algorithm>

namespace loopscope::viewer {

size_t CourseLoop::indexAt(int64_t step) const
{
    const auto after = std::ranges::upper_bound(iterations, step, {}, &CourseIteration::first);
    if (after == iterations.begin()) return iterations.size();
    const auto at = std::prev(after);
    return at->end < 0 || step < at->end || at->first == step ? static_cast<size_t>(at - iterations.begin()) : iterations.size();
}

void RunCourse::clear() { *this = RunCourse(); }

int RunCourse::findLoop(GraphId callerGraph, OperatorId site) const
{
    for (size_t i = 0; i < m_loops.size(); ++i)
        if (m_loops[i].callerGraph == callerGraph && m_loops[i].site == site) return static_cast<int>(i);
    return -1;
}

void RunCourse::add(const RunSurvey& part)
{
    if (part.fromTick == 0) clear();
    if (part.fromTick != m_knownTick) return; // belongs to another course
    size_t ended = 0, finished = 0;
    const auto catchUp = [&](int64_t step, InvocationId before) {
        while (ended < part.ends.size() && part.ends[ended].endStep <= step && part.ends[ended].id < before) end(part.ends[ended++]);
        while (finished < part.loops.size() && part.loops[finished].endStep <= step) endLoop(part.loops[finished++]);
    };
    // At one step what ends ends before something begins. Operators of v1 graphs look their invocation up: it stays until they are added.
    for (const SurveyedInvocation& invocation : part.invocations) {
        if (part.operators.empty()) catchUp(invocation.firstStep, invocation.id);
        begin(invocation);
    }
    for (const SurveyedOperator& event : part.operators) addOperator(event);
    catchUp(INT64_MAX, INT64_MAX);
    if (part.reachedFrontier) m_checkpoints.assign(part.checkpointSteps.begin(), part.checkpointSteps.end());
    m_knownTick = part.toTick;
    m_knownStep = part.toStep;
    if (part.reachedEnd) m_endStep = part.toStep;
}

void RunCourse::begin(const SurveyedInvocation& invocation)
{
    Open open;
    const auto parent = m_open.find(invocation.parent);
    if (parent != m_open.end()) {
        open.depth = parent->second.depth + 1;
        open.outerIteration = parent->second.outerIteration;
        open.isInner = parent->second.isInner;
    }
    const bool isFrame = invocation.role == CallRole::frame;
    if (isFrame) {
        if (open.outerIteration < 0) open.outerIteration = std::max<int64_t>(invocation.iteration, 0);
        else open.isInner = true;
    }
    if (!invocation.site.valid()) {
        m_open.emplace(invocation.id, open);
        return;
    }
    const bool isIteration = invocation.iteration >= 0;
    if (!isIteration || invocation.iteration == 0) {
        if (open.depth > kSpanDepth || m_spans.size() >= kMostSpans) {
            m_truncated = m_truncated || m_spans.size() >= kMostSpans;
        } else {
            if (!isIteration) open.span = static_cast<int>(m_spans.size());
            m_spans.push_back({invocation.callerGraph, invocation.site, open.depth - 1, invocation.firstStep, -1, invocation.parent});
        }
    }
    if (isIteration) {
        open.loop = findLoop(invocation.callerGraph, invocation.site);
        if (open.loop < 0) {
            open.loop = static_cast<int>(m_loops.size());
            CourseLoop& loop = m_loops.emplace_back();
            loop.callerGraph = invocation.callerGraph;
            loop.site = invocation.site;
            loop.body = invocation.graph;
        }
        CourseLoop& loop = m_loops[static_cast<size_t>(open.loop)];
        open.index = loop.iterations.size();
        if (m_iterations >= kMostIterations) {
            m_truncated = true;
            open.loop = -1;
        } else {
            ++m_iterations;
            loop.iterations.push_back({invocation.firstStep, -1, invocation.iteration, invocation.parent});
            loop.starts.add(invocation.firstStep, 1);
        }
    }
    m_open.emplace(invocation.id, open);
}

void RunCourse::end(const SurveyedEnd& ended)
{
    const auto open = m_open.find(ended.id);
    if (open == m_open.end()) return;
    const Open& o = open->second;
    if (o.loop >= 0) m_loops[static_cast<size_t>(o.loop)].iterations[o.index].end = ended.endStep;
    if (o.span >= 0) m_spans[static_cast<size_t>(o.span)].end = ended.endStep;
    m_open.erase(open);
}

void RunCourse::endLoop(const SurveyedLoop& ended)
{
    for (CourseLoop& loop : m_loops) {
        if (loop.site != ended.site || loop.iterations.empty()) continue;
        CourseIteration& last = loop.iterations.back();
        if (last.caller != ended.caller) continue;
        if (last.iteration < ended.trips) continue;
        last.end = last.first; // its condition was false: no iteration
        last.iteration = -1;
    }
    for (auto span = m_spans.rbegin(); span != m_spans.rend(); ++span)
        if (span->site == ended.site && span->caller == ended.caller && span->end < 0) {
            span->end = ended.endStep;
            break;
        }
}

CourseLane& RunCourse::lane(int64_t iteration)
{
    const auto at = std::ranges::lower_bound(m_lanes, iteration, {}, &CourseLane::iteration);
    if (at != m_lanes.end() && at->iteration == iteration) return *at;
    return *m_lanes.insert(at, CourseLane{iteration, {}});
}

void RunCourse::addOperator(const SurveyedOperator& event)
{
    if (m_events >= kMostEvents) {
        m_truncated = true;
        return;
    }
    const auto open = m_open.find(event.invocation);
    int64_t iteration = -1;
    bool inner = false;
    if (open != m_open.end()) {
        iteration = open->second.outerIteration;
        inner = open->second.isInner;
    }
    if (iteration >= static_cast<int64_t>(kMostLanes)) {
        m_truncated = true;
        return;
    }
    ++m_events;
    const uint8_t flag = event.isDead ? (inner ? laneInnerDead : laneDead) : (inner ? laneInnerLive : laneLive);
    lane(iteration).events.add(event.step, flag);
}

} // namespace loopscope::viewer
