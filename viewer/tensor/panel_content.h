// What the views of a tensor viewer show, put together from the value, its course over a loop, and what was chosen; and the words beside.
#pragma once

#include "viewer/tensor/grid_views.h"
#include "viewer/tensor/tensor_mode.h"
#include "viewer/tensor/value_source.h"

#include <QString>

#include <optional>

namespace loopscope::viewer {

struct PanelContent {
    GridContent plane, heat, plot;
};

/// What the content depends on beside the value.
struct ContentChoice {
    bool overIterations = false;
    bool previewing = false; ///< while a loop is scrubbed
    CompareWith compare = CompareWith::nothing;
    int64_t compareIteration = -1;
    CellStyle::Complex complex = CellStyle::Complex::both;
};

/// `course`: elements × iterations, empty where it is not known; `known`: of its iterations. `declared` may be null.
PanelContent composeContent(const ValueAnswer& answer, Grid course, int64_t known, const ContentChoice& choice, const Value* declared);
/// Of the colours. `pinned`: of the pinned values together.
ValueRange colorRange(const Grid& grid, RangeMode mode, const ValueRange& typed, const std::optional<ValueRange>& pinned);

/// "dim 0×1 by dim 2, dim 3 = 0": which axes go where.
QString axesText(const ValueAnswer& answer, bool overIterations);
/// "NaN 3, Inf 1 of 400, first at [0,3]"; empty: all are finite.
QString abnormalText(const ValueAnswer& answer);

/// Rows and columns that a cursor may be in.
CellCursor planeEnd(const Grid& grid);

} // namespace loopscope::viewer
