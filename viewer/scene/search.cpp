#include "viewer/scene/search.h"

#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/ir/text/printer.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <re2/re2.h>
#include <set>

namespace loopscope::viewer {

namespace {

constexpr size_t kStopEvery = 4096;

std::string lower(std::string_view text)
{
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

/// Dimensions of "[1,?,576]" or "1,?,576"; −1: any. None: it is no list of them.
std::optional<std::vector<int64_t>> dimensions(std::string_view text)
{
    if (text.starts_with('[')) text.remove_prefix(1);
    if (text.ends_with(']')) text.remove_suffix(1);
    std::vector<int64_t> dims;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        const std::string_view one = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        int64_t value = -1;
        if (one != "?" && one != "*") {
            const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value);
            if (error != std::errc() || end != one.data() + one.size()) return std::nullopt;
        }
        dims.push_back(value);
    }
    return dims;
}

bool sameShape(const Shape& shape, const std::vector<int64_t>& wanted)
{
    if (!shape.hasRank() || shape.rank() != static_cast<int>(wanted.size())) return false;
    for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] >= 0 && shape[static_cast<int>(i)] != wanted[i]) return false;
    return true;
}

std::string shownAttribute(const Model& model, const Graph& graph, const NamedAttribute& attribute)
{
    std::string text = attributeText(attribute.value, model, &graph);
    return text.size() > 80 ? text.substr(0, 77) + "…" : text;
}

/// Where a name in slashes leads: "block_13" of "model/block_13/depthwise/relu".
std::string scopeOf(const std::string& name)
{
    const size_t last = name.rfind('/');
    if (last == std::string::npos || last == 0) return {};
    const size_t before = name.rfind('/', last - 1);
    return name.substr(before == std::string::npos ? 0 : before + 1, last - (before == std::string::npos ? 0 : before + 1));
}

} // namespace

struct SearchIndex::Term {
    enum class Field : uint8_t { any, kind, shape, dtype, index, attribute, graph, regex } field = Field::any;
    std::string text; ///< lower case; of regex the pattern
    std::vector<int64_t> dims;
    int64_t number = -1;
    std::string value; ///< of an attribute; empty: any
    std::shared_ptr<const RE2> regex;
};

namespace {

/// Words of a query, blanks kept inside of /…/ and [ ].
std::vector<std::pair<size_t, std::string>> wordsOf(std::string_view query)
{
    std::vector<std::pair<size_t, std::string>> words;
    for (size_t i = 0; i < query.size();) {
        if (query[i] == ' ') {
            ++i;
            continue;
        }
        size_t end = i;
        if (query[i] == '/') {
            end = query.find('/', i + 1);
            while (end != std::string_view::npos && query[end - 1] == '\\') end = query.find('/', end + 1);
            end = end == std::string_view::npos ? query.size() : end + 1;
        } else if (query[i] == '"') {
            end = std::min(query.find('"', i + 1), query.size() - 1) + 1;
        } else {
            int depth = 0;
            for (; end < query.size() && (query[end] != ' ' || depth > 0); ++end)
                depth += query[end] == '[' ? 1 : query[end] == ']' ? -1 : 0;
        }
        words.emplace_back(i, std::string(query.substr(i, end - i)));
        i = end;
    }
    return words;
}

} // namespace

std::shared_ptr<const SearchIndex> SearchIndex::build(const Model& model, std::stop_token stop)
{
    std::shared_ptr<SearchIndex> index(new SearchIndex(model));
    // Graphs by the first way that leads to them, breadth first.
    index->m_graphs.resize(model.graphs.size());
    std::vector<GraphId> open;
    const auto enter = [&](GraphId graph, std::string address) {
        std::string& at = index->m_graphs[static_cast<size_t>(graph.index)];
        if (!at.empty()) return;
        at = std::move(address);
        open.push_back(graph);
    };
    size_t done = 0;
    const auto walk = [&] {
        for (; done < open.size(); ++done) {
            const Graph& graph = model.graph(open[done]);
            const std::string base = index->m_graphs[static_cast<size_t>(open[done].index)];
            for (size_t o = 0; o < graph.operators.size(); ++o)
                for (const Callee& callee : calleesOf(graph.operators[o]))
                    if (model.hasGraph(callee.graph))
                        enter(callee.graph, base + "/" + addressSite(graph.operators[o], static_cast<int64_t>(o)) + ":" + callee.role);
        }
    };
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        if (g > 0 && std::ranges::none_of(model.signatures, [&](const Signature& s) { return s.graph.index == static_cast<int32_t>(g); }))
            continue;
        enter(GraphId(static_cast<int64_t>(g)), escapeAddressName(model.graphs[g].id, false));
        walk();
    }
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        enter(GraphId(static_cast<int64_t>(g)), escapeAddressName(model.graphs[g].id, false));
        walk();
    }
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        index->m_first.push_back(index->m_entries.size());
        const Graph& graph = model.graphs[g];
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            if (o % kStopEvery == 0 && stop.stop_requested()) return nullptr;
            const Operator& op = graph.operators[o];
            Entry entry{GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)), static_cast<uint32_t>(index->m_text.size()),
                        0};
            index->m_text += lower(op.kind.name) + '\n' + lower(addressSite(op, static_cast<int64_t>(o))) + '\n';
            for (const ValueId id : op.results) {
                const Value& value = graph.value(id);
                index->m_text += lower(value.id) + '\n';
                if (!value.name.empty()) index->m_text += lower(value.name) + '\n';
            }
            entry.end = static_cast<uint32_t>(index->m_text.size());
            index->m_entries.push_back(entry);
        }
    }
    return index;
}

