#include "engine/debug/graph_diff/graph_side.h"

#include "engine/debug/graph_diff/scopes.h"

#include "engine/base/hash.h"
#include "engine/debug/graph_diff/graph_diff.h"
#include "engine/ir/text/printer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <unordered_map>

namespace loopscope {

namespace {

uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15ULL ^ (b + 0x7f4a7c159e3779b9ULL + (a << 6U) + (a >> 2U));
    x ^= x >> 31U;
    return x * 0xbf58476d1ce4e5b9ULL;
}

uint64_t hashOf(std::string_view text) { return hash64({reinterpret_cast<const std::byte*>(text.data()), text.size()}); }

constexpr std::array<std::string_view, 10> kPassing = {"identity", "identityn",  "stopgradient", "snapshot",  "readvariableop",
                                                       "quantize", "quantizev2", "dequantize",   "fakequant", "placeholderwithdefault"};

/// Which operand comes out at `slot`.
ValueId passedOn(const Operator& op, int32_t slot) { return op.inputs[std::min(static_cast<size_t>(slot), op.inputs.size() - 1)]; }

void addName(std::string_view name, std::vector<std::string>& names)
{
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

/// Behind the calls that were opened: "StatefulPartitionedCall/dense/MatMul" is called "dense/MatMul" where the function was never called.
std::string_view behindCalls(std::string_view name)
{
    for (size_t end = name.find('/'); end != std::string_view::npos; end = name.find('/')) {
        if (!name.starts_with("StatefulPartitionedCall") && !name.starts_with("PartitionedCall")) break;
        name.remove_prefix(end + 1);
    }
    return name;
}

/// The parts of a name that a converter joined: "a/Relu;a/BiasAdd".
void addNames(const std::string& text, std::vector<std::string>& names)
{
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(';', at), text.size());
        std::string_view part = std::string_view(text).substr(at, end - at);
        if (part.ends_with(":0")) part.remove_suffix(2);
        addName(part, names);
        addName(behindCalls(part), names);
        at = end + 1;
    }
}

/// A converter counts a name up where a constant has it already: what reads that is called so.
void addCountedNames(const Graph& graph, const Operator& op, std::vector<std::string>& names)
{
    for (const ValueId input : op.inputs) {
        if (!input.valid() || graph.value(input).role != ValueRole::constant) continue;
        const std::string& constant = graph.value(input).displayName();
        const bool isCounted = std::ranges::any_of(names, [&](const std::string& name) {
            return name.size() > constant.size() && name.starts_with(constant) &&
                   std::all_of(name.begin() + static_cast<std::ptrdiff_t>(constant.size()), name.end(),
                               [](char c) { return c >= '0' && c <= '9'; });
        });
        if (isCounted) addName(constant, names);
    }
}

} // namespace

std::string scopedName(const Graph& graph, const Operator& op)
{
    std::vector<std::string> names;
    if (!op.name.empty()) addNames(op.name, names);
    else if (!op.results.empty() && op.results.front().valid()) addNames(graph.value(op.results.front()).displayName(), names);
    return names.empty() ? std::string() : std::string(behindCalls(names.front()));
}

std::string kindAcrossDialects(const Kind& kind)
{
    std::string plain;
    for (const char c : kind.name)
        if (c != '_') plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    if (kind.dialect == "custom") return "custom." + plain;
    static const std::unordered_map<std::string_view, std::string_view> same = {{"addv2", "add"},
                                                                                {"biasadd", "add"},
                                                                                {"realdiv", "div"},
                                                                                {"sigmoid", "logistic"},
                                                                                {"concatv2", "concatenation"},
                                                                                {"avgpool", "averagepool2d"},
                                                                                {"maxpool", "maxpool2d"},
                                                                                {"depthwiseconv2dnative", "depthwiseconv2d"},
                                                                                {"conv2dbackpropinput", "transposeconv"},
                                                                                {"fullyconnected", "matmul"},
                                                                                {"batchmatmul", "matmul"},
                                                                                {"batchmatmulv2", "matmul"},
                                                                                {"batchmatmulv3", "matmul"},
                                                                                {"einsum", "matmul"},
                                                                                {"selectv2", "select"},
                                                                                {"gatherv2", "gather"},
                                                                                {"max", "reducemax"},
                                                                                {"min", "reducemin"},
                                                                                {"prod", "reduceprod"},
                                                                                {"statelesswhile", "while"},
                                                                                {"statelessif", "if"},
                                                                                {"padv2", "pad"},
                                                                                {"reversev2", "reverse"},
                                                                                {"topkv2", "topk"},
                                                                                {"spacetobatchnd", "spacetobatch"},
                                                                                {"batchtospacend", "batchtospace"},
                                                                                {"fakequantwithminmaxargs", "fakequant"},
                                                                                {"fakequantwithminmaxvars", "fakequant"},
                                                                                {"statefulpartitionedcall", "call"},
                                                                                {"partitionedcall", "call"}};
    const auto found = same.find(plain);
    return found == same.end() ? plain : std::string(found->second);
}

