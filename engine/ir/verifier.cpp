// The structural rules, graph by graph. The first broken one is reported; everything that later code indexes by is checked here.
#include "engine/ir/verifier.h"

#include "engine/ir/text/lexer.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace loopscope {

namespace {

Error broken(std::string what) { return Error(ErrorCode::badFile, std::move(what)); }

Error outOfRange(const std::string& what, int64_t found, size_t count)
{
    return broken(what + " is out of range")
        .found(std::to_string(found))
        .expected("0 to " + std::to_string(static_cast<int64_t>(count) - 1));
}

class Verifier {
public:
    explicit Verifier(const Model& model) : m_model(model)
    {
        for (const ExternalBuffer& buffer : model.externalBuffers) m_externals.insert(buffer.number);
    }

    Status run()
    {
        LS_CHECK_OK(attributes(m_model.attributes, nullptr));
        std::unordered_set<std::string_view> ids;
        for (const Graph& graph : m_model.graphs) {
            if (graph.id.empty()) return broken("a graph has no id");
            if (!ids.insert(graph.id).second) return broken("two graphs have the id '" + graph.id + "'");
        }
        for (const Graph& graph : m_model.graphs)
            if (Status status = this->graph(graph); !status.ok()) return std::move(status).takeError().at("graph " + graph.id);
        for (const Signature& signature : m_model.signatures)
            if (Status status = this->signature(signature); !status.ok())
                return std::move(status).takeError().at("signature \"" + signature.key + "\"");
        for (const auto& [graph, name] : m_model.gradients)
            if (!m_model.hasGraph(graph)) return outOfRange("function of gradient '" + name + "'", graph.index, m_model.graphs.size());
        return {};
    }

private:
    Status value(const Graph& graph, ValueId id, const std::string& what) const
    {
        if (id.index < 0 || static_cast<size_t>(id.index) >= graph.values.size()) return outOfRange(what, id.index, graph.values.size());
        return {};
    }

    Status signature(const Signature& signature) const
    {
        if (!m_model.hasGraph(signature.graph)) return outOfRange("graph", signature.graph.index, m_model.graphs.size());
        const Graph& graph = m_model.graph(signature.graph);
        for (const SignatureBinding& binding : signature.inputs)
            LS_CHECK_OK(value(graph, binding.value, "value of input \"" + binding.name + "\""));
        for (const SignatureBinding& binding : signature.outputs)
            LS_CHECK_OK(value(graph, binding.value, "value of output \"" + binding.name + "\""));
        return {};
    }

    Status attribute(const Attribute& attribute, const Graph* graph, int depth) const
    {
        if (depth > kDeepestNesting) return broken("nested deeper than " + std::to_string(kDeepestNesting));
        if (const auto* ref = attribute.as<GraphRef>()) {
            if (!m_model.hasGraph(ref->graph)) return outOfRange("graph", ref->graph.index, m_model.graphs.size());
            if (ref->attributes) return attributes(*ref->attributes, graph, depth + 1);
        } else if (const auto* used = attribute.as<ValueRef>()) {
            if (graph == nullptr) return broken("a value is named outside of a graph");
            return value(*graph, used->value, "value");
        } else if (const auto* word = attribute.as<Word>()) {
            if (!isPlainWord(word->text)) return broken("'" + word->text + "' is not a word");
        } else if (const auto* placeholder = attribute.as<Placeholder>()) {
            if (!isPlainWord(placeholder->name)) return broken("'$" + placeholder->name + "' is not the name of an attribute");
        } else if (const auto* tensor = attribute.as<TensorAttribute>()) {
            if (!tensor->data) return broken("a tensor without data");
            return type(tensor->type, graph);
        } else if (const auto* items = attribute.as<AttributeItems>()) {
            for (const Attribute& item : *items) LS_CHECK_OK(this->attribute(item, graph, depth + 1));
        } else if (const auto* map = attribute.as<AttributeMap>()) {
            for (const auto& [key, item] : *map) LS_CHECK_OK(this->attribute(item, graph, depth + 1));
        }
        return {};
    }

