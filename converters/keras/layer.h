// One call of one layer: what its rule reads, and where it leaves its results. The rules are in layers_*.cpp, a table each.
#pragma once

#include "converters/keras/graph_builder.h"
#include "converters/keras/hdf5.h"
#include "engine/base/json.h"
#include "engine/base/result.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::keras {

/// What all graphs of an import share.
struct ImportState {
    Model model;
    std::optional<Hdf5File> weights;          ///< none: the archive has no weights
    std::map<std::string, GraphId> functions; ///< of nested models, by their weights' place
};

/// What a layer is called with: a tensor, or a value of Python.
struct Argument {
    ValueId value; ///< invalid: `literal`
    const Json* literal = nullptr;
};

struct LayerCall {
    ImportState& state;
    GraphBuilder& b;
    const Json& layer; ///< class_name, module, config, build_config
    const Json& config;
    std::string name;                                                 ///< of the layer
    std::string path;                                                 ///< of its weights
    std::vector<Argument> arguments;                                  ///< by place, lists opened
    std::vector<std::pair<std::string, std::vector<Argument>>> named; ///< by name
    std::vector<ValueId> outputs;
    bool isWhole = false;       ///< it stands for the whole model, and has all weights
    DType compute = DType::f32; ///< in which it computes
    int call = 0;               ///< of a layer that is called several times: which one

    /// The k-th tensor; fails where there is none.
    ValueId in(size_t k = 0);
    std::vector<ValueId> tensors() const; ///< by place
    std::vector<ValueId> namedTensors(std::string_view key) const;
    /// Which steps of the first tensor count; invalid: all. Fails where nobody knows.
    ValueId mask();
    const Json& literal(size_t k, std::string_view key) const; ///< a value of Python by place or name; null if there is none
    /// The k-th variable of the layer, or of a part of it ("cell"), in the dtype it computes in.
    ValueId weight(int64_t k, std::string_view called, std::string_view part = {});
    /// The same elements in another shape.
    ValueId weightAs(const Shape& shape, int64_t k, std::string_view called, std::string_view part);
    /// The variable as it is stored, for what is computed of it at once. None, and a failure, if it cannot be had.
    std::optional<TensorAttribute> stored(int64_t k, std::string_view part = {});

    /// The layer has no graph, and this is why.
    void refuse(std::string why);
    /// Of the config: a number for each of `rank` axes, from one number or a list.
    std::vector<int64_t> perAxis(std::string_view key, int rank, int64_t otherwise = 1) const;
    /// "channels_first" is refused.
    bool channelsLast();
};

using LayerRule = void (*)(LayerCall&);
struct NamedRule {
    std::string_view name;
    LayerRule rule;
};

std::span<const NamedRule> coreLayers();
std::span<const NamedRule> convolutionLayers();
std::span<const NamedRule> poolingLayers();
std::span<const NamedRule> imageLayers();
std::span<const NamedRule> normalizationLayers();
std::span<const NamedRule> mergingLayers();
std::span<const NamedRule> recurrentLayers();
std::span<const NamedRule> attentionLayers();
std::span<const NamedRule> activationLayers();
std::span<const NamedRule> wrapperLayers();
std::span<const NamedRule> operations();      ///< of keras.ops: element by element, over axes
std::span<const NamedRule> arrayOperations(); ///< of keras.ops: which elements, and where
std::span<const NamedRule> orderOperations(); ///< of keras.ops: norms, orders, triangles, encodings
/// "float32"; unknown if it is none that Keras has.
DType dtypeOfText(std::string_view name);
/// Null if the class has none. Names of operations begin with "ops.".
LayerRule findRule(std::string_view name);
/// Whether the class is one of Keras, not the user's.
bool isKerasOwn(const Json& layer);
/// "Dense"; "ops.Relu" of an operation; "own Dense" of a class of the user's.
std::string ruleName(const Json& layer);

/// x * kernel over the axes between the first and the last, one to three; 1 for strides or dilations of nothing.
ValueId convolve(LayerCall& l, ValueId x, ValueId kernel, const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations,
                 bool same);
/// How long an axis is: a scalar i32.
ValueId extentOf(LayerCall& l, ValueId x, int axis);

/// A function of keras.activations by what a config says: a name, null, or an object with a name. Fails where there is none such.
ValueId activate(LayerCall& l, const Json& activation, ValueId x);

/// Calls the layer that another one wraps. Its weights lie in `part` of the wrapper's.
std::vector<ValueId> callInner(LayerCall& l, const Json& inner, const std::string& part, std::vector<ValueId> inputs,
                               std::vector<std::pair<std::string, std::vector<Argument>>> named = {});

} // namespace loopscope::keras
