#include "converters/fuse/composites.h"

#include "converters/fuse/lstm.h"
#include "engine/ops/catalog.h"

#include <algorithm>
#include <array>

namespace loopscope::fusing {

namespace {

const Graph* calleeOf(const Model& model, const Operator& op)
{
    if (op.kind.dialect != "tf") return nullptr;
    if (op.kind.name == "PartitionedCall" || op.kind.name == "StatefulPartitionedCall") {
        const GraphId id = attributeGraph(op.attributes, "f");
        return model.hasGraph(id) ? &model.graph(id) : nullptr;
    }
    for (const Graph& graph : model.graphs) // old graphs call a function by a node of its name
        if (graph.id == op.kind.name || (!graph.name.empty() && graph.name == op.kind.name)) return &graph;
    return nullptr;
}

const Attribute* entry(const AttributeMap& map, std::string_view key)
{
    for (const auto& [name, value] : map)
        if (name == key) return &value;
    return nullptr;
}

/// The declared type of an operand, or what the function says of its parameter.
TensorType typeOf(const Site& site, const MarkedCall& call, size_t k)
{
    const Value& given = site.editor().value(site.editor().op(call.op).inputs[k]);
    if (given.type.shape.hasRank() || k >= call.callee->inputs.size()) return given.type;
    return call.callee->value(call.callee->inputs[k]).type;
}

size_t operandsOf(const Site& site, const MarkedCall& call) { return site.editor().op(call.op).inputs.size(); }
size_t resultsOf(const Site& site, const MarkedCall& call) { return site.editor().op(call.op).results.size(); }

/// The call becomes `draft`, which gives as many results.
Outcome replaceCall(Site& site, const MarkedCall& call, OperatorDraft draft)
{
    const Operator op = site.editor().op(call.op);
    if (draft.results.empty())
        for (const ValueId result : op.results) draft.results.push_back(site.editor().value(result).type);
    draft.name = op.name + "/fused";
    if (site.isAskedFor(call.op)) { // by its name: it passes the results on
        GraphEditor& editor = site.editor();
        const OperatorId made = editor.insert(std::move(draft), Sources(call.op), InsertPoint::before(call.op));
        editor.setControlInputs(made, op.controlInputs);
        AttributeItems types;
        for (const ValueId result : op.results) types.emplace_back(editor.value(result).type.dtype);
        editor.setKind(call.op, {"tf", "IdentityN"});
        editor.setInputs(call.op, editor.op(made).results);
        editor.setAttributes(call.op, {{"T", std::move(types)}});
        site.addParts(made, {});
        return Outcome::made(made);
    }
    const OperatorId ops[] = {call.op};
    const OperatorId made = site.editor().replace(ops, std::move(draft), op.results);
    site.addParts(made, {});
    return Outcome::made(made);
}

Outcome custom(Site& site, const MarkedCall& call, std::string name, AttributeList attributes)
{
    OperatorDraft draft;
    draft.kind = {"custom", std::move(name)};
    AttributeMap options;
    for (NamedAttribute& attribute : attributes) options.emplace_back(std::move(attribute.key), std::move(attribute.value));
    if (!options.empty()) draft.attributes = {{"options", std::move(options)}};
    draft.inputs = site.editor().op(call.op).inputs;
    return replaceCall(site, call, std::move(draft));
}

Outcome embedding(Site& site, const MarkedCall& call)
{
    const auto declined = [](std::string reason) { return Outcome::declined("EMBEDDING_LOOKUP", std::move(reason)); };
    if (operandsOf(site, call) != 2 || resultsOf(site, call) != 1)
        return declined(std::to_string(operandsOf(site, call)) + " arguments, the rule wants 2: table and ids");
    const TensorType table = typeOf(site, call, 0), ids = typeOf(site, call, 1);
    if (table.dtype == DType::i32 || table.dtype == DType::i64)
        return declined("argument 0 is the ids, 1 the table; the rule wants the table first");
    if (ids.dtype != DType::i32) return declined("ids are " + std::string(dtypeName(ids.dtype)) + ", the operator takes i32");
    if (table.shape.hasRank() && table.shape.rank() < 2) return declined("the table is no matrix");
    if (ids.shape.hasRank() && ids.shape.rank() != 1)
        return declined("ids have rank " + std::to_string(ids.shape.rank()) + ", the operator takes 1");
    OperatorDraft draft;
    draft.kind = {"tfl", "embedding_lookup"};
    draft.inputs = {site.editor().op(call.op).inputs[1], site.editor().op(call.op).inputs[0]};
    return replaceCall(site, call, std::move(draft));
}

Outcome nonMaxSuppression(Site& site, const MarkedCall& call)
{
    const auto declined = [](std::string reason) {
        return Outcome::declined("composite:non_max_suppression_padded_v2", std::move(reason));
    };
    if (operandsOf(site, call) < 5) return declined(std::to_string(operandsOf(site, call)) + " arguments, the rule wants 5 or more");
    if (resultsOf(site, call) != 2) return declined(std::to_string(resultsOf(site, call)) + " result, the rule wants 2");
    const TensorType boxes = typeOf(site, call, 0);
    if (!boxes.shape.hasRank() || boxes.shape.rank() != 2)
        return declined("boxes have rank " + std::to_string(boxes.shape.rank()) + ", the operator takes 2");
    const std::vector<ValueId> inputs = site.editor().op(call.op).inputs;
    if (inputs.size() > 5) { // of the others only this one changes what comes out
        const std::optional<std::vector<int64_t>> pads = site.constants().integers(site.behindIdentities(inputs[5]));
        if (!pads || pads->size() != 1) return declined("pad_to_max_output_size is no constant");
        if (pads->front() == 0) return declined("pad_to_max_output_size=false: the operator always fills up");
    }
    OperatorDraft draft;
    draft.kind = {"tfl", "non_max_suppression_v4"};
    draft.inputs.assign(inputs.begin(), inputs.begin() + 5);
    return replaceCall(site, call, std::move(draft));
}

Outcome imageWarp(Site& site, const MarkedCall& call)
{
    const auto declined = [](std::string reason) { return Outcome::declined("CUSTOM:DenseImageWarp", std::move(reason)); };
    if (operandsOf(site, call) != 2 || resultsOf(site, call) != 1) return declined("the rule wants 2 arguments and 1 result");
    for (const size_t k : {0, 1}) {
        const TensorType type = typeOf(site, call, k);
        if (type.dtype != DType::f32 || !type.shape.hasRank() || type.shape.rank() != 4)
            return declined("argument " + std::to_string(k) + " is not f32 of rank 4");
        if (k == 1 && type.shape[3] != 2) return declined("the last dimension of flow is " + std::to_string(type.shape[3]) + ", not 2");
    }
    return custom(site, call, "DenseImageWarp", {});
}

/// The mark's attributes as the operator's; those that are missing or of another type are named.
struct Wanted {
    std::string_view key;
    enum class Type : uint8_t { integer, number, text, truth, integers } type;
};

bool isOf(const Attribute& attribute, Wanted::Type type)
{
    switch (type) {
    case Wanted::Type::integer: return attribute.as<int64_t>() != nullptr;
    case Wanted::Type::number: return attribute.as<double>() != nullptr || attribute.as<int64_t>() != nullptr;
    case Wanted::Type::text: return attribute.as<std::string>() != nullptr;
    case Wanted::Type::truth: return attribute.as<bool>() != nullptr;
    case Wanted::Type::integers: return attribute.as<AttributeItems>() != nullptr;
    }
    return false;
}

std::string takeAttributes(const MarkedCall& call, std::span<const Wanted> wanted, AttributeList& list)
{
    for (const Wanted& want : wanted) {
        const Attribute* const found = call.attributes != nullptr ? entry(*call.attributes, want.key) : nullptr;
        if (found == nullptr) return "attribute " + std::string(want.key) + " is missing";
        if (!isOf(*found, want.type)) return "attribute " + std::string(want.key) + " is of another type";
        setAttribute(list, std::string(want.key), *found);
    }
    return "";
}

using enum Wanted::Type;

Outcome detection(Site& site, const MarkedCall& call)
{
    static constexpr std::array kWanted = {Wanted{"max_detections", integer},   Wanted{"max_classes_per_detection", integer},
                                           Wanted{"num_classes", integer},      Wanted{"nms_score_threshold", number},
                                           Wanted{"nms_iou_threshold", number}, Wanted{"y_scale", number},
                                           Wanted{"x_scale", number},           Wanted{"h_scale", number},
                                           Wanted{"w_scale", number},           Wanted{"use_regular_nms", truth}};
    const auto declined = [](std::string reason) { return Outcome::declined("CUSTOM:TFLite_Detection_PostProcess", std::move(reason)); };
    if (operandsOf(site, call) != 3 || resultsOf(site, call) != 4) return declined("the rule wants 3 arguments and 4 results");
    AttributeList list;
    if (std::string reason = takeAttributes(call, kWanted, list); !reason.empty()) return declined(std::move(reason));
    setAttribute(list, "use_regular_nms", static_cast<int64_t>(attributeBool(list, "use_regular_nms", false)));
    return custom(site, call, "TFLite_Detection_PostProcess", std::move(list));
}

Outcome maxUnpooling(Site& site, const MarkedCall& call)
{
    static constexpr std::array kWanted = {Wanted{"padding", text}, Wanted{"pool_size", integers}, Wanted{"strides", integers}};
    const auto declined = [](std::string reason) { return Outcome::declined("CUSTOM:MaxUnpooling2D", std::move(reason)); };
    if (operandsOf(site, call) != 2 || resultsOf(site, call) != 1) return declined("the rule wants 2 arguments and 1 result");
    AttributeList list;
    if (std::string reason = takeAttributes(call, kWanted, list); !reason.empty()) return declined(std::move(reason));
    const std::vector<int64_t> size = attributeInts(list, "pool_size"), strides = attributeInts(list, "strides");
    const std::string_view padding = attributeString(list, "padding", "");
    if (size.size() != 2 || strides.size() != 2) return declined("pool_size and strides must be two integers");
    if (padding != "SAME" && padding != "VALID") return declined("padding is neither SAME nor VALID");
    std::string bytes; // the C struct TfLitePoolParams
    for (const int64_t number : {int64_t{padding == "SAME" ? 1 : 2}, strides[1], strides[0], size[1], size[0], int64_t{0}, int64_t{0},
                                 int64_t{0}, int64_t{0}, int64_t{0}})
        for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift & 0xff));
    OperatorDraft draft;
    draft.kind = {"custom", "MaxUnpooling2D"};
    draft.attributes = {{"options", HexBytes{bytes}}};
    draft.inputs = site.editor().op(call.op).inputs;
    return replaceCall(site, call, std::move(draft));
}

