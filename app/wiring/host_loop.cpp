#include "app/wiring/host_loop.h"

#include "app/wiring/model_file.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/text.h"
#include "engine/ir/verifier.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace loopscope::app {

namespace {

constexpr const char* kGraph = "host"; ///< the new root

/// How a value goes around the loop.
enum class Way : uint8_t {
    same,   ///< the same in all calls
    sliced, ///< one part of it a call
    fed,    ///< what an output gave in the call before
};

struct LoopInput {
    const Port* port = nullptr;
    Way way = Way::same;
    size_t from = 0; ///< way fed: which output
};

/// When it ends, beside the number of calls: an output of one element, compared with a number.
struct Ending {
    size_t output = 0;
    std::string kind; ///< of the operator that compares: "equal"
    Array number;
};

/// Writes the operators of one graph.
class GraphWriter {
public:
    GraphWriter(std::string id, std::string dialect) : m_dialect(std::move(dialect)) { m_graph.id = std::move(id); }

    ValueId input(const std::string& name, const TensorType& type)
    {
        const ValueId id = add(name, type, ValueRole::input);
        m_graph.inputs.push_back(id);
        return id;
    }
    ValueId constant(const std::string& name, const TensorType& type, const void* data, size_t bytes)
    {
        const ValueId id = add(name, type, ValueRole::constant);
        m_graph.value(id).constant = std::make_shared<const Constant>(Bytes::copyOf(data, bytes));
        return id;
    }
    ValueId integer(const std::string& name, int32_t value) { return constant(name, scalar(DType::i32), &value, sizeof value); }
    std::vector<ValueId> op(const std::string& kind, std::vector<ValueId> inputs,
                            const std::vector<std::pair<std::string, TensorType>>& results, AttributeList attributes = {})
    {
        Operator made;
        made.kind = {m_dialect, kind};
        made.inputs = std::move(inputs);
        made.attributes = std::move(attributes);
        const OperatorId id(std::ssize(m_graph.operators));
        for (const auto& [name, type] : results) {
            const ValueId result = add(name, type, ValueRole::result);
            m_graph.value(result).producer = id;
            m_graph.value(result).slot = static_cast<int32_t>(made.results.size());
            made.results.push_back(result);
        }
        m_graph.operators.push_back(std::move(made));
        return m_graph.operators.back().results;
    }
    ValueId one(const std::string& kind, std::vector<ValueId> inputs, const std::string& name, const TensorType& type)
    {
        return op(kind, std::move(inputs), {{name, type}}).front();
    }
    int64_t rankOf(ValueId value) const { return m_graph.value(value).type.shape.rank(); }
    void output(ValueId value) { m_graph.outputs.push_back({"", value}); }
    Graph take() { return std::move(m_graph); }

    static TensorType scalar(DType dtype) { return {dtype, Shape()}; }

private:
    ValueId add(const std::string& name, const TensorType& type, ValueRole role)
    {
        Value value;
        value.id = name;
        for (int k = 1; m_graph.findValue(value.id).valid(); ++k) value.id = name + "_" + std::to_string(k);
        value.type = type;
        value.role = role;
        m_graph.values.push_back(std::move(value));
        return ValueId(std::ssize(m_graph.values) - 1);
    }

