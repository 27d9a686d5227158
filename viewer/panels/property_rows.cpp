#include "viewer/panels/property_rows.h"

#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/ir/text/printer.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/value_text.h"
#include "viewer/panels/common.h"
#include "viewer/scene/family.h"
#include "viewer/scene/operand_names.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostEnds = 6; ///< consumers that are listed one by one

class Sheet {
public:
    explicit Sheet(Document& document) : m_document(document), m_selection(document.selection()), m_model(document.model()) {}

    PropertySheet run()
    {
        if (m_selection.op.valid() && m_selection.graph.valid()) operatorSheet();
        else if (m_selection.value.valid() && m_selection.graph.valid()) valueSheet();
        else modelSheet();
        return std::move(m_sheet);
    }

private:
    const Graph& graph() const { return m_model.graph(m_selection.graph); }
    std::string invocation() const
    {
        return m_selection.op.valid() ? invocationOf(staticAddress(m_selection.address)) : staticAddress(m_selection.address);
    }
    QString addressOf(OperatorId op) const { return toText(invocation() + "/" + addressSite(graph().op(op), op.index)); }

    void section(const QString& name, const QString& note = {})
    {
        PropertyRow row;
        row.section = name;
        row.note = note;
        m_sheet.rows.push_back(row);
    }
    PropertyRow& add(const QString& name, const QString& value, bool isCode = true)
    {
        PropertyRow row;
        row.name = name;
        row.value = value;
        row.isCode = isCode;
        m_sheet.rows.push_back(row);
        return m_sheet.rows.back();
    }

    void attributes(const AttributeList& list)
    {
        if (list.empty()) return;
        section("Attributes");
        for (const NamedAttribute& attribute : list) add(toText(attribute.key), toText(attributeText(attribute.value, m_model, &graph())));
    }

    void operand(const QString& name, ValueId id)
    {
        if (!id.valid()) {
            add(name, "missing", false);
            return;
        }
        const Value& value = graph().value(id);
        PropertyRow& row = add(name, toText(value.id));
        row.type = toText(std::string(dtypeName(value.type.dtype)) + toString(value.type.dynamicShape()));
        if (value.producer.valid()) {
            row.address = addressOf(value.producer);
            row.note = toText(operatorLabel(graph().op(value.producer), value.producer.index));
        } else if (value.constant) {
            row.note = toText(groupThousands(static_cast<int64_t>(value.constant->size()))) + " B";
        } else {
            row.note = value.role == ValueRole::input ? "input" : value.role == ValueRole::variable ? "variable" : "";
        }
    }

    /// Who reads the value; the operators of the graph are looked through once.
    std::vector<OperatorId> readers(ValueId id) const
    {
        std::vector<OperatorId> found;
        for (size_t o = 0; o < graph().operators.size(); ++o)
            if (std::ranges::count(graph().operators[o].inputs, id) > 0) found.emplace_back(static_cast<int64_t>(o));
        return found;
    }

    void result(const QString& name, ValueId id)
    {
        const Value& value = graph().value(id);
        const std::vector<OperatorId> ends = readers(id);
        PropertyRow& row = add(name, toText(value.id));
        row.type = toText(std::string(dtypeName(value.type.dtype)) + toString(value.type.dynamicShape()));
        const bool leaves = std::ranges::any_of(graph().outputs, [&](const GraphOutput& output) { return output.value == id; });
        if (ends.size() == 1 && !leaves) {
            row.address = addressOf(ends.front());
            row.note = toText(operatorLabel(graph().op(ends.front()), ends.front().index));
            return;
        }
        row.note = leaves && ends.empty() ? QString("output")
                   : ends.empty()         ? QString("unused")
                                          : QString(ends.size() == 1 ? "%1 reader" : "%1 readers").arg(ends.size());
        for (size_t i = 0; i < std::min(ends.size(), kMostEnds); ++i)
            add("", toText(operatorLabel(graph().op(ends[i]), ends[i].index))).address = addressOf(ends[i]);
        if (ends.size() > kMostEnds) add("", QString("%1 of %2 readers shown").arg(kMostEnds).arg(ends.size()), false);
    }

