// Element `i` of an element-wise operator's result, read, computed and written: a function LS_ELEMENT, in which LS_COMPUTED computes floats.
void LS_ELEMENT(uint i)
{
    uvec3 places = placesOf(i);
    uint a = places.x, b = places.y, c = places.z;
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
            writeFloatOut(kStoreOut, i, LS_COMPUTED(x, y));
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
