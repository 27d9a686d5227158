#include "converters/partial_model.h"

#include "converters/circle/circle.h"
#include "converters/graphdef/graphdef.h"
#include "converters/lsir/lsir.h"
#include "converters/savedmodel/savedmodel.h"
#include "converters/tflite/tflite.h"
#include "engine/ir/verifier.h"

#include <algorithm>
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

namespace {

/// A model, and the format that it is in.
struct Part {
    Model model;
    std::string format;
};

/// `path`: of the file in a SavedModel's folder.
Result<Part> readPart(const std::string& path, const Bytes& content, std::vector<Error>& faults)
{
    const auto as = [](Result<Model> model, const char* format) -> Result<Part> {
        if (!model.ok()) return std::move(model).takeError();
        return Part{std::move(model).value(), format};
    };
    if (looksLikeCircle(content.view())) return as(importCirclePart(path, content, faults), "Circle");
    if (looksLikeTflite(content.view())) return as(importTflitePart(path, content, faults), "TFLite");
    if (looksLikeSavedModel(content.view())) return as(importGraphDefPart(content.view(), faults), "SavedModel");
    if (looksLikeGraphDef(content.view()) || looksLikeMetaGraph(content.view()))
        return as(importGraphDefPart(content.view(), faults), "GraphDef");
    if (looksLikeLsir(content.view())) return as(importLsirPart(path, content, faults), "lsir");
    return Error(ErrorCode::unsupported, "only TFLite, Circle, binary GraphDef and .lsir files can be read in parts").at(path);
}

} // namespace

Result<PartialModel> loadWhatCanBeRead(const std::string& path)
{
    const bool isFolder = isSavedModelFolder(path);
    const std::string file = isFolder ? savedModelFile(path) : path;
    LS_TRY(const Bytes content, mapFile(file));
    PartialModel part;
    LS_TRY(Part read, readPart(file, content, part.faults));
    if (isFolder && part.faults.empty()) // what is wrong is in another file of the folder
        if (Result<Model> whole = importSavedModel(path); !whole.ok()) part.faults.push_back(std::move(whole).takeError());
    if (Status status = mendRules(read.model, part.faults); !status.ok()) return std::move(status).takeError().at(path);
    if (read.model.graphs.empty()) return Error(ErrorCode::badFile, "no subgraph can be read").at(path);
    const bool isFlat = read.format == "TFLite" || read.format == "Circle";
    if (!isFlat && std::ranges::all_of(read.model.graphs, [](const Graph& graph) { return graph.operators.empty(); }))
        return Error(ErrorCode::badFile, "no operator can be read").at(path);
    if (part.faults.empty()) return Error(ErrorCode::badFile, "the file is whole").at(path);
    part.file = {.model = std::move(read.model), .path = path, .formatName = read.format, .content = content, .derivedFrom = {}};
    return part;
}

} // namespace loopscope
