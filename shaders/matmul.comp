#version 450
// Products of matrices: fully connected layers, batches of products, and convolutions as products of windows with filters. A workgroup does a
// tile through shared memory; on devices without (software) every invocation does a tile of its own from what is in the cache.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "storage.glsl"
#include "output_stage.glsl"
layout(local_size_x = 256) in;

layout(constant_id = 0) const int kClass = 0; ///< inFloat, inInt
layout(constant_id = 1) const int kStoreA = 0;
layout(constant_id = 2) const int kStoreB = 0;
layout(constant_id = 3) const int kStoreOut = 0;
layout(constant_id = 4) const bool kShared = true;
layout(constant_id = 5) const int kRows = 4;    ///< of an invocation
layout(constant_id = 6) const int kColumns = 4;
layout(constant_id = 7) const bool kColumnsOfB = true; ///< B is [n, k], else [k, n]
layout(constant_id = 8) const int kWindows = 0;        ///< A is an image: rows are windows of it
layout(constant_id = 9) const bool kHasBias = false;
layout(constant_id = 10) const int kStage = 0;         ///< integers: 0 stored as they are, 1 fixed point, 2 real factors
layout(constant_id = 11) const bool kTransposedA = false;
layout(constant_id = 12) const bool kFours = false; ///< f32 matrices whose rows are multiples of four are read four at a time
layout(constant_id = 13) const int kSlices = 1; ///< of a tile's depth: each has its invocations
layout(constant_id = 14) const int kDepth = 4;  ///< of what is in shared memory at a time

LS_READS(0, A)
LS_READS(1, B)
LS_READS(2, Bias)
LS_WRITES(3, Out)
LS_STAGE(4)

layout(push_constant) uniform Parameters
{
    uint m, n, k, stepA, stepB; ///< steps: of a batch, elements
    float low, high;
    int zeroA, zeroB, zeroOut, least, most;
    uint inHeight, inWidth, channels, outHeight, outWidth, filterWidth;
    uint strides, dilations; ///< y + 65536 * x
    int paddingY, paddingX;
    uint tilesN;
} p;

#ifdef LS_PACKED // four 8-bit integers of a word multiplied with those of another, and added up
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dotOfWords(int a, int b, spirv_literal int packedFour);
int dotOfFour(int a, int b, int sum) { return dotOfWords(a, b, 0) + sum; }
const bool kPacked = true;
#else
int dotOfFour(int a, int b, int sum) { return sum; }
const bool kPacked = false;
#endif

const int kLanesN = 16, kLanesM = 16 / kSlices; ///< invocations of a slice along the tile
const int kTileM = kLanesM * kRows, kTileN = kLanesN * kColumns;
const int kLoadsA = (kTileM * kDepth + 1023) / 1024, kLoadsB = (kTileN * kDepth + 1023) / 1024; ///< fours an invocation brings
const int kPartials = kSlices == 1 ? 1 : 256 * kRows * kColumns;
shared vec4 sharedA[kDepth][(kTileM + 3) / 4 + 1]; // four rows, four columns side by side
shared vec4 sharedB[kDepth][(kTileN + 3) / 4 + 1];
shared float partials[kPartials]; // of the slices

int placeOfA(uint base, uint row, uint k)
{
    if (kWindows == 0) return int(base + (kTransposedA ? k * p.m + row : row * p.k + k));
    uint x = row % p.outWidth, y = row / p.outWidth % p.outHeight, image = row / (p.outWidth * p.outHeight);
    uint c = k % p.channels, tap = k / p.channels;
    int iy = int(y * (p.strides & 65535u) + tap / p.filterWidth * (p.dilations & 65535u)) - p.paddingY;
    int ix = int(x * (p.strides >> 16) + tap % p.filterWidth * (p.dilations >> 16)) - p.paddingX;
    if (iy < 0 || ix < 0 || iy >= int(p.inHeight) || ix >= int(p.inWidth)) return -1;
    return int(((image * p.inHeight + uint(iy)) * p.inWidth + uint(ix)) * p.channels + c);
}

float loadA(uint base, uint row, uint k)
{
    if (row >= p.m || k >= p.k) return 0.0;
    int at = placeOfA(base, row, k);
    if (kClass == inFloat) return at < 0 ? 0.0 : readFloatA(kStoreA, uint(at));
    return intBitsToFloat(at < 0 ? 0 : readIntA(kStoreA, uint(at)) - p.zeroA);
}
float loadB(uint base, uint column, uint k)
{
    if (column >= p.n || k >= p.k) return 0.0;
    uint at = base + (kColumnsOfB ? column * p.k + k : k * p.n + column);
    if (kClass == inFloat) return readFloatB(kStoreB, at);
    return intBitsToFloat(readIntB(kStoreB, at) - p.zeroB);
}

