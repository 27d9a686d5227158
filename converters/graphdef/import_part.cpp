// What is left of a GraphDef, MetaGraphDef or SavedModel message that is cut off or damaged: its fields one by one, then its nodes without
// what does not fit.
#include "converters/graphdef/graphdef.h"
#include "converters/graphdef/import_meta_graph.h"
#include "converters/graphdef/import_state.h"
#include "converters/graphdef/messages.h"

#include "graph.pb.h"
#include "meta_graph.pb.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <map>
#include <set>

namespace loopscope::graphdef {

namespace {

constexpr size_t kMostFaults = 100;       ///< that are told
constexpr int kMostMends = 200;           ///< nodes that are taken apart, each of which costs a reading
constexpr const char* kLostKind = "Lost"; ///< of nodes that others read and that are gone

std::string hexText(size_t number)
{
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (; number > 0 || text.empty(); number >>= 4) text.insert(text.begin(), kDigits[number & 15]);
    return "0x" + text;
}

/// Goes through messages field by field; a field that holds graphs is entered even where it is cut off.
class PartReader {
public:
    PartReader(std::string_view file, std::vector<Error>& faults) : m_file(file), m_faults(faults) {}

    void savedModel(std::string_view bytes, tfpb::MetaGraphDef& meta)
    {
        bool isFound = false; // the first graph is the one that is looked at
        eachField(bytes, [&](const WireField& field, std::string_view) {
            if (field.number == 2 && !isFound) metaGraph(field.payload, meta);
            isFound = isFound || field.number == 2;
        });
    }
    void metaGraph(std::string_view bytes, tfpb::MetaGraphDef& meta)
    {
        eachField(bytes, [&](const WireField& field, std::string_view whole) {
            if (field.number == 2) graph(field.payload, *meta.mutable_graph_def());
            else take(meta, whole);
        });
    }
    void graph(std::string_view bytes, tfpb::GraphDef& graph)
    {
        eachField(bytes, [&](const WireField& field, std::string_view whole) {
            if (field.number != 2) return take(graph, whole);
            eachField(field.payload, [&](const WireField&, std::string_view inner) { take(*graph.mutable_library(), inner); });
        });
    }

private:
    size_t placeOf(std::string_view bytes) const { return static_cast<size_t>(bytes.data() - m_file.data()); }

    template <typename Use> void eachField(std::string_view bytes, Use use)
    {
        WireReader reader(bytes);
        while (!reader.atEnd()) {
            const size_t begin = reader.offset();
            if (const std::optional<WireField> field = reader.next()) {
                use(*field, bytes.substr(begin, reader.offset() - begin));
                continue;
            }
            tell("cut off or damaged", placeOf(bytes) + begin);
            if (const std::optional<WireField> rest = openField(bytes.substr(begin))) use(*rest, {});
            return;
        }
    }

    /// A field whose length is beyond the end: what there is of it.
    static std::optional<WireField> openField(std::string_view bytes)
    {
        size_t at = 0;
        const auto varint = [&]() -> std::optional<uint64_t> {
            uint64_t value = 0;
            for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
                const auto byte = static_cast<unsigned char>(bytes[at++]);
                value |= static_cast<uint64_t>(byte & 0x7F) << shift;
                if ((byte & 0x80) == 0) return value;
            }
            return std::nullopt;
        };
        const std::optional<uint64_t> tag = varint();
        if (!tag || (*tag & 7) != 2 || *tag < 8 || *tag > UINT32_MAX || !varint()) return std::nullopt;
        return WireField{static_cast<uint32_t>(*tag >> 3), 2, bytes.substr(at)};
    }

    /// One field, with its tag, is added to the message; empty: it was cut off.
    template <typename Message> void take(Message& message, std::string_view field)
    {
        if (field.empty()) return;
        Message one;
        if (one.ParseFromArray(field.data(), static_cast<int>(std::min<size_t>(field.size(), INT32_MAX)))) message.MergeFrom(one);
        else tell("cannot be read", placeOf(field));
    }

    void tell(const std::string& what, size_t place)
    {
        if (m_faults.size() < kMostFaults) m_faults.push_back(Error(ErrorCode::badFile, what).at("at " + hexText(place)));
    }

