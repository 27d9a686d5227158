// Files that belong to somebody else: links that lead out of the folder that was opened, and large files that are written anew while they
// are mapped (bytes.h), which would end the program or change what it computes.
#pragma once

#include "engine/base/bytes.h"

#include <memory>
#include <string>
#include <vector>

namespace loopscope {

/// Errors: badFile, if `path` leads out of `folder` by way of a link or "..". An empty folder is the working folder.
Status checkWithin(const std::string& folder, const std::string& path);
/// mapFile of `folder/name`. Errors: also those of checkWithin.
Result<Bytes> mapFileWithin(const std::string& folder, const std::string& name);

/// From now on a page of a mapped file that is no longer there reads as zeros instead of ending the process; changedFiles() says so.
void guardMappedFiles();
/// Mapped files that were written, or became shorter, since they were opened and until they were closed: what was read of them is no whole.
std::vector<std::string> changedFiles();
/// Errors: badFile, naming the first of changedFiles().
Status checkFilesUnchanged();

/// For mapFile: maps a file that is open as `descriptor`, which the mapping keeps. Null if the system refuses.
std::shared_ptr<const void> mapGuarded(int descriptor, size_t size, const std::string& path);

} // namespace loopscope
