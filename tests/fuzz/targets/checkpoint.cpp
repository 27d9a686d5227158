// Fuzz target: the index of a checkpoint, compressed blocks included; its shards are missing.
#include "tests/fuzz/target.h"

#include "converters/savedmodel/checkpoint.h"

using namespace loopscope;

LS_FUZZ_TARGET(checkpoint, false, 400)
{
    const FuzzFile file(data, size, ".index");
    const std::string prefix = file.path().substr(0, file.path().size() - 6);
    auto checkpoint = savedmodel::Checkpoint::open(prefix);
    if (!checkpoint.ok()) return 0;
    for (const auto& [key, entry] : checkpoint->entries()) static_cast<void>(checkpoint->read(key));
    return 0;
}