void store(uint batch, uint row, uint column, float sum, int count)
{
    if (row >= p.m || column >= p.n) return;
    uint at = batch * p.m * p.n + row * p.n + column;
    if (kClass == inFloat) {
        precise float y = sum;
        if (kHasBias) y = y + f32Bias[column];
        bool isNumber = (floatBitsToUint(y) & 0x7FFFFFFFu) <= 0x7F800000u;
        if (isNumber && y < p.low) y = p.low;
        if (isNumber && p.high < y) y = p.high;
        writeFloatOut(kStoreOut, at, y);
        return;
    }
    if (kHasBias) count += i32Bias[column];
    if (kStage == 1) count = fixedPoint(count, int(stages[column].x), int(stages[column].y));
#ifdef LS_DOUBLE
    if (kStage == 2) {
        double scaled = double(count) * packDouble2x32(stages[column]);
        double whole = trunc(scaled);
        if (abs(scaled - whole) >= 0.5LF) whole += scaled < 0.0LF ? -1.0LF : 1.0LF;
        count = int(clamp(whole, -2147483648.0LF, 2147483647.0LF));
    }
#endif
    if (kStage != 0) count = int(clamp(int64_t(count) + int64_t(p.zeroOut), int64_t(p.least), int64_t(p.most)));
    writeIntOut(kStoreOut, at, count);
}

/// A tile of an invocation, four numbers of a row at a time: what lies beyond the matrices is computed from their last rows, and not stored.
void tileOfFours(uint baseA, uint baseB, uint row, uint column, inout float sums[8][8])
{
    int top[8], left[8];
    uint rows[8];
    for (int i = 0; i < kRows; ++i) {
        uint r = min(row + uint(i), p.m - 1);
        rows[i] = baseA + r * p.k;
        if (kWindows == 0) continue;
        rows[i] = baseA + r / (p.outWidth * p.outHeight) * p.inHeight * p.inWidth * p.channels;
        top[i] = int(r / p.outWidth % p.outHeight * (p.strides & 65535u)) - p.paddingY;
        left[i] = int(r % p.outWidth * (p.strides >> 16)) - p.paddingX;
    }
    for (uint k = 0; k < p.k; k += 4) {
        vec4 a[8];
        uint c = 0;
        int downY = 0, downX = 0;
        if (kWindows != 0) {
            uint tap = k / p.channels;
            c = k % p.channels;
            downY = int(tap / p.filterWidth * (p.dilations & 65535u));
            downX = int(tap % p.filterWidth * (p.dilations >> 16));
        }
        for (int i = 0; i < kRows; ++i) {
            if (kWindows == 0) {
                a[i] = v32A[(rows[i] + k) / 4];
                continue;
            }
            int y = top[i] + downY, x = left[i] + downX;
            bool isInside = y >= 0 && x >= 0 && y < int(p.inHeight) && x < int(p.inWidth);
            uint at = rows[i] + (uint(y) * p.inWidth + uint(x)) * p.channels + c;
            a[i] = isInside ? v32A[isInside ? at / 4 : 0] : vec4(0.0);
        }
        if (kColumnsOfB) {
            for (int j = 0; j < kColumns; ++j) {
                vec4 b = v32B[(baseB + min(column + uint(j), p.n - 1) * p.k + k) / 4];
                for (int i = 0; i < kRows; ++i)
                    sums[i][j] = sums[i][j] + a[i].x * b.x + a[i].y * b.y + a[i].z * b.z + a[i].w * b.w;
            }
        } else {
            for (int e = 0; e < 4; ++e)
                for (int j = 0; j < kColumns; j += 4) {
                    vec4 b = v32B[(baseB + (k + uint(e)) * p.n + min(column + uint(j), p.n - 4)) / 4];
                    for (int i = 0; i < kRows; ++i)
                        for (int d = 0; d < 4; ++d) sums[i][j + d] += a[i][e] * b[d];
                }
        }
    }
}

/// Where along the tile the four lies that is number `at` of those brought at a time: neighbours of a deep tile go to different banks of
/// shared memory.
uint alongTile(uint at, int tile)
{
    uint place = at / (kDepth / 4);
    return kDepth <= 16 ? place : (place + at % (kDepth / 4) / 2 * (128 / kDepth)) % tile;
}

