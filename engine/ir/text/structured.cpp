// Builds the view in two steps: lines with their types apart, since the column of types depends on the longest line; then the texts.
#include "engine/ir/text/structured.h"

#include "engine/base/text.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"
#include "engine/ir/ids.h"
#include "engine/ir/text/graph_outline.h"
#include "engine/ir/text/lexer.h"
#include "engine/ir/text/literals.h"
#include "engine/ir/text/term_writer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace loopscope {

namespace {

constexpr size_t kTypeColumn = 60;
constexpr size_t kWidestAligned = 96;  ///< longer lines do not move the type column
constexpr int64_t kSmallConstant = 4;  ///< elements of a constant that is shown as a literal
constexpr size_t kLongestLiteral = 60; ///< characters
constexpr size_t kMostTypes = 3;
constexpr int kDeepestInline = 100; ///< deeper graphs are listed on their own: files may nest calls as deeply as they like

std::string padded(std::string text, size_t width)
{
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

/// Operands before the first that becomes an argument of the callee: the predicate, the index.
size_t firstArgument(const Callee& callee)
{
    return callee.role == "then" || callee.role == "else" || callee.role.starts_with("branch") ? 1 : 0;
}

bool isLoop(const std::vector<Callee>& callees) { return callees.size() == 2 && callees[0].role == "cond" && callees[1].role == "body"; }

bool hiddenWhenOne(std::string_view key)
{
    return key.starts_with("stride_") || key.starts_with("dilation_") || key == "depth_multiplier" || key == "beta";
}

/// What TensorFlow's result types say already.
bool saysTypes(const NamedAttribute& attribute)
{
    if (attribute.key.starts_with('_') || attribute.key == "output_shapes" || attribute.value.as<DType>()) return true;
    const auto* items = attribute.value.as<AttributeItems>();
    return items && !items->empty() && std::ranges::all_of(*items, [](const Attribute& item) { return item.as<DType>() != nullptr; });
}

bool namesGraphs(const Attribute& value)
{
    const auto* items = value.as<AttributeItems>();
    return value.as<GraphRef>() || (items && !items->empty() && items->front().as<GraphRef>());
}

bool isOne(const Attribute& value)
{
    if (const auto* number = value.as<int64_t>()) return *number == 1;
    const auto* real = value.as<double>();
    return real && *real == 1.0;
}

class View {
public:
    View(const Model& model, const StructuredOptions& options) : m_model(model), m_options(options), m_terms(model, m_hashes, false) {}

    std::vector<StructuredLine> run()
    {
        if (m_model.hasGraph(m_options.root)) {
            root(m_options.root);
            return finished();
        }
        if (!m_model.graphs.empty()) root(GraphId(0));
        for (const Signature& signature : m_model.signatures)
            if (m_model.hasGraph(signature.graph) && m_printedAt.count(signature.graph.index) == 0) root(signature.graph);
        while (!m_postponed.empty()) {
            const GraphId graph = m_postponed.back();
            m_postponed.pop_back();
            if (m_printedAt.count(graph.index) == 0) root(graph);
        }
        uncalled();
        return finished();
    }

private:
    /// A line whose type has no column yet.
    struct Draft {
        StructuredLine line;
        std::string type;
    };

    Draft& add(int depth, GraphId graph, std::string address, const std::string& content)
    {
        Draft& draft = m_drafts.emplace_back();
        draft.line.depth = depth;
        draft.line.graph = graph;
        draft.line.address = std::move(address);
        draft.line.text = std::string(kStructuredGutter + 2 * static_cast<size_t>(depth), ' ') + content;
        return draft;
    }

    /// Graphs that nobody calls, then those that only call each other.
    void uncalled()
    {
        std::vector<bool> called(m_model.graphs.size());
        for (const Graph& graph : m_model.graphs)
            for (const Operator& op : graph.operators)
                for (const Callee& callee : calleesOf(op))
                    if (m_model.hasGraph(callee.graph)) called[static_cast<size_t>(callee.graph.index)] = true;
        bool announced = false;
        for (const bool wanted : {false, true}) {
            for (size_t g = 0; g < called.size(); ++g) {
                const GraphId id(static_cast<int64_t>(g));
                if (called[g] != wanted || m_printedAt.count(id.index) > 0) continue;
                if (!announced) {
                    m_drafts.emplace_back();
                    m_drafts.emplace_back().line.text = "; not called";
                    announced = true;
                    root(id, false);
                } else {
                    root(id);
                }
            }
        }
    }

    void root(GraphId id, bool separate = true)
    {
        if (separate && !m_drafts.empty()) m_drafts.emplace_back();
        const Graph& graph = m_model.graph(id);
        std::string head = idText(graph.id);
        std::vector<std::string> parameters;
        for (const ValueId input : graph.inputs)
            parameters.push_back(idText(graph.value(input).id) + ": " + typeOf(graph, graph.value(input)));
        if (!parameters.empty()) head += "(" + join(parameters, ", ") + ")";
        const std::string address = escapeAddressName(graph.id, false);
        m_printedAt.emplace(id.index, m_drafts.size() + 1);
        Draft& draft = m_drafts.emplace_back();
        draft.line.text = head;
        draft.line.graph = id;
        draft.line.address = address;
        m_open.insert(id.index);
        operators(id, address, 0);
        outputs(id, "return", address, 0);
        m_open.erase(id.index);
    }

    std::string typeOf(const Graph& graph, const Value& value)
    {
        m_terms.enter(&graph);
        TensorType type = value.type;
        if (!m_options.full) type.quantization = nullptr;
        return m_terms.type(type);
    }

    /// An operand: a literal where it is a small constant, else its id.
    std::string operand(GraphId graphId, ValueId id)
    {
        const Graph& graph = m_model.graph(graphId);
        if (!id.valid()) return "_";
        const Value& value = graph.value(id);
        if (!m_options.full && value.role == ValueRole::constant)
            if (std::string text = literal(value.type, *value.constant); !text.empty()) return text;
        if (!m_options.full && value.role == ValueRole::result)
            if (std::string text = literalOfNode(graph.op(value.producer)); !text.empty()) return text;
        m_terms.enter(&graph);
        return m_terms.valueRef(id);
    }

    /// Of a TensorFlow constant; empty for other nodes.
    static std::string literalOfNode(const Operator& op)
    {
        if (op.kind.dialect != "tf" || op.kind.name != "Const") return {};
        const Attribute* value = findAttribute(op.attributes, "value");
        const auto* tensor = value ? value->as<TensorAttribute>() : nullptr;
        return tensor ? literal(tensor->type, *tensor->data) : std::string();
    }

    static std::string literal(const TensorType& type, const Constant& constant)
    {
        if (!constant.hasBytes() || constant.sparsity || !type.shape.hasRank()) return {};
        const auto count = checkedElementCount(type.shape);
        if (!count || *count > kSmallConstant) return {};
        const auto reader = ElementReader::create(type.dtype, *count, constant.bytes().view());
        if (!reader) return {};
        std::string text;
        if (type.shape.rank() == 0) {
            text = reader->text(0);
        } else if (*count > 1 && reader->allEqual()) {
            text = "[" + reader->text(0) + " x" + std::to_string(*count) + "]";
        } else {
            for (int64_t i = 0; i < *count; ++i) text += (i == 0 ? "" : ", ") + reader->text(i);
            text = "[" + text + "]";
        }
        return text.size() <= kLongestLiteral ? text : std::string();
    }

    std::string attributes(GraphId graphId, const Operator& op, const std::vector<Callee>& callees)
    {
        const bool tf = op.kind.dialect == "tf";
        AttributeList shown;
        for (const NamedAttribute& a : op.attributes) {
            const bool isCallee = std::ranges::any_of(callees, [&](const Callee& c) { return c.role == a.key; }) ||
                                  (tf && !callees.empty() && namesGraphs(a.value));
            if (isCallee) continue;
            if (!m_options.full) {
                if (a.key.starts_with('@') || (hiddenWhenOne(a.key) && isOne(a.value))) continue;
                if (tf && saysTypes(a)) continue;
            }
            shown.push_back(a);
        }
        m_terms.enter(&m_model.graph(graphId));
        return m_terms.attributes(shown);
    }

    std::string types(const Graph& graph, const Operator& op)
    {
        std::vector<std::string> texts;
        for (const ValueId result : op.results) texts.push_back(typeOf(graph, graph.value(result)));
        if (texts.size() <= kMostTypes) return join(texts, ", ");
        return texts.front() + " (+" + std::to_string(texts.size() - 1) + ")";
    }

    void operators(GraphId graphId, const std::string& path, int depth)
    {
        const Graph& graph = m_model.graph(graphId);
        if (m_model.dialect == Dialect::tf) return nodes(graphId, path, depth);
        for (size_t i = 0; i < graph.operators.size(); ++i) operation(graphId, OperatorId(static_cast<int64_t>(i)), path, depth);
    }

    /// Constants that are shown wherever they are used. Operands of a Merge never are: the control edge of such a constant is the branch.
    std::vector<bool> hiddenConstants(GraphId graphId) const
    {
        const Graph& graph = m_model.graph(graphId);
        std::vector<bool> hidden(graph.operators.size());
        if (m_options.full) return hidden;
        std::vector<bool> used(graph.operators.size());
        for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = !literalOfNode(graph.operators[i]).empty();
        const auto show = [&](OperatorId id) { hidden[static_cast<size_t>(id.index)] = false; };
        const auto showValue = [&](ValueId id) {
            if (graph.value(id).role == ValueRole::result) show(graph.value(id).producer);
        };
        for (const Operator& op : graph.operators) {
            for (const OperatorId control : op.controlInputs) show(control);
            for (const ValueId input : op.inputs) {
                if (!input.valid() || graph.value(input).role != ValueRole::result) continue;
                used[static_cast<size_t>(graph.value(input).producer.index)] = true;
                if (flowRole(op) == FlowRole::merge) showValue(input);
            }
        }
        for (const auto& [name, op] : graph.controlOutputs) show(op);
        for (const Signature& signature : m_model.signatures)
            if (signature.graph == graphId)
                for (const auto* list : {&signature.inputs, &signature.outputs})
                    for (const SignatureBinding& binding : *list) showValue(binding.value);
        for (const GraphOutput& output : graph.outputs)
            if (graph.value(output.value).role == ValueRole::result)
                used[static_cast<size_t>(graph.value(output.value).producer.index)] = true;
        for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = hidden[i] && used[i];
        return hidden;
    }

    /// The nodes of a TensorFlow graph, sorted, by frame and predicate.
    void nodes(GraphId graphId, const std::string& path, int depth)
    {
        const Graph& graph = m_model.graph(graphId);
        const FrameAnalysis analysis = analyzeFrames(graph);
        for (const std::string& problem : analysis.problems) add(depth, graphId, path, "; " + problem);
        std::vector<std::string> paths; // of frames
        for (const Frame& frame : analysis.frames)
            paths.push_back(
                frame.parent < 0 ? path : paths[static_cast<size_t>(frame.parent)] + "/" + escapeAddressName(frame.name, true) + ":frame");
        const std::vector<OutlineItem> items = outlineOf(graph, analysis, {m_options.full, hiddenConstants(graphId)});
        for (size_t i = 0; i < items.size(); ++i) {
            const OutlineItem& item = items[i];
            const Frame& frame = analysis.frames[static_cast<size_t>(item.frame)];
            const std::string& place = paths[static_cast<size_t>(item.frame)];
            const int level = depth + item.depth;
            const auto line = [&](const std::string& content) -> Draft& { return add(level, graphId, place, content); };
            const auto numbered = [&](const std::string& content) {
                Draft& draft = line(content);
                draft.line.op = item.op;
                draft.line.address += "/" + addressSite(graph.op(item.op), item.op.index);
                number(draft);
            };
            switch (item.kind) {
            case OutlineItem::Kind::node: operation(graphId, item.op, place, level); break;
            case OutlineItem::Kind::loop:
                line("loop " + quoted(frame.name) +
                     (frame.parallelIterations == 10 ? "" : " parallel=" + std::to_string(frame.parallelIterations)));
                break;
            case OutlineItem::Kind::frame:
                line("frame " + quoted(frame.name));
                add(level + 1, graphId, place, "; not a loop: " + frame.irregular);
                break;
            case OutlineItem::Kind::variable:
            case OutlineItem::Kind::invariant: {
                size_t end = i;
                while (end < items.size() && isRow(items[end])) ++end;
                rows(graphId, frame, {items.begin() + static_cast<std::ptrdiff_t>(i), items.begin() + static_cast<std::ptrdiff_t>(end)},
                     place, depth);
                i = end - 1;
                break;
            }
            case OutlineItem::Kind::cond: line("cond:"); break;
            case OutlineItem::Kind::body: line("body:"); break;
            case OutlineItem::Kind::test:
                numbered("test " + idText(graph.op(item.op).name) + " = " + firstOperand(graphId, item.op));
                break;
            case OutlineItem::Kind::next: {
                const auto variable = std::ranges::find(frame.variables, item.op, &LoopVariable::next);
                numbered("next " + idText(graph.op(variable->merge).name) + " = " + firstOperand(graphId, item.op));
                break;
            }
            case OutlineItem::Kind::when:
                line(std::string("when ") + (item.guard.branch ? "" : "not ") + operand(graphId, item.guard.predicate) + ":");
                break;
            }
        }
    }

    static bool isRow(const OutlineItem& item)
    {
        return item.kind == OutlineItem::Kind::variable || item.kind == OutlineItem::Kind::invariant;
    }

    std::string firstOperand(GraphId graphId, OperatorId id)
    {
        const Operator& op = m_model.graph(graphId).op(id);
        return op.inputs.empty() ? "_" : operand(graphId, op.inputs.front());
    }

    /// The variables of a v1 loop: name = initial value, type, -> what leaves the loop.
    void rows(GraphId graphId, const Frame& frame, const std::vector<OutlineItem>& items, const std::string& path, int depth)
    {
        const Graph& graph = m_model.graph(graphId);
        std::vector<std::array<std::string, 3>> cells;
        size_t nameWidth = 0, typeWidth = 0;
        for (const OutlineItem& item : items) {
            const Operator& op = graph.op(item.op);
            const bool varies = item.kind == OutlineItem::Kind::variable;
            std::string end = "invariant";
            if (varies) {
                std::vector<std::string> exits;
                for (const OperatorId exit : frame.variables[item.index].exits) exits.push_back(idText(graph.op(exit).name));
                end = exits.empty() ? "" : "-> " + join(exits, ", ");
            }
            const std::string type = op.results.empty() ? "" : typeOf(graph, graph.value(op.results.front()));
            cells.push_back(
                {idText(op.name) + " = " + firstOperand(graphId, varies ? frame.variables[item.index].enter : item.op), type, end});
            nameWidth = std::max(nameWidth, std::min(cells.back()[0].size(), kTypeColumn));
            typeWidth = std::max(typeWidth, std::min(type.size(), kTypeColumn));
        }
        for (size_t i = 0; i < items.size(); ++i) {
            std::string content = padded(cells[i][0], nameWidth) + "  " + padded(cells[i][1], typeWidth) + "  " + cells[i][2];
            content.erase(content.find_last_not_of(' ') + 1);
            Draft& draft =
                add(depth + items[i].depth, graphId, path + "/" + addressSite(graph.op(items[i].op), items[i].op.index), content);
            draft.line.op = items[i].op;
            number(draft);
        }
    }

    /// Puts the operator's number into the gutter.
    static void number(Draft& draft)
    {
        const std::string number = std::to_string(draft.line.op.index);
        if (number.size() < kStructuredGutter) draft.line.text.replace(kStructuredGutter - 1 - number.size(), number.size(), number);
        else draft.line.text.insert(0, number + " ");
    }

    void operation(GraphId graphId, OperatorId id, const std::string& path, int depth)
    {
        const Graph& graph = m_model.graph(graphId);
        const Operator& op = graph.op(id);
        const std::vector<Callee> callees = calleesOf(op);
        const bool loop = m_options.callees && isLoop(callees) && m_model.hasGraph(callees[0].graph) && m_model.hasGraph(callees[1].graph);
        std::string content;
        if (!loop) {
            std::vector<std::string> parts;
            if (m_model.dialect == Dialect::tf) parts.push_back(idText(op.name));
            else
                for (const ValueId result : op.results) parts.push_back(idText(graph.value(result).id));
            if (!parts.empty()) content = join(parts, ", ") + " = ";
            parts.clear();
            const bool isMerge = flowRole(op) == FlowRole::merge;
            for (const ValueId input : op.inputs) {
                m_terms.enter(&graph);
                parts.push_back(isMerge ? m_terms.valueRef(input) : operand(graphId, input));
            }
            m_terms.enter(&graph);
            for (const OperatorId control : op.controlInputs) parts.push_back("^" + m_terms.operatorRef(control));
            content += kindText(op.kind, m_model.dialect) + "(" + join(parts, ", ") + ")";
        } else {
            content = (m_model.dialect == Dialect::tf ? idText(op.name) + " = " : "") + kindText(op.kind, m_model.dialect);
        }
        content += attributes(graphId, op, callees);
        const std::string address = path + "/" + addressSite(op, id.index);
        Draft& draft = add(depth, graphId, address, content);
        draft.line.op = id;
        if (!loop) draft.type = types(graph, op);
        number(draft);
        if (loop) this->loop(graphId, op, callees, address, depth);
        else if (m_options.callees)
            for (const Callee& callee : callees)
                if (m_model.hasGraph(callee.graph)) call(graphId, op, callee, address, depth);
    }

    /// One row per carried variable: formal = actual, type, -> result.
    void loop(GraphId graphId, const Operator& op, const std::vector<Callee>& callees, const std::string& address, int depth)
    {
        const Graph& graph = m_model.graph(graphId);
        const GraphId condId = callees[0].graph;
        const GraphId bodyId = callees[1].graph;
        const Graph& cond = m_model.graph(condId);
        const Graph& body = m_model.graph(bodyId);
        std::vector<std::string> bindings, types, results;
        for (size_t i = 0; i < body.inputs.size(); ++i) {
            const Value& formal = body.value(body.inputs[i]);
            bindings.push_back(idText(formal.id) + " = " + (i < op.inputs.size() ? operand(graphId, op.inputs[i]) : "_"));
            types.push_back(typeOf(body, formal));
            std::string result = i < op.results.size() ? idText(graph.value(op.results[i]).id) : "_";
            if (m_model.dialect == Dialect::tf && i < op.results.size()) result = ":" + std::to_string(i);
            results.push_back("-> " + result);
        }
        const auto widest = [](const std::vector<std::string>& texts) {
            size_t width = 0;
            for (const std::string& text : texts) width = std::max(width, text.size());
            return std::min(width, kTypeColumn);
        };
        const size_t bindingWidth = widest(bindings);
        const size_t typeWidth = widest(types);
        for (size_t i = 0; i < bindings.size(); ++i) {
            const std::string formal = address + ":body/" + escapeAddressName(body.value(body.inputs[i]).id, true);
            add(depth + 1, bodyId, formal,
                padded(bindings[i], bindingWidth) + "  " + padded(types[i], typeWidth) + "  " + results[i] +
                    (isInvariant(body, i) ? "  (invariant)" : ""));
        }
        std::vector<std::string> renamed;
        for (size_t i = 0; i < std::min(cond.inputs.size(), body.inputs.size()); ++i) {
            const std::string& inner = cond.value(cond.inputs[i]).id;
            const std::string& outer = body.value(body.inputs[i]).id;
            if (inner != outer) renamed.push_back(idText(inner) + " = " + idText(outer));
        }
        callee("cond", condId, renamed.empty() ? "" : "(" + join(renamed, ", ") + ")", address + ":cond", depth,
               [&](const std::string& path) {
                   operators(condId, path, depth + 1);
                   outputs(condId, "test", path, depth + 1);
               });
        callee("body", bodyId, "", address + ":body", depth, [&](const std::string& path) {
            operators(bodyId, path, depth + 1);
            std::vector<std::string> updates;
            for (size_t i = 0; i < std::min(body.inputs.size(), body.outputs.size()); ++i)
                if (!isInvariant(body, i))
                    updates.push_back(idText(body.value(body.inputs[i]).id) + " = " + operand(bodyId, body.outputs[i].value));
            add(depth + 1, bodyId, path, updates.empty() ? "next" : "next " + join(updates, ", "));
        });
    }

    static bool isInvariant(const Graph& body, size_t i) { return i < body.outputs.size() && body.outputs[i].value == body.inputs[i]; }

    void call(GraphId graphId, const Operator& op, const Callee& target, const std::string& address, int depth)
    {
        const Graph& graph = m_model.graph(target.graph);
        const bool bound = !target.role.starts_with("region"); // a reducer's arguments are elements, not operands
        std::vector<std::string> formals;
        for (size_t i = 0; i < graph.inputs.size(); ++i) {
            const size_t argument = i + firstArgument(target);
            std::string text = idText(graph.value(graph.inputs[i]).id);
            if (bound && argument < op.inputs.size()) text += " = " + operand(graphId, op.inputs[argument]);
            formals.push_back(std::move(text));
        }
        const std::string list = formals.empty() ? "" : "(" + join(formals, ", ") + ")";
        callee(target.role, target.graph, list, address + ":" + target.role, depth, [&](const std::string& path) {
            if (graph.operators.empty() && !graph.outputs.empty()) {
                m_drafts.back().line.text += " " + outputList(target.graph, "yield");
                return;
            }
            operators(target.graph, path, depth + 1);
            outputs(target.graph, "yield", path, depth + 1);
        });
    }

    /// `ROLE GRAPH(…):` and what `inside` adds, or where to find it.
    template <typename Inside>
    void callee(const std::string& role, GraphId id, const std::string& formals, const std::string& path, int depth, Inside inside)
    {
        const Graph& graph = m_model.graph(id);
        std::string content = role + " " + idText(graph.id) + formals + ":";
        const auto printed = m_printedAt.find(id.index);
        if (m_open.count(id.index) > 0) content += " recursive";
        else if (printed != m_printedAt.end()) content += " as above (line " + std::to_string(printed->second) + ")";
        else if (depth >= kDeepestInline) content += " listed below";
        else {
            add(depth, id, path, content);
            m_printedAt.emplace(id.index, m_drafts.size());
            m_open.insert(id.index);
            inside(path);
            m_open.erase(id.index);
            return;
        }
        if (depth >= kDeepestInline && printed == m_printedAt.end() && m_open.count(id.index) == 0) m_postponed.push_back(id);
        add(depth, id, path, content);
    }

    std::string outputList(GraphId id, std::string_view verb)
    {
        const Graph& graph = m_model.graph(id);
        std::vector<std::string> parts;
        for (const GraphOutput& output : graph.outputs)
            parts.push_back((output.name.empty() ? "" : idText(output.name) + " = ") + operand(id, output.value));
        m_terms.enter(&graph);
        for (const auto& [name, op] : graph.controlOutputs) parts.push_back("^" + idText(name) + " = " + m_terms.operatorRef(op));
        return parts.empty() ? std::string() : std::string(verb) + " " + join(parts, ", ");
    }

    void outputs(GraphId id, std::string_view verb, const std::string& path, int depth)
    {
        if (const std::string content = outputList(id, verb); !content.empty()) add(depth, id, path, content);
    }

    std::vector<StructuredLine> finished()
    {
        size_t column = kTypeColumn;
        for (const Draft& draft : m_drafts)
            if (!draft.type.empty() && draft.line.text.size() <= kWidestAligned) column = std::max(column, draft.line.text.size() + 2);
        std::vector<StructuredLine> lines;
        lines.reserve(m_drafts.size());
        for (Draft& draft : m_drafts) {
            StructuredLine line = std::move(draft.line);
            if (!draft.type.empty()) {
                line.text = padded(std::move(line.text), column);
                if (line.text.size() > column) line.text += "  ";
                line.typeAt = line.text.size();
                line.text += draft.type;
            }
            if (m_options.note && line.op.valid())
                if (const std::string note = m_options.note(line); !note.empty()) line.text += "  " + note;
            lines.push_back(std::move(line));
        }
        return lines;
    }

    const Model& m_model;
    const StructuredOptions& m_options;
    HashNames m_hashes;
    TermWriter m_terms;
    std::vector<Draft> m_drafts;
    std::unordered_map<int32_t, size_t> m_printedAt; ///< graph → line (from 1) where it stands
    std::unordered_set<int32_t> m_open;              ///< graphs being printed
    std::vector<GraphId> m_postponed;                ///< too deep to stand inline
};

} // namespace

std::vector<StructuredLine> structuredView(const Model& model, const StructuredOptions& options) { return View(model, options).run(); }

std::string structuredText(const std::vector<StructuredLine>& lines)
{
    std::string text;
    for (const StructuredLine& line : lines) text += line.text + "\n";
    return text;
}

} // namespace loopscope
