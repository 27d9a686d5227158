// Lines and blocks of the text: header, graphs, names, gradients. The terms inside a line come from TermWriter.
#include "engine/ir/text/printer.h"

#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/ir/stored_constant.h"
#include "engine/ir/text/lexer.h"
#include "engine/ir/text/term_writer.h"

#include <algorithm>
#include <numeric>

namespace loopscope {

namespace {

constexpr size_t kWidestAligned = 28; ///< columns up to which `=` is aligned
constexpr size_t kWidestHead = 100;   ///< columns of a graph's head before its parameters get lines of their own

size_t alignment(const std::vector<std::string>& ids)
{
    size_t width = 0;
    for (const std::string& id : ids) width = std::max(width, id.size());
    return std::min(width, kWidestAligned);
}

std::string padded(std::string text, size_t width)
{
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

class Printer {
public:
    Printer(const Model& model, const PrintOptions& options, HashNames& hashes)
        : m_model(model),
          m_options(options),
          m_terms(model, hashes, options.fullConstants)
    {
    }

    std::string model()
    {
        header();
        for (size_t g = 0; g < m_model.graphs.size(); ++g) {
            m_out += "\n";
            graph(GraphId(static_cast<int64_t>(g)));
        }
        if (!m_model.gradients.empty()) m_out += "\n";
        for (const auto& [graph, name] : m_model.gradients)
            m_out += "gradient " + idText(m_model.graph(graph).id) + " = " + idText(name) + "\n";
        return std::move(m_out);
    }

    std::string oneGraph(GraphId id)
    {
        graph(id);
        return std::move(m_out);
    }

private:
    void header()
    {
        m_out = "lsir 1\nmodel " + std::string(dialectName(m_model.dialect)) + m_terms.attributes(m_model.attributes) + "\n";
        if (!m_model.versions.empty()) {
            std::vector<std::string> versions;
            for (const KindVersion& v : m_model.versions)
                versions.push_back(kindText(v.kind, m_model.dialect) + "=" + std::to_string(v.version));
            std::sort(versions.begin(), versions.end());
            m_out += "versions " + join(versions, " ") + "\n";
        }
        for (const Signature& signature : m_model.signatures) {
            m_terms.enter(&m_model.graph(signature.graph));
            m_out += "signature " + quoted(signature.key) + " " + m_terms.graphRef(signature.graph) + bindings(signature.inputs) + " -> " +
                     bindings(signature.outputs) + "\n";
        }
        m_terms.enter(nullptr);
        for (const Metadata& metadata : m_model.metadata)
            m_out += "metadata " + quoted(metadata.name) + (metadata.data ? " " + m_terms.metadata(*metadata.data) : "") + "\n";
        for (const ExternalBuffer& buffer : m_model.externalBuffers) {
            AttributeList attributes = buffer.attributes;
            removeAttribute(attributes, kFoundData);
            m_out += "external " + std::to_string(buffer.number) + m_terms.attributes(attributes) + "\n";
        }
    }

    std::string bindings(const std::vector<SignatureBinding>& list) const
    {
        std::vector<std::string> texts;
        for (const SignatureBinding& binding : list) texts.push_back(quoted(binding.name) + "=" + m_terms.valueRef(binding.value));
        return "(" + join(texts, ", ") + ")";
    }

    /// `{a=1 b=2}` with a blank before it, or nothing.
    std::string braced(const AttributeList& attributes)
    {
        return attributes.empty() ? "" : " {" + m_terms.attributes(attributes).substr(1) + "}";
    }

    void head(const Graph& graph)
    {
        const std::string begin =
            "graph " + idText(graph.id) + (graph.name.empty() || graph.name == graph.id ? "" : " " + quoted(graph.name));
        std::vector<std::string> parameters;
        bool split = false;
        for (const ValueId id : graph.inputs) {
            const Value& value = graph.value(id);
            parameters.push_back(idText(value.id) + ": " + m_terms.type(value.type) + braced(value.attributes));
            split = split || !value.attributes.empty();
        }
        const std::string end = m_terms.attributes(graph.attributes) + " {\n";
        std::string line = begin;
        if (!parameters.empty()) line += "(" + join(parameters, ", ") + ")";
        line += end;
        if (!parameters.empty() && (split || line.size() > kWidestHead + 1))
            line = begin + "(\n    " + join(parameters, ",\n    ") + ")" + end;
        m_out += line;
    }

    /// Values without an operator, in their order. True if there is any.
    bool declarations(const Graph& graph)
    {
        std::vector<const Value*> values;
        std::vector<std::string> ids;
        for (const Value& value : graph.values) {
            if (value.role == ValueRole::input || value.role == ValueRole::result) continue;
            values.push_back(&value);
            ids.push_back(idText(value.id));
        }
        const size_t width = alignment(ids);
        for (size_t i = 0; i < values.size(); ++i) {
            const Value& value = *values[i];
            m_out += "  " + padded(ids[i], width) + " = ";
            m_out += value.role == ValueRole::constant ? "const " : value.role == ValueRole::variable ? "variable " : "absent ";
            m_out += m_terms.type(value.type);
            if (value.constant && value.role != ValueRole::absent) m_out += " " + m_terms.data(value.type, *value.constant);
            m_out += m_terms.attributes(value.attributes) + "\n";
        }
        return !values.empty();
    }

    std::string results(const Graph& graph, const Operator& op)
    {
        std::vector<std::string> types;
        for (const ValueId id : op.results) types.push_back(m_terms.type(graph.value(id).type) + braced(graph.value(id).attributes));
        if (types.empty()) return {};
        return types.size() == 1 ? " : " + types.front() : " : (" + join(types, ", ") + ")";
    }

    void operation(GraphId graphId, OperatorId id)
    {
        const Graph& graph = m_model.graph(graphId);
        const Operator& op = graph.op(id);
        std::vector<std::string> names;
        if (m_model.dialect == Dialect::tf) names.push_back(idText(op.name));
        else
            for (const ValueId result : op.results) names.push_back(idText(graph.value(result).id));
        m_out += "  ";
        if (!names.empty()) m_out += join(names, ", ") + " = ";
        std::vector<std::string> operands;
        for (const ValueId input : op.inputs) operands.push_back(m_terms.valueRef(input));
        for (const OperatorId control : op.controlInputs) operands.push_back("^" + m_terms.operatorRef(control));
        m_out += kindText(op.kind, m_model.dialect) + "(" + join(operands, ", ") + ")";
        // A node's name is what its first result is called; other operators hardly ever have one.
        if (m_model.dialect != Dialect::tf && !op.name.empty()) m_out += m_terms.attributes({{std::string(kNameFact), Attribute(op.name)}});
        m_out += m_terms.attributes(op.attributes) + results(graph, op) + comment(graphId, id) + "\n";
    }

    std::string comment(GraphId graphId, OperatorId id) const
    {
        std::vector<std::string> parts;
        const Graph& graph = m_model.graph(graphId);
        const Operator& op = graph.op(id);
        if (m_options.addresses) parts.push_back(escapeAddressName(graph.id, false) + "/" + addressSite(op, id.index));
        if (m_options.origin) {
            std::string text = "op " + std::to_string(id.index) + ", tensors";
            for (const ValueId input : op.inputs) text += " " + std::to_string(input.index);
            text += " ->";
            for (const ValueId result : op.results) text += " " + std::to_string(result.index);
            if (!op.origin.empty()) text += ", from " + join(op.origin, " ");
            parts.push_back(std::move(text));
        }
        if (m_options.comment)
            if (std::string text = m_options.comment(graphId, id); !text.empty()) parts.push_back(std::move(text));
        return parts.empty() ? "" : " ; " + join(parts, "; ");
    }

    void returns(const Graph& graph)
    {
        std::vector<std::string> parts;
        for (const GraphOutput& output : graph.outputs)
            parts.push_back((output.name.empty() ? "" : idText(output.name) + "=") + m_terms.valueRef(output.value));
        for (const auto& [name, op] : graph.controlOutputs) parts.push_back("^" + idText(name) + "=" + m_terms.operatorRef(op));
        if (!parts.empty()) m_out += "  return " + join(parts, ", ") + "\n";
    }

    void names(const Graph& graph)
    {
        // Inputs, declarations, results: the order in which the text has shown them.
        std::vector<const Value*> order;
        for (const ValueId id : graph.inputs) order.push_back(&graph.value(id));
        for (const Value& value : graph.values)
            if (value.role != ValueRole::input && value.role != ValueRole::result) order.push_back(&value);
        for (const Operator& op : graph.operators)
            for (const ValueId id : op.results) order.push_back(&graph.value(id));
        std::erase_if(order, [](const Value* value) { return value->name.empty() || value->name == value->id; });
        if (order.empty()) return;
        std::vector<std::string> ids;
        for (const Value* value : order) ids.push_back(idText(value->id));
        const size_t width = alignment(ids);
        m_out += "names " + idText(graph.id) + " {\n";
        for (size_t i = 0; i < order.size(); ++i) m_out += "  " + padded(ids[i], width) + " = " + quoted(order[i]->name) + "\n";
        m_out += "}\n";
    }

    void graph(GraphId id)
    {
        const Graph& graph = m_model.graph(id);
        m_terms.enter(&graph);
        head(graph);
        const bool declared = declarations(graph);
        if (declared && !graph.operators.empty()) m_out += "\n";
        for (size_t i = 0; i < graph.operators.size(); ++i) operation(id, OperatorId(static_cast<int64_t>(i)));
        returns(graph);
        m_out += "}\n";
        names(graph);
    }

    const Model& m_model;
    const PrintOptions& m_options;
    TermWriter m_terms;
    std::string m_out;
};

} // namespace

std::string printModel(const Model& model, const PrintOptions& options, std::vector<TextBlob>& blobs)
{
    HashNames hashes;
    std::string text = Printer(model, options, hashes).model();
    if (hashes.foundClash()) {
        hashes.restart();
        text = Printer(model, options, hashes).model();
    }
    blobs = hashes.blobs();
    return text;
}

std::string printModel(const Model& model, const PrintOptions& options)
{
    std::vector<TextBlob> blobs;
    return printModel(model, options, blobs);
}

std::string printGraph(const Model& model, GraphId graph, const PrintOptions& options)
{
    HashNames hashes;
    return Printer(model, options, hashes).oneGraph(graph);
}

} // namespace loopscope
