// SavedModel folders: variables by way of the restoring part of the graph, v1 and v2; assets; what is missing or outside.
#include "converters/formats.h"
#include "converters/savedmodel/savedmodel.h"
#include "engine/ir/text/printer.h"
#include "engine/ops/lost_values.h"
#include "tests/unit/graphdef/bundle_writer.h"
#include "tests/unit/graphdef/small_graph.h"

#include "object_graph.pb.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRestoreV1 = R"(
    node { name: 'w' op: 'VariableV2' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { size: 1 } } } } }
    node { name: 'file' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { } string_val: 'model' } } } }
    node { name: 'names' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'other' string_val: 'w_key' } } } }
    node { name: 'slices' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: '' } } } }
    node { name: 'restore' op: 'RestoreV2' input: 'file' input: 'names' input: 'slices'
           attr { key: 'dtypes' value { list { type: DT_INT32 type: DT_INT32 } } } }
    node { name: 'value' op: 'Identity' input: 'restore:1' attr { key: 'T' value { type: DT_INT32 } } }
    node { name: 'assign' op: 'Assign' input: 'w' input: 'value' attr { key: 'T' value { type: DT_INT32 } } })";

const std::string kRestoreV2 = R"(
    node { name: 'file' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } }
    node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { size: 1 } } } } }
    node { name: 'untouched' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { } } } }
    node { name: 'call' op: 'StatefulPartitionedCall' input: 'file' input: 'v' attr { key: 'f' value { func { name: 'restore' } } }
           attr { key: 'Tin' value { list { type: DT_STRING type: DT_RESOURCE } } } attr { key: 'Tout' value { list { } } } }
    library { function { signature { name: 'restore' input_arg { name: 'prefix' type: DT_STRING } input_arg { name: 'var' type: DT_RESOURCE } }
      node_def { name: 'names' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: 'w_key' } } } }
      node_def { name: 'slices' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
           attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: '' } } } }
      node_def { name: 'r' op: 'RestoreV2' input: 'prefix' input: 'names:output:0' input: 'slices:output:0'
           attr { key: 'dtypes' value { list { type: DT_INT32 } } } }
      node_def { name: 'i' op: 'Identity' input: 'r:tensors:0' attr { key: 'T' value { type: DT_INT32 } } }
      node_def { name: 'a' op: 'AssignVariableOp' input: 'var' input: 'i:output:0' attr { key: 'dtype' value { type: DT_INT32 } } } } })";

/// As Keras 3 saves: the signature's functions read variables that nothing restores; only the objects behind it tell their entries.
const std::string kBoundVariables = R"(
    node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { size: 1 } } } }
           attr { key: 'shared_name' value { s: 'kernel' } } }
    node { name: 'w' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { size: 1 } } } }
           attr { key: 'shared_name' value { s: 'kernel_1' } } }
    node { name: 'b' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { size: 1 } } } }
           attr { key: 'shared_name' value { s: 'bias' } } }
    node { name: 'call' op: 'StatefulPartitionedCall' input: 'v' input: 'w' attr { key: 'f' value { func { name: 'wrapper' } } }
           attr { key: 'Tin' value { list { type: DT_RESOURCE type: DT_RESOURCE } } } attr { key: 'Tout' value { list { } } } }
    library { function { signature { name: 'wrapper' input_arg { name: 'x' type: DT_RESOURCE } input_arg { name: 'y' type: DT_RESOURCE } } } })";

class SavedModelTest : public ::testing::Test {
protected:
    const std::string& folder() const { return m_folder.path(); }

    void write(const std::string& graph, const std::string& more = "")
    {
        const auto saved =
            messageOf<tfpb::SavedModel>("saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'train' } graph_def { } } "
                                        "meta_graphs { meta_info_def { tags: 'serve' } graph_def { " +
                                        graph + " } " + more + " }");
        BundleWriter::put(folder() + "/saved_model.pb", saved.SerializeAsString());
    }
    void writeVariables()
    {
        BundleWriter writer;
        writer.add("w_key", tfpb::DT_INT32, {1}, std::string("\x05\0\0\0", 4));
        writer.write(folder() + "/variables/variables");
    }
    std::string opened()
    {
        const auto model = loadModel(folder());
        return model.ok() ? printModel(model->model) : model.error().message();
    }

