// Catalogue entries of TF Text's operators for SentencePiece on phones, with a model in an operand.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef named(OpDef def, std::string_view name)
{
    def.name = name;
    def.source = "TensorFlow Text 2.21 core/kernels/sentencepiece";
    return def;
}

} // namespace

LS_DEFINE_OP(tf, TFText_FastSentencepieceTokenize)
{
    return named(tfDef({7, 7, 2, 2}, "sp_model, input, nbest_size, alpha, add_bos, add_eos, reverse",
                       "The numbers of the pieces of texts, with row splits; the model is a FlatBuffer."),
                 "TFText>FastSentencepieceTokenize");
}
LS_DEFINE_OP(tf, TFText_FastSentencepieceDetokenize)
{
    return named(tfDef({3, 3}, "sp_model, input_values, input_splits", "Texts out of rows of pieces; the model is a FlatBuffer."),
                 "TFText>FastSentencepieceDetokenize");
}