std::string SearchIndex::addressOf(GraphId graph, OperatorId op) const
{
    return addressOf(graph) + "/" + addressSite(m_model.graph(graph).op(op), op.index);
}

bool SearchIndex::matches(const Term& term, const Entry& entry) const
{
    const Graph& graph = m_model.graph(entry.graph);
    const Operator& op = graph.op(entry.op);
    const auto anyValue = [&](auto holdsOf) {
        return std::ranges::any_of(op.results, [&](ValueId id) { return holdsOf(graph.value(id).type); });
    };
    switch (term.field) {
    case Term::Field::any: return textOf(entry).find(term.text) != std::string_view::npos;
    case Term::Field::kind: return textOf(entry).substr(0, textOf(entry).find('\n')).find(term.text) != std::string_view::npos;
    case Term::Field::shape:
        return anyValue(
            [&](const TensorType& type) { return sameShape(type.dynamicShape(), term.dims) || sameShape(type.shape, term.dims); });
    case Term::Field::dtype: return anyValue([&](const TensorType& type) { return dtypeName(type.dtype) == term.text; });
    case Term::Field::index: return entry.op.index == term.number;
    case Term::Field::attribute:
        return std::ranges::any_of(op.attributes, [&](const NamedAttribute& attribute) {
            return lower(attribute.key).find(term.text) != std::string::npos &&
                   (term.value.empty() || lower(shownAttribute(m_model, graph, attribute)).find(term.value) != std::string::npos);
        });
    case Term::Field::graph: return lower(graph.id).find(term.text) != std::string::npos;
    case Term::Field::regex: {
        const std::string_view text = textOf(entry);
        for (size_t at = 0; at < text.size();) {
            const size_t end = text.find('\n', at);
            if (RE2::PartialMatch(re2::StringPiece(text.data() + at, end - at), *term.regex)) return true;
            at = end + 1;
        }
        return false;
    }
    }
    return false;
}

bool SearchIndex::holds(const std::vector<Term>& terms, const Entry& entry) const
{
    return std::ranges::all_of(terms, [&](const Term& term) { return matches(term, entry); });
}

