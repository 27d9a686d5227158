// The pages of `raise --report` and `report` in a browser: what is clicked or pointed at brings its partner into view, and a recording's
// page has its plots and its first NaN. Skipped where no browser is.
#include "engine/base/bytes.h"
#include "tests/scratch.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace loopscope::app {
namespace {

std::string outputOf(const std::string& command)
{
    std::string text;
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return text;
    for (char block[4096]; const size_t count = fread(block, 1, sizeof block, pipe);) text.append(block, count);
    pclose(pipe);
    return text;
}

class ReportPage : public testing::Test {
protected:
    void SetUp() override
    {
        m_browser = outputOf("for b in chromium chromium-browser google-chrome chrome; do command -v $b && break; done");
        while (m_browser.ends_with('\n')) m_browser.pop_back();
        if (m_browser.empty()) GTEST_SKIP() << "no browser here";
        const char* const program = std::getenv("LOOPSCOPE");
        ASSERT_NE(program, nullptr) << "set LOOPSCOPE to the program";
        makePage(program);
    }
    virtual void makePage(const std::string& program)
    {
        outputOf(program + " raise samples/text/v1_collatz.lsir --report " + path("page.html"));
    }

    std::string path(const std::string& name) const { return m_folder.path(name); }

    /// The page as it stands after `script` has run behind its own.
    std::string after(const std::string& script) const
    {
        const auto content = mapFile(path("page.html"));
        if (!content.ok()) return {};
        std::string page(content->as<char>(), content->size());
        page.insert(page.find("</body>"), "<script>const part = (side, name) => [...document.querySelectorAll('#' + side + ' .partner')]"
                                          ".find(e => (e.dataset.name || e.querySelector('title').textContent) === name);" +
                                              script + "</script>");
        EXPECT_TRUE(writeFile(path("used.html"), page, true).ok());
        return outputOf("timeout 60 '" + m_browser + "' --headless --no-sandbox --disable-gpu --user-data-dir='" + path("profile") +
                        "' --dump-dom 'file://" + path("used.html") + "' 2>/dev/null");
    }

    /// What the page says of the thing that is held.
    static std::string says(const std::string& page)
    {
        const size_t begin = page.find("id=\"says\">"), end = page.find('<', begin);
        return begin == std::string::npos ? "" : page.substr(begin + 10, end - begin - 10);
    }

    /// How many things of one of the pictures carry the class.
    static int marked(const std::string& page, const std::string& side, const std::string& name)
    {
        const size_t begin = page.find("id=\"" + side + "\""), end = page.find("</section>", begin);
        int count = 0;
        for (size_t at = page.find(" " + name + "\"", begin); at < end; at = page.find(" " + name + "\"", at + 1)) ++count;
        return count;
    }

    ScratchFolder m_folder;
    std::string m_browser;
};

TEST_F(ReportPage, aClickHoldsThePartnersAndNamesThem)
{
    const std::string page = after("part('before', 'main/collatz:frame/rest').dispatchEvent(new MouseEvent('click', {bubbles: true}));");
    EXPECT_EQ(says(page), "main/collatz:frame/rest  \u2194  main/collatz:body/rest");
    EXPECT_EQ(marked(page, "before", "on"), 1);
    EXPECT_EQ(marked(page, "after", "on"), 1);
}

TEST_F(ReportPage, theLoopIsThePartnerOfAllThatMadeIt)
{
    const std::string page = after("part('after', 'main/collatz:body').dispatchEvent(new MouseEvent('click', {bubbles: true}));");
    EXPECT_NE(says(page).find("main/collatz:frame/LoopCond"), std::string::npos) << says(page);
    EXPECT_NE(says(page).find("main/collatz:frame/x/NextIteration"), std::string::npos) << says(page);
    EXPECT_GT(marked(page, "before", "on"), 8);
}

TEST_F(ReportPage, pointingMarksPartnersUntilThePointerLeaves)
{
    const std::string over = "part('before', 'main/collatz:frame/rest').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));";
    EXPECT_EQ(marked(after(over), "after", "near"), 1);
    EXPECT_EQ(marked(after(over + "document.body.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"), "after", "near"), 0);
}

class RecordingPage : public ReportPage {
protected:
    void makePage(const std::string& program) override
    {
        outputOf(program + " trace samples/text/nan_at_7.lsir -i n=12 -o " + path("run.lstrace") + " && " + program + " report " +
                 path("run.lstrace") + " -o " + path("page.html"));
    }

    /// How often `text` stands in the page.
    static int count(const std::string& page, std::string_view text)
    {
        int times = 0;
        for (size_t at = page.find(text); at != page.npos; at = page.find(text, at + 1)) ++times;
        return times;
    }
};

TEST_F(RecordingPage, aRowHoldsItsOperatorInTheGraph)
{
    // The slowest operator, whichever it was.
    const std::string page =
        after("[...document.querySelectorAll('h2')].find(h => h.textContent === 'The slowest operators')"
              ".nextElementSibling.querySelector('tr.partner td').dispatchEvent(new MouseEvent('click', {bubbles: true}));");
    EXPECT_EQ(marked(page, "before", "on"), 1) << says(page);
    EXPECT_NE(says(page), "");
}

TEST_F(RecordingPage, namesAreNoMarkup)
{
    const std::string evil = "<img src=x onerror=alert(1)>'\"</script><svg onload=alert(1)>";
    std::string name;
    for (const char c : evil) name += c == '"' ? "\\\"" : std::string(1, c);
    const std::string text = "lsir 1\ngraph main(\"" + name + "\": f32[2]) {\n  \"y" + name + "\" = log(\"" + name +
                             "\") : f32[2]\n  return \"y" + name + "\"\n}\n";
    ASSERT_TRUE(writeFile(path(evil.substr(0, 4) + ".lsir"), text, true).ok());
    outputOf("cd '" + m_folder.path() + "' && L='" + std::getenv("LOOPSCOPE") +
             "' && $L trace '<img.lsir' -i -1 -o evil.lstrace --level all && $L report evil.lstrace -o page.html --force");
    const std::string page = after("document.body.dataset.elements = document.querySelectorAll('img, [onload], [onerror]').length;");
    EXPECT_EQ(count(page, "data-elements=\"0\""), 1);
    EXPECT_GT(count(page, "onerror=alert"), 3) << "the name is nowhere";
}

TEST_F(RecordingPage, thePlotsShowWhereTheNanBegins)
{
    const std::string page = after("document.body.dataset.curves = document.querySelectorAll('svg .curve').length;"
                                   "document.body.dataset.lost = document.querySelectorAll('svg .lost').length;"
                                   "document.body.dataset.elsewhere = document.querySelectorAll('link, img, iframe, script[src]').length;");
    EXPECT_EQ(count(page, "data-curves=\"0\""), 0);
    EXPECT_EQ(count(page, "data-lost=\"0\""), 0);
    EXPECT_EQ(count(page, "data-elsewhere=\"0\""), 1);
}

} // namespace
} // namespace loopscope::app