    ScratchFolder m_folder;
};

TEST_F(SavedModelTest, gives_v1_variables_their_values)
{
    write(kRestoreV1);
    writeVariables();
    EXPECT_THAT(opened(), HasSubstr("  w = VariableV2() @value=i32[1] [5] dtype=i32 shape=shape[1] : i32&[1]\n"));
}

TEST_F(SavedModelTest, gives_v2_variables_their_values)
{
    write(kRestoreV2);
    writeVariables();
    const std::string text = opened();
    EXPECT_THAT(text, HasSubstr("  v = VarHandleOp() @value=i32[1] [5] dtype=i32 shape=shape[1] : resource<i32[1]>[]\n"));
    EXPECT_THAT(text, HasSubstr("  untouched = VarHandleOp() dtype=i32 shape=shape[] : resource<i32[]>[]\n"));
}

TEST_F(SavedModelTest, gives_variables_the_values_of_the_objects_they_are_bound_to)
{
    // Both layers call their variable "kernel": only the function says which is which. The bias is found by its name.
    tfpb::MetaGraphObjects objects = messageOf<tfpb::MetaGraphObjects>(R"(
        object_graph_def { nodes { children { node_id: 1 local_name: 'a' } children { node_id: 2 local_name: 'b' } }
                           nodes { children { node_id: 3 local_name: 'kernel' } }
                           nodes { children { node_id: 4 local_name: 'kernel' } children { node_id: 5 local_name: 'bias' }
                                   children { node_id: 0 local_name: 'parent' } children { node_id: 77 local_name: 'kernel' } }
                           nodes { variable { name: 'kernel' } } nodes { variable { name: 'kernel' } } nodes { variable { name: 'bias' } }
                           concrete_functions { key: 'wrapper' value { bound_inputs: 4 bound_inputs: 3 } } })");
    // The checkpoint numbers its objects otherwise.
    const auto tracked = messageOf<tfpb::TrackableObjectGraph>(R"(
        nodes { children { node_id: 3 local_name: 'b' } children { node_id: 1 local_name: 'a' } }
        nodes { children { node_id: 2 local_name: 'kernel' } }
        nodes { attributes { name: 'VARIABLE_VALUE' checkpoint_key: 'a_key' } }
        nodes { children { node_id: 4 local_name: 'kernel' } children { node_id: 5 local_name: 'bias' } }
        nodes { attributes { name: 'VARIABLE_VALUE' checkpoint_key: 'b_key' } }
        nodes { attributes { name: 'VARIABLE_VALUE' checkpoint_key: 'bias_key' } })");
    auto meta = messageOf<tfpb::MetaGraphDef>("meta_info_def { tags: 'serve' } graph_def { " + kBoundVariables + " }");
    tfpb::SavedModel saved;
    saved.set_saved_model_schema_version(1);
    ASSERT_TRUE(saved.add_meta_graphs()->ParseFromString(meta.SerializeAsString() + objects.SerializeAsString()));
    BundleWriter::put(folder() + "/saved_model.pb", saved.SerializeAsString());
    BundleWriter writer;
    writer.add("a_key", tfpb::DT_INT32, {1}, std::string("\x05\0\0\0", 4));
    writer.add("b_key", tfpb::DT_INT32, {1}, std::string("\x06\0\0\0", 4));
    writer.add("bias_key", tfpb::DT_INT32, {1}, std::string("\x07\0\0\0", 4));
    writer.addString("_CHECKPOINTABLE_OBJECT_GRAPH", tracked.SerializeAsString());
    writer.write(folder() + "/variables/variables");
    const std::string text = opened();
    EXPECT_THAT(text, HasSubstr("  v = VarHandleOp() @value=i32[1] [6] "));
    EXPECT_THAT(text, HasSubstr("  w = VarHandleOp() @value=i32[1] [5] "));
    EXPECT_THAT(text, HasSubstr("  b = VarHandleOp() @value=i32[1] [7] "));

    writer.addString("_CHECKPOINTABLE_OBJECT_GRAPH", "\x0a\x7f damaged");
    writer.write(folder() + "/variables/variables");
    EXPECT_THAT(opened(), HasSubstr("entry '_CHECKPOINTABLE_OBJECT_GRAPH': "));
}

