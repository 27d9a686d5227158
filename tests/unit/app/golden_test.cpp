// Golden cases written by the test itself: right ones pass, and every kind of wrong one fails for its own reason.
#include "app/check/golden_run.h"

#include "app/check/sha256.h"
#include "converters/lsir/lsir.h"
#include "converters/tflite/tflite.h"
#include "engine/api/inputs/literal.h"
#include "engine/base/bytes.h"
#include "engine/tensor/npz.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::app {
namespace {

using testing::HasSubstr;

constexpr std::string_view kCounter =
    "lsir 1\nmodel tfl\nsignature \"bump\" @main(\"by\"=x) -> (\"total\"=z)\n\n"
    "graph main(x: i32[2]) {\n  state = variable i32[2] [0, 0]\n\n  z = add(x, state) : i32[2]\n  return z\n}\n";
constexpr std::string_view kAdd = "graph main(x: i32[2], y: i32[2]) {\n  z = add(x, y) : i32[2]\n  return z\n}\n";
constexpr std::string_view kDivide = "graph main(x: i32[2], y: i32[2]) {\n  z = div(x, y) : i32[2]\n  return z\n}\n";
constexpr std::string_view kUnknown = "graph main(x: i32[2], y: i32[2]) {\n  z = custom.Nobody(x, y) : i32[2]\n  return z\n}\n";

class Golden : public testing::Test {
protected:
    const std::string& folder() const { return m_folder.path(); }

