// Fuzz target: recordings: opened, asked every recipe, replayed, checked.
#include "tests/fuzz/target.h"

#include "tracer/api/trace_check.h"
#include "tracer/api/trace_reader.h"
#include "tracer/api/trace_replay.h"

using namespace loopscope;

LS_FUZZ_TARGET(recording, false, 60)
{
    const FuzzFile file(data, size, ".lstrace");
    const auto reader = TraceReader::open(file.path());
    if (!reader.ok()) return 0;
    for (const Recipe& recipe : traceRecipes())
        static_cast<void>((*reader)->recipe(recipe.name, {{"op", "if#2"}, {"step", "5"}}, {.seconds = 1}));
    if (auto run = RecordedRun::open(**reader); run.ok()) {
        static_cast<void>((*run)->event(3));
        static_cast<void>((*run)->value(3, 0));
    }
    static_cast<void>(checkTrace(**reader));
    return 0;
}
