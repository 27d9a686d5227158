#include "converters/fuse/pattern.h"

#include "converters/fuse/factors.h"

#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <unordered_map>

namespace loopscope::fusing {

namespace {

struct Term {
    enum class Kind : uint8_t { op, value, anyConstant, anything, number } kind = Kind::op;
    std::string text;  ///< operator or name
    std::string label; ///< `e` of `e:exp(x)`
    float number = 0;
    std::vector<Term> arguments;
    AttributeList attributes; ///< of a replacement
};

/// Reads the written form. Rules are ours, so that a mistake in one is a mistake of ours: the unit test reads them all.
class TermReader {
public:
    explicit TermReader(std::string_view text) : m_text(text) {}

    Term read()
    {
        Term term = readTerm();
        for (skip(); m_at < m_text.size(); skip()) {
            const std::string key = readWord();
            ++m_at; // =
            term.attributes.push_back({key, attributeOf(readWord())});
        }
        std::ranges::sort(term.attributes, {}, &NamedAttribute::key);
        return term;
    }

private:
    static Attribute attributeOf(const std::string& word)
    {
        if (word == "true" || word == "false") return word == "true";
        if (std::isdigit(static_cast<unsigned char>(word[0])) == 0 && word[0] != '-') return Word{word};
        if (word.find('.') != std::string::npos) return floatAttribute(std::strtof(word.c_str(), nullptr));
        return static_cast<int64_t>(std::strtol(word.c_str(), nullptr, 10));
    }

    void skip()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == ',')) ++m_at;
    }

    std::string readWord()
    {
        skip();
        const size_t from = m_at;
        while (m_at < m_text.size() && std::string_view(" ,()=:").find(m_text[m_at]) == std::string_view::npos) ++m_at;
        return std::string(m_text.substr(from, m_at - from));
    }

    Term readTerm()
    {
        Term term;
        term.text = readWord();
        if (m_at < m_text.size() && m_text[m_at] == ':') {
            ++m_at;
            term.label = std::exchange(term.text, readWord());
        }
        if (m_at < m_text.size() && m_text[m_at] == '(') {
            ++m_at;
            for (skip(); m_at < m_text.size() && m_text[m_at] != ')'; skip()) term.arguments.push_back(readTerm());
            ++m_at;
            return term;
        }
        const char first = term.text.empty() ? ' ' : term.text[0];
        if (first == '@') term.kind = Term::Kind::number;
        else if (first == '$') term.kind = Term::Kind::anyConstant;
        else if (first == '?') term.kind = Term::Kind::anything;
        else if (first == '-' || std::isdigit(static_cast<unsigned char>(first)) != 0) {
            term.kind = Term::Kind::number;
            term.number = std::strtof(term.text.c_str(), nullptr);
        } else term.kind = Term::Kind::value;
        return term;
    }

    std::string_view m_text;
    size_t m_at = 0;
};

/// Each text is read once.
const Term& termOf(const std::string& text)
{
    static std::unordered_map<std::string, std::unique_ptr<Term>> terms;
    std::unique_ptr<Term>& term = terms[text];
    if (!term) term = std::make_unique<Term>(TermReader(text).read());
    return *term;
}

bool isCommutative(std::string_view kind) { return kind == "add" || kind == "mul" || kind == "maximum" || kind == "minimum"; }

bool isNear(float a, float b)
{
    if (a == b) return true;
    return std::nextafter(a, b) == b;
}

std::string numberText(float value)
{
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return {text, end};
}

constexpr std::string_view kProduct = "prod", kSum = "total";

/// What a factor of a pattern is a power of, and of how many halves.
std::pair<const Term*, int> powerOf(const Term& factor)
{
    static constexpr std::array<std::pair<std::string_view, int>, 4> kPowers = {{{"sq", 4}, {"inv", -2}, {"root", 1}, {"invroot", -1}}};
    for (const auto& [name, halves] : kPowers)
        if (factor.kind == Term::Kind::op && factor.text == name) return {&factor.arguments[0], halves};
    return {&factor, 2};
}

