// Fuzz target: what the config.json of a Keras model says of its layers, without their weights.
#include "tests/fuzz/target.h"

#include "converters/keras/model_import.h"
#include "tests/fuzz/opened.h"

using namespace loopscope;

LS_FUZZ_TARGET(keras, true, 400)
{
    const auto config = Json::parse({reinterpret_cast<const char*>(data), size});
    if (!config.ok()) return 0;
    if (const auto model = keras::modelOf(*config, std::nullopt); model.ok()) lookAtModel(*model);
    return 0;
}