/// Row splits behind the first value: vectors of i64. Empty: they are.
std::string unfitSplits(const std::vector<TensorType>& types)
{
    for (size_t k = 1; k < types.size(); ++k) {
        if (types[k].dtype != DType::i64) return "row splits are " + std::string(dtypeName(types[k].dtype)) + ", the rule wants i64";
        if (types[k].shape.hasRank() && types[k].shape.rank() != 1) return "row splits have rank " + std::to_string(types[k].shape.rank());
    }
    return "";
}

std::string unfitTokens(const std::vector<TensorType>& operands, const std::vector<TensorType>& results)
{
    if (operands.size() != 1) return "the rule wants 1 argument";
    const int rank = operands[0].shape.hasRank() ? operands[0].shape.rank() : -1;
    if (rank > 2) return "the text has rank " + std::to_string(rank) + ", the rule wants 0 to 2";
    if (std::string reason = unfitSplits(results); !reason.empty()) return reason;
    if (rank >= 0 && static_cast<int>(results.size()) != rank + 1)
        return std::to_string(results.size()) + " results, the rule wants " + std::to_string(rank + 1);
    return "";
}

std::string unfitNgrams(const std::vector<TensorType>& operands, const std::vector<TensorType>& results)
{
    if (operands.empty() || operands.size() != results.size()) return "the rule wants as many results as arguments";
    for (const auto* const types : {&operands, &results}) {
        if (types->front().dtype != DType::string)
            return "values are " + std::string(dtypeName(types->front().dtype)) + ", the rule wants str";
        if (std::string reason = unfitSplits(*types); !reason.empty()) return reason;
    }
    const Shape &from = operands[0].shape, &to = results[0].shape;
    if (from.hasRank() && to.hasRank() && from.rank() != to.rank())
        return "values have ranks " + std::to_string(from.rank()) + " and " + std::to_string(to.rank());
    return "";
}

