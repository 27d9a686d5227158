// How accumulators of quantized operators become stored results: the reference kernels' roundings to the bit. What a channel is scaled by
// lies in the buffer Stage, two words each: multiplier and shift, or the bits of a double.
#define LS_STAGE(slot)                                                                                    \
    layout(set = 0, binding = slot, std430) readonly buffer StageBuffer { uvec2 stages[]; };

int doublingHigh(int a, int b)
{
    if (a == b && a == -2147483647 - 1) return 2147483647;
    int64_t product = int64_t(a) * int64_t(b);
    int64_t nudge = product >= 0 ? int64_t(1 << 30) : int64_t(1 - (1 << 30));
    int64_t sum = product + nudge;
    int64_t wide = int64_t(1) << 31;
    return int(sum / wide); // towards zero
}
int roundingShift(int x, int exponent)
{
    if (exponent == 0) return x;
    int mask = int((1u << uint(exponent)) - 1u);
    int rest = x & mask, threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> exponent) + (rest > threshold ? 1 : 0);
}
int fixedPoint(int x, int multiplier, int shift)
{
    int left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    return roundingShift(doublingHigh(left > 31 ? 0 : int(uint(x) << uint(left)), multiplier), right);
}
