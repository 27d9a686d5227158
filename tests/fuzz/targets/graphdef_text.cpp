// Fuzz target: TensorFlow graphs as text.
#include "tests/fuzz/target.h"

#include "converters/graphdef/graphdef.h"
#include "tests/fuzz/opened.h"

using namespace loopscope;

LS_FUZZ_TARGET(graphdef_text, true, 300)
{
    if (const auto model = importGraphDefText("fuzz", Bytes::copyOf(data, size)); model.ok()) lookAtModel(*model);
    return 0;
}