/// A four of A on its way to shared memory: the i-th that this invocation brings.
vec4 fourOfA(uint base, uint first, uint k0, int i)
{
    uint lane = gl_LocalInvocationIndex;
    vec4 four = vec4(0.0);
    if (kFours) {
        uint at = lane + uint(i) * 256, k = k0 + at % (kDepth / 4) * 4, r = first + alongTile(at, kTileM);
        if (r < p.m && k < p.k && at < kTileM * kDepth / 4) {
            int place = placeOfA(base, r, k);
            if (kWindows == 0 || place >= 0) four = v32A[place / 4];
        }
    } else {
        for (int e = 0; e < 4; ++e) { // neighbouring invocations read neighbouring places
            uint at = lane + uint(i * 4 + e) * 256;
            uint k = kTransposedA ? at / kTileM : at % kDepth, r = kTransposedA ? at % kTileM : at / kDepth;
            if (at < kTileM * kDepth) four[e] = loadA(base, first + r, k0 + k);
        }
    }
    return four;
}
vec4 fourOfB(uint base, uint first, uint k0, int j)
{
    uint lane = gl_LocalInvocationIndex;
    vec4 four = vec4(0.0);
    if (kFours) {
        uint at = lane + uint(j) * 256;
        uint k = k0 + (kColumnsOfB ? at % (kDepth / 4) * 4 : at / (kTileN / 4));
        uint c = first + (kColumnsOfB ? alongTile(at, kTileN) : at % (kTileN / 4) * 4);
        if (c < p.n && k < p.k && at < kTileN * kDepth / 4) four = v32B[(base + (kColumnsOfB ? c * p.k + k : k * p.n + c)) / 4];
    } else {
        for (int e = 0; e < 4; ++e) {
            uint at = lane + uint(j * 4 + e) * 256;
            uint k = kColumnsOfB ? at % kDepth : at / kTileN, c = kColumnsOfB ? at / kDepth : at % kTileN;
            if (at < kTileN * kDepth) four[e] = loadB(base, first + c, k0 + k);
        }
    }
    return four;
}
void putA(int i, vec4 four)
{
    for (int e = 0; e < 4; ++e) {
        uint at = gl_LocalInvocationIndex + uint(kFours ? i : i * 4 + e) * 256;
        uint k = kFours ? at % (kDepth / 4) * 4 + e : kTransposedA ? at / kTileM : at % kDepth;
        uint r = kFours ? alongTile(at, kTileM) : kTransposedA ? at % kTileM : at / kDepth;
        if (at < kTileM * kDepth / (kFours ? 4 : 1)) sharedA[k][r / 4][r % 4] = four[e];
    }
}
void putB(int j, vec4 four)
{
    if (kFours && !kColumnsOfB) {
        uint at = gl_LocalInvocationIndex + uint(j) * 256;
        if (at < kTileN * kDepth / 4) sharedB[at / (kTileN / 4)][at % (kTileN / 4)] = four;
        return;
    }
    for (int e = 0; e < 4; ++e) {
        uint at = gl_LocalInvocationIndex + uint(kFours ? j : j * 4 + e) * 256;
        uint k = kFours ? at % (kDepth / 4) * 4 + e : kColumnsOfB ? at % kDepth : at / kTileN;
        uint c = kFours ? alongTile(at, kTileN) : kColumnsOfB ? at / kDepth : at % kTileN;
        if (at < kTileN * kDepth / (kFours ? 4 : 1)) sharedB[k][c / 4][c % 4] = four[e];
    }
}

