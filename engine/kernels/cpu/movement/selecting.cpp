// Kernels whose results depend on the values of their operands.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace loopscope;

namespace {

Status runWhere(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const int rank = in.shape.rank();
    const int64_t count = in.elementCount();
    int64_t row = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!elementIsSet(in, i)) continue;
        if (row == out.shape[0])
            return Error(ErrorCode::execution, "more elements are set than were planned for").found("more than " + std::to_string(row));
        int64_t rest = i;
        for (int d = rank - 1; d >= 0; --d) {
            out.as<int64_t>()[row * rank + d] = rest % in.shape[d];
            rest /= in.shape[d];
        }
        ++row;
    }
    if (row != out.shape[0])
        return Error(ErrorCode::execution, "elements that are set").found(std::to_string(row)).expected(std::to_string(out.shape[0]));
    return {};
}

struct OneHotParams {
    int64_t axis = 0;
};

/// out[p, j, s] = indices[p, s] = j ? on : off
Status runOneHot(const KernelArgs& args)
{
    const Tensor& indices = args.in(0);
    Tensor& out = args.out(0);
    const int64_t size = elementBytes(out);
    const int rank = indices.shape.rank();
    const int64_t wanted = args.paramsAs<OneHotParams>().axis;
    const int axis = static_cast<int>(wanted == -1 ? rank : wanted);
    const int64_t outer = indices.shape.countOf(0, axis);
    const int64_t inner = indices.shape.countOf(axis, rank);
    const int64_t depth = out.shape[axis];
    StridedCopy fill;
    fill.add(out.elementCount(), 0, 1);
    fill.run(args.in(3).data, out.data, size);
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t index = indexAt(indices, o * inner + i);
            if (index < 0 || index >= depth) continue; // all off
            std::memcpy(out.data + ((o * depth + index) * inner + i) * size, args.in(2).data, static_cast<size_t>(size));
        }
    return {};
}

/// True if a comes before b: the larger value, NaN last.
template <typename T> bool larger(T a, T b)
{
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    }
    return a > b;
}

template <typename T, typename Index> Status runTopK(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& values = args.out(0);
    Tensor& places = args.out(1);
    const int64_t length = in.shape.back();
    const int64_t k = values.shape.back();
    const int64_t rows = in.shape.countOf(0, in.shape.rank() - 1);
    if (k > length) return kernelError(2, "k").found(std::to_string(k)).expected("at most " + std::to_string(length));
    if (k == 0 || rows == 0) return {};
    auto* order = reinterpret_cast<int64_t*>(args.runtime->scratch(static_cast<size_t>(length) * sizeof(int64_t)));
    LoopPace pace; // of comparisons
    for (int64_t r = 0; r < rows; ++r) {
        const T* row = in.as<T>() + r * length;
        for (int64_t i = 0; i < length; ++i) order[i] = i;
        std::partial_sort(order, order + k, order + length, [row, &pace](int64_t a, int64_t b) {
            pace.did(1);
            if (larger(row[a], row[b])) return true;
            if (larger(row[b], row[a])) return false;
            return a < b;
        });
        for (int64_t i = 0; i < k; ++i) {
            values.as<T>()[r * k + i] = row[order[i]];
            places.as<Index>()[r * k + i] = static_cast<Index>(order[i]);
        }
    }
    return {};
}

template <typename T> KernelFunction topKFor(DType index) { return index == DType::i16 ? runTopK<T, int16_t> : runTopK<T, int32_t>; }

Result<PreparedKernel> prepareTopK(const KernelSetup& setup)
{
    const DType index = setup.out(1).dtype;
    KernelFunction run = nullptr;
    switch (setup.in(0).dtype) {
    case DType::f32: run = topKFor<float>(index); break;
    case DType::i8: run = topKFor<int8_t>(index); break;
    case DType::u8: run = topKFor<uint8_t>(index); break;
    case DType::i16: run = topKFor<int16_t>(index); break;
    case DType::i32: run = topKFor<int32_t>(index); break;
    case DType::i64: run = topKFor<int64_t>(index); break;
    default: return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(setup.in(0).dtype)));
    }
    return PreparedKernel{run, nullptr};
}

template <typename Index> Status runUnique(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& values = args.out(0);
    Tensor& places = args.out(1);
    const int64_t size = elementBytes(in);
    const std::vector<int64_t> first = firstOccurrences(in);
    int64_t found = 0;
    for (size_t i = 0; i < first.size(); ++i) {
        if (first[i] == static_cast<int64_t>(i)) {
            if (found == values.shape[0])
                return Error(ErrorCode::execution, "more elements differ than were planned for")
                    .found("more than " + std::to_string(found));
            std::memcpy(values.data + found * size, in.data + static_cast<int64_t>(i) * size, static_cast<size_t>(size));
            places.as<Index>()[i] = static_cast<Index>(found++);
        } else {
            places.as<Index>()[i] = places.as<Index>()[first[i]];
        }
    }
    return {};
}

/// Corners in any order, as LiteRT takes them.
struct Box {
    float top, left, bottom, right;
    explicit Box(const float* b)
        : top(std::min(b[0], b[2])),
          left(std::min(b[1], b[3])),
          bottom(std::max(b[0], b[2])),
          right(std::max(b[1], b[3]))
    {
    }
    float area() const { return (bottom - top) * (right - left); }
};

