// Q_INIT_RESOURCE must stand outside of any namespace.
#include "viewer/style/resources.h"

#include <QDir>

static void initialiseStyle() { Q_INIT_RESOURCE(style); }

namespace loopscope::viewer {

void loadStyleResources() { initialiseStyle(); }

} // namespace loopscope::viewer
