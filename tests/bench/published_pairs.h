// Pairs of models that were published together, and what a reader of both says belongs to what. Names are taken away before they are held
// against each other, so that the graphs alone decide.
#pragma once

#include "app/commands/diff_models.h"
#include "converters/formats.h"
#include "engine/debug/graph_diff/graph_diff.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::testing_pairs {

/// The last two scopes of a name: "conv2d_1/Conv2D".
inline std::string ownName(const std::string& name)
{
    const std::string whole = name.substr(0, name.find(';'));
    const size_t last = whole.rfind('/'), before = last == std::string::npos || last == 0 ? std::string::npos : whole.rfind('/', last - 1);
    return before == std::string::npos ? whole : whole.substr(before + 1);
}

struct PublishedPair {
    std::string name, here, there;
    std::vector<std::vector<std::string>> groups; ///< operators of the first that are one operator of the second, in its order
};

/// The keyword spotting of MLPerf Tiny: a SavedModel of Keras, and the file that its authors converted.
inline PublishedPair keywordSpotting()
{
    PublishedPair pair{"keyword spotting, MLPerf Tiny",
                       "fusion/saved_model/real_mlcommons_kws/model",
                       "tflite-real/mlcommons-tiny/kws_ref_model_float32/model.tflite",
                       {}};
    for (int k = 0; k < 9; ++k) {
        const auto numbered = [](const std::string& name, int number) { return name + (number == 0 ? "" : "_" + std::to_string(number)); };
        const bool isDepthwise = k % 2 == 1;
        const std::string layer = isDepthwise ? numbered("depthwise_conv2d", k / 2) : numbered("conv2d", k / 2);
        pair.groups.push_back({layer + (isDepthwise ? "/depthwise" : "/Conv2D"), layer + "/BiasAdd",
                               numbered("batch_normalization", k) + "/FusedBatchNormV3", numbered("activation", k) + "/Relu"});
    }
    pair.groups.push_back({"average_pooling2d/AvgPool"});
    pair.groups.push_back({"flatten/Reshape"});
    pair.groups.push_back({"dense/MatMul", "dense/BiasAdd"});
    pair.groups.push_back({"dense/Softmax"});
    return pair;
}

/// How many operators of the first are in the right group, and of how many; nothing: the files are not there.
inline std::optional<std::pair<int64_t, int64_t>> score(const PublishedPair& pair, const std::filesystem::path& corpus)
{
    if (!std::filesystem::exists(corpus / pair.here) || !std::filesystem::exists(corpus / pair.there)) return std::nullopt;
    Result<LoadedModel> here = loadModel((corpus / pair.here).string()), there = loadModel((corpus / pair.there).string());
    if (!here.ok() || !there.ok() || !app::openForDiff(here->model, there->model).ok()) return std::pair<int64_t, int64_t>(0, 1);
    std::map<std::string, size_t> wanted;
    for (size_t k = 0; k < pair.groups.size(); ++k)
        for (const std::string& name : pair.groups[k]) wanted[name] = k;
    Graph& graph = here->model.graphs[0];
    std::map<int, size_t> groupOf;
    for (size_t k = 0; k < graph.operators.size(); ++k) {
        const auto found = wanted.find(ownName(graph.operators[k].name));
        if (found != wanted.end()) groupOf[static_cast<int>(k)] = found->second;
        graph.operators[k].name = "n" + std::to_string(k);
    }
    for (Value& value : there->model.graphs[0].values) value.name = "v" + value.id;
    const GraphDiff diff = diffGraphs(here->model, GraphId(0), there->model, GraphId(0));
    int64_t right = 0;
    for (const MatchedGroup& group : diff.groups)
        for (const OperatorId op : group.here) {
            const auto label = groupOf.find(op.index);
            if (label != groupOf.end() && group.there.size() == 1 && group.there[0].index == static_cast<int>(label->second)) ++right;
        }
    return std::pair(right, static_cast<int64_t>(wanted.size()));
}

} // namespace loopscope::testing_pairs