    std::string m_dialect;
    Graph m_graph;
};

size_t outputIndex(const RunTarget& target, const std::string& name)
{
    for (size_t k = 0; k < target.outputs.size(); ++k)
        if (const Port& port = target.outputs[k]; port.name == name || std::ranges::find(port.aliases, name) != port.aliases.end())
            return k;
    return target.outputs.size();
}

Result<size_t> findOutput(const RunTarget& target, const std::string& name)
{
    const size_t found = outputIndex(target, name);
    if (found < target.outputs.size()) return found;
    std::vector<std::string> names;
    for (const Port& port : target.outputs) names.push_back(port.name);
    return Error(ErrorCode::usage, "no such output").at("output '" + name + "'").nearest(nearestNames(name, names));
}

/// "token==2": an output, a comparison, a number.
Result<Ending> endingOf(const RunTarget& target, const std::string& text)
{
    constexpr std::array<std::pair<const char*, const char*>, 6> kComparisons = {
        {{"==", "equal"}, {"!=", "not_equal"}, {"<=", "less_equal"}, {">=", "greater_equal"}, {"<", "less"}, {">", "greater"}}};
    const auto trim = [](std::string part) {
        part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
        part.erase(part.find_last_not_of(' ') + 1);
        return part;
    };
    for (const auto& [sign, kind] : kComparisons) {
        const size_t at = text.find(sign);
        if (at == std::string::npos) continue;
        Ending ending;
        LS_TRY(ending.output, findOutput(target, trim(text.substr(0, at))));
        ending.kind = kind;
        const Port& port = target.outputs[ending.output];
        const bool isOne = port.type.shape.hasRank() && port.type.shape.isStatic() && port.type.shape.elementCount() == 1;
        const bool isPlain = (isFloat(port.type.dtype) || isInteger(port.type.dtype)) && !port.type.quantization;
        if (!isOne || !isPlain)
            return Error(ErrorCode::usage, "only an output of one number can end the calls")
                .at("option '--until'")
                .found(port.name + ": " + shortType(port.type));
        Port number = port;
        number.type = GraphWriter::scalar(port.type.dtype);
        LS_TRY(ending.number, bindInput(number, trim(text.substr(at + std::strlen(sign))), 1, nullptr));
        return ending;
    }
    return Error(ErrorCode::usage, "option '--until'").found("'" + text + "'").expected("an output, a comparison and a number: token==2");
}

/// What goes around: every input of the graph in its order, then every output.
struct Plan {
    std::vector<LoopInput> inputs;
    std::optional<int64_t> calls;
    std::optional<Ending> ending;
};

Result<Plan> planOf(const RunTarget& target, const Arguments& arguments)
{
    Plan plan;
    for (const Port& port : target.inputs) plan.inputs.push_back({&port, Way::same, 0});
    const auto inputOf = [&](const std::string& name) -> Result<LoopInput*> {
        LS_TRY(const Port* const port, findInput(target, name));
        return &plan.inputs[static_cast<size_t>(port - target.inputs.data())];
    };
    for (const std::string& text : arguments.all("feed-back")) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos) return Error(ErrorCode::usage, "option '--feed-back'").found("'" + text + "'").expected("OUT=IN");
        LS_TRY(LoopInput* const input, inputOf(text.substr(equals + 1)));
        LS_TRY(input->from, findOutput(target, text.substr(0, equals)));
        input->way = Way::fed;
        const Port& from = target.outputs[input->from];
        if (from.type.dtype != input->port->type.dtype)
            return Error(ErrorCode::usage, "'" + from.name + "' is no '" + input->port->name + "'")
                .at("option '--feed-back'")
                .found(shortType(from.type))
                .expected(shortType(input->port->type));
    }
    for (const std::string& text : arguments.all("each")) {
        LS_TRY(const InputOption option, splitInputOption(text));
        LS_TRY(LoopInput* const input, inputOf(option.name));
        if (input->way != Way::same) return Error(ErrorCode::usage, "'" + option.name + "' is fed back, too").at("option '--each'");
        if (!input->port->type.shape.hasRank())
            return Error(ErrorCode::usage, "its rank is not known").at("option '--each'").found(option.name);
        input->way = Way::sliced;
    }
    if (arguments.has("calls")) {
        LS_TRY(plan.calls, arguments.integer("calls", 1, 1, INT32_MAX));
    }
    if (arguments.has("until")) {
        LS_TRY(plan.ending, endingOf(target, arguments.text("until")));
    }
    const bool isSliced = std::ranges::any_of(plan.inputs, [](const LoopInput& input) { return input.way == Way::sliced; });
    if (!plan.calls && !plan.ending && !isSliced)
        return Error(ErrorCode::usage, "nothing ends the calls").expected("--calls N, --until CONDITION or --each NAME=SOURCE");
    return plan;
}

