#version 450
// Element-wise operators of up to three operands with broadcasting, of all dtypes; and tables: what a function of 8- or 16-bit elements
// gives, computed beforehand.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
#include "functions.glsl"
layout(local_size_x = 256) in;

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kClass = 0;
layout(constant_id = 2) const int kStoreA = 0;
layout(constant_id = 3) const int kStoreB = 0;
layout(constant_id = 4) const int kStoreC = 0;
layout(constant_id = 5) const int kStoreOut = 0;
layout(constant_id = 6) const bool kStrided = false; ///< else all operands have the result's elements in its order
layout(constant_id = 7) const bool kClamps = false;
layout(constant_id = 8) const bool kFours = false; ///< four floats an invocation; buffers end at a multiple of 16 bytes

LS_READS(0, A)
LS_READS(1, B)
LS_READS(2, C)
LS_WRITES(3, Out)

layout(push_constant) uniform Parameters
{
    uint count, rank;
    uint dims[6]; ///< innermost first
    uint stepA[6], stepB[6], stepC[6];
    float low, high, extra;
} p;

#include "elementwise.glsl"
#define LS_ELEMENT computeElement
#define LS_COMPUTED computed
#include "element.glsl"

void main()
{
    uint i = elementIndex();
    if (kFours) {
        if (i * 4 >= p.count) return;
        vec4 x = v32A[i], y = kOp >= opAdd ? v32B[i] : x;
        v32Out[i] = vec4(computed(x.x, y.x), computed(x.y, y.y), computed(x.z, y.z), computed(x.w, y.w));
        return;
    }
    if (i >= p.count) return;
    computeElement(i);
}