GraphSide::GraphSide(const Model& model_, const Graph& graph_) : model(model_), graph(graph_)
{
    for (const Operator& op : graph.operators) {
        kinds.push_back(kindAcrossDialects(op.kind));
        isConstant.push_back(op.kind.dialect == "tf" && op.kind.name == "Const" ? 1 : 0);
        isPassing.push_back(std::ranges::find(kPassing, kinds.back()) != kPassing.end() && !op.inputs.empty() ? 1 : 0);
        std::vector<std::string>& own = names.emplace_back();
        if (!op.name.empty()) addNames(op.name, own);
        else
            for (const ValueId result : op.results)
                if (result.valid()) addNames(graph.value(result).displayName(), own);
        if (op.name.empty()) addCountedNames(graph, op, own);
    }
    if (model.dialect == Dialect::tf) foldConstants();
    link();
    sort();
    number();
}

void GraphSide::foldConstants()
{
    const auto isKnown = [&](ValueId input) {
        if (!input.valid()) return false;
        const Value& value = graph.value(input);
        if (value.role == ValueRole::constant) return true;
        return value.role == ValueRole::result && isConstant[static_cast<size_t>(value.producer.index)] != 0;
    };
    constexpr int kRounds = 8; // files need not be in order
    bool isDone = false;
    for (int round = 0; round < kRounds && !isDone; ++round) {
        isDone = true;
        for (size_t k = 0; k < size(); ++k) {
            const Operator& own = graph.operators[k];
            if (isConstant[k] != 0 || own.inputs.empty() || !own.controlInputs.empty() || !std::ranges::all_of(own.inputs, isKnown))
                continue;
            isConstant[k] = 1;
            isPassing[k] = 0;
            isDone = false;
        }
    }
}

int GraphSide::producerOf(ValueId value) const
{
    for (int depth = 0; depth < 64 && value.valid(); ++depth) {
        const Value& at = graph.value(value);
        if (at.role != ValueRole::result) return -1;
        const int op_ = at.producer.index;
        if (isPassing[static_cast<size_t>(op_)] == 0) return isConstant[static_cast<size_t>(op_)] != 0 ? -1 : op_;
        value = passedOn(op(op_), at.slot);
    }
    return -1;
}

void GraphSide::link()
{
    producers.resize(size());
    readers.resize(size());
    for (size_t k = 0; k < size(); ++k) {
        const Operator& own = graph.operators[k];
        for (size_t i = 0; i < own.inputs.size(); ++i) {
            const int from = producerOf(own.inputs[i]);
            producers[k].push_back({from, static_cast<int>(i)});
            if (from >= 0) readers[static_cast<size_t>(from)].push_back({static_cast<int>(k), static_cast<int>(i)});
        }
    }
}

void GraphSide::sort()
{
    std::vector<int> missing(size(), 0), ready;
    for (size_t k = 0; k < size(); ++k) {
        for (const Edge& edge : producers[k]) missing[k] += edge.op >= 0 ? 1 : 0;
        if (missing[k] == 0) ready.push_back(static_cast<int>(k));
    }
    for (size_t at = 0; at < ready.size(); ++at)
        for (const Edge& edge : readers[static_cast<size_t>(ready[at])])
            if (--missing[static_cast<size_t>(edge.op)] == 0) ready.push_back(edge.op);
    for (size_t k = 0; k < size(); ++k)
        if (missing[k] > 0) ready.push_back(static_cast<int>(k)); // cycles of TensorFlow 1
    order = std::move(ready);
}

