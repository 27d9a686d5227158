// Every operator of the catalogue has a family of its own choosing; nothing is "other" by oversight.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_registry.h"
#include "viewer/scene/family.h"

#include <gtest/gtest.h>

#include <set>

namespace loopscope::viewer {

TEST(Family, KnownOperators)
{
    EXPECT_EQ(familyOf({"tfl", "conv_2d"}), Family::matrix);
    EXPECT_EQ(familyOf({"tfl", "add"}), Family::arithmetic);
    EXPECT_EQ(familyOf({"tfl", "logistic"}), Family::activation);
    EXPECT_EQ(familyOf({"tfl", "mean"}), Family::reduction);
    EXPECT_EQ(familyOf({"tfl", "reshape"}), Family::movement);
    EXPECT_EQ(familyOf({"tfl", "while"}), Family::controlFlow);
    EXPECT_EQ(familyOf({"tfl", "quantize"}), Family::conversion);
    EXPECT_EQ(familyOf({"tfl", "read_variable"}), Family::state);
    EXPECT_EQ(familyOf({"tfl", "hashtable_find"}), Family::other);
    EXPECT_EQ(familyOf({"tfl", "stablehlo_add"}), Family::arithmetic);
    EXPECT_EQ(familyOf({"circle", "rms_norm"}), Family::activation);
    EXPECT_EQ(familyOf({"tf", "NextIteration"}), Family::controlFlow);
    EXPECT_EQ(familyOf({"tf", "Placeholder"}), Family::state);
    EXPECT_EQ(familyOf({"tf", "Conv2DBackpropInput"}), Family::matrix);
    EXPECT_EQ(familyOf({"tf", "TensorArrayV3"}), Family::state);
    EXPECT_EQ(familyOf({"custom", "add"}), Family::other);
    EXPECT_EQ(familyOf({"tfl", "no_such_operator"}), Family::other);
}

TEST(Family, NoOperatorOfTheCatalogueIsForgotten)
{
    const std::set<std::string> other = {"hashtable", "hashtable_find", "hashtable_import", "hashtable_size", "hashtable_lookup",
                                         "random_uniform", "random_standard_normal", "multinomial", "stablehlo_rng_bit_generator",
                                         "lsh_projection", "skip_gram",
                                         // strings, random numbers and tables of TensorFlow
                                         "Multinomial", "StatelessMultinomial", "RandomUniform", "RandomStandardNormal", "RandomUniformInt",
                                         "StatelessRandomUniform", "StatelessRandomNormal", "Print", "PrintV2", "Substr"};
    for (const OpDef& op : allOps()) {
        if (op.dialect == "custom" || other.contains(std::string(op.name))) continue;
        const Family family = familyOf({std::string(op.dialect), std::string(op.name)});
        const auto names = [&](std::string_view part) { return op.name.find(part) != std::string_view::npos; };
        const bool isOther = names("String") || names("Regex") || names("Table") || names("Random") || names("TruncatedNormal") ||
                             names("Tokenize") || names("Sentencepiece") || names("UnicodeScript") ||
                             op.source.find("string") != std::string_view::npos;
        EXPECT_TRUE(family != Family::other || isOther) << op.dialect << "." << op.name << ": say its family in engine/ops/ops.def";
    }
}

} // namespace loopscope::viewer
