// Rules about files: the folders at the top, lengths, opening comments, and what must not be written down.
#include "tests/rules/source_files.h"

#include <gtest/gtest.h>
#include <set>

namespace loopscope {
namespace {

const std::vector<std::string> kCode = {"engine", "converters", "tracer", "viewer", "app", "tests"};

TEST(Tree, topLevelHoldsOnlyTheAgreedFolders)
{
    const std::set<std::string> allowed = {"app",   "engine",  "viewer", "tracer",  "converters", "shaders",
                                           "tests", "samples", "docs",   "editors", "python",     "build"};
    for (const auto& entry : std::filesystem::directory_iterator(".")) {
        const std::string name = entry.path().filename().string();
        if (entry.is_directory() && name[0] != '.') {
            EXPECT_TRUE(allowed.count(name)) << name;
        }
    }
}

TEST(Tree, filesAreShort)
{
    for (const std::string& file : sourceFiles(kCode, {".h", ".cpp"})) {
        const size_t lines = linesOf(readText(file)).size();
        EXPECT_LE(lines, 600U) << file << ": is there a second thing in it that wants its own file?";
    }
}

TEST(Tree, headersSayWhatTheyHold)
{
    for (const std::string& file : sourceFiles(kCode, {".h"})) EXPECT_EQ(readText(file).rfind("//", 0), 0U) << file;
}

TEST(Tree, noFileSpeaksOfTheMachineItWasWrittenOn)
{
    // Split so that this file does not contain them.
    const std::vector<std::string> forbidden = {std::string("/wo") + "rk/", std::string("../sha") + "red", std::string("/ro") + "ot/"};
    auto files = sourceFiles(kCode, {".h", ".cpp", ".txt", ".ltest", ".def", ".fbs"});
    for (const std::string& file : sourceFiles({"docs", "samples"}, {".md", ".txt", ".lsir", ".svg"})) files.push_back(file);
    files.push_back("README.md");
    for (const std::string& file : files) {
        if (file.starts_with("tests/conformance/")) continue; // looks for a corpus beside the project
        const std::string text = readText(file);
        for (const std::string& word : forbidden) EXPECT_EQ(text.find(word), std::string::npos) << file << " contains " << word;
    }
}

} // namespace
} // namespace loopscope
