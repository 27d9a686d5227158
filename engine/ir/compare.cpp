// Equality of models as the text language defines it: by id, blind to numbering, origins and blobs whose bytes are absent. Written as
// a search for the first difference, so that tests and `diff` can name it.
#include "engine/base/hash.h"
#include "engine/ir/model.h"
#include "engine/ir/stored_constant.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

namespace loopscope {

namespace {

template <typename T> std::string hashOf(const std::vector<T>& numbers) { return toHex(hashBytes(std::as_bytes(std::span(numbers)))); }

/// Numbers against numbers bit by bit, or against a hash that stands for them. Hashes of 16 and of 32 digits compare by the shorter.
template <typename T> bool sameNumbers(const std::vector<T>& a, const std::string& aHash, const std::vector<T>& b, const std::string& bHash)
{
    if (aHash.empty() && bHash.empty())
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
    const std::string left = aHash.empty() ? hashOf(a) : aHash;
    const std::string right = bHash.empty() ? hashOf(b) : bHash;
    const size_t digits = std::min(left.size(), right.size());
    return left.compare(0, digits, right, 0, digits) == 0;
}

/// What `kind` says once "unresolved" is seen as the affine form it stands for.
Quantization::Kind formOf(const Quantization& q) { return q.kind == Quantization::Kind::unresolved ? Quantization::Kind::affine : q.kind; }

bool saysNothing(const QuantizationPtr& q)
{
    return !q || (formOf(*q) == Quantization::Kind::none && q->min.empty() && q->max.empty() && q->minHash.empty() && q->maxHash.empty());
}

bool sameConstant(const ConstantPtr& a, const ConstantPtr& b) { return !a || !b ? !a && !b : a->sameContent(*b); }

/// Text leaves out names that repeat the id.
std::string_view ownName(std::string_view name, std::string_view id) { return name == id ? std::string_view() : name; }

class Comparison {
public:
    Comparison(const Model& a, const Model& b) : m_a(a), m_b(b) {}

    std::string firstDifference()
    {
        if (m_a.dialect != m_b.dialect) return "dialect";
        if (std::string d = attributes(m_a.attributes, m_b.attributes); !d.empty()) return "model: " + d;
        if (!sameVersions()) return "versions";
        if (m_a.graphs.size() != m_b.graphs.size())
            return "number of graphs: " + std::to_string(m_a.graphs.size()) + " and " + std::to_string(m_b.graphs.size());
        for (size_t i = 0; i < m_a.graphs.size(); ++i)
            if (m_a.graphs[i].id != m_b.graphs[i].id) return "graph " + std::to_string(i) + ": id";
        if (std::string d = header(); !d.empty()) return d;
        for (size_t i = 0; i < m_a.graphs.size(); ++i) {
            m_graphA = &m_a.graphs[i];
            m_graphB = &m_b.graphs[i];
            if (std::string d = graph(); !d.empty()) return "graph " + m_graphA->id + ": " + d;
        }
        return {};
    }

private:
    static std::string_view idOf(const Graph* graph, ValueId id)
    {
        const bool known = graph != nullptr && id.index >= 0 && static_cast<size_t>(id.index) < graph->values.size();
        return known ? std::string_view(graph->value(id).id) : std::string_view();
    }

    bool sameValueId(ValueId a, ValueId b) const { return idOf(m_graphA, a) == idOf(m_graphB, b); }

    bool sameGraphId(GraphId a, GraphId b) const
    {
        if (!m_a.hasGraph(a) || !m_b.hasGraph(b)) return !m_a.hasGraph(a) && !m_b.hasGraph(b);
        return m_a.graph(a).id == m_b.graph(b).id;
    }

    bool sameVersions() const
    {
        const auto sorted = [](const Model& model) {
            std::map<std::pair<std::string, std::string>, int64_t> versions;
            for (const KindVersion& v : model.versions) versions[{v.kind.dialect, v.kind.name}] = v.version;
            return versions;
        };
        return sorted(m_a) == sorted(m_b);
    }

    bool sameBindings(const Signature& a, const Signature& b)
    {
        m_graphA = m_a.hasGraph(a.graph) ? &m_a.graph(a.graph) : nullptr;
        m_graphB = m_b.hasGraph(b.graph) ? &m_b.graph(b.graph) : nullptr;
        const auto same = [&](const SignatureBinding& x, const SignatureBinding& y) {
            return x.name == y.name && sameValueId(x.value, y.value);
        };
        return std::ranges::equal(a.inputs, b.inputs, same) && std::ranges::equal(a.outputs, b.outputs, same);
    }

