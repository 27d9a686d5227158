// Reductions over any axes, extremes' places, what is done with runs along one axis, and the largest of each row.
#include "engine/kernels/vulkan/families.h"

#include <algorithm>

namespace loopscope::vulkan {

namespace {

constexpr size_t kMostAxes = 4;
constexpr int64_t kShared = 512; ///< elements of a result from which a workgroup shares the work

/// The push constants of reduce.comp.
struct ReductionParameters {
    uint32_t count = 0, ranks = 0;
    uint32_t kept[kMostAxes] = {}, keptSteps[kMostAxes] = {};
    uint32_t reduced[kMostAxes] = {}, reducedSteps[kMostAxes] = {};
    uint32_t reduceCount = 1;
};

/// Axes innermost first; neighbours that can be one are one.
struct Axes {
    std::vector<int64_t> sizes, steps;
    void add(int64_t size, int64_t step)
    {
        if (size == 1) return;
        if (!sizes.empty() && steps.back() * sizes.back() == step) {
            sizes.back() *= size;
            return;
        }
        sizes.push_back(size);
        steps.push_back(step);
    }
};

/// The constant integers of an operand. Errors: unsupported, it is known only when running.
Result<std::vector<int64_t>> integersOf(const Tensor& tensor)
{
    if (!tensor.data) return unsupported("axes that are known only when running");
    std::vector<int64_t> all;
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
        all.push_back(tensor.dtype == DType::i64 ? tensor.as<int64_t>()[i] : tensor.as<int32_t>()[i]);
    return all;
}

} // namespace

Result<PreparedKernel> planReduction(const KernelSetup& setup, const KernelLine& line)
{
    const Tensor &input = setup.in(0), &result = setup.out(0);
    const std::optional<Code> store = storeOf(input.dtype), out = storeOf(result.dtype);
    if (!does(line, input.dtype) || !store || !out) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    LS_TRY(const std::vector<int64_t> given, integersOf(setup.in(1)));
    const Shape& shape = input.shape;
    std::vector<bool> isReduced(static_cast<size_t>(shape.rank()));
    for (int64_t axis : given) {
        if (shape.rank() == 0) break;
        if (axis < 0) axis += shape.rank();
        if (axis < 0 || axis >= shape.rank()) return unsupported("an axis outside the tensor");
        isReduced[static_cast<size_t>(axis)] = true;
    }
    Axes kept, reduced;
    int64_t step = 1;
    for (int d = shape.rank() - 1; d >= 0; --d) {
        (isReduced[static_cast<size_t>(d)] ? reduced : kept).add(shape[d], step);
        step *= shape[d];
    }
    if (kept.sizes.size() > kMostAxes || reduced.sizes.size() > kMostAxes) return unsupported("axes in more than 4 groups");
    ReductionParameters p;
    for (size_t i = 0; i < kept.sizes.size(); ++i) {
        p.kept[i] = static_cast<uint32_t>(kept.sizes[i]);
        p.keptSteps[i] = static_cast<uint32_t>(kept.steps[i]);
    }
    int64_t size = 1;
    for (size_t i = 0; i < reduced.sizes.size(); ++i) {
        p.reduced[i] = static_cast<uint32_t>(reduced.sizes[i]);
        p.reducedSteps[i] = static_cast<uint32_t>(reduced.steps[i]);
        size *= reduced.sizes[i];
    }
    const int64_t count = result.elementCount();
    if (input.elementCount() == 0) return unsupported("reductions of nothing");
    const bool isArgument = line.code == reduceArgMax || line.code == reduceArgMin, isShared = !isArgument && size >= kShared;
    // Each element's place is a loop over the axes, with its exit as many iterations as there are axes; an argument needs two places.
    const auto ranks = static_cast<int64_t>(reduced.sizes.size());
    const int64_t trips = (1 + (isArgument ? 2 : 1) * ranks) * (isShared ? size / 256 + 1 : size);
    if (trips > kMostTrips) return unsupported("reductions of more than " + std::to_string(size) + " elements");
    p.count = static_cast<uint32_t>(count);
    p.ranks = static_cast<uint32_t>(kept.sizes.size() + 16 * reduced.sizes.size());
    p.reduceCount = static_cast<uint32_t>(size);
    const bool isSum = (line.code == reduceSum || line.code == reduceMean) && *store == storeF32;
    const bool readsFours = isShared && isSum && reduced.steps.size() == 1 && reduced.steps[0] == 1 && size % 4 == 0;
    const Place in = builder.in(0);
    LS_CHECK_OK(builder.addElements(
        Shader::reduce, {line.code, isFloat(input.dtype) ? inFloat : inLong, *store, *out, isShared ? 1U : 0U, readsFours ? 1U : 0U},
        {in, PlanBuilder::out(0)}, wordsOf(p), isShared ? count * 256 : count));
    return builder.done();
}

Result<PreparedKernel> planRows(const KernelSetup& setup, const KernelLine& line)
{
    const Tensor& input = setup.in(0);
    const std::optional<Code> store = storeOf(input.dtype);
    if (!does(line, input.dtype) || !store || setup.out(0).dtype != input.dtype) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    struct {
        uint32_t rows = 0, length = 1, inner = 1;
        float beta = 1;
        uint32_t isReverse = 0, isExclusive = 0;
    } p;
    const Shape& shape = input.shape;
    if (line.code == rowSoftmax) p.beta = static_cast<float>(attributeFloat(setup.attributes(), "beta", 0.0));
    int axis = shape.rank() - 1;
    if (line.code == rowCumsum) {
        LS_TRY(const std::vector<int64_t> given, integersOf(setup.in(1)));
        axis = static_cast<int>(given.empty() ? 0 : given[0] < 0 ? given[0] + shape.rank() : given[0]);
        if (axis < 0 || axis >= shape.rank()) return unsupported("an axis outside the tensor");
        p.isReverse = attributeBool(setup.attributes(), "reverse", false) ? 1 : 0;
        p.isExclusive = attributeBool(setup.attributes(), "exclusive", false) ? 1 : 0;
    }
    const int64_t length = axis < 0 ? 1 : shape[axis], rows = length == 0 ? 0 : shape.elementCount() / length;
    if ((line.code == rowCumsum ? length : 3 * (length / 64 + 1)) > kMostTrips) return unsupported("runs of " + std::to_string(length));
    p.rows = static_cast<uint32_t>(rows);
    p.length = static_cast<uint32_t>(length);
    p.inner = axis < 0 ? 1 : static_cast<uint32_t>(shape.countOf(axis + 1, shape.rank()));
    const Place in = builder.in(0);
    const std::vector<Place> places = {in, PlanBuilder::out(0)};
    const Code computedIn = isFloat(input.dtype) ? inFloat : inLong;
    // A workgroup a row; of running sums an invocation, 64 a workgroup.
    const int64_t groups = line.code == rowCumsum ? (rows + 63) / 64 : rows;
    LS_CHECK_OK(builder.addElements(Shader::rows, {line.code, computedIn, *store}, places, wordsOf(p), groups * 256));
    return builder.done();
}

Result<PreparedKernel> planTopK(const KernelSetup& setup, const KernelLine& line)
{
    const Tensor &input = setup.in(0), &values = setup.out(0);
    // Bits move as they are.
    const std::optional<Code> store = input.dtype == DType::f32 ? std::optional(storeI32) : storeOf(input.dtype),
                              places = storeOf(setup.out(1).dtype);
    if (!does(line, input.dtype) || !store || !places || values.dtype != input.dtype) return wrongDtypes(setup);
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    if (!setup.in(1).data) return unsupported("a number of places that is known only when running");
    struct {
        uint32_t rows = 0, size = 0, k = 0;
    } p;
    const int64_t size = input.shape.back(), k = values.shape.back();
    const int64_t rows = size == 0 ? 0 : input.elementCount() / size;
    // One by one: for each of k places a loop over the row's part of an invocation, one that combines them, and their exits.
    const int64_t oneByOne = k * (size / 64 + 10);
    const bool isOneByOne = oneByOne < size || size + 1 > kMostTrips;
    if (isOneByOne && oneByOne > kMostTrips) return unsupported("the " + std::to_string(k) + " largest of " + std::to_string(size));
    p.rows = static_cast<uint32_t>(rows);
    p.size = static_cast<uint32_t>(size);
    p.k = static_cast<uint32_t>(k);
    const Place in = builder.in(0);
    const int64_t groups = k == 0 ? 0 : isOneByOne ? rows : (rows * size + 63) / 64;
    LS_CHECK_OK(builder.addElements(Shader::topk, {isFloat(input.dtype) ? inFloat : inLong, *store, *places, isOneByOne ? 1U : 0U},
                                    {in, PlanBuilder::out(0), PlanBuilder::out(1)}, wordsOf(p), groups * 256));
    return builder.done();
}

} // namespace loopscope::vulkan
