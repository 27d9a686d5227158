// CPU kernel of TFLite_Detection_PostProcess: f32, or u8 boxes, scores and anchors.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/ops/image/detection_options.h"

#include <algorithm>
#include <cmath>
#include <memory>

using namespace loopscope;

namespace {

struct Box {
    float top, left, bottom, right;
};

/// A detection on its way to the results.
struct Candidate {
    int32_t box;
    int32_t label;
    float score;
};

/// Scratch of a call: everything is sized by the number of boxes and wanted detections.
struct Work {
    Box* boxes;
    float* scores;  ///< [boxes, columns], dequantized
    float* best;    ///< one score for each box
    int32_t* order; ///< boxes by score
    bool* active;
    int32_t* selected;
    int32_t* labels; ///< classes of one box by score
    Candidate* kept;
};

float valueAt(const Tensor& t, int64_t i)
{
    if (t.dtype == DType::f32) return t.as<float>()[i];
    const ScaleAndZero q = scaleAndZero(t);
    return (static_cast<float>(t.as<uint8_t>()[i]) - static_cast<float>(q.zero)) * q.scale;
}

/// Centre and size relative to the anchor, in double with one rounding each (DecodeCenterSizeBoxes).
Box decodeBox(const KernelArgs& args, const DetectionOptions& o, int64_t i)
{
    const int64_t stride = args.in(0).shape[2];
    const auto code = [&](int64_t k) { return static_cast<double>(valueAt(args.in(0), i * stride + k)); };
    const auto anchor = [&](int64_t k) { return static_cast<double>(valueAt(args.in(2), i * 4 + k)); };
    const auto y = static_cast<float>(code(0) / static_cast<double>(o.yScale) * anchor(2) + anchor(0));
    const auto x = static_cast<float>(code(1) / static_cast<double>(o.xScale) * anchor(3) + anchor(1));
    const auto halfHeight = static_cast<float>(0.5 * std::exp(code(2) / static_cast<double>(o.hScale)) * anchor(2));
    const auto halfWidth = static_cast<float>(0.5 * std::exp(code(3) / static_cast<double>(o.wScale)) * anchor(3));
    return {y - halfHeight, x - halfWidth, y + halfHeight, x + halfWidth};
}

/// Intersection over union.
float overlap(const Box& a, const Box& b)
{
    const float areaA = (a.bottom - a.top) * (a.right - a.left);
    const float areaB = (b.bottom - b.top) * (b.right - b.left);
    if (areaA <= 0 || areaB <= 0) return 0;
    const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0F);
    const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0F);
    const float both = height * width;
    return both / (areaA + areaB - both);
}

/// Numbers 0 … count − 1 by falling value, equal ones by number. Insertion into `order`; NaN counts as equal to anything.
void sortByScore(const float* values, int32_t* order, int64_t count)
{
    std::sort(order, order + count,
              [values](int32_t a, int32_t b) { return values[a] > values[b] || (!(values[b] > values[a]) && a < b); });
}

/// Boxes whose score reaches the threshold, best first, without those that overlap a better one too much.
int64_t suppress(const Work& work, const DetectionOptions& o, const float* scores, int64_t boxes, int64_t wanted)
{
    int64_t count = 0;
    for (int64_t i = 0; i < boxes; ++i)
        if (scores[i] >= o.scoreThreshold) work.order[count++] = static_cast<int32_t>(i);
    sortByScore(scores, work.order, count);
    std::fill(work.active, work.active + count, true);
    int64_t selected = 0;
    LoopPace pace;
    for (int64_t i = 0; i < count && selected < std::min(count, wanted); ++i) {
        if (!work.active[i]) continue;
        pace.did(count - i);
        work.selected[selected++] = work.order[i];
        for (int64_t j = i + 1; j < count; ++j)
            if (work.active[j] && overlap(work.boxes[work.order[i]], work.boxes[work.order[j]]) > o.overlapThreshold)
                work.active[j] = false;
    }
    return selected;
}

struct Results {
    Box* boxes;
    float* classes;
    float* scores;
    float* count;

    void put(int64_t at, const Box& box, int64_t label, float score) const
    {
        boxes[at] = box;
        classes[at] = static_cast<float>(label);
        scores[at] = score;
    }
};

