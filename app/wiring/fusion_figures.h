// What a model costs before and after a rewrite: counted and timed while it runs on given inputs.
#pragma once

#include "engine/exec/execution_options.h"
#include "engine/ir/model.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <optional>
#include <span>

namespace loopscope::app {

/// Of the graphs that a run may enter; functions of a file that nothing calls cost nothing.
struct FusionFigures {
    int64_t operators = 0; ///< constants and placeholders of TensorFlow are values
    int64_t constantBytes = 0;
    std::optional<int64_t> macs;      ///< multiply-adds at the shapes of the run, every graph once; none: the run failed
    std::optional<int64_t> peakBytes; ///< results that are alive at once in one graph, at most
    int64_t medianNs = -1;            ///< of a run; −1: it failed
};

/// Runs `root` several times. `inputs` in the order of the graph's inputs; those that are missing stay as they are.
FusionFigures figuresOfRuns(const Model& model, GraphId root, std::span<const Array> inputs, const ExecutionOptions& execution);

} // namespace loopscope::app
