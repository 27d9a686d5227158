// Fuzz target: .npz archives and the .npy arrays in them.
#include "tests/fuzz/target.h"

#include "engine/tensor/npz.h"

using namespace loopscope;

LS_FUZZ_TARGET(npz, false, 400)
{
    const FuzzFile file(data, size, ".npz");
    const auto archive = NpzFile::open(file.path());
    if (!archive.ok()) return 0;
    for (const std::string& key : archive->keys()) static_cast<void>(archive->read(key));
    return 0;
}
