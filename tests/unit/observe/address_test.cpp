// Addresses and patterns: the examples of docs/text_ir.md, the columns of errors, and how patterns match.
#include "engine/observe/address.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

Address address(std::string_view text)
{
    auto parsed = parseAddress(text);
    EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().message());
    return parsed.ok() ? std::move(parsed).value() : Address();
}

std::string errorOf(std::string_view text, bool pattern = false)
{
    const auto parsed = pattern ? parsePattern(text) : parseAddress(text);
    return parsed.ok() ? "no error" : parsed.error().message();
}

bool matches(std::string_view pattern, std::string_view concrete)
{
    const auto parsed = AddressPattern::parse(pattern);
    EXPECT_TRUE(parsed.ok()) << pattern << ": " << (parsed.ok() ? "" : parsed.error().message());
    return parsed.ok() && parsed->matches(address(concrete));
}

TEST(Address, ExamplesAreCanonical)
{
    for (const char* text : {"main",
                             "main/x",
                             "main/softmax#30:0",
                             "main/while#7",
                             "main/while#7@0:cond",
                             "main/while#7@37:body",
                             "main/while#7@37:body/add#2:0",
                             "main/while#7@37:body/arg2",
                             "main/if#3:else/mul#0:in1",
                             "main/case#4:branch2/add#0:0",
                             "main/call_once#0:init/assign_variable#1",
                             "main/while#0@5:body/while#0@2:cond/less#0:0",
                             "main/while/cond/If:then/mul:0",
                             "main/while/while_context@37:frame/while/Switch:1",
                             "main/my%20frame@2:frame/Add:0",
                             "r2:main/while#7@37:body/add#2:0",
                             "sig:serving_default/probs",
                             "main/while#7@37:body/if#3:then/add#2:0",
                             "main/outer@3:frame/inner@2:frame/add_1",
                             "main/reduce#1@4:region/add#0",
                             "main/sort#1@4:region1/less#0",
                             "a%2Fb/f#0:call/x",
                             "main/#12"}) {
        const Address parsed = address(text);
        EXPECT_EQ(toString(parsed), text);
    }
    for (const char* text : {"var:stream/states", "step:48213", "main/while#7", "var:a%20b"}) {
        const auto place = parsePlace(text);
        ASSERT_TRUE(place.ok()) << text;
        EXPECT_EQ(toString(*place), text);
    }
}

TEST(Address, Parts)
{
    const Address a = address("r2:main/while#7@37:body/if#3:then/add#2:0");
    EXPECT_EQ(a.run, 2);
    EXPECT_EQ(a.root, "main");
    ASSERT_EQ(a.steps.size(), 2U);
    EXPECT_EQ(a.steps[0].site.kind, "while");
    EXPECT_EQ(a.steps[0].site.index, 7);
    EXPECT_EQ(a.steps[0].iteration, 37);
    EXPECT_EQ(a.steps[0].role, StepRole::body);
    EXPECT_EQ(a.steps[1].role, StepRole::thenBranch);
    EXPECT_EQ(a.steps[1].iteration, -1);
    EXPECT_EQ(a.target, TargetKind::output);
    EXPECT_EQ(a.op.kind, "add");
    EXPECT_EQ(a.slot, 0);
    EXPECT_EQ(address("main/case#4:branch2").steps[0].branch, 2);
    EXPECT_EQ(address("main/x").target, TargetKind::value);
    EXPECT_EQ(address("main/x").op.name, "x");
    EXPECT_EQ(address("main/a/b/c").op.name, "a/b/c");
    EXPECT_EQ(address("main/mul#0:in1").target, TargetKind::input);
    EXPECT_EQ(address("rx").root, "rx"); // no run without a number and a colon
    EXPECT_EQ(address("r2").root, "r2");
    EXPECT_EQ(address("main/my%20frame@2:frame").steps[0].site.name, "my frame");
}