SearchAnswer SearchIndex::find(std::string_view query, SearchKind kind, size_t most, std::stop_token stop) const
{
    SearchAnswer answer;
    std::vector<std::vector<Term>> chain(1);
    for (const auto& [column, word] : wordsOf(query)) {
        const auto fail = [&](const std::string& text) { answer.problem = "1:" + std::to_string(column + 1) + ": " + text; };
        Term term;
        const size_t colon = word.find(':');
        const std::string key = colon == std::string::npos ? "" : word.substr(0, colon);
        const std::string rest = colon == std::string::npos ? word : word.substr(colon + 1);
        if (word == ">") {
            chain.emplace_back();
            continue;
        }
        if (word.front() == '/') {
            if (word.size() < 3 || word.back() != '/') {
                fail("the pattern is not closed: " + word);
                return answer;
            }
            term.field = Term::Field::regex;
            RE2::Options options(RE2::Quiet);
            options.set_case_sensitive(false);
            term.regex = std::make_shared<const RE2>(word.substr(1, word.size() - 2), options);
            if (!term.regex->ok()) {
                fail("not a regular expression: " + word);
                return answer;
            }
        } else if (key == "op" || key == "kind") {
            term.field = Term::Field::kind;
            term.text = lower(rest);
        } else if (key == "shape") {
            const auto dims = dimensions(rest);
            if (!dims) {
                fail("not a shape: " + rest + ", expected [1,?,576]");
                return answer;
            }
            term.field = Term::Field::shape;
            term.dims = *dims;
        } else if (key == "dtype") {
            term.field = Term::Field::dtype;
            term.text = lower(rest);
        } else if (key == "graph") {
            term.field = Term::Field::graph;
            term.text = lower(rest);
        } else if (key == "attr" || (colon == std::string::npos && word.find('=') != std::string::npos && word.front() != '"')) {
            const size_t equals = std::min(rest.find('='), rest.size());
            term.field = Term::Field::attribute;
            term.text = lower(rest.substr(0, equals));
            term.value = lower(rest.substr(std::min(equals + 1, rest.size())));
        } else if (key == "index" || (word.front() == '#' && word.size() > 1)) {
            const std::string digits = key == "index" ? rest : word.substr(1);
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), term.number);
            if (error != std::errc() || end != digits.data() + digits.size()) {
                fail("not a number: " + digits);
                return answer;
            }
            term.field = Term::Field::index;
        } else {
            term.text = lower(word.front() == '"' && word.size() > 1 ? word.substr(1, word.size() - 2) : word);
        }
        chain.back().push_back(std::move(term));
    }
    if (chain.back().empty() && chain.size() == 1) return answer;
    if (std::ranges::any_of(chain, [](const auto& terms) { return terms.empty(); })) {
        answer.problem = "1:1: '>' stands between two conditions: conv_2d > add";
        return answer;
    }
    switch (kind) {
    case SearchKind::operators: findOperators(chain, answer, most, stop); break;
    case SearchKind::tensors: findTensors(chain.back(), answer, most, stop); break;
    case SearchKind::attributes: findAttributes(chain.back(), answer, most, stop); break;
    }
    if (answer.count == 0) answer.nearest = nearest(chain.back());
    return answer;
}

void SearchIndex::findOperators(const std::vector<std::vector<Term>>& chain, SearchAnswer& answer, size_t most,
                                const std::stop_token& stop) const
{
    answer.searched = static_cast<int64_t>(m_entries.size());
    std::vector<bool> found(m_entries.size(), false);
    for (size_t link = 0; link < chain.size(); ++link) {
        std::vector<bool> next(m_entries.size(), false);
        for (size_t i = 0; i < m_entries.size(); ++i) {
            if (i % kStopEvery == 0 && stop.stop_requested()) return;
            const Entry& entry = m_entries[i];
            if (link > 0) {
                const Graph& graph = m_model.graph(entry.graph);
                const bool reads = std::ranges::any_of(graph.op(entry.op).inputs, [&](ValueId id) {
                    if (!id.valid()) return false;
                    const OperatorId producer = graph.value(id).producer;
                    return producer.valid() && found[m_first[static_cast<size_t>(entry.graph.index)] + static_cast<size_t>(producer.index)];
                });
                if (!reads) continue;
            }
            next[i] = holds(chain[link], entry);
        }
        found = std::move(next);
    }
    for (size_t i = 0; i < m_entries.size(); ++i) {
        if (!found[i] || ++answer.count > static_cast<int64_t>(most)) continue;
        const Entry& entry = m_entries[i];
        const Graph& graph = m_model.graph(entry.graph);
        const Operator& op = graph.op(entry.op);
        SearchHit hit{addressOf(entry.graph, entry.op), entry.graph, entry.op, {}, addressSite(op, entry.op.index), ""};
        if (!op.results.empty()) {
            hit.value = op.results.front();
            const Value& value = graph.value(hit.value);
            const std::string scope =
                m_model.graphs.size() > 1 && entry.graph.index > 0 ? graph.id : scopeOf(op.name.empty() ? value.displayName() : op.name);
            hit.detail =
                (scope.empty() ? "" : scope + "  ") + std::string(dtypeName(value.type.dtype)) + toString(value.type.dynamicShape());
        }
        answer.hits.push_back(std::move(hit));
    }
}

