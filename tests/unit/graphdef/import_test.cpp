// Nodes, attributes and versions of a GraphDef in the IR, and back.
#include "converters/formats.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"
#include "tests/unit/graphdef/small_graph.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>

namespace loopscope {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

const std::string kEverything = R"(
    node { name: 'x' op: 'Placeholder' device: '/device:CPU:0'
           attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 3 } } } } }
    node { name: 'w' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 0.5 } } } }
    node { name: 'late' op: 'Neg' input: 'sum' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'sum' op: 'AddV2' input: 'x' input: 'w' input: '^w' attr { key: 'T' value { type: DT_FLOAT } }
           experimental_debug_info { original_node_names: 'a' } experimental_type { type_id: TFT_PRODUCT } }
    node { name: 'top' op: 'TopKV2' input: 'sum' input: 'k' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
           attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
    node { name: 'odd' op: 'NoSuchOp' input: 'top:1'
           attr { key: 's' value { s: '\377\000x' } } attr { key: 'f' value { f: 0.1 } } attr { key: 'b' value { b: true } }
           attr { key: 'l' value { list { i: 1 i: -2 } } } attr { key: 'e' value { list { } } } attr { key: 'n' value { } }
           attr { key: 'u' value { shape { unknown_rank: true } } } attr { key: 'p' value { placeholder: 'T' } }
           attr { key: 'mixed' value { list { i: 1 s: 'a' } } } attr { key: 'ref' value { type: DT_FLOAT_REF } }
           attr { key: 'dim' value { shape { dim { size: 2 name: 'rows' } } } }
           attr { key: 'fn' value { func { name: 'Missing' attr { key: 'T' value { type: DT_INT8 } } } } }
           attr { key: 'r' value { tensor { dtype: DT_RESOURCE tensor_shape { } resource_handle_val { name: 'r' } } } } }
    node { name: 'use' op: 'Other' input: 'odd:2' }
    versions { producer: 27 min_consumer: 12 bad_consumers: 3 } version: 7
    debug_info { files: 'a.py' }
)";

TEST(GraphDef, comes_back_as_it_was)
{
    auto message = messageOf<tfpb::GraphDef>(kEverything);
    message.mutable_node(0)->GetReflection()->MutableUnknownFields(message.mutable_node(0))->AddVarint(900, 5);
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(901, "later");
    auto* attribute = &(*message.mutable_node(2)->mutable_attr())["T"];
    attribute->GetReflection()->MutableUnknownFields(attribute)->AddVarint(902, 1);
    auto model = importMessage(message);
    ASSERT_TRUE(model.ok()) << model.error().message();
    ASSERT_TRUE(verifyModel(*model).ok());
    const tfpb::GraphDef again = exported(*model);
    EXPECT_TRUE(MessageDifferencer::Equals(message, again)) << again.DebugString();

    const std::string text = printModel(*model);
    const auto parsed = parseModel(text, "printed");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_TRUE(sameModel(*model, *parsed)) << firstDifference(*model, *parsed);
    EXPECT_TRUE(MessageDifferencer::Equals(message, exported(*parsed)));
}

TEST(GraphDef, prints_as_the_text_form_says)
{
    const std::string text = printModel(modelOf(kEverything));
    for (const char* line : {
             "model tf @debug=hex\"0a04612e7079\" bad_consumers=[3] min_consumer=12 producer=27 version=7\n",
             "  x = Placeholder() @device=\"/device:CPU:0\" dtype=f32 shape=shape[?,3] : f32[?,3]\n",
             "  w = Const() dtype=f32 value=f32[3] splat 0.5 : f32[3]\n",
             "  late = Neg(sum) T=f32 : f32\n",
             "  sum = AddV2(x, w, ^w) @debug=hex\"0a0161\" @fulltype=hex\"0803\" T=f32 : f32\n",
             "  top = TopKV2(sum, k) T=f32 : (f32, i32)\n",
             "  odd = NoSuchOp(top:1) b=true dim=hex\"",
             " e=[] f=0.1 fn={function: \"Missing\", attributes: {T: i8}} l=[1, -2] mixed=hex\"",
             " n=unset p=$T r=hex\"",
             " s=\"\\xff\\x00x\" u=shape[*] : (?, ?, ?)\n",
             "  use = Other(odd:2)\n",
         })
        EXPECT_THAT(text, HasSubstr(line));
}

