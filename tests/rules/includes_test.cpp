// Every header includes what it names of the standard library. The header test compiles with precompiled headers, which already hold
// the standard's and Qt's: what is forgotten there shows here.
#include "tests/rules/source_files.h"

#include <gtest/gtest.h>
#include <map>
#include <re2/re2.h>
#include <set>

namespace loopscope {
namespace {

/// Names of namespace std, by the header that declares them; those that several headers declare stand under the leanest.
const std::map<std::string, std::vector<std::string>> kNamesOf = {
    {"algorithm",
     {"all_of", "any_of",      "binary_search", "clamp",   "copy",   "equal",     "fill",    "find", "find_if",     "lower_bound",
      "max",    "max_element", "min",           "none_of", "ranges", "remove_if", "reverse", "sort", "stable_sort", "upper_bound"}},
    {"array", {"array"}},
    {"atomic", {"atomic", "atomic_bool"}},
    {"bit", {"bit_cast", "countr_zero", "popcount"}},
    {"bitset", {"bitset"}},
    {"chrono", {"chrono"}},
    {"cmath", {"abs", "ceil", "exp", "floor", "isfinite", "isinf", "isnan", "log", "pow", "round", "sqrt"}},
    {"complex", {"complex"}},
    {"condition_variable", {"condition_variable"}},
    {"cstddef", {"byte", "max_align_t", "ptrdiff_t"}},
    {"cstdint", {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t"}},
    {"cstring", {"memcmp", "memcpy", "memmove", "memset", "strlen"}},
    {"deque", {"deque"}},
    {"filesystem", {"filesystem"}},
    {"functional", {"function", "hash"}},
    {"initializer_list", {"initializer_list"}},
    {"limits", {"numeric_limits"}},
    {"list", {"list"}},
    {"map", {"map", "multimap"}},
    {"memory", {"enable_shared_from_this", "make_shared", "make_unique", "shared_ptr", "unique_ptr", "weak_ptr"}},
    {"mutex", {"lock_guard", "mutex", "once_flag", "scoped_lock", "unique_lock"}},
    {"optional", {"nullopt", "optional"}},
    {"queue", {"priority_queue", "queue"}},
    {"random", {"mt19937", "mt19937_64", "uniform_int_distribution"}},
    {"set", {"multiset", "set"}},
    {"span", {"dynamic_extent", "span"}},
    {"sstream", {"istringstream", "ostringstream", "stringstream"}},
    {"string", {"stod", "stoi", "string", "to_string"}},
    {"string_view", {"string_view"}},
    {"thread", {"thread"}},
    {"tuple", {"tie", "tuple"}},
    {"type_traits",
     {"decay_t", "enable_if_t", "is_floating_point_v", "is_integral_v", "is_same_v", "is_signed_v", "make_unsigned_t", "remove_cvref_t"}},
    {"unordered_map", {"unordered_map"}},
    {"unordered_set", {"unordered_set"}},
    {"utility", {"exchange", "forward", "move", "pair", "swap"}},
    {"variant", {"get_if", "holds_alternative", "monostate", "variant", "visit"}},
    {"vector", {"vector"}},
};

/// The text of a header without its comments and string literals.
std::string codeOf(const std::string& text)
{
    static const RE2 comment(R"re(//[^\n]*|"(\\.|[^"\\\n])*")re");
    std::string code = text;
    RE2::GlobalReplace(&code, comment, "");
    return code;
}

/// The first group of each match, without repetitions.
std::set<std::string> matches(const std::string& text, const RE2& pattern)
{
    std::set<std::string> found;
    re2::StringPiece rest(text);
    for (std::string one; RE2::FindAndConsume(&rest, pattern, &one);) found.insert(one);
    return found;
}

/// "<optional> for std::nullopt", … : what `text` names and does not include.
std::vector<std::string> missingIncludes(const std::string& text)
{
    static const RE2 include(R"(#include <([^>]+)>)"), standard(R"(\bstd::(\w+))");
    const std::set<std::string> included = matches(text, include), named = matches(codeOf(text), standard);
    std::vector<std::string> missing;
    for (const auto& [header, names] : kNamesOf) {
        if (included.count(header)) continue;
        const auto used = std::find_if(names.begin(), names.end(), [&](const std::string& name) { return named.count(name) != 0; });
        if (used != names.end()) missing.push_back("<" + header + "> for std::" + *used);
    }
    return missing;
}

/// A class of Qt that `text` names without declaring it and without any header of Qt or of the viewer; empty if there is none. One such
/// header brings the plain classes (QString, QRect, QEvent) along, so more is not asked.
std::string strangeQtClass(const std::string& text)
{
    static const RE2 include(R"(#include [<"](Q\w+|viewer/[^">]+)[">])"), declared(R"(\bclass (Q[A-Z]\w+);)"),
        named(R"(\b(Q[A-Z][a-z]\w+)\b)");
    if (!matches(text, include).empty()) return {};
    const std::set<std::string> known = matches(text, declared);
    for (const std::string& name : matches(codeOf(text), named))
        if (!known.count(name)) return name;
    return {};
}

TEST(Includes, headersIncludeWhatTheyNameOfTheStandardLibrary)
{
    for (const std::string& file : sourceFiles({"engine", "converters", "tracer", "viewer", "app"}, {".h"}))
        for (const std::string& missing : missingIncludes(readText(file))) ADD_FAILURE() << file << " does not include " << missing;
}

TEST(Includes, headersOfTheDesktopKnowTheClassesOfQtTheyName)
{
    for (const std::string& file : sourceFiles({"viewer", "app"}, {".h"})) EXPECT_EQ(strangeQtClass(readText(file)), "") << file;
}

TEST(Includes, ruleSeesWhatIsMissing)
{
    EXPECT_EQ(missingIncludes("#include <vector>\nstd::vector<int> f(std::string_view); // std::map\nconst char* s = \"std::set\";"),
              std::vector<std::string>{"<string_view> for std::string_view"});
    EXPECT_EQ(strangeQtClass("class QPainter;\nvoid paint(QPainter&, QRect);"), "QRect");
    EXPECT_EQ(strangeQtClass("#include <QWidget>\nvoid paint(QPainter&, QRect);"), "");
}

} // namespace
} // namespace loopscope
