#include "viewer/tensor/value_source.h"

#include "engine/observe/address_resolution.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/sparse.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"
#include "viewer/tensor/held_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loopscope::viewer {

namespace {

constexpr int64_t kMostStatistics = int64_t{1} << 24; ///< elements that are looked through at a stop without being asked
constexpr size_t kSeriesBytes = size_t{16} << 20;
constexpr int64_t kSeriesNs = 20'000'000;
constexpr int64_t kImageSide = 512;
constexpr int64_t kMostTiles = 256;            ///< of a mosaic
constexpr size_t kMostText = 4096;             ///< of one string
constexpr int64_t kScanned = int64_t{1} << 21; ///< elements of a histogram that are counted before others may ask

/// The value at the stop: of a frame on the stack, innermost first, else by looking where the address says.
struct Found {
    const Tensor* tensor = nullptr;
    std::vector<EvaluatedValue> values;     ///< own what they show
    std::shared_ptr<const KeptTensor> kept; ///< of ValueRequest::fetch
    int depth = -1;
    std::string why;
    bool neverRun = false;
};

std::string absenceWords(Absence absence, const std::string& iteration)
{
    switch (absence) {
    case Absence::notWritten: return iteration.empty() ? "not run yet" : "not run in " + iteration;
    case Absence::dead: return "dead";
    case Absence::notRecorded: return "not recorded";
    case Absence::freed: return "freed already";
    case Absence::lost: return "lost with the device";
    default: return "no value";
    }
}

std::string iterationOf(const std::string& address)
{
    const Result<Address> parsed = parseAddress(address);
    if (!parsed.ok()) return {};
    for (auto step = parsed->steps.rbegin(); step != parsed->steps.rend(); ++step)
        if (step->iteration >= 0) return "@" + std::to_string(step->iteration);
    return {};
}

/// What was written after this stop, before somebody went back, is no value of the present.
bool isOfTheFuture(Inspector& inspector, int frame, const std::string& address)
{
    const Result<std::vector<EvaluatedValue>> step = inspector.evaluate({frame}, "{" + address + "}.step");
    if (!step.ok() || step->empty() || step->front().absence != Absence::present) return false;
    const ExpressionValue& value = step->front().value;
    return value.type() == ExpressionType::integer && value.integerAt(0) >= inspector.position().step;
}

Found findValue(Inspector& inspector, const ValueRequest& request)
{
    Found found;
    if (request.fetch) {
        Result<std::shared_ptr<const KeptTensor>> fetched = request.fetch(inspector);
        if (fetched.ok()) {
            found.kept = std::move(fetched).value();
            found.tensor = &found.kept->tensor;
        } else {
            found.why = fetched.error().detail().what;
        }
        return found;
    }
    const int depth = inspector.position().depth;
    const int top = request.frame >= 0 ? std::min(request.frame, depth - 1) : depth - 1;
    for (int d = top; d >= 0 && found.depth < 0 && !request.elsewhere; --d)
        if (inspector.frame(d).graph == request.graph) found.depth = d;
    if (found.depth >= 0) {
        found.tensor = inspector.value(found.depth, request.value);
        if (found.tensor != nullptr) return found;
    }
    Result<std::vector<EvaluatedValue>> values = inspector.evaluate({top}, "{" + request.address + "}");
    if (!values.ok()) {
        found.why = values.error().detail().what;
        return found;
    }
    found.values = std::move(values).value();
    if (!found.values.empty() && found.values.front().absence == Absence::present && found.values.front().tensor.data != nullptr) {
        if (!request.elsewhere && isOfTheFuture(inspector, top, request.address)) {
            found.why = "not run yet here";
            found.neverRun = true;
        } else {
            found.tensor = &found.values.front().tensor;
        }
    } else {
        const Absence absence = found.values.empty() ? Absence::notWritten : found.values.front().absence;
        found.why = absenceWords(absence, iterationOf(request.address));
        found.neverRun = absence == Absence::notWritten;
    }
    return found;
}

ImagePixels imageOf(const Tensor& tensor, int64_t picture, int64_t channel)
{
    ImagePixels image;
    const int rank = tensor.shape.rank();
    const int64_t height = tensor.shape[rank - 3], width = tensor.shape[rank - 2], channels = tensor.shape[rank - 1];
    const bool isColor = channels == 1 || channels == 3 || channels == 4;
    image.pictures = rank == 4 ? tensor.shape[0] : 1;
    image.picture = std::clamp<int64_t>(picture, 0, image.pictures - 1);
    image.allChannels = channels;
    image.channel = isColor ? -1 : std::min(channel, channels - 1);
    image.channels = isColor ? static_cast<int>(channels) : 1;
    const int64_t tiles = isColor || image.channel >= 0 ? 1 : std::min(channels, kMostTiles);
    image.tilesAcross = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(tiles))));
    const int64_t down = (tiles + image.tilesAcross - 1) / image.tilesAcross;
    image.every = std::max<int64_t>(1, (std::max(height * down, width * image.tilesAcross) + kImageSide - 1) / kImageSide);
    image.tileHeight = static_cast<int>((height + image.every - 1) / image.every);
    image.tileWidth = static_cast<int>((width + image.every - 1) / image.every);
    image.height = image.tileHeight * static_cast<int>(down);
    image.width = image.tileWidth * image.tilesAcross;
    image.range = {INFINITY, -INFINITY};
    image.values.reserve(static_cast<size_t>(image.height) * static_cast<size_t>(image.width * image.channels));
    for (int row = 0; row < image.height; ++row)
        for (int column = 0; column < image.width; ++column)
            for (int c = 0; c < image.channels; ++c) {
                const int64_t element = image.elementAt(tensor.shape, row, column, c);
                const double v = element < 0 ? NAN : elementAsReal(tensor, element);
                image.values.push_back(v);
                if (!std::isfinite(v)) continue;
                image.range.low = std::min(image.range.low, v);
                image.range.high = std::max(image.range.high, v);
            }
    return image;
}