/// How a function hashes strings, if not as the operator does.
std::string otherHash(const Graph& graph)
{
    std::string other;
    for (const Operator& op : graph.operators) {
        if (op.kind.name == "StringToHashBucketFast") return "";
        if (op.kind.name.starts_with("StringToHashBucket")) other = op.kind.name;
    }
    return other;
}

std::string unfitProjection(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const AttributeList& list)
{
    if (operands.size() != 2 || results.size() != 1) return "the rule wants 2 arguments and 1 result";
    if (operands[0].dtype != DType::string) return "values are " + std::string(dtypeName(operands[0].dtype)) + ", the rule wants str";
    const Shape& shape = results[0].shape;
    if (results[0].dtype != DType::f32 || (shape.hasRank() && shape.rank() != 2)) return "the result is no matrix of f32";
    const size_t seeds = attributeInts(list, "hash_seed").size();
    if (shape.hasRank() && shape[1] != static_cast<int64_t>(seeds))
        return "the result has " + std::to_string(shape[1]) + " columns for " + std::to_string(seeds) + " seeds";
    return "";
}

Outcome textOperator(Site& site, const MarkedCall& call)
{
    const auto declined = [&](std::string reason) { return Outcome::declined("CUSTOM:" + call.mark, std::move(reason)); };
    AttributeList list;
    std::vector<TensorType> operands, results;
    for (size_t k = 0; k < operandsOf(site, call); ++k) operands.push_back(typeOf(site, call, k));
    for (const ValueId result : site.editor().op(call.op).results) results.push_back(site.editor().value(result).type);
    std::string reason;
    if (call.mark == "tftext:WhitespaceTokenizer") {
        reason = unfitTokens(operands, results);
    } else if (call.mark == "tftext:Ngrams") {
        static constexpr std::array kWanted = {Wanted{"axis", integer}, Wanted{"reduction_type", text}, Wanted{"string_separator", text},
                                               Wanted{"width", integer}};
        reason = takeAttributes(call, kWanted, list);
        if (reason.empty()) reason = unfitNgrams(operands, results);
    } else {
        static constexpr std::array kWanted = {Wanted{"buckets", integer}, Wanted{"hash_seed", integers}};
        reason = takeAttributes(call, kWanted, list);
        if (reason.empty()) reason = unfitProjection(operands, results, list);
        if (const std::string other = otherHash(*call.callee); reason.empty() && !other.empty())
            reason = "the function hashes by " + other + ", the operator as StringToHashBucketFast does";
    }
    return reason.empty() ? custom(site, call, call.mark, std::move(list)) : declined(std::move(reason));
}