/// How many factors a product of a pattern has.
int roomOf(const Term& term)
{
    int room = 0;
    for (const Term& argument : term.arguments)
        if (argument.kind != Term::Kind::number) room += std::max(std::abs(powerOf(argument).second) / 2, 1);
    return room;
}

/// Products of constants are rounded more than once.
bool isNearly(double a, double b) { return std::fabs(a - b) <= 2.5e-7 * std::fabs(b); }

class Matcher {
public:
    explicit Matcher(Site& site) : m_site(site) {}

    bool at(const Term& term, OperatorId id, bool isActivated, Match& match)
    {
        const Operator& op = m_site.editor().op(id);
        const std::string_view act = isActivated ? activationOf(op) : "NONE";
        if (act != "NONE") {
            if (activationKind(act) != term.text || term.arguments.size() != 1 || term.arguments[0].kind != Term::Kind::op) return false;
            return at(term.arguments[0], id, false, match);
        }
        if (term.text == kProduct) return isProductKind(op) && product(term, factorsOf(m_site, id, roomOf(term)), match);
        if (term.text == kSum) return isSumKind(op) && sum(term, termsOf(m_site, id, static_cast<int>(term.arguments.size())), match);
        if (neutralKind(op.kind) != term.text || op.inputs.size() != term.arguments.size()) return false;
        if (!term.label.empty()) match.named.emplace_back(term.label, id);
        const Match before = match;
        bool found = operands(term, op, false, match);
        if (isCommutative(term.text) && (!found || !match.violations.empty())) {
            Match swapped = before;
            const bool alsoFound = operands(term, op, true, swapped);
            if (alsoFound && (!found || swapped.violations.size() < match.violations.size())) {
                match = std::move(swapped);
                found = true;
            }
        }
        if (found && std::ranges::find(match.ops, id) == match.ops.end()) match.ops.push_back(id);
        return found;
    }

private:
    bool operands(const Term& term, const Operator& op, bool isSwapped, Match& match)
    {
        const std::vector<ValueId> inputs = op.inputs;
        for (size_t k = 0; k < inputs.size(); ++k)
            if (!operand(term.arguments[k], inputs[isSwapped ? inputs.size() - 1 - k : k], match)) return false;
        return true;
    }

    bool operand(const Term& term, ValueId value, Match& match)
    {
        if (!value.valid()) return false;
        switch (term.kind) {
        case Term::Kind::op: {
            std::vector<OperatorId> passed;
            const OperatorId producer = m_site.producer(value, &passed);
            if (!producer.valid()) return false;
            for (const OperatorId op : passed)
                if (std::ranges::find(match.ops, op) == match.ops.end()) match.ops.push_back(op);
            return at(term, producer, true, match);
        }
        case Term::Kind::anyConstant:
            if (const Numbers* const numbers = m_site.constants().floats(value); numbers == nullptr) return false;
            else if (!areFinite(numbers->values))
                match.violations.push_back("constant '" + m_site.editor().value(value).id + "' is not finite");
            match.values.emplace_back(term.text, value);
            return true;
        case Term::Kind::anything: match.values.emplace_back(term.text, value); return true;
        case Term::Kind::number: return number(term, value, match);
        case Term::Kind::value: break;
        }
        if (m_site.constants().floats(value) != nullptr) return false;
        const ValueId source = m_site.behindIdentities(value);
        for (const auto& [name, bound] : match.values) {
            if (name != term.text) continue;
            if (m_site.behindIdentities(bound) != source)
                match.violations.push_back("'" + m_site.editor().value(bound).id + "' and '" + m_site.editor().value(value).id +
                                           "' are different tensors");
            return true;
        }
        match.values.emplace_back(term.text, value);
        return true;
    }

    using Wanted = std::vector<std::pair<const Term*, int>>;

