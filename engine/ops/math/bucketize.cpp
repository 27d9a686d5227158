// Catalogue entry of BUCKETIZE.
// Constraint: C1 boundaries rise.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

#include <limits>

using namespace loopscope;

namespace {

Status inferBucketize(InferContext& context)
{
    const Attribute* attribute = findAttribute(context.attributes(), "boundaries");
    const AttributeItems* items = attribute ? attribute->as<AttributeItems>() : nullptr;
    double previous = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; items && i < items->size(); ++i) {
        const double* real = (*items)[i].as<double>();
        const int64_t* integer = (*items)[i].as<int64_t>();
        const double value = real ? *real : integer ? static_cast<double>(*integer) : previous;
        if (!(value >= previous)) return InferContext::violated(1, "boundary " + std::to_string(i) + " is below the one before it");
        previous = value;
    }
    context.setOutput(0, DType::i32, context.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, bucketize)
{
    OpDef def = unaryDef("Number of boundaries that an element has reached.", "LiteRT kernels/bucketize.cc");
    def.infer = inferBucketize;
    return def;
}