TEST(Address, CallsOfTheLoopAroundAModel)
{
    // As they are written, and what they stand for.
    for (const auto& [text, whole] : {std::pair("call@37", "host/call@37:body"),
                                      {"call@37/main/while#1@3:body/add#2", "host/call@37:body/main:call/while#1@3:body/add#2"},
                                      {"call@37/main", "host/call@37:body/main:call"},
                                      {"call@37/main/x", "host/call@37:body/main:call/x"},
                                      {"call@37/a%2Fb/f@2:frame/x:1", "host/call@37:body/a%2Fb:call/f@2:frame/x:1"},
                                      {"call@37/gather#0", "host/call@37:body/gather#0"},
                                      {"call@37/main:0", "host/call@37:body/main:0"},
                                      {"call@37/while#1@2:body/x", "host/call@37:body/while#1@2:body/x"},
                                      {"call@37/loop@2:body/x", "host/call@37:body/loop@2:body/x"},
                                      {"call@37:body/next", "host/call@37:body/next"},
                                      {"call@37:cond/less#0:0", "host/call@37:cond/less#0:0"},
                                      {"r2:call@1/main/add#2", "r2:host/call@1:body/main:call/add#2"}}) {
        EXPECT_EQ(address(text), address(whole)) << text;
        EXPECT_EQ(toString(address(whole)), text);
        EXPECT_EQ(toString(address(text)), text);
    }
    // What is no iteration of that loop is written as ever.
    for (const char* text : {"host", "host/call", "host/call:body/main:call/add#2", "host/prefill:call/add#2", "host/call@3:frame/x",
                             "main/call@3:body/x", "host/while#0@3:body/x", "call", "call/add#2"})
        EXPECT_EQ(toString(address(text)), text);
    EXPECT_THAT(errorOf("call@"), testing::HasSubstr("expected a number"));
    EXPECT_THAT(errorOf("call@3/"), testing::HasSubstr("found the end"));
    EXPECT_TRUE(matches("call@2..4/main/add#2", "call@3/main/add#2"));
    EXPECT_FALSE(matches("call@2..4/main/add#2", "call@5/main/add#2"));
    EXPECT_TRUE(matches("call@all/main/add#2", "call@5/main/add#2"));
    EXPECT_TRUE(matches("call@5/*", "call@5/gather#0"));
    EXPECT_FALSE(matches("call@5/*", "call@5/main/add#2"));
    EXPECT_TRUE(matches("call@5/*/add#2", "call@5/main/add#2"));
    EXPECT_TRUE(matches("call@5/.../add#2", "call@5/main/while#1@3:body/add#2"));
    EXPECT_TRUE(matches("host/.../add#2", "call@5/main/add#2"));
}

TEST(Address, ReadsOtherSpellings)
{
    EXPECT_EQ(toString(address("main/while#7@37")), "main/while#7@37:body");
    EXPECT_EQ(toString(address("main/ctx@3/x")), "main/ctx@3:frame/x");
    EXPECT_EQ(toString(address("main/while#007@037:body")), "main/while#7@37:body");
    EXPECT_EQ(toString(address("main/%41dd#2")), "main/Add#2");
}

TEST(Address, ErrorsSayTheColumn)
{
    EXPECT_EQ(errorOf(""), ": column 1: an address is empty");
    EXPECT_EQ(errorOf("main/"), "main/: column 6: found the end, expected a step, an operator or a value after '/'");
    EXPECT_EQ(errorOf("main/add#x"), "main/add#x: column 10: found 'x', expected a number");
    EXPECT_EQ(errorOf("main/add#2:0:1"), "main/add#2:0:1: column 13: found ':', expected the end after a slot");
    EXPECT_EQ(errorOf("main/while#7@x"), "main/while#7@x: column 14: found 'x', expected a number");
    EXPECT_EQ(errorOf("main/while#7@3..5:body"),
              "main/while#7@3..5:body: column 15: found '.', expected ':' and a role, '/' or the end; a range makes a pattern");
    EXPECT_EQ(errorOf("main/if#3@2:then/x"), "main/if#3@2:then/x: column 11: only cond, body, frame and region have iterations");
    EXPECT_EQ(
        errorOf("main/if#3:maybe/x"),
        "main/if#3:maybe/x: column 11: found 'm', expected an output (0, 1, …), an input (in0) or a role: cond, body, then, else, branch0, "
        "call, init, region, frame");
    EXPECT_EQ(errorOf("main/a%2/x"), "main/a%2/x: column 7: found '%', expected two hexadecimal digits after it");
    EXPECT_EQ(errorOf("main/body/add#2"),
              "main/body/add#2: column 6: found 'body/add' before '#', expected an operator kind; a step has a role or an "
              "iteration, as in while#7@0:body/add#2");
    EXPECT_EQ(errorOf("main/#7@3:body"), "main/#7@3:body: column 6: a step names its operator with the kind: while#7, not #7");
    EXPECT_EQ(errorOf("main x"), "main x: column 5: found ' ', expected '/' or the end");
    EXPECT_EQ(errorOf("main/add#99999999999999999999"), "main/add#99999999999999999999: column 10: the number does not fit 64 bits");
    EXPECT_EQ(errorOf("main/add#1:99999999999"), "main/add#1:99999999999: column 12: found slot 99999999999, expected at most 2147483647");
    EXPECT_EQ(errorOf("main/*"), "main/*: column 6: found '*', expected a step, an operator or a value");
    EXPECT_EQ(errorOf("main/while#7@5..3/x", true), "main/while#7@5..3/x: column 14: the range ends before it begins");
    EXPECT_EQ(errorOf("main/while#7@all%0/x", true), "main/while#7@all%0/x: column 18: found every 0th iteration, expected 1 or more");
}

