#include "converters/fuse/factors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <optional>

namespace loopscope::fusing {

namespace {

/// A constant that is one number and makes nothing larger.
std::optional<double> numberOf(Site& site, ValueId value)
{
    const Numbers* const numbers = site.constants().floats(value);
    if (numbers == nullptr || !numbers->isOne() || numbers->shape.rank() > 1) return std::nullopt;
    return numbers->values[0];
}

bool isPlain(const Operator& op, size_t operands)
{
    return op.inputs.size() == operands && std::ranges::all_of(op.inputs, [](ValueId input) { return input.valid(); });
}

class FactorReader {
public:
    FactorReader(Site& site, int wanted) : m_site(site), m_wanted(wanted) {}

    /// One value as a product, opened as far as it may be.
    Factors read(ValueId value, OperatorId root)
    {
        if (root.valid()) open(root, 2);
        else put(value, 2);
        for (bool isChanged = true; isChanged;) {
            isChanged = false;
            for (const bool onlyNumbers : {true, false}) { // what a number is multiplied with costs no room
                for (size_t k = 0; k < m_found.factors.size() && !isChanged; ++k) isChanged = openAt(k, onlyNumbers);
                if (isChanged) break;
            }
        }
        return std::move(m_found);
    }

private:
    int count() const
    {
        int all = 0;
        for (const Factor& factor : m_found.factors) all += std::max(std::abs(factor.halves) / 2, 1);
        return all;
    }

    void put(ValueId value, int halves)
    {
        if (const std::optional<double> number = numberOf(m_site, value)) {
            m_found.scale *= std::pow(*number, halves / 2.0);
            return;
        }
        const ValueId source = m_site.behindIdentities(value);
        for (Factor& factor : m_found.factors)
            if (m_site.behindIdentities(factor.value) == source) {
                factor.halves += halves;
                return;
            }
        m_found.factors.push_back({value, halves});
    }

    bool openAt(size_t k, bool onlyNumbers)
    {
        const Factor factor = m_found.factors[k];
        std::vector<OperatorId> passed;
        const OperatorId id = m_site.producer(factor.value, &passed);
        if (!id.valid() || m_site.constants().floats(factor.value) != nullptr) return false;
        const Operator& op = m_site.editor().op(id);
        if (m_site.editor().uses(factor.value).size() != 1 || m_site.editor().uses(op.results[0]).size() != 1) return false;
        if (activationOf(op) != "NONE" || !isProductKind(op) || op.results[0] != m_site.behindIdentities(factor.value)) return false;
        const bool hasNumber = std::ranges::any_of(op.inputs, [&](ValueId input) { return numberOf(m_site, input).has_value(); });
        if (onlyNumbers && op.inputs.size() > 1 && !hasNumber) return false;
        if (!hasNumber && op.inputs.size() > 1 && count() >= m_wanted) return false;
        m_found.factors.erase(m_found.factors.begin() + static_cast<std::ptrdiff_t>(k));
        const Factors before = m_found;
        m_found.ops.insert(m_found.ops.end(), passed.begin(), passed.end());
        if (open(id, factor.halves)) return true;
        m_found = before;
        m_found.factors.insert(m_found.factors.begin() + static_cast<std::ptrdiff_t>(k), factor);
        return false;
    }

