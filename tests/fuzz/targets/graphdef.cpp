// Fuzz target: TensorFlow graphs as binary messages.
#include "tests/fuzz/target.h"

#include "converters/graphdef/graphdef.h"
#include "tests/fuzz/opened.h"

using namespace loopscope;

LS_FUZZ_TARGET(graphdef, false, 400)
{
    if (const auto model = importGraphDef("fuzz", Bytes::copyOf(data, size)); model.ok()) lookAtModel(*model);
    return 0;
}
