// Catalogue entry of TensorFlow's n-grams.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, StringNGrams)
{
    return tfDef({2, 2, 2, 2}, "data, data_splits", "Every run of ngram_widths neighbouring strings of a ragged tensor, joined.");
}
