// Comparing two runs: the first place, by address, where they differ.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/tensor/compare.h"
#include "tracer/api/trace_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

enum class DiffPairing : unsigned char {
    address, ///< same operator at the same address: two runs of one model
    name     ///< values of the same id: two models (quantized and float)
};

struct DiffOptions {
    DiffPairing pairing = DiffPairing::address;
    Tolerance tolerance{Tolerance::Close{}, {}, {}}; ///< exact: nothing but equal bits is equal
    int64_t limit = 1;                               ///< differences to report; 0: all
    std::optional<int64_t> runA, runB;               ///< default: defaultRun(); in one file the two newest
    const CancelFlag* cancel = nullptr;
};

/// One place where a and b differ. Figures are of the stored elements where both sides hold them, else of the statistics.
struct TraceDifference {
    std::string address; ///< "main/fully_connected#1:0", in run a
    int64_t step = 0;    ///< in run a
    std::string kind;    ///< `value` `shape` `dtype` `missing` `branch` `trips` `dead`
    std::string a, b;    ///< the two sides as text: worst element, shape, branch, …
    std::optional<double> maxAbs, maxRel, ulp, cosine;
    std::string at;              ///< index of the worst element, "[0,127]"; empty if unknown
    bool fromStatistics = false; ///< the elements are not stored: figures are those of min, max, mean
};

struct TraceDiff {
    bool equal = true;
    int64_t compared = 0;                     ///< writes compared, those skipped by equal digests included
    int64_t unpaired = 0;                     ///< pairing by name: operators of a without a partner in b
    std::vector<TraceDifference> differences; ///< in the order of run a
    std::string models;                       ///< "float.tflite and int8.tflite", where the runs are of two models; empty: of one
};

/// Errors: usage (no runs, pairing by address of different models), badFile, cancelled.
Result<TraceDiff> diffTraces(const TraceReader& a, const TraceReader& b, const DiffOptions& options);

} // namespace loopscope
