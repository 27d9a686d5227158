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

uint placeOf(uint base, uint index)
{
    uint last = p.ranks / 16;
    if (last == 0) return base;
    for (uint d = 0; d + 1 < last; ++d) {
        base += index % p.reduced[d] * p.reducedSteps[d];
        index /= p.reduced[d];
    }
    return base + index * p.reducedSteps[last - 1];
}

float combineFloat(float a, float b)
{
    precise float y;
    if (kOp == reduceMax) return b > a ? b : a;
    if (kOp == reduceMin) return b < a ? b : a;
    if (kOp == reduceProd) y = a * b;
    else y = a + b;
    return y;
}
int64_t combineLong(int64_t a, int64_t b)
{
    if (kOp == reduceMax) return b > a ? b : a;
    if (kOp == reduceMin) return b < a ? b : a;
    if (kOp == reduceProd) return a * b;
    if (kOp == reduceAny) return a | b;
    if (kOp == reduceAll) return a & b;
    return a + b;
}

shared float floats[256];
shared int64_t longs[256];

void main()
{
    uint result = kShared ? gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x : elementIndex();
    if (result >= p.count) return;
    uint base = 0, rest = result;
    for (uint d = 0; d < p.ranks % 16; ++d) {
        base += rest % p.kept[d] * p.keptSteps[d];
        rest /= p.kept[d];
    }
    if (kOp == reduceArgMax || kOp == reduceArgMin) { // the first of the best; a number is better than none
        uint best = 0;
        for (uint i = 1; i < p.reduceCount; ++i) {
            bool isBetter;
            if (kClass == inFloat) {
                float a = readFloatIn(kStoreIn, placeOf(base, i)), b = readFloatIn(kStoreIn, placeOf(base, best));
                bool noNumber = (floatBitsToUint(b) & 0x7FFFFFFFu) > 0x7F800000u, number = (floatBitsToUint(a) & 0x7FFFFFFFu) <= 0x7F800000u;
                isBetter = (number && noNumber) || (number && (kOp == reduceArgMax ? a > b : a < b));
            } else {
                int64_t a = readLongIn(kStoreIn, placeOf(base, i)), b = readLongIn(kStoreIn, placeOf(base, best));
                isBetter = kOp == reduceArgMax ? a > b : a < b;
            }
            if (isBetter) best = i;
        }
        if (kStoreOut == storeI64) writeLongOut(storeI64, result, int64_t(best));
        else writeIntOut(storeI32, result, int(best));
        return;
    }
    uint lane = kShared ? gl_LocalInvocationID.x : 0, lanes = kShared ? 256 : 1;
    float f = 0.0;
    int64_t n = 0;
    if (kFours) {
        precise vec4 sums = vec4(0.0);
        uint fours = p.reduceCount / 4, at = base / 4, i = lane;
        for (; i + 3 * lanes < fours; i += 4 * lanes) { // four reads under way at a time
            vec4 a = v32In[at + i], b = v32In[at + i + lanes], c = v32In[at + i + 2 * lanes], d = v32In[at + i + 3 * lanes];
            sums = ((sums + a) + b) + (c + d);
        }
        for (; i < fours; i += lanes) sums = sums + v32In[at + i];
        precise float sum = (sums.x + sums.y) + (sums.z + sums.w);
        f = sum;
    } else if (lane < p.reduceCount) {
        if (kClass == inFloat) {
            f = readFloatIn(kStoreIn, placeOf(base, lane));
            // Only a reduction of everything begins with its first element, so that what is no number there stays.
            if ((kOp == reduceMax || kOp == reduceMin) && (p.count > 1 || lane > 0)) f = combineFloat(kOp == reduceMax ? -3.4028234e38 : 3.4028234e38, f);
            uint i = lane + lanes;
            for (; i + 3 * lanes < p.reduceCount; i += 4 * lanes) { // four reads under way at a time
                float a = readFloatIn(kStoreIn, placeOf(base, i)), b = readFloatIn(kStoreIn, placeOf(base, i + lanes));
                float c = readFloatIn(kStoreIn, placeOf(base, i + 2 * lanes)), d = readFloatIn(kStoreIn, placeOf(base, i + 3 * lanes));
                f = combineFloat(combineFloat(combineFloat(combineFloat(f, a), b), c), d);
            }
            for (; i < p.reduceCount; i += lanes) f = combineFloat(f, readFloatIn(kStoreIn, placeOf(base, i)));
        } else {
            n = readLongIn(kStoreIn, placeOf(base, lane));
            for (uint i = lane + lanes; i < p.reduceCount; i += lanes) n = combineLong(n, readLongIn(kStoreIn, placeOf(base, i)));
        }
    }
    if (kShared) {
        floats[lane] = f;
        longs[lane] = n;
        for (uint reach = 128; reach > 0; reach >>= 1) {
            barrier();
            if (lane < reach && lane + reach < p.reduceCount) {
                if (kClass == inFloat) floats[lane] = combineFloat(floats[lane], floats[lane + reach]);
                else longs[lane] = combineLong(longs[lane], longs[lane + reach]);
            }
        }
        f = floats[0];
        n = longs[0];
        if (lane != 0) return;
    }
    if (kClass == inFloat) {
        precise float y = f;
        if (kOp == reduceMean) y = y / float(p.reduceCount);
        writeFloatOut(kStoreOut, result, y);
    } else {
        writeLongOut(kStoreOut, result, kStoreOut == storeU8 && (kOp == reduceAny || kOp == reduceAll) ? int64_t(n != 0 ? 1 : 0) : n);
    }
}