void main()
{
    uint batch = gl_WorkGroupID.z, baseA = batch * p.stepA, baseB = batch * p.stepB;
    float sums[8][8];
    int counts[8][8];
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kColumns; ++j) {
            sums[i][j] = 0.0;
            counts[i][j] = 0;
        }
    if (!kShared) {
        uint tile = gl_GlobalInvocationID.x;
        uint row = tile / p.tilesN * uint(kRows), column = tile % p.tilesN * uint(kColumns);
        if (row >= p.m) return;
        if (kFours) tileOfFours(baseA, baseB, row, column, sums);
        for (uint k = kFours ? p.k : 0; k < p.k; ++k) {
            float a[8], b[8];
            for (int i = 0; i < kRows; ++i) a[i] = loadA(baseA, row + uint(i), k);
            for (int j = 0; j < kColumns; ++j) b[j] = loadB(baseB, column + uint(j), k);
            for (int i = 0; i < kRows; ++i)
                for (int j = 0; j < kColumns; ++j) {
                    if (kClass == inFloat) sums[i][j] += a[i] * b[j];
                    else counts[i][j] += floatBitsToInt(a[i]) * floatBitsToInt(b[j]);
                }
        }
        for (int i = 0; i < kRows; ++i)
            for (int j = 0; j < kColumns; ++j) store(batch, row + uint(i), column + uint(j), sums[i][j], counts[i][j]);
        return;
    }
    uint lane = gl_LocalInvocationIndex, laneN = lane % kLanesN, laneM = lane / kLanesN % kLanesM, slice = lane / (kLanesN * kLanesM);
    uint firstM = gl_WorkGroupID.y * kTileM, firstN = gl_WorkGroupID.x * kTileN;
    vec4 heldA[4], heldB[4];
    for (int i = 0; i < kLoadsA; ++i) putA(i, fourOfA(baseA, firstM, 0, i));
    for (int j = 0; j < kLoadsB; ++j) putB(j, fourOfB(baseB, firstN, 0, j));
    barrier();
    for (uint k0 = 0; k0 < p.k; k0 += uint(kDepth)) {
        bool isMore = k0 + kDepth < p.k;
        if (isMore) {
            for (int i = 0; i < kLoadsA; ++i) heldA[i] = fourOfA(baseA, firstM, k0 + kDepth, i);
            for (int j = 0; j < kLoadsB; ++j) heldB[j] = fourOfB(baseB, firstN, k0 + kDepth, j);
        }
        for (int d = 0; d < kDepth / kSlices; ++d) {
            uint k = slice * (kDepth / kSlices) + d;
            float a[8], b[8];
            if (kRows >= 4) {
                for (int i = 0; i < kRows / 4; ++i) {
                    vec4 four = sharedA[k][laneM + i * kLanesM];
                    a[i * 4] = four.x, a[i * 4 + 1] = four.y, a[i * 4 + 2] = four.z, a[i * 4 + 3] = four.w;
                }
            } else {
                for (int i = 0; i < kRows; ++i) a[i] = sharedA[k][(laneM * kRows + i) / 4][(laneM * kRows + i) % 4];
            }
            if (kColumns >= 4) {
                for (int j = 0; j < kColumns / 4; ++j) {
                    vec4 four = sharedB[k][laneN + j * kLanesN];
                    b[j * 4] = four.x, b[j * 4 + 1] = four.y, b[j * 4 + 2] = four.z, b[j * 4 + 3] = four.w;
                }
            } else {
                for (int j = 0; j < kColumns; ++j) b[j] = sharedB[k][(laneN * kColumns + j) / 4][(laneN * kColumns + j) % 4];
            }
            for (int i = 0; i < kRows; ++i)
                for (int j = 0; j < kColumns; ++j) {
                    if (kClass == inFloat) sums[i][j] = fma(a[i], b[j], sums[i][j]);
                    else if (kPacked) counts[i][j] = dotOfFour(floatBitsToInt(a[i]), floatBitsToInt(b[j]), counts[i][j]);
                    else counts[i][j] += floatBitsToInt(a[i]) * floatBitsToInt(b[j]);
                }
        }
        barrier();
        if (isMore) {
            for (int i = 0; i < kLoadsA; ++i) putA(i, heldA[i]);
            for (int j = 0; j < kLoadsB; ++j) putB(j, heldB[j]);
        }
        barrier();
    }
    if (kSlices > 1) { // combined in a fixed order
        uint own = lane % (kLanesN * kLanesM);
        for (int i = 0; i < kRows; ++i)
            for (int j = 0; j < kColumns; ++j)
                partials[(i * kColumns + j) * 256 + lane] = kClass == inFloat ? sums[i][j] : intBitsToFloat(counts[i][j]);
        barrier();
        if (slice > 0) return;
        for (int i = 0; i < kRows; ++i)
            for (int j = 0; j < kColumns; ++j)
                for (int s = 1; s < kSlices; ++s) {
                    float other = partials[(i * kColumns + j) * 256 + s * kLanesN * kLanesM + own];
                    if (kClass == inFloat) sums[i][j] += other;
                    else counts[i][j] += floatBitsToInt(other);
                }
    }
    // Unrolled, however long: what is indexed by variables lies in memory, not in registers.
    [[unroll]] for (int i = 0; i < kRows; ++i)
        [[unroll]] for (int j = 0; j < kColumns; ++j)
            store(batch, firstM + (kRows >= 4 ? i / 4 * 4 * kLanesM + laneM * 4 + i % 4 : laneM * kRows + i),
                  firstN + (kColumns >= 4 ? j / 4 * 4 * kLanesN + laneN * 4 + j % 4 : laneN * kColumns + j), sums[i][j], counts[i][j]);
}
