// The sample "Find the worst layer": an int8 network whose second layer has another scale. The angle between the two sides does not show
// that; how layers are judged must.
#include "converters/formats.h"
#include "engine/debug/reference/drift.h"
#include "tests/unit/debug/debug_fixture.h"
#include "viewer/compare/metric.h"

#include <gtest/gtest.h>

namespace loopscope::viewer {
namespace {

loopscope::testing::Subject sample(const std::string& name, const std::vector<float>& x)
{
    loopscope::testing::Subject subject;
    Result<LoadedModel> file = loadModel("samples/text/" + name);
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message());
    subject.model = std::make_shared<Model>(std::move(file->model));
    subject.add<float>(Shape{1, 4}, x);
    return subject;
}

/// The layers of the int8 network against those of the float one.
std::vector<DriftRow> layersFor(const std::vector<float>& x)
{
    const loopscope::testing::DebugRun run(sample("layers_int8.lsir", x));
    EXPECT_TRUE(run.timeline->start().ok());
    const loopscope::testing::Subject exact = sample("layers_float.lsir", x);
    auto reference = referenceToRun("float", exact.make(), *run.subject.model, GraphId(0), Tolerance(), nullptr);
    EXPECT_TRUE(reference.ok());
    Result<Drift> drift = collectDrift(*run.target, **reference);
    EXPECT_TRUE(drift.ok()) << (drift.ok() ? "" : drift.error().message());
    return std::move(drift->rows);
}

TEST(WorstLayer, isFoundByCosineAlthoughItsDirectionIsRight)
{
    const std::vector<DriftRow> layers = layersFor({0.002377591F, 0.4228065F, 0.2869494F, 0.5925989F});
    ASSERT_EQ(layers.size(), 3U);
    const double limit = usualLimit(Metric::cosine);
    for (const DriftRow& layer : layers) EXPECT_GT(layer.cosine, limit) << layer.layer << ": the angle alone says that all is well";
    EXPECT_GT(layers[0].snr, 30);
    EXPECT_LT(layers[1].snr, 10) << "the scale does not";
    EXPECT_EQ(verdictOf(layers[0], Metric::cosine, limit), Verdict::within);
    EXPECT_EQ(verdictOf(layers[1], Metric::cosine, limit), Verdict::farOver);
    // What the measures of size say is the same.
    EXPECT_EQ(verdictOf(layers[0], Metric::snr, usualLimit(Metric::snr)), Verdict::within);
    EXPECT_EQ(verdictOf(layers[1], Metric::snr, usualLimit(Metric::snr)), Verdict::farOver);
}

TEST(WorstLayer, anotherScaleIsOverTheLimitAndAnotherDirectionStays)
{
    DriftFigures figures;
    figures.elements = 100;
    figures.different = 100;
    figures.cosine = 0.999997;
    figures.snr = 5.6; // half as large
    EXPECT_EQ(verdictOf(figures, Metric::cosine, 0.99), Verdict::farOver);
    // Tensors at the limit's angle are 17 dB apart: what is nearer than that is within.
    figures.snr = 17.1;
    EXPECT_EQ(verdictOf(figures, Metric::cosine, 0.99), Verdict::within);
    figures.snr = 16.5;
    EXPECT_EQ(verdictOf(figures, Metric::cosine, 0.99), Verdict::over);
    figures.cosine = 0.98;
    figures.snr = 60;
    EXPECT_EQ(verdictOf(figures, Metric::cosine, 0.99), Verdict::over);
}

} // namespace
} // namespace loopscope::viewer