/// Smallest and largest of 64-bit integers, which doubles do not hold.
void noteExactRange(ValueAnswer& answer, const Tensor& tensor)
{
    const bool isUnsigned = tensor.dtype == DType::u64;
    if ((tensor.dtype != DType::i64 && !isUnsigned) || tensor.quantization != nullptr) return;
    const auto less = [&](int64_t a, int64_t b) { return isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b; };
    int64_t low = elementAsInteger(tensor, 0), high = low;
    for (int64_t i = 1; i < tensor.elementCount(); ++i) {
        const int64_t value = elementAsInteger(tensor, i);
        if (less(value, low)) low = value;
        if (less(high, value)) high = value;
    }
    answer.exactMin = integerText(static_cast<uint64_t>(low), isUnsigned, false);
    answer.exactMax = integerText(static_cast<uint64_t>(high), isUnsigned, false);
}

} // namespace

int64_t ImagePixels::elementAt(const Shape& shape, int row, int column, int colorChannel) const
{
    const int rank = shape.rank();
    const int64_t tile = static_cast<int64_t>(row / tileHeight) * tilesAcross + column / tileWidth;
    const int64_t shown = isMosaic() ? tile : channel >= 0 ? channel : colorChannel;
    if (shown >= allChannels || (isMosaic() && shown >= kMostTiles)) return -1;
    const int64_t y = row % tileHeight * every, x = column % tileWidth * every;
    return ((picture * shape[rank - 3] + y) * shape[rank - 2] + x) * allChannels + shown;
}

std::optional<std::pair<int, int>> ImagePixels::pixelOf(const Shape& shape, int64_t element) const
{
    const int rank = shape.rank();
    const int64_t height = shape[rank - 3], width = shape[rank - 2];
    const int64_t at = element / allChannels, its = element % allChannels;
    if (at / (width * height) != picture || (channel >= 0 && its != channel) || (isMosaic() && its >= kMostTiles)) return std::nullopt;
    const int64_t tile = isMosaic() ? its : 0;
    const int64_t row = tile / tilesAcross * tileHeight + at / width % height / every;
    const int64_t column = tile % tilesAcross * tileWidth + at % width / every;
    return std::pair(static_cast<int>(row), static_cast<int>(column));
}

