// Catalogue entries of TF Text's operators for SentencePiece, with a model in a resource.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef ofText(OpDef def)
{
    def.source = "TensorFlow Text 2.21 core/kernels, SentencePiece";
    return def;
}

OpDef tokenizer(TfArity arity, std::string_view summary)
{
    OpDef def = ofText(tfDef(arity, "sp_handle, input, nbest_size, alpha, add_bos, add_eos, reverse", summary));
    def.differs = "pieces are not drawn at random (nbest_size beyond 1), and not the n best either";
    return def;
}

} // namespace

LS_DEFINE_OP(tf, SentencepieceOp) { return ofText(tfStatefulDef({0, 0}, "", "The handle of a SentencePiece model.")); }
LS_DEFINE_OP(tf, SentencepieceTokenizeOp)
{
    return tokenizer({7, 7, 2, 2}, "The pieces of texts, their numbers or their names, with row splits.");
}
LS_DEFINE_OP(tf, SentencepieceTokenizeWithOffsetsOp)
{
    return tokenizer({7, 7, 4, 4}, "The pieces of texts with row splits, and where in the texts they begin and end.");
}
LS_DEFINE_OP(tf, SentencepieceDetokenizeOp)
{
    return ofText(tfDef({6, 6}, "sp_handle, input_values, input_splits, add_bos, add_eos, reverse", "Texts out of rows of pieces."));
}
LS_DEFINE_OP(tf, SentencepieceVocabSizeOp) { return ofText(tfDef({1, 1}, "sp_handle", "How many pieces a model has.")); }
LS_DEFINE_OP(tf, SentencepieceIdToStringOp) { return ofText(tfDef({2, 2}, "sp_handle, input", "The names of pieces.")); }
LS_DEFINE_OP(tf, SentencepieceStringToIdOp) { return ofText(tfDef({2, 2}, "sp_handle, input", "The numbers of pieces.")); }
