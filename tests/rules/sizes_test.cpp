// Rules about sizes: a function fits on a screen or two, and a class does one thing. What is larger today is listed with its present size
// as its limit, so that it can only shrink.
#include "tests/rules/source_files.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <re2/re2.h>

namespace loopscope {
namespace {

const std::vector<std::string> kCode = {"engine", "converters", "tracer", "viewer", "app", "tests"};
constexpr size_t kMostLines = 80;
constexpr size_t kMostMethods = 60;

/// Functions whose bodies are longer: file and signature, as long as they are now. Take an entry out when the function is split.
const std::map<std::string, size_t> kLongFunctions = {};

/// Classes that declare more methods: file and name, as many as they have now. Take an entry out when the class is split.
const std::map<std::string, size_t> kLargeClasses = {};

struct Measured {
    std::string name;
    size_t size = 0;
};

size_t indentOf(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Every block that clang-format opens on a line of its own, which is what bodies of functions are: the line before it, and its lines.
std::vector<Measured> bodiesOf(const std::string& text)
{
    const std::vector<std::string> lines = linesOf(text);
    std::map<size_t, size_t> openAt; // indentation → line
    std::vector<Measured> bodies;
    for (size_t i = 0; i < lines.size(); ++i) {
        const size_t indent = indentOf(lines[i]);
        const std::string rest = lines[i].substr(indent);
        if (rest == "{") openAt[indent] = i;
        const auto open = openAt.find(indent);
        if (rest.empty() || rest[0] != '}' || open == openAt.end()) continue;
        const size_t begin = open->second;
        const std::string head = begin == 0 ? std::string() : lines[begin - 1];
        bodies.push_back({head.substr(indentOf(head)), i - begin - 1});
        openAt.erase(open);
    }
    return bodies;
}

/// Every class and struct with the methods that it declares: lines of its own level that open a parenthesis and are no data.
std::vector<Measured> classesOf(const std::string& text)
{
    struct Open {
        size_t indent;
        Measured found;
    };
    static const RE2 kHead(R"(( *)(?:template <.*> )?(?:class|struct) ([\w:]+)[^;=()]*\{)");
    static const RE2 kCall(R"([\w>~=\]\)]\()");
    static const RE2 kNoMethod(R"((?://|/\*|Q_OBJECT|friend|using|static_assert|return|if |for |template <>|[\w:<>,\s&*]+ m_\w).*)");
    std::vector<Open> open;
    std::vector<Measured> classes;
    for (const std::string& line : linesOf(text)) {
        std::string indent, name;
        if (RE2::FullMatch(line, kHead, &indent, &name)) {
            open.push_back({indent.size(), {name, 0}});
            continue;
        }
        if (open.empty()) continue;
        const size_t level = indentOf(line);
        const std::string rest = line.substr(level);
        if (rest.starts_with("};") && level == open.back().indent) {
            classes.push_back(open.back().found);
            open.pop_back();
        } else if (level == open.back().indent + 4 && RE2::PartialMatch(rest, kCall) && !RE2::FullMatch(rest, kNoMethod)) {
            ++open.back().found.size;
        }
    }
    return classes;
}

using Finder = std::vector<Measured> (*)(const std::string&);

/// Holds what `find` finds in the code to `most`, and what is listed to its own limit.
void expectSmall(Finder find, size_t most, const std::map<std::string, size_t>& listed, const std::string& what)
{
    for (const std::string& file : sourceFiles(kCode, {".h", ".cpp"}))
        for (const Measured& each : find(readText(file))) {
            const std::string name = file + ": " + each.name;
            const auto entry = listed.find(name);
            EXPECT_LE(each.size, entry == listed.end() ? most : entry->second) << name << " has too many " << what;
        }
}

TEST(Sizes, functionsAreShort) { expectSmall(bodiesOf, kMostLines, kLongFunctions, "lines"); }

TEST(Sizes, classesDoOneThing) { expectSmall(classesOf, kMostMethods, kLargeClasses, "methods"); }

TEST(Sizes, bodiesAreFound)
{
    const std::string text =
        "void f()\n{\n    if (x) {\n        y();\n    }\n}\n\nclass C {\n    int g()\n    {\n        return 1;\n    }\n};\n";
    const std::vector<Measured> bodies = bodiesOf(text);
    ASSERT_EQ(bodies.size(), 2U);
    EXPECT_EQ(bodies[0].name, "void f()");
    EXPECT_EQ(bodies[0].size, 3U);
    EXPECT_EQ(bodies[1].name, "int g()");
    EXPECT_EQ(bodies[1].size, 1U);

    std::string longer = "int g()\n{\n";
    for (size_t i = 0; i <= kMostLines; ++i) longer += "    step();\n";
    const std::vector<Measured> found = bodiesOf(longer + "}\n");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].size, kMostLines + 1);
}

TEST(Sizes, methodsAreCounted)
{
    const std::string text = "class Outer : public Base {\n"
                             "public:\n"
                             "    explicit Outer(int a);\n"
                             "    ~Outer();\n"
                             "    // a comment (not a method)\n"
                             "    int f() const { return m_f; }\n"
                             "    struct Inner {\n"
                             "        void g();\n"
                             "    };\n"
                             "    template <typename T> T h(T value);\n"
                             "    bool operator==(const Outer&) const = default;\n"
                             "    int longer(int a,\n"
                             "               int b);\n"
                             "    int m_f = f();\n"
                             "};\n";
    const std::vector<Measured> classes = classesOf(text);
    ASSERT_EQ(classes.size(), 2U);
    EXPECT_EQ(classes[0].name, "Inner");
    EXPECT_EQ(classes[0].size, 1U);
    EXPECT_EQ(classes[1].name, "Outer");
    EXPECT_EQ(classes[1].size, 6U);
}

} // namespace
} // namespace loopscope