    Status attributes(const AttributeList& list, const Graph* graph, int depth = 0) const
    {
        for (size_t i = 0; i < list.size(); ++i) {
            if (i > 0 && list[i - 1].key == list[i].key) return broken("attribute '" + list[i].key + "' is given twice");
            if (i > 0 && list[i].key < list[i - 1].key) return broken("attribute '" + list[i].key + "' is not in the order of keys");
            if (Status status = attribute(list[i].value, graph, depth); !status.ok())
                return std::move(status).takeError().at("attribute '" + list[i].key + "'");
        }
        return {};
    }

    Status type(const TensorType& type, const Graph* graph, int depth = 0) const
    {
        if (depth > kDeepestNesting) return broken("types nested deeper than " + std::to_string(kDeepestNesting));
        if (!type.parameter.empty() && m_model.dialect != Dialect::tf)
            return broken("type parameter '$" + type.parameter + "' outside of a TensorFlow function");
        const size_t star = type.parameter.find('*');
        if (!type.parameter.empty() &&
            (!isWordText(type.parameter.substr(0, star)) || (star != std::string::npos && !isWordText(type.parameter.substr(star + 1)))))
            return broken("'$" + type.parameter + "' is no type parameter");
        for (const int64_t dim : type.shape.dims())
            if (dim < kUnknownDim) return broken("a dimension is negative").found(std::to_string(dim));
        if (type.signature)
            for (const int64_t dim : type.signature->dims())
                if (dim < kUnknownDim) return broken("a dimension of the signature is negative").found(std::to_string(dim));
        for (const TensorType& element : type.elementTypes) LS_CHECK_OK(this->type(element, graph, depth + 1));
        if (!type.quantization) return {};
        const Quantization& q = *type.quantization;
        const bool perChannel = q.perChannel || q.scales.size() != 1 || q.zeroPoints.size() > 1;
        if (q.kind == Quantization::Kind::affine && perChannel && type.shape.hasRank() && (q.axis < 0 || q.axis >= type.shape.rank()))
            return broken("quantization axis out of range for rank " + std::to_string(type.shape.rank())).found(std::to_string(q.axis));
        if (q.kind == Quantization::Kind::affine && !q.zeroPoints.empty() && q.zeroPoints.size() != q.scales.size())
            return broken("quantization has " + std::to_string(q.scales.size()) + " scales")
                .found(std::to_string(q.zeroPoints.size()) + " zero points")
                .expected("none, or one for each scale");
        if (q.kind == Quantization::Kind::affine && q.scales.size() > 1 && type.shape.hasRank() && !type.signature) {
            const int64_t channels = q.axis >= 0 && q.axis < type.shape.rank() ? type.shape[q.axis] : kUnknownDim;
            if (channels != kUnknownDim && channels != static_cast<int64_t>(q.scales.size()))
                return broken("dimension " + std::to_string(q.axis) + " is " + std::to_string(channels) + ", it has scales")
                    .found(std::to_string(q.scales.size()))
                    .expected("1 or " + std::to_string(channels));
        }
        if (q.kind == Quantization::Kind::blockwise) {
            if (graph == nullptr) return broken("blockwise quantization outside of a graph");
            LS_CHECK_OK(value(*graph, ValueId(q.blockScales), "scales of the blockwise quantization"));
            if (q.blockZeros >= 0) LS_CHECK_OK(value(*graph, ValueId(q.blockZeros), "zero points of the blockwise quantization"));
        }
        return {};
    }

    Status value(const Graph& graph, const Value& value, size_t index, bool isInput) const
    {
        LS_CHECK_OK(type(value.type, &graph));
        LS_CHECK_OK(attributes(value.attributes, &graph));
        if ((value.role == ValueRole::input) != isInput)
            return broken(isInput ? "is a graph input, its role says otherwise" : "has the role of a graph input and is none");
        if (value.role == ValueRole::result) {
            const auto producer = static_cast<size_t>(value.producer.index);
            if (value.producer.index < 0 || producer >= graph.operators.size())
                return outOfRange("producer", value.producer.index, graph.operators.size());
            const std::vector<ValueId>& results = graph.operators[producer].results;
            if (value.slot < 0 || static_cast<size_t>(value.slot) >= results.size()) return outOfRange("slot", value.slot, results.size());
            if (results[static_cast<size_t>(value.slot)].index != static_cast<int32_t>(index))
                return broken("operator " + std::to_string(producer) + " does not have it as result " + std::to_string(value.slot));
        }
        if (value.role == ValueRole::constant && !value.constant) return broken("is a constant without data");
        if (value.constant && value.constant->externalBuffer() >= 0 && m_externals.count(value.constant->externalBuffer()) == 0)
            return broken("no external buffer " + std::to_string(value.constant->externalBuffer()));
        return {};
    }

