// Mutants of the samples: byte flips, truncations, splices and overwritten integers, from fixed seeds. Each mutant must open or be
// refused with one line; one that opens must print, read back, export and come back equal. A crash or a sanitizer report fails the test.
// Usage: mutation_test [MUTANTS [FIRST_SEED]]; default $LOOPSCOPE_MUTANTS or 20000. A failure prints its seed:
// `mutation_test 1 SEED` repeats it.
#include "converters/formats.h"
#include "converters/lsir/lsir.h"
#include "converters/tflite/tflite.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"
#include "engine/ir/verifier.h"
#include "schema_generated.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace loopscope {
namespace {

/// splitmix64: the same numbers on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : m_state(seed * 0x9e3779b97f4a7c15U + 1) {}
    uint64_t next()
    {
        m_state += 0x9e3779b97f4a7c15U;
        uint64_t z = m_state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    size_t below(size_t n) { return n == 0 ? 0 : next() % n; }

private:
    uint64_t m_state;
};

using Content = std::vector<std::byte>;

/// A sample as it is written in one format.
struct Sample {
    std::string name;
    bool isText = false;
    Content content;
};

void flipBits(Content& file, Random& random)
{
    for (size_t n = 1 + random.below(3); n > 0; --n) file[random.below(file.size())] ^= static_cast<std::byte>(1U << random.below(8));
}

void overwriteBytes(Content& file, Random& random)
{
    for (size_t n = 1 + random.below(2); n > 0; --n) file[random.below(file.size())] = static_cast<std::byte>(random.below(256));
}

/// Puts a number that tends to break things where one may be.
void overwriteInteger(Content& file, Random& random)
{
    const size_t width = size_t{1} << random.below(4);
    if (file.size() < width) return;
    const size_t at = random.below((file.size() - width) / width + 1) * width;
    const std::array<uint64_t, 14> odd = {0,          1,          2,           4,         0x7f,        0x80, 0xff, 0x7fff, 0x7fffffff, 0x80000000, 0xffffffff,
                                          ~uint64_t{0}, file.size(), file.size() - at};
    uint64_t value = odd[random.below(odd.size())];
    if (random.below(3) == 0) {
        value = 0;
        std::memcpy(&value, file.data() + at, width); // a little beside what is there
        value += random.below(65) - 32;
    }
    std::memcpy(file.data() + at, &value, width);
}

void splice(Content& file, const Content& other, Random& random)
{
    const size_t size = 1 + random.below(std::min<size_t>(64, std::min(file.size(), other.size())));
    const size_t from = random.below(other.size() - size + 1);
    const size_t to = random.below(file.size() - size + 1);
    std::memmove(file.data() + to, other.data() + from, size);
}

void insertOrErase(Content& file, Random& random)
{
    const auto at = static_cast<std::ptrdiff_t>(random.below(file.size()));
    const size_t size = 1 + random.below(16);
    if (random.below(2) == 0) file.insert(file.begin() + at, size, static_cast<std::byte>(random.below(256)));
    else file.erase(file.begin() + at, file.begin() + at + static_cast<std::ptrdiff_t>(std::min(size, file.size() - static_cast<size_t>(at))));
}

Content mutate(const Sample& sample, const Sample& other, Random& random)
{
    Content file = sample.content;
    // Mostly one small change: files with many do not get far.
    for (size_t n = random.below(4) == 0 ? 3 : 1; n > 0 && !file.empty(); --n) {
        switch (random.below(16)) {
        case 0: file.resize(random.below(file.size())); break;
        case 1: splice(file, other.content, random); break;
        case 2: insertOrErase(file, random); break;
        case 3:
        case 4:
        case 5: flipBits(file, random); break;
        case 6:
        case 7:
        case 8: overwriteBytes(file, random); break;
        default: overwriteInteger(file, random); break;
        }
    }
    return file;
}

/// What a mutant led to: how far it came, and what is wrong with that.
struct Outcome {
    bool opened = false;
    std::string problem;
};

/// A refusal is one line in lower case that does not end in a period; the path in front is ours.
std::string badMessage(const Error& error)
{
    const std::string message = error.message();
    if (message.find('\n') != std::string::npos) return "message of several lines: " + message;
    if (message.size() < 10) return "message too short: " + message;
    if (error.code() == ErrorCode::internal) return "a fault of ours: " + message;
    return {};
}

std::string checkTextAgain(const Model& model)
{
    const std::string text = printModel(model);
    const auto parsed = parseModel(text, "printed");
    if (!parsed.ok()) return "its text does not parse: " + parsed.error().message();
    if (!sameModel(model, *parsed)) return "differs after printing: " + firstDifference(model, *parsed);
    if (printModel(*parsed) != text) return "printing again changes the text";
    return {};
}

std::string checkExport(const Model& model, bool mustComeBackEqual)
{
    const auto written = exportTflite(model);
    if (!written.ok()) return badMessage(written.error());
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(written->data()), written->size());
    if (!tflite::VerifyModelBuffer(verifier)) return "what was written does not pass the FlatBuffers verifier";
    const auto again = importTflite("again", Bytes::copyOf(*written));
    // Text says things about tensors that a file may not say (data of the wrong size, …): the import refuses them then.
    if (!again.ok()) return mustComeBackEqual ? "what was written does not open: " + again.error().message() : badMessage(again.error());
    if (mustComeBackEqual && !sameModel(model, *again)) return "differs after export: " + firstDifference(model, *again);
    return {};
}

