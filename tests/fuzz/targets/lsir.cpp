// Fuzz target: models as text.
#include "tests/fuzz/target.h"

#include "converters/lsir/lsir.h"
#include "tests/fuzz/opened.h"

using namespace loopscope;

LS_FUZZ_TARGET(lsir, true, 400)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto model = modelFromText(text, "fuzz"); model.ok()) lookAtModel(*model);
    return 0;
}
