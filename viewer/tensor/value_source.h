// What the tensor viewer asks the engine: the value at the present stop (or in another iteration), cut to what is shown; its course over
// the iterations of its loop. Runs on the engine's thread and answers with plain values. No widgets.
#pragma once

#include "engine/api/inspector.h"
#include "engine/tensor/npy.h"
#include "viewer/tensor/tensor_slice.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// Where a tensor comes from that is not simply the value at the present stop. Called on the engine's thread; returns to where the run
/// stood. Errors: whatever keeps it from being there, in words that follow "no value: ".
using TensorFetch = std::function<Result<std::shared_ptr<const KeptTensor>>(Inspector&)>;

enum class CompareWith : uint8_t { nothing, iteration, reference };

struct ValueRequest {
    std::string address; ///< of the value, with the iterations of the present stop: "main/while#1@37:body/add#14:0"
    GraphId graph;
    ValueId value;
    int frame = -1;
    bool elsewhere = false;         ///< of the invocation in the address, not of the frames that are open
    std::optional<AxisChoice> axes; ///< none: the default
    Window window;
    bool wantsBlocks = false, wantsHistogram = false, wantsChannels = false, wantsImage = false;
    bool bytes = false;   ///< strings as bytes
    bool dense = false;   ///< sparse constants with their zeros
    int64_t item = -1;    ///< of a list or resource: the tensor in it that is shown
    int64_t whole = -1;   ///< flat index of the string that is wanted in full
    int64_t picture = 0;  ///< which of a batch
    int64_t channel = -1; ///< of pictures with other channels than colours; −1: all of them, as a mosaic
    CompareWith compare = CompareWith::nothing;
    int64_t iteration = -1; ///< to compare with
    TensorFetch fetch;      ///< the tensor itself; empty: the value at the stop
};

/// Pixels of an image tensor. What has no colours is grey: one channel, or all of them side by side.
struct ImagePixels {
    int width = 0, height = 0, channels = 0;
    int64_t picture = 0, pictures = 1; ///< which of a batch
    int64_t every = 1;                 ///< each how manieth pixel
    std::vector<double> values;        ///< height × width × channels
    ValueRange range;
    int64_t allChannels = 0; ///< of the tensor
    int64_t channel = -1;    ///< that is shown in grey; −1: colours, or the mosaic
    int tilesAcross = 1;     ///< > 1: a mosaic, a channel a tile, by rows
    int tileWidth = 0, tileHeight = 0;
    bool isMosaic() const { return tilesAcross > 1; }
    /// The element under a pixel of the shown ones; −1: between the tiles' ends. `shape`: of the tensor.
    int64_t elementAt(const Shape& shape, int row, int column, int colorChannel) const;
    /// Where an element is shown: column and row of the shown pixels; none: in another picture or channel.
    std::optional<std::pair<int, int>> pixelOf(const Shape& shape, int64_t element) const;
};

struct ValueAnswer {
    bool present = false;
    std::string why; ///< why not: "not run in @37"
    std::string id;
    DType dtype = DType::unknown;
    Shape shape;
    uint64_t bytes = 0;
    TensorStatistics statistics;
    bool hasStatistics = false, statisticsOnly = false;
    std::string exactMin, exactMax; ///< of 64-bit integers, all digits; empty: the statistics say it
    bool neverRun = false;          ///< absent because nothing has written it here
    bool isLive = true;             ///< of this invocation; false: looked up elsewhere
    AxisChoice axes;
    Grid grid;
    std::optional<Grid> blocks, compared;
    std::string compareProblem;
    std::optional<Histogram> histogram;
    QuantizationRows channels;
    std::optional<Grid> blockScales, blockZeros; ///< of block-wise quantization: its tensors, where they are constants
    std::optional<ImagePixels> image;
    int64_t iteration = -1; ///< of the innermost loop of the frame that holds it
    bool isSparse = false;
    std::string held;    ///< of a resource or variant: "tensor list of f32[2]: 5 tensors"; empty: it is none
    std::string whole;   ///< the string that was wanted in full
    int64_t run = 0;     ///< Timeline::runs()
    TimelineId timeline; ///< of Timeline
};

ValueAnswer readValue(Inspector& inspector, const ValueRequest& request);
/// A constant needs no run.
ValueAnswer readConstant(const Model& model, const ValueRequest& request);
/// Fills the answer from a tensor whose shape is static and whose data is present.
void fillAnswer(ValueAnswer& answer, const Tensor& tensor, const ValueRequest& request);
/// The next part of a histogram of all elements. None: there is no value.
std::optional<HistogramScan> readScan(Inspector& inspector, const ValueRequest& request, HistogramScan scan);
std::optional<HistogramScan> scanConstant(const Model& model, const ValueRequest& request, HistogramScan scan);
/// Whole copy, for export. Errors: usage where there is no value.
Result<Array> copyValue(Inspector& inspector, const ValueRequest& request);

struct SeriesAnswer {
    std::shared_ptr<const ValueSeries> series; ///< null: there is none
    std::string problem;
    int64_t run = 0;
    TimelineId timeline;
};
/// The next part of the series over the innermost loop.
SeriesAnswer readSeries(Inspector& inspector, const ValueRequest& request, std::shared_ptr<const ValueSeries> continued);

/// elements × iterations of a series whose contents are kept. `quantization` may be null.
Grid gridOf(const ValueSeries& series, const Quantization* quantization, int64_t currentIteration, int64_t allIterations);
/// The least and the largest number of all iterations in equal parts of `allIterations`, at most kOverviewParts; NaN where there is none.
struct CoursePart {
    double low = 0, high = 0;
};
inline constexpr int64_t kOverviewParts = 1024;
std::vector<CoursePart> overviewOf(const ValueSeries& series, int64_t allIterations);
/// True for pictures: hasPictureAxes().
bool isImageShape(const Shape& shape);

} // namespace loopscope::viewer