    std::string_view m_file;
    std::vector<Error>& m_faults;
};

/// Names and operators that a node must have; nodes that others read and that are gone stand there as what they were called.
void completeNodes(tfpb::GraphDef& graph, std::vector<Error>& faults)
{
    const auto tell = [&](const std::string& node, const std::string& what) {
        if (faults.size() < kMostFaults) faults.push_back(Error(ErrorCode::badFile, what).at("node '" + node + "'"));
    };
    std::set<std::string> names;
    for (int i = 0; i < graph.node_size(); ++i) {
        tfpb::NodeDef& node = *graph.mutable_node(i);
        std::string name = node.name();
        std::ranges::replace(name, ':', '_');
        if (name.empty() || name.front() == '^') name.insert(0, "node_" + std::to_string(i));
        for (int n = 1; !names.insert(name).second; ++n) name = node.name() + "_" + std::to_string(n);
        if (name != node.name()) tell(name, "its name '" + node.name() + "' is none, or not unique");
        node.set_name(name);
        if (!node.op().empty()) continue;
        tell(name, "has no operator");
        node.set_op(kLostKind);
    }
    std::set<std::string> lost;
    for (tfpb::NodeDef& node : *graph.mutable_node())
        for (std::string& input : *node.mutable_input()) {
            const bool isControl = input.starts_with('^');
            const std::string bare = isControl ? input.substr(1) : input; // not kept as a view: `input` is another string's owner
            const auto name = parseTensorName(bare);
            const std::string source = name ? std::string(name->node) : std::string();
            if (names.contains(source) || lost.contains(source)) continue;
            if (source.empty() || source.front() == '^') {
                tell(node.name(), "input '" + input + "' is no name");
                input = isControl ? "^unreadable" : "unreadable";
                lost.insert("unreadable");
                continue;
            }
            tell(node.name(), "input node '" + source + "' is lost");
            lost.insert(source);
        }
    for (const std::string& name : lost) {
        tfpb::NodeDef& node = *graph.add_node();
        node.set_name(name);
        node.set_op(kLostKind);
    }
}

/// Takes apart what an error names: a node loses its operands, then its attributes, then it becomes what is lost; of a function and a
/// signature nothing is left. False: it names neither.
bool takeApart(tfpb::GraphDef& graph, tfpb::MetaGraphDef& meta, const std::string& message, std::map<std::string, int>& stages)
{
    const auto names = [&](const char* what, const std::string& name, const char* quote) {
        return message.find(std::string(what) + quote + name + quote) != std::string::npos;
    };
    auto& functions = *graph.mutable_library()->mutable_function();
    for (int f = 0; f < functions.size(); ++f)
        if (names("function ", functions.Get(f).signature().name(), "'") || names("name ", functions.Get(f).signature().name(), "'")) {
            functions.DeleteSubrange(f, 1);
            return true;
        }
    for (const auto& [key, signature] : meta.signature_def())
        if (names("signature ", key, "\"")) {
            meta.mutable_signature_def()->erase(std::string(key));
            return true;
        }
    for (tfpb::NodeDef& node : *graph.mutable_node()) {
        if (!names("node ", node.name(), "'")) continue;
        switch (stages[node.name()]++) {
        case 0: node.clear_input(); return true;
        case 1: node.clear_attr(); return true;
        case 2: node.set_op(kLostKind); return true;
        default: break;
        }
    }
    return false;
}

} // namespace

Result<Model> partOf(std::string_view bytes, PartOf kind, std::vector<Error>& faults)
{
    tfpb::MetaGraphDef meta;
    PartReader reader(bytes, faults);
    if (kind == PartOf::savedModel) reader.savedModel(bytes, meta);
    else if (kind == PartOf::metaGraph) reader.metaGraph(bytes, meta);
    else reader.graph(bytes, *meta.mutable_graph_def());
    completeNodes(*meta.mutable_graph_def(), faults);
    std::map<std::string, int> stages;
    for (int mend = 0;; ++mend) {
        tfpb::MetaGraphDef copy = meta; // reading takes strings and tensors out
        Result<Model> model = kind == PartOf::graphDef ? modelOf(*copy.mutable_graph_def(), bytes.size()) : modelOf(copy, bytes.size());
        if (model.ok()) return model;
        const std::string message = model.error().message();
        if (faults.size() < kMostFaults) faults.push_back(model.error().copy());
        if (mend == kMostMends || !takeApart(*meta.mutable_graph_def(), meta, message, stages)) return model;
    }
}

} // namespace loopscope::graphdef

namespace loopscope {

Result<Model> importGraphDefPart(std::span<const std::byte> content, std::vector<Error>& faults)
{
    using graphdef::PartOf;
    const PartOf kind = looksLikeSavedModel(content)  ? PartOf::savedModel
                        : looksLikeMetaGraph(content) ? PartOf::metaGraph
                                                      : PartOf::graphDef;
    return graphdef::partOf({reinterpret_cast<const char*>(content.data()), content.size()}, kind, faults);
}

} // namespace loopscope