/// Constant operands of a marked cell; false: `number` is none.
bool takeNumbers(Site& site, const MarkedCall& call, size_t k, Numbers& numbers)
{
    const Numbers* const found = site.constants().floats(site.behindIdentities(site.editor().op(call.op).inputs[k]));
    if (found != nullptr) numbers = *found;
    return found != nullptr;
}

/// `made` gives `sequence` where the call gave result 1 and its last step where it gave result 0.
Outcome finishLayer(Site& site, const MarkedCall& call, OperatorId made, int timeAxis)
{
    GraphEditor& editor = site.editor();
    const Operator op = editor.op(call.op);
    const ValueId sequence = editor.op(made).results[0];
    editor.replaceUses(op.results[1], sequence);
    if (!editor.uses(op.results[0]).empty())
        editor.replaceUses(op.results[0], lastStep(site, sequence, timeAxis, false, op.name + "/last", call.op));
    editor.replaceUses(call.op, made);
    editor.erase(call.op);
    site.addParts(made, {});
    return Outcome::made(made);
}

/// Keras' LSTM and IndyLSTM: input, h0, c0, kernel, recurrent kernel, bias; gives the last output, all outputs, h, c and a tag.
Outcome kerasLstm(Site& site, const MarkedCall& call)
{
    const auto declined = [](std::string reason) { return Outcome::declined("UNIDIRECTIONAL_SEQUENCE_LSTM", std::move(reason)); };
    const Operator op = site.editor().op(call.op);
    if (site.isAskedFor(call.op)) return declined("the call itself is asked for");
    if (op.results.size() != 5) return declined(std::to_string(op.results.size()) + " results, the rule wants 5");
    if (op.inputs.size() == 7) return declined("masked steps");
    if (op.inputs.size() != 6) return declined(std::to_string(op.inputs.size()) + " arguments, the rule wants 6");
    for (size_t k = 2; k < 5; ++k)
        if (!site.editor().uses(op.results[k]).empty()) return declined("the caller uses result " + std::to_string(k) + ", a final state");
    if (findAttribute(call.callee->attributes, "time_major") == nullptr) return declined("attribute time_major is missing");
    for (const size_t k : {1, 2})
        if (!typeOf(site, call, k).shape.isStatic()) return declined(unknownBatch("h0 and c0"));
    LstmNode node;
    node.isTimeMajor = attributeBool(call.callee->attributes, "time_major", false);
    node.weights.isDiagonal = call.mark.starts_with("indy_");
    for (const auto& [k, numbers] :
         {std::pair<size_t, Numbers*>(3, &node.weights.kernel), {4, &node.weights.recurrent}, {5, &node.weights.bias}})
        if (!takeNumbers(site, call, k, *numbers)) return declined("argument " + std::to_string(k) + " is no constant");
    const TensorType input = typeOf(site, call, 0);
    if (!input.shape.hasRank() || input.shape.rank() != 3) return declined("the rank of the input is not known, or not 3");
    if (std::string reason = unfitWeights(node.weights, input.shape[2]); !reason.empty()) return declined(std::move(reason));
    const int timeAxis = node.isTimeMajor ? 0 : 1;
    node.input = op.inputs[0];
    if (attributeBool(call.callee->attributes, "go_backwards", false)) {
        OperatorDraft reverse;
        reverse.name = op.name + "/reversed";
        reverse.kind = {"tf", "ReverseV2"};
        const int32_t axis[] = {timeAxis};
        reverse.inputs = {node.input, site.constant(op.name + "/reversed/axis", Shape{1}, std::span<const int32_t>(axis), call.op)};
        reverse.attributes = {{"T", DType::f32}, {"Tidx", DType::i32}};
        reverse.results = {input};
        node.input = site.editor().op(site.editor().insert(std::move(reverse), Sources::none(), InsertPoint::before(call.op))).results[0];
    }
    node.h0 = op.inputs[1];
    node.c0 = op.inputs[2];
    OperatorDraft draft = lstmDraft(site, node, op.name + "/fused", call.op);
    draft.name = op.name + "/fused";
    draft.controlInputs = op.controlInputs;
    draft.results = {TensorType(DType::f32, Shape{input.shape[0], input.shape[1], node.weights.kernel.shape[1] / 4})};
    const OperatorId made = site.editor().insert(std::move(draft), Sources(call.op), InsertPoint::before(call.op));
    return finishLayer(site, call, made, timeAxis);
}