bool isImageShape(const Shape& shape) { return hasPictureAxes(shape); }

void fillAnswer(ValueAnswer& answer, const Tensor& tensor, const ValueRequest& request)
{
    answer.present = true;
    answer.dtype = tensor.dtype;
    answer.shape = tensor.shape;
    answer.bytes = tensor.bytes;
    answer.axes = request.axes ? fittedAxes(*request.axes, tensor.shape) : defaultAxes(tensor.shape);
    if (!tensor.shape.isStatic() || tensor.elementCount() == 0) return;
    answer.grid = readGrid(tensor, answer.axes, request.window);
    if (request.wantsHistogram) answer.histogram = histogramOf(tensor);
    const DTypeClass c = dtypeClass(tensor.dtype);
    if (c == DTypeClass::string) {
        if (request.bytes) showBytes(answer.grid, tensor);
        if (const auto strings = unpackStrings(tensor.view());
            strings.ok() && request.whole >= 0 && static_cast<size_t>(request.whole) < strings->size())
            answer.whole = quotedText((*strings)[static_cast<size_t>(request.whole)], kMostText);
    }
    const bool numbers = c != DTypeClass::string && c != DTypeClass::handle && c != DTypeClass::block && c != DTypeClass::none;
    if (!numbers) return;
    if (tensor.elementCount() <= kMostStatistics) {
        answer.statistics = computeStatistics(tensor);
        answer.hasStatistics = true;
        noteExactRange(answer, tensor);
    }
    if (request.wantsBlocks) answer.blocks = readBlocks(tensor, answer.axes);
    if (request.wantsChannels) answer.channels = quantizationOf(tensor);
    if (request.wantsImage && isImageShape(tensor.shape)) answer.image = imageOf(tensor, request.picture, request.channel);
}

ValueAnswer readValue(Inspector& inspector, const ValueRequest& request)
{
    ValueAnswer answer;
    if (!request.fetch) {
        const Value& declared = inspector.model().graph(request.graph).value(request.value);
        answer.id = declared.id;
        answer.dtype = declared.type.dtype;
        answer.shape = declared.type.shape;
    }
    answer.run = inspector.runs();
    answer.timeline = inspector.timeline();
    Found found = findValue(inspector, request);
    if (found.depth >= 0) answer.iteration = inspector.frame(found.depth).iteration;
    if (found.tensor == nullptr) {
        answer.why = found.why;
        answer.neverRun = found.neverRun;
        if (found.depth >= 0)
            if (const TensorStatistics* const statistics = inspector.recordedStatistics(found.depth, request.value)) {
                answer.statistics = *statistics;
                answer.hasStatistics = answer.statisticsOnly = true;
                answer.why = "statistics only: the recording does not hold the elements";
            }
        return answer;
    }
    answer.isLive = found.values.empty();
    if (dtypeClass(found.tensor->dtype) == DTypeClass::handle) {
        HeldValues held = heldBy(inspector, *found.tensor, request.item);
        answer.held = std::move(held.summary);
        if (held.opened) {
            fillAnswer(answer, held.opened->view(), request);
        } else {
            answer.present = true;
            answer.dtype = found.tensor->dtype;
            answer.shape = found.tensor->shape;
            answer.bytes = found.tensor->bytes;
            answer.axes = defaultAxes(answer.shape);
            answer.grid = std::move(held.grid);
        }
        return answer;
    }
    fillAnswer(answer, *found.tensor, request);
    if (request.compare == CompareWith::nothing) return answer;
    const std::string text = request.compare == CompareWith::reference
                                 ? "ref({" + request.address + "})"
                                 : "at(" + std::to_string(request.iteration) + ", {" + request.address + "})";
    std::string iterated = text;
    if (request.compare == CompareWith::iteration) { // the same value of another iteration is an address, too
        if (Result<Address> address = parseAddress(request.address); address.ok() && !address->steps.empty()) {
            for (auto step = address->steps.rbegin(); step != address->steps.rend(); ++step)
                if (step->iteration >= 0) {
                    step->iteration = request.iteration;
                    break;
                }
            iterated = "{" + toString(*address) + "}";
        }
    }
    Result<std::vector<EvaluatedValue>> other = inspector.evaluate({request.frame}, iterated);
    if (!other.ok()) answer.compareProblem = other.error().detail().what;
    else if (other->empty() || other->front().tensor.data == nullptr) answer.compareProblem = "no value there";
    else answer.compared = readGrid(other->front().tensor, answer.axes, request.window);
    return answer;
}

