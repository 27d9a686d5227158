// Attention: scores of queries and keys, by softmax the weights of the values.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace loopscope::keras {

namespace {

constexpr double kNever = -1e9; ///< added to scores that must not count, or in their place
constexpr int64_t kLongestMask = 8192;

bool isCausal(const LayerCall& l) { return l.literal(99, "use_causal_mask").truth(); }

/// Of query i and key j, [from, to]: `near` where j ≤ i (if it is causal) and |i − j| < window (0: any distance), else `far`.
ValueId band(LayerCall& l, int64_t from, int64_t to, int64_t window, double near, double far)
{
    if (from < 0 || to < 0 || from > kLongestMask || to > kLongestMask || from * to > kLongestMask * 1024) {
        l.refuse("its causal mask has no fixed size");
        return {};
    }
    const bool causal = isCausal(l);
    std::vector<double> values;
    for (int64_t i = 0; i < from; ++i)
        for (int64_t j = 0; j < to; ++j) values.push_back((causal && j > i) || (window > 0 && std::abs(i - j) >= window) ? far : near);
    return l.b.numbers(values, Shape{from, to}, l.compute);
}

/// Which steps of a tensor count, [B, T]: what the call says, else what came with the tensor. None: all.
std::optional<ValueId> stepsOf(LayerCall& l, ValueId tensor, std::string_view key)
{
    if (const std::vector<ValueId> given = l.namedTensors(key); !given.empty()) return l.b.cast(given.front(), DType::boolean);
    const std::optional<ValueId> mask = l.b.maskOf(tensor);
    if (mask && !mask->valid()) l.refuse("a mask reaches it through layers that may change it");
    return mask;
}

void restrict(LayerCall& l, std::optional<ValueId>& mask, ValueId more) { mask = mask ? l.b.op("LogicalAnd", {*mask, more}) : more; }

/// x·W + b, of [B, T, D] by heads: [B, N, T, H].
ValueId projected(LayerCall& l, ValueId x, const std::string& part, int64_t heads, int64_t size)
{
    ValueId y = l.b.op("BatchMatMulV2", {x, l.weightAs(Shape{l.b.dim(x, 2), heads * size}, 0, "kernel", part)});
    if (l.config["use_bias"].truth(true)) y = l.b.add(y, l.weightAs(Shape{heads * size}, 1, "bias", part));
    return l.b.transpose(l.b.reshape(y, {l.b.same(y, 0), l.b.same(y, 1), {heads, {}, 0}, {size, {}, 0}}), {0, 2, 1, 3});
}

struct Heads {
    int64_t queries = 1, keys = 1; ///< as many heads of keys and values, each for several of queries
    int64_t depth = 1, width = 1;  ///< of a head of queries and keys, of values
    int64_t window = 0;            ///< how near a key has to be; 0: anywhere
    std::string part = {};         ///< what the names of its weights begin with
};

/// [B, N, S, H] → [B, N·times, S, H], every head as often.
ValueId repeated(LayerCall& l, ValueId heads, int64_t times)
{
    if (times == 1) return heads;
    const ValueId tiled = l.b.op("Tile", {l.b.expand(heads, 2), l.b.ints({1, 1, times, 1, 1})});
    return l.b.reshape(tiled, {l.b.same(heads, 0), {l.b.dim(heads, 1) * times, {}, 0}, l.b.same(heads, 2), l.b.same(heads, 3)});
}

/// Weights of the values, [B, N, T, S]. Where the layer hands them out, rows without anything that counts are zeros, else they are even.
ValueId weightsOf(LayerCall& l, ValueId scores, const std::vector<ValueId>& given, int64_t window)
{
    std::optional<ValueId> mask;
    if (const auto steps = stepsOf(l, given[0], "query_mask")) restrict(l, mask, l.b.expand(*steps, -1));
    if (const auto steps = stepsOf(l, given[1], "value_mask")) restrict(l, mask, l.b.expand(*steps, -2));
    if (given.size() > 2)
        if (const auto steps = stepsOf(l, given[2], "key_mask")) restrict(l, mask, l.b.expand(*steps, -2));
    if (const std::vector<ValueId> whole = l.namedTensors("attention_mask"); !whole.empty())
        restrict(l, mask, l.b.cast(whole.front(), DType::boolean));
    const int64_t from = l.b.dim(given[0], 1), to = l.b.dim(given.back(), 1);
    if (!mask && window == 0) return l.b.op("Softmax", {isCausal(l) ? l.b.add(scores, band(l, from, to, 0, 0, kNever)) : scores});
    if (isCausal(l) || window > 0) restrict(l, mask, l.b.cast(band(l, from, to, window, 1, 0), DType::boolean));
    const int missing = 4 - l.b.rank(*mask); // what there is only one of: heads, behind the batch
    for (int k = 0; k < missing && l.b.rank(*mask) > 2; ++k) mask = l.b.expand(*mask, -3);
    const ValueId weights = l.b.op("Softmax", {l.b.op("SelectV2", {*mask, scores, l.b.number(kNever, scores)})});
    if (l.config["dropout"].number() <= 0 && !l.literal(99, "return_attention_scores").truth()) return weights;
    return l.b.op("SelectV2", {*mask, weights, l.b.number(0, weights)});
}

void attendByHeads(LayerCall& l, const Heads& heads)
{
    std::vector<ValueId> given = l.tensors();
    for (const char* key : {"query", "value", "key"})
        for (const ValueId v : l.namedTensors(key)) given.push_back(v);
    if (given.size() < 2 || given.size() > 3) return l.refuse("it is called with " + std::to_string(given.size()) + " tensors");
    for (const ValueId v : given)
        if (l.b.rank(v) != 3) return l.refuse("its inputs do not have rank 3");
    const ValueId query = given[0], value = given[1], key = given.size() > 2 ? given[2] : value;
    const ValueId q = l.b.mul(projected(l, query, heads.part + "query_dense", heads.queries, heads.depth),
                              l.b.number(1 / std::sqrt(static_cast<double>(heads.depth)), query));
    const int64_t times = heads.queries / heads.keys;
    const ValueId k = repeated(l, projected(l, key, heads.part + "key_dense", heads.keys, heads.depth), times);
    const ValueId v = repeated(l, projected(l, value, heads.part + "value_dense", heads.keys, heads.width), times);
    const ValueId weights = weightsOf(l, l.b.op("BatchMatMulV2", {q, k}, {{"adj_y", true}}), given, heads.window);
    ValueId y = l.b.op("BatchMatMulV2", {weights, v});
    if (l.config["use_gate"].truth()) y = l.b.mul(y, l.b.op("Sigmoid", {projected(l, query, "_gate_dense", heads.queries, heads.width)}));
    y = l.b.transpose(y, {0, 2, 1, 3});
    y = l.b.reshape(y, {l.b.same(y, 0), l.b.same(y, 1), {heads.queries * heads.width, {}, 0}});
    const std::optional<TensorAttribute> last = l.stored(0, heads.part + "output_dense");
    if (!last) return;
    if (last->type.shape.rank() != 3) return l.refuse("its output has several axes");
    y = l.b.op("BatchMatMulV2",
               {y, l.weightAs(Shape{heads.queries * heads.width, last->type.shape[2]}, 0, "kernel", heads.part + "output_dense")});
    if (l.config["use_bias"].truth(true)) y = l.b.add(y, l.weight(1, "bias", heads.part + "output_dense"));
    l.outputs = {y};
    if (l.literal(99, "return_attention_scores").truth()) l.outputs.push_back(weights);
}

int64_t sizeOf(const LayerCall& l, std::string_view name, int64_t otherwise)
{
    return std::clamp<int64_t>(l.config[name].integer(otherwise), 1, 1 << 20);
}
int64_t windowOf(const LayerCall& l) { return std::clamp<int64_t>(l.config["sliding_window"].integer(), 0, INT32_MAX); }

void multiHeadAttention(LayerCall& l)
{
    if (l.config["attention_axes"].items().size() > 1) return l.refuse("it attends along several axes");
    const int64_t heads = sizeOf(l, "num_heads", 1), depth = sizeOf(l, "key_dim", 1);
    const std::vector<ValueId> given = l.tensors();
    const std::optional<ValueId> mask = given.empty() ? std::nullopt : l.b.maskOf(given.front());
    attendByHeads(l, {heads, heads, depth, sizeOf(l, "value_dim", depth), windowOf(l)});
    if (l.b.failed() || l.outputs.empty()) return;
    // Keras takes the masks off what this layer is called with: whoever reads it later sees none, and `x + attention(x)` has none.
    for (const ValueId v : given) l.b.forgetMask(v);
    if (mask) l.b.setMask(l.outputs.front(), *mask);
}

/// Several heads of queries share one of keys and values.
void groupedQueryAttention(LayerCall& l)
{
    const int64_t queries = sizeOf(l, "num_query_heads", 1), keys = sizeOf(l, "num_key_value_heads", 1), depth = sizeOf(l, "head_dim", 1);
    if (queries % keys != 0) return l.refuse("its heads of queries are no multiple of those of keys");
    attendByHeads(l, {queries, keys, depth, depth, windowOf(l), "_"});
}

void finish(LayerCall& l, ValueId scores, ValueId value, ValueId query, ValueId key)
{
    if (!l.namedTensors("mask").empty()) return l.refuse("it is called with a mask");
    const ValueId never = l.b.number(l.compute == DType::f16 ? -65504 : kNever, scores);
    if (const auto steps = stepsOf(l, value, "value_mask"))
        scores = l.b.op("SelectV2", {l.b.expand(*steps, -2), scores, l.b.add(scores, never)});
    if (isCausal(l)) scores = l.b.add(scores, band(l, l.b.dim(query, 1), l.b.dim(key, 1), 0, 0, kNever));
    const ValueId weights = l.b.op("Softmax", {scores});
    l.outputs = {l.b.op("BatchMatMulV2", {weights, value})};
    if (const auto steps = stepsOf(l, query, "query_mask"))
        l.outputs.front() = l.b.op("SelectV2", {l.b.expand(*steps, -1), l.outputs.front(), l.b.number(0, l.outputs.front())});
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
    NamedRule{"MultiHeadAttention", multiHeadAttention},       NamedRule{"GroupQueryAttention", groupedQueryAttention},
    NamedRule{"GroupedQueryAttention", groupedQueryAttention}, NamedRule{"Attention", attention},
    NamedRule{"AdditiveAttention", additiveAttention},
};

} // namespace

std::span<const NamedRule> attentionLayers() { return kAttentionLayers; }

} // namespace loopscope::keras