/// A step from zeros: input, weights of both, bias, projection, and of the normalized one a scale. Gates: cell, input, forget, output.
Outcome simpleCell(Site& site, const MarkedCall& call)
{
    const bool isNormalized = call.mark.starts_with("Layer"), isCoupled = call.mark.find(',') != std::string::npos;
    const auto declined = [&](std::string reason) {
        return Outcome::declined(isNormalized ? "LSTM(layer_norm)" : "LSTM", std::move(reason));
    };
    const Operator op = site.editor().op(call.op);
    if (op.inputs.size() < 4 || op.results.size() != 1) return declined("the rule wants 4 or 5 arguments and 1 result");
    if (isNormalized && op.inputs.size() < 5) return declined("the scale of the layer norm is missing");
    const TensorType input = typeOf(site, call, 0);
    if (!input.shape.isStatic() || input.shape.rank() != 2) return declined("the input is no matrix of known size");
    Numbers both;
    LstmNode node;
    if (!takeNumbers(site, call, 1, both)) return declined("the weights are no constants");
    if (both.shape.rank() != 2) return declined("the weights are " + toString(both.shape) + ", no matrix");
    node.weights.gates = isCoupled ? kCoupledGates : kSimpleGates;
    const int64_t parts = node.weights.parts();
    if (both.shape[1] % parts != 0)
        return declined("the weights have " + std::to_string(both.shape[1]) + " columns, no multiple of " + std::to_string(parts));
    if (!takeNumbers(site, call, 2, node.weights.bias)) return declined("the bias is no constant");
    if (!takeNumbers(site, call, 3, node.weights.projection)) return declined("the projection is no constant");
    if (isNormalized && !takeNumbers(site, call, 4, node.weights.norm)) return declined("the layer norm is no constant");
    const int64_t columns = both.shape[1], cells = columns / parts;
    if (node.weights.projection.shape.rank() != 2) node.weights.projection = {};
    const int64_t outputs = node.weights.projection.values.empty() ? cells : node.weights.projection.shape[1];
    const int64_t inputs = both.shape[0] - outputs;
    if (inputs <= 0)
        return declined("a slice would leave the weights: " + std::to_string(both.shape[0]) + " rows for " + std::to_string(outputs) +
                        " outputs");
    const auto split = both.values.begin() + inputs * columns;
    node.weights.kernel = {Shape{inputs, columns}, {both.values.begin(), split}};
    node.weights.recurrent = {Shape{outputs, columns}, {split, both.values.end()}};
    if (std::string reason = unfitWeights(node.weights, input.shape[1]); !reason.empty()) return declined(std::move(reason));
    const int64_t batch = input.shape[0];
    const auto zeros = [&](const char* what, int64_t size) {
        const std::vector<float> values(static_cast<size_t>(batch * size), 0.0F);
        return site.constant(op.name + what, Shape{batch, size}, std::span<const float>(values), call.op);
    };
    node.isSequence = false;
    node.input = op.inputs[0];
    node.h0 = zeros("/h0", outputs);
    node.c0 = zeros("/c0", cells);
    OperatorDraft draft = lstmDraft(site, node, op.name + "/fused", call.op);
    draft.results = {TensorType(DType::f32, Shape{batch, outputs})};
    return replaceCall(site, call, std::move(draft));
}

