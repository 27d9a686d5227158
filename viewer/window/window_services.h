// What the window needs of the program beside opening files.
#pragma once

#include "viewer/bridge/backend.h"

#include <memory>
#include <string>

namespace loopscope::viewer {

class WindowServices : public Services {
public:
    /// A model held against another model or recording (`debug --against`): runs stop where they differ. `cosine` > 0: by cosine
    /// similarity of whole tensors, as for quantized against float models. `other` may be fusedSideText(): the model itself, fused. Called
    /// on a worker thread. Errors: as of open().
    virtual Result<std::unique_ptr<Backend>> openAgainst(const std::string& path, const std::string& other, double cosine,
                                                         std::stop_token stop) = 0;
    /// What can be read of a file that open() refuses; the backend is a Partial. Called on a worker thread. Errors: nothing is left.
    virtual Result<std::unique_ptr<Backend>> openPart(const std::string& path, std::stop_token stop) = 0;
};

} // namespace loopscope::viewer