/// Intersection over union; 0 if either has no area.
float overlap(const float* boxes, int32_t i, int32_t j)
{
    const Box a(boxes + 4 * int64_t{i});
    const Box b(boxes + 4 * int64_t{j});
    const float areaA = a.area();
    const float areaB = b.area();
    if (areaA <= 0 || areaB <= 0) return 0;
    const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0F);
    const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0F);
    const float common = height * width;
    return common / (areaA + areaB - common);
}

struct Candidate {
    int32_t box;
    float score;
    int32_t compared; ///< boxes chosen before this one have been compared with it already
};

struct SuppressionParams {
    bool soft = false;
    bool cut = false; ///< the results shrink to what was chosen: LiteRT does so where their size is computed
};

/// Soft non-maximum suppression with Gaussian weights (LiteRT internal/reference/non_max_suppression.h). Candidates wait in a heap by score
/// alone, like there, so that ties come out in the same order.
Status runSuppression(const KernelArgs& args)
{
    const auto& params = args.paramsAs<SuppressionParams>();
    const float* boxes = args.in(0).as<float>();
    const float* scores = args.in(1).as<float>();
    const int64_t count = args.in(0).shape[0];
    const int64_t most = args.out(0).shape[0];
    const float overlapLimit = *args.in(3).as<float>();
    const float scoreLimit = *args.in(4).as<float>();
    const float sigma = params.soft ? *args.in(5).as<float>() : 0.0F;
    if (sigma < 0) return kernelError(4, "sigma").found(std::to_string(sigma)).expected("0 or more");
    if (count > INT32_MAX) return kernelError(1, "number of boxes").found(std::to_string(count)).expected("less than 2^31");
    auto* heap = reinterpret_cast<Candidate*>(args.runtime->scratch(static_cast<size_t>(count) * sizeof(Candidate)));
    const auto lower = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
    int64_t waiting = 0;
    const auto push = [&](const Candidate& c) {
        heap[waiting++] = c;
        std::push_heap(heap, heap + waiting, lower);
    };
    for (int64_t i = 0; i < count; ++i)
        if (scores[i] > scoreLimit) push({static_cast<int32_t>(i), scores[i], 0});
    const int64_t wanted = std::min(waiting, most);
    const float scale = sigma > 0 ? static_cast<float>(-0.5 / static_cast<double>(sigma)) : 0.0F;
    int32_t* chosen = args.out(0).as<int32_t>();
    float* chosenScores = params.soft ? args.out(1).as<float>() : nullptr;
    int32_t found = 0;
    while (found < wanted && waiting > 0) {
        std::pop_heap(heap, heap + waiting, lower);
        Candidate next = heap[--waiting];
        const float before = next.score;
        bool dropped = false;
        for (int32_t j = found - 1; j >= next.compared; --j) {
            const float iou = overlap(boxes, next.box, chosen[j]);
            if (iou >= overlapLimit) {
                dropped = true;
                break;
            }
            if (sigma > 0) next.score *= std::exp(scale * iou * iou);
            if (next.score <= scoreLimit) break;
        }
        next.compared = found;
        if (dropped) continue;
        if (next.score == before) {
            chosen[found] = next.box;
            if (chosenScores) chosenScores[found] = next.score;
            ++found;
        }
        // A chosen box goes back too, as in LiteRT: with an overlap limit above 1 it can be chosen again.
        if (next.score > scoreLimit) push(next);
    }
    for (int64_t i = found; i < most; ++i) {
        chosen[i] = 0;
        if (chosenScores) chosenScores[i] = 0;
    }
    *args.out(params.soft ? 2 : 1).as<int32_t>() = found;
    if (!params.cut) return {};
    for (int k = 0; k < (params.soft ? 2 : 1); ++k) {
        // The kept part stays where it is: shrinking needs no memory.
        args.out(k).shape = Shape{found};
        args.out(k).bytes = static_cast<size_t>(found) * 4;
    }
    return {};
}

template <bool soft> Result<PreparedKernel> prepareSuppression(const KernelSetup& setup)
{
    return PreparedKernel{runSuppression,
                          std::make_shared<SuppressionParams>(SuppressionParams{soft, soft && setup.in(2).data == nullptr})};
}

} // namespace

LS_DEFINE_KERNELS(tfl, where)
{
    registry.add({"tfl", "where", Profile::reference,
                  [](const KernelSetup&) -> Result<PreparedKernel> {
                      return PreparedKernel{runWhere, nullptr};
                  },
                  "numbers of whole bytes, bool"});
}

LS_DEFINE_KERNELS(tfl, one_hot)
{
    registry.add({"tfl", "one_hot", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(2).dtype, runOneHot,
                                             std::make_shared<OneHotParams>(OneHotParams{attributeInt(s.attributes(), "axis", 0)}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, topk_v2) { registry.add({"tfl", "topk_v2", Profile::reference, prepareTopK, "f32 i8 u8 i16 i32 i64"}); }

LS_DEFINE_KERNELS(tfl, unique)
{
    registry.add({"tfl", "unique", Profile::reference,
                  [](const KernelSetup& s) -> Result<PreparedKernel> {
                      return PreparedKernel{s.out(1).dtype == DType::i64 ? runUnique<int64_t> : runUnique<int32_t>, nullptr};
                  },
                  "numbers of whole bytes"});
}

LS_DEFINE_KERNELS(tfl, non_max_suppression_v4)
{
    registry.add({"tfl", "non_max_suppression_v4", Profile::reference, prepareSuppression<false>, "f32"});
}

LS_DEFINE_KERNELS(tfl, non_max_suppression_v5)
{
    registry.add({"tfl", "non_max_suppression_v5", Profile::reference, prepareSuppression<true>, "f32"});
}