    Status op(const Graph& graph, size_t index) const
    {
        const Operator& op = graph.operators[index];
        const bool ordered = m_model.dialect != Dialect::tf;
        if (op.kind.name.empty()) return broken("has no kind");
        for (size_t i = 0; i < op.inputs.size(); ++i) {
            const ValueId id = op.inputs[i];
            if (!id.valid()) continue;
            const std::string what = "operand " + std::to_string(i);
            LS_CHECK_OK(value(graph, id, what));
            const Value& operand = graph.value(id);
            if (ordered && operand.role == ValueRole::result && operand.producer.index >= static_cast<int32_t>(index))
                return broken(what + " is '" + operand.id + "', which operator " + std::to_string(operand.producer.index) +
                              " writes later");
        }
        for (const OperatorId control : op.controlInputs) {
            if (control.index < 0 || static_cast<size_t>(control.index) >= graph.operators.size())
                return outOfRange("control input", control.index, graph.operators.size());
            // Outside of TensorFlow an operator is known by its first result.
            if (ordered && graph.op(control).results.empty())
                return broken("control input " + std::to_string(control.index) + " has no result to be named by");
        }
        for (size_t slot = 0; slot < op.results.size(); ++slot) {
            const std::string what = "result " + std::to_string(slot);
            LS_CHECK_OK(value(graph, op.results[slot], what));
            const Value& result = graph.value(op.results[slot]);
            if (result.role != ValueRole::result) return broken(what + ", '" + result.id + "', has another role");
            if (result.producer.index != static_cast<int32_t>(index) || result.slot != static_cast<int32_t>(slot))
                return broken(what + ", '" + result.id + "', is written by operator " + std::to_string(result.producer.index) + " too");
        }
        return attributes(op.attributes, &graph);
    }

    Status names(const Graph& graph) const
    {
        std::unordered_set<std::string_view> ids;
        ids.reserve(graph.values.size());
        for (size_t i = 0; i < graph.values.size(); ++i) {
            if (graph.values[i].id.empty()) return broken("value " + std::to_string(i) + " has no id");
            if (!ids.insert(graph.values[i].id).second) return broken("two values have the id '" + graph.values[i].id + "'");
        }
        const bool isTensorFlow = m_model.dialect == Dialect::tf;
        std::unordered_set<std::string_view> nodes;
        if (isTensorFlow) nodes.reserve(graph.operators.size());
        for (const Operator& op : graph.operators) {
            if (op.name.empty() && !isTensorFlow) continue;
            if (op.name.empty()) return broken("a node has no name");
            if (!nodes.insert(op.name).second) return broken("two nodes have the name '" + op.name + "'");
            if (!isTensorFlow) continue;
            std::string_view lastNamed; // outputs `node:out:k` follow the numbered ones, in the order of their text
            for (size_t slot = 0; slot < op.results.size(); ++slot) {
                LS_CHECK_OK(value(graph, op.results[slot], "result of node '" + op.name + "'"));
                const std::string& id = graph.value(op.results[slot]).id;
                if (slot == 0 && id == op.name) continue; // nearly all are
                const std::string numbered = slot == 0 ? op.name : op.name + ":" + std::to_string(slot);
                const bool named = isNamedOutput(id, op.name);
                if (named ? id < lastNamed : id != numbered || !lastNamed.empty())
                    return broken("result of node '" + op.name + "'").found("id '" + id + "'").expected("'" + numbered + "'");
                if (named) lastNamed = id;
            }
        }
        return {};
    }

