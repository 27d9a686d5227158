// Opens every TensorFlow graph of a folder (`.pb`, `.pbtxt`, `.meta`; the MetaGraphs of SavedModels too) and checks that the message that
// is exported, binary and text, equals the one that was imported, and that the model's text reads back to it. Two messages are equal if
// they differ only in what has no meaning: the encoding of tensors, ":0", empty submessages, the order of maps.
// Usage: graphdef_identity [FOLDER…]; without one, $LOOPSCOPE_CORPUS or ../shared/corpus. Exit codes: 0, 1 (failures, each named on
// stdout), 77 (no corpus).
#include "converters/graphdef/convert_values.h"
#include "converters/graphdef/graphdef.h"
#include "converters/graphdef/messages.h"
#include "engine/base/bytes.h"
#include "engine/ir/model.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"
#include "graph.pb.h"
#include "meta_graph.pb.h"
#include "tests/conformance/corpus_walk.h"

#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <string>
#include <vector>

namespace loopscope {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// All elements as bytes, so that two encodings of one tensor are equal.
void normalizeTensor(tfpb::TensorProto& tensor)
{
    graphdef::ValueReader reader(nullptr);
    tfpb::TensorProto copy = tensor;
    auto read = reader.tensor(copy);
    if (!read.ok() || !*read) return;
    const auto bytes = (*read)->data->bytes().view();
    tfpb::TensorProto plain;
    plain.set_dtype(tensor.dtype());
    *plain.mutable_tensor_shape() = tensor.tensor_shape();
    plain.set_tensor_content(bytes.data(), bytes.size());
    tensor = plain;
}

void normalizeInputs(tfpb::NodeDef& node)
{
    for (std::string& input : *node.mutable_input())
        if (input.ends_with(":0") && std::ranges::count(input, ':') == 1) input.resize(input.size() - 2);
}

void normalize(Message& message)
{
    if (auto* tensor = dynamic_cast<tfpb::TensorProto*>(&message)) return normalizeTensor(*tensor);
    if (auto* node = dynamic_cast<tfpb::NodeDef*>(&message)) normalizeInputs(*node);
    if (auto* function = dynamic_cast<tfpb::FunctionDef*>(&message))
        for (auto it = function->mutable_arg_attr()->begin(); it != function->mutable_arg_attr()->end();)
            it = it->second.attr().empty() ? function->mutable_arg_attr()->erase(it) : std::next(it);
    if (auto* graph = dynamic_cast<tfpb::GraphDef*>(&message); graph && graph->library().ByteSizeLong() == 0) graph->clear_library();
    const auto* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
        if (!field->is_repeated()) {
            normalize(*reflection->MutableMessage(&message, field));
            continue;
        }
        for (int i = 0; i < reflection->FieldSize(message, field); ++i) normalize(*reflection->MutableRepeatedMessage(&message, field, i));
    }
}

/// What differs between two messages, in one line; empty if nothing.
template <typename M> std::string difference(M a, M b)
{
    normalize(a);
    normalize(b);
    if (graphdef::bytesOf(a) == graphdef::bytesOf(b)) return {};
    google::protobuf::util::MessageDifferencer differencer;
    std::string report;
    differencer.ReportDifferencesToString(&report);
    differencer.set_float_comparison(google::protobuf::util::MessageDifferencer::EXACT);
    differencer.Compare(a, b);
    return report.empty() ? "bytes" : report.substr(0, std::min<size_t>(report.find('\n'), 300));
}

template <typename M> std::string checkMessage(const std::string& path, const M& original, const Model& model)
{
    if (Status status = verifyModel(model); !status.ok()) return std::move(status).takeError().message();
    const bool isMeta = std::is_same_v<M, tfpb::MetaGraphDef>;
    const auto written = isMeta ? exportMetaGraph(model) : exportGraphDef(model);
    if (!written.ok()) return "export: " + written.error().message();
    M again;
    if (!again.ParseFromString(*written)) return "what was exported does not parse";
    if (std::string d = difference(original, again); !d.empty()) return "differs after export: " + d;
    if (!isMeta) {
        const auto text = exportGraphDefText(model);
        if (!text.ok()) return "text: " + text.error().message();
        const auto second = importGraphDefText(path, Bytes::copyOf(text->data(), text->size()));
        if (!second.ok()) return "text: " + second.error().message();
        if (!sameModel(model, *second)) return "differs after .pbtxt: " + firstDifference(model, *second);
    }
    const std::string text = printModel(model);
    const auto parsed = parseModel(text, "printed");
    if (!parsed.ok()) return parsed.error().message();
    if (!sameModel(model, *parsed)) return "differs after printing: " + firstDifference(model, *parsed);
    if (printModel(*parsed) != text) return "printing again changes the text";
    return {};
}

/// What is wrong with one file; empty if nothing is.
std::string check(const std::string& path)
{
    auto bytes = mapFile(path);
    if (!bytes.ok()) return bytes.error().message();
    if (looksLikeSavedModel(bytes->view())) {
        tfpb::SavedModel saved;
        if (Status status = graphdef::parseBinary(saved, bytes->view()); !status.ok()) return std::move(status).takeError().message();
        for (const tfpb::MetaGraphDef& meta : saved.meta_graphs()) {
            const std::string content = graphdef::bytesOf(meta);
            const auto model = importGraphDef(path, Bytes::copyOf(content.data(), content.size()));
            if (!model.ok()) return model.error().message();
            if (std::string problem = checkMessage(path, meta, *model); !problem.empty()) return problem;
        }
        return {};
    }
    const bool isText = looksLikeGraphDefText(bytes->view());
    tfpb::GraphDef graph;
    const Status status = isText ? graphdef::parseText(graph, bytes->view()) : graphdef::parseBinary(graph, bytes->view());
    if (!status.ok()) return "does not parse";
    const auto model = isText ? importGraphDefText(path, *bytes) : importGraphDef(path, *bytes);
    return model.ok() ? checkMessage(path, graph, *model) : model.error().message();
}

bool isGraph(const std::filesystem::path& path)
{
    return (path.extension() == ".pb" || path.extension() == ".pbtxt") && path.filename() != "fingerprint.pb" &&
           path.filename() != "keras_metadata.pb";
}

} // namespace
} // namespace loopscope

int main(int argc, char** argv)
{
    return loopscope::testing::checkCorpus({argv + 1, argv + argc}, "graphs", loopscope::isGraph, loopscope::check);
}