    /// Operators first, for they decide what the names stand for; the powers of one name are one.
    static Wanted wantedFactors(const Term& term, double& scale)
    {
        Wanted wanted;
        const bool isProduct = term.kind == Term::Kind::op && term.text == kProduct;
        const std::span<const Term> arguments = isProduct ? std::span<const Term>(term.arguments) : std::span<const Term>(&term, 1);
        for (const bool isOperator : {true, false})
            for (const Term& argument : arguments) {
                if (argument.kind == Term::Kind::number) {
                    if (isOperator) scale *= argument.number;
                    continue;
                }
                const auto [of, halves] = powerOf(argument);
                if ((of->kind == Term::Kind::op) != isOperator) continue;
                const auto same = std::ranges::find_if(
                    wanted, [&, of = of](const auto& known) { return of->kind != Term::Kind::op && known.first->text == of->text; });
                if (same != wanted.end()) same->second += halves;
                else wanted.emplace_back(of, halves);
            }
        return wanted;
    }

    void takeOps(const std::vector<OperatorId>& ops, Match& match) const
    {
        for (auto op = ops.rbegin(); op != ops.rend(); ++op)
            if (std::ranges::find(match.ops, *op) == match.ops.end()) match.ops.push_back(*op);
    }

    bool product(const Term& term, const Factors& found, Match& match)
    {
        double scale = 1;
        const Wanted wanted = wantedFactors(term, scale);
        if (wanted.size() != found.factors.size()) return false;
        std::vector<bool> taken(wanted.size(), false);
        std::optional<Match> best;
        assign(wanted, found.factors, 0, taken, match, best);
        if (!best) return false;
        match = std::move(*best);
        if (!isNearly(found.scale, scale)) isOther(found.scale, scale, match);
        takeOps(found.ops, match);
        return true;
    }

    /// Every factor of the pattern is one of the graph's; of several ways the one with the fewest violations.
    void assign(const Wanted& wanted, const std::vector<Factor>& factors, size_t k, std::vector<bool>& taken, const Match& match,
                std::optional<Match>& best)
    {
        if (best && best->violations.size() <= match.violations.size()) return;
        if (k == wanted.size()) {
            best = match;
            return;
        }
        for (size_t f = 0; f < factors.size(); ++f) {
            if (taken[f] || factors[f].halves != wanted[k].second) continue;
            Match trial = match;
            if (!operand(*wanted[k].first, factors[f].value, trial)) continue;
            taken[f] = true;
            assign(wanted, factors, k + 1, taken, trial, best);
            taken[f] = false;
        }
    }

    bool sum(const Term& term, const Terms& found, Match& match)
    {
        double constant = 0;
        std::vector<const Term*> wanted;
        for (const Term& argument : term.arguments) {
            if (argument.kind == Term::Kind::number) constant += argument.number;
            else if (argument.kind == Term::Kind::anyConstant && found.constants.size() == 1)
                match.values.emplace_back(argument.text, found.constants[0]);
            else wanted.push_back(&argument);
        }
        const bool takesAny = wanted.size() + (constant != 0 ? 1 : 0) != term.arguments.size();
        if (wanted.size() != found.terms.size() || (constant != 0 && found.constants.empty())) return false;
        std::vector<bool> taken(wanted.size(), false);
        std::optional<Match> best;
        addends(wanted, found.terms, 0, taken, match, best);
        if (!best) return false;
        match = std::move(*best);
        if (!takesAny && !isNearly(found.constant, constant)) isOther(found.constant, constant, match);
        takeOps(found.ops, match);
        return true;
    }

    void addends(const std::vector<const Term*>& wanted, const std::vector<Factors>& terms, size_t k, std::vector<bool>& taken,
                 const Match& match, std::optional<Match>& best)
    {
        if (best && best->violations.size() <= match.violations.size()) return;
        if (k == wanted.size()) {
            best = match;
            return;
        }
        for (size_t t = 0; t < terms.size(); ++t) {
            if (taken[t]) continue;
            Match trial = match;
            if (!product(*wanted[k], terms[t], trial)) continue;
            taken[t] = true;
            addends(wanted, terms, k + 1, taken, trial, best);
            taken[t] = false;
        }
    }

