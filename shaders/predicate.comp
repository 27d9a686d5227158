#version 450
// Behind the cond of a loop that the device drives: whether another iteration runs. Dispatches up to the next predicate take their groups
// from what is written here, so that what was recorded beyond the loop's end does nothing.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
layout(local_size_x = 64) in;

LS_READS(0, Verdict)
layout(set = 0, binding = 1, std430) buffer State
{
    uint trips, isOver;
} state;
layout(set = 0, binding = 2, std430) writeonly buffer Groups { uint groups[]; };
layout(set = 0, binding = 3, std430) readonly buffer Wanted { uint wanted[]; };
layout(push_constant) uniform Parameters { uint count; } p;

void main()
{
    bool goesOn = u8Verdict[0] != uint8_t(0);
    for (uint i = gl_LocalInvocationID.x; i < p.count; i += 64) groups[i] = goesOn ? wanted[i] : 0;
    if (gl_LocalInvocationID.x != 0) return;
    if (goesOn) ++state.trips;
    else state.isOver = 1;
}
