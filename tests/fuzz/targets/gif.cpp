// Fuzz target: GIF pictures and animations.
#include "tests/fuzz/target.h"

#include "engine/kernels/cpu/image/gif.h"

using namespace loopscope;

LS_FUZZ_TARGET(gif, false, 300)
{
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    for (const bool onlyFirst : {false, true}) static_cast<void>(GifReader(file).read(onlyFirst));
    return 0;
}
