// Float functions whose error is ours to bound, whatever the device's own are: no device may contract or reorder them (precise), so that
// results differ between devices only where division or square root do before they are corrected here.
#define kInfinity uintBitsToFloat(0x7F800000u)
bool isNotNumber(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u; }
bool isFinite(float x) { return (floatBitsToUint(x) & 0x7F800000u) != 0x7F800000u; }
float notNumber() { return uintBitsToFloat(0x7FC00000u); }

/// x * 2^n for any n that gives a result.
float scaled(float x, int n)
{
    precise float half1 = uintBitsToFloat(uint((n >> 1) + 127) << 23);
    precise float half2 = uintBitsToFloat(uint(n - (n >> 1) + 127) << 23);
    precise float y = x * half1;
    return y * half2;
}

/// a * b - p without rounding, p the rounded product (Dekker).
float productError(float a, float b, float p)
{
    precise float ca = 4097.0 * a;
    precise float cb = 4097.0 * b;
    precise float ah = ca - (ca - a);
    precise float bh = cb - (cb - b);
    precise float al = a - ah;
    precise float bl = b - bh;
    precise float e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return e;
}

/// The quotient, rounded correctly; devices may be wrong by 2.5 ulp.
float quotient(float a, float b)
{
    precise float q = a / b;
    float size = max(max(abs(a), abs(b)), abs(q)), least = min(min(abs(a), abs(b)), abs(q));
    if (!(size < 1e30) || !(least > 1e-25)) return q; // also not numbers: the correction would leave the range
    precise float p = q * b;
    precise float r = (a - p) - productError(q, b, p);
    precise float c = r / b;
    return q + c;
}

float squareRoot(float x)
{
    precise float s = sqrt(x);
    if (!(x > 1e-25) || !(x < 1e30)) return s;
    precise float p = s * s;
    precise float r = (x - p) - productError(s, s, p);
    precise float c = r / (2.0 * s);
    return s + c;
}

float exponential(float x)
{
    if (isNotNumber(x)) return x;
    if (x > 88.7228394) return kInfinity;
    if (x < -103.972084) return 0.0;
    precise float n = floor(x * 1.44269504 + 0.5);
    precise float r = x - n * 0.693359375;
    r = r - n * -2.12194440e-4;
    precise float p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    precise float y = p * (r * r) + r + 1.0;
    return scaled(y, int(n));
}

float exponentialMinusOne(float x)
{
    if (abs(x) > 0.35 || isNotNumber(x)) return exponential(x) - 1.0;
    precise float p = 1.0 / 5040.0;
    p = p * x + 1.0 / 720.0;
    p = p * x + 1.0 / 120.0;
    p = p * x + 1.0 / 24.0;
    p = p * x + 1.0 / 6.0;
    p = p * x + 0.5;
    precise float y = p * (x * x) + x;
    return y;
}

float logarithm(float x)
{
    if (isNotNumber(x) || x < 0.0) return notNumber();
    if (x == 0.0) return -kInfinity;
    if (x == kInfinity) return x;
    int e = 0;
    if (x < 1.17549435e-38) {
        x = x * 8388608.0;
        e = -23;
    }
    uint bits = floatBitsToUint(x);
    e += int(bits >> 23) - 126;
    precise float m = uintBitsToFloat((bits & 0x7FFFFFu) | 0x3F000000u); // [0.5, 1)
    if (m < 0.707106781) {
        e -= 1;
        m = m + m - 1.0;
    } else {
        m = m - 1.0;
    }
    precise float z = m * m;
    precise float p = 7.0376836292e-2;
    p = p * m - 1.1514610310e-1;
    p = p * m + 1.1676998740e-1;
    p = p * m - 1.2420140846e-1;
    p = p * m + 1.4249322787e-1;
    p = p * m - 1.6668057665e-1;
    p = p * m + 2.0000714765e-1;
    p = p * m - 2.4999993993e-1;
    p = p * m + 3.3333331174e-1;
    precise float y = p * m * z;
    precise float f = float(e);
    y = y + f * -2.12194440e-4;
    y = y - 0.5 * z;
    precise float sum = m + y;
    return sum + f * 0.693359375;
}

float logarithmOfOnePlus(float x)
{
    precise float u = 1.0 + x;
    if (u == 1.0 || !isFinite(u) || u <= 0.0) return u == 1.0 ? x : logarithm(u);
    precise float d = u - 1.0;
    return logarithm(u) * quotient(x, d);
}

