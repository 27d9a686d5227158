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

float computeFloat(float a, float b)
{
    precise float y = a;
    switch (kOp) {
    case opNeg: return -a;
    case opAbs: return abs(a);
    case opSquare: y = a * a; return y;
    case opSign: return isNotNumber(a) ? a : sign(a);
    case opSqrt: return squareRoot(a);
    case opRsqrt: return a == 0.0 || !isFinite(a) ? 1.0 / sqrt(a) : quotient(1.0, squareRoot(a));
    case opExp: return exponential(a);
    case opLog: return logarithm(a);
    case opSin: return sine(a, 0);
    case opCos: return sine(a, 1);
    case opCeil: return ceil(a);
    case opFloor: return floor(a);
    case opRound: {
        precise float below = floor(a), rest = a - below, up = below + 1.0;
        return rest < 0.5 || (rest == 0.5 && roundEven(a) == below) || !isFinite(a) ? below : up;
    }
    case opClamp: return isNotNumber(a) ? a : a < p.low ? p.low : a > p.high ? p.high : a;
    case opLeakyRelu: y = a * p.extra; return a > 0.0 ? a : y;
    case opElu: return a < 0.0 ? exponentialMinusOne(a) : a;
    case opGelu: y = 0.5 * a * complementaryError(a * -0.707106781); return y;
    case opGeluTanh: y = 0.797884561 * (a + 0.044715 * (a * a * a)); return 0.5 * a * (1.0 + hyperbolicTangent(y));
    case opHardSwish:
        y = a + 3.0;
        y = y > 0.0 ? y : 0.0;
        y = y < 6.0 ? y : 6.0;
        y = a * y;
        return quotient(y, 6.0);
    case opLogistic: return logistic(a);
    case opTanh: return hyperbolicTangent(a);
    case opZero: return 0.0;
    case opReciprocal: return quotient(1.0, a);
    case opExpm1: return exponentialMinusOne(a);
    case opLog1p: return logarithmOfOnePlus(a);
    case opErf: return abs(a) < 0.5 ? a * (1.128379167 + a * a * (-0.376126389 + a * a * (0.112837917 + a * a * (-0.0268661706 + a * a * 0.00522397762)))) : 1.0 - complementaryError(a);
    case opSoftplus: return a > 20.0 ? a : logarithmOfOnePlus(exponential(a));
    case opAdd: y = a + b; return y;
    case opSub: y = a - b; return y;
    case opMul: y = a * b; return y;
    case opDiv: return quotient(a, b);
    case opPow: return power(a, b);
    case opMaximum: return isNotNumber(a) || isNotNumber(b) ? b : a > b ? a : b;
    case opMinimum: return isNotNumber(a) || isNotNumber(b) ? b : a < b ? a : b;
    case opSquaredDifference: y = a - b; y = y * y; return y;
    case opPrelu: y = a * b; return a >= 0.0 ? a : y;
    }
    return a;
}

#define LS_INTEGER(name, type)                                                                    \
    type name(type a, type b)                                                                     \
    {                                                                                             \
        switch (kOp) {                                                                            \
        case opNeg: return -a;                                                                    \
        case opAbs: return a < type(0) ? -a : a;                                                  \
        case opSquare: return a * a;                                                              \
        case opSign: return type(a > type(0) ? 1 : a < type(0) ? -1 : 0);                         \
        case opNot: return type(a == type(0) ? 1 : 0);                                            \
        case opZero: return type(0);                                                              \
        case opAdd: return a + b;                                                                 \
        case opSub: return a - b;                                                                 \
        case opMul: return a * b;                                                                 \
        case opMaximum: return a > b ? a : b;                                                     \
        case opMinimum: return a < b ? a : b;                                                     \
        case opSquaredDifference: return (a - b) * (a - b);                                       \
        case opAnd: return a & b;                                                                 \
        case opOr: return a | b;                                                                  \
        case opXor: return a ^ b;                                                                 \
        }                                                                                         \
        return a;                                                                                 \
    }
LS_INTEGER(computeInt, int)
LS_INTEGER(computeLong, int64_t)