TEST(GraphDef, states_shapes_only_where_the_file_does)
{
    const std::string text = printModel(modelOf(R"(
        node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { } } } }
        node { name: 'b' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } }
               attr { key: '_output_shapes' value { list { shape { dim { size: 5 } } } } } }
        node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: 2 } } } } }
        node { name: 'm' op: 'Merge' input: 'a' input: 'b' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'N' value { i: 2 } } }
        versions { producer: 23 })"));
    EXPECT_THAT(text, HasSubstr("a = Placeholder() dtype=f32 shape=shape[] : f32\n")) << "writers before 24 put [] for unknown";
    EXPECT_THAT(text, HasSubstr("T=f32 _output_shapes=[shape[5]] : f32[5]\n"));
    EXPECT_THAT(text, HasSubstr("shape=shape[2] : resource<f32[2]>[]\n"));
    EXPECT_THAT(text, HasSubstr("m = Merge(a, b) N=2 T=f32 : (f32, i32[])\n"));
}

TEST(GraphDef, text_form_reads_and_writes)
{
    const auto message = messageOf<tfpb::GraphDef>(kEverything);
    const auto model = importGraphDefText("m.pbtxt", bytesOf(message.DebugString()));
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto text = exportGraphDefText(*model);
    ASSERT_TRUE(text.ok()) << text.error().message();
    EXPECT_TRUE(MessageDifferencer::Equals(message, messageOf<tfpb::GraphDef>(*text)));
}

TEST(GraphDef, text_form_has_no_names_for_unknown_fields)
{
    auto message = messageOf<tfpb::GraphDef>("node { name: 'x' op: 'NoOp' }");
    message.mutable_node(0)->GetReflection()->MutableUnknownFields(message.mutable_node(0))->AddVarint(900, 5);
    const auto model = importMessage(message);
    ASSERT_TRUE(model.ok());
    const auto text = exportGraphDefText(*model);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code(), ErrorCode::unsupported);
}

TEST(GraphDef, is_known_by_its_content)
{
    const auto bytes = [](const std::string& s) { return std::as_bytes(std::span(s)); };
    const std::string graph = messageOf<tfpb::GraphDef>(kEverything).SerializeAsString();
    tfpb::MetaGraphDef meta;
    meta.mutable_meta_info_def()->add_tags("serve");
    *meta.mutable_graph_def() = messageOf<tfpb::GraphDef>(kEverything);
    const std::string metaBytes = meta.SerializeAsString();
    tfpb::SavedModel saved;
    saved.set_saved_model_schema_version(1);
    *saved.add_meta_graphs() = meta;
    const std::string savedBytes = saved.SerializeAsString();
    EXPECT_TRUE(looksLikeGraphDef(bytes(graph)));
    EXPECT_TRUE(looksLikeGraphDef(bytes(graph.substr(0, graph.size() / 2)))) << "cut off, still one";
    EXPECT_FALSE(looksLikeMetaGraph(bytes(graph)));
    EXPECT_TRUE(looksLikeMetaGraph(bytes(metaBytes)));
    EXPECT_FALSE(looksLikeGraphDef(bytes(metaBytes)));
    EXPECT_TRUE(looksLikeSavedModel(bytes(savedBytes)));
    EXPECT_FALSE(looksLikeGraphDef(bytes(savedBytes)));
    EXPECT_FALSE(looksLikeGraphDef(bytes("\n")));
    EXPECT_FALSE(looksLikeGraphDef(bytes("hello, this is text\n")));
    EXPECT_FALSE(looksLikeGraphDef(bytes("")));
    EXPECT_TRUE(looksLikeGraphDefText(bytes("# a comment\nnode {\n}")));
    EXPECT_TRUE(looksLikeGraphDefText(bytes("versions { producer: 1 }")));
    EXPECT_FALSE(looksLikeGraphDefText(bytes("versions add=2\ngraph main {\n}"))) << "this is .lsir";
    EXPECT_TRUE(looksLikeSavedModel(bytes("saved_model_schema_version: 1")));
}