    void model(std::string_view text)
    {
        const auto parsed = modelFromText(text, "test");
        ASSERT_TRUE(parsed.ok()) << parsed.error().message();
        const auto bytes = exportTflite(*parsed);
        ASSERT_TRUE(bytes.ok()) << bytes.error().message();
        ASSERT_TRUE(writeFile(folder() + "/m.tflite", *bytes, true).ok());
    }
    void arrays(const std::string& name, const std::vector<std::string>& literals, DType dtype = DType::i32)
    {
        std::vector<Array> values;
        std::vector<NamedTensor> tensors;
        for (const std::string& literal : literals)
            values.push_back(parseLiteral(literal, dtype, Shape::unknownRank(), ScalarMeans::fill).value());
        for (size_t k = 0; k < values.size(); ++k) tensors.push_back({std::to_string(k), values[k].view()});
        ASSERT_TRUE(writeNpz(folder() + "/" + name, tensors, true).ok());
    }
    CaseResult check(const std::string& json)
    {
        EXPECT_TRUE(writeFile(folder() + "/cases.jsonl", json + "\n", true).ok());
        const auto cases = readGoldenCases(folder());
        if (!cases.ok()) {
            CaseResult result;
            result.message = cases.error().message();
            return result;
        }
        return runGoldenCase(cases->front());
    }
    static std::string caseText(const std::string& runs, const std::string& compare = R"({"kind": "exact"})")
    {
        return R"({"id": "a/b", "format": "tflite", "model": "m.tflite", "compare": )" + compare + R"(, "runs": [)" + runs + "]}";
    }
    static std::string runText(const std::string& more = R"(, "out": "out.npz")")
    {
        return R"({"signature": null, "inputs": [{"name": "x"}, {"name": "y"}], "outputs": [{"name": "z"}], "in": "in.npz")" + more + "}";
    }

private:
    ScratchFolder m_folder;
};

TEST_F(Golden, a_right_answer_passes_and_a_wrong_one_says_what_differs)
{
    model(kAdd);
    arrays("in.npz", {"[1, 2]", "[3, 4]"});
    arrays("out.npz", {"[4, 6]"});
    EXPECT_EQ(check(caseText(runText())).verdict, Verdict::pass) << check(caseText(runText())).message;
    arrays("out.npz", {"[4, 9]"});
    const CaseResult wrong = check(caseText(runText()));
    EXPECT_EQ(wrong.verdict, Verdict::fail);
    EXPECT_EQ(wrong.message, "output 0 at [1]: got 6, want 9");
    EXPECT_EQ(check(caseText(runText(), R"({"kind": "close", "rtol": 0, "atol": 3})")).verdict, Verdict::pass);
    EXPECT_EQ(check(caseText(runText(), R"({"kind": "close", "rtol": 0.3, "atol": 0})")).verdict, Verdict::fail); // 3 > 2.7
    arrays("out.npz", {"[[4, 6]]"});
    EXPECT_THAT(check(caseText(runText())).message, HasSubstr("shape [2], want [1,2]"));
}

TEST_F(Golden, a_run_that_must_fail)
{
    model(kDivide);
    arrays("in.npz", {"[1, 2]", "[1, 0]"});
    const std::string error = runText(R"(, "error": {"class": "RuntimeError", "message": "x"})");
    EXPECT_EQ(check(caseText(error)).verdict, Verdict::pass) << check(caseText(error)).message;
    arrays("out.npz", {"[1, 2]"});
    EXPECT_THAT(check(caseText(runText())).message, HasSubstr("division by zero"));
    arrays("in.npz", {"[1, 2]", "[1, 1]"});
    EXPECT_THAT(check(caseText(error)).message, HasSubstr("gives outputs, want an error"));
}

TEST_F(Golden, unsupported_operators_and_formats_are_named)
{
    model(kUnknown);
    arrays("in.npz", {"[1, 2]", "[1, 0]"});
    arrays("out.npz", {"[1, 2]"});
    const CaseResult custom = check(caseText(runText()));
    EXPECT_EQ(custom.verdict, Verdict::unsupported);
    EXPECT_THAT(custom.message, HasSubstr("custom.Nobody"));
    const CaseResult other = check(R"({"id": "g", "format": "onnx", "model": "m.onnx", "runs": []})");
    EXPECT_EQ(other.verdict, Verdict::unsupported);
    EXPECT_THAT(other.message, HasSubstr("onnx"));
    // Without runs the model need only open and come back identical.
    EXPECT_EQ(check(caseText("")).verdict, Verdict::pass) << check(caseText("")).message;
}

TEST_F(Golden, resized_inputs_and_signatures)
{
    model(kAdd);
    arrays("in.npz", {"[[1, 2, 3]]", "[[3, 4, 5]]"});
    arrays("out.npz", {"[[4, 6, 8]]"});
    EXPECT_EQ(check(caseText(runText())).verdict, Verdict::pass) << check(caseText(runText())).message;
    model(kCounter);
    arrays("in.npz", {"[5, 6]"});
    arrays("out.npz", {"[5, 6]"});
    const std::string run =
        R"({"signature": "bump", "inputs": [{"name": "by"}], "outputs": [{"name": "total"}], "in": "in.npz", "out": "out.npz"})";
    EXPECT_EQ(check(caseText(run)).verdict, Verdict::pass) << check(caseText(run)).message;
    EXPECT_THAT(check(caseText(R"({"signature": "dump", "inputs": [], "outputs": [], "in": "in.npz"})")).message,
                HasSubstr("did you mean 'bump'"));
}

TEST_F(Golden, truncated_and_unreadable_outputs)
{
    model(kAdd);
    arrays("in.npz", {"[1, 2]", "[3, 4]"});
    arrays("out.npz", {"[4]"});
    const std::vector<int32_t> whole = {4, 6};
    const auto with = [&](const std::string& digest) {
        return R"({"inputs": [{"name": "x"}, {"name": "y"}], "outputs": [{"name": "z", "shape": [2], "truncated": 1, "sha256": ")" +
               digest + R"("}], "in": "in.npz", "out": "out.npz"})";
    };
    EXPECT_EQ(check(caseText(with(sha256Hex(std::as_bytes(std::span(whole)))))).verdict, Verdict::pass);
    EXPECT_THAT(check(caseText(with(std::string(64, '0')))).message, HasSubstr("sha256"));
    arrays("out.npz", {"[7]"});
    const std::string unreadable =
        R"({"inputs": [{"name": "x"}, {"name": "y"}], "outputs": [{"name": "z", "unreadable": true}], "in": "in.npz", "out": "out.npz"})";
    EXPECT_EQ(check(caseText(unreadable)).verdict, Verdict::pass);
}

TEST_F(Golden, only_errors_of_the_model_are_wanted_ones)
{
    arrays("in.npz", {"[1, 2]", "[1, 0]"});
    const std::string error = runText(R"(, "error": {"class": "RuntimeError", "message": "Encountered unresolved custom op: Nobody."})");
    // No file: its runs cannot have failed as they should.
    EXPECT_EQ(check(caseText(error)).verdict, Verdict::fail) << check(caseText(error)).message;
    ASSERT_TRUE(writeFile(folder() + "/m.tflite", std::string_view("TFL"), true).ok());
    EXPECT_EQ(check(caseText(error)).verdict, Verdict::fail);
    const std::string refused = R"({"id": "a", "format": "tflite", "model": "m.tflite", "opens": false, "runs": []})";
    EXPECT_EQ(check(refused).verdict, Verdict::pass) << check(refused).message;
    model(kDivide);
    EXPECT_EQ(check(refused).verdict, Verdict::fail);
    // An operator that is missing here: wanted only if the reference lacks it, too.
    model(kUnknown);
    EXPECT_EQ(check(caseText(error)).verdict, Verdict::pass) << check(caseText(error)).message;
    const std::string other = runText(R"(, "error": {"class": "RuntimeError", "message": "index out of bounds"})");
    EXPECT_EQ(check(caseText(other)).verdict, Verdict::unsupported);
}

