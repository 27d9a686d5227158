// Large elements of lists that lie beside the lists that have them, once for each content, where `--memory` lets them go to disk. Lists are
// bytes that anybody copies, and hold 16 bytes of each such element; it is there as long as somebody holds a handle: the run whose
// operators made it (StepObjects), and saved states of that run. What outlives them takes a list as a whole (wholeVariants()).
#pragma once

#include "engine/base/hash.h"
#include "engine/base/result.h"
#include "engine/base/swapped_bytes.h"

#include <cstddef>
#include <memory>
#include <span>

namespace loopscope {

using ElementKey = Hash128; ///< of its bytes

struct SharedElement {
    ElementKey key;
    KeptBytes bytes;
};
using ElementHandle = std::shared_ptr<const SharedElement>;

/// Whether an element of so many bytes is shared now.
bool sharesElement(size_t bytes);
/// The element of that content, which is kept now if it is not there. Errors: cannotWrite, as keptCopy().
Result<ElementHandle> shareElement(std::span<const std::byte> content);
/// Null: there is none (any more).
ElementHandle sharedElement(const ElementKey& key);

} // namespace loopscope
