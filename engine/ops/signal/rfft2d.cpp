// Catalogue entry of rfft2d.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

/// Constraints: C1 rank, C2 dtypes, C3 lengths.
Status inferRfft2d(InferContext& context)
{
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() < 2)
        return InferContext::violated(1, "input has rank " + std::to_string(input.rank()) + ", expected at least 2");
    LS_CHECK_OK(requireShape(context, 1, 1, {2}));
    LS_CHECK_OK(requireDtypeIfPresent(context, 2, 0, DType::f32));
    LS_CHECK_OK(requireDtypeIfPresent(context, 2, 1, DType::i32));
    Shape output = input;
    const auto lengths = context.intValues(1);
    if (lengths && lengths->size() == 2)
        for (const int64_t n : *lengths)
            if (n < 1 || (n & (n - 1)) != 0) return InferContext::violated(3, "fft_length " + std::to_string(n) + " is no power of two");
    if (output.hasRank()) {
        const bool known = lengths && lengths->size() == 2;
        output[output.rank() - 2] = known ? (*lengths)[0] : kUnknownDim;
        output[output.rank() - 1] = known ? (*lengths)[1] / 2 + 1 : kUnknownDim;
    }
    context.setOutput(0, DType::c64, output);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, rfft2d)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "input […,H,W], fft_length [2]";
    def.summary =
        "Two-dimensional Fourier transform of real matrices, cut or filled up with zeros to fft_length; the redundant half is left out.";
    def.source = "LiteRT kernels/rfft2d.cc";
    def.differs =
        "rows of length 1 are transformed; LiteRT takes the redundant half away from where there is none: [1, 2.5] gives it [1 - i, 2.5]";
    def.floatBound = ErrorBounds(withinOfLargest(1.2e-7)).because("1 ulp of it: both compute in f64 and round once");
    def.infer = inferRfft2d;
    return def;
}
