// Damaged input gives errors, never a crash: every parser of this layer on mutants of good input, seeds fixed. Run under the sanitizers
// (preset asan) these tests also find reads beyond the end.
#include "app/check/ltest_file.h"
#include "app/commands/commands.h"
#include "app/wiring/config.h"
#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/literal.h"
#include "engine/tensor/npy.h"

#include <gtest/gtest.h>
#include <random>

namespace loopscope::app {
namespace {

/// A copy of `text` with one to three changes: a byte flipped, removed, doubled, or the end cut off.
std::string mutant(const std::string& text, std::mt19937& random)
{
    std::string out = text;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes && !out.empty(); ++i) {
        const size_t at = random() % out.size();
        switch (random() % 4) {
        case 0: out[at] = static_cast<char>(random() % 256); break;
        case 1: out.erase(at, 1 + random() % 4); break;
        case 2: out.insert(at, out.substr(at, 1 + random() % 8)); break;
        default: out.resize(at); break;
        }
    }
    return out;
}

constexpr int kMutants = 3000;

TEST(Robustness, npy_files)
{
    const std::vector<std::string> literals = {"[[1, 2], [3, 4]]", "[1.5, nan]", "[\"ab\", \"c\"]"};
    const std::vector<DType> dtypes = {DType::i16, DType::f32, DType::string};
    std::mt19937 random(1);
    int good = 0;
    for (size_t k = 0; k < literals.size(); ++k) {
        const auto array = parseLiteral(literals[k], dtypes[k], Shape::unknownRank(), ScalarMeans::fill);
        ASSERT_TRUE(array.ok());
        const auto file = writeNpy(array->view());
        ASSERT_TRUE(file.ok());
        const std::string text(reinterpret_cast<const char*>(file->data()), file->size());
        for (int i = 0; i < kMutants; ++i) {
            const std::string changed = mutant(text, random);
            good += readNpy(std::as_bytes(std::span(changed.data(), changed.size()))).ok() ? 1 : 0;
        }
    }
    EXPECT_GT(good, 0); // changes of the data alone do no harm
}

TEST(Robustness, literals_and_inputs)
{
    std::mt19937 random(2);
    const TensorType type{DType::f32, Shape{2, kUnknownDim}};
    for (const std::string text : {"[[1, 2.5e3], [-inf, nan(0x7fc00000)]]", "(1.0, -2.0)", "[\"a\\x41\\n\", \"b\"]", "[true, false]"})
        for (int i = 0; i < kMutants; ++i) {
            const std::string changed = mutant(text, random);
            for (DType dtype : {DType::f32, DType::i4, DType::c64, DType::string, DType::boolean, DType::bf16})
                (void)parseLiteral(changed, dtype, type.shape, ScalarMeans::fill).ok();
            (void)literalDtype(changed);
        }
    bool usedSeed = false;
    for (const std::string text : {"x=in.npy:cast; x[0,1]=nan; x[-1,0]=2", "\"a=b\"=@7[-1,1]:[2,3]", "x=@rand[0,9]"})
        for (int i = 0; i < kMutants; ++i) {
            const std::string changed = mutant(text, random);
            const auto option = splitInputOption(changed);
            // Shapes are kept small here: a mutant may well ask for gigabytes, and would be given them.
            if (option.ok() && option->source.starts_with("@") && option->source.find(":[") == std::string::npos)
                (void)randomFromText(option->source.substr(1), type, 1, 0, usedSeed).ok();
        }
}

TEST(Robustness, text_tests_and_configuration)
{
    std::mt19937 random(3);
    const std::string test =
        "== test t slow\nwords\n== model\ngraph main(x: f32[2]) {\n  y = neg(x) : f32[2]\n  return y\n}\n== run seed=1\nx = [1, 2]\n"
        "== expect ulp 1\ny = f32[2] [-1, -2] close atol=1\n== sql\nSELECT 1\n--\n{{1:\\d+}} ... {{1}}\n";
    const std::string config = "[defaults]\ncolor = \"never\" # so\n[aliases]\nt = \"trace --level values\"\n";
    for (int i = 0; i < kMutants; ++i) {
        const auto file = parseLtest("t", mutant(test, random));
        if (file.ok())
            for (const LtestCase& c : file->cases)
                for (const LtestSection& s : c.sections) (void)matchReply(s.lines, {"1 x 1", "y"});
        (void)parseConfig("c", mutant(config, random)).ok();
    }
}

TEST(Robustness, command_lines)
{
    std::mt19937 random(4);
    const std::string line = "-i x=1 --seed 7 m.tflite --max-steps=1e9 -- --rest -o";
    for (int i = 0; i < kMutants; ++i) {
        std::vector<std::string> words;
        for (const std::string& word : splitLines(mutant(line, random))) {
            size_t at = 0;
            while (at <= word.size()) {
                const size_t end = std::min(word.find(' ', at), word.size());
                words.push_back(word.substr(at, end - at));
                at = end + 1;
            }
        }
        for (const CommandSpec& command : allCommands()) (void)parseArguments(command, words).ok();
    }
}

} // namespace
} // namespace loopscope::app
