// The layers are a text in an attribute. Each has a group with a list of its weights: those that training changes first, then the others,
// in one list also of a model that is a layer. Which part of a layer a weight belongs to follows from its place in the list.
#include "converters/keras/whole_file.h"

#include "converters/keras/keras2.h"
#include "converters/keras/model_import.h"
#include "converters/keras/weight_names.h"
#include "engine/base/memory_budget.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace loopscope::keras {

namespace {

constexpr int kDeepest = 64;
/// A value takes this much for each byte of its text, and a little more.
constexpr uint64_t kJsonGrowth = 40;

struct Weight {
    std::string name, path; ///< "dense/kernel:0", and where its dataset lies
};
using Weights = std::span<const Weight>;

std::string nameOf(const Json& layer) { return layer["name"].text(layer["config"]["name"].text(layer["class_name"].text())); }

/// Links the weights of layers to where a .keras archive has them.
class Placement {
public:
    explicit Placement(Hdf5File& file) : m_file(file) {}

    /// Errors: badFile.
    Status layer(const Json& layer, const std::string& path, Weights weights, int depth)
    {
        if (depth > kDeepest) return Error(ErrorCode::badFile, "layers are nested deeper than " + std::to_string(kDeepest));
        const Json& config = layer["config"];
        const std::string kind = layer["class_name"].text();
        if (isModel(layer)) return model(layer, path, weights, depth);
        if (kind == "TimeDistributed") return this->layer(config["layer"], path + "/layer", weights, depth + 1);
        if (kind == "Bidirectional") {
            const Json& backward = config["backward_layer"].isObject() ? config["backward_layer"] : config["layer"];
            LS_CHECK_OK(this->layer(config["layer"], path + "/forward_layer", weights.first(weights.size() / 2), depth + 1));
            return this->layer(backward, path + "/backward_layer", weights.subspan(weights.size() / 2), depth + 1);
        }
        if (kind == "SpectralNormalization" && !weights.empty()) { // its own comes last
            give(path, weights.last(1));
            return this->layer(config["layer"], path + "/layer", weights.first(weights.size() - 1), depth + 1);
        }
        if (kind == "MultiHeadAttention" || kind == "GroupQueryAttention") {
            const size_t each = config["use_bias"].truth(true) ? 2 : 1;
            for (const char* part : {"query_dense", "key_dense", "value_dense", "output_dense"})
                give(path + "/" + part, take(weights, each));
            return {};
        }
        if (kind == "RNN" && config["cell"]["class_name"].text() == "StackedRNNCells") {
            WeightNames names(path + "/cell");
            for (const Json& cell : config["cell"]["config"]["cells"].items()) {
                std::string group = names.next(cell);
                group.replace(path.size() + 6, 6, "cells"); // …/cell/cells/lstm_cell
                give(group, take(weights, cell["config"]["use_bias"].truth(true) ? 3 : 2));
            }
            return {};
        }
        const bool hasCell = kind == "LSTM" || kind == "GRU" || kind == "SimpleRNN" || kind == "RNN" || kind.starts_with("ConvLSTM");
        give(hasCell ? path + "/cell" : path, weights);
        return {};
    }

private:
    static Weights take(Weights& weights, size_t count)
    {
        count = std::min(count, weights.size());
        const Weights taken = weights.first(count);
        weights = weights.subspan(count);
        return taken;
    }

    void give(const std::string& path, Weights weights)
    {
        for (size_t i = 0; i < weights.size(); ++i) m_file.link(path + "/vars/" + std::to_string(i), weights[i].path);
    }

    /// A weight's name says which of the model's layers it belongs to.
    Status model(const Json& model, const std::string& path, Weights weights, int depth)
    {
        const Json::Array& layers = model["config"]["layers"].items();
        std::vector<std::vector<Weight>> parts(layers.size());
        std::map<std::string, size_t, std::less<>> owners;
        for (size_t i = 0; i < layers.size(); ++i) owners.emplace(nameOf(layers[i]), i);
        for (size_t i = 0; i < layers.size(); ++i) addNames(layers[i], i, owners, depth); // Keras 2 names only the innermost layer
        for (const Weight& weight : weights) {
            std::vector<Weight>* owner = nullptr;
            std::string_view rest = weight.name;
            if (const std::string own = nameOf(model) + "/"; rest.starts_with(own)) rest.remove_prefix(own.size());
            for (size_t at = 0; !owner && at != std::string_view::npos;) {
                // Names of layers may have slashes themselves.
                for (size_t end = rest.find('/', at); !owner && end != std::string_view::npos; end = rest.find('/', end + 1))
                    if (const auto found = owners.find(rest.substr(at, end - at)); found != owners.end()) owner = &parts[found->second];
                at = rest.find('/', at);
                if (at != std::string_view::npos) ++at;
            }
            if (!owner)
                return Error(ErrorCode::badFile, "weight '" + weight.name + "' belongs to no layer of model '" + nameOf(model) + "'");
            owner->push_back(weight);
        }
        WeightNames names(path);
        for (size_t i = 0; i < layers.size(); ++i) {
            if (model["class_name"].text() == "Sequential" && layers[i]["class_name"].text() == "InputLayer") continue;
            const std::string at = names.next(layers[i]);
            LS_CHECK_OK(this->layer(layers[i], at, parts[i], depth + 1));
        }
        return {};
    }

