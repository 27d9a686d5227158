// Fuzz target: text tests.
#include "tests/fuzz/target.h"

#include "app/check/ltest_file.h"

using namespace loopscope;

LS_FUZZ_TARGET(ltest, true, 300)
{
    static_cast<void>(app::parseLtest("fuzz", {reinterpret_cast<const char*>(data), size}));
    return 0;
}
