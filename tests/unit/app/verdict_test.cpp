// The process pool: a case that crashes or hangs costs only itself, and results come in order.
#include "app/check/verdict.h"

#include "app/check/sha256.h"

#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace loopscope::app {
namespace {

CaseResult passing()
{
    CaseResult result;
    result.verdict = Verdict::pass;
    return result;
}

TEST(Pool, crashes_and_hangs_cost_only_their_case)
{
    std::vector<CaseJob> jobs = {
        {"good", passing},
        {"crash",
         []() -> CaseResult {
             raise(SIGKILL);
             return {};
         }},
        {"hang",
         []() -> CaseResult {
             for (;;) pause();
         }},
        {"exit", []() -> CaseResult { _exit(3); }},
        {"last", passing},
    };
    PoolOptions options;
    options.jobs = 2;
    options.caseTimeout = 0.3;
    std::vector<std::string> order;
    options.finished = [&](const CaseResult& r) { order.push_back(r.id); };
    const std::vector<CaseResult> results = runJobs(jobs, options);
    ASSERT_EQ(results.size(), 5U);
    EXPECT_THAT(order, testing::ElementsAre("good", "crash", "hang", "exit", "last"));
    EXPECT_EQ(results[0].verdict, Verdict::pass);
    EXPECT_EQ(results[1].verdict, Verdict::error);
    EXPECT_THAT(results[1].message, testing::HasSubstr("crashed: signal 9"));
    EXPECT_THAT(results[2].message, testing::HasSubstr("hangs: no end after 0.3 s"));
    EXPECT_THAT(results[3].message, testing::HasSubstr("exit code 3"));
    EXPECT_EQ(results[4].verdict, Verdict::pass);
}

TEST(Pool, results_cross_the_process_border_whole)
{
    const CaseJob job = {"x", []() {
                             CaseResult r;
                             r.verdict = Verdict::fail;
                             r.message = "output 0 at [1,0]: got 2.5, want 3.5";
                             r.compared = {24, 20, 3, {7, 5, {}}};
                             r.worst = WorstElement{2, "[1,0]", "2.5", "3.5", 2.5, 3.5, true};
                             return r;
                         }};
    const std::vector<CaseResult> results = runJobs({job}, {});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].message, "output 0 at [1,0]: got 2.5, want 3.5");
    ASSERT_TRUE(results[0].worst.has_value());
    EXPECT_EQ(results[0].compared.elements, 24);
    EXPECT_EQ(results[0].compared.floats, 20);
    EXPECT_EQ(results[0].compared.differentFloats, 3);
    EXPECT_EQ(results[0].compared.kernels.own, 7);
    EXPECT_EQ(results[0].compared.kernels.fellBack, 5);
    const std::string json = caseJson(results[0]);
    EXPECT_THAT(json, testing::HasSubstr("\"elements\":24,\"floats\":20,\"different_floats\":3"));
    EXPECT_THAT(json, testing::HasSubstr("\"id\":\"x\",\"verdict\":\"fail\""));
    EXPECT_THAT(json, testing::HasSubstr("\"worst\":{\"output\":2,\"index\":\"[1,0]\",\"got\":2.5,\"want\":3.5}"));
}

TEST(Pool, cancelling_leaves_out_the_rest)
{
    CancelFlag cancel;
    cancel.request();
    PoolOptions options;
    options.cancel = &cancel;
    EXPECT_TRUE(runJobs({{"a", passing}, {"b", passing}}, options).empty());
}

TEST(Sha256, known_digests)
{
    const auto digest = [](std::string_view text) { return sha256Hex(std::as_bytes(std::span(text.data(), text.size()))); };
    // FIPS 180-4 examples; the third crosses the border at which padding needs a second block.
    EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

} // namespace
} // namespace loopscope::app