/// One more dimension in front: the calls.
TensorType sliceable(const TensorType& type)
{
    TensorType all = type;
    std::vector<int64_t> dims = {kUnknownDim};
    dims.insert(dims.end(), type.shape.dims().begin(), type.shape.dims().end());
    all.shape = Shape(dims);
    all.signature.reset();
    return all;
}

class LoopWriter {
public:
    LoopWriter(const Model& model, const RunTarget& target, const Plan& plan)
        : m_model(model),
          m_target(target),
          m_plan(plan),
          m_dialect("tfl")
    {
    }

    void write(Model& model)
    {
        const GraphId cond(std::ssize(model.graphs)), body(std::ssize(model.graphs) + 1), host(std::ssize(model.graphs) + 2);
        model.graphs.push_back(condition());
        model.graphs.push_back(call());
        Signature signature;
        signature.key = "host_loop";
        signature.graph = host;
        model.graphs.push_back(root(cond, body, signature));
        model.signatures = {std::move(signature)};
    }

private:
    static std::string unique(const Model& model, const std::string& name)
    {
        std::string id = name;
        for (int k = 1; model.findGraph(id).valid(); ++k) id = name + "_" + std::to_string(k);
        return id;
    }
    TensorType typeOf(const LoopInput& input) const { return input.way == Way::sliced ? sliceable(input.port->type) : input.port->type; }
    /// The formals of cond and body: which call this is, how many there are, inputs, outputs of the call before.
    std::vector<ValueId> formals(GraphWriter& graph) const
    {
        std::vector<ValueId> ids = {graph.input("call", GraphWriter::scalar(DType::i32)),
                                    graph.input("calls", GraphWriter::scalar(DType::i32))};
        for (const LoopInput& input : m_plan.inputs) ids.push_back(graph.input(input.port->name, typeOf(input)));
        for (const Port& port : m_target.outputs) ids.push_back(graph.input("last_" + port.name, port.type));
        return ids;
    }

    Graph condition() const
    {
        GraphWriter graph(unique(m_model, "more_calls"), m_dialect);
        const std::vector<ValueId> formals = this->formals(graph);
        const TensorType truth = GraphWriter::scalar(DType::boolean);
        ValueId go = graph.one("less", {formals[0], formals[1]}, "more", truth);
        if (m_plan.ending) {
            const Ending& ending = *m_plan.ending;
            TensorType each = truth;
            const Port& port = m_target.outputs[ending.output];
            each.shape = port.type.shape;
            const ValueId number =
                graph.constant("number", GraphWriter::scalar(port.type.dtype), ending.number.bytes.data(), ending.number.bytes.size());
            const ValueId last = formals[2 + m_plan.inputs.size() + ending.output];
            ValueId met = graph.one(ending.kind, {last, number}, "met", each);
            if (each.shape.rank() > 0) {
                TensorType none = GraphWriter::scalar(DType::i32);
                none.shape = Shape{0};
                const ValueId shape = graph.constant("scalar", none, nullptr, 0);
                met = graph.one("reshape", {met, shape}, "ended", truth);
            }
            const ValueId begun = graph.one("greater", {formals[0], graph.integer("first", 0)}, "begun", truth);
            const ValueId stop = graph.one("logical_and", {met, begun}, "stop", truth);
            go = graph.one("logical_and", {go, graph.one("logical_not", {stop}, "goes_on", truth)}, "go", truth);
        }
        graph.output(go);
        return graph.take();
    }

    Graph call() const
    {
        GraphWriter graph(unique(m_model, "one_call"), m_dialect);
        const std::vector<ValueId> formals = this->formals(graph);
        std::vector<ValueId> given;
        for (size_t k = 0; k < m_plan.inputs.size(); ++k) {
            const LoopInput& input = m_plan.inputs[k];
            given.push_back(input.way == Way::sliced
                                ? graph.one("gather", {formals[2 + k], formals[0]}, input.port->name + "_now", input.port->type)
                                : formals[2 + k]);
        }
        std::vector<std::pair<std::string, TensorType>> results;
        for (const Port& port : m_target.outputs) results.emplace_back(port.name, port.type);
        const std::vector<ValueId> outputs = graph.op("call", given, results, {{"call", Attribute(GraphRef{m_target.graph, nullptr})}});
        graph.output(graph.one("add", {formals[0], graph.integer("one", 1)}, "next_call", GraphWriter::scalar(DType::i32)));
        graph.output(formals[1]);
        for (size_t k = 0; k < m_plan.inputs.size(); ++k)
            graph.output(m_plan.inputs[k].way == Way::fed ? outputs[m_plan.inputs[k].from] : formals[2 + k]);
        for (const ValueId output : outputs) graph.output(output);
        return graph.take();
    }

