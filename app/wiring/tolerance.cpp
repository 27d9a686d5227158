#include "app/wiring/tolerance.h"

namespace loopscope::app {

Result<Tolerance> toleranceOf(const Arguments& arguments)
{
    Tolerance tolerance;
    const bool given = arguments.has("ulp") || arguments.has("cosine");
    if (arguments.has("bitwise")) {
        if (given || arguments.has("rtol") || arguments.has("atol"))
            return Error(ErrorCode::usage, "'--bitwise' leaves no room for tolerances");
        return tolerance;
    }
    if (!given || arguments.has("rtol") || arguments.has("atol")) {
        tolerance.close.emplace();
        LS_TRY(tolerance.close->rtol, arguments.real("rtol", arguments.has("atol") ? 0 : tolerance.close->rtol));
        LS_TRY(tolerance.close->atol, arguments.real("atol", arguments.has("rtol") ? 0 : tolerance.close->atol));
    }
    if (arguments.has("ulp")) {
        LS_TRY(tolerance.ulp, arguments.integer("ulp", 0));
    }
    if (arguments.has("cosine")) {
        LS_TRY(tolerance.cosine, arguments.real("cosine", 1));
    }
    return tolerance;
}

} // namespace loopscope::app
