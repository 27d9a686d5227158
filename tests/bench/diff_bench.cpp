// How well the diff of graphs matches operators of pairs that were made by known edits, and how long large ones take.
#include "engine/base/clock.h"
#include "tests/bench/published_pairs.h"
#include "tests/bench/report.h"
#include "tests/unit/debug/labelled_pairs.h"

#include <cstdio>
#include <cstdlib>

int main()
{
    using namespace loopscope;
    using namespace loopscope::testing_pairs;
    int64_t right = 0, all = 0;
    for (const LabelledPair& pair : labelledPairs()) {
        const auto [own, of] = score(pair);
        std::printf("%-32s %3lld of %3lld\n", pair.name.c_str(), static_cast<long long>(own), static_cast<long long>(of));
        right += own;
        all += of;
    }
    const char* const corpus = std::getenv("LOOPSCOPE_CORPUS");
    for (const PublishedPair& pair : {keywordSpotting()}) {
        const auto found = corpus != nullptr ? score(pair, corpus) : std::nullopt;
        if (!found) {
            std::printf("%-32s no corpus here (set LOOPSCOPE_CORPUS)\n", pair.name.c_str());
            continue;
        }
        std::printf("%-32s %3lld of %3lld\n", pair.name.c_str(), static_cast<long long>(found->first),
                    static_cast<long long>(found->second));
        right += found->first;
        all += found->second;
    }
    bench::report("diff_labelled_pairs_mismatched", 100.0 - 100.0 * static_cast<double>(right) / static_cast<double>(all), "%", 3);
    for (const int size : {10'000, 100'000}) {
        const Nodes before = network(size, 3);
        Nodes after = before;
        rename(after, 5);
        for (size_t k = 1; k < after.size(); k += 7)
            if (after[k].weights != 0) after[k].weights += 2;
        const Model a = modelOf(before), b = modelOf(after);
        const int64_t start = nowNs();
        const GraphDiff diff = diffGraphs(a, GraphId(0), b, GraphId(0));
        const double seconds = static_cast<double>(nowNs() - start) * 1e-9;
        bench::report(size == 10'000 ? "diff_10000_operators" : "diff_100000_operators", seconds, "s", size == 10'000 ? 2 : 15);
        if (diff.matched * 100 < size * 97) std::printf("only %lld matched\n", static_cast<long long>(diff.matched));
    }
}
