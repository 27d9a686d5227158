// Constants, calls, branches and loops; variables; and what says something while it runs, which TFLite does not.
#include "converters/lower/graph_lowering.h"
#include "engine/ir/stored_constant.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>

namespace loopscope::lowering {

namespace {

Status constant(GraphLowering& l)
{
    const Attribute* const said = findAttribute(l.op().attributes, "value");
    const auto* const tensor = said ? said->as<TensorAttribute>() : nullptr;
    if (!tensor || !tensor->data) return noForm("it has no value");
    Value value;
    value.type = tensor->type;
    value.role = ValueRole::constant;
    value.constant = tensor->data;
    if (isPacked(value)) {
        LS_TRY(Bytes bytes, unpackConstant(value));
        value.constant = std::make_shared<Constant>(std::move(bytes));
    }
    l.bind(0, l.constant(TensorType(value.type.dtype, value.type.shape), value.constant, l.op().name));
    return {};
}

std::vector<TensorType> typesOf(const GraphLowering& l, std::span<const ValueId> values)
{
    std::vector<TensorType> types;
    for (const ValueId value : values) types.push_back(l.type(value));
    return types;
}

constexpr int64_t kMostShaped = 1 << 16; ///< elements that are filled up to the shape that is said of them
constexpr size_t kMostKnownBytes = 256;  ///< of an axis, a shape, a few indices

/// What of these values is known and small: what an operator of TFLite wants to know, such as an axis, may come into a graph as operand.
std::vector<std::optional<TensorAttribute>> constantsOf(GraphLowering& l, std::span<const ValueId> values)
{
    std::vector<std::optional<TensorAttribute>> constants;
    for (const ValueId id : values) {
        const Value& value = l.graph().value(id);
        const bool isKnown = value.role == ValueRole::constant && value.constant && value.constant->hasBytes() &&
                             value.constant->size() <= kMostKnownBytes && isInteger(value.type.dtype) && bitWidth(value.type.dtype) >= 8;
        constants.emplace_back();
        if (isKnown && !l.isArray(id)) constants.back() = TensorAttribute{value.type, value.constant};
    }
    return constants;
}

GraphId calleeOf(const GraphLowering& l, std::string_view key) { return attributeGraph(l.op().attributes, key); }

std::vector<std::string> resultNames(const GraphLowering& l)
{
    std::vector<std::string> names;
    for (size_t k = 0; k < l.op().results.size(); ++k) names.push_back(l.op().name + (k == 0 ? "" : ":" + std::to_string(k)));
    return names;
}

std::vector<bool> arraysOf(const GraphLowering& l, std::span<const ValueId> values)
{
    std::vector<bool> arrays;
    for (const ValueId value : values) arrays.push_back(l.isArray(value));
    return arrays;
}

/// `arrays`: which of the results.
Status finishCall(GraphLowering& l, std::string kind, std::vector<ValueId> inputs, AttributeList attributes, std::vector<TensorType> types,
                  const std::vector<bool>& arrays)
{
    const auto isArray = [&](size_t k) { return k < arrays.size() && arrays[k]; };
    if (types.size() != l.op().results.size())
        return noForm("it has " + std::to_string(l.op().results.size()) + " results, and what it calls gives " +
                      std::to_string(types.size()));
    for (size_t k = 0; k < types.size(); ++k) {
        if (isArray(k)) continue;
        const TensorType& declared = l.declared(static_cast<int>(k));
        if (declared.dtype == DType::variant || declared.dtype == DType::unknown) continue;
        if (types[k].dtype == declared.dtype && types[k].shape.hasRank() && !declared.shape.hasRank()) continue; // it knows more
        types[k] = declared;
    }
    LS_TRY(const std::vector<ValueId> results,
           l.emitAll({"tfl", std::move(kind)}, std::move(inputs), std::move(attributes), std::move(types), resultNames(l)));
    for (size_t k = 0; k < results.size(); ++k) {
        l.bind(static_cast<int>(k), results[k]);
        if (isArray(k)) l.markArray(results[k]);
    }
    return {};
}

Status branch(GraphLowering& l)
{
    std::vector<ValueId> inputs = l.inputs();
    LS_TRY(inputs[0], l.asBool(inputs[0]));
    const std::vector<TensorType> types = typesOf(l, std::span(inputs).subspan(1));
    const std::vector<bool> arrays = arraysOf(l, std::span(inputs).subspan(1));
    const auto known = constantsOf(l, std::span(inputs).subspan(1));
    LS_TRY(const GraphId then,
           l.model().calleeOf({calleeOf(l, "then_branch"), types, 0, false, false, arrays, known}, l.place() + ":then"));
    LS_TRY(const GraphId otherwise,
           l.model().calleeOf({calleeOf(l, "else_branch"), types, 0, false, false, arrays, known}, l.place() + ":else"));
    LS_TRY(std::vector<TensorType> results, l.model().matchBranches(then, otherwise));
    LS_CHECK_OK(finishCall(l, "if", std::move(inputs), {{"then", GraphRef{then, nullptr}}, {"else", GraphRef{otherwise, nullptr}}},
                           std::move(results), l.model().outputArrays(then)));
    for (size_t k = 0; k < l.op().results.size(); ++k)
        if (l.model().isStandIn(then, k) && l.model().isStandIn(otherwise, k)) l.markStandIn(l.valueOf(l.op().results[k]));
    return {};
}

Status loop(GraphLowering& l)
{
    const std::vector<ValueId> inputs = l.inputs();
    const std::vector<TensorType> types = typesOf(l, inputs);
    auto known = constantsOf(l, inputs);
    const Model& source = l.model().source();
    const GraphId step = calleeOf(l, "body");
    for (size_t i = 0; i < known.size(); ++i)
        if (!source.hasGraph(step) || !bodyHandsOn(source.graph(step), i)) known[i].reset();
    LS_TRY(const GraphId cond,
           l.model().calleeOf({calleeOf(l, "cond"), types, 0, true, false, arraysOf(l, inputs), known}, l.place() + ":cond"));
    LS_TRY(const GraphId body, l.model().calleeOf({step, types, 0, false, true, arraysOf(l, inputs), known}, l.place() + ":body"));
    std::vector<TensorType> results = types;
    for (size_t k = 0; k < results.size(); ++k) // it may change in the loop
        results[k] = TensorType(results[k].dtype, l.listGiven(static_cast<int>(k)).isRagged ? Shape{-1, -1} : Shape::unknownRank());
    LS_CHECK_OK(finishCall(l, "while", inputs, {{"cond", GraphRef{cond, nullptr}}, {"body", GraphRef{body, nullptr}}}, std::move(results),
                           arraysOf(l, inputs)));
    for (size_t k = 0; k < inputs.size(); ++k) // no loop makes another variable of one
        if (l.type(inputs[k]).dtype == DType::resource && source.hasGraph(step) && bodyHandsOn(source.graph(step), k))
            l.bind(static_cast<int>(k), inputs[k]);
    return {};
}

/// Branch k of a Case: index = k ? branch : the rest; an index out of range means the last one.
Status choice(GraphLowering& l)
{
    std::vector<GraphId> branches;
    if (const Attribute* const said = findAttribute(l.op().attributes, "branches"))
        if (const auto* items = said->as<AttributeItems>())
            for (const Attribute& item : *items)
                if (const auto* graph = item.as<GraphRef>()) branches.push_back(graph->graph);
    if (branches.empty()) return noForm("it has no branches");
    const std::vector<ValueId> inputs = l.inputs();
    const std::vector<TensorType> types = typesOf(l, inputs);
    std::vector<GraphId> lowered;
    std::vector<TensorType> results;
    for (size_t k = 0; k < branches.size(); ++k) {
        LS_TRY(const GraphId graph,
               l.model().calleeOf({branches[k], types, 1, false, false, {}}, l.place() + ":branch" + std::to_string(k)));
        lowered.push_back(graph);
        LS_TRY(const std::vector<TensorType> both, l.model().matchBranches(lowered.front(), graph));
        if (k == 0) results = both;
        for (size_t i = 0; i < results.size(); ++i)
            if (!(results[i] == both[i])) results[i] = TensorType(both[i].dtype, Shape::unknownRank());
    }
    const auto test = [](GraphLowering& in, ValueId index, int64_t k) {
        return in.emit("equal", {index, in.integerConstant(DType::i32, std::array{k}, true)}, {}, DType::boolean);
    };
    GraphId rest = lowered.back();
    for (size_t k = lowered.size() - 1; k-- > 1;) {
        const GraphId id = l.model().reserve(l.op().name + "/from" + std::to_string(k));
        GraphLowering chain(l.model(), "");
        std::vector<ValueId> operands;
        for (const TensorType& type : types) operands.push_back(chain.addInput("x", type));
        LS_TRY(const ValueId isIt, test(chain, operands[0], static_cast<int64_t>(k)));
        std::vector<ValueId> all = {isIt};
        all.insert(all.end(), operands.begin(), operands.end());
        LS_TRY(const std::vector<ValueId> outputs,
               chain.emitAll({"tfl", "if"}, std::move(all), {{"then", GraphRef{lowered[k], nullptr}}, {"else", GraphRef{rest, nullptr}}},
                             results));
        chain.setOutputs(outputs);
        l.model().put(id, std::move(chain.graph()));
        rest = id;
    }
    LS_TRY(const ValueId isFirst, test(l, inputs[0], lowered.size() == 1 ? -1 : 0));
    std::vector<ValueId> all = {isFirst};
    all.insert(all.end(), inputs.begin(), inputs.end());
    return finishCall(l, "if", std::move(all), {{"then", GraphRef{lowered.front(), nullptr}}, {"else", GraphRef{rest, nullptr}}}, results,
                      {});
}

Status call(GraphLowering& l)
{
    const GraphId callee = calleeOf(l, "f");
    ModelLowering& model = l.model();
    if (!model.source().hasGraph(callee)) return noForm("it calls a function that is not there");
    if (model.depth > 64) return noForm("functions within functions, 64 deep");
    ++model.depth;
    std::vector<ValueId> inputs = l.inputs();
    if (l.op().kind.name == "RemoteCall") inputs.erase(inputs.begin()); // the device, which for TFLite is always its own
    const std::vector<ValueId> outputs = l.lowerBody(model.source().graph(callee), inputs, l.place());
    --model.depth;
    for (size_t k = 0; k < outputs.size() && k < l.op().results.size(); ++k) l.bind(static_cast<int>(k), outputs[k]);
    return {};
}

/// A list that nobody looks into, of the dtype that its counterpart in the other branch has.
Status standIn(GraphLowering& l)
{
    l.bind(0, l.realConstant(DType::f32, 0)); // one element: LiteRT looks at the size of what may become a condition
    l.markStandIn(l.valueOf(l.op().results[0]));
    return {};
}

/// What nobody reads, but a branch has to give.
Status unread(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    if (dtype == DType::variant) return standIn(l);
    Shape shape = l.declared(0).dynamicShape();
    if (const Attribute* const said = findAttribute(l.op().attributes, "shape"); said && said->as<Shape>()) shape = *said->as<Shape>();
    if (!shape.hasRank()) shape = Shape{};
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max<int64_t>(shape[d], 0);
    const std::optional<int64_t> count = checkedElementCount(shape);
    const bool isText = dtype == DType::string;
    if (!count || (!isText && bitWidth(dtype) < 8) || *count > (1 << 20)) return noForm("a stand-in of " + std::string(dtypeName(dtype)));
    const std::vector<std::byte> zeros =
        isText ? packStrings(std::vector<std::string>(static_cast<size_t>(*count))) : std::vector<std::byte>(byteSize(dtype, *count));
    l.bind(0, l.constant(TensorType(dtype, shape), std::make_shared<Constant>(Bytes::copyOf(zeros)), l.op().name));
    if (shape.elementCount() == 0 && !isText) l.markStandIn(l.valueOf(l.op().results[0]));
    return {};
}

/// The value in the shape that is said of it. LiteRT prepares branches that are not taken, with what the other branch has put in its place.
Result<ValueId> asDeclared(GraphLowering& l, ValueId value, const Shape& shape)
{
    const DType dtype = l.type(value).dtype;
    if (!shape.isStatic() || l.type(value).dynamicShape() == shape || shape.elementCount() > kMostShaped || bitWidth(dtype) < 8)
        return value;
    const int64_t count = shape.elementCount();
    const std::vector<std::byte> room(byteSize(dtype, count));
    const ValueId zeros = l.constant(TensorType(dtype, Shape{count}), std::make_shared<Constant>(Bytes::copyOf(room)));
    LS_TRY(const ValueId flat, l.emit("reshape", {value, numbers(l, {-1})}, {}, dtype));
    LS_TRY(const ValueId enough, l.emit("concatenation", {flat, zeros}, {{"axis", int64_t{0}}}, dtype));
    LS_TRY(const ValueId own, l.emit("slice", {enough, numbers(l, {0}), numbers(l, {count})}, {}, dtype));
    return l.emit("reshape", {own, l.integerConstant(DType::i32, shape.dims())}, {}, dtype);
}

/// An optional of one value is that value. What may be of several dtypes is carried as i32, the bits of a float.
Status isItsValue(GraphLowering& l)
{
    if (l.inputCount() != 1 || l.op().results.size() != 1) return noForm("an optional of several values");
    const bool isMade = l.op().kind.name == "OptionalFromValue";
    const ListKind kind = isMade ? l.listGiven(0) : l.listOf(0);
    const DType own = l.type(l.input(0)).dtype;
    const DType wanted = isMade ? kind.item : l.declared(0).dtype;
    if (kind.isList || wanted == DType::variant || own == DType::variant || (isMade && own == wanted)) {
        l.bind(0, l.input(0));
        return {};
    }
    if (own == wanted) {
        LS_TRY(const ValueId shaped, asDeclared(l, l.input(0), l.declared(0).dynamicShape()));
        l.bind(0, shaped);
        return {};
    }
    if (kind.item == DType::unknown) return noForm("an optional of several dtypes");
    ValueId value;
    if (wanted == DType::boolean) {
        LS_TRY(value, l.emit("not_equal", {l.input(0), l.realConstant(own, 0)}, {}, wanted));
    } else {
        LS_TRY(value, l.emit(own == DType::boolean ? "cast" : "bitcast", {l.input(0)}, {}, wanted));
    }
    if (!isMade) {
        LS_TRY(value, asDeclared(l, value, l.declared(0).dynamicShape()));
    }
    l.bind(0, value);
    return {};
}

/// TFLite has nothing for operators that only check or say something.
Status leftOut(GraphLowering& l)
{
    if (l.op().kind.name != "NoOp" && l.op().kind.name != "ControlTrigger")
        l.note(l.place() + " (" + l.op().kind.name + ") is left out: TFLite has nothing that only checks or says something");
    return {};
}

/// It hands on its first operand; of the rest nothing is left.
Status printed(GraphLowering& l)
{
    l.note(l.place() + " (Print) says nothing: TFLite has nothing that only checks or says something");
    l.bind(0, l.input(0));
    return {};
}

Status variable(GraphLowering& l)
{
    if (const Attribute* const said = findAttribute(l.op().attributes, "@value"))
        if (const auto* value = said->as<TensorAttribute>()) l.model().initialise(l.op(), *value);
    LS_CHECK_OK(l.finish("var_handle", {},
                         {{"container", std::string(attributeString(l.op().attributes, "container", ""))},
                          {"shared_name", std::string(attributeString(l.op().attributes, "shared_name", ""))}}));
    l.graph().value(l.valueOf(l.op().results[0])).type.elementTypes = l.declared(0).elementTypes;
    return {};
}

Status readVariable(GraphLowering& l) { return l.finish("read_variable", {l.input(0)}); }
Status assignVariable(GraphLowering& l) { return l.finish("assign_variable", l.inputs()); }

Status variableShape(GraphLowering& l)
{
    const std::vector<TensorType>& held = l.type(l.input(0)).elementTypes;
    if (held.size() != 1) return noForm("a variable of unknown dtype");
    LS_TRY(const ValueId now, l.emit("read_variable", {l.input(0)}, {}, held.front().dtype));
    return l.finish("shape", {now}, {{"out_type", l.declared(0).dtype}});
}

/// TFLite runs on what TensorFlow calls CPU; an index beyond the list says that it is none of them.
Status deviceIndex(GraphLowering& l)
{
    int64_t index = 0;
    const Attribute* const said = findAttribute(l.op().attributes, "device_names");
    const auto* const names = said ? said->as<AttributeItems>() : nullptr;
    for (const Attribute& name : names ? *names : AttributeItems()) {
        if (const auto* const text = name.as<std::string>(); text && *text == "CPU") break;
        ++index;
    }
    l.bind(0, l.integerConstant(DType::i32, std::array{index}, true));
    return {};
}

/// v ± x, read and written back.
Status changeVariable(GraphLowering& l)
{
    const DType dtype = l.type(l.input(1)).dtype;
    LS_TRY(const ValueId old, l.emit("read_variable", {l.input(0)}, {}, dtype));
    LS_TRY(const ValueId changed, l.emit(l.op().kind.name == "AssignAddVariableOp" ? "add" : "sub", {old, l.input(1)}, {}, dtype));
    return l.emitAll({"tfl", "assign_variable"}, {l.input(0), changed}, {}, {}).ok() ? Status() : noForm("a variable that is no number");
}

/// v − α · δ
Status descend(GraphLowering& l)
{
    const DType dtype = l.type(l.input(2)).dtype;
    LS_TRY(const ValueId old, l.emit("read_variable", {l.input(0)}, {}, dtype));
    LS_TRY(const ValueId step, l.emit("mul", {l.input(1), l.input(2)}, {}, dtype));
    LS_TRY(const ValueId changed, l.emit("sub", {old, step}, {}, dtype));
    LS_CHECK_OK(l.emitAll({"tfl", "assign_variable"}, {l.input(0), changed}, {}, {}));
    return {};
}

constexpr NamedRule kFlowRules[] = {
    {"Assert", leftOut},
    {"AssignAddVariableOp", changeVariable},
    {"AssignSubVariableOp", changeVariable},
    {"AssignVariableOp", assignVariable},
    {"Case", choice},
    {"Const", constant},
    {"ControlTrigger", leftOut},
    {"DeviceIndex", deviceIndex},
    {"FakeParam", unread},
    {"If", branch},
    {"NoOp", leftOut},
    {"OptionalFromValue", isItsValue},
    {"OptionalGetValue", isItsValue},
    {"OptionalNone", standIn},
    {"PartitionedCall", call},
    {"Print", printed},
    {"PrintV2", leftOut},
    {"RemoteCall", call},
    {"ReadVariableOp", readVariable},
    {"ResourceApplyGradientDescent", descend},
    {"StatefulPartitionedCall", call},
    {"StatelessCase", choice},
    {"StatelessIf", branch},
    {"StatelessWhile", loop},
    {"VarHandleOp", variable},
    {"VariableShape", variableShape},
    {"While", loop},
};

} // namespace

std::span<const NamedRule> flowRules() { return kFlowRules; }

bool isLeftOut(std::string_view kind)
{
    const auto* const found = std::ranges::find(kFlowRules, kind, &NamedRule::kind);
    return found != std::end(kFlowRules) && found->rule == leftOut;
}

} // namespace loopscope::lowering
