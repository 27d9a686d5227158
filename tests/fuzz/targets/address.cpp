// Fuzz target: addresses, patterns and places.
#include "tests/fuzz/target.h"

#include "engine/observe/address.h"

using namespace loopscope;

LS_FUZZ_TARGET(address, true, 600)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto address = parseAddress(text); address.ok()) static_cast<void>(toString(*address));
    static_cast<void>(parsePattern(text));
    static_cast<void>(parsePlace(text));
    static_cast<void>(parseIterations(text));
    return 0;
}
