// Attention: scores of queries and keys, by softmax the weights of the values.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::keras {

namespace {

constexpr double kNever = -1e9; ///< added to scores that must not count
constexpr int64_t kLongestMask = 8192;

/// 0 on and below the diagonal, kNever above it: [from, to].
ValueId causalBias(LayerCall& l, int64_t from, int64_t to)
{
    if (from < 0 || to < 0 || from > kLongestMask || to > kLongestMask || from * to > kLongestMask * 1024) {
        l.refuse("its causal mask has no fixed size");
        return {};
    }
    std::vector<double> values;
    for (int64_t i = 0; i < from; ++i)
        for (int64_t j = 0; j < to; ++j) values.push_back(j > i ? kNever : 0);
    return l.b.numbers(values, Shape{from, to}, l.compute);
}

bool isCausal(const LayerCall& l) { return l.literal(99, "use_causal_mask").truth(); }

bool isMasked(LayerCall& l)
{
    for (const ValueId v : l.tensors())
        if (l.b.maskOf(v).has_value()) return true;
    for (const char* key : {"mask", "attention_mask", "query_mask", "value_mask", "key_mask"})
        if (!l.namedTensors(key).empty()) return true;
    return false;
}

/// x·W + b, of [B, T, D] by heads: [B, N, T, H].
ValueId projected(LayerCall& l, ValueId x, const std::string& part, int64_t heads, int64_t size)
{
    ValueId y = l.b.op("BatchMatMulV2", {x, l.weightAs(Shape{l.b.dim(x, 2), heads * size}, 0, "kernel", part)});
    if (l.config["use_bias"].truth(true)) y = l.b.add(y, l.weightAs(Shape{heads * size}, 1, "bias", part));
    return l.b.transpose(l.b.reshape(y, {l.b.same(y, 0), l.b.same(y, 1), {heads, {}, 0}, {size, {}, 0}}), {0, 2, 1, 3});
}

void multiHeadAttention(LayerCall& l)
{
    std::vector<ValueId> given = l.tensors();
    for (const char* key : {"query", "value", "key"})
        for (const ValueId v : l.namedTensors(key)) given.push_back(v);
    if (given.size() < 2 || given.size() > 3) return l.refuse("it is called with " + std::to_string(given.size()) + " tensors");
    if (isMasked(l)) return l.refuse("it is called with a mask");
    if (l.config["use_gate"].truth() || l.config.has("sliding_window")) return l.refuse("it has a gate or a sliding window");
    const Json::Array& axes = l.config["attention_axes"].items();
    for (const ValueId v : given)
        if (l.b.rank(v) != 3) return l.refuse("its inputs do not have rank 3");
    if (axes.size() > 1) return l.refuse("it attends along several axes");
    const ValueId query = given[0], value = given[1], key = given.size() > 2 ? given[2] : value;
    const auto sizeOf = [&](std::string_view name, int64_t otherwise) {
        return std::clamp<int64_t>(l.config[name].integer(otherwise), 1, 1 << 20);
    };
    const int64_t heads = sizeOf("num_heads", 1), depth = sizeOf("key_dim", 1), width = sizeOf("value_dim", depth);
    const ValueId q =
        l.b.mul(projected(l, query, "query_dense", heads, depth), l.b.number(1 / std::sqrt(static_cast<double>(depth)), query));
    const ValueId k = projected(l, key, "key_dense", heads, depth), v = projected(l, value, "value_dense", heads, width);
    ValueId scores = l.b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}});
    if (isCausal(l)) scores = l.b.add(scores, causalBias(l, l.b.dim(query, 1), l.b.dim(key, 1)));
    const ValueId weights = l.b.op("Softmax", {scores});
    ValueId y = l.b.transpose(l.b.op("BatchMatMulV2", {weights, v}), {0, 2, 1, 3});
    y = l.b.reshape(y, {l.b.same(y, 0), l.b.same(y, 1), {heads * width, {}, 0}});
    const std::optional<TensorAttribute> last = l.stored(0, "output_dense");
    if (!last) return;
    if (last->type.shape.rank() != 3) return l.refuse("its output has several axes");
    y = l.b.op("BatchMatMulV2", {y, l.weightAs(Shape{heads * width, last->type.shape[2]}, 0, "kernel", "output_dense")});
    if (l.config["use_bias"].truth(true)) y = l.b.add(y, l.weight(1, "bias", "output_dense"));
    l.outputs = {y};
    if (l.literal(99, "return_attention_scores").truth()) l.outputs.push_back(weights);
}

void finish(LayerCall& l, ValueId scores, ValueId value, ValueId query, ValueId key)
{
    if (isMasked(l)) return l.refuse("it is called with a mask");
    if (isCausal(l)) scores = l.b.add(scores, causalBias(l, l.b.dim(query, 1), l.b.dim(key, 1)));
    const ValueId weights = l.b.op("Softmax", {scores});
    l.outputs = {l.b.op("BatchMatMulV2", {weights, value})};
    if (l.literal(99, "return_attention_scores").truth()) l.outputs.push_back(weights);
}

void attention(LayerCall& l)
{
    const std::vector<ValueId> given = l.tensors();
    if (given.size() < 2) return l.refuse("it is called with " + std::to_string(given.size()) + " tensors");
    if (l.config["score_mode"].text("dot") != "dot") return l.refuse("its score_mode is " + l.config["score_mode"].text());
    const ValueId query = given[0], value = given[1], key = given.size() > 2 ? given[2] : value;
    ValueId scores = l.b.op("BatchMatMulV2", {query, key}, {{"adj_y", true}});
    if (l.config["use_scale"].truth()) scores = l.b.mul(scores, l.weight(0, "scale"));
    finish(l, scores, value, query, key);
}

/// Σ scale · tanh(q + k)
void additiveAttention(LayerCall& l)
{
    const std::vector<ValueId> given = l.tensors();
    if (given.size() < 2) return l.refuse("it is called with " + std::to_string(given.size()) + " tensors");
    const ValueId query = given[0], value = given[1], key = given.size() > 2 ? given[2] : value;
    ValueId sum = l.b.op("Tanh", {l.b.add(l.b.expand(query, -2), l.b.expand(key, -3))});
    if (l.config["use_scale"].truth(true)) sum = l.b.mul(sum, l.weight(0, "scale"));
    finish(l, l.b.reduce("Sum", sum, {-1}, false), value, query, key);
}

constexpr std::array kAttentionLayers = {
    NamedRule{"MultiHeadAttention", multiHeadAttention},
    NamedRule{"Attention", attention},
    NamedRule{"AdditiveAttention", additiveAttention},
};

} // namespace

std::span<const NamedRule> attentionLayers() { return kAttentionLayers; }

} // namespace loopscope::keras