    /// The operator's operands in its place; false: it is none that could be opened to this power.
    bool open(OperatorId id, int halves)
    {
        const Operator op = m_site.editor().op(id);
        const std::string_view kind = neutralKind(op.kind);
        if (halves % 2 != 0) return false; // the root of a product is another one where factors are negative
        m_found.ops.push_back(id);
        if (kind == "mul" && isPlain(op, 2)) {
            put(op.inputs[0], halves);
            put(op.inputs[1], halves);
        } else if (kind == "div" && isPlain(op, 2)) {
            put(op.inputs[0], halves);
            put(op.inputs[1], -halves);
        } else if (kind == "neg" && isPlain(op, 1)) {
            if (halves / 2 % 2 != 0) m_found.scale = -m_found.scale;
            put(op.inputs[0], halves);
        } else if (kind == "reciprocal" && isPlain(op, 1)) {
            put(op.inputs[0], -halves);
        } else if (kind == "square" && isPlain(op, 1)) {
            put(op.inputs[0], 2 * halves);
        } else if (kind == "sqrt" && isPlain(op, 1)) {
            put(op.inputs[0], halves / 2);
        } else if (kind == "rsqrt" && isPlain(op, 1)) {
            put(op.inputs[0], -halves / 2);
        } else if (const std::optional<double> power = kind == "pow" && isPlain(op, 2) ? numberOf(m_site, op.inputs[1]) : std::nullopt;
                   power && *power * 2 == std::floor(*power * 2) && std::fabs(*power) <= 4 && *power != 0) {
            put(op.inputs[0], static_cast<int>(halves * *power));
        } else {
            m_found.ops.pop_back();
            return false;
        }
        return true;
    }

    Site& m_site;
    const int m_wanted;
    Factors m_found;
};

class TermReader {
public:
    TermReader(Site& site, int wanted) : m_site(site), m_wanted(wanted) {}

    Terms read(OperatorId root)
    {
        struct Open {
            ValueId value;
            double sign;
        };
        std::deque<Open> open;
        const auto expand = [&](OperatorId id, double sign) {
            const Operator op = m_site.editor().op(id);
            m_found.ops.push_back(id);
            open.push_back({op.inputs[0], sign});
            if (op.inputs.size() > 1) open.push_back({op.inputs[1], neutralKind(op.kind) == "sub" ? -sign : sign});
        };
        expand(root, 1);
        while (!open.empty()) {
            const Open next = open.front();
            open.pop_front();
            if (const std::optional<double> number = numberOf(m_site, next.value)) {
                m_found.constant += next.sign * *number;
                m_found.constants.push_back(next.value);
                continue;
            }
            std::vector<OperatorId> passed;
            const OperatorId id = m_site.producer(next.value, &passed);
            const bool hasRoom = static_cast<int>(m_found.terms.size() + open.size()) + 1 < m_wanted;
            if (id.valid() && isInner(next.value, id) && isSumKind(m_site.editor().op(id)) && (hasRoom || addsNumber(id))) {
                m_found.ops.insert(m_found.ops.end(), passed.begin(), passed.end());
                expand(id, next.sign);
                continue;
            }
            m_found.terms.push_back(FactorReader(m_site, 8).read(next.value, {}));
            m_found.terms.back().scale *= next.sign;
        }
        return std::move(m_found);
    }

private:
    bool isInner(ValueId value, OperatorId id) const
    {
        const Operator& op = m_site.editor().op(id);
        return m_site.constants().floats(value) == nullptr && m_site.editor().uses(value).size() == 1 &&
               m_site.editor().uses(op.results[0]).size() == 1 && activationOf(op) == "NONE" &&
               op.results[0] == m_site.behindIdentities(value);
    }

    bool addsNumber(OperatorId id) const
    {
        const Operator& op = m_site.editor().op(id);
        return std::ranges::any_of(op.inputs, [&](ValueId input) { return numberOf(m_site, input).has_value(); });
    }

    Site& m_site;
    const int m_wanted;
    Terms m_found;
};

} // namespace

bool isProductKind(const Operator& op)
{
    const std::string_view kind = neutralKind(op.kind);
    if (kind == "mul" || kind == "div" || kind == "pow") return isPlain(op, 2);
    return (kind == "neg" || kind == "reciprocal" || kind == "square" || kind == "sqrt" || kind == "rsqrt") && isPlain(op, 1);
}

bool isSumKind(const Operator& op)
{
    const std::string_view kind = neutralKind(op.kind);
    return (kind == "add" || kind == "sub") && isPlain(op, 2);
}

Factors factorsOf(Site& site, OperatorId root, int wanted) { return FactorReader(site, wanted).read({}, root); }

Terms termsOf(Site& site, OperatorId root, int wanted) { return TermReader(site, wanted).read(root); }

} // namespace loopscope::fusing
