#version 450
// Windows that slide over images, one invocation an element of the result: depthwise and transposed convolutions, pooling.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
#include "functions.glsl"
#include "output_stage.glsl"
layout(local_size_x = 256) in;

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kClass = 0;
layout(constant_id = 2) const int kStoreIn = 0;
layout(constant_id = 3) const int kStoreFilter = 0;
layout(constant_id = 4) const int kStoreOut = 0;
layout(constant_id = 5) const bool kHasBias = false;
layout(constant_id = 6) const bool kFours = false; ///< four channels an invocation: depthwise, f32, as many channels as the image has

LS_READS(0, In)
LS_READS(1, Filter)
LS_READS(2, Bias)
LS_WRITES(3, Out)
LS_STAGE(4)

layout(push_constant) uniform Parameters
{
    uint count, inHeight, inWidth, inChannels, outHeight, outWidth, outChannels, filterHeight, filterWidth;
    uint strides, dilations; ///< y + 65536 * x
    int paddingY, paddingX;
    float low, high;
    int zeroIn, zeroFilter, zeroOut, least, most;
} p;

void fourChannels(uint i)
{
    uint c = i % p.outChannels, x = i / p.outChannels % p.outWidth, y = i / (p.outChannels * p.outWidth) % p.outHeight;
    uint image = i / (p.outChannels * p.outWidth * p.outHeight);
    int top = int(y * (p.strides & 65535u)) - p.paddingY, left = int(x * (p.strides >> 16)) - p.paddingX;
    vec4 sum = vec4(0.0);
    for (uint ky = 0; ky < p.filterHeight; ++ky) {
        int iy = top + int(ky * (p.dilations & 65535u));
        if (iy < 0 || iy >= int(p.inHeight)) continue;
        uint row = (image * p.inHeight + uint(iy)) * p.inWidth;
        for (uint kx = 0; kx < p.filterWidth; ++kx) {
            int ix = left + int(kx * (p.dilations >> 16));
            if (ix < 0 || ix >= int(p.inWidth)) continue;
            sum += v32In[((row + uint(ix)) * p.inChannels + c) / 4] * v32Filter[((ky * p.filterWidth + kx) * p.outChannels + c) / 4];
        }
    }
    precise vec4 r = sum;
    if (kHasBias) r = r + v32Bias[c / 4];
    for (int e = 0; e < 4; ++e) {
        if (!isNotNumber(r[e]) && r[e] < p.low) r[e] = p.low;
        if (!isNotNumber(r[e]) && p.high < r[e]) r[e] = p.high;
    }
    v32Out[i / 4] = r;
}

void main()
{
    uint i = elementIndex();
    if (kFours) {
        if (i * 4 < p.count) fourChannels(i * 4);
        return;
    }
    if (i >= p.count) return;
    uint c = i % p.outChannels, x = i / p.outChannels % p.outWidth, y = i / (p.outChannels * p.outWidth) % p.outHeight;
    uint image = i / (p.outChannels * p.outWidth * p.outHeight);
    int strideY = int(p.strides & 65535u), strideX = int(p.strides >> 16);
    float sum = kOp == windowMax ? -3.4028234e38 : 0.0;
    int total = kOp == windowMax ? -2147483647 - 1 : 0, taps = 0;
    for (uint ky = 0; ky < p.filterHeight; ++ky) {
        for (uint kx = 0; kx < p.filterWidth; ++kx) {
            int iy, ix;
            if (kOp == windowTransposed) {
                iy = int(y) + p.paddingY - int(ky);
                ix = int(x) + p.paddingX - int(kx);
                if (iy < 0 || ix < 0 || iy % strideY != 0 || ix % strideX != 0) continue;
                iy /= strideY;
                ix /= strideX;
            } else {
                iy = int(y) * strideY + int(ky * (p.dilations & 65535u)) - p.paddingY;
                ix = int(x) * strideX + int(kx * (p.dilations >> 16)) - p.paddingX;
            }
            if (iy < 0 || ix < 0 || iy >= int(p.inHeight) || ix >= int(p.inWidth)) continue;
            uint pixel = ((image * p.inHeight + uint(iy)) * p.inWidth + uint(ix)) * p.inChannels;
            ++taps;
            if (kOp == windowTransposed) {
                uint filterAt = ((c * p.filterHeight + ky) * p.filterWidth + kx) * p.inChannels;
                for (uint k = 0; k < p.inChannels; ++k) {
                    if (kClass == inFloat) sum += readFloatIn(kStoreIn, pixel + k) * readFloatFilter(kStoreFilter, filterAt + k);
                    else total += (readIntIn(kStoreIn, pixel + k) - p.zeroIn) * (readIntFilter(kStoreFilter, filterAt + k) - p.zeroFilter);
                }
            } else if (kOp == windowDepthwise) {
                uint from = pixel + c / (p.outChannels / p.inChannels), filterAt = (ky * p.filterWidth + kx) * p.outChannels + c;
                if (kClass == inFloat) sum += readFloatIn(kStoreIn, from) * readFloatFilter(kStoreFilter, filterAt);
                else total += (readIntIn(kStoreIn, from) - p.zeroIn) * (readIntFilter(kStoreFilter, filterAt) - p.zeroFilter);
            } else if (kClass == inFloat) {
                precise float v = readFloatIn(kStoreIn, pixel + c);
                precise float square = v * v;
                if (kOp == windowMax) sum = sum < v ? v : sum;
                else sum = sum + (kOp == windowL2 ? square : v);
            } else {
                int v = readIntIn(kStoreIn, pixel + c);
                if (kOp == windowMax) total = max(total, v);
                else total += v;
            }
        }
    }
    if (kClass == inFloat) {
        precise float r = sum;
        if (kOp == windowAverage || kOp == windowL2) r = quotient(r, float(taps));
        if (kOp == windowL2) r = squareRoot(r);
        if (kHasBias) r = r + f32Bias[c];
        if (!isNotNumber(r) && r < p.low) r = p.low;
        if (!isNotNumber(r) && p.high < r) r = p.high;
        writeFloatOut(kStoreOut, i, r);
        return;
    }
    if (kOp == windowAverage && taps > 0) total = (total > 0 ? total + taps / 2 : total - taps / 2) / taps;
    if (kOp == windowDepthwise || kOp == windowTransposed) {
        if (kHasBias) total += i32Bias[c];
        total = fixedPoint(total, int(stages[c].x), int(stages[c].y));
        total = int(clamp(int64_t(total) + int64_t(p.zeroOut), int64_t(p.least), int64_t(p.most)));
    } else {
        total = clamp(total, p.least, p.most);
    }
    writeIntOut(kStoreOut, i, total);
}
