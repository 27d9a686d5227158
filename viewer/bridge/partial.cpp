#include "viewer/bridge/partial.h"

#include "viewer/bridge/document.h"

namespace loopscope::viewer {

std::vector<FileFault> faultsOf(Document& document)
{
    const auto* const part = dynamic_cast<const Partial*>(&document.backend());
    return part ? part->faults() : std::vector<FileFault>();
}

} // namespace loopscope::viewer