    bool quantization(const QString& name, ValueId id)
    {
        if (!id.valid()) return false;
        const Value& value = graph().value(id);
        const QuantizationPtr& q = value.type.quantization;
        if (!q) return false;
        if (q->kind == Quantization::Kind::affine && q->isPerTensor()) {
            const int64_t zero = q->zeroPoint();
            const QString offset =
                zero == 0 ? QString("q") : QString("(q %1 %2)").arg(zero < 0 ? "+" : QString(QChar(0x2212))).arg(std::abs(zero));
            add(name, QString("%1 × %2").arg(toText(realText(static_cast<double>(q->scale()), 7)), offset)).note = "per tensor";
            return true;
        }
        if (q->kind == Quantization::Kind::affine && q->scales.size() > 1) {
            const bool hasZeros = std::ranges::any_of(q->zeroPoints, [](int64_t zero) { return zero != 0; });
            add(name, hasZeros ? "scale × (q − zero)" : "scale × q").note =
                QString("%1 channels, dim %2").arg(q->scales.size()).arg(q->axis);
            const int64_t channels =
                value.type.shape.hasRank() && q->axis >= 0 && q->axis < value.type.shape.rank() ? value.type.shape[q->axis] : -1;
            if (channels >= 0 && channels != static_cast<int64_t>(q->scales.size()))
                add("", QString("channel scales: %1 of %2 expected").arg(q->scales.size()).arg(channels), false);
            const auto [low, high] = std::ranges::minmax(q->scales);
            PropertyRow& row =
                add(low > 0 ? QString("%1× spread").arg(toText(realText(static_cast<double>(high / low), 3))) : QString("scales"), "");
            row.scales = q->scales;
            return true;
        }
        if (q->kind == Quantization::Kind::blockwise) {
            add(name, QString("blocks of %1").arg(q->blockSize)).note = "block-wise";
            return true;
        }
        if (!q->min.empty() && !q->max.empty()) {
            add(name, QString("%1 to %2")
                          .arg(toText(realText(static_cast<double>(q->min.front()), 5)),
                               toText(realText(static_cast<double>(q->max.front()), 5))))
                .note = "recorded range";
            return true;
        }
        return false;
    }

    void breakpoints()
    {
        bool any = false;
        for (const BreakpointRow& row : m_document.stop()->breakpoints) {
            if (!sitsOn(row, staticAddress(m_selection.address))) continue;
            add(any ? "" : "breakpoints", QString("%1: %2")
                                              .arg(row.number)
                                              .arg(toText(row.condition.empty() ? (row.enabled ? "always" : "disabled") : row.condition)));
            any = true;
        }
        if (!any) add("breakpoints", "none, F9 to add", false);
    }

    void operatorSheet()
    {
        const Operator& op = graph().op(m_selection.op);
        m_sheet.family = static_cast<int>(familyOf(op.kind));
        const std::string site = addressSite(op, m_selection.op.index);
        m_sheet.title = op.name.empty() ? toText(op.kind.name) : toText(op.name);
        m_sheet.titleIndex = op.name.empty() ? QString("#%1").arg(m_selection.op.index) : QString();
        m_sheet.titleNote =
            QString("of %1, in %2").arg(toText(groupThousands(static_cast<int64_t>(graph().operators.size()))), toText(graph().id));
        if (!op.name.empty()) add("kind", toText(op.kind.full()));
        attributes(op.attributes);
        const std::vector<std::string> names = operandNames(op);
        const auto nameOf = [&](size_t operand) { return names.empty() ? QString("in %1").arg(operand) : toText(names[operand]); };
        if (!op.inputs.empty()) {
            const auto given = std::ranges::count_if(op.inputs, [](ValueId id) { return id.valid(); });
            section("Inputs", QString("%1 of %2").arg(given).arg(op.inputs.size()));
            for (size_t i = 0; i < op.inputs.size(); ++i) operand(nameOf(i), op.inputs[i]);
        }
        if (!op.controlInputs.empty()) {
            section("Waits for", QString::number(op.controlInputs.size()));
            for (const OperatorId id : op.controlInputs)
                add("control", toText(operatorLabel(graph().op(id), id.index))).address = addressOf(id);
        }
        if (!op.results.empty()) {
            section("Outputs", QString("%1 of %1").arg(op.results.size()));
            for (size_t i = 0; i < op.results.size(); ++i)
                result(op.results.size() == 1 ? QString("output") : QString("out %1").arg(i), op.results[i]);
        }
        binding(op);
        const size_t before = m_sheet.rows.size();
        section("Quantization");
        bool any = false;
        for (size_t i = 0; i < op.inputs.size(); ++i) any = quantization(nameOf(i), op.inputs[i]) || any;
        for (size_t i = 0; i < op.results.size(); ++i)
            any = quantization(op.results.size() == 1 ? QString("output") : QString("out %1").arg(i), op.results[i]) || any;
        if (!any) m_sheet.rows.resize(before);
        section("Origin");
        if (!op.results.empty() && op.name.empty()) add("name", toText(graph().value(op.results.front()).displayName()));
        for (const std::string& origin : op.origin) add("from", toText(origin));
        add("file", QString("operator %1, subgraph %2").arg(m_selection.op.index).arg(m_selection.graph.index));
        add("address", toText(m_selection.address));
        if (const OpDef* definition = findOp(op.kind)) add("what it does", toText(definition->summary), false);
        breakpoints();
    }

