#include "viewer/canvas/canvas_picture.h"

#include "viewer/style/theme.h"

namespace loopscope::viewer {

ScenePainter CanvasPicture::painter() const
{
    return {*indexed, labels, state, Theme::instance().name() == ThemeName::highContrast, model};
}

std::pair<int, size_t> CanvasPicture::bindingOf(int pill) const
{
    if (pill < 0 || !indexed) return {-1, 0};
    const int around = node(pill).region;
    if (around < 0) return {-1, 0};
    const std::vector<LoopBinding>& bindings = region(around).bindings;
    for (size_t i = 0; i < bindings.size(); ++i)
        if (bindings[i].actual == pill || bindings[i].formal == pill || bindings[i].result == pill) return {around, i};
    return {-1, 0};
}

} // namespace loopscope::viewer
