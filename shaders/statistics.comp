#version 450
// What statistics need to know of f32 elements, a block of 512 an invocation: the sums are added in the order in which the host adds them
// (engine/tensor/statistics.cpp), so that what the host makes of the blocks is equal bit for bit.
#extension GL_GOOGLE_include_directive : require
#include "storage.glsl"
layout(local_size_x = 64) in;

LS_READS(0, In)
struct Block
{
    double least, most, mean, squares; ///< of those that are finite
    int kept, zeros, nan, positiveInf, negativeInf, denormal, firstAbnormal, unused;
};
layout(set = 0, binding = 1, std430) writeonly buffer Blocks { Block blocks[]; };
layout(push_constant) uniform Parameters { uint count; } p;

const uint kBlock = 512;

/// Of finite bits; denormal numbers are no zeros, whatever the device makes of them.
double exactly(uint bits)
{
    uint size = bits & 0x7FFFFFFFu;
    if (size < 0x00800000u) {
        precise double small = double(size) * 1.40129846432481707092e-45LF;
        return (bits >> 31) != 0u ? -small : small;
    }
    return packDouble2x32(uvec2(size << 29, (bits & 0x80000000u) | ((size >> 3) + 0x38000000u)));
}

void main()
{
    uint block = elementIndex(), begin = block * kBlock;
    if (begin >= p.count) return;
    uint end = min(begin + kBlock, p.count);
    Block b = Block(0.0LF, 0.0LF, 0.0LF, 0.0LF, 0, 0, 0, 0, 0, 0, -1, 0);
    for (uint i = begin; i < end; ++i) {
        uint bits = uint(i32In[i]), size = bits & 0x7FFFFFFFu;
        if (size == 0u) ++b.zeros;
        else if (size < 0x00800000u) ++b.denormal;
        if (size < 0x7F800000u) {
            ++b.kept;
            continue;
        }
        if (b.firstAbnormal < 0) b.firstAbnormal = int(i - begin);
        if (size > 0x7F800000u) ++b.nan;
        else if ((bits >> 31) == 0u) ++b.positiveInf;
        else ++b.negativeInf;
    }
    if (b.kept > 0) {
        // Four lanes; what is left of the last four goes to the first one.
        precise double sum[4] = {0.0LF, 0.0LF, 0.0LF, 0.0LF}, squares[4] = {0.0LF, 0.0LF, 0.0LF, 0.0LF};
        double least[4], most[4];
        int whole = b.kept & ~3, k = 0;
        for (uint i = begin; i < end; ++i) {
            uint bits = uint(i32In[i]);
            if ((bits & 0x7FFFFFFFu) >= 0x7F800000u) continue;
            double v = exactly(bits);
            if (k == 0) least = most = double[4](v, v, v, v);
            int lane = k < whole ? k & 3 : 0;
            if (v < least[lane]) least[lane] = v;
            if (v > most[lane]) most[lane] = v;
            sum[lane] += v;
            ++k;
        }
        double low = least[1] < least[0] ? least[1] : least[0], other = least[3] < least[2] ? least[3] : least[2];
        b.least = other < low ? other : low;
        double high = most[0] < most[1] ? most[1] : most[0];
        other = most[2] < most[3] ? most[3] : most[2];
        b.most = high < other ? other : high;
        precise double mean = (((sum[0] + sum[1]) + sum[2]) + sum[3]) / double(b.kept);
        b.mean = mean < b.least ? b.least : b.most < mean ? b.most : mean;
        k = 0;
        for (uint i = begin; i < end; ++i) {
            uint bits = uint(i32In[i]);
            if ((bits & 0x7FFFFFFFu) >= 0x7F800000u) continue;
            precise double d = exactly(bits) - b.mean;
            precise double square = d * d;
            squares[k < whole ? k & 3 : 0] += square;
            ++k;
        }
        precise double all = ((squares[0] + squares[1]) + squares[2]) + squares[3];
        b.squares = all;
    }
    blocks[block] = b;
}