TEST(MetaGraph, keeps_signatures_tags_and_the_rest)
{
    const std::string text = R"(
        meta_info_def { tags: 'serve' tensorflow_version: '2.21' }
        graph_def { node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
                    node { name: 'y' op: 'Split' input: 'x' input: 'x' attr { key: 'num_split' value { i: 2 } }
                           attr { key: 'T' value { type: DT_FLOAT } } } }
        saver_def { restore_op_name: 'save/restore_all' version: V2 }
        collection_def { key: 'variables' value { bytes_list { value: 'abc' } } }
        signature_def { key: 'b' value { inputs { key: 'in' value { name: 'x:0' dtype: DT_FLOAT } }
                                         outputs { key: 'out' value { name: 'y:1' } } method_name: 'm' } }
        signature_def { key: 'a' value { outputs { key: 'op' value { name: 'y' } } } }
        asset_file_def { filename: 'vocab.txt' })";
    const auto message = messageOf<tfpb::MetaGraphDef>(text);
    const auto model = importMessage(message);
    ASSERT_TRUE(model.ok()) << model.error().message();
    const std::string printed = printModel(*model);
    EXPECT_THAT(printed, HasSubstr("model tf tags=[\"serve\"]\nsignature \"a\" @main() -> (\"op\"=y)\n"
                                   "signature \"b\" @main(\"in\"=x) -> (\"out\"=y:1)\nmetadata \"meta_graph\" "));
    const auto written = exportMetaGraph(*model);
    ASSERT_TRUE(written.ok()) << written.error().message();
    tfpb::MetaGraphDef again;
    ASSERT_TRUE(again.ParseFromString(*written));
    EXPECT_TRUE(MessageDifferencer::Equals(message, again)) << again.DebugString();
    const auto plain = exportGraphDef(*model);
    ASSERT_FALSE(plain.ok());
    EXPECT_EQ(plain.error().message(),
              "cannot convert to GraphDef: no place there for signature \"a\", signature \"b\", metadata \"meta_graph\"");
}

TEST(MetaGraph, is_written_from_a_text_with_signatures)
{
    const auto model = parseModel("lsir 1\nmodel tf tags=[\"serve\"]\nsignature \"s\" @main(\"in\"=x) -> (\"out\"=y)\n\n"
                                  "graph main {\n  x = Placeholder() dtype=f32 shape=shape[2] : f32[2]\n  y = Neg(x) T=f32 : f32[2]\n}\n",
                                  "t.lsir");
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto written = exportMetaGraph(*model);
    ASSERT_TRUE(written.ok()) << written.error().message();
    const auto again = importGraphDef("m.meta", bytesOf(*written));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->signatures, model->signatures);
}

TEST(GraphDefExport, names_what_it_cannot_say)
{
    const auto tfl = parseModel("lsir 1\nmodel tfl schema=3\n\ngraph main(x: f32[1]) {\n  return x\n}\n", "t.lsir");
    ASSERT_TRUE(tfl.ok()) << tfl.error().message();
    const auto written = exportGraphDef(*tfl);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code(), ErrorCode::unsupported);
    EXPECT_EQ(written.error().message(), "cannot convert to GraphDef: it holds TensorFlow's operators, found dialect tfl");
}

} // namespace
} // namespace loopscope
