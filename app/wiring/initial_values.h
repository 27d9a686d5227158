// What a session has before its first run: the nodes that initialise a model are run once, and what they leave is said of its nodes.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

namespace loopscope::app {

/// Runs what `--init` names (`init_op`) in a session of its own. Variables that it assigns begin with their values (`@value`), tables with
/// what they hold then (`@keys`, `@values`); no session runs the nodes again. Nothing where the model names no such nodes. Errors: of the
/// run.
Status takeInitialValues(Model& model, GraphId root);

} // namespace loopscope::app