/// What a function does beside its results.
std::string sideEffect(const Model& model, const Graph& graph, int depth)
{
    if (depth > 16) return "endless call";
    static constexpr std::array kEffects = {"Assert", "Print", "PrintV2", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"};
    for (const Operator& op : graph.operators) {
        if (std::ranges::find(kEffects, op.kind.name) != kEffects.end()) return op.kind.name;
        for (const NamedAttribute& attribute : op.attributes) // branches, bodies, functions
            if (const auto* const ref = attribute.value.as<GraphRef>(); ref != nullptr && model.hasGraph(ref->graph))
                if (std::string effect = sideEffect(model, model.graph(ref->graph), depth + 1); !effect.empty()) return effect;
    }
    return "";
}

Outcome fusable(Site& site, const MarkedCall& call)
{
    const auto declined = [&](std::string reason) { return Outcome::declined("CUSTOM:" + call.mark, std::move(reason)); };
    AttributeList list;
    for (const auto& [key, value] : *call.attributes) {
        if (key == "tfl_fusable_op") continue;
        if (value.as<AttributeItems>() != nullptr || value.as<AttributeMap>() != nullptr)
            return declined("attribute " + key + " is a list");
        if (!isOf(value, number) && !isOf(value, truth) && !isOf(value, text))
            return declined("attribute " + key + " is no number, no truth and no text");
        setAttribute(list, key, value);
    }
    if (const std::string effect = sideEffect(site.model(), *call.callee, 0); !effect.empty())
        return declined("the body has an " + effect + ": replacing it loses the check");
    const Outcome made = custom(site, call, call.mark, std::move(list));
    const Operator& op = site.editor().op(made.fused);
    if (findOp(op.kind) == nullptr) { // nobody here knows it but the function: it runs what that computes
        AttributeList attributes = op.attributes;
        setAttribute(attributes, "call", GraphRef{site.model().findGraph(call.callee->id), nullptr});
        site.editor().setAttributes(made.fused, std::move(attributes));
    }
    return made;
}

/// The mark of a function; false: it has none.
bool readMark(const Graph& graph, MarkedCall& call)
{
    const Attribute* implements = findAttribute(graph.attributes, "_implements");
    if (implements == nullptr) implements = findAttribute(graph.attributes, "api_implements");
    if (implements == nullptr) return false;
    call.callee = &graph;
    if (const auto* const text_ = implements->as<std::string>()) {
        call.mark = *text_;
        return true;
    }
    const auto* const map = implements->as<AttributeMap>();
    const Attribute* const name = map != nullptr ? entry(*map, "function") : nullptr;
    if (name == nullptr || name->as<std::string>() == nullptr) return false;
    call.mark = *name->as<std::string>();
    const Attribute* const attributes = entry(*map, "attributes");
    call.attributes = attributes != nullptr ? attributes->as<AttributeMap>() : nullptr;
    return true;
}

} // namespace

