// Catalogue entries of TensorFlow's strings, and of the operators that tell people something: Assert and Print.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef same(std::string_view summary) { return tfDef({}, "input", summary, inferTfSame); }

OpDef prints(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfStatefulDef(arity, operands, summary);
    def.differs = "what it says is not printed: no layer below the commands prints";
    return def;
}

} // namespace

LS_DEFINE_OP(tf, Assert) { return tfStatefulDef({1, -1, 0, 0}, "condition, data…", "Fails with its data if the condition is false."); }
LS_DEFINE_OP(tf, Print) { return prints({1, -1}, "input, data…", "Its first operand; says its data."); }
LS_DEFINE_OP(tf, PrintV2) { return prints({1, 1, 0, 0}, "input", "Says a string."); }
LS_DEFINE_OP(tf, StringFormat) { return tfDef({0, -1}, "inputs…", "A template with its placeholders replaced by operands in words."); }
LS_DEFINE_OP(tf, StringJoin) { return tfDef({0, -1}, "inputs…", "Operands joined element by element, scalars broadcast."); }
LS_DEFINE_OP(tf, StringUpper) { return same("In capital letters (of ASCII)."); }
LS_DEFINE_OP(tf, StringLower) { return same("In small letters (of ASCII)."); }
LS_DEFINE_OP(tf, StringStrip) { return same("Without blanks at both ends."); }
LS_DEFINE_OP(tf, StringLength) { return same("The number of bytes or of UTF-8 characters."); }
LS_DEFINE_OP(tf, Substr)
{
    return tfDef({3, 3}, "input, pos, len", "len bytes (or UTF-8 characters) from pos on; a negative pos counts from the end.");
}
LS_DEFINE_OP(tf, AsString) { return same("Numbers and bools as text."); }
LS_DEFINE_OP(tf, StringToNumber) { return same("Text as numbers."); }
LS_DEFINE_OP(tf, ReduceJoin) { return tfDef({2, 2}, "inputs, reduction_indices", "Strings joined along dimensions."); }
LS_DEFINE_OP(tf, StringToHashBucketFast) { return tfDef({}, "input", "A number below num_buckets for each string, by its fingerprint."); }