    bool number(const Term& term, ValueId value, Match& match)
    {
        const Numbers* const numbers = m_site.constants().floats(value);
        if (numbers == nullptr) return false;
        if (numbers->isSplat() && enlargesNothing(*numbers, match)) {
            if (!isNear(numbers->values[0], term.number)) isOther(numbers->values[0], term.number, match);
            return true;
        }
        if (!numbers->isOne() || numbers->shape.rank() > 1) match.violations.push_back("constant " + term.text + " is no scalar");
        else if (!isNear(numbers->values[0], term.number)) isOther(numbers->values[0], term.number, match);
        return true;
    }

    /// A constant that is not the pattern's: near enough for who asks for that, or a violation.
    void isOther(double is, double wanted, Match& match) const
    {
        const std::string own = numberText(static_cast<float>(is)), of = numberText(static_cast<float>(wanted));
        if (m_site.nearness() > 0 && std::fabs(is - wanted) <= m_site.nearness() * std::fabs(wanted))
            match.loose.push_back("constant " + own + " taken for " + of);
        else match.violations.push_back("constant " + own + " should be " + of);
    }

    /// Whether x is as large as the constant at least.
    bool enlargesNothing(const Numbers& numbers, const Match& match) const
    {
        const ValueId x = match.value("x");
        const Shape shape = x.valid() ? m_site.typeOf(x).dynamicShape() : Shape::unknownRank();
        if (!shape.hasRank() || numbers.shape.rank() > shape.rank()) return false;
        for (int d = 1; d <= numbers.shape.rank(); ++d) {
            const int64_t own = numbers.shape[numbers.shape.rank() - d];
            if (own != 1 && own != shape[shape.rank() - d]) return false;
        }
        return true;
    }

    Site& m_site;
};

/// The operators at which an expression may begin.
void addRoots(const Term& term, std::vector<std::string>& roots)
{
    if (term.text == kProduct) roots.insert(roots.end(), {"mul", "div", "reciprocal", "pow"});
    else if (term.text == kSum) roots.insert(roots.end(), {"add", "sub"});
    else roots.push_back(term.text);
}

constexpr std::string_view kLabel = "label:";

std::string labelOf(const Term& replacement)
{
    const size_t dialect = replacement.text.find('.');
    std::string label = upperCase(dialect == std::string::npos ? replacement.text : replacement.text.substr(dialect + 1));
    return attributeBool(replacement.attributes, "approximate", false) ? label + "(approximate)" : label;
}

/// Writes an expression out: its operators in front of the one that it stands for.
class Writer {
public:
    Writer(Site& site, const Match& match) : m_site(site), m_match(match), m_root(match.ops.back()) {}

    OperatorDraft draftOf(const Term& term)
    {
        OperatorDraft draft;
        draft.kind = {"tfl", term.text};
        const bool reduces = term.text == "sum" || term.text == "mean" || term.text == "reduce_max";
        if (reduces) draft.attributes = {{"keep_dims", true}};
        for (size_t k = 0; k < term.arguments.size(); ++k)
            draft.inputs.push_back(reduces && k == 1 ? axis(term.arguments[k]) : valueOf(term.arguments[k]));
        return draft;
    }

private:
    std::string fresh(std::string_view what) const { return m_site.nameOf(m_root) + "/" + std::string(what); }

    ValueId scalar(float number) { return m_site.constant(fresh("number"), Shape(), std::span<const float>(&number, 1), m_root); }

    ValueId axis(const Term& term)
    {
        const int32_t number = static_cast<int32_t>(term.number);
        return m_site.constant(fresh("axis"), Shape{1}, std::span<const int32_t>(&number, 1), m_root);
    }

