// Changes to files that keep their kind: most of a damaged file must still be read before it is refused. Fixed seeds, equal on every
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace loopscope {

/// splitmix64: the same numbers on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : m_state(seed * 0x9e3779b97f4a7c15U + 1) {}
    uint64_t next();
    size_t below(size_t n) { return n == 0 ? 0 : next() % n; }

private:
    uint64_t m_state;
};

using Content = std::vector<std::byte>;

/// Flipped bits, odd numbers where numbers may be, pieces of another file of the kind, bytes that are too many or missing.
Content mutateBytes(const Content& file, const Content& other, Random& random);
/// Lines and words that are repeated, moved, lost or taken from another text, odd numbers in place of numbers; seldom as mutateBytes.
Content mutateText(const Content& text, const Content& other, Random& random);

} // namespace loopscope
