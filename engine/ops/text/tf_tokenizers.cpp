// Catalogue entries of TF Text's operators that cut texts at white space or where the script changes, and of TensorFlow's for scripts.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef ofText(OpDef def)
{
    def.source = "TensorFlow Text 2.21 core/kernels";
    return def;
}

Status inferScript(InferContext& context)
{
    context.setOutput(0, DType::i32, context.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tf, UnicodeScript) { return tfDef({}, "input", "The numbers that ICU gives the scripts of code points.", inferScript); }
LS_DEFINE_OP(tf, WhitespaceTokenizeWithOffsets)
{
    return ofText(tfDef({2, 2, 5, 5}, "input_values, input_splits",
                        "The words of rows of code points: values, splits of words, where they begin and end, splits of rows."));
}
LS_DEFINE_OP(tf, UnicodeScriptTokenizeWithOffsets)
{
    return ofText(tfDef({2, 2, 5, 5}, "input_values, input_splits",
                        "Rows of code points, cut where the script changes: values, splits, where parts begin and end, splits of rows."));
}
LS_DEFINE_OP(tf, TFText_WhitespaceTokenizeWithOffsetsV2)
{
    OpDef def =
        ofText(tfDef({2, 2, 4, 4}, "input_values, input_config",
                     "The words of texts, with row splits and where they begin and end; the operand has a bit for each white space."));
    def.name = "TFText>WhitespaceTokenizeWithOffsetsV2";
    return def;
}
