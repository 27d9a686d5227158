// Invocations that the run has left, read as they ended.
#include "engine/debug/inspect/invocation_end.h"

#include "engine/debug/inspect/value_line.h"
#include "tests/unit/debug/inspect_models.h"

#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

/// 27 → 82 → 41 → 124 → 62 → 31 → 94 → 47 → 142 → 71 → 214 → 107 → 322
Inspected collatz(int32_t x = 27)
{
    return Inspected(kCountedCollatz, [x](Subject& subject) { subject.add<int32_t>(Shape{}, {x}); });
}

struct Look {
    std::string outcome, address, text;
};

Look lookAt(Inspected& session, const std::string& invocation, const std::string& expressions, EndSearch search = {})
{
    Look seen;
    const Result<Address> address = parseAddress(invocation);
    EXPECT_TRUE(address.ok());
    const int64_t tick = session.timeline().tick();
    const Result<EndFound> found = lookAtEnd(session.target(), *address, search, [&](const EndedInvocation& end) {
        seen.address = end.address();
        const auto values = end.evaluate(expressions);
        if (!values.ok()) {
            seen.text = values.error().message();
            return;
        }
        for (const EvaluatedValue& value : *values)
            seen.text +=
                (seen.text.empty() ? "" : ", ") + (value.absence == Absence::present ? bareText(value, {}) : absenceText(value.absence));
    });
    EXPECT_EQ(session.timeline().tick(), tick);
    seen.outcome = !found.ok()                  ? found.error().message()
                   : *found == EndFound::yes    ? "yes"
                   : *found == EndFound::notRun ? "not run"
                                                : "too far";
    return seen;
}

TEST(InvocationEnd, EvaluatesInAnIterationThatIsOver)
{
    Inspected session = collatz();
    session.goTo("main/while#0@20:body/if#2");
    // The last operator of the body gives i1; prev looks at the iteration before that one.
    const Look look = lookAt(session, "main/while#0@10:body", "x, next, i1, x + i1, prev(x), iter");
    EXPECT_EQ(look.outcome, "yes");
    EXPECT_EQ(look.address, "main/while#0@10:body");
    EXPECT_EQ(look.text, "214, 107, 11, 225, 71, 10");
}

TEST(InvocationEnd, ReadsValuesOfTheFrame)
{
    Inspected session = collatz();
    session.goTo("main/while#0@20:body/if#2");
    const Address address = *parseAddress("main/while#0@3:body");
    const Graph& body = session.target().model.graph(session.place("main/while#0@3:body").graph);
    std::string texts;
    const Result<EndFound> found = lookAtEnd(session.target(), address, {}, [&](const EndedInvocation& end) {
        EXPECT_EQ(end.frame().iteration, 3);
        for (const char* const id : {"x", "next", "i1"})
            if (const Tensor* const tensor = end.value(body.findValue(id))) texts += firstElements(*tensor).text + " ";
    });
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(texts, "124 62 4 ");
}

TEST(InvocationEnd, ABranchOnlyWhereItWasTaken)
{
    Inspected session = collatz();
    session.goTo("main/while#0@20:body/if#2");
    EXPECT_EQ(lookAt(session, "main/while#0@10:body/if#2:then", "x").text, "214");
    EXPECT_EQ(lookAt(session, "main/while#0@10:body/if#2:else", "x").outcome, "not run");
}

TEST(InvocationEnd, GoesNoFartherThanTheRunWas)
{
    Inspected session = collatz();
    session.goTo("main/while#0@20:body/if#2");
    EXPECT_EQ(lookAt(session, "main/while#0@20:body", "x").outcome, "not run"); // it has begun, no more
    EXPECT_EQ(lookAt(session, "main/while#0@21:body", "x").outcome, "not run");
    session.goTo("main/while#0@40:body/if#2");
    session.goTo("main/while#0@20:body/if#2");
    EXPECT_EQ(lookAt(session, "main/while#0@30:body", "iter").text, "30");
}

TEST(InvocationEnd, AnEarlierIterationWillDoWhenTimeIsOver)
{
    Inspected session = collatz();
    session.goTo("main/while#0@20:body/if#2");
    EndSearch search;
    search.budgetNs = 1;
    EXPECT_EQ(lookAt(session, "main/while#0@10:body", "x", search).outcome, "too far");
    search.nearestInStep = 0;
    const Look look = lookAt(session, "main/while#0@10:body", "x", search);
    EXPECT_TRUE(look.outcome == "yes" || look.outcome == "too far") << look.outcome;
}

TEST(InvocationEnd, SaysWhatCannotBeLookedAt)
{
    Inspected session = collatz();
    session.goTo("main/while#0@20:body/if#2");
    EXPECT_NE(lookAt(session, "main/while#9@1:body", "x").outcome.find("while#9"), std::string::npos);
    EXPECT_EQ(lookAt(session, "main/while#0@10:body", "nowhere").text.substr(0, 3), "1:1");
}

} // namespace
} // namespace loopscope::testing
