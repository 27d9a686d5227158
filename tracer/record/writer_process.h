// Who records a file: so that a reader can tell a recording that goes on from one whose process was killed.
#pragma once

#include <string>
#include <string_view>

namespace loopscope {

/// This process as text for `meta.writer`: boot, process id, start time.
std::string writerProcess();
/// True if that process still runs on this machine.
bool isWriterAlive(std::string_view writer);

} // namespace loopscope
