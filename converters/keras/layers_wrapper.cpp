// Layers around another layer.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>

namespace loopscope::keras {

namespace {

/// Both directions of a recurrent layer; of their states the first half is the forward one's.
void bidirectional(LayerCall& l)
{
    const ValueId x = l.in();
    if (l.b.failed()) return;
    std::vector<ValueId> given = l.namedTensors("initial_state");
    const std::vector<ValueId> placed = l.tensors();
    if (given.empty()) given.assign(placed.begin() + 1, placed.end());
    const auto half = static_cast<ptrdiff_t>(given.size() / 2);
    const auto run = [&](const char* key, const char* part, std::vector<ValueId> states) {
        states.insert(states.begin(), x);
        return callInner(l, l.config[key], part, states);
    };
    const std::vector<ValueId> forward = run("layer", "forward_layer", {given.begin(), given.begin() + half});
    const std::vector<ValueId> backward = run("backward_layer", "backward_layer", {given.begin() + half, given.end()});
    if (l.b.failed() || forward.empty() || backward.empty()) return;
    const ValueId a = forward.front();
    ValueId b = backward.front();
    if (l.config["layer"]["config"]["return_sequences"].truth()) b = l.b.op("ReverseV2", {b, l.b.ints({1})});
    const std::string mode = l.config["merge_mode"].text("none");
    if (mode == "concat") l.outputs = {l.b.op("ConcatV2", {a, b, l.b.integer(l.b.rank(a) - 1)})};
    else if (mode == "sum") l.outputs = {l.b.add(a, b)};
    else if (mode == "mul") l.outputs = {l.b.mul(a, b)};
    else if (mode == "ave") l.outputs = {l.b.op("RealDiv", {l.b.add(a, b), l.b.number(2, a)})};
    else if (mode == "none") l.outputs = {a, b};
    else return l.refuse("its merge_mode is " + mode);
    l.outputs.insert(l.outputs.end(), forward.begin() + 1, forward.end());
    l.outputs.insert(l.outputs.end(), backward.begin() + 1, backward.end());
}

/// The steps become part of the batch: each is a call of its own for the layer inside.
void timeDistributed(LayerCall& l)
{
    const ValueId x = l.in();
    const int rank = l.b.rank(x);
    if (rank < 3) return l.refuse("its input has rank " + std::to_string(rank));
    const int64_t batch = l.b.dim(x, 0), steps = l.b.dim(x, 1);
    std::vector<Extent> flat = {{batch > 0 && steps > 0 ? batch * steps : -1, {}, 0}};
    for (int i = 2; i < rank; ++i) flat.push_back(l.b.same(x, i));
    const std::vector<ValueId> inner = callInner(l, l.config["layer"], "layer", {l.b.op("Reshape", {x, l.b.sizes(flat)})});
    if (l.b.failed() || inner.size() != 1) return;
    std::vector<Extent> apart = {l.b.same(x, 0), l.b.same(x, 1)};
    for (int i = 1; i < l.b.rank(inner.front()); ++i) apart.push_back(l.b.same(inner.front(), i));
    l.outputs = {l.b.reshape(inner.front(), apart)};
}

/// Training divides the layer's kernel by its largest singular value and stores that: there is nothing left to do.
void spectralNormalization(LayerCall& l) { l.outputs = callInner(l, l.config["layer"], "layer", {l.in()}); }

constexpr std::array kWrapperLayers = {
    NamedRule{"SpectralNormalization", spectralNormalization},
    NamedRule{"Bidirectional", bidirectional},
    NamedRule{"TimeDistributed", timeDistributed},
};

} // namespace

std::span<const NamedRule> wrapperLayers() { return kWrapperLayers; }

} // namespace loopscope::keras