    std::string header()
    {
        if (m_a.signatures.size() != m_b.signatures.size()) return "number of signatures";
        for (size_t i = 0; i < m_a.signatures.size(); ++i) {
            const Signature& a = m_a.signatures[i];
            const Signature& b = m_b.signatures[i];
            if (a.key != b.key || !sameGraphId(a.graph, b.graph) || !sameBindings(a, b)) return "signature \"" + a.key + "\"";
        }
        if (m_a.metadata.size() != m_b.metadata.size()) return "number of metadata entries";
        for (size_t i = 0; i < m_a.metadata.size(); ++i)
            if (m_a.metadata[i].name != m_b.metadata[i].name || !sameConstant(m_a.metadata[i].data, m_b.metadata[i].data))
                return "metadata \"" + m_a.metadata[i].name + "\"";
        const auto sameBuffer = [](const ExternalBuffer& x, const ExternalBuffer& y) {
            AttributeList a = x.attributes;
            AttributeList b = y.attributes;
            removeAttribute(a, kFoundData);
            removeAttribute(b, kFoundData);
            return x.number == y.number && a == b;
        };
        if (!std::ranges::equal(m_a.externalBuffers, m_b.externalBuffers, sameBuffer)) return "external buffers";
        const auto sameGradient = [&](const auto& x, const auto& y) { return x.second == y.second && sameGraphId(x.first, y.first); };
        if (!std::ranges::equal(m_a.gradients, m_b.gradients, sameGradient)) return "gradients";
        return {};
    }

    bool sameQuantization(const QuantizationPtr& a, const QuantizationPtr& b) const
    {
        if (a == b && m_graphA == m_graphB) return true;
        if (saysNothing(a) || saysNothing(b)) return saysNothing(a) && saysNothing(b);
        if (formOf(*a) != formOf(*b)) return false;
        if (!sameNumbers(a->min, a->minHash, b->min, b->minHash) || !sameNumbers(a->max, a->maxHash, b->max, b->maxHash)) return false;
        switch (formOf(*a)) {
        case Quantization::Kind::affine: {
            const auto perChannel = [](const Quantization& q) { return q.perChannel || q.scales.size() != 1 || q.zeroPoints.size() > 1; };
            return perChannel(*a) == perChannel(*b) && (!perChannel(*a) || a->axis == b->axis) &&
                   sameNumbers(a->scales, a->scalesHash, b->scales, b->scalesHash) &&
                   sameNumbers(a->zeroPoints, a->zerosHash, b->zeroPoints, b->zerosHash);
        }
        case Quantization::Kind::blockwise:
            return a->blockSize == b->blockSize && sameValueId(ValueId(a->blockScales), ValueId(b->blockScales)) &&
                   sameValueId(ValueId(a->blockZeros), ValueId(b->blockZeros));
        case Quantization::Kind::custom: return a->custom == b->custom;
        case Quantization::Kind::none:
        case Quantization::Kind::unresolved: return true;
        }
        return true;
    }

    /// A signature without −1 says nothing.
    static const Shape* ownSignature(const TensorType& type)
    {
        return type.signature && std::ranges::count(type.signature->dims(), kUnknownDim) > 0 ? &*type.signature : nullptr;
    }

    bool sameType(const TensorType& a, const TensorType& b) const
    {
        if (a.dtype != b.dtype || !(a.shape == b.shape) || a.isReference != b.isReference || a.parameter != b.parameter) return false;
        const Shape* sa = ownSignature(a);
        const Shape* sb = ownSignature(b);
        if (!sa || !sb ? sa != sb : !(*sa == *sb)) return false;
        const auto same = [&](const TensorType& x, const TensorType& y) { return sameType(x, y); };
        return sameQuantization(a.quantization, b.quantization) && std::ranges::equal(a.elementTypes, b.elementTypes, same);
    }

    bool sameAttribute(const Attribute& a, const Attribute& b) const
    {
        if (a.value().index() != b.value().index()) return false;
        if (const auto* x = a.as<GraphRef>()) {
            const auto* y = b.as<GraphRef>();
            static const AttributeList kNone;
            return sameGraphId(x->graph, y->graph) &&
                   attributes(x->attributes ? *x->attributes : kNone, y->attributes ? *y->attributes : kNone).empty();
        }
        if (const auto* x = a.as<ValueRef>()) return sameValueId(x->value, b.as<ValueRef>()->value);
        if (const auto* x = a.as<TensorAttribute>()) {
            const auto* y = b.as<TensorAttribute>();
            return sameType(x->type, y->type) && sameConstant(x->data, y->data);
        }
        if (const auto* x = a.as<AttributeItems>())
            return std::ranges::equal(*x, *b.as<AttributeItems>(),
                                      [&](const Attribute& l, const Attribute& r) { return sameAttribute(l, r); });
        if (const auto* x = a.as<AttributeMap>())
            return std::ranges::equal(*x, *b.as<AttributeMap>(), [&](const auto& l, const auto& r) {
                return l.first == r.first && sameAttribute(l.second, r.second);
            });
        return a == b;
    }

