// The text IR by example: every form of docs/text_ir.md is printed and parsed once. Where a text is canonical, print(parse(t)) == t.
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string errorsOf(const ParsedText& parsed)
{
    std::string text;
    for (const TextError& e : parsed.errors) text += std::to_string(e.line) + ":" + std::to_string(e.column) + ": " + e.message + "\n";
    return text;
}

Model parsed(const std::string& text)
{
    ParsedText result = parseText(text);
    EXPECT_EQ(errorsOf(result), "") << text;
    return std::move(result.model);
}

/// The text is canonical, and its model passes the verifier.
void expectCanonical(const std::string& text)
{
    const Model model = parsed(text);
    EXPECT_EQ(printModel(model), text);
    const Status status = verifyModel(model);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.detail().what);
    EXPECT_EQ(firstDifference(model, parsed(printModel(model))), "");
}

/// A canonical tfl model with these lines in graph main(x: f32[4]).
std::string inMain(const std::string& lines) { return "lsir 1\nmodel tfl\n\ngraph main(x: f32[4]) {\n" + lines + "  return x\n}\n"; }

/// `typed` as the only declaration, canonical.
void expectDeclaration(const std::string& declaration) { expectCanonical(inMain("  " + declaration + "\n")); }

/// The canonical spelling of a declaration.
std::string canonicalDeclaration(const std::string& declaration)
{
    const std::string text = printModel(parsed(inMain("  " + declaration + "\n")));
    const size_t begin = text.find(") {\n  ") + 6;
    return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(TextIr, WakeWordExample)
{
    expectCanonical(R"(lsir 1
model tfl description="MLIR Converted." schema=3
versions concatenation=2 conv_2d=3 custom."my op/2"=4
signature "serving_default" @main("input_audio"=input_audio) -> ("dense"=y)
metadata "min_runtime_version" "2.6.0" pad 16
metadata "empty"
metadata "blob" bytes 512 #00112233445566ff
external 3 group="w" length=4096 offset=0

graph main(input_audio: i8[1,3,40] q(0.10217524, -128)) {
  ExpandDims    = const i32[4] [1, 3, 1, 40]
  conv2d.Conv2D = const i8[32,5,1,40] q(axis=0, #cede9508e37c1963, 0) #cf160a210154bad3

  call_once() init=@NoOp
  stream.states = var_handle() container="" shared_name="stream/states" : resource[]
  y = reshape(input_audio, ExpandDims) : i8[1,3,1,40] q(0.10217524, -128)
  stream.concat = concatenation(y, ExpandDims) act=RELU axis=1 : i8[1,5,1,40] q(0.10217524, -128)
  assign_variable(stream.states, stream.concat)
  return y
}
names main {
  input_audio = "serving_default_input_audio:0"
  ExpandDims  = "model/tf.expand_dims/ExpandDims"
}

graph NoOp "a/NoOp" {
}
)");
}

TEST(TextIr, Types)
{
    for (const char* type : {"f32[1,96,96,3]",
                             "f32[]",
                             "f32",
                             "f32[?,96]",
                             "f32[1?,96]",
                             "i8[4] q(0.5, -1)",
                             "f32&[2]",
                             "?",
                             "?[2]",
                             "variant<f32[?,4], i32[]>[]",
                             "resource<i32>",
                             "f32[2,3] sig[-1]",
                             "f32[?] sig[-1]",
                             "i8[4] q(0.5, _)",
                             "i8[2,3] q(axis=1, [0.1, 0.2, 0.3], 0)",
                             "i8[2,3] q(axis=1, 0.5, [1, 2, 3])",
                             "i8[2,3] q(axis=1, 0.5, _)",
                             "i8[2,?] q(axis=1, [0.5, 0.5], [0, 0])",
                             "i4[2,3] q(block=32, scales=x, zeros=_)",
                             "i4[2,3] q(block=32, scales=x, zeros=x)",
                             "i8[4] q(custom=hex\"00ff\")",
                             "f32[4] range(0.0, 6.0)",
                             "f32[2] range([0.0, 1.0], #0123456789abcdef)",
                             "i8[4] q(0.5, 0) range(-1.0, 1.0)",
                             "i8[1] q(axis=0, 0.5, 0)",
                             "ggml_q4_0[32]",
                             "f8e4m3fn[2]",
                             "mxint8[4]",
                             "qi32[1]"})
        expectDeclaration(std::string("v = absent ") + type);
    EXPECT_EQ(canonicalDeclaration("v = absent f32[2] sig[2]"), "v = absent f32[2]"); // a signature without −1 says nothing
}

TEST(TextIr, Literals)
{
    for (const char* data : {"f32[2,2] [1.0, 0.0, 0.0, 1.0]",
                             "f32[1024] splat 1.0",
                             "i8[64,10,4,1] #8c1f03d2aa4e9b10",
                             "str[2] [\"cat\", \"d\\xf6g\"]",
                             "f32[4,8] sparse(order=[0, 1], dims=[dense 4, csr [0, 1, 2, 2, 3] [5, 0, 7]]) [1.5, -2.0, 3.0]",
                             "f32[4,4] sparse(order=[0, 1, 2], blocks=[0], dims=[dense 2, csr [0, 1, 1] [1], dense 2]) #0123456789abcdef",
                             "i8[4096] external 3",
                             "i32[] 7",
                             "i32[1] [7]",
                             "i32[0] []",
                             "str[0] []",
                             "str[] \"\"",
                             "str[3] splat \"a\"",
                             "bool[2] [true, false]",
                             "c64[2] [(1.0, -2.0), (0.0, nan)]",
                             "c128[] (1e300, -inf)",
                             "i4[3] [-8, 7, 0]",
                             "i2[5] [-2, 1, 0, -1, 1]",
                             "u4[2] [15, 0]",
                             "u64[2] [18446744073709551615, 0]",
                             "i64[2] [-9223372036854775808, 9223372036854775807]",
                             "f16[2] [0.1, 65500.0]",
                             "bf16[2] [0.1, 3e38]",
                             "f8e4m3fn[3] [450.0, nan, nan(0xff)]",
                             "f8e5m2[2] [-inf, 0.12]",
                             "f32[3] [-0.0, inf, nan(0x7fc00001)]",
                             "f64[2] [0.1, 5e-324]",
                             "f32[2] [1e-45, 3.4028235e38]",
                             "qi8[2] [-128, 127]",
                             "ggml_q4_0[32] #0123456789abcdef bytes 18",
                             "str[9] #0123456789abcdef bytes 100",
                             "i4[9] splat 3",
                             "i4[3] splat -1"}) {
        std::string text = inMain(std::string("  c = const ") + data + "\n");
        const size_t header = text.find("model tfl\n") + 10;
        if (std::string(data).find("external") != std::string::npos) text.insert(header, "external 3\n");
        expectCanonical(text);
    }
    EXPECT_EQ(canonicalDeclaration("c = const i32[3] [5, 5, 5]"), "c = const i32[3] splat 5");
    EXPECT_EQ(canonicalDeclaration("c = const i32[] [5]"), "c = const i32[] 5");
    EXPECT_EQ(canonicalDeclaration("c = const f32[2] [1, 2.50]"), "c = const f32[2] [1.0, 2.5]");
    EXPECT_EQ(canonicalDeclaration("c = const i32[9] [1, 2, 3, 4, 5, 6, 7, 8, 9]").substr(0, 18), "c = const i32[9] #");
    EXPECT_EQ(canonicalDeclaration("c = const f32[9] #0123456789abcdef0123456789ABCDEF"), "c = const f32[9] #0123456789abcdef");
    expectDeclaration("v = variable i8[1,80] q(0.0078, -1)");
    expectDeclaration("v = variable i32[2] [1, 2] @name=\"x\"");
    expectDeclaration("v = absent f32[0]");
}

TEST(TextIr, HashesThatShareTheirHalfAreWrittenInFull)
{
    const std::string a = "0123456789abcdef0000000000000001";
    const std::string b = "0123456789abcdef0000000000000002";
    expectCanonical(inMain("  a = const f32[9] #" + a + "\n  b = const f32[9] #" + b + "\n  c = const f32[9] #1123456789abcdef\n"));
}

TEST(TextIr, Operators)
{
    expectCanonical(R"(lsir 1
model tfl

graph main(x: f32[1,96,96,3], p: bool[], i: i32[]) {
  mid = absent f32[0]

  conv = conv_2d(x, x, _) act=RELU6 padding=SAME stride_h=2 stride_w=2 : f32[1,48,48,8]
  h, c = unidirectional_sequence_lstm(x, _, _) @intermediates=[mid, conv] : (f32[1,80], f32[1,80])
  a, b = while(i, x) body=@step cond=@more : (i32[], f32[4])
  y = if(p, x) else=@more then=@step : ?
  boxes = custom.TFLite_Detection_PostProcess(y, a, b) options={max_detections: 10, nms_iou_threshold: 0.6, "odd key": [1, {}]} : f32[1,10,4]
  z = custom."my op/2"(x) @version=2 options=hex"0400" : f32[4]
  s = tf.Switch(x) T=f32 : f32[4]
  n = circle.instance_norm(x, ^s, ^a) epsilon=1e-5 on=true : f32[4] {@note="a"}
  assign_variable(y, z)
  "quoted id" = add(conv, conv) : f32
  return x, x, "quoted id"
}

graph step(i: i32[], x: f32[4]) {
  return i, x
}

graph more(i: i32[], x: f32[4]) {
}
)");
}

TEST(TextIr, Attributes)
{
    for (const char* value : {"-5",
                              "0.25",
                              "1e20",
                              "nan",
                              "-inf",
                              "nan(0x7ff8000000000001)",
                              "\"a\\\"b\\\\\\n\\t\\x00ä\"",
                              "hex\"\"",
                              "SAME",
                              "i32",
                              "?",
                              "true",
                              "unset",
                              "shape[2,?]",
                              "shape[*]",
                              "shape[]",
                              "i32[] 1",
                              "f32[2] [1.0, 2.0]",
                              "str[] \"x\"",
                              "?[2] #0123456789abcdef bytes 3",
                              "@main",
                              "@main{a=1 b=@main}",
                              "$T",
                              "[]",
                              "[1, 2.0, \"x\", [SAME]]",
                              "{}",
                              "{a: {b: unset}, \"c d\": @main}",
                              "%x",
                              "[%x, SAME]",
                              "[i32, f32[2] splat 0.0, shape[1]]"})
        expectCanonical(inMain(std::string("  y = op(x) key=") + value + " : f32[4]\n"));
    expectCanonical(inMain("  y = op(x) @device=\"/cpu:0\" @\"odd key\"=1 @stateful act=NONE \"another key\"=1 : f32[4]\n"));
    const Model model = parsed(inMain("  y = conv_2d(x) stride_w=1 fused_activation_function=RELU : f32[4]\n"));
    EXPECT_EQ(attributeWord(model.graphs[0].operators[0].attributes, "act", ""), "RELU");
}

TEST(TextIr, OperatorsThatAreNoNodesMayHaveNames)
{
    const std::string text = inMain("  y = neg(x) @name=\"first of all\" : f32[4]\n  z = neg(y) : f32[4]\n");
    expectCanonical(text);
    const Model model = parsed(text);
    EXPECT_EQ(model.graphs[0].operators[0].name, "first of all");
    EXPECT_TRUE(model.graphs[0].operators[0].attributes.empty());
    for (const char* wrong : {"\"\"", "3"}) {
        const std::string told = errorsOf(parseText(inMain("  y = neg(x) @name=" + std::string(wrong) + " : f32[4]\n")));
        EXPECT_EQ(told, "5:3: the fact @name is a text that is not empty\n") << wrong;
    }
}

TEST(TextIr, TensorFlowGraphs)
{
    expectCanonical(R"(lsir 1
model tf min_consumer=12 producer=27 tags=["serve"]

graph main {
  n = Placeholder() dtype=i32 shape=shape[] : i32[]
  while/Enter = Enter(n) T=i32 frame_name="while/while_context" is_constant=false parallel_iterations=10 : i32
  while/Merge = Merge(while/Enter, while/NextIteration) N=2 T=i32 : (i32, i32[])
  while/Switch = Switch(while/Merge, while/Merge:1) T=i32 _class=["loc:@while/Merge"] : (i32, i32)
  while/Identity = Identity(while/Switch:1) T=i32 : i32
  while/add/y = Const(^while/Identity) dtype=i32 value=i32[] 1 : i32[]
  while/NextIteration = NextIteration(while/add/y) @device="/device:CPU:0" T=i32 : i32
  odd = Unknown(n) : (?, ?)
  use = Other(odd:out:0, odd:out:1, ^noop) : i32
  noop = NoOp()
  "quoted:name" = "Space>Op"(use) : (f32, f32)
  last = Identity("quoted:name":1) : f32
}

graph while_body_845(
    while_loop_counter: i32[] {_user_specified_name="while/loop_counter"},
    placeholder: i32[]) _construction_context="kEagerRuntime" {
  add/y = Const() dtype=i32 value=i32[] 1 : i32[]
  add_0 = AddV2(placeholder, add/y) T=i32 : i32
  return add=add_0, while_loop_counter=while_loop_counter, ^side=add/y
}

graph poly(a: $T, b: $N*f32, c: $Ts, d: $N*$T) @signature=hex"0a" @stateful {
  y = Identity(a) T=$T f=@main{_disable=true} : $T
  return y=y
}

gradient poly = poly_grad
)");
}

TEST(TextIr, LongHeadsAreSplit)
{
    std::string head = "graph main(\n";
    for (int i = 0; i < 9; ++i) head += "    a_long_parameter_" + std::to_string(i) + ": f32[1,2,3]" + (i < 8 ? ",\n" : ") {\n");
    expectCanonical("lsir 1\nmodel tfl\n\n" + head + "  return a_long_parameter_0\n}\n");
}

TEST(TextIr, ShortInput)
{
    const Model tfl = parsed("graph main(x: f32[4]) {\n  y = relu(x)\n  return y\n}");
    EXPECT_EQ(tfl.dialect, Dialect::tfl);
    EXPECT_EQ(tfl.graphs[0].value(tfl.graphs[0].outputs[0].value).type.dtype, DType::unknown);
    EXPECT_EQ(parsed("graph g {\n  c = Const() value=i32[] 1 : i32[]\n}\n").dialect, Dialect::tf);
    EXPECT_EQ(parsed("").graphs.size(), 0U);
    // Comments, tabs, line ends of other systems, statements over several lines, declarations after operators.
    const Model model = parsed("; a comment\r\ngraph main(x: f32[4], ; first\r\n\ty: f32[4]) {\r\n  z = op(x,\n    y) a=[1,\n 2] : f32[4] "
                               "; end\n  c = const i32[] 1\n}\n");
    EXPECT_EQ(printModel(model),
              "lsir 1\nmodel tfl\n\ngraph main(x: f32[4], y: f32[4]) {\n  c = const i32[] 1\n\n  z = op(x, y) a=[1, 2] : f32[4]\n}\n");
}

TEST(TextIr, DataBlocksGiveTheBytes)
{
    const std::string text = "graph main(x: f32[4]) {\n  c = const u8[12] #HASH\n  q = const i8[9] q(axis=0, #SCALES, 0) splat 0\n}\n";
    const std::string bytes = "hello world!";
    const std::string hash = toHex(hashBytes(std::as_bytes(std::span(bytes)))).substr(0, 16);
    std::vector<float> scales = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::string scalesHash = toHex(hashBytes(std::as_bytes(std::span(scales)))).substr(0, 16);
    std::string full = text;
    full.replace(full.find("HASH"), 4, hash);
    full.replace(full.find("SCALES"), 6, scalesHash);
    const Model without = parsed(full);
    EXPECT_FALSE(without.graphs[0].values[1].constant->hasBytes());
    EXPECT_EQ(without.graphs[0].values[2].type.quantization->kind, Quantization::Kind::unresolved);
    const Model with = parsed(full + "data #" + hash + " 12 base64 {\naGVsbG8gd29y\nbGQh\n}\ndata #" + scalesHash +
                              " 36 base64 { AACAPwAAAEAAAEBAAACAQAAAoEAAAMBAAADgQAAAAEEAABBB }\n");
    ASSERT_TRUE(with.graphs[0].values[1].constant->hasBytes());
    EXPECT_EQ(with.graphs[0].values[2].type.quantization->kind, Quantization::Kind::affine);
    EXPECT_EQ(with.graphs[0].values[2].type.quantization->scales, scales);
    EXPECT_EQ(firstDifference(with, without), "");
    EXPECT_EQ(printModel(with), printModel(without));
}

TEST(TextIr, CommentsDoNotChangeTheModel)
{
    const Model model = parsed(inMain("  y = add(x, x) : f32[4]\n"));
    PrintOptions options;
    options.origin = options.addresses = true;
    options.comment = [](GraphId, OperatorId) { return std::string("= 0.25"); };
    const std::string text = printModel(model, options);
    EXPECT_THAT(text, HasSubstr("  y = add(x, x) : f32[4] ; main/add#0; op 0, tensors 0 0 -> 1; = 0.25\n"));
    EXPECT_EQ(firstDifference(parsed(text), model), "");
    options = {};
    options.fullConstants = true;
    EXPECT_THAT(printModel(parsed(inMain("  c = const i32[10] splat 3\n")), options), HasSubstr("i32[10] [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]"));
}

TEST(TextIr, ErrorsOfTheTable)
{
    struct Row {
        std::string text;
        std::string message;
    };
    const std::vector<Row> rows = {
        {"graph main(relu_1: f32[4]) {\n  y = add(relu_l, relu_1) : f32[4]\n}\n",
         "m.lsir:2:11: no value 'relu_l' in graph main; did you mean 'relu_1'?"},
        {"graph main(x: f32[4]) {\n  a, b = add(x, x) : f32[4]\n}\n", "m.lsir:2:3: add has 1 result, found 2 names (a, b)"},
        {"graph main(x: f32[4],\n           y: int8[4]) {\n}\n", "m.lsir:2:15: unknown dtype 'int8'; did you mean 'i8'?"},
        {"graph main {\n  w    = const i8[4]   [1, 2, 3]\n}\n", "m.lsir:2:24: i8[4] needs 4 elements, found 3"},
        {"graph main {\n  w    = const i8[4]   [1, 2, 300, 4]\n}\n", "m.lsir:2:31: 300 does not fit i8 (-128 to 127)"},
        {"graph main {\n  w = absent i8[4] q(0.5, 0)\n  v = absent i8[2,2] q(axis=3, [1.0], 0)\n}\n",
         "m.lsir:3:22: q(axis=3): axis out of range for rank 2"},
        {"graph main {\n  x = absent f32\n  y = absent f32\n  x = absent f32\n}\n", "m.lsir:4:3: value 'x' is already defined at line 2"},
        {"graph main(i: i32[]) {\n  j = while(i) body=@bdoy cond=@body : i32[]\n}\ngraph body(i: i32[]) {\n}\n",
         "m.lsir:2:21: no graph @bdoy; did you mean @body?"},
        {"graph main {\n  c = const str[] \"abc\n}\n", "m.lsir:2:19: string does not end on this line"},
        {"lsir 2\nmodel tfl\n", "m.lsir:1:6: text format 2 is newer than this program's 1"},
    };
    for (const Row& row : rows) {
        const Result<Model> result = parseModel(row.text, "m.lsir");
        ASSERT_FALSE(result.ok()) << row.text;
        EXPECT_EQ(result.error().message(), row.message);
        EXPECT_THAT(result.error().detail().notes, ElementsAre()) << "one fault gives one error";
    }
}

TEST(TextIr, GoesOnAfterAnErrorAndStopsAtTwenty)
{
    std::string text = "graph main(x: f32[4]) {\n  bad = add(x,, x) : f32[4]\n  fine = relu(bad) : f32[4]\n  worse = const int8[] 1\n  y = "
                       "relu(nosuch) : f32[4]\n}\n";
    ParsedText result = parseText(text);
    EXPECT_EQ(errorsOf(result),
              "2:15: found ',', expected a name\n4:17: unknown dtype 'int8'; did you mean 'i8'?\n5:12: no value 'nosuch' in graph main\n");
    text = "graph main {\n";
    for (int i = 0; i < 100; ++i) text += "  c" + std::to_string(i) + " = const i99[] 1\n";
    EXPECT_EQ(parseText(text).errors.size(), 20U);
}

TEST(TextIr, RefusesWhatWouldEatMemory)
{
    const auto firstError = [](const std::string& text) {
        const ParsedText result = parseText(text);
        return result.errors.empty() ? std::string() : result.errors.front().message;
    };
    EXPECT_THAT(firstError("graph g {\n  c = const f32[1000000,1000000] splat 1.0\n}\n"), HasSubstr("the text grows beyond 2.0 GiB"));
    EXPECT_THAT(firstError("graph g {\n  c = absent f32[9000000000] q(axis=0, 1.0, 0)\n}\n"), HasSubstr("the text grows beyond 2.0 GiB"));
    EXPECT_THAT(firstError("graph g {\n  c = const f32[9000000000,9000000000,9000000000] 1.0\n}\n"), HasSubstr("holds no data"));
    EXPECT_THAT(firstError("graph g {\n  y = op() a=" + std::string(100000, '[') + "\n}\n"), HasSubstr("nested deeper than 64"));
    std::string calls;
    for (int i = 0; i < 100000; ++i) calls += "a=@g{";
    EXPECT_THAT(firstError("graph g {\n  y = op() " + calls + "\n}\n"), HasSubstr("nested deeper than 64"));
    EXPECT_THAT(firstError("graph g(x: " +
                           [] {
                               std::string nested;
                               for (int i = 0; i < 100000; ++i) nested += "variant<";
                               return nested;
                           }() +
                           ") {\n}\n"),
                HasSubstr("types nested deeper than 64"));
}

} // namespace
} // namespace loopscope
