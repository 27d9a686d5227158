// The listing for screen readers: a list with one item for each line in sight.
#pragma once

#include "viewer/panels/listing_view.h"

namespace loopscope::viewer {

/// At the end of making a view: a screen reader that runs already may have asked for it while it was a plain widget.
void installListingAccessibility(ListingView& view);

} // namespace loopscope::viewer
