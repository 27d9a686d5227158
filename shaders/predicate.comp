#version 450
// Where a loop that the device drives may go one way or another: behind conds, before branches of Ifs, and where an iteration is complete.
// Dispatches take their groups from what is written here, so that what was recorded beyond the loop's end, in the other branch, or before
// and behind a loop inside that is not over yet, does nothing.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
layout(local_size_x = 64) in;

LS_READS(0, Verdict)
layout(set = 0, binding = 1, std430) buffer State
{
    uint trips, isOver, isStopped, unused;
    uint64_t steps, invocations; ///< of branches; with loops inside of everything, iterations that are not complete included
    uint64_t doneSteps, doneInvocations;
    uint64_t tripsInside[4], doneInside[4];
} state;
layout(set = 0, binding = 2, std430) buffer Groups { uint groups[]; };
layout(set = 0, binding = 3, std430) readonly buffer Wanted { uint wanted[]; };
layout(push_constant) uniform Parameters
{
    uint count, kind;
    uint begin, middle, end;       ///< of a branch and the other, or of a loop inside
    uint ifTrue, ifFalse;          ///< operators that are completed then
    uint loop;                     ///< which one inside
    uint mostStepsLow, mostStepsHigh;
} p;

void main()
{
    bool verdict = u8Verdict[0] != uint8_t(0), isInside = p.kind == chunkInside || p.kind == chunkInsideAgain;
    uint64_t most = uint64_t(p.mostStepsLow) | uint64_t(p.mostStepsHigh) << 32;
    uint64_t steps = state.steps + (p.kind == chunkComplete ? 0 : uint64_t(verdict ? p.ifTrue : p.ifFalse));
    bool stops = (p.kind == chunkComplete || isInside || (p.kind == chunkAround && !verdict)) && steps > most;
    for (uint i = gl_LocalInvocationID.x; i < p.count; i += 64) {
        bool isOwn = i >= p.begin && i < p.end, isOn;
        if (p.kind == chunkLoop || p.kind == chunkAround) {
            isOn = verdict && !stops;
        } else if (stops) {
            isOn = false;
        } else if (p.kind == chunkIf) {
            if (!isOwn) continue;
            isOn = verdict == (i < p.middle);
        } else if (isInside && (!verdict || p.kind == chunkInsideAgain)) { // it is over; or nothing but it goes on in the next round
            isOn = isOwn == verdict;
        } else {
            continue;
        }
        groups[i] = isOn ? wanted[i] : 0;
    }
    barrier();
    if (gl_LocalInvocationID.x != 0) return;
    if (stops) {
        state.isStopped = 1;
        return;
    }
    if (p.kind == chunkLoop || p.kind == chunkAround) {
        if (!verdict) state.isOver = 1;
        else if (p.kind == chunkLoop) ++state.trips;
        else state.steps = steps;
    } else if (p.kind == chunkComplete) {
        ++state.trips;
        state.doneSteps = steps;
        state.doneInvocations = state.invocations;
        for (uint j = 0; j < 4; ++j) state.doneInside[j] = state.tripsInside[j];
    } else {
        state.steps = steps;
        ++state.invocations; // a branch, an iteration, or the first one of a loop that is over
        if (isInside && verdict) ++state.tripsInside[p.loop];
    }
}