TEST(Address, PatternsOfTheTable)
{
    EXPECT_TRUE(matches("main/while#7@all:body/add#2", "main/while#7@12:body/add#2"));
    EXPECT_FALSE(matches("main/while#7@all:body/add#2", "main/while#7@12:cond/add#2"));
    EXPECT_TRUE(matches("main/while#7@10..20/add#2", "main/while#7@20:body/add#2"));
    EXPECT_FALSE(matches("main/while#7@10..20/add#2", "main/while#7@21:body/add#2"));
    EXPECT_TRUE(matches("main/while#7@10../add#2", "main/while#7@1000:body/add#2"));
    EXPECT_FALSE(matches("main/while#7@10../add#2", "main/while#7@9:body/add#2"));
    EXPECT_TRUE(matches("main/while#7@..5/add#2", "main/while#7@0:body/add#2"));
    EXPECT_FALSE(matches("main/while#7@..5/add#2", "main/while#7@6:body/add#2"));
    EXPECT_TRUE(matches("main/while#7@all%100/add#2", "main/while#7@200:body/add#2"));
    EXPECT_FALSE(matches("main/while#7@all%100/add#2", "main/while#7@201:body/add#2"));
    EXPECT_FALSE(matches("main/while#7@last:body", "main/while#7@3:body")) << "which iteration is the last is not known";
    EXPECT_TRUE(matches("main/while#7@0,1,last-1..last", "main/while#7@1:body"));
    EXPECT_TRUE(matches(".../conv_2d#3", "main/conv_2d#3"));
    EXPECT_TRUE(matches(".../conv_2d#3", "other/while#7@3:body/if#2:then/conv_2d#3"));
    EXPECT_FALSE(matches(".../conv_2d#3", "main/conv_2d#4"));
    EXPECT_TRUE(matches(".../conv_2d#*", "main/while#7@3:body/conv_2d#9"));
    EXPECT_FALSE(matches(".../conv_2d#*", "main/depthwise_conv_2d#9"));
    EXPECT_TRUE(matches("main/while#7@all/*", "main/while#7@3:body/add#0"));
    EXPECT_TRUE(matches("main/while#7@all/*", "main/while#7@3:body/arg0"));
    EXPECT_FALSE(matches("main/while#7@all/*", "main/while#7@3:body/if#0:then/add#0")) << "directly inside";
    EXPECT_FALSE(matches("main/while#7@all/*", "main/while#7@3:body"));
    EXPECT_TRUE(matches("main/outer@all:frame/inner@2:frame/...", "main/outer@7:frame/inner@2:frame/add"));
    EXPECT_TRUE(matches("main/outer@all:frame/inner@2:frame/...", "main/outer@7:frame/inner@2:frame/deep@1:frame/add:1"));
    EXPECT_FALSE(matches("main/outer@all:frame/inner@2:frame/...", "main/outer@7:frame/inner@3:frame/add"));
}

TEST(Address, PatternsWithoutIterationsSlotsOrTargets)
{
    EXPECT_TRUE(matches("main/while#7:body/add#2", "main/while#7@12:body/add#2"));
    EXPECT_TRUE(matches("main/while#7:body/add#2", "main/while#7@12:body/add#2:0")) << "an operator and what it writes";
    EXPECT_TRUE(matches("main/while#7:body/add#2", "main/while#7@12:body/add#2:in1"));
    EXPECT_TRUE(matches("main/add#2:1", "main/add#2:1"));
    EXPECT_FALSE(matches("main/add#2:1", "main/add#2:0"));
    EXPECT_FALSE(matches("main/add#2:1", "main/add#2"));
    EXPECT_TRUE(matches("main/while#7@3", "main/while#7@3:body"));
    EXPECT_FALSE(matches("main/while#7@3", "main/while#7@3:body/add#0"));
    EXPECT_TRUE(matches("main", "main"));
    EXPECT_FALSE(matches("main", "main/x"));
    EXPECT_TRUE(matches("main/...", "main/x"));
    EXPECT_TRUE(matches("main/...", "main"));
    EXPECT_TRUE(matches("...", "any/while#1@2:body/x:0"));
    EXPECT_TRUE(matches("main/.../add#1", "main/add#1"));
    EXPECT_TRUE(matches("main/.../if#2:then/add#1", "main/while#0@1:body/while#0@2:body/if#2:then/add#1"));
    EXPECT_TRUE(matches("ma*n/c*v_*#3", "main/conv_2d#3"));
    EXPECT_TRUE(matches("main/while/*", "main/while/add/y"));
    EXPECT_FALSE(matches("main/while/*", "main/loop/add"));
    EXPECT_TRUE(matches("main/#3", "main/conv_2d#3"));
    EXPECT_TRUE(matches("r2:main/x", "r2:main/x"));
    EXPECT_FALSE(matches("r2:main/x", "main/x"));
    EXPECT_TRUE(matches("main/x", "r2:main/x"));
    EXPECT_FALSE(matches("main/%2A", "main/x")) << "an escaped star is a star";
    EXPECT_TRUE(matches("main/%2A", "main/%2A"));
    EXPECT_TRUE(matches("main/case#1:branch2/x", "main/case#1:branch2/x"));
    EXPECT_FALSE(matches("main/case#1:branch2/x", "main/case#1:branch3/x"));
}