std::span<const CompositeRule> compositeRules()
{
    static constexpr std::array kRules = {
        CompositeRule{"embedding_matmul", false, embedding},
        CompositeRule{"embedding_lookup", false, embedding, "embedding_matmul"},
        CompositeRule{"non_max_suppression_padded_v2", false, nonMaxSuppression},
        CompositeRule{"addons:DenseImageWarp", false, imageWarp},
        CompositeRule{"TFLite_Detection_PostProcess", false, detection},
        CompositeRule{"addons:MaxUnpooling2D", false, maxUnpooling},
        CompositeRule{"lstm_", true, kerasLstm},
        CompositeRule{"indy_lstm_", true, kerasLstm},
        CompositeRule{"keras_lstm", false, kerasLstm, "lstm_..."},
        CompositeRule{"kKerasLstm", false, kerasLstm, "lstm_..."}, // as the guide calls it
        CompositeRule{"LSTMCellSimple", false, simpleCell},
        CompositeRule{"LayerNormalizedLstmCellSimple", false, simpleCell},
        CompositeRule{"LSTMCellSimple,CoupleInputForgetGates", false, simpleCell}, // which other converters know in part
        CompositeRule{"LayerNormalizedLstmCellSimple,CoupleInputForgetGates", false, simpleCell},
        CompositeRule{"tftext:WhitespaceTokenizer", false, textOperator},
        CompositeRule{"tftext:Ngrams", false, textOperator},
        CompositeRule{"tftext:custom:SgnnProjection", false, textOperator},
    };
    return kRules;
}

Outcome fuseComposite(Site& site, OperatorId op)
{
    MarkedCall call;
    call.op = op;
    const Graph* const callee = calleeOf(site.model(), site.editor().op(op));
    if (callee == nullptr || !readMark(*callee, call)) return Outcome::nothing();
    const bool isRead =
        std::ranges::any_of(site.editor().op(op).results, [&](ValueId result) { return !site.editor().uses(result).empty(); });
    if (!isRead && !site.isAskedFor(op))
        return Outcome::declined("composite:" + call.mark, "no result of the call is used: nothing to fuse");
    for (const CompositeRule& rule : compositeRules()) {
        if (rule.isPrefix ? !call.mark.starts_with(rule.name) : call.mark != rule.name) continue;
        Outcome outcome = rule.apply(site, call);
        if (outcome.fused.valid() && !rule.known.empty())
            outcome.note = "the mark '" + call.mark + "' is that of the guide; other converters know '" + std::string(rule.known) + "'";
        return outcome;
    }
    const Attribute* const isFusable = call.attributes != nullptr ? entry(*call.attributes, "tfl_fusable_op") : nullptr;
    if (isFusable != nullptr && isFusable->as<bool>() != nullptr && *isFusable->as<bool>()) return fusable(site, call);
    return Outcome::declined("composite:" + call.mark, "marked, but no rule knows this name");
}

} // namespace loopscope::fusing
