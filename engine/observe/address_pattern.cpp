// Matching of concrete addresses against patterns.
#include "engine/observe/address.h"
#include "engine/observe/address_scanner.h"

#include <span>
#include <string_view>

namespace loopscope {

namespace {

/// `pattern` holds kWildcard for any run of characters.
bool matchesName(std::string_view pattern, std::string_view name)
{
    size_t p = 0;
    size_t n = 0;
    size_t star = std::string_view::npos; // last wildcard, to which a mismatch goes back
    size_t starName = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == kWildcard) {
            star = p++;
            starName = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++starName;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == kWildcard) ++p;
    return p == pattern.size();
}

/// A pattern name without `#` is tried on the whole label, so that `*` means any operator and `conv*` begins like `conv_2d#3`.
bool matchesOperator(const OperatorName& pattern, const OperatorName& concrete)
{
    const bool named = pattern.index < 0 && !pattern.anyIndex;
    if (named) {
        if (concrete.index < 0) return matchesName(pattern.name, concrete.name);
        return pattern.name.find(kWildcard) != std::string::npos &&
               matchesName(pattern.name, concrete.kind + "#" + std::to_string(concrete.index));
    }
    if (concrete.index < 0) return false;
    if (!pattern.anyIndex && pattern.index != concrete.index) return false;
    return pattern.kind.empty() || concrete.kind.empty() || matchesName(pattern.kind, concrete.kind);
}

bool matchesStep(const AddressStep& pattern, const AddressStep& concrete)
{
    if (pattern.role != concrete.role || !matchesOperator(pattern.site, concrete.site)) return false;
    if (pattern.branch >= 0 && pattern.branch != concrete.branch) return false;
    if (pattern.iterations) return pattern.iterations->contains(concrete.iteration);
    return pattern.iteration < 0 || pattern.iteration == concrete.iteration;
}

bool matchesSteps(std::span<const AddressStep> pattern, std::span<const AddressStep> concrete)
{
    // Like matchesName: `...` takes as few steps as it can, and one more whenever the rest does not fit.
    size_t p = 0;
    size_t c = 0;
    size_t any = pattern.size();
    size_t anyConcrete = 0;
    while (c < concrete.size()) {
        if (p < pattern.size() && pattern[p].anySteps) {
            any = p++;
            anyConcrete = c;
        } else if (p < pattern.size() && matchesStep(pattern[p], concrete[c])) {
            ++p;
            ++c;
        } else if (any < pattern.size()) {
            p = any + 1;
            c = ++anyConcrete;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p].anySteps) ++p;
    return p == pattern.size();
}

bool matchesTarget(const Address& pattern, const Address& concrete)
{
    switch (pattern.target) {
    case TargetKind::invocation:
        return concrete.target == TargetKind::invocation || (!pattern.steps.empty() && pattern.steps.back().anySteps);
    case TargetKind::op:
    case TargetKind::value:
        if (concrete.target == TargetKind::invocation) return false;
        return matchesOperator(pattern.op, concrete.op);
    case TargetKind::output:
    case TargetKind::input:
        return concrete.target == pattern.target && concrete.slot == pattern.slot && matchesOperator(pattern.op, concrete.op);
    }
    return false;
}

} // namespace

Result<AddressPattern> AddressPattern::parse(std::string_view text)
{
    LS_TRY(Address pattern, parsePattern(text));
    return AddressPattern(std::move(pattern));
}

bool AddressPattern::matches(const Address& concrete) const
{
    if (m_pattern.run >= 0 && m_pattern.run != concrete.run) return false;
    if (!m_pattern.root.empty() && (m_pattern.rootIsSignature != concrete.rootIsSignature || !matchesName(m_pattern.root, concrete.root)))
        return false;
    return matchesTarget(m_pattern, concrete) && matchesSteps(m_pattern.steps, concrete.steps);
}

} // namespace loopscope