TEST_F(SavedModelTest, opens_by_the_file_in_the_folder_too)
{
    write("node { name: 'x' op: 'NoOp' }");
    const auto model = loadModel(folder() + "/saved_model.pb");
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_EQ(model->formatName, "SavedModel");
    EXPECT_EQ(attributeString(model->model.attributes, "init_op", ""), "");
}

TEST_F(SavedModelTest, takes_the_graph_for_serving_and_its_initializer)
{
    write("node { name: 'init' op: 'NoOp' }",
          "signature_def { key: '__saved_model_init_op' value { outputs { key: 'x' value { name: 'init' } } } }");
    const std::string text = opened();
    EXPECT_THAT(text, HasSubstr("model tf init_op=\"init\" tags=[\"serve\"]\n"));
}

TEST_F(SavedModelTest, keeps_assets)
{
    write("node { name: 'path' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } }",
          "asset_file_def { tensor_info { name: 'path:0' } filename: 'words.txt' }");
    EXPECT_THAT(opened(), HasSubstr("/assets/words.txt: no such file"));
    BundleWriter::put(folder() + "/assets/words.txt", "a b");
    const std::string text = opened();
    EXPECT_THAT(text, HasSubstr("metadata \"assets/words.txt\" \"a b\"\n"));
    EXPECT_THAT(text, HasSubstr("path = Placeholder() @asset=\"assets/words.txt\" dtype=str : str\n"));
}

TEST_F(SavedModelTest, refuses_assets_outside_of_the_folder)
{
    write("node { name: 'path' op: 'NoOp' }", "asset_file_def { tensor_info { name: 'path:0' } filename: '../../etc/passwd' }");
    EXPECT_THAT(opened(), HasSubstr("asset '../../etc/passwd' lies outside of the folder"));
    write("node { name: 'path' op: 'NoOp' }", "asset_file_def { tensor_info { name: 'path:0' } filename: '/etc/passwd' }");
    EXPECT_THAT(opened(), HasSubstr("lies outside of the folder"));
}

/// Who wants to see the graph does not need its values.
TEST_F(SavedModelTest, opens_without_the_values_that_are_missing)
{
    write(kRestoreV1);
    EXPECT_THAT(opened(), ContainsRegex("  w = VariableV2\\(\\) @lost=\"[^\"]*/variables/variables.index: no such file"));
    BundleWriter writer;
    writer.add("another", tfpb::DT_INT32, {1}, "abcd");
    writer.write(folder() + "/variables/variables");
    EXPECT_THAT(opened(), ContainsRegex("  w = VariableV2\\(\\) @lost=\"[^\"]*no entry 'w_key'"));
    const auto model = loadModel(folder());
    ASSERT_TRUE(model.ok()) << model.error().message();
    EXPECT_THAT(lostValueLines(model->model), ElementsAre(AllOf(HasSubstr("variable 'w' has no value: "), HasSubstr("no entry 'w_key'"))));
    writeVariables();
    BundleWriter::put(folder() + "/variables/variables.index", "no index");
    EXPECT_THAT(opened(), ContainsRegex("  w = VariableV2\\(\\) @lost=\"[^\"]*variables.index: "));
}

TEST_F(SavedModelTest, names_what_is_missing)
{
    BundleWriter::put(folder() + "/saved_model.pb", "\x08\x01");
    EXPECT_THAT(opened(), HasSubstr("holds no graph"));
}

TEST_F(SavedModelTest, reads_text)
{
    BundleWriter::put(
        folder() + "/saved_model.pbtxt",
        "saved_model_schema_version: 1 meta_graphs { graph_def { node { name: 'x' op: 'NoOp' } } object_graph_def { nodes { } } }");
    EXPECT_THAT(opened(), HasSubstr("  x = NoOp()\n"));
}

TEST_F(SavedModelTest, is_not_written_without_its_variables)
{
    write(kRestoreV1);
    writeVariables();
    const auto model = loadModel(folder());
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto written = exportMetaGraph(model->model);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().message(), "cannot convert to MetaGraphDef: no place there for the value of variable 'w'");
}

} // namespace
} // namespace loopscope