#define LS_COMPARE(a, b)                                                                          \
    (kOp == opEqual ? a == b : kOp == opNotEqual ? a != b : kOp == opLess ? a < b : kOp == opLessEqual ? a <= b : kOp == opGreater ? a > b : a >= b)

float computed(float a, float b)
{
    float y = computeFloat(a, b);
    if (!kClamps || isNotNumber(y)) return y;
    y = y < p.low ? p.low : y;
    return p.high < y ? p.high : y;
}

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
    uint a = i, b = i, c = i;
    if (kStrided) {
        uint rest = i;
        a = b = c = 0;
        for (uint d = 0; d < p.rank; ++d) {
            uint at = rest % p.dims[d];
            rest /= p.dims[d];
            a += at * p.stepA[d];
            b += at * p.stepB[d];
            c += at * p.stepC[d];
        }
    }
    if (kOp == opTable || kOp == opTable2) { // the table is operand C, from the smallest element on
        uint at = kOp == opTable ? uint(readIntA(kStoreA, a)) & (kStoreA == storeU8 || kStoreA == storeI8 ? 255u : 65535u)
                                 : (uint(readIntA(kStoreA, a)) & 255u) * 256u + (uint(readIntB(kStoreB, b)) & 255u);
        writeLongOut(kStoreOut, i, readLongC(kStoreOut, at)); // bits, whatever they stand for
        return;
    }
    if (kOp == opSelect) {
        uint from = readIntA(kStoreA, a) != 0 ? 1u : 2u;
        if (kClass == inLong) writeLongOut(kStoreOut, i, from == 1u ? readLongB(kStoreB, b) : readLongC(kStoreC, c));
        else writeIntOut(kStoreOut, i, from == 1u ? readIntB(kStoreB, b) : readIntC(kStoreC, c));
        return;
    }
    bool isComparison = kOp >= opEqual && kOp <= opGreaterEqual;
    if (kClass == inFloat) {
        float x = readFloatA(kStoreA, a), y = readFloatB(kStoreB, b);
        if (isComparison) {
            writeIntOut(kStoreOut, i, LS_COMPARE(x, y) ? 1 : 0);
        } else if (kOp == opQuantize) { // clamp(round(x / scale) + zero); halves away from zero
            float q = quotient(x, p.extra), whole = trunc(q);
            if (abs(q - whole) >= 0.5) whole += q < 0.0 ? -1.0 : 1.0;
            int zero = int(p.stepA[0]), least = int(p.stepA[1]), most = int(p.stepA[2]);
            int stored = abs(whole) < 2147483648.0 ? int(whole) : -2147483647 - 1; // as x86 converts
            writeIntOut(kStoreOut, i, clamp(stored + zero, least, most));
        } else if (kStoreOut != storeF32 && kStoreOut != storeF16) { // a conversion, towards zero; what is no number is the largest
            int whole = x <= -2147483648.0 ? -2147483647 - 1 : x < 2147483648.0 ? int(x) : 2147483647;
            writeIntOut(kStoreOut, i, kStoreOut == storeU8 ? (x != 0.0 ? 1 : 0) : whole);
        } else {
            writeFloatOut(kStoreOut, i, computed(x, y));
        }
    } else if (kClass == inLong) {
        int64_t x = readLongA(kStoreA, a), y = readLongB(kStoreB, b);
        if (isComparison) writeIntOut(kStoreOut, i, LS_COMPARE(x, y) ? 1 : 0);
        else if (kStoreOut == storeF32 || kStoreOut == storeF16) writeFloatOut(kStoreOut, i, float(x));
        else writeLongOut(kStoreOut, i, computeLong(x, y));
    } else {
        int x = readIntA(kStoreA, a), y = readIntB(kStoreB, b);
        if (isComparison) writeIntOut(kStoreOut, i, LS_COMPARE(x, y) ? 1 : 0);
        else if (kStoreOut == storeF32 || kStoreOut == storeF16) writeFloatOut(kStoreOut, i, kStoreA == storeU32 ? float(uint(x)) : float(x));
        else {
            int z = computeInt(x, y);
            if (kClamps) z = clamp(z, floatBitsToInt(p.low), floatBitsToInt(p.high));
            writeIntOut(kStoreOut, i, z);
        }
    }
}
