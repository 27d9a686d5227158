// BUCKETIZE: y = number of boundaries that are ≤ x.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <vector>

using namespace loopscope;

namespace {

template <typename T> Status runBucketize(const KernelArgs& args)
{
    const auto& boundaries = args.paramsAs<std::vector<float>>();
    applyUnary<T, int32_t>(args.in(0), args.out(0), [&boundaries](T x) {
        return static_cast<int32_t>(std::upper_bound(boundaries.begin(), boundaries.end(), x) - boundaries.begin());
    });
    return {};
}

Result<PreparedKernel> prepareBucketize(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::f32, runBucketize<float>},
                                           {DType::f64, runBucketize<double>},
                                           {DType::i32, runBucketize<int32_t>},
                                           {DType::i64, runBucketize<int64_t>}};
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    std::vector<float> boundaries;
    const Attribute* attribute = findAttribute(setup.attributes(), "boundaries");
    if (const AttributeItems* items = attribute ? attribute->as<AttributeItems>() : nullptr) {
        for (const Attribute& item : *items) {
            if (const double* real = item.as<double>()) boundaries.push_back(static_cast<float>(*real));
            else if (const int64_t* integer = item.as<int64_t>()) boundaries.push_back(static_cast<float>(*integer));
        }
    }
    kernel.params = std::make_shared<const std::vector<float>>(std::move(boundaries));
    return kernel;
}

} // namespace

LS_DEFINE_KERNELS(tfl, bucketize) { registry.add({"tfl", "bucketize", Profile::reference, prepareBucketize, "f32 f64 i32 i64"}); }
