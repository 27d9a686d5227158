// Every rule of a sound recording: it holds for a real one, and breaking it is noticed.
#include "fixture.h"
#include "tracer/api/trace_check.h"

#include <algorithm>
#include <gmock/gmock.h>

namespace loopscope::test {
namespace {

std::vector<std::string> brokenRules(const Recording& r)
{
    const Result<TraceCheck> check = checkTrace(*r.reader);
    std::vector<std::string> rules;
    if (!check.ok()) {
        ADD_FAILURE() << check.error().message();
        return rules;
    }
    for (const TraceViolation& violation : check->violations) rules.push_back(violation.rule);
    return rules;
}

TEST(Check, aRecordingKeepsEveryRule)
{
    const Recording r = record(optionsFor(tracePath(), TraceLevel::all), {{}, {.nanAt = 3}});
    const Result<TraceCheck> check = checkTrace(*r.reader);
    ASSERT_TRUE(check.ok());
    EXPECT_TRUE(check->violations.empty());
    EXPECT_EQ(check->passed.size(), 10U);
    EXPECT_TRUE(check->skipped.empty());
}

struct Damage {
    const char* rule;
    const char* sql;
};

class CheckDamage : public testing::TestWithParam<Damage> {};

TEST_P(CheckDamage, isNoticed)
{
    RecorderOptions options = optionsFor(tracePath("t.lstrace"), TraceLevel::all);
    Recording r = record(std::move(options));
    edit(r, GetParam().sql);
    EXPECT_THAT(brokenRules(r), testing::Contains(GetParam().rule));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, CheckDamage,
    testing::Values(Damage{"references", "UPDATE event SET op = 999 WHERE id = 5"},
                    Damage{"references", "UPDATE invocation SET call = 99 WHERE id = 5"},
                    Damage{"events-in-range", "UPDATE run SET last = 100"},
                    Damage{"children-inside-parents", "UPDATE invocation SET steps = 1 WHERE id = 2"},
                    Damage{"iterations-dense", "UPDATE invocation SET iteration = 40 WHERE iteration = 3"},
                    Damage{"loops-end-with-condition",
                           "UPDATE event SET op = (SELECT op FROM event WHERE id = 1) WHERE id = (SELECT first FROM invocation WHERE "
                           "iteration = 12)"},
                    Damage{"root-steps", "UPDATE invocation SET steps = steps + 1 WHERE parent IS NULL"},
                    Damage{"every-step-accounted", "DELETE FROM event WHERE id = 17"},
                    Damage{"written-before-read",
                           "UPDATE event SET op = (SELECT id FROM op WHERE label = 'equal#2') WHERE op = (SELECT id FROM op WHERE label = "
                           "'floor_mod#1')"},
                    Damage{"blobs", "UPDATE chunk SET data = zeroblob(length(data)) WHERE id = 5"},
                    Damage{"blobs", "DELETE FROM chunk WHERE id = 5"},
                    Damage{"blobs", "UPDATE blob SET shape = '[2,2]' WHERE shape = '[4]'"}, Damage{"blobs", "UPDATE blob SET codec = 1"},
                    Damage{"blobs", "UPDATE blob SET bytes = 9223372036854775807"}));

} // namespace
} // namespace loopscope::test