TEST(Address, PatternsArePrinted)
{
    for (const char* text :
         {".../conv_2d#*", "main/while#7@10..20:body/add#2", "main/while#7@all%100:body/*", "main/.../x",
          "main/while#7@0..63,pow2,last-63..last:body", "...", "main/while#7@10..:body", "main/a*b@last:frame/...", "main/%2A"}) {
        const auto pattern = parsePattern(text);
        ASSERT_TRUE(pattern.ok()) << text;
        EXPECT_EQ(toString(*pattern), text);
    }
}

TEST(Address, MutatedTextsGiveErrorsOrAddresses)
{
    const std::vector<std::string> seeds = {"r2:main/while#7@37:body/if#3:then/add#2:0", "sig:serve/while#0@5:cond/x", ".../conv_2d#*",
                                            "main/outer@all%3:frame/.../a*b:in1", "main/case#4@0..63,pow2,last-63..last/branch2"};
    const std::string alphabet = "/@#:%*.,-019armbody_ cond\xff\x01last";
    uint64_t state = 7;
    const auto below = [&](size_t n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<size_t>(state >> 33) % n;
    };
    int good = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text = seeds[below(seeds.size())];
        for (size_t edits = 1 + below(3); edits > 0; --edits) {
            const size_t at = below(text.size() + 1);
            if (below(3) == 0) text.erase(at, 1 + below(4));
            else if (below(2) == 0 && at < text.size()) text[at] = alphabet[below(alphabet.size())];
            else text.insert(at, 1, alphabet[below(alphabet.size())]);
        }
        for (const bool pattern : {false, true}) {
            const auto parsed = pattern ? parsePattern(text) : parseAddress(text);
            if (!parsed.ok()) continue;
            ++good;
            const auto again = pattern ? parsePattern(toString(*parsed)) : parseAddress(toString(*parsed));
            ASSERT_TRUE(again.ok()) << text << " -> " << toString(*parsed);
            ASSERT_EQ(*again, *parsed) << text << " -> " << toString(*parsed);
        }
    }
    EXPECT_GT(good, 5000);
}

TEST(Iterations, ContainWhatTheySay)
{
    const auto members = [](std::string_view text, int64_t last = -1) {
        const auto set = parseIterations(text);
        EXPECT_TRUE(set.ok()) << text;
        std::vector<int> found;
        for (int i = 0; set.ok() && i <= 20; ++i)
            if (set->contains(i, last)) found.push_back(i);
        return found;
    };
    using testing::ElementsAre;
    EXPECT_EQ(members("all").size(), 21U);
    EXPECT_THAT(members("all%8"), ElementsAre(0, 8, 16));
    EXPECT_THAT(members("3"), ElementsAre(3));
    EXPECT_THAT(members("3..5"), ElementsAre(3, 4, 5));
    EXPECT_THAT(members("..2"), ElementsAre(0, 1, 2));
    EXPECT_THAT(members("19.."), ElementsAre(19, 20));
    EXPECT_THAT(members("1..20%7"), ElementsAre(1, 8, 15));
    EXPECT_THAT(members("pow2"), ElementsAre(1, 2, 4, 8, 16));
    EXPECT_THAT(members("0,1,last-1..last", 10), ElementsAre(0, 1, 9, 10));
    EXPECT_THAT(members("0,1,last-1..last"), ElementsAre(0, 1));
    EXPECT_THAT(members("last-5", 10), ElementsAre(5));
    EXPECT_THAT(members("last-5", 3), ElementsAre());
    EXPECT_THAT(members("last-5..last", 3), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(members("8..last", 10), ElementsAre(8, 9, 10));
    EXPECT_EQ(parseIterations("0..63,pow2,last-63..last")->reachFromLast(), 63);
    EXPECT_EQ(parseIterations("0..63,pow2")->reachFromLast(), -1);
    EXPECT_FALSE(parseIterations("0..63,pow2")->usesLast());
    for (const char* text : {"", "x", "1,", "1..2x", "all,3", "5..2", "last..last-1", "3%0", "pow2%3"})
        EXPECT_FALSE(parseIterations(text).ok()) << text;
    EXPECT_EQ(parseIterations("1,x").error().message(),
              "1,x: column 3: found 'x', expected iterations: a number, a range, all, last or pow2");
}

} // namespace
} // namespace loopscope
