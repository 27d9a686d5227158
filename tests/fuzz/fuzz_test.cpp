// Runs every fuzz target without libFuzzer: on the files of its corpus, as they are and changed in fixed ways, so that the targets stay
// whole and the plainest faults are found by every build. Usage: fuzz_test [TARGET [ROUNDS [FIRST_SEED]]]; LOOPSCOPE_FUZZ_SECONDS=n gives
// all targets together n seconds instead of their rounds. A crash is repeated by the last line that was printed; long searches are for
// libFuzzer (docs/testing.md).
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/target.h"

#include "engine/base/memory_budget.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace loopscope {
namespace {

std::vector<FuzzTarget>& targets()
{
    static std::vector<FuzzTarget> all;
    return all;
}

/// What is running, for the handler of a crash.
char running[128];

extern "C" void sayWhat(int signal)
{
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, running, std::char_traits<char>::length(running));
    std::signal(signal, SIG_DFL);
    raise(signal);
}

std::vector<Content> corpusOf(std::string_view name)
{
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/" + std::string(name), error))
        paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    std::vector<Content> files;
    for (const std::string& path : paths) {
        std::ifstream file(path, std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        files.emplace_back(first, first + text.size());
    }
    return files;
}

void runOn(const FuzzTarget& target, const Content& file, uint64_t seed)
{
    std::snprintf(running, sizeof running, "fuzz_test %s 1 %llu\n", std::string(target.name).c_str(),
                  static_cast<unsigned long long>(seed));
    alarm(60); // a reader that hangs is a fault, too
    target.run(reinterpret_cast<const uint8_t*>(file.data()), file.size());
    alarm(0);
}

using Clock = std::chrono::steady_clock;

/// Seed 0: the corpus as it is. `seconds` > 0: as many rounds as fit into them.
bool runTarget(const FuzzTarget& target, uint64_t rounds, uint64_t firstSeed, double seconds)
{
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const std::vector<Content> corpus = corpusOf(target.name);
    if (corpus.empty()) {
        std::printf("%s: no files in tests/fuzz/corpus/%s\n", std::string(target.name).c_str(), std::string(target.name).c_str());
        return false;
    }
    if (firstSeed == 0)
        for (const Content& file : corpus) runOn(target, file, 0);
    uint64_t seed = std::max<uint64_t>(firstSeed, 1);
    const uint64_t first = seed, last = firstSeed + rounds;
    for (; seconds > 0 ? Clock::now() < end : seed < last; ++seed) {
        Random random(seed);
        const Content& file = corpus[random.below(corpus.size())];
        const Content& other = corpus[random.below(corpus.size())];
        runOn(target, target.isText ? mutateText(file, other, random) : mutateBytes(file, other, random), seed);
    }
    std::printf("%s: %zu files, %llu changed ones\n", std::string(target.name).c_str(), corpus.size(),
                static_cast<unsigned long long>(seed - first));
    return true;
}

int run(const std::string& only, uint64_t rounds, uint64_t firstSeed)
{
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM}) std::signal(signal, sayWhat);
    setMemoryLimit(uint64_t{64} << 20); // what an input asks for within it is made, and must not take long
    const char* const limit = std::getenv("LOOPSCOPE_FUZZ_SECONDS");
    const auto shares = static_cast<double>(only.empty() ? targets().size() : 1);
    const double seconds = limit ? std::strtod(limit, nullptr) / shares : 0;
    size_t ran = 0;
    bool fine = true;
    for (const FuzzTarget& target : targets()) {
        if (!only.empty() && target.name != only) continue;
        fine = runTarget(target, rounds > 0 ? rounds : static_cast<uint64_t>(target.rounds), firstSeed, seconds) && fine;
        ++ran;
    }
    return fine && ran > 0 ? 0 : 1;
}

} // namespace

FuzzRegistration::FuzzRegistration(const FuzzTarget& target) { targets().push_back(target); }

} // namespace loopscope

int main(int argc, char** argv)
{
    return loopscope::run(argc > 1 ? argv[1] : "", argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0,
                          argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0);
}