    ValueId valueOf(const Term& term)
    {
        if (term.text.starts_with('@')) {
            const std::string key = term.text.substr(1);
            return scalar(static_cast<float>(attributeFloat(m_site.editor().op(m_root).attributes, key, 0.0)));
        }
        if (term.text.starts_with("-$")) {
            Numbers negated = *m_site.constants().floats(m_match.value(term.text.substr(1)));
            for (float& number : negated.values) number = -number;
            return m_site.constant(fresh("negated"), negated.shape, std::span<const float>(negated.values), m_root);
        }
        if (term.kind == Term::Kind::number) return scalar(term.number);
        if (term.kind != Term::Kind::op) {
            const ValueId bound = m_match.value(term.text);
            return bound.valid() ? bound : m_made[term.text];
        }
        OperatorDraft draft = draftOf(term);
        TensorType type = m_site.typeOf(m_match.value("x"));
        if (term.text == "sum" || term.text == "mean" || term.text == "reduce_max") m_isNarrow = true;
        else if (std::ranges::any_of(draft.inputs, [&](ValueId input) { return isWide(input); })) m_isNarrow = false;
        if (m_isNarrow && type.shape.hasRank() && type.shape.rank() > 0) type.shape[type.shape.rank() - 1] = 1;
        draft.name = fresh(term.text);
        draft.results = {type};
        const ValueId made = m_site.editor().op(m_site.editor().insert(std::move(draft), m_root, InsertPoint::before(m_root))).results[0];
        if (!m_isNarrow) m_wide.push_back(made);
        if (!term.label.empty()) m_made[term.label] = made;
        return made;
    }

    /// Whether it has the shape of the operand, not one number for each row.
    bool isWide(ValueId value) const { return value == m_match.value("x") || std::ranges::find(m_wide, value) != m_wide.end(); }

    Site& m_site;
    const Match& m_match;
    OperatorId m_root;
    bool m_isNarrow = false;
    std::vector<ValueId> m_wide;
    std::unordered_map<std::string, ValueId> m_made;
};

bool isExpression(const Term& term)
{
    return std::ranges::any_of(term.arguments, [](const Term& argument) { return argument.kind == Term::Kind::op; });
}

Outcome replaceBy(const Term& term, Site& site, Match& match)
{
    const OperatorId root = match.ops.back();
    if (isExpression(term)) {
        OperatorDraft draft = Writer(site, match).draftOf(term);
        draft.results = {site.typeOf(site.editor().op(root).results[0])};
        return Outcome::made(site.fuse(match.ops, std::move(draft), {}));
    }
    if (term.kind == Term::Kind::value) {
        site.bypass(root, match.value(term.text), match.ops);
        return {root, "its operand", "", "", {}, "", false};
    }
    OperatorDraft draft;
    draft.kind = {"tfl", term.text};
    if (const size_t dot = term.text.find('.'); dot != std::string::npos)
        draft.kind = {term.text.substr(0, dot), term.text.substr(dot + 1)};
    draft.attributes = term.attributes;
    for (NamedAttribute& attribute : draft.attributes) // alpha=$a
        if (const Word* const word = attribute.value.as<Word>(); word != nullptr && word->text.starts_with("$"))
            attribute.value = floatAttribute(site.constants().floats(match.value(word->text))->values[0]);
    for (const Term& argument : term.arguments) {
        const bool isNegated = argument.text.starts_with("-$");
        const ValueId value = match.value(isNegated ? argument.text.substr(1) : argument.text);
        if (argument.text == "ones") { // one for each channel
            const std::vector<float> ones(static_cast<size_t>(site.typeOf(match.value("x")).dynamicShape().back()), 1.0F);
            const Shape shape{static_cast<int64_t>(ones.size())};
            draft.inputs.push_back(site.constant(site.nameOf(root) + "/ones", shape, std::span<const float>(ones), root));
            continue;
        }
        if (!isNegated) {
            draft.inputs.push_back(value);
            continue;
        }
        Numbers negated = *site.constants().floats(value);
        for (float& number : negated.values) number = -number;
        draft.inputs.push_back(site.constant(site.nameOf(root) + "/negated", negated.shape, negated.values, root));
    }
    draft.results = {site.editor().value(site.editor().op(root).results[0]).type};
    return Outcome::made(site.fuse(match.ops, std::move(draft), {}));
}