    static void addNames(const Json& layer, size_t owner, std::map<std::string, size_t, std::less<>>& owners, int depth)
    {
        if (depth > kDeepest || !isModel(layer)) return;
        for (const Json& inner : layer["config"]["layers"].items()) {
            owners.emplace(nameOf(inner), owner);
            addNames(inner, owner, owners, depth + 1);
        }
    }

    Hdf5File& m_file;
};

/// The texts of an attribute, which comes in pieces where it is long: "weight_names0", ….
std::vector<std::string> textsOf(const Hdf5File::Node& node, const std::string& name)
{
    if (const auto whole = node.texts.find(name); whole != node.texts.end()) return whole->second;
    std::vector<std::string> texts;
    for (int i = 0;; ++i) {
        const auto piece = node.texts.find(name + std::to_string(i));
        if (piece == node.texts.end()) return texts;
        texts.insert(texts.end(), piece->second.begin(), piece->second.end());
    }
}

/// Sequential models of the oldest files are lists.
Json withLayers(Json model)
{
    if (model["class_name"].text() != "Sequential" || !model["config"].isArray()) return model;
    Json config = Json::object();
    config.append("name", "sequential");
    config.append("layers", model["config"]);
    model.set("config", std::move(config));
    return model;
}

/// Files of Keras 3 do not say where the class of a layer comes from. Layers say whether they are trained, operations do not.
Json withOperations(const Json& model, int depth)
{
    Json to = model, config = model["config"], layers = Json::array();
    for (const Json& layer : config["layers"].items()) {
        Json one = isModel(layer) && depth < kDeepest ? withOperations(layer, depth + 1) : layer;
        const bool isOperation = !layer.has("module") && !layer["config"].has("trainable") && layer["class_name"].text() != "InputLayer" &&
                                 findRule("ops." + layer["class_name"].text()) != nullptr;
        if (isOperation) one.set("module", "keras.src.ops.numpy");
        layers.push(std::move(one));
    }
    if (!isModel(model)) return to;
    config.set("layers", std::move(layers));
    to.set("config", std::move(config));
    return to;
}

Status placeWeights(const Json& model, Hdf5File& file)
{
    Placement placement(file);
    WeightNames names("");
    for (const Json& layer : model["config"]["layers"].items()) {
        if (model["class_name"].text() == "Sequential" && layer["class_name"].text() == "InputLayer") continue;
        const std::string path = names.next(layer), group = "model_weights/" + nameOf(layer);
        const Hdf5File::Node* const node = file.find(group);
        std::vector<Weight> weights;
        if (node)
            for (const std::string& name : textsOf(*node, "weight_names")) {
                weights.push_back({name, group});
                weights.back().path.append("/").append(name);
            }
        if (!weights.empty()) LS_CHECK_OK(placement.layer(layer, path, weights, 0));
    }
    return {};
}

} // namespace

Result<WholeFile> readWholeFile(Bytes content)
{
    LS_TRY(Hdf5File file, Hdf5File::open(std::move(content)));
    const Hdf5File::Node& root = *file.find("");
    const std::vector<std::string> config = textsOf(root, "model_config"), versions = textsOf(root, "keras_version");
    if (config.size() != 1)
        return Error(ErrorCode::badFile, "no model: the file has no attribute 'model_config'")
            .note("weights alone do not say what computes them");
    LS_CHECK_OK(checkMemory(config.front().size() * kJsonGrowth, "model_config"));
    Result<Json> parsed = Json::parsePython(config.front());
    if (!parsed.ok()) return Error(ErrorCode::badFile, parsed.error().message()).at("model_config");
    const std::string version = versions.empty() ? "2" : versions.front();
    Json model = withLayers(std::move(parsed).value());
    if (version.starts_with("2")) model = fromKeras2(model);
    else if (version.starts_with("3.")) model = withOperations(model, 0);
    else return Error(ErrorCode::unsupported, "saved by another Keras").found("version " + version).expected("2 or 3");
    LS_CHECK_OK(placeWeights(model, file));
    return WholeFile{std::move(model), std::move(file)};
}

} // namespace loopscope::keras
