#include "engine/kernels/cpu/sparse/places.h"

#include "engine/base/interruption.h"

#include <algorithm>
#include <numeric>

namespace loopscope {

int SparsePlaces::compare(int64_t x, const SparsePlaces& other, int64_t y) const
{
    for (int d = 0; d < rank(); ++d)
        if (at(x, d) != other.at(y, d)) return at(x, d) < other.at(y, d) ? -1 : 1;
    return 0;
}

std::vector<int64_t> SparsePlaces::order() const
{
    std::vector<int64_t> entries(static_cast<size_t>(count));
    std::iota(entries.begin(), entries.end(), 0);
    LoopPace pace; // of comparisons
    std::stable_sort(entries.begin(), entries.end(), [this, &pace](int64_t x, int64_t y) {
        pace.did(1);
        return compare(x, *this, y) < 0;
    });
    return entries;
}

void SparsePlaces::add(const SparsePlaces& from, int64_t entry)
{
    for (int d = 0; d < from.rank(); ++d) indices.push_back(from.at(entry, d));
    ++count;
}

Result<SparsePlaces> sparsePlaces(const KernelArgs& args, int i, int s)
{
    SparsePlaces places;
    LS_TRY(places.shape, tfShapeOperand(args.in(s)));
    const Shape& indices = args.in(i).shape;
    if (indices.rank() != 2 || indices[1] != places.rank())
        return invalidArgument("Input indices should be a matrix of " + std::to_string(places.rank()) + " columns but received shape " +
                               toString(indices));
    places.count = indices[0];
    places.indices = tfIntegers(args.in(i));
    for (int64_t e = 0; e < places.count; ++e)
        for (int d = 0; d < places.rank(); ++d)
            if (places.at(e, d) < 0 || places.at(e, d) >= places.shape[d]) {
                std::string text;
                for (int k = 0; k < places.rank(); ++k) text += (k ? "," : "") + std::to_string(places.at(e, k));
                return invalidArgument("indices[" + std::to_string(e) + "] = [" + text + "] is out of bounds: need 0 <= index < " +
                                       toString(places.shape));
            }
    return places;
}

Status checkSparseValues(const KernelArgs& args, int v, int64_t count)
{
    if (args.in(v).shape == Shape({count})) return {};
    return invalidArgument("Input values should be a vector of " + std::to_string(count) + " elements but received shape " +
                           toString(args.in(v).shape));
}

Status giveSparseIntegers(const KernelArgs& args, int k, const Shape& shape, const std::vector<int64_t>& numbers)
{
    LS_CHECK_OK(tfAllocate(args, k, shape));
    std::copy(numbers.begin(), numbers.end(), args.out(k).as<int64_t>());
    return {};
}

Status giveSparsePlaces(const KernelArgs& args, int i, int s, const SparsePlaces& places)
{
    LS_CHECK_OK(giveSparseIntegers(args, i, Shape({places.count, places.rank()}), places.indices));
    const std::span<const int64_t> dims = places.shape.dims();
    return giveSparseIntegers(args, s, Shape({places.rank()}), {dims.begin(), dims.end()});
}

Status giveChosen(const KernelArgs& args, int k, int v, const std::vector<int64_t>& chosen)
{
    LS_TRY(const TfSource values, TfSource::of(args.in(v)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, k, Shape({static_cast<int64_t>(chosen.size())})));
    for (size_t e = 0; e < chosen.size(); ++e)
        std::memcpy(out.at(static_cast<int64_t>(e)), values.at(chosen[e]), static_cast<size_t>(out.size()));
    return out.finish();
}

Result<std::vector<bool>> reducedDimensions(const KernelArgs& args, int k, int rank)
{
    std::vector<bool> reduced(static_cast<size_t>(rank), false);
    for (const int64_t axis : tfIntegers(args.in(k))) {
        LS_TRY(const int d, tfAxis(axis, rank, "Invalid reduction dimension"));
        reduced[static_cast<size_t>(d)] = true;
    }
    return reduced;
}

} // namespace loopscope
