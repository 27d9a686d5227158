// Fuzz target: configuration files.
#include "tests/fuzz/target.h"

#include "app/wiring/config.h"

using namespace loopscope;

LS_FUZZ_TARGET(config, true, 300)
{
    static_cast<void>(app::parseConfig("fuzz", {reinterpret_cast<const char*>(data), size}));
    return 0;
}