namespace {

/// A constant as a tensor; `dense` keeps its elements.
struct ConstantTensor {
    Tensor tensor;
    Bytes dense;
    std::vector<int64_t> places; ///< of a sparse one: the flat indices of what is stored
};

Result<ConstantTensor> constantTensor(const Value& value)
{
    if (!value.constant || !value.constant->hasBytes() || !value.type.shape.isStatic())
        return Error(ErrorCode::badFile, value.role == ValueRole::constant ? "its data is not in the file" : "not run yet");
    ConstantTensor constant;
    constant.dense = value.constant->bytes();
    if (value.constant->sparsity) {
        LS_TRY(constant.dense, densify(*value.constant, value.type.dtype, value.type.shape, &constant.places));
    }
    constant.tensor.dtype = value.type.dtype;
    constant.tensor.shape = value.type.shape;
    constant.tensor.quantization = value.type.quantization.get();
    constant.tensor.data =
        const_cast<std::byte*>(constant.dense.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): Tensor has no const form
    constant.tensor.bytes = constant.dense.size();
    return constant;
}

} // namespace

namespace {

/// Scales and zero points of block-wise quantization are tensors of their own.
void readBlockScales(ValueAnswer& answer, const Model& model, GraphId graph, const Value& value)
{
    const Quantization* const q = value.type.quantization.get();
    if (q == nullptr || q->kind != Quantization::Kind::blockwise) return;
    const auto read = [&](int32_t id, std::optional<Grid>& grid) {
        if (id < 0) return;
        const Result<ConstantTensor> constant = constantTensor(model.graph(graph).value(ValueId(id)));
        if (constant.ok()) grid = readGrid(constant->tensor, defaultAxes(constant->tensor.shape));
    };
    read(q->blockScales, answer.blockScales);
    read(q->blockZeros, answer.blockZeros);
}

} // namespace

ValueAnswer readConstant(const Model& model, const ValueRequest& request)
{
    ValueAnswer answer;
    const Value& value = model.graph(request.graph).value(request.value);
    answer.id = value.id;
    answer.dtype = value.type.dtype;
    answer.shape = value.type.shape;
    Result<ConstantTensor> constant = constantTensor(value);
    if (!constant.ok()) {
        answer.why = constant.error().message();
        return answer;
    }
    answer.isSparse = value.constant->sparsity.has_value();
    fillAnswer(answer, constant->tensor, request);
    if (answer.isSparse && !request.dense) {
        if (request.wantsHistogram) answer.histogram = histogramOf(Counted{constant->tensor, &constant->places});
        answer.grid = readPlaces(constant->tensor, std::move(constant->places));
    }
    if (request.wantsChannels) readBlockScales(answer, model, request.graph, value);
    return answer;
}

std::optional<HistogramScan> scanConstant(const Model& model, const ValueRequest& request, HistogramScan scan)
{
    const Result<ConstantTensor> constant = constantTensor(model.graph(request.graph).value(request.value));
    if (!constant.ok()) return std::nullopt;
    const bool onlyStored = !request.dense && model.graph(request.graph).value(request.value).constant->sparsity.has_value();
    return continueScan(std::move(scan), Counted{constant->tensor, onlyStored ? &constant->places : nullptr}, kScanned);
}

std::optional<HistogramScan> readScan(Inspector& inspector, const ValueRequest& request, HistogramScan scan)
{
    const Found found = findValue(inspector, request);
    if (found.tensor == nullptr || !found.tensor->shape.isStatic()) return std::nullopt;
    return continueScan(std::move(scan), Counted{*found.tensor}, kScanned);
}

Result<Array> copyValue(Inspector& inspector, const ValueRequest& request)
{
    const Found found = findValue(inspector, request);
    if (found.tensor == nullptr) return Error(ErrorCode::usage, "no value: " + found.why).at(request.address);
    if (!found.tensor->shape.isStatic()) return Error(ErrorCode::usage, "the shape is not known").at(request.address);
    return copyOf(*found.tensor);
}

