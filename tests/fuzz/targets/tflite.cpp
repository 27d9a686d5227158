// Fuzz target: .tflite files: read, verified, printed, exported and planned.
#include "tests/fuzz/target.h"

#include "converters/tflite/tflite.h"
#include "tests/fuzz/opened.h"

using namespace loopscope;

LS_FUZZ_TARGET(tflite, false, 400)
{
    if (const auto model = importTflite("fuzz", Bytes::copyOf(data, size)); model.ok()) lookAtModel(*model);
    return 0;
}
