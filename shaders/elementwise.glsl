// What element-wise operators compute, from their operands' elements to a result's. Whoever includes it has the constants of
// elementwise.comp, its parameters `p`, and readers and writers of the operands A, B and C and of the result.
/// What needs no functions.
float computePlain(float a, float b)
{
    precise float y = a;
    switch (kOp) {
    case opNeg: return -a;
    case opAbs: return abs(a);
    case opSquare: y = a * a; return y;
    case opSign: return isNotNumber(a) ? a : sign(a);
    case opCeil: return ceil(a);
    case opFloor: return floor(a);
    case opClamp: return isNotNumber(a) ? a : a < p.low ? p.low : a > p.high ? p.high : a;
    case opLeakyRelu: y = a * p.extra; return a > 0.0 ? a : y;
    case opZero: return 0.0;
    case opAdd: y = a + b; return y;
    case opSub: y = a - b; return y;
    case opMul: y = a * b; return y;
    case opMaximum: return isNotNumber(a) || isNotNumber(b) ? b : a > b ? a : b;
    case opMinimum: return isNotNumber(a) || isNotNumber(b) ? b : a < b ? a : b;
    case opSquaredDifference: y = a - b; y = y * y; return y;
    case opPrelu: y = a * b; return a >= 0.0 ? a : y;
    }
    return a;
}

float computeFloat(float a, float b)
{
    precise float y = a;
    switch (kOp) {
    case opSqrt: return squareRoot(a);
    case opRsqrt: return a == 0.0 || !isFinite(a) ? 1.0 / sqrt(a) : quotient(1.0, squareRoot(a));
    case opExp: return exponential(a);
    case opLog: return logarithm(a);
    case opSin: return sine(a, 0);
    case opCos: return sine(a, 1);
    case opRound: {
        precise float below = floor(a), rest = a - below, up = below + 1.0;
        return rest < 0.5 || (rest == 0.5 && roundEven(a) == below) || !isFinite(a) ? below : up;
    }
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
    case opReciprocal: return quotient(1.0, a);
    case opExpm1: return exponentialMinusOne(a);
    case opLog1p: return logarithmOfOnePlus(a);
    case opErf: return abs(a) < 0.5 ? a * (1.128379167 + a * a * (-0.376126389 + a * a * (0.112837917 + a * a * (-0.0268661706 + a * a * 0.00522397762)))) : 1.0 - complementaryError(a);
    case opSoftplus: return a > 20.0 ? a : logarithmOfOnePlus(exponential(a));
    case opDiv: return quotient(a, b);
    case opPow: return power(a, b);
    }
    return computePlain(a, b);
}

// Rounded down; b is neither 0 nor -1.
#define LS_FLOORED(type)                                                                          \
    type floored(type a, type b)                                                                  \
    {                                                                                             \
        type q = a / b;                                                                           \
        return q * b != a && (a < type(0)) != (b < type(0)) ? q - type(1) : q;                    \
    }
LS_FLOORED(int)
LS_FLOORED(int64_t)

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
        case opFloorDiv: return floored(a, b);                                                    \
        case opFloorMod: return a - floored(a, b) * b;                                            \
        }                                                                                         \
        return a;                                                                                 \
    }
LS_INTEGER(computeInt, int)
LS_INTEGER(computeLong, int64_t)

#define LS_COMPARE(a, b)                                                                          \
    (kOp == opEqual ? a == b : kOp == opNotEqual ? a != b : kOp == opLess ? a < b : kOp == opLessEqual ? a <= b : kOp == opGreater ? a > b : a >= b)

float clamped(float y)
{
    if (!kClamps || isNotNumber(y)) return y;
    y = y < p.low ? p.low : y;
    return p.high < y ? p.high : y;
}
float computed(float a, float b) { return clamped(computeFloat(a, b)); }

/// Where the operands have what goes into element `i` of the result.
uvec3 placesOf(uint i)
{
    uvec3 places = uvec3(i);
    if (kStrided) {
        uint rest = i;
        places = uvec3(0);
        for (uint d = 0; d < p.rank; ++d) {
            uint at = rest % p.dims[d];
            rest /= p.dims[d];
            places += at * uvec3(p.stepA[d], p.stepB[d], p.stepC[d]);
        }
    }
    return places;
}
