#include "app/wiring/model_file.h"

#include "converters/circle/circle.h"
#include "converters/graphdef/graphdef.h"
#include "engine/base/text.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/observe/address_resolution.h"

#include <filesystem>

namespace loopscope::app {

std::string fileNameOf(const std::string& path)
{
    std::filesystem::path p(path);
    if (!p.has_filename()) p = p.parent_path();
    return p.filename().string();
}

Result<RunTarget> targetOf(const LoadedModel& file, const std::string& signature)
{
    Result<RunTarget> target = selectTarget(file.model, signature);
    if (!target.ok() && target.error().code() == ErrorCode::badFile) return std::move(target).takeError().at(file.path);
    return target;
}

Result<GraphId> findGraph(const Model& model, const std::string& text)
{
    std::vector<std::string> ids;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        if (model.graphs[g].id == text || (!model.graphs[g].name.empty() && model.graphs[g].name == text))
            return GraphId(static_cast<int64_t>(g));
        ids.push_back(model.graphs[g].id);
    }
    if (text.find_first_of("/#@:") == std::string::npos)
        return Error(ErrorCode::usage, "no graph '" + text + "'").nearest(nearestNames(text, ids));
    LS_TRY(const Address address, parseAddress(text));
    LS_TRY(const ResolvedAddress place, resolveAddress(model, address));
    return place.graph;
}

Status comesBackIdentical(const LoadedModel& file)
{
    if (file.formatName == "TFLite") {
        LS_TRY(const std::vector<std::byte> written, exportTflite(file.model));
        LS_TRY(const Model again, importTflite(file.path, Bytes::copyOf(written)));
        if (const std::string difference = firstDifference(file.model, again); !difference.empty())
            return Error(ErrorCode::internal, "does not come back identical from .tflite: " + difference);
    } else if (file.formatName == "Circle") {
        LS_TRY(const std::vector<std::byte> written, exportCircle(file.model));
        LS_TRY(const Model again, importCircle(file.path, Bytes::copyOf(written)));
        if (const std::string difference = firstDifference(file.model, again); !difference.empty())
            return Error(ErrorCode::internal, "does not come back identical from .circle: " + difference);
    } else if (file.formatName == "GraphDef" || file.formatName == "GraphDef text" || file.formatName == "MetaGraph") {
        LS_TRY(const std::string written, file.formatName == "MetaGraph" ? exportMetaGraph(file.model) : exportGraphDef(file.model));
        LS_TRY(const Model again, importGraphDef(file.path, Bytes::copyOf(written.data(), written.size())));
        if (const std::string difference = firstDifference(file.model, again); !difference.empty())
            return Error(ErrorCode::internal, "does not come back identical from its message: " + difference);
    }
    const std::string text = printModel(file.model);
    LS_TRY(const Model again, parseModel(text, file.path));
    if (const std::string difference = firstDifference(file.model, again); !difference.empty())
        return Error(ErrorCode::internal, "does not come back identical from its text: " + difference);
    return {};
}

} // namespace loopscope::app