    /// Of a loop or call: what goes in, around and out; the full list behind the canvas's rails.
    void binding(const Operator& op)
    {
        const CallForm form = callForm(op);
        if (form.kind != CallKind::loop || form.callees.size() < 2 || !m_model.hasGraph(form.callees[1].graph)) return;
        const Graph& body = m_model.graph(form.callees[1].graph);
        section("Loop variables", QString::number(body.inputs.size()));
        for (size_t i = 0; i < body.inputs.size() && i < op.inputs.size(); ++i) {
            const ValueId back = i < body.outputs.size() ? body.outputs[i].value : ValueId();
            const bool same = back == body.inputs[i];
            QString value = (op.inputs[i].valid() ? toText(graph().value(op.inputs[i]).id) : QString("missing")) + " → " +
                            toText(body.value(body.inputs[i]).id);
            value += same ? QString(", unchanged") : back.valid() ? " ← " + toText(body.value(back).id) : QString();
            add(QString::number(i), value).note = i < op.results.size() ? "→ " + toText(graph().value(op.results[i]).id) : QString();
        }
        for (const Callee& callee : form.callees) {
            PropertyRow& row = add(toText(callee.role), toText(m_model.graph(callee.graph).id));
            row.note = counted(static_cast<qint64>(m_model.graph(callee.graph).operators.size()), "op");
        }
    }

    void valueSheet()
    {
        const Value& value = graph().value(m_selection.value);
        m_sheet.title = toText(value.id);
        m_sheet.titleNote = QString("%1 of %2")
                                .arg(value.role == ValueRole::input      ? "input"
                                     : value.role == ValueRole::constant ? "constant"
                                                                         : "value",
                                     toText(graph().id));
        section("Value");
        add("type", toText(shortType(value.type)));
        if (value.constant) add("bytes", toText(groupThousands(static_cast<int64_t>(value.constant->size()))));
        attributes(value.attributes);
        const std::vector<OperatorId> ends = readers(m_selection.value);
        section("Readers", QString::number(ends.size()));
        for (size_t i = 0; i < std::min<size_t>(ends.size(), 40); ++i)
            add("", toText(addressSite(graph().op(ends[i]), ends[i].index))).address = addressOf(ends[i]);
        if (ends.size() > 40) add("", QString("40 of %1 shown").arg(ends.size()), false);
        const size_t before = m_sheet.rows.size();
        section("Quantization");
        if (!quantization("value", m_selection.value)) m_sheet.rows.resize(before);
        section("Origin");
        add("name", toText(value.displayName()));
        add("file", QString("tensor %1, subgraph %2").arg(m_selection.value.index).arg(m_selection.graph.index));
    }

    void modelSheet()
    {
        m_sheet.title = toText(m_document.backend().name());
        m_sheet.titleNote = toText(dialectName(m_model.dialect));
        int64_t operators = 0, values = 0, bytes = 0;
        for (const Graph& one : m_model.graphs) {
            operators += static_cast<int64_t>(one.operators.size());
            values += static_cast<int64_t>(one.values.size());
            for (const Value& value : one.values) bytes += value.constant ? static_cast<int64_t>(value.constant->size()) : 0;
        }
        section("Model");
        add("graphs", toText(groupThousands(static_cast<int64_t>(m_model.graphs.size()))));
        add("operators", toText(groupThousands(operators)));
        add("tensors", toText(groupThousands(values)));
        add("constants", toText(formatBytes(static_cast<uint64_t>(bytes))));
        for (const Signature& signature : m_model.signatures)
            add("signature", toText(signature.key + " → " + m_model.graph(signature.graph).id));
        if (m_model.graphs.empty()) return;
        const Graph& main = m_model.graphs.front();
        const auto ports = [&](const QString& title, auto&& list) {
            if (list.empty()) return;
            section(title, QString::number(list.size()));
            for (const ValueId id : list) add(toText(main.value(id).id), toText(shortType(main.value(id).type)));
        };
        ports("Inputs", main.inputs);
        std::vector<ValueId> outputs;
        for (const GraphOutput& output : main.outputs) outputs.push_back(output.value);
        ports("Outputs", outputs);
        if (!m_model.attributes.empty()) {
            section("Attributes");
            for (const NamedAttribute& attribute : m_model.attributes)
                add(toText(attribute.key), toText(attributeText(attribute.value, m_model)));
        }
        section("File");
        add("path", toText(m_document.backend().path()));
        add("content", toText(m_document.backend().contentHash()));
    }

    Document& m_document;
    const Selection m_selection;
    const Model& m_model;
    PropertySheet m_sheet;
};

} // namespace

PropertySheet propertiesOf(Document& document) { return Sheet(document).run(); }

std::vector<int> logHistogram(const std::vector<float>& scales, int bins, float& low, float& high)
{
    low = high = 0;
    for (const float scale : scales) {
        if (!(scale > 0) || !std::isfinite(scale)) continue;
        low = low == 0 ? scale : std::min(low, scale);
        high = std::max(high, scale);
    }
    std::vector<int> counts(static_cast<size_t>(bins));
    if (low == 0) return counts;
    const double from = std::log(static_cast<double>(low)), span = std::log(static_cast<double>(high)) - from;
    for (const float scale : scales) {
        if (!(scale > 0) || !std::isfinite(scale)) continue;
        const double at = span > 0 ? (std::log(static_cast<double>(scale)) - from) / span * bins : 0;
        ++counts[static_cast<size_t>(std::clamp(static_cast<int>(at), 0, bins - 1))];
    }
    return counts;
}

} // namespace loopscope::viewer
