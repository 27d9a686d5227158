// The address of everything: `main/while#7@37:body/if#3:then/add#2:0`. One type and one spelling for stack frames, breakpoints, trace
// keys, diffs and links. Grammar and meaning: docs/text_ir.md, "Addresses".
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

enum class StepRole : uint8_t { none, cond, body, thenBranch, elseBranch, branch, call, init, region, frame };

inline constexpr char kWildcard = '\x01'; ///< stands for `*` in names of patterns

/// An operator or call site as written: `add#2` (kind and index), `#2` (index only), or a name (TensorFlow node, v1 frame).
struct OperatorName {
    std::string kind;      ///< of `kind#n`; empty otherwise
    int64_t index = -1;    ///< of `kind#n` and `#n`; −1: `name` counts
    std::string name;      ///< unescaped
    bool anyIndex = false; ///< patterns: `#*`
    bool operator==(const OperatorName&) const = default;
};

/// One range of an iteration list; `last` bounds count from the end.
struct IterationRange {
    struct Bound {
        int64_t offset = 0; ///< the number, or the distance from the last iteration
        bool fromLast = false;
        bool operator==(const Bound&) const = default;
    };
    Bound low, high;          ///< inclusive
    bool openEnd = false;     ///< `10..`: no upper bound
    int64_t every = 1;        ///< `%N`, counted from the lower end
    bool powersOfTwo = false; ///< `pow2`: 1, 2, 4, …
    bool operator==(const IterationRange&) const = default;
};

/// `all`, `all%100`, `0..63,pow2,last-63..last`: which iterations. `--iterations` takes one.
struct IterationSet {
    std::vector<IterationRange> ranges; ///< empty: all
    /// `last` is the number of the last iteration, −1 while it is not known yet: bounds counted from it then do not match.
    bool contains(int64_t iteration, int64_t last = -1) const;
    bool usesLast() const;
    /// How many iterations before the end the bounds reach (63 for `last-63..last`); −1 if !usesLast().
    int64_t reachFromLast() const;
    bool operator==(const IterationSet&) const = default;
};

/// One call site on the way: which operator, in which iteration, in which role.
struct AddressStep {
    OperatorName site;
    StepRole role = StepRole::none;
    int32_t branch = -1;                    ///< branch k, region k
    int64_t iteration = -1;                 ///< −1: none
    bool anySteps = false;                  ///< patterns: `...`
    std::optional<IterationSet> iterations; ///< patterns: what stands after `@`
    bool operator==(const AddressStep&) const = default;
};

enum class TargetKind : uint8_t { invocation, op, output, input, value };

/// A parsed address or pattern. Fields that its kind does not use hold their defaults and so do not disturb comparison.
struct Address {
    int64_t run = -1;             ///< `r2:`; −1: the current run
    std::string root;             ///< graph id, unescaped; empty in patterns that begin with `...`
    bool rootIsSignature = false; ///< `sig:NAME`
    std::vector<AddressStep> steps;
    TargetKind target = TargetKind::invocation;
    OperatorName op;   ///< target op, output, input; target value: `name` is the value's id
    int32_t slot = -1; ///< output and input
    bool operator==(const Address&) const = default;
};

/// Parses a canonical address. Reading is left to right and needs no model. Errors: usage, with the column.
Result<Address> parseAddress(std::string_view text);
/// Parses what may follow a root, `while#7@3:body/add#2`: an address with an empty root. Errors: usage, with the column.
Result<Address> parseAddressTail(std::string_view text);
/// Parses a pattern: an address with iteration sets, `...` and `*`.
Result<Address> parsePattern(std::string_view text);
/// Parses what may follow the root of a pattern.
Result<Address> parsePatternTail(std::string_view text);
Result<IterationSet> parseIterations(std::string_view text);

/// What `goto`, `break` and links accept beside addresses: a resource variable, `var:[container/]name`, or a position, `step:48213`.
struct Place {
    enum class Kind : uint8_t { address, variable, step } kind = Kind::address;
    Address address;
    std::string variable; ///< unescaped
    int64_t step = -1;    ///< the moment at which that many operators have completed
    bool operator==(const Place&) const = default;
};
Result<Place> parsePlace(std::string_view text);
std::string toString(const Place& place);

std::string toString(const Address& address);
std::string toString(const IterationSet& set);
std::string_view stepRoleName(StepRole role);

/// Matches concrete places against a pattern. A pattern without `@` on a loop step matches all iterations. One without a target matches
/// the invocation; ending in `/*` what is directly inside, ending in `/...` the invocation and everything in it, however deep. One that
/// names an operator matches it, its outputs and its inputs; with a slot only that.
class AddressPattern {
public:
    /// From what parsePattern gave.
    explicit AddressPattern(Address pattern) : m_pattern(std::move(pattern)) {}
    static Result<AddressPattern> parse(std::string_view text);
    bool matches(const Address& concrete) const;
    const Address& pattern() const { return m_pattern; }

private:
    Address m_pattern;
};

} // namespace loopscope
