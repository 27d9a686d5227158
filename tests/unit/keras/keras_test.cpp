// Keras archives: how layers become operators, what is refused, and what becomes of layers without a graph.
#include "converters/formats.h"
#include "converters/keras/keras.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

namespace loopscope {
namespace {

class Keras : public testing::Test {
protected:
    std::string write(const std::string& config, const std::string& metadata = R"({"keras_version": "3.15.1"})")
    {
        const std::string path = m_folder.path("m.keras");
        int code = 0;
        zip_t* const zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
        EXPECT_NE(zip, nullptr);
        const auto add = [&](const char* name, const std::string& text) {
            zip_file_add(zip, name, zip_source_buffer(zip, text.data(), text.size(), 0), ZIP_FL_ENC_UTF_8);
        };
        add("metadata.json", metadata);
        add("config.json", config);
        EXPECT_EQ(zip_close(zip), 0);
        return path;
    }
    std::string messageOf(const std::string& config)
    {
        const auto file = loadModel(write(config));
        return file.ok() ? "opened" : file.error().message();
    }

    ScratchFolder m_folder;
};

std::string sequential(const std::string& layers)
{
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
        {"class_name": "InputLayer", "config": {"batch_shape": [null, 2, 3], "dtype": "float32", "name": "x"}})" +
           layers + "]}}";
}

TEST_F(Keras, operators_are_named_after_their_layers)
{
    const auto file = loadModel(write(sequential(R"(, {"class_name": "Flatten", "config": {"name": "flat"}},
        {"class_name": "Activation", "config": {"name": "gate", "activation": "hard_sigmoid"}})")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->formatName, "Keras");
    const Graph& main = file->model.graphs.front();
    const ValueId flat = main.findValue("flat"), gate = main.findValue("gate");
    ASSERT_TRUE(flat.valid() && gate.valid());
    EXPECT_EQ(main.value(flat).type, TensorType(DType::f32, Shape({-1, 6})));
    EXPECT_TRUE(main.findValue("gate/Relu6").valid());
    ASSERT_EQ(file->model.signatures.size(), 1U);
    const Signature& signature = file->model.signatures.front();
    EXPECT_EQ(signature.key, "serving_default");
    EXPECT_EQ(signature.inputs, (std::vector<SignatureBinding>{{"x", main.findValue("x")}}));
    EXPECT_EQ(signature.outputs, (std::vector<SignatureBinding>{{"gate", gate}}));
}

TEST_F(Keras, a_scaled_sum_of_two_layers_is_a_sum_of_products)
{
    const auto call = [](const std::string& name) {
        return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 2, 3], "dtype": "float32", "keras_history": [")" + name +
               R"(", 0, 0]}})";
    };
    const auto file = loadModel(write(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
        {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [null, 2, 3], "dtype": "float32", "name": "x"}, "inbound_nodes": []},
        {"class_name": "ReLU", "name": "r", "config": {"name": "r"}, "inbound_nodes": [{"args": [)" +
                                      call("x") + R"(], "kwargs": {}}]},
        {"class_name": "CustomScaleLayer", "registered_name": "CustomScaleLayer", "module": "keras.src.applications.inception_resnet_v2",
         "name": "sum", "config": {"name": "sum", "scale": 0.17}, "inbound_nodes": [{"args": [[)" +
                                      call("x") + "," + call("r") + R"(]], "kwargs": {}}]}],
        "input_layers": [["x", 0, 0]], "output_layers": [["sum", 0, 0]]}})"));
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Graph& main = file->model.graphs.front();
    const Operator& sum = main.op(main.value(main.findValue("sum")).producer);
    EXPECT_EQ(sum.kind.full(), "tf.AddV2");
    EXPECT_EQ(sum.inputs[0], main.findValue("x"));
    EXPECT_EQ(main.op(main.value(sum.inputs[1]).producer).kind.full(), "tf.Mul");
}

TEST_F(Keras, a_layer_without_a_graph_stays_as_an_operator)
{
    const auto file = loadModel(write(sequential(R"(, {"class_name": "Mine", "config": {"name": "own", "units": 7}},
        {"class_name": "ReLU", "config": {"name": "r"}})")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Graph& main = file->model.graphs.front();
    const ValueId own = main.findValue("own");
    ASSERT_TRUE(own.valid());
    const Operator& op = main.op(main.value(own).producer);
    EXPECT_EQ(op.kind.full(), "custom.Mine");
    EXPECT_EQ(attributeInt(op.attributes, "units", 0), 7);
    EXPECT_EQ(attributeString(op.attributes, "@why", ""), "no graph for layers of class Mine");
    EXPECT_TRUE(main.findValue("r").valid());
}

TEST_F(Keras, a_class_of_the_user_is_not_that_of_keras)
{
    const auto file =
        loadModel(write(sequential(R"(, {"class_name": "Flatten", "registered_name": "Custom>Flatten", "config": {"name": "f"}},
        {"class_name": "Flatten", "module": "mine", "config": {"name": "g"}})")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    for (const char* name : {"f", "g"}) {
        const Graph& main = file->model.graphs.front();
        const Operator& op = main.op(main.value(main.findValue(name)).producer);
        EXPECT_EQ(attributeString(op.attributes, "@why", ""), "no graph for layers of class Flatten, which is not one of Keras");
    }
}

TEST_F(Keras, a_model_that_only_python_knows_is_one_operator)
{
    const auto file = loadModel(write(R"({"class_name": "Mine", "config": {"name": "own"}, "build_config": {"input_shape": [null, 4]}})"));
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Graph& main = file->model.graphs.front();
    ASSERT_EQ(main.operators.size(), 2U);
    EXPECT_EQ(main.operators[1].kind.full(), "custom.Mine");
    EXPECT_EQ(main.value(main.findValue("input")).type, TensorType(DType::f32, Shape({-1, 4})));
}

TEST_F(Keras, missing_weights_are_told)
{
    const auto file = loadModel(write(sequential(R"(, {"class_name": "Dense", "config": {"name": "d", "units": 7}})")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Graph& main = file->model.graphs.front();
    const Operator& op = main.op(main.value(main.findValue("d")).producer);
    EXPECT_EQ(attributeString(op.attributes, "@why", ""), "the archive holds no weights");
}

TEST_F(Keras, what_is_no_such_model_is_told)
{
    EXPECT_THAT(messageOf("{}"), testing::HasSubstr("config.json: no model, found {}, expected an object with a class_name"));
    EXPECT_THAT(messageOf("{\"class_name\""), testing::HasSubstr("config.json: not JSON"));
    EXPECT_THAT(messageOf(std::string(100, '[')), testing::HasSubstr("nested 64 deep"));
    EXPECT_THAT(messageOf(R"({"class_name": "Sequential", "config": {"layers": []}})"),
                testing::HasSubstr("a Sequential model without layers"));
    const auto old = loadModel(write("{}", R"({"keras_version": "1.2.0"})"));
    EXPECT_THAT(old.error().message(), testing::HasSubstr("metadata.json: saved by another Keras, found version 1.2.0, expected 2 or 3"));
}

std::string functional(const std::string& layers, const std::string& outputs)
{
    return R"({"class_name": "Functional", "config": {"name": "f", "layers": [
        {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [2], "name": "x"}, "inbound_nodes": []})" +
           layers + R"(], "input_layers": [["x", 0, 0]], "output_layers": )" + outputs + "}}";
}

std::string call(const std::string& name, const std::string& from, int node = 0)
{
    return R"(, {"class_name": "ReLU", "name": ")" + name + R"(", "config": {}, "inbound_nodes": [{"args": [
        {"class_name": "__keras_tensor__", "config": {"shape": [2], "dtype": "float32", "keras_history": [")" +
           from + "\", " + std::to_string(node) + ", 0]}}], \"kwargs\": {}}]}";
}

TEST_F(Keras, layers_are_written_in_an_order_that_runs)
{
    const auto file =
        loadModel(write(functional(call("late", "early") + call("early", "x"), R"({"a": ["late", 0, 0], "b": ["early", 0, 0]})")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    const Signature& signature = file->model.signatures.front();
    ASSERT_EQ(signature.outputs.size(), 2U);
    EXPECT_EQ(signature.outputs[0].name, "a");
    EXPECT_EQ(file->model.graphs.front().value(signature.outputs[1].value).id, "early");
}

TEST_F(Keras, results_of_a_layer_without_a_graph_are_as_many_as_are_read)
{
    std::string own = call("own", "x");
    own.replace(own.find("ReLU"), 4, "Mine");
    const auto file = loadModel(write(functional(own, R"([["own", 0, 0], ["own", 0, 2]])")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->model.graphs.front().operators.back().results.size(), 3U);
    const Signature& signature = file->model.signatures.front();
    ASSERT_EQ(signature.outputs.size(), 2U);
    EXPECT_EQ(signature.outputs[0].name, "own");
    EXPECT_EQ(signature.outputs[1].name, "own_1");
}

TEST_F(Keras, a_second_call_has_names_of_its_own)
{
    std::string twice = call("a", "x");
    const std::string node = twice.substr(twice.find("{\"args\""), twice.rfind("]}") - twice.find("{\"args\""));
    twice.insert(twice.rfind("]}"), ", " + node);
    const auto file = loadModel(write(functional(twice, R"([["a", 0, 0], ["a", 1, 0]])")));
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE(file->model.graphs.front().findValue("a").valid());
    EXPECT_TRUE(file->model.graphs.front().findValue("a/call_2").valid());
}

TEST_F(Keras, a_mask_that_may_have_changed_leaves_its_reader_without_a_graph)
{
    const auto whyBehind = [&](const std::string& between) {
        const auto file = loadModel(write(sequential(R"(, {"class_name": "Masking", "config": {"name": "m"}}, )" + between +
                                                     R"(, {"class_name": "LSTM", "config": {"name": "l", "units": 3}})")));
        if (!file.ok()) return file.error().message();
        const Graph& main = file->model.graphs.front();
        return std::string(attributeString(main.op(main.value(main.findValue("l")).producer).attributes, "@why", ""));
    };
    EXPECT_EQ(whyBehind(R"({"class_name": "Sequential", "module": "keras", "config": {"name": "inner", "layers": [
        {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 5, 4]}},
        {"class_name": "ReLU", "config": {"name": "r"}}]}})"),
              "a mask reaches it through layers that may change it");
    // Keras ends the mask there: all that is missing is the weights.
    EXPECT_EQ(whyBehind(R"({"class_name": "Permute", "config": {"name": "p", "dims": [2, 1]}})"), "the archive holds no weights");
}

TEST_F(Keras, numbers_that_nothing_can_have_do_no_harm)
{
    for (const char* number :
         {"-1", "0", "9223372036854775807", "-9223372036854775808", "1e300", "4294967296", "[]", "[[[]]]", "null", "\"\""})
        for (const std::string layer :
             {R"("Reshape", "config": {"target_shape": [N, N, N]})", R"("Permute", "config": {"dims": [N, 1]})",
              R"("RepeatVector", "config": {"n": N})", R"("Cropping1D", "config": {"cropping": [N, N]})",
              R"("ZeroPadding1D", "config": {"padding": N})", R"("MaxPooling1D", "config": {"pool_size": N, "strides": N})",
              R"("UpSampling1D", "config": {"size": N})", R"("Softmax", "config": {"axis": N})", R"("LSTM", "config": {"units": N})",
              R"("GroupNormalization", "config": {"groups": N, "axis": N})",
              R"("Flatten", "config": {}}, {"class_name": "Rescaling", "config": {"scale": N})",
              R"("Normalization", "config": {"mean": N, "variance": N})", R"("InputLayer", "config": {"batch_shape": [N, N]})",
              R"("MultiHeadAttention", "config": {"num_heads": N, "key_dim": N})",
              R"("TimeDistributed", "config": {"layer": {"class_name": "Flatten", "config": {"axis": N}}})"}) {
            std::string text = layer;
            for (size_t at = text.find('N'); at != std::string::npos; at = text.find('N', at + 1))
                if (text[at - 1] == ' ' || text[at - 1] == '[') text.replace(at, 1, number);
            static_cast<void>(messageOf(sequential(", {\"class_name\": " + text + "}")));
        }
}

TEST_F(Keras, layers_that_are_called_with_nothing_have_no_graph)
{
    for (const std::string kind :
         {"Bidirectional", "LSTM", "TimeDistributed", "Dense", "Add", "Concatenate", "Dot", "MultiHeadAttention", "Attention"}) {
        const std::string layer =
            R"(, {"class_name": ")" + kind + R"(", "name": "own", "config": {"units": 3}, "inbound_nodes": [{"args": []}]})";
        const auto file = loadModel(write(functional(layer, R"(["own", 0, 0])")));
        ASSERT_TRUE(file.ok()) << kind << ": " << file.error().message();
        EXPECT_EQ(file->model.graphs.front().operators.back().kind.full(), "custom." + kind);
    }
}

TEST_F(Keras, calls_that_cannot_be_are_told)
{
    EXPECT_THAT(messageOf(functional(call("a", "b") + call("b", "a"), R"(["a", 0, 0])")),
                testing::HasSubstr("layers that wait for each other"));
    EXPECT_THAT(messageOf(functional(call("a", "nobody"), R"(["a", 0, 0])")), testing::HasSubstr("no layer has the name 'nobody'"));
    EXPECT_THAT(messageOf(functional(call("a", "x", 7), R"(["a", 0, 0])")), testing::HasSubstr("found result 0 of call 7"));
    EXPECT_THAT(messageOf(functional(call("a", "x") + call("a", "x"), R"(["a", 0, 0])")),
                testing::HasSubstr("two layers have the name 'a'"));
    EXPECT_THAT(messageOf(functional(call("a", "x"), R"([])")), testing::HasSubstr("a functional model without outputs"));
    EXPECT_THAT(messageOf(functional(call("a", "x"), R"(["a", 0, 3])")), testing::HasSubstr("layer 'a' has 1 results, found 3"));
}

} // namespace
} // namespace loopscope
