// Fuzz target: the weights of a Keras model, every group and dataset of them.
#include "tests/fuzz/target.h"

#include "converters/keras/hdf5.h"

using namespace loopscope;

LS_FUZZ_TARGET(hdf5, false, 400)
{
    const auto file = keras::Hdf5File::open(Bytes::copyOf(data, size));
    if (!file.ok()) return 0;
    for (const std::string& path : file->datasetsBelow("")) static_cast<void>(file->read(path));
    return 0;
}
