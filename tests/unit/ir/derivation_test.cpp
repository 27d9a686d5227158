// What a model says of the one that it was made from, through rewrites and files.
#include "engine/ir/derivation.h"
#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace loopscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Model parsed(const std::string& text)
{
    auto model = parseModel(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(model).value() : Model();
}

/// As a file gives it back.
Model again(const Model& model) { return parsed(printModel(model)); }

const Derivation kFile = {"fuse", "tflite", 12, "0123", "a model.tflite"};
const Derivation kFirst = {"lower", "pb", 7, "4567", "graph.pb"};

constexpr const char* kLite = "model tfl\n\ngraph main(x: f32[2]) {\n  y = add(x, x) : f32[2]\n  z = mul(y, x) : f32[2]\n  return z\n}\n";
constexpr const char* kGraph =
    "model tf\n\ngraph main(x: f32[2]) {\n  y = Neg(x) T=f32 : f32[2]\n  z = Exp(y) T=f32 : f32[2]\n  return z\n}\n";

TEST(Derivation, staysInTheTextOfALiteModel)
{
    Model model = parsed(kLite);
    EXPECT_THAT(derivationsOf(model), IsEmpty());
    EXPECT_THAT(derivedOrigins(model), IsEmpty());
    model.graphs[0].operators[0].origin = {"conv", "bias"};
    model.graphs[0].operators[1].origin = {};
    recordDerivation(model, kFile, Model());
    const Model read = again(model);
    EXPECT_THAT(derivationsOf(read), ElementsAre(kFile));
    EXPECT_THAT(derivedOrigins(read), ElementsAre(ElementsAre(ElementsAre("conv", "bias"), IsEmpty())));
}

TEST(Derivation, tracesOperatorsBackToTheFirstModel)
{
    Model lowered = parsed(kLite);
    lowered.graphs[0].operators[0].origin = {"plus"};
    lowered.graphs[0].operators[1].origin = {"times"};
    recordDerivation(lowered, kFirst, Model());
    Model fused = lowered;
    fused.graphs[0].operators[0].origin = {"0:1", "0:0", "0:0"};
    fused.graphs[0].operators[1].origin = {"0:1"};
    recordDerivation(fused, kFile, lowered);
    EXPECT_THAT(derivationsOf(again(fused)), ElementsAre(kFile, kFirst));
    EXPECT_THAT(derivedOrigins(again(fused)), ElementsAre(ElementsAre(ElementsAre("times", "plus"), ElementsAre("times"))));
}

TEST(Derivation, doesNotFitAModelThatWasEditedSince)
{
    Model model = parsed(kLite);
    recordDerivation(model, kFile, Model());
    model.graphs[0].operators.pop_back();
    EXPECT_THAT(derivedOrigins(model), IsEmpty());
    EXPECT_THAT(derivationsOf(model), ElementsAre(kFile));
}

TEST(Derivation, staysInTheTextOfAGraph)
{
    Model model = parsed(kGraph);
    model.graphs[0].operators[1].origin = {"first", "second"};
    recordDerivation(model, kFile, Model());
    const Model read = again(model);
    EXPECT_THAT(derivationsOf(read), ElementsAre(kFile));
    EXPECT_THAT(derivedOrigins(read), ElementsAre(ElementsAre(ElementsAre("y"), ElementsAre("first", "second"))));
}

TEST(Derivation, linesThatSayNothingAreLeftOut)
{
    Model model = parsed(kLite);
    const std::string text = "nonsense\nfuse tflite -3 00 x\nfuse tflite 12 0123 a model.tflite\n\nfuse tflite 1";
    model.metadata.push_back({std::string(kDerivedFromEntry), std::make_shared<Constant>(Bytes::copyOf(text.data(), text.size()))});
    EXPECT_THAT(derivationsOf(model), ElementsAre(kFile));
}

} // namespace
} // namespace loopscope