/// Sine of x + quadrant * pi/2. Beyond 8192 the reduction loses digits.
float sine(float x, int quadrant)
{
    if (!isFinite(x)) return notNumber();
    precise float n = floor(x * 0.636619772 + 0.5);
    precise float r = x - n * 1.5703125;
    r = r - n * 4.837512969970703125e-4;
    r = r - n * 7.54953362047672271728515625e-8;
    r = r - n * 2.5633440258e-12;
    int q = (int(n) + quadrant) & 3;
    precise float z = r * r;
    precise float y;
    if ((q & 1) == 0) {
        y = -1.9515295891e-4 * z + 8.3321608736e-3;
        y = (y * z - 1.6666654611e-1) * z * r + r;
    } else {
        y = 2.443315711809948e-5 * z - 1.388731625493765e-3;
        y = (y * z + 4.166664568298827e-2) * (z * z) - 0.5 * z + 1.0;
    }
    return q >= 2 ? -y : y;
}

float hyperbolicTangent(float x)
{
    float a = abs(x);
    if (a < 0.625) {
        precise float z = x * x;
        precise float p = -5.70498872745e-3;
        p = p * z + 2.06390887954e-2;
        p = p * z - 5.37397155531e-2;
        p = p * z + 1.33314422036e-1;
        p = p * z - 3.33332819422e-1;
        return p * z * x + x;
    }
    if (isNotNumber(x)) return x;
    float y = a > 10.0 ? 1.0 : 1.0 - quotient(2.0, exponential(2.0 * a) + 1.0);
    return x < 0.0 ? -y : y;
}

/// 1 - erf(x), within 1.2e-7 of itself (a Chebyshev fit).
float complementaryError(float x)
{
    if (isNotNumber(x)) return x;
    precise float z = abs(x);
    precise float t = quotient(1.0, 1.0 + 0.5 * z);
    precise float p = 0.17087277;
    p = p * t - 0.82215223;
    p = p * t + 1.48851587;
    p = p * t - 1.13520398;
    p = p * t + 0.27886807;
    p = p * t - 0.18628806;
    p = p * t + 0.09678418;
    p = p * t + 0.37409196;
    p = p * t + 1.00002368;
    precise float e = -z * z - 1.26551223 + t * p;
    precise float y = t * exponential(e);
    return x >= 0.0 ? y : 2.0 - y;
}

float logistic(float x)
{
    if (x > 16.6190472) return 1.0;
    if (x < -9.0) return exponential(x);
    return quotient(1.0, 1.0 + exponential(-x));
}

/// Powers by logarithm: the error grows with the size of the exponent of the result.
float power(float a, float b)
{
    if (b == 0.0 || a == 1.0) return 1.0;
    if (isNotNumber(a) || isNotNumber(b)) return notNumber();
    bool isWhole = floor(b) == b;
    bool isOdd = isWhole && abs(b) < 16777216.0 && (int(b) & 1) != 0;
    if (a < 0.0 && !isWhole && isFinite(a) && isFinite(b)) return notNumber();
    float base = abs(a), y;
    if (base == 1.0) return isOdd ? a : 1.0;
    if (base == 0.0 || base == kInfinity) y = (base == 0.0) == (b < 0.0) ? kInfinity : 0.0;
    else if (!isFinite(b)) return (base > 1.0) == (b > 0.0) ? kInfinity : 0.0;
    else if (isWhole && abs(b) <= 64.0) { // by squaring: a few roundings
        precise float result = 1.0;
        precise float factor = base;
        for (int e = int(abs(b)); e > 0; e >>= 1) {
            if ((e & 1) != 0) result = result * factor;
            factor = factor * factor;
        }
        y = b < 0.0 ? quotient(1.0, result) : result;
    } else { // 2^(b * log2 base): the whole part of the exponent is split off exactly
        int e = int(floatBitsToUint(base) >> 23) - 127;
        precise float m = uintBitsToFloat((floatBitsToUint(base) & 0x7FFFFFu) | 0x3F800000u); // [1, 2)
        if (base < 1.17549435e-38) {
            y = exponential(b * logarithm(base));
        } else {
            if (m > 1.41421356) {
                m = m * 0.5;
                e += 1;
            }
            precise float part = b * float(e), error = productError(b, float(e), part), t = b * logarithm(m);
            precise float tail = t + error * 0.693147181;
            if (part > 200.0 && tail > -50.0) y = kInfinity;
            else if (part < -300.0 && tail < 50.0) y = 0.0;
            else {
                float n = floor(part + 0.5);
                precise float rest = (part - n) * 0.693147181 + tail;
                y = abs(rest) < 80.0 && abs(n) < 250.0 ? scaled(exponential(rest), int(n)) : exponential(b * logarithm(base));
            }
        }
    }
    return (a < 0.0 || (a == 0.0 && floatBitsToInt(a) < 0)) && isOdd ? -y : y;
}
