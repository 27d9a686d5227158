// Each gradient rule has a graph of its operator in tests/passes/gradient_rules.ltest, which holds it against difference quotients. An
// operator with a rule and without one fails this test.
#include "engine/base/bytes.h"
#include "engine/transform/gradient/gradient_rules.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>

namespace loopscope::testing {
namespace {

// clang-format off
/// Rules that difference quotients do not fit, and where they are tested.
const std::set<std::string_view> kElsewhere = {
    "Print",                                                                 // writes
    "ResizeBilinear", "ResizeBicubic", "LRN",                                // f32: tests/passes/gradient.ltest
    "PreventGradient",                                                       // refuses
    "RefIdentity",                                                           // references: v1 graphs only
    "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",                    // steps: their gradient is not the slope
    "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
    "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "MaxPool3D",                // f32
    "MaxPoolGrad",                                                           // piecewise constant in what it compares
    "ReadVariableOp", "ResourceGather", "ResourceGatherNd",                                    // tests/passes/gradient.ltest
    "TensorListScatter", "TensorListConcat", "TensorListConcatV2", "TensorListSplit", "TensorListResize", "OptionalFromValue", "OptionalGetValue",
    "TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3", "TensorArrayGradV3",
};
// clang-format on

TEST(GradientRules, areHeldAgainstSlopes)
{
    const Result<Bytes> file = mapFile("tests/passes/gradient_rules.ltest");
    ASSERT_TRUE(file.ok()) << file.error().message();
    const std::string_view cases(file->as<char>(), file->size());
    for (const std::string_view kind : operatorsWithGradientRules()) {
        const bool isThere = cases.find("= " + std::string(kind) + "(") != std::string_view::npos;
        EXPECT_TRUE(isThere || kElsewhere.contains(kind)) << kind << " has a rule and no test";
        EXPECT_FALSE(isThere && kElsewhere.contains(kind)) << kind << " needs no test elsewhere";
    }
}

} // namespace
} // namespace loopscope::testing
