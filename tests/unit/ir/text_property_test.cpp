// What holds for every model and every text: printing and parsing are inverse, printing is canonical, and no text makes the parser fall.
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/text/structured.h"
#include "engine/ir/verifier.h"
#include "tests/unit/ir/random_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace loopscope {
namespace {

TEST(TextProperties, RandomModelsRoundTrip)
{
    int valid = 0;
    constexpr int kModels = 1500;
    for (int seed = 0; seed < kModels; ++seed) {
        const Model model = RandomModel(static_cast<uint64_t>(seed)).make();
        if (!verifyModel(model).ok()) continue; // two random names may clash
        ++valid;
        const std::string text = printModel(model);
        ParsedText parsed = parseText(text);
        ASSERT_TRUE(parsed.errors.empty()) << "seed " << seed << ": " << parsed.errors.front().line << ":" << parsed.errors.front().column
                                           << ": " << parsed.errors.front().message << "\n"
                                           << text;
        ASSERT_EQ(firstDifference(model, parsed.model), "") << "seed " << seed << "\n" << text;
        ASSERT_EQ(firstDifference(parsed.model, model), "") << "seed " << seed << "\n" << text;
        ASSERT_EQ(printModel(parsed.model), text) << "seed " << seed;
        ASSERT_TRUE(verifyModel(parsed.model).ok()) << "seed " << seed;
        structuredView(parsed.model); // shows anything without falling
    }
    EXPECT_GT(valid, kModels * 9 / 10);
}

TEST(TextProperties, EveryDifferenceIsFound)
{
    // Another seed is another model: a comparison that says equal too easily shows here.
    for (uint64_t seed = 0; seed < 300; ++seed) {
        const Model a = RandomModel(seed).make();
        const Model b = RandomModel(seed + 1).make();
        if (verifyModel(a).ok() && verifyModel(b).ok()) {
            EXPECT_EQ(firstDifference(a, b).empty(), printModel(a) == printModel(b)) << seed;
        }
    }
}

/// One to three small edits: bytes changed, dropped, repeated, tokens put in, the rest cut off.
std::string mutated(const std::string& text, std::mt19937_64& random)
{
    static const std::vector<std::string> kTokens = {"(",
                                                     ")",
                                                     "[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     "<",
                                                     ">",
                                                     "\"",
                                                     "\\",
                                                     "\n",
                                                     " ",
                                                     ",",
                                                     "=",
                                                     ":",
                                                     "@",
                                                     "%",
                                                     "^",
                                                     "$",
                                                     "?",
                                                     "#",
                                                     ";",
                                                     "*",
                                                     "_",
                                                     "-",
                                                     "->",
                                                     "nan(0x",
                                                     "inf",
                                                     "hex\"",
                                                     "const",
                                                     "graph",
                                                     "names",
                                                     "data",
                                                     "return",
                                                     "f32[",
                                                     "i4",
                                                     "q(axis=",
                                                     "splat ",
                                                     "sparse(",
                                                     "range(",
                                                     "sig[",
                                                     "variant<",
                                                     "999999999999999999999",
                                                     "-1",
                                                     "1e999",
                                                     "base64 {",
                                                     "shape[",
                                                     "\xff",
                                                     "external 0"};
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % std::max<size_t>(n, 1)); };
    std::string out = text;
    for (size_t edits = 1 + below(3); edits > 0 && !out.empty(); --edits) {
        const size_t at = below(out.size());
        switch (below(6)) {
        case 0: out[at] = static_cast<char>(random()); break;
        case 1: out.erase(at, 1 + below(8)); break;
        case 2: out.insert(at, kTokens[below(kTokens.size())]); break;
        case 3: out.insert(at, out.substr(below(out.size()), below(40))); break;
        case 4: out.replace(at, std::min<size_t>(below(12), out.size() - at), kTokens[below(kTokens.size())]); break;
        default: out.resize(at); break;
        }
    }
    return out;
}

TEST(TextProperties, MutatedTextsGiveErrorsOrModels)
{
    ParseOptions options;
    options.largestExpansion = 1 << 16;
    std::mt19937_64 random(20240607);
    int models = 0;
    int mutants = 0;
    for (uint64_t seed = 0; seed < 250; ++seed) {
        const std::string text = printModel(RandomModel(seed).make());
        for (int i = 0; i < 100; ++i) {
            ++mutants;
            const std::string mutant = mutated(text, random);
            const ParsedText parsed = parseText(mutant, options);
            ASSERT_LE(parsed.errors.size(), 20U);
            for (const TextError& error : parsed.errors) ASSERT_FALSE(error.message.empty());
            if (!parsed.errors.empty()) continue;
            ++models;
            const std::string canonical = printModel(parsed.model);
            const ParsedText again = parseText(canonical, options);
            ASSERT_TRUE(again.errors.empty()) << again.errors.front().line << ":" << again.errors.front().column << ": "
                                              << again.errors.front().message << "\nmutant:\n"
                                              << mutant << "\ncanonical:\n"
                                              << canonical;
            ASSERT_EQ(printModel(again.model), canonical) << mutant;
            ASSERT_EQ(firstDifference(parsed.model, again.model), "") << mutant;
        }
    }
    EXPECT_EQ(mutants, 25000);
    EXPECT_GT(models, 1000) << "mutants that parse test more than the first error";
    EXPECT_LT(models, mutants - 1000);
}

TEST(TextProperties, TenThousandOperators)
{
    // Anything that looks at every other operator for each one makes this test take minutes.
    std::string text = "graph main(x: f32[1,96,96,3]) {\n";
    for (int i = 0; i < 2000; ++i) text += "  w" + std::to_string(i) + " = const f32[4] [0.1, 0.2, 0.3, " + std::to_string(i) + ".5]\n";
    for (int i = 0; i < 10000; ++i)
        text += "  layer_" + std::to_string(i) + "/Conv2D = conv_2d(" + (i == 0 ? "x" : "layer_" + std::to_string(i - 1) + "/Conv2D") +
                ", w" + std::to_string(i % 2000) + ", _) act=RELU padding=SAME stride_h=2 stride_w=2 : f32[1,48,48,8] q(0.5, -1)\n";
    text += "  return layer_9999/Conv2D\n}\n";
    const ParsedText parsed = parseText(text);
    ASSERT_TRUE(parsed.errors.empty());
    const std::string printed = printModel(parsed.model);
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 12007);
    EXPECT_EQ(structuredView(parsed.model).size(), 10002U);
}

} // namespace
} // namespace loopscope
