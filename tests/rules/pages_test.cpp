// Rules about docs/: every folder and every header of the session API has a page that names it, and paths that pages name are there.
#include "tests/rules/source_files.h"

#include <gtest/gtest.h>
#include <re2/re2.h>
#include <set>

namespace loopscope {
namespace {

bool mentions(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

/// Folders with sources of their own.
std::set<std::string> foldersOf(const std::vector<std::string>& tops)
{
    std::set<std::string> folders;
    for (const std::string& file : sourceFiles(tops, {".h", ".cpp"})) folders.insert(file.substr(0, file.rfind('/')));
    return folders;
}

TEST(Pages, architectureNamesEveryFolder)
{
    const std::string page = readText("docs/architecture.md"), operators = readText("docs/add_an_op.md");
    const auto folders = foldersOf({"engine", "converters", "tracer", "viewer", "app"});
    ASSERT_GT(folders.size(), 40U);
    for (const std::string& folder : folders) {
        const std::string name = folder.substr(folder.rfind('/') + 1);
        // Families and their kernels lie in folders by topic, which the checklist for operators lists.
        const bool isTopic = folder.starts_with("engine/ops/") || folder.starts_with("engine/kernels/cpu/");
        if (isTopic) EXPECT_TRUE(mentions(operators, "`" + name + "`")) << folder << " is not among the topics of docs/add_an_op.md";
        else
            EXPECT_TRUE(mentions(page, "**" + folder + "**") || mentions(page, "`" + name + "/`") || mentions(page, "`" + folder + "`"))
                << folder;
    }
}

TEST(Pages, everyHeaderOfTheSessionApiIsNamed)
{
    const std::string page = readText("docs/api.md");
    static const RE2 include("#include \"(engine/api/[^\"]+)\"");
    std::set<std::string> headers; // those that faces include
    for (const std::string& file : sourceFiles({"viewer", "app", "samples"}, {".h", ".cpp"})) {
        const std::string text = readText(file);
        re2::StringPiece rest(text);
        for (std::string found; RE2::FindAndConsume(&rest, include, &found);) headers.insert(found);
    }
    ASSERT_GT(headers.size(), 4U);
    for (const std::string& header : headers) {
        const std::string name = header.substr(std::string("engine/api/").size());
        const std::string folder = name.substr(0, name.find('/') + 1);
        EXPECT_TRUE(mentions(page, "`" + (folder.empty() ? name : folder) + "`")) << header;
    }
}

// `engine/exec/traps.h`, `tests/fuzz/run`: what a page names by its path is there. Names that begin with my_ are a reader's own.
TEST(Pages, namePathsThatAreThere)
{
    static const RE2 path("`((?:engine|converters|tracer|viewer|app|tests|samples|docs)/[A-Za-z0-9_./]+)`");
    std::vector<std::string> pages = sourceFiles({"docs", "samples"}, {".md"});
    for (const char* page : {"README.md", "CONTRIBUTING.md", "SECURITY.md"}) pages.emplace_back(page);
    int paths = 0;
    for (const std::string& page : pages) {
        const std::string text = readText(page);
        re2::StringPiece rest(text);
        for (std::string found; RE2::FindAndConsume(&rest, path, &found); ++paths)
            EXPECT_TRUE(mentions(found, "/my_") || mentions(found, "/topic/") || std::filesystem::exists(found))
                << page << " names " << found;
    }
    EXPECT_GT(paths, 60);
}

} // namespace
} // namespace loopscope
