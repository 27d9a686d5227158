// The inputs that a command line names, ready to be read: `-i -` among them.
#pragma once

#include "engine/base/result.h"

#include <string>
#include <vector>

namespace loopscope::app {

class Arguments;

/// What `--input` and `--feed` say. Where one of them reads standard input, that is kept, so that every run finds it from its beginning
/// on. Errors: usage; badFile (standard input cannot be read, or is longer than memory allows).
Result<std::vector<std::string>> inputSources(const Arguments& arguments);

/// Whether one of `sources`, as typed, is standard input.
bool readsStandardInput(const std::vector<std::string>& sources);

} // namespace loopscope::app
