#version 450
// What is done with the runs along one axis: softmax, its logarithm, L2 normalisation (a workgroup a run), running sums (an invocation).
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
#include "functions.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kClass = 0;
layout(constant_id = 2) const int kStore = 0;

LS_READS(0, In)
LS_WRITES(1, Out)

layout(push_constant) uniform Parameters
{
    uint rows, size, inner; ///< elements of a run are `inner` apart
    float beta;
    uint isReverse, isExclusive;
} p;

shared float lanes[64];

float total(float own, bool isMaximum)
{
    uint lane = gl_LocalInvocationID.x;
    lanes[lane] = own;
    for (uint reach = 32; reach > 0; reach >>= 1) {
        barrier();
        if (lane < reach) {
            precise float sum = lanes[lane] + lanes[lane + reach];
            lanes[lane] = isMaximum ? max(lanes[lane], lanes[lane + reach]) : sum;
        }
    }
    barrier();
    float all = lanes[0];
    barrier();
    return all;
}

void sums(uint row)
{
    uint base = row / p.inner * p.size * p.inner + row % p.inner;
    precise float f = 0.0;
    int64_t n = 0;
    for (uint i = 0; i < p.size; ++i) {
        uint at = base + (p.isReverse != 0 ? p.size - 1 - i : i) * p.inner;
        precise float before = f;
        int64_t beforeN = n;
        if (kClass == inFloat) {
            f = f + readFloatIn(kStore, at);
            writeFloatOut(kStore, at, p.isExclusive != 0 ? before : f);
        } else {
            n += readLongIn(kStore, at);
            writeLongOut(kStore, at, p.isExclusive != 0 ? beforeN : n);
        }
    }
}

void main()
{
    if (kOp == rowCumsum) {
        uint row = elementIndex();
        if (row < p.rows) sums(row);
        return;
    }
    uint row = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x, lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    uint base = row * p.size;
    if (kOp == rowL2Norm) {
        precise float squares = 0.0;
        for (uint i = lane; i < p.size; i += 64) {
            precise float x = readFloatIn(kStore, base + i);
            squares = squares + x * x;
        }
        float root = squareRoot(total(squares, false)), norm = root < 1e-6 ? 1e-6 : root; // what is no number stays
        for (uint i = lane; i < p.size; i += 64) writeFloatOut(kStore, base + i, quotient(readFloatIn(kStore, base + i), norm));
        return;
    }
    float largest = -3.4028234e38;
    for (uint i = lane; i < p.size; i += 64) largest = max(largest, readFloatIn(kStore, base + i));
    largest = total(largest, true);
    precise float sum = 0.0;
    for (uint i = lane; i < p.size; i += 64) {
        precise float x = (readFloatIn(kStore, base + i) - largest) * p.beta;
        sum = sum + exponential(x);
    }
    sum = total(sum, false);
    float logarithmOfSum = kOp == rowLogSoftmax ? logarithm(sum) : 0.0;
    for (uint i = lane; i < p.size; i += 64) {
        precise float x = (readFloatIn(kStore, base + i) - largest) * p.beta;
        precise float y = x - logarithmOfSum;
        writeFloatOut(kStore, base + i, kOp == rowLogSoftmax ? y : quotient(exponential(x), sum));
    }
}
