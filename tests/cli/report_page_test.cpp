// The page of `raise --report` in a browser: what is clicked or pointed at brings its partner into view. Skipped where no browser is.
#include "engine/base/bytes.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

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
        m_folder = std::filesystem::temp_directory_path() / ("report_page." + std::to_string(getpid()));
        std::filesystem::create_directories(m_folder);
        const char* const program = std::getenv("LOOPSCOPE");
        ASSERT_NE(program, nullptr) << "set LOOPSCOPE to the program";
        outputOf(std::string(program) + " raise samples/text/v1_collatz.lsir --report " + path("page.html"));
    }
    void TearDown() override
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_folder, ignored);
    }

    std::string path(const std::string& name) const { return (m_folder / name).string(); }

    /// The page as it stands after `script` has run behind its own.
    std::string after(const std::string& script) const
    {
        const auto content = mapFile(path("page.html"));
        if (!content.ok()) return {};
        std::string page(content->as<char>(), content->size());
        page.insert(page.find("</body>"), "<script>const part = (side, title) => [...document.querySelectorAll('#' + side + ' .partner')]"
                                          ".find(e => e.querySelector('title').textContent === title);" +
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

    std::filesystem::path m_folder;
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
    const std::string page = after("part('after', 'cluster_main/collatz:body').dispatchEvent(new MouseEvent('click', {bubbles: true}));");
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

} // namespace
} // namespace loopscope::app
