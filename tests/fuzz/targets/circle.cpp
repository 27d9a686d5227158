// Fuzz target: .circle files.
#include "tests/fuzz/target.h"

#include "converters/circle/circle.h"
#include "tests/fuzz/opened.h"

using namespace loopscope;

LS_FUZZ_TARGET(circle, false, 200)
{
    if (const auto model = importCircle("fuzz", Bytes::copyOf(data, size)); model.ok()) lookAtModel(*model);
    return 0;
}