std::optional<FusionDomain> domainOf(const Rule& rule, const Site& site, const Match& match)
{
    if (rule.domainOf.empty()) return std::nullopt;
    ValueId value = match.value(rule.domainOf);
    if (const OperatorId op = match.op(rule.domainOf); op.valid()) value = site.editor().op(op).results[0];
    if (!value.valid()) return std::nullopt;
    return FusionDomain{site.editor().value(site.behindIdentities(value)).id, rule.relation, rule.limit};
}

/// What has to hold of every place, whatever the rule.
void checkPlace(const Rule& rule, Site& site, Match& match)
{
    const OperatorId root = match.ops.back();
    const DType dtype = site.editor().value(site.editor().op(root).results[0]).type.dtype;
    if (dtype != DType::f32 && dtype != DType::unknown)
        match.violations.push_back("element type " + std::string(dtypeName(dtype)) + ", the rule is for f32");
    if (rule.condition != nullptr)
        if (std::string reason = rule.condition(site, match); !reason.empty()) match.violations.push_back(std::move(reason));
    if (std::optional<std::string> reason = site.outliveAny(match.ops, root)) match.violations.push_back(*reason);
}

} // namespace

ValueId Match::value(std::string_view name) const
{
    for (const auto& [bound, value] : values)
        if (bound == name) return value;
    return {};
}

OperatorId Match::op(std::string_view name) const
{
    for (const auto& [bound, op] : named)
        if (bound == name) return op;
    return {};
}

std::vector<std::string> rootsOf(const Rule& rule)
{
    std::vector<std::string> roots = rule.roots;
    for (const std::string& pattern : rule.patterns) {
        const Term& term = termOf(pattern);
        addRoots(term, roots);
        // TFLite: relu6(minimum(…)) may be one operator already.
        if (!activationKind(upperCase(term.text)).empty() && !term.arguments.empty() && term.arguments[0].kind == Term::Kind::op)
            addRoots(term.arguments[0], roots);
    }
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return roots;
}

Outcome applyRule(const Rule& rule, Site& site, OperatorId root)
{
    if (rule.isOfCircle && !site.isForCircle()) return Outcome::nothing();
    if (rule.apply != nullptr) return rule.apply(site, root);
    Outcome refused;
    size_t fewest = 3; // further away it only looks like it by chance
    for (const std::string& pattern : rule.patterns) {
        Match match;
        if (!Matcher(site).at(termOf(pattern), root, true, match)) continue;
        if (rule.replacement.starts_with(kLabel)) {
            if (match.violations.empty()) return Outcome::labelled(rule.replacement.substr(kLabel.size()));
            continue;
        }
        if (match.violations.size() <= 1) checkPlace(rule, site, match);
        if (termOf(rule.replacement).kind == Term::Kind::value)
            if (std::optional<std::string> reason = site.losesBy(root, match.value(rule.replacement))) match.violations.push_back(*reason);
        if (match.violations.empty()) {
            std::optional<FusionDomain> domain = domainOf(rule, site, match);
            Outcome outcome = replaceBy(termOf(rule.replacement), site, match);
            if (isExpression(termOf(rule.replacement))) outcome.to = rule.replacement;
            outcome.domain = std::move(domain);
            for (const std::string& loose : match.loose) outcome.note += (outcome.note.empty() ? "" : ", ") + loose;
            outcome.isApproximate = !match.loose.empty();
            return outcome;
        }
        const bool isReverse = isExpression(termOf(rule.replacement));
        const bool isFree = termOf(pattern).text == kProduct || termOf(pattern).text == kSum; // fits in many places
        if (match.violations.size() >= (isFree ? std::min<size_t>(fewest, 2) : fewest) || (match.ops.size() < 2 && !isReverse)) continue;
        fewest = match.violations.size();
        refused = Outcome::declined(isReverse ? rule.replacement : labelOf(termOf(rule.replacement)), match.violations.front());
    }
    return refused;
}

} // namespace loopscope::fusing
