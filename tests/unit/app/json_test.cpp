// JSON as docs/commands.md promises it, read back with an independent parser.
#include "app/output/json_writer.h"

#include "app/output/console.h"
#include "engine/api/inputs/literal.h"
#include "engine/base/json_text.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace loopscope::app {
namespace {

using Json = nlohmann::json;

TEST(Json, special_numbers_are_strings)
{
    JsonWriter json;
    json.beginArray().value(std::nan("")).value(-std::numeric_limits<double>::infinity()).value(0.1).value(int64_t{1} << 53);
    json.value((int64_t{1} << 53) + 1).value(UINT64_MAX).value(true).null().endArray();
    EXPECT_EQ(json.text(), "[\"nan\",\"-inf\",0.1,9007199254740992,\"9007199254740993\",\"18446744073709551615\",true,null]");
}

TEST(Json, any_bytes_give_valid_text)
{
    std::string every;
    for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
    every += "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\x80\xc0\x80"; // ä € 😀, a surrogate, an overlong form
    const Json parsed = Json::parse(jsonQuoted(every));
    const auto text = parsed.get<std::string>();
    EXPECT_NE(text.find("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"), std::string::npos);
    EXPECT_EQ(text.substr(0, 128), every.substr(0, 128));
}

TEST(Json, tensors_carry_statistics_and_data)
{
    const auto array = parseLiteral("[0.1, nan]", DType::f32, Shape{2}, ScalarMeans::oneElement);
    ASSERT_TRUE(array.ok());
    JsonWriter json;
    json.tensor("x", array->view());
    const Json parsed = Json::parse(json.text());
    EXPECT_EQ(parsed["dtype"], "f32");
    EXPECT_EQ(parsed["shape"], Json({2}));
    EXPECT_EQ(parsed["stats"]["nan"], 1);
    EXPECT_EQ(parsed["data"], Json({0.1, "nan"}));
    JsonWriter limited;
    limited.tensor("x", array->view(), 1);
    EXPECT_EQ(Json::parse(limited.text())["truncated"], 2);
}

TEST(Json, errors_have_their_parts)
{
    const Error error = Error(ErrorCode::usage, "no such input").at("input 'X'").nearest({"x"}).note("one more line");
    const Json parsed = Json::parse(errorJson(error));
    EXPECT_EQ(parsed["schema"], 1);
    EXPECT_EQ(parsed["error"]["code"], 2);
    EXPECT_EQ(parsed["error"]["where"], "input 'X'");
    EXPECT_EQ(parsed["error"]["nearest"], Json({"x"}));
}

} // namespace
} // namespace loopscope::app