void SearchIndex::findTensors(const std::vector<Term>& terms, SearchAnswer& answer, size_t most, const std::stop_token& stop) const
{
    for (size_t g = 0; g < m_model.graphs.size(); ++g) {
        const Graph& graph = m_model.graphs[g];
        const GraphId graphId(static_cast<int64_t>(g));
        for (size_t v = 0; v < graph.values.size(); ++v) {
            if (v % kStopEvery == 0 && stop.stop_requested()) return;
            const Value& value = graph.values[v];
            if (value.role == ValueRole::absent) continue;
            ++answer.searched;
            const auto holdsOf = [&](const Term& term) {
                switch (term.field) {
                case Term::Field::any:
                    return lower(value.id).find(term.text) != std::string::npos || lower(value.name).find(term.text) != std::string::npos;
                case Term::Field::shape: return sameShape(value.type.dynamicShape(), term.dims) || sameShape(value.type.shape, term.dims);
                case Term::Field::dtype: return dtypeName(value.type.dtype) == term.text;
                case Term::Field::index: return static_cast<int64_t>(v) == term.number;
                case Term::Field::graph: return lower(graph.id).find(term.text) != std::string::npos;
                case Term::Field::regex: return RE2::PartialMatch(value.id, *term.regex) || RE2::PartialMatch(value.name, *term.regex);
                case Term::Field::kind:
                    return value.producer.valid() && lower(graph.op(value.producer).kind.name).find(term.text) != std::string::npos;
                default: return false;
                }
            };
            if (!std::ranges::all_of(terms, holdsOf) || ++answer.count > static_cast<int64_t>(most)) continue;
            SearchHit hit{value.producer.valid() ? addressOf(graphId, value.producer)
                                                 : addressOf(graphId) + "/" + escapeAddressName(value.id, true),
                          graphId,
                          value.producer,
                          ValueId(static_cast<int64_t>(v)),
                          value.id,
                          ""};
            hit.detail = shortType(value.type) + (value.role == ValueRole::constant ? "  constant"
                                                  : value.role == ValueRole::input  ? "  input"
                                                                                    : "");
            answer.hits.push_back(std::move(hit));
        }
    }
}

void SearchIndex::findAttributes(const std::vector<Term>& terms, SearchAnswer& answer, size_t most, const std::stop_token& stop) const
{
    for (size_t i = 0; i < m_entries.size(); ++i) {
        if (i % kStopEvery == 0 && stop.stop_requested()) return;
        const Entry& entry = m_entries[i];
        const Graph& graph = m_model.graph(entry.graph);
        const Operator& op = graph.op(entry.op);
        for (const NamedAttribute& attribute : op.attributes) {
            ++answer.searched;
            const std::string shown = attribute.key + " = " + shownAttribute(m_model, graph, attribute);
            const auto holdsOf = [&](const Term& term) {
                if (term.field == Term::Field::any) return lower(shown).find(term.text) != std::string::npos;
                if (term.field == Term::Field::attribute)
                    return lower(attribute.key).find(term.text) != std::string::npos &&
                           (term.value.empty() || lower(shownAttribute(m_model, graph, attribute)).find(term.value) != std::string::npos);
                if (term.field == Term::Field::regex) return RE2::PartialMatch(shown, *term.regex);
                return matches(term, entry);
            };
            if (!std::ranges::all_of(terms, holdsOf) || ++answer.count > static_cast<int64_t>(most)) continue;
            answer.hits.push_back({addressOf(entry.graph, entry.op), entry.graph, entry.op,
                                   op.results.empty() ? ValueId() : op.results.front(), shown, addressSite(op, entry.op.index)});
        }
    }
}

/// Of the words of the model: kinds, names and ids.
std::string SearchIndex::nearest(const std::vector<Term>& terms) const
{
    for (const Term& term : terms) {
        if (term.field != Term::Field::any && term.field != Term::Field::kind) continue;
        std::set<std::string> words;
        for (const Entry& entry : m_entries) {
            const std::string_view text = textOf(entry);
            words.emplace(text.substr(0, text.find('\n')));
            if (term.field == Term::Field::kind || words.size() > 20000) continue;
            for (const ValueId id : m_model.graph(entry.graph).op(entry.op).results)
                words.insert(lower(m_model.graph(entry.graph).value(id).id));
        }
        const std::vector<std::string> candidates(words.begin(), words.end());
        const std::vector<std::string> near = nearestNames(term.text, candidates);
        if (!near.empty()) return near.front();
        // A longer name that begins like it: "convv" is near "conv_2d".
        for (size_t length = term.text.size(); length >= 3; --length)
            for (const std::string& word : candidates)
                if (word.starts_with(std::string_view(term.text).substr(0, length))) return word;
    }
    return {};
}

} // namespace loopscope::viewer
