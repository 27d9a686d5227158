// How an element is moved. Whoever includes it has the constants of copy.comp, its parameters `p`, and readers and writers of In, Out and Table.

/// Element `i` of the box, of the table or of what is filled.
void copyElement(uint i)
{
    uint from = i, to = i;
    if (kMode == 0) {
        int in0 = p.beginIn, out0 = p.beginOut;
        uint rest = i;
        for (uint d = 0; d < p.rank; ++d) {
            int at = int(rest % p.dims[d]);
            rest /= p.dims[d];
            in0 += at * p.stepIn[d];
            out0 += at * p.stepOut[d];
        }
        from = uint(in0);
        to = uint(out0);
    } else if (kMode == 1) {
        int place = readIntTable(storeI32, i);
        if (place < 0) return; // another step writes it
        from = uint(place);
    }
    if (kStore == storeI64) writeLongOut(kStore, to, kMode == 2 ? int64_t(uint64_t(p.fillLow) | uint64_t(p.fillHigh) << 32) : readLongIn(kStore, from));
    else writeIntOut(kStore, to, kMode == 2 ? int(p.fillLow) : readIntIn(kStore, from));
}
