#version 450
// Reductions over any axes, and arguments of extremes: one invocation a result where few elements go into it, else a workgroup, which
// combines in a fixed order.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
layout(local_size_x = 256) in;

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kClass = 0;
layout(constant_id = 2) const int kStoreIn = 0;
layout(constant_id = 3) const int kStoreOut = 0;
layout(constant_id = 4) const bool kShared = false; ///< a workgroup a result
layout(constant_id = 5) const bool kFours = false;  ///< sums of f32 that lie side by side are read four at a time

LS_READS(0, In)
LS_WRITES(1, Out)

layout(push_constant) uniform Parameters
{
    uint count, ranks; ///< ranks: of the kept axes, + 16 * of the reduced ones
    uint kept[4], keptSteps[4]; ///< innermost first
    uint reduced[4], reducedSteps[4];
    uint reduceCount;
} p;

#include "reduce.glsl"

shared float floats[256];
shared int64_t longs[256];

void main()
{
    uint result = kShared ? gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x : elementIndex();
    if (result >= p.count) return;
    if (!kShared) {
        reduceAlone(result);
        return;
    }
    uint base = firstPlaceOf(result), lane = gl_LocalInvocationID.x;
    float f = 0.0;
    int64_t n = 0;
    if (kFours) {
        precise vec4 sums = vec4(0.0);
        uint fours = p.reduceCount / 4, at = base / 4, i = lane;
        for (; i + 3 * 256 < fours; i += 4 * 256) { // four reads under way at a time
            vec4 a = v32In[at + i], b = v32In[at + i + 256], c = v32In[at + i + 2 * 256], d = v32In[at + i + 3 * 256];
            sums = ((sums + a) + b) + (c + d);
        }
        for (; i < fours; i += 256) sums = sums + v32In[at + i];
        precise float sum = (sums.x + sums.y) + (sums.z + sums.w);
        f = sum;
    } else if (lane < p.reduceCount) {
        if (kClass == inFloat) f = partFloat(base, lane, 256);
        else n = partLong(base, lane, 256);
    }
    floats[lane] = f;
    longs[lane] = n;
    for (uint reach = 128; reach > 0; reach >>= 1) {
        barrier();
        if (lane < reach && lane + reach < p.reduceCount) {
            if (kClass == inFloat) floats[lane] = combineFloat(floats[lane], floats[lane + reach]);
            else longs[lane] = combineLong(longs[lane], longs[lane + reach]);
        }
    }
    if (lane == 0) writeReduced(result, floats[0], longs[0]);
}
