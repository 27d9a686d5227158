// Fuzz target: PNG and JPEG pictures.
#include "tests/fuzz/target.h"

#include "engine/tensor/picture.h"

using namespace loopscope;

LS_FUZZ_TARGET(picture, false, 300)
{
    for (const int channels : {0, 1, 3, 4}) static_cast<void>(readPicture(std::as_bytes(std::span(data, size)), {.channels = channels}));
    return 0;
}
