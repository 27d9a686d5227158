// Iteration sets: `all%100`, `0..63,pow2,last-63..last`.
#include "engine/observe/address.h"
#include "engine/observe/address_scanner.h"

#include <algorithm>
#include <bit>

namespace loopscope {

namespace {

using Bound = IterationRange::Bound;

bool atBound(const AddressScanner& in) { return in.atDigit() || in.startsWith("last"); }

Result<Bound> bound(AddressScanner& in)
{
    Bound b;
    if (in.accept("last")) {
        b.fromLast = true;
        if (in.accept("-")) {
            LS_TRY(b.offset, in.number());
        }
        return b;
    }
    LS_TRY(b.offset, in.number());
    return b;
}

Status every(AddressScanner& in, IterationRange& range)
{
    if (!in.accept("%")) return {};
    const size_t at = in.position();
    LS_TRY(range.every, in.number());
    if (range.every == 0) return in.error(at, "found every 0th iteration, expected 1 or more");
    return {};
}

Result<IterationRange> range(AddressScanner& in)
{
    IterationRange r;
    const size_t begin = in.position();
    if (in.accept("pow2")) {
        r.powersOfTwo = true;
        r.low.offset = 1;
        r.openEnd = true;
        return r;
    }
    if (in.accept("..")) {
        LS_TRY(r.high, bound(in));
    } else if (atBound(in)) {
        LS_TRY(r.low, bound(in));
        r.high = r.low;
        if (in.accept("..")) {
            if (atBound(in)) {
                LS_TRY(r.high, bound(in));
            } else {
                r.high = {};
                r.openEnd = true;
            }
        }
    } else {
        return in.error(begin, "found " + in.found() + ", expected iterations: a number, a range, all, last or pow2");
    }
    LS_CHECK_OK(every(in, r));
    const bool backwards =
        !r.openEnd && r.low.fromLast == r.high.fromLast && (r.low.fromLast ? r.low.offset < r.high.offset : r.high.offset < r.low.offset);
    if (backwards) return in.error(begin, "the range ends before it begins");
    return r;
}

std::string text(const Bound& b)
{
    if (!b.fromLast) return std::to_string(b.offset);
    return b.offset == 0 ? "last" : "last-" + std::to_string(b.offset);
}

/// The iteration that a bound means; −1 where the last one is not known.
int64_t resolved(const Bound& b, int64_t last)
{
    if (!b.fromLast) return b.offset;
    return last < 0 ? -1 : std::max<int64_t>(0, last - b.offset);
}

} // namespace

Result<IterationSet> scanIterations(AddressScanner& in)
{
    IterationSet set;
    if (in.accept("all")) {
        IterationRange stride;
        stride.openEnd = true;
        LS_CHECK_OK(every(in, stride));
        if (stride.every > 1) set.ranges.push_back(stride);
        return set;
    }
    do {
        LS_TRY(IterationRange r, range(in));
        set.ranges.push_back(r);
    } while (in.accept(","));
    return set;
}

Result<IterationSet> parseIterations(std::string_view text)
{
    AddressScanner in(text);
    LS_TRY(IterationSet set, scanIterations(in));
    if (!in.atEnd()) return in.error(in.position(), "found " + in.found() + ", expected ',' or the end");
    return set;
}

std::string toString(const IterationSet& set)
{
    if (set.ranges.empty()) return "all";
    std::string out;
    for (const IterationRange& r : set.ranges) {
        if (!out.empty()) out += ",";
        const bool fromZero = !r.low.fromLast && r.low.offset == 0;
        if (r.powersOfTwo) {
            out += "pow2";
            continue;
        }
        if (r.openEnd && fromZero && r.every > 1 && set.ranges.size() == 1) out += "all";
        else if (r.openEnd) out += loopscope::text(r.low) + "..";
        else out += r.low == r.high ? loopscope::text(r.low) : loopscope::text(r.low) + ".." + loopscope::text(r.high);
        if (r.every > 1) out += "%" + std::to_string(r.every);
    }
    return out;
}

bool IterationSet::contains(int64_t iteration, int64_t last) const
{
    if (iteration < 0) return false;
    if (ranges.empty()) return true;
    return std::any_of(ranges.begin(), ranges.end(), [&](const IterationRange& r) {
        if (r.powersOfTwo) return std::has_single_bit(static_cast<uint64_t>(iteration));
        const int64_t low = resolved(r.low, last);
        if (low < 0 || iteration < low) return false;
        if (!r.openEnd) {
            const int64_t high = resolved(r.high, last);
            if (high < 0 || iteration > high) return false;
            // A bound that reaches before the start is no bound: `last-5` of a loop of three iterations is none of them.
            if (r.high.fromLast && last - r.high.offset < 0) return false;
        }
        return (iteration - low) % r.every == 0;
    });
}

bool IterationSet::usesLast() const { return reachFromLast() >= 0; }

int64_t IterationSet::reachFromLast() const
{
    int64_t reach = -1;
    for (const IterationRange& r : ranges) {
        if (r.powersOfTwo) continue;
        if (r.low.fromLast) reach = std::max(reach, r.low.offset);
        if (!r.openEnd && r.high.fromLast) reach = std::max(reach, r.high.offset);
    }
    return reach;
}

} // namespace loopscope
