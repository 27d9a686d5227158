#include "app/wiring/host_loop.h"

#include "app/wiring/config.h"
#include "app/wiring/host_expression.h"
#include "app/wiring/host_nodes.h"
#include "app/wiring/model_file.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/debug/host_call.h"
#include "engine/ir/verifier.h"
#include "engine/observe/host_address.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace loopscope::app {

namespace {

constexpr std::array kLoopOptions = {"calls", "feed-back", "each", "let", "until", "before"};

/// How a value goes around the loop.
enum class Way : uint8_t {
    same,     ///< the same in all calls
    sliced,   ///< one part of it a call
    fed,      ///< what an output gave in the call before
    computed, ///< what an expression gave after the call before
};

struct LoopInput {
    const Port* port = nullptr;
    Way way = Way::same;
    size_t from = 0;        ///< way fed: which output
    std::string expression; ///< way computed
};

size_t outputIndex(const RunTarget& target, const std::string& name)
{
    const Port* const port = findPort(target.outputs, name);
    return port ? static_cast<size_t>(port - target.outputs.data()) : target.outputs.size();
}

Result<size_t> findOutput(const RunTarget& target, const std::string& name)
{
    const size_t found = outputIndex(target, name);
    if (found < target.outputs.size()) return found;
    std::vector<std::string> names;
    for (const Port& port : target.outputs) names.push_back(port.name);
    return Error(ErrorCode::usage, "no such output").at("output '" + name + "'").nearest(nearestNames(name, names));
}

/// What goes around: every input of the graph in its order, then every output.
struct Plan {
    std::vector<LoopInput> inputs;
    std::optional<int64_t> calls;
    std::string until; ///< empty: the number of calls ends it
};

/// "OUT=IN" or "IN=EXPRESSION", apart at the first sign.
Result<std::pair<std::string, std::string>> halves(const std::string& text, const char* option, const char* form)
{
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        return Error(ErrorCode::usage, "option '--" + std::string(option) + "'").found("'" + text + "'").expected(form);
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

/// Whether there are values of both shapes.
bool agree(const Shape& a, const Shape& b)
{
    if (!a.hasRank() || !b.hasRank()) return true;
    bool agrees = a.rank() == b.rank();
    for (int d = 0; agrees && d < a.rank(); ++d) agrees = a[d] == b[d] || a[d] < 0 || b[d] < 0;
    return agrees;
}

/// An input comes around in one way only.
Status claim(LoopInput& input, Way way, const char* option)
{
    constexpr std::array kWays = {"", "has an entry for each call", "is fed back", "is computed"}; // by Way
    if (input.way != Way::same)
        return Error(ErrorCode::usage, "'" + input.port->name + "' " + kWays[static_cast<size_t>(input.way)] + " already")
            .at("option '--" + std::string(option) + "'");
    input.way = way;
    return {};
}

Result<Plan> planOf(const RunTarget& target, const Arguments& arguments)
{
    Plan plan;
    for (const Port& port : target.inputs) plan.inputs.push_back({&port, Way::same, 0, {}});
    const auto inputOf = [&](const std::string& name) -> Result<LoopInput*> {
        LS_TRY(const Port* const port, findInput(target, name));
        return &plan.inputs[static_cast<size_t>(port - target.inputs.data())];
    };
    for (const std::string& text : arguments.all("feed-back")) {
        LS_TRY(const auto names, halves(text, "feed-back", "OUT=IN"));
        LS_TRY(LoopInput* const input, inputOf(names.second));
        LS_TRY(input->from, findOutput(target, names.first));
        LS_CHECK_OK(claim(*input, Way::fed, "feed-back"));
        const Port& from = target.outputs[input->from];
        if (from.type.dtype != input->port->type.dtype || !agree(from.type.dynamicShape(), input->port->type.dynamicShape()))
            return Error(ErrorCode::usage, "'" + from.name + "' is no '" + input->port->name + "'")
                .at("option '--feed-back'")
                .found(shortType(from.type))
                .expected(shortType(input->port->type));
    }
    for (const std::string& text : arguments.all("let")) {
        LS_TRY(const auto parts, halves(text, "let", "IN=EXPRESSION"));
        LS_TRY(LoopInput* const input, inputOf(parts.first));
        LS_CHECK_OK(claim(*input, Way::computed, "let"));
        input->expression = parts.second;
    }
    for (const std::string& text : arguments.all("each")) {
        // A name alone: its source is given as those of other inputs are.
        std::string name = text;
        if (text.find('=') != std::string::npos) {
            LS_TRY(const InputOption option, splitInputOption(text));
            name = option.name;
        }
        LS_TRY(LoopInput* const input, inputOf(name));
        LS_CHECK_OK(claim(*input, Way::sliced, "each"));
        if (!input->port->type.shape.hasRank()) return Error(ErrorCode::usage, "its rank is not known").at("option '--each'").found(name);
    }
    if (arguments.has("calls")) {
        LS_TRY(plan.calls, arguments.integer("calls", 1, 1, INT32_MAX));
    }
    plan.until = arguments.text("until");
    const bool isSliced = std::ranges::any_of(plan.inputs, [](const LoopInput& input) { return input.way == Way::sliced; });
    if (!plan.calls && plan.until.empty() && !isSliced)
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

TensorType scalar(DType dtype) { return {dtype, Shape()}; }

class LoopWriter {
public:
    /// `before`: what is called once in front of the loop, in order.
    LoopWriter(const Model& model, const RunTarget& target, const Plan& plan, const std::vector<RunTarget>& before)
        : m_model(model),
          m_target(target),
          m_plan(plan),
          m_before(before)
    {
    }

    Status write(Model& model)
    {
        const GraphId cond(std::ssize(model.graphs)), body(std::ssize(model.graphs) + 1), host(std::ssize(model.graphs) + 2);
        LS_TRY(Graph condition, this->condition());
        LS_TRY(Graph call, this->call());
        Signature signature;
        signature.key = kHostLoopKey;
        signature.graph = host;
        LS_TRY(Graph root, this->root(cond, body, signature));
        model.graphs.push_back(std::move(condition));
        model.graphs.push_back(std::move(call));
        model.graphs.push_back(std::move(root));
        model.signatures = {std::move(signature)};
        return {};
    }

private:
    std::string unique(const std::string& name) const
    {
        std::string id = name;
        for (int k = 1; m_model.findGraph(id).valid(); ++k) id = name + "_" + std::to_string(k);
        return id;
    }
    static TensorType typeOf(const LoopInput& input) { return input.way == Way::sliced ? sliceable(input.port->type) : input.port->type; }
    bool stops() const { return !m_plan.until.empty(); }
    size_t firstInput() const { return stops() ? 3 : 2; }

    /// The formals of cond and body: which call this is, how many there are, whether it is the end, inputs, outputs of the call before.
    std::vector<ValueId> formals(HostNodes& graph) const
    {
        std::vector<ValueId> ids = {graph.input("call", scalar(DType::i32)), graph.input("calls", scalar(DType::i32))};
        if (stops()) ids.push_back(graph.input("stop", scalar(DType::boolean)));
        for (const LoopInput& input : m_plan.inputs) ids.push_back(graph.input(input.port->name, typeOf(input)));
        for (const Port& port : m_target.outputs) ids.push_back(graph.input("last_" + port.name, port.type));
        return ids;
    }

    Result<Graph> condition() const
    {
        HostNodes graph(unique("more_calls"), m_model.dialect);
        const std::vector<ValueId> formals = this->formals(graph);
        const TensorType truth = scalar(DType::boolean);
        ValueId go = graph.one("less", {formals[0], formals[1]}, "more", truth);
        if (stops()) go = graph.one("logical_and", {go, graph.one("logical_not", {formals[2]}, "goes_on", truth)}, "go", truth);
        graph.output(go);
        return graph.finish();
    }

    /// Calls a graph of the model. `label`: how addresses name the call.
    static std::vector<ValueId> callOf(HostNodes& graph, const RunTarget& target, const std::vector<ValueId>& given,
                                       const std::string& label)
    {
        std::vector<std::pair<std::string, TensorType>> results;
        AttributeItems types;
        for (const Port& port : target.outputs) {
            results.emplace_back(port.name, port.type);
            types.emplace_back(port.type.dtype);
        }
        AttributeList attributes = {{"call", Attribute(GraphRef{target.graph, nullptr})}};
        if (graph.isTensorFlow()) attributes = {{"Tout", std::move(types)}, {"f", Attribute(GraphRef{target.graph, nullptr})}};
        return graph.op("call", given, results, std::move(attributes), label);
    }

    static ValueId entry(HostNodes& graph, ValueId all, ValueId at, const std::string& name, const TensorType& type)
    {
        std::vector<ValueId> operands = {all, at};
        if (graph.isTensorFlow()) operands.push_back(graph.integer("axis", 0));
        return graph.one("gather", operands, name, type);
    }

    /// What expressions may name after a call: its outputs, and its inputs where no output has their name.
    static HostNames namesOf(const RunTarget& target, const std::vector<ValueId>& given, const std::vector<ValueId>& outputs, ValueId call)
    {
        HostNames names{{}, call};
        const auto add = [&](const std::vector<Port>& ports, const std::vector<ValueId>& values, bool isAlias) {
            for (size_t k = 0; k < ports.size(); ++k) {
                if (!isAlias) names.values.emplace(ports[k].name, values[k]);
                else
                    for (const std::string& alias : ports[k].aliases) names.values.emplace(alias, values[k]);
            }
        };
        for (const bool isAlias : {false, true}) {
            add(target.outputs, outputs, isAlias);
            add(target.inputs, given, isAlias);
        }
        return names;
    }

    Result<Graph> call() const
    {
        HostNodes graph(unique("one_call"), m_model.dialect);
        const std::vector<ValueId> formals = this->formals(graph);
        std::vector<ValueId> given;
        for (size_t k = 0; k < m_plan.inputs.size(); ++k) {
            const LoopInput& input = m_plan.inputs[k];
            const ValueId formal = formals[firstInput() + k];
            given.push_back(input.way == Way::sliced ? entry(graph, formal, formals[0], input.port->name + "_now", input.port->type)
                                                     : formal);
        }
        const std::vector<ValueId> outputs = callOf(graph, m_target, given, m_model.graph(m_target.graph).id);
        const HostNames names = namesOf(m_target, given, outputs, formals[0]);
        std::vector<ValueId> next = {graph.one("add", {formals[0], graph.integer("one", 1)}, "next_call", scalar(DType::i32)), formals[1]};
        if (stops()) {
            Result<ValueId> stop = hostCondition(graph, m_plan.until, names);
            if (!stop.ok()) return std::move(stop).takeError().at("option '--until'");
            next.push_back(*stop);
        }
        for (size_t k = 0; k < m_plan.inputs.size(); ++k) {
            const LoopInput& input = m_plan.inputs[k];
            ValueId value = input.way == Way::fed ? outputs[input.from] : formals[firstInput() + k];
            if (input.way == Way::computed) {
                Result<ValueId> computed = hostExpression(graph, input.expression, names, input.port->type);
                if (!computed.ok()) return std::move(computed).takeError().at("option '--let' of '" + input.port->name + "'");
                value = *computed;
            }
            next.push_back(value);
        }
        next.insert(next.end(), outputs.begin(), outputs.end());
        for (const ValueId value : next) graph.output(value);
        return graph.finish();
    }

    /// A call in front of the loop.
    struct Earlier {
        const RunTarget* target;
        std::vector<ValueId> given, outputs;
    };

    /// What the calls in front of the loop give for an input, the last of them that gives something; nothing: whoever runs the loop does.
    std::optional<ValueId> fromBefore(HostNodes& graph, const LoopInput& input, const std::vector<Earlier>& calls) const
    {
        for (size_t c = calls.size(); c-- > 0;) {
            const auto& [target, given, outputs] = calls[c];
            if (input.way == Way::fed) {
                const size_t k = outputIndex(*target, m_target.outputs[input.from].name);
                if (k < outputs.size() && target->outputs[k].type.dtype == input.port->type.dtype) return outputs[k];
            }
            if (input.way != Way::computed) continue;
            // Tried aside first: what fails in the middle would leave operators behind.
            HostNodes aside("aside", m_model.dialect);
            std::vector<ValueId> asideGiven, asideOutputs;
            for (const ValueId value : given) asideGiven.push_back(aside.input("given", graph.type(value)));
            for (const ValueId value : outputs) asideOutputs.push_back(aside.input("output", graph.type(value)));
            const HostNames names = namesOf(*target, asideGiven, asideOutputs, aside.integer("call", -1));
            if (!hostExpression(aside, input.expression, names, input.port->type).ok()) continue;
            const HostNames real = namesOf(*target, given, outputs, graph.integer("before_the_calls", -1));
            Result<ValueId> value = hostExpression(graph, input.expression, real, input.port->type);
            if (value.ok()) return *value;
        }
        return {};
    }

    /// An input of a call in front of the loop: what it gets in the loop comes from the call before it here, too.
    std::optional<ValueId> chained(HostNodes& graph, const Port& port, const std::vector<Earlier>& calls) const
    {
        for (const LoopInput& input : m_plan.inputs)
            if (input.port->name == port.name && input.port->type.dtype == port.type.dtype) return fromBefore(graph, input, calls);
        return {};
    }

    Result<Graph> root(GraphId cond, GraphId body, Signature& signature) const
    {
        HostNodes graph(unique(std::string(kHostGraph)), m_model.dialect);
        const auto take = [&](const std::string& name, const TensorType& type) {
            const ValueId id = graph.input(name, type);
            signature.inputs.push_back({name, id});
            return id;
        };
        std::vector<Earlier> calls;
        for (const RunTarget& before : m_before) {
            std::vector<ValueId> given;
            for (const Port& port : before.inputs) {
                const bool isBoth = std::ranges::any_of(m_target.inputs, [&](const Port& other) { return other.name == port.name; }) ||
                                    std::ranges::find(signature.inputs, port.name, &SignatureBinding::name) != signature.inputs.end();
                const std::optional<ValueId> known = chained(graph, port, calls);
                const std::string qualified = before.signature + "." + port.name; // which is always understood
                given.push_back(known ? *known : take(isBoth ? qualified : port.name, port.type));
                const auto called = std::ranges::count(m_before, before.signature, &RunTarget::signature);
                if (!known && !isBoth && called == 1) graph.alsoCalled(given.back(), qualified);
            }
            int again = before.signature == kHostLoop ? 1 : 0; // the same called in turn needs another name
            for (const Earlier& earlier : calls) again += earlier.target->signature == before.signature ? 1 : 0;
            const std::string label = before.signature + (again > 0 ? "_" + std::to_string(again) : "");
            std::vector<ValueId> outputs = callOf(graph, before, given, label);
            calls.push_back({&before, std::move(given), std::move(outputs)});
        }
        const TensorType number = scalar(DType::i32);
        std::vector<ValueId> carried = {graph.integer("first_call", 0), {}};
        std::vector<std::pair<std::string, TensorType>> results = {{"calls_made", number}, {"calls_most", number}};
        if (stops()) {
            const bool isEnd = false;
            carried.push_back(graph.constant("no_end", scalar(DType::boolean), &isEnd, sizeof isEnd));
            results.emplace_back("ended", scalar(DType::boolean));
        }
        ValueId sliced;
        for (const LoopInput& input : m_plan.inputs) {
            const std::optional<ValueId> known = fromBefore(graph, input, calls);
            carried.push_back(known ? *known : take(input.port->name, typeOf(input)));
            if (input.way == Way::sliced) sliced = carried.back();
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
            const TensorType dims(DType::i32, Shape{graph.type(sliced).shape.rank()});
            carried[1] = entry(graph, graph.one("shape", {sliced}, "slices", dims), carried[0], "most_calls", number);
        }
        AttributeList attributes = {{"body", Attribute(GraphRef{body, nullptr})}, {"cond", Attribute(GraphRef{cond, nullptr})}};
        if (graph.isTensorFlow()) attributes.push_back({"output_shapes", AttributeItems()});
        const std::vector<ValueId> made = graph.op("while", carried, results, std::move(attributes), std::string(kHostLoop));
        for (size_t k = 0; k < m_target.outputs.size(); ++k) {
            const ValueId id = made[firstInput() + m_plan.inputs.size() + k];
            graph.output(id);
            signature.outputs.push_back({m_target.outputs[k].name, id});
        }
        return graph.finish();
    }

    const Model& m_model;
    const RunTarget& m_target;
    const Plan& m_plan;
    const std::vector<RunTarget>& m_before;
};

} // namespace

bool asksHostLoop(const Arguments& arguments)
{
    return std::ranges::any_of(kLoopOptions, [&](const char* name) { return arguments.has(name); });
}

std::string loopFileOf(const std::string& model) { return std::filesystem::path(model).replace_extension(".loop.toml").string(); }

std::string loopNote(const std::string& model) { return "the loop of " + loopFileOf(model) + "; --no-loop leaves it out"; }

Result<bool> useLoopFile(Arguments& arguments)
{
    const std::string path = arguments.positionals.empty() ? "" : loopFileOf(arguments.positionals[0]);
    std::error_code missing;
    if (path.empty() || asksHostLoop(arguments) || arguments.has("no-loop") || !std::filesystem::is_regular_file(path, missing))
        return false;
    LS_TRY(const Bytes content, mapFile(path));
    LS_TRY(const KeysAndValues keys, parseKeys(path, std::string_view(content.as<char>(), content.size())));
    for (const auto& [key, values] : keys) {
        if (key != "signature" &&
            std::ranges::find(kLoopOptions, key, [](const char* name) { return std::string_view(name); }) == kLoopOptions.end())
            return Error(ErrorCode::badFile, "unknown key '" + key + "'")
                .at(path)
                .expected("signature, " + join(std::vector<std::string>(kLoopOptions.begin(), kLoopOptions.end()), ", "));
        if (key != "signature" || !arguments.has("signature")) arguments.set(key, values);
    }
    return true;
}

Status saveLoopFile(const Arguments& arguments)
{
    const auto quoted = [](const std::string& text) {
        std::string out = "\"";
        for (const char c : text) out += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
        return out + "\"";
    };
    std::string text = "# The loop around this model (docs/host_loop.md): used wherever no other is asked for; --no-loop leaves it out.\n";
    std::vector<const char*> names = {"signature"};
    names.insert(names.end(), kLoopOptions.begin(), kLoopOptions.end());
    for (const std::string name : names) {
        if (!arguments.has(name)) continue;
        text += name + " = [";
        for (bool isFirst = true; std::string value : arguments.all(name)) {
            if (name == "each") value.resize(std::min(value.find('='), value.size())); // where it comes from is not the loop's
            text += (isFirst ? "" : ", ") + quoted(value);
            isFirst = false;
        }
        text += "]\n";
    }
    return writeFile(loopFileOf(arguments.positionals[0]), text, arguments.has("force"));
}

Status wrapInHostLoop(LoadedModel& file, const Arguments& arguments)
{
    LS_TRY(const RunTarget target, targetOf(file, arguments.text("signature")));
    std::vector<RunTarget> before;
    for (const std::string& key : arguments.all("before")) {
        LS_TRY(RunTarget called, targetOf(file, key));
        before.push_back(std::move(called));
    }
    LS_TRY(const Plan plan, planOf(target, arguments));
    for (const Port& port : target.outputs)
        if (bitWidth(port.type.dtype) == 0)
            return Error(ErrorCode::unsupported, "an output of that type cannot be carried from call to call")
                .at("output '" + port.name + "'")
                .found(shortType(port.type));
    Model wrapped = file.model;
    LS_CHECK_OK(LoopWriter(file.model, target, plan, before).write(wrapped));
    LS_CHECK_OK(verifyModel(wrapped));
    if (arguments.has("save-loop")) LS_CHECK_OK(saveLoopFile(arguments));
    file.model = std::move(wrapped);
    return {};
}

} // namespace loopscope::app
