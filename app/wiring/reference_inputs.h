// What a reference run is fed with: the numbers of the run itself, in the representation that the other model takes.
#pragma once

#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// An array that a port of one model was given, as a port of another takes it: real numbers to a quantized integer or back. None: the
/// shapes do not fit, or one of them is no number.
std::optional<Array> inOtherUnits(const Array& given, const Port& from, const Port& to);

/// Inputs pair by name where the reference has an input of that name, else by position. What cannot be taken over is bound from its source
/// as typed. `last`: what the run before was fed with, for `@last`; null: there was none. Errors: as of bindInputs().
Result<BoundInputs> referenceInputs(const RunTarget& run, const RunTarget& reference, const std::vector<std::string>& sources,
                                    uint64_t seed, const BoundInputs* last);

/// The same for a run whose inputs are known, in the order of its ports; null: not known. Errors: usage, naming an input of the reference
/// that nothing known can be taken over for.
Result<BoundInputs> takenInputs(const RunTarget& run, const std::vector<const Tensor*>& given, const RunTarget& reference);

} // namespace loopscope::app