uint64_t GraphSide::attributeHash(const Operator& of) const
{
    uint64_t hash = 1;
    for (const NamedAttribute& attribute : of.attributes) {
        if (attribute.key.starts_with('@') || attribute.key.starts_with('_') || attribute.value.as<GraphRef>() != nullptr) continue;
        hash = mix(hash, mix(hashOf(attribute.key), hashOf(attributeText(attribute.value, model, &graph))));
    }
    return hash;
}

uint64_t GraphSide::constantHash(ValueId id) const
{
    for (int depth = 0; depth < 64 && id.valid(); ++depth) {
        const Value& value = graph.value(id);
        if (value.role == ValueRole::constant) {
            if (!value.constant || !value.constant->hasBytes()) return 2;
            const auto bytes = value.constant->bytes();
            return hash64({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, 3);
        }
        if (value.role != ValueRole::result) return 0;
        const auto k = static_cast<size_t>(value.producer.index);
        if (isConstant[k] != 0) {
            const Attribute* const attribute = findAttribute(graph.operators[k].attributes, "value");
            const auto* const tensor = attribute != nullptr ? attribute->as<TensorAttribute>() : nullptr;
            if (tensor == nullptr || !tensor->data || !tensor->data->hasBytes()) return 2;
            const auto bytes = tensor->data->bytes();
            return hash64({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, 3);
        }
        if (isPassing[k] == 0) return 0;
        id = passedOn(graph.operators[k], value.slot);
    }
    return 0;
}

void GraphSide::number()
{
    std::vector<uint64_t> inputs(graph.values.size(), 0); // of the graph's inputs, by position
    for (size_t i = 0; i < graph.inputs.size(); ++i) inputs[static_cast<size_t>(graph.inputs[i].index)] = 100 + i;
    for (size_t k = 0; k < size(); ++k) {
        kind.push_back(hashOf(kinds[k]));
        const Operator& own = graph.operators[k];
        uint64_t hash = mix(kind[k], attributeHash(own));
        for (const ValueId input : own.inputs) {
            const uint64_t given = input.valid() ? inputs[static_cast<size_t>(input.index)] : 7;
            hash = mix(hash, mix(constantHash(input), given));
        }
        content.push_back(hash);
    }
    above = below = content;
    for (const int k : order) {
        uint64_t& hash = above[static_cast<size_t>(k)];
        for (const Edge& edge : producers[static_cast<size_t>(k)]) hash = mix(hash, edge.op < 0 ? 11 : above[static_cast<size_t>(edge.op)]);
    }
    std::vector<uint64_t> outputs(size(), 0);
    for (size_t i = 0; i < graph.outputs.size(); ++i)
        if (const int from = producerOf(graph.outputs[i].value); from >= 0) outputs[static_cast<size_t>(from)] += mix(200 + i, 5);
    for (size_t at = order.size(); at-- > 0;) {
        const auto k = static_cast<size_t>(order[at]);
        uint64_t sum = outputs[k];
        for (const Edge& edge : readers[k]) sum += mix(below[static_cast<size_t>(edge.op)], static_cast<uint64_t>(edge.slot) + 13);
        below[k] = mix(below[k], sum);
    }
}

std::vector<uint64_t> GraphSide::spread(const std::vector<uint64_t>& colours) const
{
    std::vector<uint64_t> wider = colours;
    for (size_t k = 0; k < size(); ++k) {
        for (const Edge& edge : producers[k]) wider[k] = mix(wider[k], edge.op < 0 ? 17 : colours[static_cast<size_t>(edge.op)]);
        uint64_t sum = 0;
        for (const Edge& edge : readers[k]) sum += mix(colours[static_cast<size_t>(edge.op)], static_cast<uint64_t>(edge.slot) + 19);
        wider[k] = mix(wider[k], sum);
    }
    return wider;
}

} // namespace loopscope
