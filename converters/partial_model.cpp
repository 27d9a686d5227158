#include "converters/partial_model.h"

#include "converters/circle/circle.h"
#include "converters/tflite/tflite.h"
#include "engine/ir/verifier.h"

#include <utility>

namespace loopscope {

namespace {

/// Takes away what breaks the model's rules, the least telling first, until they hold.
Status mendRules(Model& model, std::vector<Error>& faults)
{
    const auto dropQuantization = [&model] {
        for (Graph& graph : model.graphs)
            for (Value& value : graph.values) value.type.quantization = {};
    };
    const auto dropAttributes = [&model] {
        for (Graph& graph : model.graphs)
            for (Operator& op : graph.operators) op.attributes.clear();
    };
    for (int step = 0;; ++step) {
        Status status = verifyModel(model);
        if (status.ok() || step == 2) return status;
        faults.push_back(std::move(status).takeError());
        if (step == 0) dropQuantization();
        else dropAttributes();
    }
}

} // namespace

Result<PartialModel> loadWhatCanBeRead(const std::string& path)
{
    LS_TRY(const Bytes content, mapFile(path));
    const bool isCircle = looksLikeCircle(content.view());
    if (!isCircle && !looksLikeTflite(content.view()))
        return Error(ErrorCode::unsupported, "only TFLite and Circle files can be read in parts").at(path);
    PartialModel part;
    LS_TRY(Model model, isCircle ? importCirclePart(path, content, part.faults) : importTflitePart(path, content, part.faults));
    if (Status status = mendRules(model, part.faults); !status.ok()) return std::move(status).takeError().at(path);
    if (model.graphs.empty()) return Error(ErrorCode::badFile, "no subgraph can be read").at(path);
    if (part.faults.empty()) return Error(ErrorCode::badFile, "the file is whole").at(path);
    part.file = {
        .model = std::move(model), .path = path, .formatName = isCircle ? "Circle" : "TFLite", .content = content, .derivedFrom = {}};
    return part;
}

} // namespace loopscope
