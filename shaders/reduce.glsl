// How one invocation makes a result of few elements. Whoever includes it has the constants of reduce.comp, its parameters `p`, and readers
// and writers of In and Out.

/// Where the elements of a result begin.
uint firstPlaceOf(uint result)
{
    uint base = 0, rest = result;
    for (uint d = 0; d < p.ranks % 16; ++d) {
        base += rest % p.kept[d] * p.keptSteps[d];
        rest /= p.kept[d];
    }
    return base;
}

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

/// The first of the best; a number is better than none.
void writeBest(uint result, uint base)
{
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
}

/// What one of so many invocations makes of its elements.
float partFloat(uint base, uint lane, uint lanes)
{
    float f = readFloatIn(kStoreIn, placeOf(base, lane));
    // Only a reduction of everything begins with its first element, so that what is no number there stays.
    if ((kOp == reduceMax || kOp == reduceMin) && (p.count > 1 || lane > 0)) f = combineFloat(kOp == reduceMax ? -3.4028234e38 : 3.4028234e38, f);
    uint i = lane + lanes;
    for (; i + 3 * lanes < p.reduceCount; i += 4 * lanes) { // four reads under way at a time
        float a = readFloatIn(kStoreIn, placeOf(base, i)), b = readFloatIn(kStoreIn, placeOf(base, i + lanes));
        float c = readFloatIn(kStoreIn, placeOf(base, i + 2 * lanes)), d = readFloatIn(kStoreIn, placeOf(base, i + 3 * lanes));
        f = combineFloat(combineFloat(combineFloat(combineFloat(f, a), b), c), d);
    }
    for (; i < p.reduceCount; i += lanes) f = combineFloat(f, readFloatIn(kStoreIn, placeOf(base, i)));
    return f;
}
int64_t partLong(uint base, uint lane, uint lanes)
{
    int64_t n = readLongIn(kStoreIn, placeOf(base, lane));
    for (uint i = lane + lanes; i < p.reduceCount; i += lanes) n = combineLong(n, readLongIn(kStoreIn, placeOf(base, i)));
    return n;
}

void writeReduced(uint result, float f, int64_t n)
{
    if (kClass == inFloat) {
        precise float y = f;
        if (kOp == reduceMean) y = y / float(p.reduceCount);
        writeFloatOut(kStoreOut, result, y);
    } else {
        writeLongOut(kStoreOut, result, kStoreOut == storeU8 && (kOp == reduceAny || kOp == reduceAll) ? int64_t(n != 0 ? 1 : 0) : n);
    }
}

void reduceAlone(uint result)
{
    uint base = firstPlaceOf(result);
    if (kOp == reduceArgMax || kOp == reduceArgMin) writeBest(result, base);
    else if (kClass == inFloat) writeReduced(result, partFloat(base, 0, 1), int64_t(0));
    else writeReduced(result, 0.0, partLong(base, 0, 1));
}
