// Op completeness: whatever ops.def lists is documented, has a kernel or is a call, and has text tests, one for each labelled constraint.
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"
#include "tests/rules/source_files.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <re2/re2.h>
#include <set>

namespace loopscope {
namespace {

std::string allOpTests()
{
    std::string text;
    for (const std::string& file : sourceFiles({"tests/ops", "tests/control_flow", "samples/text"}, {".ltest", ".lsir"}))
        text += readText(file) + "\n";
    return text;
}

std::string lowerCase(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

TEST(Operators, catalogueEntriesAreWhole)
{
    ASSERT_GT(allOps().size(), 7U);
    for (const OpDef& def : allOps()) {
        const std::string name(def.name);
        EXPECT_FALSE(def.summary.empty()) << name;
        EXPECT_FALSE(def.source.empty()) << name << ": where do its rules come from?";
        EXPECT_TRUE(def.maxInputs == 0 || !def.operands.empty()) << name;
        // Some StableHLO operators have the type that the file states: no operand determines it.
        EXPECT_TRUE(def.isCall || def.infer || name.starts_with("stablehlo_")) << name << " has no inference";
    }
}

TEST(Operators, kindsAreUnique)
{
    std::set<std::string> seen;
    for (const OpDef& def : allOps()) EXPECT_TRUE(seen.insert(std::string(def.dialect) + "." + std::string(def.name)).second) << def.name;
}

TEST(Operators, everyOperatorButCallsHasAReferenceKernel)
{
    for (const OpDef& def : allOps()) {
        const KernelEntry* kernel = KernelRegistry::builtin().find({std::string(def.dialect), std::string(def.name)}, Profile::reference);
        EXPECT_EQ(kernel == nullptr, def.isCall) << def.name;
        if (kernel) {
            EXPECT_FALSE(kernel->dtypes.empty()) << def.name << " names no dtypes";
        }
    }
}

TEST(Operators, everyOperatorHasATextTest)
{
    const std::string tests = allOpTests();
    for (const OpDef& def : allOps()) {
        const bool isWord = def.name.find_first_of(":>") == std::string_view::npos; // text quotes other names
        const bool isBare = def.dialect == "tfl" || def.dialect == "tf";
        const std::string prefix = !isBare ? std::string(def.dialect) + "\\." : isWord ? "\\b" : "";
        const std::string pattern = prefix + (isWord ? std::string(def.name) : '"' + std::string(def.name) + '"');
        EXPECT_TRUE(RE2::PartialMatch(tests, "[=\\s]" + pattern + "\\(")) << def.name << " is used by no .ltest under tests/ops";
    }
}

// A constraint is a promise about a message: each labelled one of a family (`violated(3, …)`) is shown to fire by a case named
// `<operator>_c3_…` of some operator of that family.
TEST(Operators, everyConstraintHasATest)
{
    std::map<std::string, std::vector<std::string>> families;
    const RE2 line(R"(^LS_(?:OP|CALL)\((\w+), *(\w+), *([\w/]+),)");
    for (const std::string& text : linesOf(readText("engine/ops/ops.def"))) {
        std::string dialect, name, family;
        if (RE2::PartialMatch(text, line, &dialect, &name, &family)) families[family].push_back(name);
    }
    ASSERT_FALSE(families.empty());
    const std::string tests = allOpTests();
    const RE2 constraint(R"(violated\(\s*(\d+))");
    for (const auto& [family, names] : families) {
        const std::string code = readText("engine/ops/" + family + ".cpp");
        std::set<std::string> numbers;
        re2::StringPiece rest(code);
        for (std::string number; RE2::FindAndConsume(&rest, constraint, &number);) numbers.insert(number);
        for (const std::string& number : numbers) {
            bool tested = false;
            for (const std::string& name : names)
                tested = tested || tests.find("== test " + lowerCase(name) + "_c" + number + "_") != std::string::npos;
            EXPECT_TRUE(tested) << "engine/ops/" << family << ".cpp: C" << number << " has no test named <operator>_c" << number << "_…";
        }
    }
}

// A golden case that is known not to pass is a difference that users are told of.
TEST(Operators, knownDifferencesAreDocumented)
{
    const std::string page = readText("docs/tflite.md");
    for (const char* suite : {"tflite-ops", "tflite-control-flow", "tflite-real"})
        for (const std::string& line : linesOf(readText("tests/conformance/known_" + std::string(suite) + ".txt"))) {
            const std::string id = line.substr(0, line.find_first_of(" #"));
            if (id.empty()) continue;
            EXPECT_NE(page.find("`" + id + "`"), std::string::npos) << id << " is not in docs/tflite.md";
        }
}

} // namespace
} // namespace loopscope