SeriesAnswer readSeries(Inspector& inspector, const ValueRequest& request, std::shared_ptr<const ValueSeries> continued)
{
    SeriesAnswer answer;
    answer.run = inspector.runs();
    answer.timeline = inspector.timeline();
    const Result<Address> address = parseAddress(request.address);
    if (!address.ok()) return answer;
    const Result<ResolvedAddress> resolved = resolveAddress(inspector.model(), *address);
    if (!resolved.ok()) return answer;
    SeriesOptions options;
    options.onlyWhatRan = true;
    options.keepBytes = kSeriesBytes;
    options.budgetNs = kSeriesNs;
    options.continued = std::move(continued);
    Result<ValueSeries> series = inspector.series({request.frame}, *resolved, options);
    if (series.ok()) answer.series = std::make_shared<const ValueSeries>(std::move(series).value());
    else answer.problem = series.error().detail().what;
    return answer;
}

Grid gridOf(const ValueSeries& series, const Quantization* quantization, int64_t currentIteration, int64_t allIterations)
{
    Grid grid;
    grid.shape = series.shape;
    grid.overIterations = true;
    grid.current = currentIteration;
    grid.allRows = grid.rows = series.shape.elementCount();
    const int64_t known = series.keptIterations();
    grid.cols = grid.allCols = std::max({allIterations, series.iterations, known});
    const bool affine = quantization != nullptr && quantization->kind == Quantization::Kind::affine && isInteger(series.dtype);
    grid.style.dtype = series.dtype;
    grid.style.quantized = affine;
    if (grid.rows * grid.cols > kMostCells) grid.cols = std::max<int64_t>(1, kMostCells / std::max<int64_t>(1, grid.rows));
    grid.colBegin = std::clamp<int64_t>(currentIteration - grid.cols / 2, 0, grid.allCols - grid.cols);
    grid.cells.resize(static_cast<size_t>(grid.rows * grid.cols));
    for (int64_t row = 0; row < grid.rows; ++row) grid.rowFlat.push_back(row);
    Tensor tensor;
    tensor.dtype = series.dtype;
    tensor.shape = series.shape;
    tensor.bytes = series.contentBytes;
    tensor.quantization = affine ? quantization : nullptr;
    for (int64_t c = 0; c < grid.cols; ++c) {
        const auto iteration = static_cast<size_t>(grid.colBegin + c);
        if (iteration >= static_cast<size_t>(known) || iteration >= series.written.size() || !series.written[iteration]) continue;
        tensor.data = const_cast<std::byte*>(series.contents.data() +
                                             iteration * series.contentBytes); // NOLINT(cppcoreguidelines-pro-type-const-cast)
        for (int64_t row = 0; row < grid.rows; ++row) grid.cells[static_cast<size_t>(row * grid.cols + c)] = cellOf(tensor, row);
    }
    return grid;
}

std::vector<CoursePart> overviewOf(const ValueSeries& series, int64_t allIterations)
{
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    std::vector<CoursePart> parts(static_cast<size_t>(std::clamp<int64_t>(allIterations, 0, kOverviewParts)), {none, none});
    if (parts.empty()) return parts;
    const auto count = std::min({static_cast<size_t>(allIterations), series.numbers.size(), series.written.size()});
    for (size_t i = 0; i < count; ++i) {
        if (!series.written[i]) continue;
        double low = series.numbers[i], high = low;
        if (!series.isScalar && i < series.statistics.size()) {
            if (series.statistics[i].finite == 0) continue;
            low = series.statistics[i].min;
            high = series.statistics[i].max;
        }
        if (!std::isfinite(low) || !std::isfinite(high)) continue;
        CoursePart& part = parts[i * parts.size() / static_cast<size_t>(allIterations)];
        part.low = std::isnan(part.low) ? low : std::min(part.low, low);
        part.high = std::isnan(part.high) ? high : std::max(part.high, high);
    }
    return parts;
}

} // namespace loopscope::viewer