/// Suppression by the best class of each box; each kept box is listed with its best classes.
void runFast(const Work& work, const DetectionOptions& o, int64_t boxes, int64_t columns, const Results& results)
{
    const int64_t offset = columns - o.classes; // 1 if there is a background class
    const int64_t labels = std::min(o.maxClasses, o.classes);
    for (int64_t i = 0; i < boxes; ++i) {
        const float* row = work.scores + i * columns + offset;
        work.best[i] = *std::max_element(row, row + o.classes);
    }
    const int64_t selected = suppress(work, o, work.best, boxes, o.maxDetections);
    for (int64_t k = 0; k < selected; ++k) {
        const float* row = work.scores + work.selected[k] * columns + offset;
        for (int64_t c = 0; c < o.classes; ++c) work.labels[c] = static_cast<int32_t>(c);
        sortByScore(row, work.labels, o.classes);
        for (int64_t c = 0; c < labels; ++c)
            results.put(o.maxClasses * k + c, work.boxes[work.selected[k]], work.labels[c], row[work.labels[c]]);
    }
    *results.count = static_cast<float>(selected);
}

/// Suppression class by class; the best detections of all classes are kept, earlier classes first where scores are equal.
void runRegular(const Work& work, const DetectionOptions& o, int64_t boxes, int64_t columns, const Results& results)
{
    const int64_t offset = columns - o.classes;
    int64_t kept = 0;
    for (int64_t c = 0; c < o.classes; ++c) {
        for (int64_t i = 0; i < boxes; ++i) work.best[i] = work.scores[i * columns + offset + c];
        const int64_t selected = suppress(work, o, work.best, boxes, std::min(o.perClass, o.maxDetections));
        for (int64_t k = 0; k < selected; ++k) {
            const Candidate candidate = {work.selected[k], static_cast<int32_t>(c), work.best[work.selected[k]]};
            int64_t at = kept;
            while (at > 0 && candidate.score > work.kept[at - 1].score) --at;
            if (at >= o.maxDetections) continue;
            kept = std::min(kept + 1, o.maxDetections);
            std::move_backward(work.kept + at, work.kept + kept - 1, work.kept + kept);
            work.kept[at] = candidate;
        }
    }
    for (int64_t k = 0; k < kept; ++k) results.put(k, work.boxes[work.kept[k].box], work.kept[k].label, work.kept[k].score);
    *results.count = static_cast<float>(kept);
}

Status runDetection(const KernelArgs& args)
{
    const auto& o = args.paramsAs<DetectionOptions>();
    const int64_t boxes = args.in(0).shape[1];
    const int64_t columns = args.in(1).shape[2];
    ScratchLayout layout;
    const size_t boxesAt = layout.add<Box>(boxes);
    const size_t scoresAt = layout.add<float>(boxes * columns);
    const size_t bestAt = layout.add<float>(boxes);
    const size_t orderAt = layout.add<int32_t>(boxes);
    const size_t activeAt = layout.add<bool>(boxes);
    const size_t selectedAt = layout.add<int32_t>(boxes);
    const size_t labelsAt = layout.add<int32_t>(o.classes);
    const size_t keptAt = layout.add<Candidate>(o.maxDetections + 1);
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    const Work work = {reinterpret_cast<Box*>(scratch + boxesAt),      reinterpret_cast<float*>(scratch + scoresAt),
                       reinterpret_cast<float*>(scratch + bestAt),     reinterpret_cast<int32_t*>(scratch + orderAt),
                       reinterpret_cast<bool*>(scratch + activeAt),    reinterpret_cast<int32_t*>(scratch + selectedAt),
                       reinterpret_cast<int32_t*>(scratch + labelsAt), reinterpret_cast<Candidate*>(scratch + keptAt)};
    for (int64_t i = 0; i < boxes; ++i) {
        work.boxes[i] = decodeBox(args, o, i);
        if (work.boxes[i].top > work.boxes[i].bottom || work.boxes[i].left > work.boxes[i].right)
            return Error(ErrorCode::execution, "box " + std::to_string(i) + " has a negative size");
    }
    for (int64_t i = 0; i < boxes * columns; ++i) work.scores[i] = valueAt(args.in(1), i);
    for (int k = 0; k < 4; ++k) std::fill_n(args.out(k).as<float>(), args.out(k).elementCount(), 0.0F);
    const Results results = {args.out(0).as<Box>(), args.out(1).as<float>(), args.out(2).as<float>(), args.out(3).as<float>()};
    if (o.regular) runRegular(work, o, boxes, columns, results);
    else runFast(work, o, boxes, columns, results);
    return {};
}

Result<PreparedKernel> prepareDetection(const KernelSetup& setup)
{
    for (int i = 0; i < 3; ++i)
        if (setup.in(i).dtype == DType::u8 && !isQuantized(setup.in(i)))
            return Error(ErrorCode::unsupported, "operand " + std::to_string(i) + " has no scale");
    return PreparedKernel{runDetection, std::make_shared<DetectionOptions>(DetectionOptions::from(setup.attributes()))};
}

} // namespace

LS_DEFINE_KERNELS(custom, TFLite_Detection_PostProcess)
{
    registry.add({"custom", "TFLite_Detection_PostProcess", Profile::reference, prepareDetection, "f32 u8"});
}