    /// "attribute 'axis'", or empty.
    std::string attributes(const AttributeList& a, const AttributeList& b) const
    {
        const auto sorted = [](const AttributeList& list) {
            std::vector<const NamedAttribute*> pointers;
            for (const NamedAttribute& attribute : list) pointers.push_back(&attribute);
            std::stable_sort(pointers.begin(), pointers.end(), [](const auto* l, const auto* r) { return l->key < r->key; });
            return pointers;
        };
        const auto x = sorted(a);
        const auto y = sorted(b);
        for (size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
            if (i >= x.size()) return "attribute '" + y[i]->key + "'";
            if (i >= y.size() || x[i]->key != y[i]->key || !sameAttribute(x[i]->value, y[i]->value)) return "attribute '" + x[i]->key + "'";
        }
        return {};
    }

    std::string values() const
    {
        std::unordered_map<std::string_view, const Value*> byId;
        for (const Value& value : m_graphB->values) byId.emplace(value.id, &value);
        if (m_graphA->values.size() != m_graphB->values.size())
            return "number of values: " + std::to_string(m_graphA->values.size()) + " and " + std::to_string(m_graphB->values.size());
        for (const Value& a : m_graphA->values) {
            const auto found = byId.find(a.id);
            if (found == byId.end()) return "value " + a.id + ": only in one";
            const Value& b = *found->second;
            const std::string where = "value " + a.id + ": ";
            if (a.role != b.role) return where + "role";
            if (ownName(a.name, a.id) != ownName(b.name, b.id)) return where + "name";
            if (!sameType(a.type, b.type)) return where + "type";
            if (!sameConstant(a.constant, b.constant)) return where + "data";
            if (std::string d = attributes(a.attributes, b.attributes); !d.empty()) return where + d;
        }
        return {};
    }

    std::string operators() const
    {
        if (m_graphA->operators.size() != m_graphB->operators.size())
            return "number of operators: " + std::to_string(m_graphA->operators.size()) + " and " +
                   std::to_string(m_graphB->operators.size());
        const auto sameId = [&](ValueId x, ValueId y) { return sameValueId(x, y); };
        for (size_t i = 0; i < m_graphA->operators.size(); ++i) {
            const Operator& a = m_graphA->operators[i];
            const Operator& b = m_graphB->operators[i];
            const std::string where = "operator " + std::to_string(i) + ": ";
            if (!(a.kind == b.kind)) return where + "kind: " + a.kind.full() + " and " + b.kind.full();
            if (m_a.dialect == Dialect::tf && a.name != b.name) return where + "name";
            if (!std::ranges::equal(a.inputs, b.inputs, sameId)) return where + "operands";
            if (a.controlInputs != b.controlInputs) return where + "control inputs";
            if (!std::ranges::equal(a.results, b.results, sameId)) return where + "results";
            if (std::string d = attributes(a.attributes, b.attributes); !d.empty()) return where + d;
        }
        return {};
    }

    std::string graph() const
    {
        const auto sameId = [&](ValueId x, ValueId y) { return sameValueId(x, y); };
        const auto sameOutput = [&](const GraphOutput& x, const GraphOutput& y) {
            return x.name == y.name && sameValueId(x.value, y.value);
        };
        if (ownName(m_graphA->name, m_graphA->id) != ownName(m_graphB->name, m_graphB->id)) return "name";
        if (std::string d = attributes(m_graphA->attributes, m_graphB->attributes); !d.empty()) return d;
        if (!std::ranges::equal(m_graphA->inputs, m_graphB->inputs, sameId)) return "inputs";
        if (std::string d = values(); !d.empty()) return d;
        if (std::string d = operators(); !d.empty()) return d;
        if (!std::ranges::equal(m_graphA->outputs, m_graphB->outputs, sameOutput)) return "outputs";
        if (m_graphA->controlOutputs != m_graphB->controlOutputs) return "control outputs";
        return {};
    }

    const Model& m_a;
    const Model& m_b;
    const Graph* m_graphA = nullptr;
    const Graph* m_graphB = nullptr;
};

} // namespace

std::string firstDifference(const Model& a, const Model& b) { return Comparison(a, b).firstDifference(); }

bool sameModel(const Model& a, const Model& b) { return firstDifference(a, b).empty(); }

} // namespace loopscope
