// Where clients come from: standard input and output, or connections to a port of this machine.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace loopscope::app::dap {

/// One client over standard input and output, until it is gone.
void serveStandardStreams();

/// Clients one after the other, until the process is asked to stop. `port` 0: a free one. `ready` is told the port and the token that
/// clients have to give; both are new each time. Errors: device, if the port is taken.
Status serveClients(int64_t port, const std::function<void(int port, const std::string& token)>& ready);

} // namespace loopscope::app::dap
