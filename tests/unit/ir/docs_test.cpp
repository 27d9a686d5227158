// The examples of docs/text_ir.md: every text parses and obeys the verifier, every error has its message, the view is what it shows.
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/text/structured.h"
#include "engine/ir/verifier.h"
#include "tests/unit/doc_tables.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

constexpr const char* kPage = "docs/text_ir.md";

TEST(TextIrPage, ExamplesParse)
{
    const auto blocks = fencedBlocks(kPage, "lsir");
    ASSERT_EQ(blocks.size(), 4U);
    for (const std::string& block : blocks) {
        const auto model = parseModel(block, kPage);
        ASSERT_TRUE(model.ok()) << model.error().message() << "\n" << block;
        const Status status = verifyModel(*model);
        EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.detail().what) << "\n" << block;
        if (block.starts_with("lsir")) {
            EXPECT_EQ(printModel(*model), block) << "whole texts of the page are canonical";
        }
    }
}

TEST(TextIrPage, StructuredViewIsThatOfTheFirstExample)
{
    const auto model = parseModel(fencedBlocks(kPage, "lsir").front(), kPage);
    ASSERT_TRUE(model.ok());
    EXPECT_EQ(structuredText(structuredView(*model)), fencedBlocks(kPage, "structured").front());
}

TEST(TextIrPage, TypesParse)
{
    const auto rows = tableBelow(kPage, "Types");
    ASSERT_GT(rows.size(), 8U);
    for (const auto& row : rows) {
        std::string types = row[0]; // `a` · `b`
        for (size_t at = 0; at < types.size();) {
            const size_t end = std::min(types.find("` · `", at), types.size());
            const std::string type = types.substr(at, end - at);
            const auto model = parseModel("graph g {\n  s = absent f32\n  v = absent " + type + "\n}\n", "t");
            ASSERT_TRUE(model.ok()) << type << ": " << model.error().message();
            EXPECT_EQ(typeText(model->graphs[0].values[1].type, &model->graphs[0]), type);
            at = end + std::string_view("` · `").size();
        }
    }
}

TEST(TextIrPage, ErrorsSayWhatTheTableSays)
{
    const auto rows = tableBelow(kPage, "Errors");
    ASSERT_EQ(rows.size(), 9U);
    for (const auto& row : rows) {
        const auto model = parseModel("graph main(relu_1: f32[4]) {\n  " + row[0] + "\n}\n", "m");
        ASSERT_FALSE(model.ok()) << row[0];
        EXPECT_EQ(model.error().detail().what, row[1]);
        EXPECT_THAT(model.error().detail().notes, testing::IsEmpty()) << row[0];
    }
}

} // namespace
} // namespace loopscope
