// What the names of things in addresses turn into: places without iterations, without a root, and in words.
#include "engine/observe/address_names.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(AddressNames, PlacesLoseTheirIterations)
{
    EXPECT_EQ(withoutIterations("main/while#1@37:body/add#14:0"), "main/while#1:body/add#14:0");
    EXPECT_EQ(withoutIterations("main/outer@3:frame/inner@2/x"), "main/outer:frame/inner:frame/x");
    EXPECT_EQ(withoutIterations(".../while#1@0..5:body/mul#0"), ".../while#1:body/mul#0");
    EXPECT_EQ(withoutIterations("no address: at all"), "no address: at all");
}

TEST(AddressNames, InvocationsAreWhereAPlaceLies)
{
    EXPECT_EQ(invocationOf(std::string("main/while#1@3:body/add#14:0")), "main/while#1@3:body");
    EXPECT_EQ(invocationOf(std::string("main/scope/node")), "main") << "a node's name has slashes of its own";
    EXPECT_EQ(withoutRoot("main/while#1:body/add#14"), "while#1:body/add#14");
    EXPECT_EQ(withoutRoot("main/add#14"), "add#14");
    EXPECT_EQ(withoutRoot("main"), "main");
}

TEST(AddressNames, InvocationsHaveCallersAndSites)
{
    EXPECT_EQ(rootOf("main/while#1@3:body/add#14:0"), "main");
    EXPECT_EQ(rootOf("sig:serve/scope/node"), "sig:serve");
    EXPECT_EQ(callerOf("main/while#1@3:body/if#3:then"), "main/while#1@3:body");
    EXPECT_EQ(callerOf("main/scope/call:call"), "main") << "a node's name has slashes of its own";
    EXPECT_EQ(callerOf("main"), "");
    EXPECT_EQ(callSiteOf("main/while#1@3:body/if#3:then"), "main/while#1@3:body/if#3");
    EXPECT_EQ(callSiteOf("main/while#1@3:body"), "main/while#1");
    EXPECT_EQ(callSiteOf("main"), "");
}

TEST(AddressNames, TheLastPartIsWhatIsNamed)
{
    EXPECT_EQ(lastPart("main/while#1:body/tanh#15"), "tanh#15");
    EXPECT_EQ(lastPart("main/while#1@3:body"), "while#1@3:body");
    EXPECT_EQ(lastPart("main/outer:frame/scope/node:0"), "scope/node:0");
    EXPECT_EQ(lastPart("main"), "main");
    EXPECT_TRUE(liesDirectlyIn("main/scope/node", "main"));
    EXPECT_TRUE(liesDirectlyIn("main/while#1:body", "main")) << "it is called there";
    EXPECT_FALSE(liesDirectlyIn("main/while#1:body/add#1", "main"));
    EXPECT_TRUE(liesDirectlyIn("main/while#1:body/add#1", "main/while#1:body"));
}

TEST(AddressNames, PlacesAreReadInWords)
{
    EXPECT_EQ(placeText("main/while#1:body/tanh#15"), "tanh#15 in while#1:body");
    EXPECT_EQ(placeText("main/while#1:body/if#3:then"), "if#3:then in while#1:body");
    EXPECT_EQ(placeText("main/tanh#15"), "tanh#15");
    EXPECT_EQ(placeText(".../mul#0"), "mul#0");
    EXPECT_EQ(placeText("main"), "main");
    EXPECT_EQ(placeText("main/outer:frame/scope/node"), "scope/node in outer:frame");
}

TEST(AddressNames, RolesOfCallsAndStepsAreOneAnother)
{
    for (const CallRole role : {CallRole::loop, CallRole::thenBranch, CallRole::elseBranch, CallRole::branch, CallRole::call,
                                CallRole::init, CallRole::region, CallRole::frame})
        EXPECT_EQ(callRole(stepRole(role, false)), role);
    EXPECT_EQ(stepRole(CallRole::loop, true), StepRole::cond);
    EXPECT_EQ(stepRole(CallRole::main, false), StepRole::none);
    AddressStep step;
    step.role = StepRole::branch;
    step.branch = 2;
    EXPECT_EQ(roleText(step), "branch2");
}

} // namespace
} // namespace loopscope