    Status graph(const Graph& graph) const
    {
        LS_CHECK_OK(names(graph));
        LS_CHECK_OK(attributes(graph.attributes, &graph));
        std::vector<bool> isInput(graph.values.size());
        for (const ValueId id : graph.inputs) {
            LS_CHECK_OK(value(graph, id, "input"));
            if (isInput[static_cast<size_t>(id.index)]) return broken("value '" + graph.value(id).id + "' is an input twice");
            isInput[static_cast<size_t>(id.index)] = true;
        }
        for (const GraphOutput& output : graph.outputs) LS_CHECK_OK(value(graph, output.value, "output"));
        for (const auto& [name, op] : graph.controlOutputs)
            if (op.index < 0 || static_cast<size_t>(op.index) >= graph.operators.size())
                return outOfRange("control output '" + name + "'", op.index, graph.operators.size());
        for (size_t i = 0; i < graph.values.size(); ++i)
            if (Status status = value(graph, graph.values[i], i, isInput[i]); !status.ok())
                return std::move(status).takeError().at("value '" + graph.values[i].id + "'");
        for (size_t i = 0; i < graph.operators.size(); ++i)
            if (Status status = op(graph, i); !status.ok())
                return std::move(status).takeError().at(graph.operators[i].kind.name + "#" + std::to_string(i));
        return {};
    }

    const Model& m_model;
    std::unordered_set<int32_t> m_externals; ///< numbers of the external buffers
};

/// How many operands a caller keeps for itself: the condition of an If, the index of a Case.
size_t ownOperands(const Operator& op, std::string_view role)
{
    return role == "call" || role == "cond" || role == "body" ? 0 : std::min<size_t>(1, op.inputs.size());
}

/// References end at calls: functions take and give values, in memory that a variable may leave meanwhile.
Status verifyNoReference(const Graph& graph, ValueId id, std::string_view what)
{
    if (!id.valid() || !graph.value(id).type.isReference) return {};
    return broken(std::string(what) + " '" + graph.value(id).id + "' is a reference").expected("a value: Identity reads one");
}

Status verifyCall(const Model& model, const Graph& caller, const Operator& op)
{
    for (const ValueId input : op.inputs) LS_CHECK_OK(verifyNoReference(caller, input, "operand"));
    for (const Callee& callee : calleesOf(op)) {
        const Graph& graph = model.graph(callee.graph);
        for (const ValueId input : graph.inputs) LS_CHECK_OK(verifyNoReference(graph, input, "calls " + graph.id + ", whose input"));
        for (const GraphOutput& output : graph.outputs)
            LS_CHECK_OK(verifyNoReference(graph, output.value, "calls " + graph.id + ", whose output"));
        const size_t given = op.inputs.size() - ownOperands(op, callee.role);
        if (given != graph.inputs.size())
            return broken("calls " + graph.id + " with " + std::to_string(given) + " operands")
                .expected(std::to_string(graph.inputs.size()));
        if (callee.role != "cond" && op.results.size() > graph.outputs.size())
            return broken("has " + std::to_string(op.results.size()) + " results")
                .expected("at most " + std::to_string(graph.outputs.size()) + ", what " + graph.id + " returns");
        if (callee.role == "cond" && graph.outputs.empty()) return broken("its condition " + graph.id + " returns nothing");
    }
    return {};
}

} // namespace

Status verifyCalls(const Model& model)
{
    constexpr std::string_view kCallers[] = {"PartitionedCall", "StatefulPartitionedCall", "If",   "StatelessIf",
                                             "While",           "StatelessWhile",          "Case", "StatelessCase"};
    if (model.dialect != Dialect::tf) return {};
    for (const Graph& graph : model.graphs)
        for (size_t i = 0; i < graph.operators.size(); ++i) {
            const Operator& op = graph.operators[i];
            if (std::ranges::find(kCallers, op.kind.name) == std::end(kCallers)) continue;
            if (Status status = verifyCall(model, graph, op); !status.ok())
                return std::move(status).takeError().at(graph.id + "/" +
                                                        (op.name.empty() ? op.kind.name + "#" + std::to_string(i) : op.name));
        }
    return {};
}

Status verifyModel(const Model& model) { return Verifier(model).run(); }

} // namespace loopscope
