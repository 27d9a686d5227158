#include "app/replay/recorded_model.h"

#include "converters/lsir/lsir.h"

namespace loopscope::app {

namespace {

std::string header(const std::string& format)
{
    if (format == "tflite") return "lsir 1\nmodel tfl\n";
    return format == "circle" ? "lsir 1\nmodel circle\n" : "lsir 1\nmodel tf\n"; // "pb", "pbtxt", "meta", "saved_model"
}

} // namespace

Result<Model> recordedModel(const RecordedRun& run)
{
    // A recording of a text may be of any dialect: the first that reads is it.
    std::vector<std::string> formats = {run.modelFormat()};
    if (run.modelFormat() == "lsir" || run.modelFormat().empty()) formats = {"tflite", "pb", "circle"};
    std::optional<Error> first;
    for (const std::string& format : formats) {
        std::string text = header(format);
        for (const RecordedGraph& graph : run.graphs()) text += "\n" + graph.listing;
        Result<Model> model = modelFromText(text, "model of the recording");
        if (!model.ok()) {
            if (!first) first = std::move(model).takeError();
            continue;
        }
        if (model->graphs.size() != run.graphs().size())
            return Error(ErrorCode::badFile, "the listings do not agree with the graphs")
                .found(std::to_string(model->graphs.size()) + " graphs")
                .expected(std::to_string(run.graphs().size()));
        for (size_t g = 0; g < model->graphs.size(); ++g) {
            if (model->graphs[g].operators.size() != run.graphs()[g].operators)
                return Error(ErrorCode::badFile, "the listing of graph " + model->graphs[g].id + " does not agree with its operators");
            for (Value& value : model->graphs[g].values) {
                if (value.role != ValueRole::constant || !value.constant || value.constant->hasBytes()) continue;
                const uint64_t size = value.constant->size();
                LS_TRY(std::optional<RecordedValue> bytes, run.constant(static_cast<int>(g), value.id));
                if (bytes && bytes->hasElements && bytes->bytes.size() == size)
                    value.constant = std::make_shared<const Constant>(Bytes::copyOf(bytes->bytes.data(), bytes->bytes.size()));
            }
        }
        return model;
    }
    return std::move(*first);
}

} // namespace loopscope::app
