// Fuzz target: .npy arrays.
#include "tests/fuzz/target.h"

#include "engine/tensor/npy.h"

using namespace loopscope;

LS_FUZZ_TARGET(npy, false, 400)
{
    static_cast<void>(readNpy(std::as_bytes(std::span(data, size))));
    return 0;
}
