#version 450
// Moving elements: strided copies from any box of one tensor into a box of another, copies by a table of places, and filling.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
layout(local_size_x = 256) in;

layout(constant_id = 0) const int kStore = 0; ///< of the width of an element: storeU8, storeI16, storeI32, storeI64
layout(constant_id = 1) const int kMode = 0;  ///< 0: strided; 1: by table; 2: fill

LS_READS(0, In)
LS_WRITES(1, Out)
LS_READS(2, Table)

layout(push_constant) uniform Parameters
{
    uint count, rank;
    uint dims[6]; ///< of the box, innermost first
    int stepIn[6], stepOut[6];
    int beginIn, beginOut;
    uint fillLow, fillHigh;
} p;

#include "copy.glsl"

void main()
{
    uint i = elementIndex();
    if (i >= p.count) return;
    copyElement(i);
}