Outcome check(const Content& file, bool isText)
{
    Outcome outcome;
    const auto model = isText ? importLsir("mutant", Bytes::copyOf(file)) : importTflite("mutant", Bytes::copyOf(file));
    if (!model.ok()) {
        outcome.problem = badMessage(model.error());
        return outcome;
    }
    if (Status status = verifyModel(*model); !status.ok()) {
        outcome.problem = badMessage(std::move(status).takeError());
        return outcome;
    }
    outcome.opened = true;
    outcome.problem = checkTextAgain(*model);
    if (outcome.problem.empty()) outcome.problem = checkExport(*model, !isText);
    return outcome;
}

std::vector<Sample> samples()
{
    std::vector<std::string> paths{"tests/unit/tflite/every_feature.lsir"};
    for (const auto& entry : std::filesystem::recursive_directory_iterator("samples"))
        if (entry.path().extension() == ".lsir" || entry.path().extension() == ".tflite") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    std::vector<Sample> out;
    for (const std::string& path : paths) {
        const auto loaded = loadModel(path);
        if (!loaded.ok()) {
            std::printf("%s\n", loaded.error().message().c_str());
            continue;
        }
        if (auto file = exportTflite(loaded->model); file.ok()) out.push_back({path + " as .tflite", false, std::move(*file)});
        else std::printf("%s: %s\n", path.c_str(), file.error().message().c_str());
        const std::string text = lsirText(loaded->model, DataMode::inlineData);
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        out.push_back({path, true, Content(first, first + text.size())});
    }
    return out;
}

int run(uint64_t mutants, uint64_t firstSeed)
{
    const std::vector<Sample> all = samples();
    if (all.size() < 4) {
        std::printf("no samples\n");
        return 1;
    }
    uint64_t opened = 0;
    uint64_t failures = 0;
    for (uint64_t seed = firstSeed; seed < firstSeed + mutants && failures < 20; ++seed) {
        Random random(seed);
        const Sample& sample = all[random.below(all.size())];
        const Sample& other = all[random.below(all.size())];
        const Outcome outcome = check(mutate(sample, other, random), sample.isText);
        opened += outcome.opened ? 1 : 0;
        if (outcome.problem.empty()) continue;
        ++failures;
        std::printf("seed %llu, %s: %s\n", static_cast<unsigned long long>(seed), sample.name.c_str(), outcome.problem.c_str());
    }
    std::printf("%llu mutants of %zu samples: %llu opened, %llu failures\n", static_cast<unsigned long long>(mutants), all.size(),
                static_cast<unsigned long long>(opened), static_cast<unsigned long long>(failures));
    // Nearly all mutants refused would mean that the test reaches nothing behind the first check.
    return failures == 0 && (mutants < 100 || opened * 20 > mutants) ? 0 : 1;
}

} // namespace
} // namespace loopscope

int main(int argc, char** argv)
{
    const char* set = std::getenv("LOOPSCOPE_MUTANTS");
    const uint64_t mutants = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : set ? std::strtoull(set, nullptr, 10) : 20'000;
    return loopscope::run(mutants, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
