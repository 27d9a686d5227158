// The tables of addresses and patterns in docs/text_ir.md.
#include "engine/observe/address.h"
#include "tests/unit/doc_tables.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

constexpr const char* kPage = "docs/text_ir.md";

TEST(AddressPage, ExamplesAreCanonical)
{
    const auto rows = tableBelow(kPage, "Addresses");
    ASSERT_EQ(rows.size(), 20U);
    for (const auto& row : rows) {
        const auto place = parsePlace(row[0]);
        ASSERT_TRUE(place.ok()) << row[0] << ": " << place.error().message();
        EXPECT_EQ(toString(*place), row[0]);
    }
}

TEST(AddressPage, PatternsMatchWhatTheTableSays)
{
    const auto rows = tableBelow(kPage, "Patterns");
    ASSERT_EQ(rows.size(), 12U);
    for (const auto& row : rows) {
        const auto pattern = AddressPattern::parse(row[0]);
        ASSERT_TRUE(pattern.ok()) << row[0] << ": " << pattern.error().message();
        const auto yes = parseAddress(row[1]);
        const auto no = parseAddress(row[2]);
        ASSERT_TRUE(yes.ok() && no.ok()) << row[0];
        EXPECT_TRUE(pattern->matches(*yes)) << row[0] << " " << row[1];
        EXPECT_FALSE(pattern->matches(*no)) << row[0] << " " << row[2];
    }
}

} // namespace
} // namespace loopscope