TEST_F(Golden, says_how_much_was_compared)
{
    model(kAdd);
    arrays("in.npz", {"[1, 2]", "[3, 4]"});
    arrays("out.npz", {"[4, 6]"});
    const CaseResult some = check(caseText(runText()));
    EXPECT_EQ(some.compared.elements, 2);
    EXPECT_EQ(some.compared.floats, 0);
    EXPECT_EQ(some.message, "");
    arrays("out.npz", {});
    const CaseResult none = check(caseText(runText()));
    EXPECT_EQ(none.verdict, Verdict::pass);
    EXPECT_EQ(none.message, "nothing was compared");
}

TEST_F(Golden, small_numbers_are_compared_and_bits_counted)
{
    model("graph main(x: f32[2], y: f32[2]) {\n  z = add(x, y) : f32[2]\n  return z\n}\n");
    arrays("in.npz", {"[1e-9, 2e-9]", "[0, 0]"}, DType::f32);
    arrays("out.npz", {"[1e-9, 3e-9]"}, DType::f32);
    const std::string close = R"({"kind": "close", "rtol": 1e-5, "atol": 1e-6})";
    const CaseResult wrong = check(caseText(runText(), close));
    EXPECT_EQ(wrong.verdict, Verdict::fail) << "atol alone is a thousand times larger than both";
    EXPECT_EQ(wrong.compared.floats, 2);
    EXPECT_EQ(wrong.compared.differentFloats, 1);
    arrays("out.npz", {"[1e-9, 2.00000001e-9]"}, DType::f32);
    EXPECT_EQ(check(caseText(runText(), close)).verdict, Verdict::pass);
}

TEST_F(Golden, names_of_a_signature_are_not_positions)
{
    model(kCounter);
    arrays("in.npz", {"[5, 6]"});
    arrays("out.npz", {"[5, 6]"});
    const std::string run =
        R"({"signature": "bump", "inputs": [{"name": "by"}], "outputs": [{"name": "sum"}], "in": "in.npz", "out": "out.npz"})";
    const CaseResult result = check(caseText(run));
    EXPECT_EQ(result.verdict, Verdict::fail);
    EXPECT_THAT(result.message, HasSubstr("('sum') does not exist"));
}

TEST_F(Golden, arrays_of_inputs_and_outputs_have_dtypes_of_their_own)
{
    model("graph main(x: bf16[1], y: u16[1]) {\n  z = cast(y) : f32[1]\n  b = cast(x) : f32[1]\n  return z, b\n}\n");
    arrays("in.npz", {"[16256]", "[7]"}, DType::u16);
    arrays("out.npz", {"[7]", "[1]"}, DType::f32);
    const auto run = [](const std::string& dtypes) {
        return R"({"inputs": [{"name": "x"}, {"name": "y"}], "outputs": [{"name": "z"}, {"name": "b"}], "in": "in.npz", "out": "out.npz", )" +
               dtypes + "}";
    };
    EXPECT_EQ(check(caseText(run(R"("in_dtypes": {"0": "bfloat16"})"))).verdict, Verdict::pass)
        << check(caseText(run(R"("in_dtypes": {"0": "bfloat16"})"))).message;
    EXPECT_NE(check(caseText(run(R"("out_dtypes": {"0": "bfloat16"})"))).verdict, Verdict::pass);
}

TEST_F(Golden, broken_cases_are_errors)
{
    model(kAdd);
    EXPECT_EQ(check(caseText(runText())).verdict, Verdict::error); // no in.npz
    arrays("in.npz", {"[1, 2]"});
    arrays("out.npz", {"[4, 6]"});
    EXPECT_THAT(check(caseText(runText())).message, HasSubstr("no array for input 1 ('y')"));
    EXPECT_THAT(check("{not json").message, HasSubstr("cases.jsonl:1"));
    EXPECT_THAT(check(R"({"id": 3, "format": "tflite", "model": "m", "runs": []})").message, HasSubstr("cases.jsonl:1"));
}

} // namespace
} // namespace loopscope::app
