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

void main()
{
    uint i = elementIndex();
    if (i >= p.count) return;
    uint from = i, to = i;
    if (kMode == 0) {
        int in0 = p.beginIn, out0 = p.beginOut;
        uint rest = i;
        for (uint d = 0; d < p.rank; ++d) {
            int at = int(rest % p.dims[d]);
            rest /= p.dims[d];
            in0 += at * p.stepIn[d];
            out0 += at * p.stepOut[d];
        }
        from = uint(in0);
        to = uint(out0);
    } else if (kMode == 1) {
        int place = readIntTable(storeI32, i);
        if (place < 0) return; // another step writes it
        from = uint(place);
    }
    if (kStore == storeI64) writeLongOut(kStore, to, kMode == 2 ? int64_t(uint64_t(p.fillLow) | uint64_t(p.fillHigh) << 32) : readLongIn(kStore, from));
    else writeIntOut(kStore, to, kMode == 2 ? int(p.fillLow) : readIntIn(kStore, from));
}