    Graph root(GraphId cond, GraphId body, Signature& signature) const
    {
        GraphWriter graph(unique(m_model, kGraph), m_dialect);
        const TensorType number = GraphWriter::scalar(DType::i32);
        std::vector<ValueId> carried = {graph.integer("first_call", 0), {}};
        ValueId sliced;
        std::vector<std::pair<std::string, TensorType>> results = {{"calls_made", number}, {"calls_most", number}};
        for (const LoopInput& input : m_plan.inputs) {
            const ValueId id = graph.input(input.port->name, typeOf(input));
            signature.inputs.push_back({input.port->name, id});
            carried.push_back(id);
            if (input.way == Way::sliced) sliced = id;
            results.emplace_back(input.port->name + "_after", typeOf(input));
        }
        for (const Port& port : m_target.outputs) {
            TensorType type = port.type;
            type.shape = concreteShape(port.type);
            type.signature.reset();
            const auto count = static_cast<size_t>(type.shape.elementCount());
            const std::vector<std::byte> zeros((count * static_cast<size_t>(bitWidth(type.dtype)) + 7) / 8);
            carried.push_back(graph.constant("before_" + port.name, type, zeros.data(), zeros.size()));
            results.emplace_back(port.name, port.type);
        }
        if (m_plan.calls || !sliced.valid()) {
            carried[1] = graph.integer("most_calls", static_cast<int32_t>(m_plan.calls.value_or(INT32_MAX)));
        } else {
            TensorType dims = number;
            dims.shape = Shape{graph.rankOf(sliced)};
            carried[1] = graph.one("gather", {graph.one("shape", {sliced}, "slices", dims), carried[0]}, "most_calls", number);
        }
        const std::vector<ValueId> made = graph.op(
            "while", carried, results, {{"body", Attribute(GraphRef{body, nullptr})}, {"cond", Attribute(GraphRef{cond, nullptr})}});
        for (size_t k = 0; k < m_target.outputs.size(); ++k) {
            const ValueId id = made[2 + m_plan.inputs.size() + k];
            graph.output(id);
            signature.outputs.push_back({m_target.outputs[k].name, id});
        }
        return graph.take();
    }

    const Model& m_model;
    const RunTarget& m_target;
    const Plan& m_plan;
    std::string m_dialect;
};

} // namespace

bool asksHostLoop(const Arguments& arguments)
{
    return std::ranges::any_of(std::array{"calls", "feed-back", "each", "until"}, [&](const char* name) { return arguments.has(name); });
}

Status wrapInHostLoop(LoadedModel& file, const Arguments& arguments)
{
    if (file.model.dialect == Dialect::tf)
        return Error(ErrorCode::unsupported, "calls of TensorFlow graphs in a loop")
            .at(fileNameOf(file.path))
            .expected("TFLite, Circle or text");
    LS_TRY(const RunTarget target, targetOf(file, arguments.text("signature")));
    LS_TRY(const Plan plan, planOf(target, arguments));
    for (const Port& port : target.outputs)
        if (bitWidth(port.type.dtype) == 0)
            return Error(ErrorCode::unsupported, "an output of that type cannot be carried from call to call")
                .at("output '" + port.name + "'")
                .found(shortType(port.type));
    Model wrapped = file.model;
    LoopWriter(file.model, target, plan).write(wrapped);
    LS_CHECK_OK(verifyModel(wrapped));
    file.model = std::move(wrapped);
    return {};
}

} // namespace loopscope::app
